import pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPostgresStore, type PostgresStore } from 'tokenlib/postgres'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import { childOf, firstToken } from '../../packages/contracts/src/store-fixture.js'

const HOUR = 3_600_000
const FOREVER = Number.MAX_SAFE_INTEGER
const PATIENTLY = { timeout: 20_000 }
const NO_CLIENT = { ip: null, userAgent: null }
const RULES = { graceMs: 10_000, idleMs: FOREVER, ...NO_CLIENT }
/** Every use of a token moves its session on. */
const AT_ONCE = { ...RULES, graceMs: 0 }
const LIST = { limit: 1000, before: null, idleMs: FOREVER }

const token = (id: string, until = FOREVER) => ({ kind: 'token', id, notBefore: FOREVER, until }) as const

describeWithPostgres('many who use the PostgreSQL store at once', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  let namespace: string
  let count = 0
  let store: PostgresStore
  let inTransaction: pg.Client
  const open = async (client: pg.Pool | pg.Client = pool): Promise<PostgresStore> => {
    const opened = createPostgresStore(client, { namespace })
    await opened.migrate()
    await opened.prepare({ longestLifetime: HOUR })
    return opened
  }
  const openSession = async (until?: number) => {
    const end = (await store.revoke([])).now + HOUR
    const nonce = `nonce${++count}`.padEnd(14, 'A')
    return store.sessions!.open({ user: 'ada', nonce, expiresAt: end, until: until ?? end, ...NO_CLIENT })
  }
  const row = async (table: string): Promise<unknown> =>
    (await pool.query(`select ctid, xmin, * from tokenlib_${table} where namespace = $1`, [namespace])).rows
  const waiters = async (): Promise<number> => {
    const sql = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    return (await pool.query(sql)).rows.length
  }

  beforeEach(async () => {
    namespace = `n${++count}`
    store = await open()
    inTransaction = new pg.Client({ connectionString: url })
    await inTransaction.connect()
  })
  afterEach(() => inTransaction.end())
  afterAll(() => pool.end())

  test('wait for the revocation before them, so that readers of the feed miss nothing', async () => {
    const holder = await open(inTransaction)
    const start = await store.feed(null, { waitMs: 0 })
    await inTransaction.query('begin')
    await holder.revoke([token('first')])
    const second = store.revoke([token('second')])
    await expect.poll(waiters, PATIENTLY).toBe(1)
    expect((await store.feed(start.next, { waitMs: 0 })).entries).toEqual([])
    await inTransaction.query('commit')
    await second
    const { entries } = await store.feed(start.next, { waitMs: 0 })
    expect(entries.map(({ id }) => id)).toEqual(['first', 'second'])
  })

  test('with a limit, see what those opened who came before them', async () => {
    const limit = { max: 1, whenFull: 'endOldest', idleMs: FOREVER } as const
    const given = (user: string) => ({
      user,
      nonce: `nonce${++count}`.padEnd(14, 'A'),
      expiresAt: FOREVER,
      until: FOREVER,
      ...NO_CLIENT,
    })
    const holder = await open(inTransaction)
    await inTransaction.query('begin')
    const first = await holder.sessions!.openLimited!(given('ada'), limit)
    const second = store.sessions!.openLimited!(given('ada'), limit)
    await expect.poll(waiters, PATIENTLY).toBe(1)
    // Nobody else waits: neither other users nor revocations.
    expect(await store.sessions!.openLimited!(given('bob'), limit)).toMatchObject({ outcome: 'opened' })
    await store.revoke([token('a')])
    await inTransaction.query('commit')
    expect(await second).toMatchObject({ outcome: 'opened', ended: [(first as { sid: string }).sid] })
    expect(await store.sessions!.list('ada', LIST)).toHaveLength(1)
  })

  test('with a limit, and those who revoke, rotate and drop, do not block each other for ever', async () => {
    const limit = { max: 2, whenFull: 'endOldest', idleMs: FOREVER } as const
    const work = Array.from({ length: 60 }, async (_, at) => {
      const user = `user${at % 3}`
      const nonce = `nonce${++count}`.padEnd(14, 'A')
      const given = { user, nonce, expiresAt: FOREVER, until: FOREVER, ...NO_CLIENT }
      const answer = await store.sessions!.openLimited!(given, limit)
      if (answer.outcome !== 'opened') throw new Error(answer.outcome)
      if (at % 4 === 0) await store.revoke([{ kind: 'user', id: user, notBefore: 0, until: 0 }])
      else if (at % 4 === 1) await store.prune(100)
      else if (at % 4 === 2)
        await store.revoke([{ kind: 'session', id: answer.sid, notBefore: FOREVER, until: 0 }])
      else await store.sessions!.rotate(answer.sid, firstToken(answer.sid), RULES)
    })
    await Promise.all(work)
    for (const user of ['user0', 'user1', 'user2']) {
      expect((await store.sessions!.list(user, LIST)).length).toBeLessThanOrEqual(2)
    }
  })

  test('are looked up, rotated and opened while somebody holds up every revocation', async () => {
    const { sid } = await openSession()
    const holder = await open(inTransaction)
    await inTransaction.query('begin')
    await holder.revoke([token('a')])
    const waiting = store.revoke([token('b')])
    await expect.poll(waiters, PATIENTLY).toBe(1)
    expect(await store.lookup([{ kind: 'token', id: 'a' }])).toEqual([undefined])
    for (const outcome of ['advanced', 'repeated']) {
      expect(await store.sessions!.rotate(sid, firstToken(sid), AT_ONCE)).toMatchObject({ outcome })
    }
    expect(await store.sessions!.list('ada', LIST)).toHaveLength(1)
    const end = FOREVER
    await store.sessions!.open({
      user: 'bob',
      nonce: 'B'.repeat(14),
      expiresAt: end,
      until: end,
      ...NO_CLIENT,
    })
    await inTransaction.query('rollback')
    await waiting
    const keys = ['a', 'b'].map((id) => ({ kind: 'token' as const, id }))
    expect(await store.lookup(keys)).toEqual([undefined, FOREVER])
  })

  test('find nothing written for a token that does not move its session on', async () => {
    const { sid } = await openSession()
    const first = firstToken(sid)
    await store.sessions!.rotate(sid, first, AT_ONCE)
    const child = childOf(first, (await store.revoke([])).now)
    const before = [await row('sessions'), await row('heads'), await row('revocations')]
    expect((await store.sessions!.rotate(sid, first, RULES)).outcome).toBe('repeated')
    expect((await store.sessions!.rotate(sid, child, RULES)).outcome).toBe('kept')
    expect([await row('sessions'), await row('heads'), await row('revocations')]).toEqual(before)
  })

  test('are told of a reuse once', async () => {
    const { sid } = await openSession()
    const first = firstToken(sid)
    const second = childOf(first, 0)
    for (const one of [first, second, childOf(second, 0)]) await store.sessions!.rotate(sid, one, AT_ONCE)
    const { position } = await store.revoke([])
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async () => (await store.sessions!.rotate(sid, first, RULES)).outcome),
    )
    expect(outcomes.toSorted()).toEqual([...Array<string>(19).fill('ended'), 'reused'])
    expect((await store.feed(position, { waitMs: 0 })).entries).toHaveLength(1)
  })

  test('never hold each other up in a circle', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => open()))
    const sessions = await Promise.all(Array.from({ length: 30 }, () => openSession()))
    const { now } = await store.revoke([])
    const random = (below: number): number => Math.floor(Math.random() * below)
    const tokens = sessions.map(({ sid }) => {
      const first = firstToken(sid)
      const second = childOf(first, now)
      return [first, second, childOf(second, now)]
    })
    const pick = () => random(sessions.length)
    const writers = stores.map(async (writer) => {
      for (let round = 0; round < 25; round++) {
        // Some have ended long ago, so that dropping meets writing.
        const batch = Array.from({ length: 40 }, () =>
          token(`t${random(60)}`, now + random(2) * HOUR - HOUR / 2),
        )
        const [rotated, revoked] = [pick(), pick()]
        await Promise.all([
          writer.revoke(batch),
          writer.sessions!.rotate(sessions[rotated]!.sid, tokens[rotated]![random(3)]!, {
            ...RULES,
            graceMs: random(2) * 10_000,
          }),
          writer.prune(20),
          writer.revoke([
            { kind: 'session', id: sessions[revoked]!.sid, notBefore: FOREVER, until: now },
            { kind: 'user', id: 'ada', notBefore: 0, until: 0 },
          ]),
        ])
      }
    })
    await Promise.all(writers)
    const { rows } = await pool.query(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    expect(Number(rows[0].deadlocks)).toBe(0)
  })

  test('drop what has ended one at a time', async () => {
    const { now } = await store.revoke([])
    await store.revoke([token('a', now - HOUR), token('b', now - HOUR), token('c', now + HOUR)])
    await openSession(now - HOUR)
    const holder = await open(inTransaction)
    await inTransaction.query('begin')
    expect(await holder.prune(1)).toBe(2)
    expect(await store.prune(10)).toBe(0)
    await inTransaction.query('rollback')
    expect(await store.prune(10)).toBe(3)
    expect(await store.prune(10)).toBe(0)
  })

  test('leave a row that somebody writes for later', async () => {
    const { now } = await store.revoke([])
    await store.revoke([token('a', now - HOUR), token('b', now - HOUR)])
    const holder = await open(inTransaction)
    await inTransaction.query('begin')
    await holder.revoke([token('a', now + HOUR)])
    expect(await store.prune(10)).toBe(1)
    await inTransaction.query('commit')
    expect(await store.prune(10)).toBe(0)
    expect(await store.lookup([token('a'), token('b')])).toEqual([FOREVER, undefined])
  })

  test.each([
    ['and leave what lives', async () => undefined],
    [
      'and are not troubled when that fails',
      async () => {
        throw new Error('connection lost')
      },
    ],
  ])('drop what has ended by themselves, after a write, once a minute, %s', async (_, beforeDropping) => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const drops: Promise<unknown>[] = []
    const client = {
      async query(text: string, values: (string | number | null)[]) {
        const answer = text.includes('dropped as (') ? beforeDropping() : Promise.resolve()
        if (text.includes('dropped as (')) drops.push(Promise.allSettled([answer]))
        await answer
        return pool.query(text, values)
      },
    }
    try {
      const tidy = createPostgresStore(client, { namespace })
      await tidy.prepare({ longestLifetime: HOUR })
      for (const minute of [0, 1, 2]) {
        vi.advanceTimersByTime(minute * 60_001)
        for (const id of ['a', 'b', 'c']) await tidy.revoke([token(`${id}${minute}`)])
        expect(drops).toHaveLength(minute)
      }
      await Promise.all(drops)
      await tidy.close()
      vi.advanceTimersByTime(60_001)
      await tidy.revoke([token('d')])
      expect(drops).toHaveLength(2)
      expect(await tidy.lookup([token('a0'), token('d')])).toEqual([FOREVER, FOREVER])
    } finally {
      vi.useRealTimers()
    }
  })

  test('never shorten what somebody else asked for', async () => {
    const { now } = await store.revoke([])
    await store.revoke([{ ...token('a', now + 2 * HOUR), notBefore: now }])
    await store.revoke([token('a', now + HOUR)])
    expect((await store.feed(null, { waitMs: 0 })).entries).toEqual([token('a', now + 2 * HOUR)])
  })

  test('go by the clock of the server', async () => {
    const { rows } = await pool.query(
      'select floor(extract(epoch from clock_timestamp()) * 1000)::text as now',
    )
    const { now } = await store.revoke([{ kind: 'user', id: 'ada', notBefore: 0, until: 0 }])
    const { startedAt } = await openSession()
    expect(now).toBeGreaterThanOrEqual(Number(rows[0].now))
    expect(await store.lookup([{ kind: 'user', id: 'ada' }])).toEqual([now])
    expect(startedAt).toBeGreaterThan(now)
  })
})
