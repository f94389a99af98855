import type { StoreOrigin } from 'tokenlib/kit'
import type { MysqlClient } from 'tokenlib/mysql'
import type { PostgresClient } from 'tokenlib/postgres'
import { inspectRedis, type RedisClient } from 'tokenlib/redis'
import type { SqliteDatabase, SqliteStatement } from 'tokenlib/sqlite'
import { inTime } from '../driver.js'
import { toMysqlProbe } from '../open-mysql.js'
import { toPostgresProbe } from '../open-postgres.js'
import type { OpenedStore } from '../opened-store.js'
import { type Endpoint, toPlace } from './endpoint.js'

/** The store of an application, by the application's own client; closing it is left to the application. */
export async function openApplicationStore(
  origin: StoreOrigin,
  endpoint: Endpoint,
  timeoutMs: number,
): Promise<OpenedStore> {
  const { kind, namespace, store } = origin
  const shared = { namespace, store, close: async () => undefined }
  if (kind === 'sqlite') {
    const database = origin.client as SqliteDatabase
    const all = (sql: string): readonly Record<string, unknown>[] => {
      const statement = database.prepare(sql) as SqliteStatement & { readonly reader?: boolean }
      if (statement.reader !== false) return statement.all() as readonly Record<string, unknown>[]
      // better-sqlite3 has no rows of a statement that returns none.
      statement.run()
      return []
    }
    const [main] = all('PRAGMA database_list')
    return { ...shared, kind, url: `sqlite:${String(main?.['file'])}`, client: { all } }
  }
  const url = `${kind}://${toPlace(endpoint)}`
  if (kind === 'redis') {
    const { send } = inspectRedis(origin.client as RedisClient, { namespace })
    const command = (...args: string[]): Promise<unknown> => inTime(url, timeoutMs, send(...args))
    await command('PING')
    return { ...shared, kind, url, client: { command: (name, ...args) => command(name, ...args) } }
  }
  if (kind === 'mysql') {
    const place = { ...origin.tables, namespace }
    const client = await toMysqlProbe(origin.client as MysqlClient, url, timeoutMs, place)
    return { ...shared, kind, url, client }
  }
  const client = origin.client as PostgresClient
  const run = async (sql: string, values: readonly (string | number | null)[]) =>
    'unsafe' in client
      ? ((await client.unsafe(sql, [...values], { prepare: false })) as readonly Record<string, unknown>[])
      : ((await client.query(sql, [...values])).rows as readonly Record<string, unknown>[])
  const query = (sql: string, values: readonly (string | number | null)[] = []) =>
    inTime(url, timeoutMs, run(sql, values))
  await query('SELECT 1')
  return { ...shared, kind, url, client: toPostgresProbe(query, { ...origin.tables, namespace }) }
}
