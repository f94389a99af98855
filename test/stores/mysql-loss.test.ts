import mysql from 'mysql2/promise'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { createMysqlStore, type MysqlConnection, type MysqlStore } from 'tokenlib/mysql'
import { createVirtualClock } from 'tokenlib/testing'
import { describeWithMysql } from '../helpers/servers/describe-with-servers.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'

const HOUR = 3_600_000
const FOREVER = Number.MAX_SAFE_INTEGER
const NO_CLIENT = { ip: null, userAgent: null }
const RULES = { graceMs: 10_000, idleMs: FOREVER, ...NO_CLIENT }
const LIST = { limit: 1000, before: null, idleMs: FOREVER }
const TOKEN = { kind: 'token', id: 'a' } as const
const ALL = { kind: 'all', id: '' } as const
const ENTRY = { ...TOKEN, notBefore: FOREVER, until: FOREVER }
const HISTORY = ['heads', 'revocations']
const TABLES = [...HISTORY, 'sessions']

describeWithMysql('a MySQL store whose data is lost', (url) => {
  const pool = mysql.createPool(url)
  let prefix: string
  let count = 0
  let warnings: string[]
  let store: MysqlStore
  const open = async (): Promise<MysqlStore> => {
    const opened = createMysqlStore(pool, { prefix, onWarning: (text) => warnings.push(text) })
    await opened.prepare({ longestLifetime: HOUR })
    return opened
  }
  const time = async (): Promise<number> => (await store.revoke([])).now
  const session = async () => {
    const end = (await time()) + HOUR
    const nonce = `nonce${++count}`.padEnd(14, 'A')
    return { user: 'ada', nonce, expiresAt: end, until: end, ...NO_CLIENT }
  }
  const watermark = async (of: MysqlStore): Promise<number> => (await of.lookup([ALL]))[0] ?? 0
  const empty = async (tables: readonly string[]): Promise<void> => {
    for (const table of tables) await pool.query(`truncate ${prefix}${table}`)
  }
  const copyHistory = async (): Promise<void> => {
    for (const table of HISTORY) {
      await pool.query(`create table ${prefix}old_${table} as select * from ${prefix}${table}`)
    }
  }
  const restoreHistory = async (): Promise<void> => {
    await empty(HISTORY)
    for (const table of HISTORY) {
      await pool.query(`insert into ${prefix}${table} select * from ${prefix}old_${table}`)
    }
  }
  // Not often: the server repeats its last answer to whoever asks again within 100 ms.
  const waitForLock = (): Promise<void> =>
    vi.waitFor(
      async () => {
        const [waiting] = await pool.query<mysql.RowDataPacket[]>(
          `select 1 from information_schema.innodb_trx
where trx_state = 'LOCK WAIT' and trx_query like '%${prefix}heads%'`,
        )
        expect(waiting).not.toEqual([])
      },
      { interval: 150, timeout: 10_000 },
    )
  beforeEach(async () => {
    prefix = `t${++count}_`
    warnings = []
    await createMysqlStore(pool, { prefix }).migrate()
    store = await open()
    await store.revoke([ENTRY])
  })
  afterAll(() => pool.end())

  test.each([
    ['everything', TABLES],
    ['the revocations', ['revocations']],
    ['the heads', ['heads']],
  ])('accepts nothing from before, when %s were truncated', async (_, tables) => {
    const other = await open()
    const { sid } = await store.sessions!.open(await session())
    const before = await time()
    await empty(tables)
    expect(await watermark(store)).toBeGreaterThanOrEqual(before)
    expect(await watermark(other)).toBeGreaterThanOrEqual(before)
    expect(await other.sessions!.rotate(sid, firstToken(sid), RULES)).toEqual({ outcome: 'ended' })
    expect(warnings).toHaveLength(2)
    const next = await store.sessions!.open(await session())
    expect((await other.sessions!.rotate(next.sid, firstToken(next.sid), RULES)).outcome).toBe('advanced')
  })

  test('accepts nothing from before, when the revocations were truncated and a new process comes first', async () => {
    const before = await time()
    await empty(['revocations'])
    expect(await watermark(await open())).toBeGreaterThanOrEqual(before)
  })

  test('accepts nothing from before, when it was restored to an earlier state', async () => {
    const { sid } = await store.sessions!.open(await session())
    const other = await open()
    await copyHistory()
    const { position } = await store.revoke([{ ...ENTRY, id: 'lost' }])
    const before = await time()
    await restoreHistory()
    expect(await watermark(store)).toBeGreaterThanOrEqual(before)
    expect(await other.sessions!.rotate(sid, firstToken(sid), RULES)).toEqual({ outcome: 'ended' })
    expect(await store.lookup([TOKEN])).toEqual([FOREVER])
    expect((await store.feed(position, { waitMs: 0 })).reset).toBe(true)
  })

  test('notices that the history of a reader is gone, although it has as many changes again', async () => {
    await copyHistory()
    const reader = await open()
    const { next } = await reader.feed(null, { waitMs: 0 })
    const { position } = await store.revoke([{ ...ENTRY, id: 'lost' }])
    await restoreHistory()
    // A process that has not seen what is lost.
    const fresh = await open()
    await fresh.revoke([{ ...ENTRY, id: 'other' }])
    await fresh.revoke([{ ...ENTRY, id: 'another' }])
    expect((await fresh.feed(position, { waitMs: 0 })).reset).toBe(true)
    const { reset, entries } = await fresh.feed(next, { waitMs: 0 })
    expect([reset, entries.map(({ id }) => id)]).toEqual([false, ['other', 'another']])
  })

  test('notices that its own last change is gone, although others have made as many again', async () => {
    const { sid } = await store.sessions!.open(await session())
    await copyHistory()
    await store.revoke([{ ...ENTRY, id: 'lost' }])
    const before = await time()
    await restoreHistory()
    const fresh = await open()
    await fresh.revoke([{ ...ENTRY, id: 'other' }])
    await fresh.revoke([{ ...ENTRY, id: 'another' }])
    expect(await watermark(store)).toBeGreaterThanOrEqual(before)
    expect(await fresh.sessions!.rotate(sid, firstToken(sid), RULES)).toEqual({ outcome: 'ended' })
    expect(warnings).toHaveLength(2)
  })

  test('counts what a call learned while it waited for a connection', async () => {
    let isHeld = Promise.resolve()
    const queued = { getConnection: () => isHeld.then(() => pool.getConnection()) }
    const mine = createMysqlStore(queued, { prefix, onWarning: (text) => warnings.push(text) })
    await mine.prepare({ longestLifetime: HOUR })
    await copyHistory()
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    const writing = mine.revoke([{ ...ENTRY, id: 'lost' }])
    isHeld = held
    const waiting = watermark(mine)
    await writing
    const before = await time()
    await restoreHistory()
    release()
    expect(await waiting).toBeGreaterThanOrEqual(before)
  })

  test('forgets nothing for an answer from a server that has lost it', async () => {
    let gate: Promise<void> | null = null
    const slow = {
      async getConnection(): Promise<MysqlConnection> {
        const connection = await pool.getConnection()
        return {
          query: (text) => connection.query(text),
          async execute({ sql, rowsAsArray }, values) {
            const closed = gate
            gate = null
            await closed
            return connection.execute({ sql, rowsAsArray, values })
          },
          release: () => connection.release(),
          destroy: () => connection.destroy(),
        }
      },
    }
    const mine = createMysqlStore(slow, { prefix, onWarning: (text) => warnings.push(text) })
    await mine.prepare({ longestLifetime: HOUR })
    await copyHistory()
    let release = (): void => undefined
    gate = new Promise((resolve) => (release = resolve))
    const reading = mine.lookup([TOKEN])
    await vi.waitFor(() => expect(gate).toBeNull())
    await mine.revoke([{ ...ENTRY, id: 'lost' }])
    const before = await time()
    await restoreHistory()
    await (await open()).revoke([{ ...ENTRY, id: 'other' }])
    release()
    await reading
    expect(await watermark(mine)).toBeGreaterThanOrEqual(before)
  })

  test('does not take it for a loss that the clock of the server was ahead', async () => {
    const clock = createVirtualClock()
    const [idle, busy] = [1, 2].map(() => createMysqlStore(pool, { prefix, clock })) as [
      MysqlStore,
      MysqlStore,
    ]
    for (const of of [idle, busy]) await of.prepare({ longestLifetime: HOUR })
    await clock.advance('2h')
    const real = clock()
    clock.set(new Date(real + 15 * 60_000))
    await idle.lookup([TOKEN])
    clock.set(new Date(real))
    await busy.revoke([{ ...ENTRY, id: 'b' }])
    await clock.advance('12m')
    await busy.revoke([{ ...ENTRY, id: 'c' }])
    await busy.prune(1000)
    expect(await idle.lookup([{ ...TOKEN, id: 'c' }, ALL])).toEqual([FOREVER, undefined])
  })

  test('does not take a pause for a loss, in which others wrote and links were dropped', async () => {
    let now = Date.now()
    const clock = () => now
    const [idle, busy] = [1, 2].map(() => createMysqlStore(pool, { prefix, clock })) as [
      MysqlStore,
      MysqlStore,
    ]
    for (const of of [idle, busy]) await of.prepare({ longestLifetime: HOUR })
    now += 2 * HOUR
    await busy.revoke([{ ...ENTRY, id: 'b' }])
    now += 2 * HOUR
    await busy.revoke([{ ...ENTRY, id: 'c' }])
    expect(await busy.prune(1000)).toBe(0)
    expect(await idle.lookup([{ ...TOKEN, id: 'c' }, ALL])).toEqual([FOREVER, undefined])
  })

  test('keeps a link for as long as it was the last one and ten minutes more', async () => {
    let now = Date.now()
    const clock = () => now
    const [quiet, busy] = [1, 2].map(() => createMysqlStore(pool, { prefix, clock })) as [
      MysqlStore,
      MysqlStore,
    ]
    for (const of of [quiet, busy]) await of.prepare({ longestLifetime: HOUR })
    now += 2 * HOUR
    const { next } = await quiet.feed(null, { waitMs: 0 })
    for (const id of ['b', 'c']) {
      await busy.revoke([{ ...ENTRY, id }])
      await busy.prune(1000)
      now += 250_000
    }
    expect(await quiet.lookup([{ ...TOKEN, id: 'c' }, ALL])).toEqual([FOREVER, undefined])
    expect((await quiet.feed(next, { waitMs: 0 })).reset).toBe(false)
  })

  test('does not take for a loss what others commit while it waits for the head', async () => {
    const other = await pool.getConnection()
    await other.query('start transaction')
    await other.query(`select * from ${prefix}heads for update`)
    const revoking = store.revoke([{ ...ENTRY, id: 'b' }])
    await waitForLock()
    await other.query(
      `insert into ${prefix}revocations (namespace, kind, id, not_before, ends_at, change_number)
select namespace, 'link', link, changes, ${FOREVER}, 0 from ${prefix}heads`,
    )
    await other.query(`update ${prefix}heads set link = 'next', changes = changes + 1`)
    await other.query('commit')
    other.release()
    await revoking
    expect(warnings).toEqual([])
    expect(await watermark(store)).toBe(0)
  })

  test.each([
    ['revoke', (of: MysqlStore) => of.revoke([{ ...ENTRY, id: 'b' }])],
    ['feed', (of: MysqlStore) => of.feed(null, { waitMs: 0 })],
    ['open', async (of: MysqlStore) => of.sessions!.open(await session())],
    ['present', (of: MysqlStore) => of.sessions!.present('x', firstToken('x'), RULES)],
    ['get', (of: MysqlStore) => of.sessions!.get('x', RULES)],
    ['rotate', (of: MysqlStore) => of.sessions!.rotate('x', firstToken('x'), RULES)],
    ['list', (of: MysqlStore) => of.sessions!.list('ada', LIST)],
    ['prepare', (of: MysqlStore) => of.prepare({ longestLifetime: 2 * HOUR })],
  ])('notices it in %s', async (_, operate) => {
    const before = await time()
    await empty(TABLES)
    await operate(store)
    const [rows] = await pool.query<mysql.RowDataPacket[]>(
      `select not_before, ends_at from ${prefix}revocations where kind = 'all'`,
    )
    expect(rows[0]?.['not_before']).toBeGreaterThanOrEqual(before)
    expect(rows[0]?.['ends_at']).toBeGreaterThanOrEqual(before + HOUR)
  })

  test('is repaired by many processes and calls at the same time', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, open))
    const before = await time()
    await empty(TABLES)
    const calls = stores.flatMap((of) => Array.from({ length: 10 }, () => watermark(of)))
    for (const found of await Promise.all(calls)) expect(found).toBeGreaterThanOrEqual(before)
    expect(warnings).toHaveLength(5)
    await stores[0]?.revoke([{ ...ENTRY, id: 'b' }])
    for (const of of stores) expect(await of.lookup([{ kind: 'token', id: 'b' }])).toEqual([FOREVER])
  })

  test('lengthens the watermarks that are there, and tells the readers of its feed', async () => {
    await store.revoke([
      { kind: 'user', id: 'ada', notBefore: 0, until: 0 },
      { ...ALL, notBefore: 0, until: 0 },
    ])
    const { position } = await store.revoke([])
    await (await open()).prepare({ longestLifetime: 9 * HOUR })
    const { entries } = await store.feed(position, { waitMs: 0 })
    expect(entries.map(({ notBefore, until }) => until - notBefore)).toEqual([9 * HOUR, 9 * HOUR])
  })

  test('answers nothing without its tables', async () => {
    await pool.query(`drop table ${prefix}revocations`)
    await expect(store.lookup([TOKEN])).rejects.toThrow("doesn't exist")
    await expect(store.revoke([ENTRY])).rejects.toThrow("doesn't exist")
    await expect(store.sessions!.rotate('x', firstToken('x'), RULES)).rejects.toThrow("doesn't exist")
  })
})
