import { ConfigurationError } from '../../errors.js'
import { sleep } from '../../runtime.js'
import type { Scheduler } from '../../time.js'
import { toRetryDelay } from '../store-parts.js'

/** What a statement may be given. Numbers travel as text: `mysql2` would send them as floating point. */
export type Value = string | Buffer | null

/** A statement, with options that override the pool's, so that every answer has the same shape. */
export interface MysqlStatement {
  sql: string
  rowsAsArray: true
  metaAsArray: true
  nestTables: false
  namedPlaceholders: false
  typeCast: <Cast>(field: unknown, next: () => Cast) => Cast
}

/** A connection of a pool. */
export interface MysqlConnection {
  query(text: string): Promise<unknown>
  execute(statement: MysqlStatement, values: Value[]): Promise<unknown>
  release(): unknown
  destroy(): unknown
}

/** A Pool of `mysql2/promise` or of `mariadb`, or of a package with the same methods. */
export interface MysqlPool {
  getConnection(): Promise<MysqlConnection>
}

/** A Pool of `mysql2` with callbacks. */
export interface MysqlCallbackPool {
  promise(): MysqlPool
}

/** A pool of MySQL or MariaDB that the application creates, configures and closes. */
export type MysqlClient = MysqlPool | MysqlCallbackPool

/** A value of a row, as far as a driver may return it. */
export type Cell = string | number | bigint | Uint8Array | null

/** A row, in the order of its columns. */
export type Row = readonly (Cell | undefined)[]

/** A connection while the store uses it. */
export interface Session {
  /** Whether it is in a transaction of the store. Otherwise its former user decides how it reads. */
  readonly isOwn: boolean
  read(sql: string, values: readonly Value[]): Promise<readonly Row[]>
  /**
   * Runs a statement that writes, and returns how many rows it concerned. Drivers count the rows that it found or those that
   * it changed, so a statement whose count matters must change every row that it finds.
   */
  write(sql: string, values: readonly Value[]): Promise<number>
}

/** How statements are run that each stand alone. */
export interface UseOptions {
  /** Whether `work` begins with a read, and throws `UNFIT` if that was part of a transaction. Saves the `rollback` before it. */
  readonly findsLeftover?: boolean
}

/** Thrown by work that finds how a former user of the connection left it: in a transaction, or to read what is not committed. */
export const UNFIT: Error = new Error('A connection of the MySQL pool cannot be read from as it is')

/** A database, as the store uses it. */
export interface Database {
  /**
   * Runs statements that each stand alone. Each reads what is committed when it begins. Even a statement that changes one
   * row may lose a conflict: then `work` runs again, after whatever it had written before. Work that runs again, also after
   * `UNFIT`, is a transaction of the store.
   */
  use<Result>(work: (session: Session) => Promise<Result>, options?: UseOptions): Promise<Result>
  /**
   * Runs a transaction under READ COMMITTED. Runs it again if the server ended it to resolve a deadlock, so `work` must not
   * change anything else.
   */
  transact<Result>(work: (session: Session) => Promise<Result>): Promise<Result>
}

/** The database behind a pool. */
export function toDatabase(client: MysqlClient, scheduler: Scheduler): Database {
  const pool = toPool(client)

  const withConnection = async <Result>(
    { begin, end }: Frame,
    work: (session: Session) => Promise<Result>,
  ): Promise<Result> => {
    const connection = await pool.getConnection()
    if (typeof connection?.execute !== 'function') {
      await connection?.release()
      throw createUnusable()
    }
    try {
      const { prepared } = await begin(connection)
      prepared.catch(() => undefined)
      const result = await work(createSession(connection, prepared, end !== null))
      await prepared
      if (end !== null) await connection.query(end)
      await connection.release()
      return result
    } catch (error) {
      await giveBack(connection)
      throw error
    }
  }

  // What lost a conflict has changed nothing.
  const retry = async <Result>(attempt: (count: number) => Promise<Result>): Promise<Result> => {
    for (let count = 1; ; count++) {
      try {
        return await attempt(count)
      } catch (error) {
        if (count === MAX_ATTEMPTS || !(error === UNFIT || CONFLICTS.has(readErrorNumber(error)))) throw error
        if (error === UNFIT) continue
        await sleep(scheduler, toRetryDelay(count, FIRST_RETRY_MS, MAX_RETRY_MS))
      }
    }
  }

  return {
    use: (work, { findsLeftover = false } = {}) =>
      retry((count) => withConnection(count > 1 ? TRANSACTION : findsLeftover ? AS_IT_IS : CLEAN, work)),
    transact: (work) => retry(() => withConnection(TRANSACTION, work)),
  }
}

