import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { decideRotation, type PresentedToken } from 'tokenlib/kit'
import { createPostgresStore, type PostgresStore } from 'tokenlib/postgres'
import { toTimedId } from '../../packages/tokenlib/src/tokens/ids.js'
import { childOf, firstToken, revocationOf } from '../../packages/contracts/src/store-fixture.js'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'

const HOUR = 3_600_000
const FOREVER = Number.MAX_SAFE_INTEGER
const NOW = Date.UTC(2030, 0, 1)
const END = NOW + HOUR
const PATIENTLY = { timeout: 20_000 }
const GRACE = 10_000
const IDLE = 100_000
const RULES = { graceMs: GRACE, idleMs: IDLE }
const FIRST_CLIENT = { ip: '192.0.2.1', userAgent: 'First' }
const SECOND_CLIENT = { ip: '192.0.2.2', userAgent: null }

describeWithPostgres('a rotation in PostgreSQL', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  let now: number
  let namespace: string
  let count = 0
  let store: PostgresStore
  let inTransaction: pg.Client
  let holder: PostgresStore
  const open = async (client: pg.Pool | pg.Client): Promise<PostgresStore> => {
    const opened = createPostgresStore(client, { namespace, clock: () => now })
    await opened.prepare({ longestLifetime: HOUR })
    return opened
  }
  const openSession = async (): Promise<string> => {
    const nonce = `nonce${++count}`.padEnd(14, 'A')
    const given = { user: 'ada', nonce, expiresAt: END, until: END, ...FIRST_CLIENT }
    return (await store.sessions!.open(given)).sid
  }
  const rotate = (sid: string, token: PresentedToken, of = store) =>
    of.sessions!.rotate(sid, token, { ...RULES, ...SECOND_CLIENT })
  const find = (sid: string) => store.sessions!.get(sid, { idleMs: FOREVER })
  const waitForWaiter = async (): Promise<void> => {
    const sql = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await expect.poll(async () => (await pool.query(sql)).rows.length, PATIENTLY).toBe(1)
  }

  beforeAll(() => createPostgresStore(pool).migrate())
  beforeEach(async () => {
    now = NOW
    namespace = `n${++count}`
    store = await open(pool)
    inTransaction = new pg.Client({ connectionString: url })
    await inTransaction.connect()
    holder = await open(inTransaction)
  })
  afterEach(() => inTransaction.end())
  afterAll(() => pool.end())

  test('writes what decideRotation says, at each of its limits', async () => {
    const ages = [0, 1, IDLE, IDLE + 1]
    const cases = [0, GRACE - 1, GRACE, 1 - GRACE, -GRACE, IDLE, IDLE + 1].flatMap((tokenAge) =>
      ['token', 'parent', 'other'].flatMap((current) =>
        ['parent', null].flatMap((previous) =>
          [2, 3, 4, 5, 6].flatMap((generation) =>
            ages.map((age) => ({
              token: { id: 'token', parent: 'parent', generation: 5, issuedAt: NOW - tokenAge },
              place: { current, previous, generation, movedAt: NOW - 1, lastUsedAt: NOW - age },
            })),
          ),
        ),
      ),
    )
    const sids = cases.map((_, at) => toTimedId(NOW, String(at).padStart(14, '0')))
    await pool.query(
      `insert into tokenlib_sessions (namespace, sid, user_id, started_at, expires_at, until, ip, user_agent,
        current_id, previous_id, generation, moved_at, last_used_at)
      select $1, sid, 'ada', $3, $4, $4, $5, $6, p.* from json_to_recordset($2) as r(sid text, place json),
        json_to_record(place) as p(current text, previous text, generation int, "movedAt" bigint, "lastUsedAt" bigint)`,
      [
        namespace,
        JSON.stringify(cases.map(({ place }, at) => ({ sid: sids[at], place }))),
        NOW,
        END,
        FIRST_CLIENT.ip,
        FIRST_CLIENT.userAgent,
      ],
    )
    await Promise.all(cases.map(({ token }, at) => rotate(sids[at]!, token)))
    const { rows } = await pool.query<{ place: unknown }>(
      `select json_build_object('sid', sid, 'current', current_id, 'previous', previous_id, 'generation', generation,
        'movedAt', moved_at, 'lastUsedAt', last_used_at, 'ip', ip, 'userAgent', user_agent) as place
      from tokenlib_sessions where namespace = $1 order by sid`,
      [namespace],
    )

    const outcomes = new Set<string>()
    const expected = cases.flatMap(({ token, place }, at) => {
      const decision = decideRotation({ ...place, until: END, isRevoked: false }, token, RULES, NOW)
      const written = 'place' in decision ? decision.place : null
      outcomes.add(`${decision.outcome}${written === null ? '' : ', written'}`)
      if (decision.outcome === 'reuse') return []
      const ip = decision.outcome === 'advance' ? SECOND_CLIENT.ip : FIRST_CLIENT.ip
      return [{ ...FIRST_CLIENT, ip, sid: sids[at], ...(written ?? place) }]
    })
    expect(rows.map(({ place }) => place)).toEqual(expected)
    expect([...outcomes].toSorted()).toEqual([
      'advance, written',
      'end',
      'keep',
      'keep, written',
      'repeat',
      'repeat, written',
      'reuse',
      'superseded',
    ])
  })

  test.each([
    ['over', () => void (now = END)],
    ['revoked with its user', () => store.revoke([revocationOf('user')])],
    ['revoked with all others', () => store.revoke([revocationOf('all')])],
  ])('does not touch a session that is %s', async (_, end) => {
    const sid = await openSession()
    const read = async (): Promise<unknown> =>
      (await pool.query('select ctid, * from tokenlib_sessions where sid = $1', [sid])).rows
    const before = await read()
    now += GRACE
    await end()
    expect(await rotate(sid, { ...firstToken(sid), issuedAt: now - GRACE })).toEqual({ outcome: 'ended' })
    expect(await read()).toEqual(before)
  })

  test('takes one statement, and another one for a time of use, a reuse or a write that was lost', async () => {
    let statements = 0
    const counting = createPostgresStore(
      {
        query(statement, values) {
          statements++
          return pool.query(statement as string, values)
        },
      },
      { namespace, clock: () => now },
    )
    await counting.prepare({ longestLifetime: HOUR })
    const sid = await openSession()
    const present = async (token: PresentedToken): Promise<readonly [string, number]> => {
      statements = 0
      return [(await rotate(sid, token, counting)).outcome, statements]
    }
    const first = firstToken(sid)
    expect(await present(first)).toEqual(['advanced', 1])
    expect(await present(first)).toEqual(['repeated', 1])
    const [child, sibling] = [childOf(first, now), childOf(first, now)]
    expect(await present(child)).toEqual(['kept', 1])
    now += IDLE / 2
    expect(await present(first)).toEqual(['repeated', 2])
    expect(await present(child)).toEqual(['advanced', 1])
    expect(await present(sibling)).toEqual(['superseded', 1])
    const ahead = childOf(childOf(child, now), now)
    expect(await present(ahead)).toEqual(['kept', 2])
    expect(await present(ahead)).toEqual(['kept', 1])
    now += GRACE
    expect(await present(sibling)).toEqual(['reused', 2])
    expect(await present(ahead)).toEqual(['ended', 1])
  })

  test.each([
    ['commit', { outcome: 'superseded' }, 'held'],
    ['rollback', { outcome: 'advanced', movedAt: NOW + GRACE }, 'waiting'],
  ] as const)(
    'waits for a sibling that moves the session on, and goes by its %s',
    async (end, outcome, winner) => {
      const sid = await openSession()
      const first = firstToken(sid)
      now += GRACE
      await rotate(sid, first)
      const [held, waiting] = [childOf(first, now), childOf(first, now)]
      now += GRACE
      await inTransaction.query('begin')
      expect(await rotate(sid, held, holder)).toMatchObject({ outcome: 'advanced' })
      const answer = rotate(sid, waiting)
      await waitForWaiter()
      await inTransaction.query(end)
      expect(await answer).toMatchObject(outcome)
      expect(await find(sid)).toMatchObject({ current: { held, waiting }[winner].id, generation: 2 })
    },
  )

  test('answers by the row that it waited for', async () => {
    const sid = await openSession()
    const first = firstToken(sid)
    now += GRACE
    await inTransaction.query('begin')
    await rotate(sid, first, holder)
    const movedAt = now
    // Further ahead than the row can be, as long as nobody sees that it has moved on.
    const child = childOf(first, now)
    now += GRACE
    const answer = rotate(sid, child)
    await waitForWaiter()
    await inTransaction.query('commit')
    expect(await answer).toMatchObject({
      outcome: 'advanced',
      movedAt,
      client: { ip: SECOND_CLIENT.ip, userAgent: FIRST_CLIENT.userAgent },
    })
  })

  test('moves on what has only noted a use since', async () => {
    const sid = await openSession()
    const first = firstToken(sid)
    now += GRACE
    await rotate(sid, first)
    const child = childOf(first, now)
    now += IDLE / 2
    await inTransaction.query('begin')
    expect(await rotate(sid, first, holder)).toMatchObject({ outcome: 'repeated' })
    const answer = rotate(sid, child)
    await waitForWaiter()
    await inTransaction.query('commit')
    expect(await answer).toMatchObject({ outcome: 'advanced', movedAt: NOW + GRACE })
    expect(await find(sid)).toMatchObject({ current: child.id, previous: first.id, generation: 2 })
  })

  test('notes no use of a token whose child has moved the session on since', async () => {
    const sid = await openSession()
    const first = firstToken(sid)
    await rotate(sid, first)
    const child = childOf(first, now)
    now += IDLE / 2
    await inTransaction.query('begin')
    expect(await rotate(sid, child, holder)).toMatchObject({ outcome: 'advanced' })
    const answer = rotate(sid, first)
    await waitForWaiter()
    await inTransaction.query('commit')
    expect(await answer).toEqual({ outcome: 'superseded' })
    expect(await find(sid)).toMatchObject({ current: child.id, previous: first.id, generation: 2 })
  })

  test('finds the session over that was revoked while it waited', async () => {
    const sid = await openSession()
    now += GRACE
    await inTransaction.query('begin')
    await holder.revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until: END }])
    const answer = rotate(sid, firstToken(sid))
    await waitForWaiter()
    await inTransaction.query('commit')
    expect(await answer).toEqual({ outcome: 'ended' })
  })

  test('moves on to one of many siblings that come at the same time', async () => {
    const sid = await openSession()
    let parent = firstToken(sid)
    now += GRACE
    await rotate(sid, parent)
    for (let round = 0; round < 5; round++) {
      const siblings = Array.from({ length: 10 }, () => childOf(parent, now))
      now += GRACE
      const answers = await Promise.all(siblings.map((token) => rotate(sid, token)))
      const outcomes = answers.map(({ outcome }) => outcome)
      expect(outcomes.toSorted()).toEqual(['advanced', ...Array<string>(9).fill('superseded')])
      parent = siblings[outcomes.indexOf('advanced')]!
      expect(await find(sid)).toMatchObject({ current: parent.id, generation: parent.generation })
    }
  })

  test('gives up when its writes come to nothing', async () => {
    const sid = await openSession()
    now += GRACE
    await pool.query(`create function skip() returns trigger language plpgsql as 'begin return null; end';
      create trigger skip before update on tokenlib_sessions for each row execute function skip()`)
    try {
      await expect(rotate(sid, firstToken(sid))).rejects.toThrow('same time')
    } finally {
      await pool.query('drop function skip cascade')
    }
  })
})
