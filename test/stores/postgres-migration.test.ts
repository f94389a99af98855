import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createPostgresStore, migrationSql, type PostgresClient } from 'tokenlib/postgres'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'

const NEEDS = { longestLifetime: 3_600_000 }
const FOREVER = Number.MAX_SAFE_INTEGER
const KEY = { kind: 'token', id: 'a' } as const
const ENTRY = { ...KEY, notBefore: FOREVER, until: FOREVER }
const WRONG = { code: 'CONFIGURATION_INVALID' }

describeWithPostgres('the tables of the PostgreSQL store', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  const withSetting = (setting: string) =>
    new pg.Pool({ connectionString: url, options: `-c ${setting}` }).on('error', () => undefined)
  let prefix: string
  let count = 0
  beforeEach(() => void (prefix = `t${++count}_`))
  afterAll(() => pool.end())

  test('are created by ten processes that start at once', async () => {
    for (let round = 0; round < 5; round++) {
      const clients = Array.from({ length: 10 }, () => new pg.Client({ connectionString: url }))
      await Promise.all(clients.map((client) => client.connect()))
      const stores = clients.map((client) =>
        createPostgresStore(client, { prefix: `round${round}_`, schema: `ten${round}` }),
      )
      await Promise.all(
        stores.map(async (store) => {
          await store.migrate()
          await store.prepare(NEEDS)
        }),
      )
      await stores[0]?.revoke([ENTRY])
      for (const store of stores) expect(await store.lookup([KEY])).toEqual([FOREVER])
      await Promise.all(clients.map((client) => client.end()))
    }
  })

  test('are left as they are when they are there, without a word', async () => {
    const notices: unknown[] = []
    const sql = postgres(url, { onnotice: (notice) => notices.push(notice) })
    const store = createPostgresStore(sql, { prefix, schema: 'quiet' })
    await store.migrate()
    await store.prepare(NEEDS)
    await store.revoke([ENTRY])
    await store.migrate()
    expect(await store.lookup([KEY])).toEqual([FOREVER])
    expect(notices).toEqual([])
    await sql.end()
  })

  test('can be made by the printed SQL, also inside of a transaction that is undone', async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('begin')
    await client.query(migrationSql({ prefix }))
    await client.query('rollback')
    const store = createPostgresStore(pool, { prefix })
    await expect(store.prepare(NEEDS)).rejects.toMatchObject(WRONG)
    await client.query(migrationSql({ prefix }))
    await store.prepare(NEEDS)
    await client.end()
  })

  test('are never made by prepare: it says what to do', async () => {
    const sql = postgres(url)
    for (const client of [pool, sql] as PostgresClient[]) {
      const preparing = createPostgresStore(client, { prefix }).prepare(NEEDS)
      await expect(preparing).rejects.toMatchObject({
        ...WRONG,
        message: expect.stringMatching(/migrate\(\).*migrationSql\(\)/) as string,
      })
    }
    const { rows } = await pool.query('select from pg_tables where tablename like $1', [`${prefix}%`])
    expect(rows).toEqual([])
    await sql.end()
  })

  test('are refused when they are older than the library', async () => {
    const store = createPostgresStore(pool, { prefix })
    await store.migrate()
    await pool.query(`update ${prefix}version set version = 0`)
    await expect(store.prepare(NEEDS)).rejects.toMatchObject({
      ...WRONG,
      message: expect.stringMatching(/version 0.*version 1.*migrate\(\).*migrationSql\(\)/) as string,
    })
  })

  // As the release before has made them: the same version, which both releases can use.
  test('of version 1 that know no spent ids are refused until they are migrated, and keep what they have', async () => {
    const before = createPostgresStore(pool, { prefix })
    await before.migrate()
    await before.prepare(NEEDS)
    await before.revoke([ENTRY])
    await pool.query(`drop table ${prefix}spent`)
    const store = createPostgresStore(pool, { prefix })
    await expect(store.prepare(NEEDS)).rejects.toMatchObject({
      ...WRONG,
      message: expect.stringMatching(/spent.*migrate\(\).*migrationSql\(\)/) as string,
    })
    await Promise.all([store.migrate(), store.migrate(), before.migrate()])
    await store.prepare(NEEDS)
    expect(await store.lookup([KEY])).toEqual([FOREVER])
    expect(await store.spend?.('a', 1000)).toBe(true)
    expect(await store.spend?.('a', 1000)).toBe(false)
    const { rows } = await pool.query<{ version: number }>(`select version from ${prefix}version`)
    expect(rows).toEqual([{ version: 1 }])
  })

  test('of version 1 that keep no data of sessions are refused until they are migrated', async () => {
    const before = createPostgresStore(pool, { prefix })
    await before.migrate()
    await before.prepare(NEEDS)
    const session = { user: 'ada', expiresAt: FOREVER, until: FOREVER, ip: null, userAgent: null }
    const { sid } = await before.sessions!.open({ ...session, nonce: 'AAAAAAAAAAAAAA' })
    await pool.query(`alter table ${prefix}sessions drop column data`)
    const store = createPostgresStore(pool, { prefix })
    await expect(store.prepare(NEEDS)).rejects.toMatchObject({
      ...WRONG,
      message: expect.stringMatching(/column data.*migrate\(\).*migrationSql\(\)/) as string,
    })
    await Promise.all([store.migrate(), store.migrate(), before.migrate()])
    await store.prepare(NEEDS)
    expect(await store.sessions!.get(sid, { idleMs: FOREVER })).toMatchObject({ data: null })
    expect(await store.sessions!.writeData!(sid, '{}', null)).toBe(true)
    expect(await before.sessions!.get(sid, { idleMs: FOREVER })).toMatchObject({ data: '{}' })
  })

  // Any other index that begins with the namespace would be taken where there are no statistics.
  test('have no index but the primary keys that begins with the namespace', async () => {
    await pool.query(migrationSql({ prefix }))
    const { rows } = await pool.query<{ index: string }>(
      `select regexp_replace(indexdef, '^.* USING btree ', '') as index from pg_indexes
      where tablename in ($1, $2, $3) order by 1`,
      [`${prefix}revocations`, `${prefix}sessions`, `${prefix}spent`],
    )
    expect(rows).toHaveLength(9)
    expect(rows.map(({ index }) => index).filter((index) => index.startsWith('(namespace'))).toEqual([
      '(namespace, id)',
      '(namespace, kind, id)',
      '(namespace, sid)',
    ])
  })

  test('of another prefix, schema or namespace are another store', async () => {
    const places = [{}, { prefix }, { schema: 'other' }, { namespace: 'other' }, { namespace: "it's" }]
    const stores = places.map((place) => createPostgresStore(pool, place))
    for (const store of stores) await store.migrate()
    for (const store of stores) await store.prepare(NEEDS)
    for (const [at, store] of stores.entries()) {
      await store.revoke([{ ...ENTRY, id: `only-${at}` }])
      const keys = stores.map((_, other) => ({ kind: 'token' as const, id: `only-${other}` }))
      expect((await store.lookup(keys)).findIndex((found) => found !== undefined)).toBe(at)
      expect((await store.feed(null, { waitMs: 0 })).entries.map(({ id }) => id)).toEqual([`only-${at}`])
    }
  })

  test.each([
    { prefix: 'a-b' },
    { prefix: '' },
    { prefix: '1a' },
    { prefix: 'x"; drop table users; --' },
    { prefix: 'a'.repeat(41) },
    { schema: 'a.b' },
    { schema: '' },
    { schema: "a'b" },
  ])('have names that are refused immediately when they are none: %o', (place) => {
    expect(() => createPostgresStore(pool, place)).toThrow(expect.objectContaining(WRONG))
    expect(() => migrationSql(place)).toThrow(expect.objectContaining(WRONG))
  })

  test('need a client that is one', () => {
    for (const client of [{}, () => undefined, { query: 'select' }]) {
      expect(() => createPostgresStore(client as unknown as PostgresClient)).toThrow(
        expect.objectContaining(WRONG),
      )
    }
  })

  test('are not used before prepare, or when it failed', async () => {
    const store = createPostgresStore(pool, { prefix })
    await expect(store.prepare(NEEDS)).rejects.toMatchObject(WRONG)
    await store.migrate()
    await expect(store.lookup([KEY])).rejects.toThrow('not prepared')
    await expect(store.revoke([ENTRY])).rejects.toThrow('not prepared')
  })

  test.each(['synchronous_commit=off', 'default_transaction_isolation=serializable'])(
    'are refused where the connection has %s',
    async (setting) => {
      const careless = withSetting(setting)
      const store = createPostgresStore(careless, { prefix })
      await store.migrate()
      await expect(store.prepare(NEEDS)).rejects.toMatchObject(WRONG)
      await careless.end()
    },
  )

  test('are used by those who know that a crash may lose something', async () => {
    const careless = withSetting('synchronous_commit=off')
    const store = createPostgresStore(careless, { prefix, allowVolatile: true })
    await store.migrate()
    await store.prepare(NEEDS)
    await store.revoke([ENTRY])
    expect(await store.lookup([KEY])).toEqual([FOREVER])
    await careless.end()
  })
})