interface Frame {
  readonly begin: (connection: MysqlConnection) => Promise<{ readonly prepared: Promise<unknown> }>
  /** Ends the transaction that `begin` began; `null` if it began none. */
  readonly end: string | null
}

async function takeAsItIs() {
  return { prepared: Promise.resolve() }
}

// Also where somebody set `completion_type`, which would begin another transaction, or end the connection.
const ROLLBACK = 'rollback and no chain no release'
const COMMIT = 'commit and no chain no release'

const AS_IT_IS: Frame = { begin: takeAsItIs, end: null }
const CLEAN: Frame = { begin: clean, end: null }
const TRANSACTION: Frame = { begin: beginTransaction, end: COMMIT }

// A former user of the connection may have left a transaction behind, in which reads would go by an old snapshot. Nobody
// waits for the answer: `mariadb` sends the first statement of the store right behind it.
async function clean(connection: MysqlConnection) {
  return { prepared: connection.query(ROLLBACK) }
}

// `start transaction` would commit what was left behind, but this is refused in a transaction, which ends it.
async function beginTransaction(connection: MysqlConnection) {
  try {
    await connection.query(ISOLATION)
  } catch (error) {
    if (readErrorNumber(error) !== IN_TRANSACTION) throw error
    await connection.query(ROLLBACK)
    await connection.query(ISOLATION)
  }
  // A session may be set to read only.
  return { prepared: connection.query('start transaction read write') }
}

const ISOLATION = 'set transaction isolation level read committed'
const IN_TRANSACTION = 1568

const MAX_ATTEMPTS = 10
const FIRST_RETRY_MS = 4
const MAX_RETRY_MS = 500

// A deadlock, also one that Galera finds at the commit, and a snapshot that MariaDB finds outdated. After each of them,
// the transaction or the statement is rolled back.
const CONFLICTS = new Set([1213, 1020])

/** The number of the server's error, or 0 for any other error. */
export function readErrorNumber(error: unknown): number {
  return Number((error as { readonly errno?: unknown } | null)?.errno) || 0
}

/** A key is there already. */
export const DUPLICATE_KEY = 1062

function toPool(client: MysqlClient): MysqlPool {
  // The address of a server is a string, and `in` throws for strings.
  const isObject = client instanceof Object
  if (isObject && 'promise' in client && typeof client.promise === 'function') return client.promise()
  if (isObject && 'getConnection' in client && typeof client.getConnection === 'function') return client
  throw createUnusable()
}

function createUnusable(): ConfigurationError {
  return new ConfigurationError(
    'createMysqlStore takes a Pool of the package mysql2 or of the package mariadb (its promise API)',
  )
}

function createSession(connection: MysqlConnection, prepared: Promise<unknown>, isOwn: boolean): Session {
  const run = async (sql: string, values: readonly Value[]): Promise<unknown> => {
    const [answer] = await Promise.all([
      // Prepared statements only. A client that escapes values itself has to know the server's sql_mode and charset.
      connection.execute({ sql, ...OPTIONS }, [...values]),
      prepared,
    ])
    return Array.isArray(answer) ? (answer[0] as unknown) : answer
  }
  return {
    isOwn,
    async read(sql, values) {
      const rows = await run(sql, values)
      if (!Array.isArray(rows)) throw new Error('The MySQL client gave no rows')
      return rows as Row[]
    },
    async write(sql, values) {
      const { affectedRows } = (await run(sql, values)) as { readonly affectedRows?: unknown }
      if (affectedRows === undefined) throw new Error('The MySQL client did not say how many rows it changed')
      return Number(affectedRows)
    },
  }
}

const OPTIONS = {
  rowsAsArray: true,
  metaAsArray: true,
  nestTables: false,
  namedPlaceholders: false,
  typeCast: <Cast>(_field: unknown, next: () => Cast): Cast => next(),
} as const

// Leave no transaction open. Discard a connection that cannot even roll back.
async function giveBack(connection: MysqlConnection): Promise<void> {
  try {
    await connection.query(ROLLBACK)
    await connection.release()
  } catch {
    connection.destroy()
  }
}

/** A text of a row. Columns of bytes come as buffers. */
export function toText(cell: Cell | undefined): string {
  if (typeof cell === 'string') return cell
  if (cell instanceof Uint8Array) return Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength).toString()
  return String(cell)
}

/** The same for a column that may be empty. */
export function toTextOrNull(cell: Cell | undefined): string | null {
  return cell === null || cell === undefined ? null : toText(cell)
}

/** A number of a row: drivers return a `bigint` as a number, a text or a BigInt. */
export function toNumber(cell: Cell | undefined): number {
  const number = cell === null || cell === undefined ? Number.NaN : Number(toText(cell))
  if (!Number.isSafeInteger(number)) throw new Error('The MySQL server returned something else than a number')
  return number
}
