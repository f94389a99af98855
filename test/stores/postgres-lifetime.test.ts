import pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { createPostgresStore, type PgClient, type PostgresStore } from 'tokenlib/postgres'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'

const HOUR = 3_600_000
const PATIENTLY = { timeout: 20_000 }

const user = (id: string) => ({ kind: 'user', id, notBefore: 0, until: 0 }) as const

describeWithPostgres('a PostgreSQL store that is asked for longer lives', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  let prefix: string
  let count = 0
  let store: PostgresStore
  let inTransaction: pg.Client
  const open = (client: PgClient = pool): PostgresStore =>
    createPostgresStore(client, { prefix, onWarning: () => undefined })
  const openPrepared = async (longestLifetime: number, client?: PgClient): Promise<PostgresStore> => {
    const opened = open(client)
    await opened.prepare({ longestLifetime })
    return opened
  }
  const lives = async (): Promise<number[]> => {
    const sql = `select distinct until - not_before as life from ${prefix}revocations where kind <> 'epoch'`
    return (await pool.query<{ life: string }>(sql)).rows.map(({ life }) => Number(life))
  }
  const rows = async (): Promise<unknown> =>
    (await pool.query(`select ctid, xmin, * from ${prefix}revocations order by kind, id`)).rows
  const waiters = async (): Promise<number> => {
    const sql = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    return (await pool.query(sql)).rows.length
  }

  beforeEach(async () => {
    prefix = `l${++count}_`
    await open().migrate()
    store = await openPrepared(HOUR)
    inTransaction = new pg.Client({ connectionString: url })
    await inTransaction.connect()
  })
  afterEach(() => inTransaction.end())
  afterAll(() => pool.end())

  test('lengthens also what was written while it waited', async () => {
    const holder = await openPrepared(HOUR, inTransaction)
    await inTransaction.query('begin')
    await holder.revoke([user('ada')])
    const raising = store.prepare({ longestLifetime: 9 * HOUR })
    await expect.poll(waiters, PATIENTLY).toBe(1)
    await inTransaction.query('commit')
    await raising
    expect(await lives()).toEqual([9 * HOUR])
  })

  test('leaves the rest to the next one, when it ends halfway', async () => {
    await store.revoke([user('ada')])
    const halfway = {
      async query(text: string, values: (string | number | null)[]) {
        if (text.includes('extended as (')) throw new Error('connection lost')
        return pool.query(text, values)
      },
    }
    await expect(open(halfway).prepare({ longestLifetime: 9 * HOUR })).rejects.toThrow('connection lost')
    expect(await lives()).toEqual([HOUR])
    await openPrepared(HOUR)
    expect(await lives()).toEqual([9 * HOUR])
  })

  test('does not touch what is there, when they are not longer', async () => {
    await store.revoke([user('ada'), { ...user(''), kind: 'all' }])
    const before = await rows()
    await store.prepare({ longestLifetime: HOUR })
    await openPrepared(HOUR / 2)
    expect(await rows()).toEqual(before)
  })

  test('tells every reader of its feed, each entry once', async () => {
    const token = { kind: 'token', id: 't', notBefore: 1, until: 2 } as const
    await store.revoke([token, ...Array.from({ length: 2500 }, (_, at) => user(`u${at}`))])
    let { position } = await store.revoke([])
    await openPrepared(9 * HOUR)
    const ids: string[] = []
    for (let more = true; more;) {
      const page = await store.feed(position, { waitMs: 0 })
      ids.push(...page.entries.map(({ id }) => id))
      ;({ next: position, more } = page)
    }
    expect(ids).toHaveLength(2500)
    expect(new Set(ids).size).toBe(2500)
    expect(ids).not.toContain('t')
    await store.revoke([{ ...token, id: 'next' }])
    expect((await store.feed(position, { waitMs: 0 })).entries.map(({ id }) => id)).toEqual(['next'])
  })

  test('is asked by many at once, while others revoke', async () => {
    const writers = await Promise.all(Array.from({ length: 3 }, () => openPrepared(HOUR)))
    await Promise.all([
      ...writers.map(async (writer, at) => {
        for (let round = 0; round < 30; round++) {
          await writer.revoke([user(`u${at}-${round}`), user(`shared${round % 3}`)])
        }
      }),
      ...Array.from({ length: 8 }, (_, at) => openPrepared((at + 2) * HOUR)),
    ])
    expect(await lives()).toEqual([9 * HOUR])
    const { rows: counts } = await pool.query(
      `select count(*) = count(distinct change) and max(change) <= (select changes from ${prefix}heads) as fits
      from ${prefix}revocations where kind <> 'epoch'`,
    )
    expect(counts).toEqual([{ fits: true }])
  })

  test.each([
    ['an earlier state was restored', `heads revocations`],
    ['only the heads are lost', 'heads'],
  ])('lengthens what is left, when %s', async (_, lost) => {
    const restored = lost.includes('revocations')
    await store.revoke([user('ada')])
    for (const table of ['heads', 'revocations'])
      await pool.query(`create table ${prefix}old_${table} as table ${prefix}${table}`)
    const other = await openPrepared(9 * HOUR)
    await other.revoke([user('bob')])
    await pool.query(`truncate ${prefix}heads, ${prefix}revocations`)
    await pool.query(`insert into ${prefix}revocations table ${prefix}old_revocations`)
    if (restored) await pool.query(`insert into ${prefix}heads table ${prefix}old_heads`)
    await other.lookup([user('ada')])
    expect(await lives()).toEqual([9 * HOUR])
  })

  test('answers nothing before what is left is lengthened', async () => {
    await store.revoke([user('ada')])
    await pool.query(`create table ${prefix}old as table ${prefix}revocations`)
    let isCut = false
    const client = {
      async query(text: string, values: (string | number | null)[]) {
        if (isCut && text.includes('extended as (')) throw new Error('connection lost')
        return pool.query(text, values)
      },
    }
    const other = await openPrepared(9 * HOUR, client)
    await pool.query(`truncate ${prefix}heads, ${prefix}revocations`)
    await pool.query(`insert into ${prefix}revocations table ${prefix}old`)
    isCut = true
    await expect(other.lookup([])).rejects.toThrow('connection lost')
    await expect(other.lookup([])).rejects.toThrow('connection lost')
    isCut = false
    await other.lookup([])
    expect(await lives()).toEqual([9 * HOUR])
  })
})
