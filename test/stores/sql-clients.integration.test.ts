import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { withReplicas } from 'drizzle-orm/pg-core'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createPostgresStore } from 'tokenlib/postgres'
import { DataSource } from 'typeorm'
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'

const SECRET = 'a-fake-secret-of-more-than-32-bytes-for-these-tests'
const COUNT = `select count(*)::integer as count from pg_stat_activity
  where application_name = current_setting('application_name')`

interface SqlClient {
  readonly pool: pg.Pool
  countConnections(): Promise<unknown>
  end(): Promise<unknown>
}

// Each with at most one connection: a second pool would show.
const CLIENTS: Record<string, (url: string) => SqlClient | Promise<SqlClient>> = {
  Drizzle(url) {
    const primary = drizzle({ connection: { connectionString: url, max: 1 } })
    const db = withReplicas(primary, [primary])
    const pool = db.$primary.$client
    return { pool, countConnections: async () => (await db.execute(COUNT)).rows, end: () => pool.end() }
  },
  Kysely(url) {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
    return {
      pool,
      countConnections: async () => (await sql.raw(COUNT).execute(db)).rows,
      end: () => db.destroy(),
    }
  },
  async TypeORM(url) {
    const db = await new DataSource({ type: 'postgres', url, poolSize: 1 }).initialize()
    const pool = (db.driver as PostgresDriver).master as pg.Pool
    return { pool, countConnections: () => db.query(COUNT), end: () => db.destroy() }
  },
}

describeWithPostgres('the pools of SQL clients', (url) => {
  const createTokens = (pool: pg.Pool) =>
    new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_REVOCATION_TIMEOUT: '500ms' }),
      store: createPostgresStore(pool),
    })
  const admin = new pg.Pool({ connectionString: url, max: 1 }).on('error', () => undefined)
  beforeAll(() => createPostgresStore(admin).migrate())
  afterAll(() => admin.end())

  test.each(Object.entries(CLIENTS))('%s and the store share one connection', async (name, connect) => {
    const client = await connect(`${url}?application_name=${name}`)
    const tokens = createTokens(client.pool)
    await tokens.ready()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    await expect(tokens.verify(accessToken)).resolves.toMatchObject({ sub: 'ada' })
    await tokens.revoke.user('ada')
    await expect(tokens.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    await expect(client.countConnections()).resolves.toEqual([{ count: 1 }])
    await tokens.close()
    await client.end()
  })

  test('a call inside of a transaction that has the only connection fails after the deadline', async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 }).on('error', () => undefined)
    const tokens = createTokens(pool)
    await tokens.ready()
    const db = new Kysely<object>({ dialect: new PostgresDialect({ pool }) })
    const opening = db.transaction().execute(() => tokens.sessions.open({ uid: 'ada' }))
    await expect(opening).rejects.toMatchObject({ code: 'REVOCATION_UNAVAILABLE' })
    await tokens.close()
    await db.destroy()
  })

  test('rows that are deleted by hand: no logout, and revoked tokens are valid again', async () => {
    const tokens = createTokens(admin)
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'grace' })
    await admin.query("delete from tokenlib_sessions where user_id = 'grace'")
    await expect(tokens.sessions.refresh(refreshToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    await expect(tokens.verify(accessToken)).resolves.toMatchObject({ sub: 'grace' })
    await tokens.logout(await tokens.verify(accessToken))
    await expect(tokens.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    await admin.query("delete from tokenlib_revocations where kind = 'session'")
    await expect(tokens.verify(accessToken)).resolves.toMatchObject({ sub: 'grace' })
    await tokens.close()
  })

  test('every column that docs/stores/sql-clients.md lists is there, with its type', async () => {
    const page = readFileSync(
      fileURLToPath(new URL('../../docs/stores/sql-clients.md', import.meta.url)),
      'utf8',
    )
    const { rows } = await admin.query<{ name: string; columns: string[] }>(
      `select table_name as name, array_agg(column_name || ' ' || data_type order by column_name) as columns
       from information_schema.columns where table_name like 'tokenlib\\_%' group by table_name`,
    )
    const columnsOf = Object.fromEntries(rows.map(({ name, columns }) => [name, columns]))
    for (const table of ['tokenlib_sessions', 'tokenlib_revocations']) {
      const listed = readColumns(page, table)
      expect([table, listed.length]).toEqual([table, table === 'tokenlib_sessions' ? 9 : 5])
      expect([table, columnsOf[table]]).toEqual([table, expect.arrayContaining(listed)])
    }
  })
})

/** The columns in the list after a sentence about `table`, as `name type`. */
function readColumns(page: string, table: string): string[] {
  const [, rows = ''] = page.split(`\`${table}\` has `)[1]?.split(/\n\n/) ?? []
  return [...rows.matchAll(/^- (`\w+`(?:, `\w+`)*) \(`(\w+)`\): /gm)]
    .flatMap(([, names = '', type = '']) => [...names.matchAll(/\w+/g)].map(([name]) => `${name} ${type}`))
    .toSorted()
}
