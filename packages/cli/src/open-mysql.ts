import {
  createMysqlStore,
  inspectMysql,
  type MysqlClient,
  type MysqlPool,
  type TableOptions,
} from 'tokenlib/mysql'
import {
  closeInTime,
  type Driver,
  hidePassword,
  inTime,
  loadDriver,
  rethrowAnswer,
  unavailable,
} from './driver.js'
import { CommandError, EXIT } from './exit.js'
import type { MysqlProbe, OpenedStore, OpenStoreOptions } from './opened-store.js'

interface Ending {
  end(): Promise<void>
}

interface Connection {
  readonly pool: MysqlPool & Ending
  /** Rejects with the reason if the server cannot be reached. */
  connect(): Promise<unknown>
}

/** Opens a store in MySQL or MariaDB with `mysql2` or `mariadb`. */
export async function openMysql(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  const { timeoutMs } = options
  const namespace = options.namespace ?? ''
  const driver = await loadDriver(['mysql2', 'mariadb'], options.drivers)
  const connection = connectWith(driver, url, timeoutMs)
  const { pool } = connection
  try {
    await inTime(url, timeoutMs, connection.connect())
    const client = await toMysqlProbe(pool, url, timeoutMs, { namespace })
    // Its settings are for `doctor` to judge: a revocation must reach also a server that may lose it.
    const store = createMysqlStore(pool, { namespace, allowVolatile: true })
    return {
      kind: 'mysql',
      url: hidePassword(url),
      namespace,
      store,
      client,
      async close() {
        await store.close()
        await closeInTime(() => pool.end())
      },
    }
  } catch (error) {
    await closeInTime(() => pool.end())
    throw error
  }
}

/** A probe of the tables of a store. The server has to answer each statement in time. */
export async function toMysqlProbe(
  client: MysqlClient,
  url: string,
  timeoutMs: number,
  options: TableOptions & { readonly namespace: string },
): Promise<MysqlProbe> {
  const pool = 'promise' in client ? client.promise() : client
  const ask = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
    inTime(url, timeoutMs, answer).catch((error: unknown) => rethrowAnswer(error, isAnswer))
  const patient: MysqlPool = {
    async getConnection() {
      const connection = await ask(pool.getConnection())
      return {
        query: (text) => ask(connection.query(text)),
        execute: (statement, values) => ask(connection.execute(statement, values)),
        release: () => connection.release(),
        destroy: () => connection.destroy(),
      }
    },
  }
  const [[current = null] = []] = await inspectMysql(patient).read('select database()')
  const database = options.database ?? current
  return {
    inspection: inspectMysql(patient, { ...options, ...(database !== null && { database }) }),
    isAnswer,
  }
}

// An SQLSTATE of the server that is not about the connection (08), or about one that was ended (70100).
function isAnswer(error: unknown): boolean {
  const { errno, sqlState } = (error ?? {}) as { readonly errno?: unknown; readonly sqlState?: unknown }
  // The package mariadb gives its own errors a state too, and numbers from 45,000 on.
  return typeof sqlState === 'string' && !/^(?:08|70100)/.test(sqlState) && Number(errno) < 45_000
}

function connectWith(driver: Driver, url: string, timeoutMs: number): Connection {
  // A pool of mysql2 without a database has tables nowhere, and mariadb prints such an address with its password.
  if (URL.canParse(url) && new URL(url).pathname.length < 2) {
    throw new CommandError(
      `The address ${hidePassword(url)} names no database: mysql://<host>/<database>`,
      EXIT.usage,
    )
  }
  try {
    return driver.name === 'mysql2' ? withMysql2(driver, url, timeoutMs) : withMariadb(driver, url, timeoutMs)
  } catch (cause) {
    throw unavailable(url, cause)
  }
}

function withMysql2({ exports }: Driver, url: string, timeoutMs: number): Connection {
  const createPool = exports['createPool'] as (options: object) => { promise(): MysqlPool & Ending }
  const pool = createPool({ uri: url, connectionLimit: 2, connectTimeout: timeoutMs }).promise()
  return { pool, connect: async () => (await pool.getConnection()).release() }
}

function withMariadb({ exports }: Driver, url: string, timeoutMs: number): Connection {
  const createPool = exports['createPool'] as (url: string) => MysqlPool & Ending
  const createConnection = exports['createConnection'] as (url: string) => Promise<Ending>
  const limits = `connectTimeout=${timeoutMs}&acquireTimeout=${timeoutMs}&connectionLimit=2&minimumIdle=0`
  const address = `${url.replace(/^mysql:/, 'mariadb:')}${url.includes('?') ? '&' : '?'}${limits}`
  return {
    pool: createPool(address),
    // The pool tries again until its time is over, and a single connection tells immediately what is wrong.
    connect: async () => (await createConnection(address)).end(),
  }
}
