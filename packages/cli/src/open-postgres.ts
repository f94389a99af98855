import {
  createPostgresStore,
  inspectPostgres,
  type PostgresClient,
  type TableOptions,
} from 'tokenlib/postgres'
import { closeInTime, type Driver, hidePassword, inTime, loadDriver, rethrowAnswer } from './driver.js'
import type { OpenedStore, OpenStoreOptions, PostgresProbe } from './opened-store.js'

type Values = readonly (string | number | null)[]
type Rows = readonly Record<string, unknown>[]

interface PgPool {
  on(event: 'error', listener: () => void): unknown
  query(sql: string, values: Values): Promise<{ readonly rows: Rows }>
  end(): Promise<void>
}

interface PostgresJs {
  unsafe(sql: string, values: Values): PromiseLike<Rows>
  end(options: { readonly timeout: number }): Promise<void>
}

interface Connection {
  readonly client: PostgresClient
  query(sql: string, values: Values): PromiseLike<Rows>
  close(): Promise<void>
}

/** Opens a store in PostgreSQL with `pg` or `postgres`. */
export async function openPostgres(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  const { timeoutMs } = options
  const namespace = options.namespace ?? ''
  const connection = connectWith(await loadDriver(['pg', 'postgres'], options.drivers), url, timeoutMs)
  const query = async (sql: string, values: Values = []): Promise<Rows> =>
    inTime(url, timeoutMs, connection.query(sql, values))
  try {
    // Its settings are for `doctor` to judge: a revocation must reach also a server that may lose it.
    const place = await findSchema(query)
    const store = createPostgresStore(connection.client, { ...place, namespace, allowVolatile: true })
    return {
      kind: 'postgres',
      url: hidePassword(url),
      namespace,
      store,
      client: toPostgresProbe(query, { ...place, namespace }),
      async close() {
        await store.close()
        await closeInTime(() => connection.close())
      },
    }
  } catch (error) {
    await closeInTime(() => connection.close())
    throw error
  }
}

/** A probe of the tables of a store, by a function that runs statements. */
export function toPostgresProbe(
  query: PostgresProbe['query'],
  options: TableOptions & { readonly namespace: string },
): PostgresProbe {
  const client = {
    query: async (statement: unknown, values: Values) => ({
      rows: await query(statement as string, values).catch((error: unknown) =>
        rethrowAnswer(error, isAnswer),
      ),
    }),
  }
  return { query, inspection: inspectPostgres(client, options), isAnswer }
}

// An SQLSTATE that is not about the connection (08) or a shutdown (57P).
function isAnswer(error: unknown): boolean {
  const code = String((error as { readonly code?: unknown } | null)?.code)
  return /^[0-9A-Z]{5}$/.test(code) && !/^(?:08|57P)/.test(code)
}

// The connection is new and our own, so its search_path is the one that the address or the role asks for.
async function findSchema(query: (sql: string) => Promise<Rows>): Promise<{ readonly schema?: string }> {
  const [row] = await query(`SELECT n.nspname::text AS schema FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('tokenlib_version')`)
  return row === undefined ? {} : { schema: String(row['schema']) }
}

function connectWith(driver: Driver, url: string, timeoutMs: number): Connection {
  return driver.name === 'pg' ? withPg(driver, url, timeoutMs) : withPostgresJs(driver, url, timeoutMs)
}

function withPg({ exports }: Driver, url: string, timeoutMs: number): Connection {
  const Pool = exports['Pool'] as new (options: object) => PgPool
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: timeoutMs, max: 2 })
  // An idle connection broke; the next call will report it.
  pool.on('error', () => undefined)
  return {
    client: pool,
    query: async (sql, values) => (await pool.query(sql, values)).rows,
    close: () => pool.end(),
  }
}

function withPostgresJs({ exports }: Driver, url: string, timeoutMs: number): Connection {
  const createClient = exports['default'] as (url: string, options: object) => PostgresJs
  const sql = createClient(url, {
    max: 2,
    connect_timeout: Math.ceil(timeoutMs / 1000),
    onnotice: () => undefined,
  })
  return {
    client: sql,
    query: (text, values) => sql.unsafe(text, values),
    close: () => sql.end({ timeout: 0 }),
  }
}
