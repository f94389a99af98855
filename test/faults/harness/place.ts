import { SECRET } from '../../helpers/manager.js'
import {
  RevocationUnavailableError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type RevocationStore,
} from '../../../packages/tokenlib/src/index.js'
import type { Clock } from '../../../packages/tokenlib/src/time.js'
import { createMysqlStore } from '../../../packages/tokenlib/src/stores/mysql.js'
import { createPostgresStore } from '../../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../../packages/tokenlib/src/stores/redis.js'
import { createSqliteStore } from '../../../packages/tokenlib/src/stores/sqlite.js'

/** The clients that a store can be reached by. */
export type ClientName = 'ioredis' | 'redis' | 'pg' | 'postgres' | 'mysql2' | 'mariadb' | 'sqlite'

/** Where a store is; plain data, so that another process can be told. */
export interface Place {
  readonly client: ClientName
  /** Of the server, or the path of a SQLite file. */
  readonly url: string
}

/** How a store is opened. */
export interface OpenOptions {
  readonly clock?: Clock
  /** How many connections a pool may have; 10, as the clients have it. */
  readonly connections?: number
  /** For how long a call may wait for a connection of the pool of `pg` or `mariadb`, in milliseconds; as they have it. */
  readonly poolWaitMs?: number
  /** The longest pause before `ioredis` connects again, in milliseconds; 2000, as it has it. */
  readonly reconnectMs?: number
}

/** A store on a client of its own. */
export interface OpenStore {
  readonly store: RevocationStore
  readonly close: () => Promise<void>
}

/** Opens a client as an application would, with the defaults of its package, and a store on it. */
export async function openStore({ client, url }: Place, options: OpenOptions = {}): Promise<OpenStore> {
  const { clock, connections: max = 10, poolWaitMs, reconnectMs = 2000 } = options
  const given = clock === undefined ? {} : { clock }
  const connectionTimeoutMillis = poolWaitMs ?? 0
  const acquireTimeout = poolWaitMs ?? 10_000
  // A client that loses its server says so by an event, and a process that does not listen ends.
  const ignore = (): void => undefined
  switch (client) {
    case 'ioredis': {
      const { Redis } = await import('ioredis')
      const retryStrategy = (times: number): number => Math.min(times * 50, reconnectMs)
      const redis = new Redis(url, { retryStrategy }).on('error', ignore)
      return { store: createRedisStore(redis, given), close: async () => redis.disconnect() }
    }
    case 'redis': {
      const { createClient } = await import('redis')
      const redis = createClient({ url }).on('error', ignore)
      // It goes on trying by itself; until it succeeds, commands wait or are refused.
      const connecting = redis.connect().catch(ignore)
      return {
        store: createRedisStore(redis, given),
        async close() {
          redis.destroy()
          await connecting
        },
      }
    }
    case 'pg': {
      const { default: pg } = await import('pg')
      const pool = new pg.Pool({ connectionString: url, max, connectionTimeoutMillis }).on('error', ignore)
      return { store: createPostgresStore(pool, given), close: () => pool.end() }
    }
    case 'postgres': {
      const { default: postgres } = await import('postgres')
      // Its own question about types, which it asks on every new connection by default, ends the process with an
      // unhandled rejection when the server goes away meanwhile (3.4.9).
      const sql = postgres(url, { max, onnotice: ignore, fetch_types: false })
      return { store: createPostgresStore(sql, given), close: () => sql.end({ timeout: 1 }) }
    }
    case 'mysql2': {
      const { createPool } = await import('mysql2/promise')
      const pool = createPool({ uri: url, connectionLimit: max })
      // Its end is refused where a connection was reset before it could say so.
      return { store: createMysqlStore(pool, given), close: () => pool.end().catch(ignore) }
    }
    case 'mariadb': {
      const { createPool } = await import('mariadb')
      const { hostname: host, port, username: user, pathname } = new URL(url)
      const database = pathname.slice(1)
      const pool = createPool({
        host,
        port: Number(port),
        user,
        database,
        connectionLimit: max,
        acquireTimeout,
      })
      return { store: createMysqlStore(pool, given), close: () => pool.end() }
    }
    case 'sqlite': {
      const { DatabaseSync } = await import('@photostructure/sqlite')
      const database = new DatabaseSync(url)
      return { store: createSqliteStore(database, given), close: async () => database.close() }
    }
  }
}

/** Creates what a store needs before its first use, as an application does when it is deployed. */
export async function migrate({ client, url }: Place): Promise<void> {
  if (client === 'mysql2' || client === 'mariadb') {
    const { createPool } = await import('mysql2/promise')
    const pool = createPool({ uri: url, connectionLimit: 1 })
    await createMysqlStore(pool).migrate()
    return pool.end()
  }
  if (client !== 'pg' && client !== 'postgres') return
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  await createPostgresStore(pool).migrate()
  await pool.end()
}

/** A manager and the client it owns. */
export interface OpenManager extends OpenStore {
  readonly tokens: TokenManager
}

/** A manager on a store; all of them share one secret, as the processes of one application do. */
export function createTokens(store: RevocationStore, options: TokenConfigOptions = {}): TokenManager {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }),
    store,
  })
}

/** Opens a store, and a manager that is ready for use. */
export async function openManager(
  place: Place,
  config: TokenConfigOptions = {},
  options: OpenOptions = {},
): Promise<OpenManager> {
  const { store, close } = await openStore(place, options)
  const tokens = createTokens(store, config)
  await becomeReady(tokens, START_ATTEMPTS)
  return { tokens, store, close }
}

// Loading the packages of the clients holds up the process for longer than a deadline.
const START_ATTEMPTS = 20

async function becomeReady(tokens: TokenManager, attempts: number): Promise<void> {
  try {
    await tokens.ready()
  } catch (error) {
    if (!(error instanceof RevocationUnavailableError) || attempts <= 1) throw error
    await becomeReady(tokens, attempts - 1)
  }
}

/** A deadline that a loaded machine keeps, for scenarios in which every call must succeed. */
export const PATIENT: TokenConfigOptions = { JWT_REVOCATION_TIMEOUT: '20s', JWT_REFRESH_GRACE: '60s' }