describeWithPostgres('a role of the application', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  const role = new URL(url).pathname.slice(1)
  beforeAll(async () => {
    await createPostgresStore(pool).migrate()
    await pool.query(`create role ${role}`)
  })
  afterAll(async () => {
    await pool.query(`drop owned by ${role}`)
    await pool.query(`drop role ${role}`)
    await pool.end()
  })

  test('needs no more than the five tables, and is told so', async () => {
    const limited = new pg.Pool({ connectionString: url, options: `-c role=${role}` }).on(
      'error',
      () => undefined,
    )
    const store = createPostgresStore(limited)
    await expect(store.prepare(NEEDS)).rejects.toMatchObject({
      ...WRONG,
      message: expect.stringContaining('grant select') as string,
    })
    const tables = ['heads', 'revocations', 'sessions'].map((name) => `tokenlib_${name}`).join()
    await pool.query(`grant select, insert, update, delete on ${tables} to ${role}`)
    await pool.query(`grant select on tokenlib_version to ${role}`)
    await expect(store.prepare(NEEDS)).rejects.toMatchObject({
      ...WRONG,
      message: expect.stringContaining('tokenlib_spent') as string,
    })
    await pool.query(`grant select, insert, update, delete on tokenlib_spent to ${role}`)
    await store.prepare(NEEDS)
    expect(await store.spend?.('a', 1)).toBe(true)
    const { position } = await store.revoke([ENTRY])
    expect(await store.lookup([KEY])).toEqual([FOREVER])
    expect((await store.feed(position, { waitMs: 0 })).reset).toBe(false)
    await expect.poll(() => store.prune(10)).toBe(1)
    await limited.end()
  })
})
