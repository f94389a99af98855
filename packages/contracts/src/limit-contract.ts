import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import {
  FOREVER,
  type LimitedOpening,
  MAX_ENDED_AT_ONCE,
  type NewSession,
  type OpenedSession,
  type SessionLimit,
  type SessionStore,
  toFirstPlace,
} from 'tokenlib/kit'
import { entry, readFrom } from './feed-contract.js'
import {
  firstToken,
  HOUR,
  LIST,
  openMany,
  revocationOf,
  rotateFirst,
  RULES,
  session,
  type StoreFixture,
  type StoreTests,
  testSessions,
  withoutData,
} from './store-fixture.js'

/** The result for a session that is over. */
export const ENDED = { outcome: 'ended' } as const

/** A limit that ends the oldest sessions. */
export const endOldest = (max: number): SessionLimit => ({ max, whenFull: 'endOldest', idleMs: FOREVER })
/** A limit that refuses the login. */
export const refuse = (max: number): SessionLimit => ({ max, whenFull: 'refuse', idleMs: FOREVER })

/** What a store with a session limit promises. */
export function limitContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)

  withSessions('a login within its limit ends nothing', async (sessions, fixture) => {
    for (const limit of [endOldest(2), refuse(2)]) {
      const user = limit.whenFull
      for (let count = 1; count <= 2; count++) {
        const { ended } = await open(sessions, session(fixture, { user }), limit)
        deepEqual(ended, [])
        equal((await sessions.list(user, LIST)).length, count)
      }
    }
  })

  withSessions('one too many ends the oldest, as a revocation does', async (sessions, fixture) => {
    const { store, now } = fixture
    const [first, second, third] = await openInTurn(sessions, fixture, 3)
    const other = await sessions.open(session(fixture, { user: 'grace' }))
    const { position } = await store.revoke([])
    const newest = await open(sessions, session(fixture), endOldest(3))
    deepEqual(newest.ended, [first])
    deepEqual(await sidsOf(sessions), [newest.sid, third, second])
    const revoked = entry('session', first as string, now() - 3000 + HOUR + 1000)
    deepEqual((await readFrom(store, position)).entries, [revoked])
    deepEqual([...(await store.lookup([revoked]))], [FOREVER])
    deepEqual(await rotateFirst(sessions, first as string), ENDED)
    deepEqual(await sessions.present(first as string, firstToken(first as string), RULES), ENDED)
    equal(await sessions.get(first as string, RULES), null)
    for (const { sid } of [newest, other, { sid: second as string }]) {
      equal((await rotateFirst(sessions, sid)).outcome, 'advanced')
    }
  })

  withSessions(
    'the new session has an id, a start and a client like any other',
    async (sessions, fixture) => {
      const { store, now } = fixture
      await store.revoke([revocationOf('user')])
      const client = { ip: '2001:db8::1', userAgent: 'Browser "Ä" \\ 漢字 🦊' }
      const { sid, startedAt } = await open(sessions, session(fixture, client), endOldest(1))
      equal(startedAt, now() + 1)
      deepEqual(withoutData(await sessions.get(sid, RULES)), {
        sid,
        user: 'ada',
        startedAt,
        expiresAt: now() + HOUR,
        ...toFirstPlace(startedAt),
        ...client,
      })
    },
  )

  withSessions(
    'of sessions that began together, the smallest ids are the oldest',
    async (sessions, fixture) => {
      const opened = await openMany(
        sessions,
        Array.from({ length: 5 }, () => session(fixture)),
      )
      const sids = opened.map(({ sid }) => sid).toSorted()
      fixture.advance(1)
      deepEqual((await open(sessions, session(fixture), endOldest(3))).ended, sids.slice(0, 3))
    },
  )

  withSessions('a session that began before the others is not ended by itself', async (sessions, fixture) => {
    const [older, newer] = await openInTurn(sessions, fixture, 2)
    fixture.advance(-60_000)
    const { sid, ended } = await open(
      sessions,
      session(fixture, { until: fixture.now() + HOUR }),
      endOldest(2),
    )
    deepEqual(ended, [older])
    deepEqual(await sidsOf(sessions), [newer, sid])
  })

  withSessions('refuse opens nothing and ends nothing', async (sessions, fixture) => {
    const { store } = fixture
    const sids = await openInTurn(sessions, fixture, 3)
    const { position } = await store.revoke([])
    for (const max of [3, 2, 1]) {
      deepEqual(await openLimited(sessions, session(fixture), refuse(max)), { outcome: 'full' })
    }
    deepEqual(await sidsOf(sessions), sids.toReversed())
    deepEqual((await readFrom(store, position)).entries, [])
    await store.revoke([revocationOf('session', sids[1])])
    equal((await openLimited(sessions, session(fixture), refuse(3))).outcome, 'opened')
    deepEqual(await openLimited(sessions, session(fixture), refuse(3)), { outcome: 'full' })
  })

  withSessions('what is over, idle or revoked does not count', async (sessions, fixture) => {
    const { store, now, advance } = fixture
    const limit = { max: 2, whenFull: 'refuse', idleMs: 60_000 } as const
    const [idle] = await openInTurn(sessions, fixture, 1)
    await sessions.open(session({ now }, { expiresAt: now() + 1000, until: now() + 1000 }))
    advance(60_000)
    equal((await openLimited(sessions, session({ now }), limit)).outcome, 'opened')
    const { sid } = await open(sessions, session({ now }), limit)
    deepEqual(await openLimited(sessions, session({ now }), limit), { outcome: 'full' })
    await store.revoke([revocationOf('session', sid)])
    equal((await openLimited(sessions, session({ now }), limit)).outcome, 'opened')
    deepEqual(await openLimited(sessions, session({ now }), limit), { outcome: 'full' })
    // Another manager may allow more idle time: a manager that does not count the session must not end it.
    equal((await sessions.get(idle as string, RULES))?.sid, idle)
    const three = await open(sessions, session({ now }), { ...endOldest(3), idleMs: 60_000 })
    deepEqual(three.ended, [])
    deepEqual((await open(sessions, session({ now }), endOldest(4))).ended, [idle])
    for (const kind of ['user', 'all'] as const) {
      await store.revoke([revocationOf(kind)])
      advance(5)
      equal((await openLimited(sessions, session({ now }), refuse(1))).outcome, 'opened')
      deepEqual(await openLimited(sessions, session({ now }), refuse(1)), { outcome: 'full' })
    }
  })

  withSessions(
    'a use keeps a session from being idle, not from being the oldest',
    async (sessions, fixture) => {
      const [oldest] = await openInTurn(sessions, fixture, 2)
      await rotateFirst(sessions, oldest as string)
      deepEqual((await open(sessions, session(fixture), endOldest(2))).ended, [oldest])
    },
  )

  withSessions('a limit that is lowered ends as many as it takes', async (sessions, fixture) => {
    const sids: string[] = []
    for (let count = 0; count < 10; count++) {
      sids.push((await open(sessions, session(fixture), endOldest(10))).sid)
      fixture.advance(1000)
    }
    const { sid, ended } = await open(sessions, session(fixture), endOldest(3))
    deepEqual(ended, sids.slice(0, 8))
    deepEqual(await sidsOf(sessions), [sid, sids[9], sids[8]])
  })

  withSessions('many sessions are ended in steps, and then the login succeeds', async (sessions, fixture) => {
    const count = 2 * MAX_ENDED_AT_ONCE + 50
    const given = Array.from({ length: count }, () => session(fixture))
    const opened = await openMany(sessions, given)
    const oldest = opened.map(({ sid }) => sid).toSorted()
    fixture.advance(1)
    const { sid, ended } = await open(sessions, session(fixture), endOldest(3))
    deepEqual(ended, oldest.slice(0, count - 2))
    deepEqual(await sidsOf(sessions), [sid, ...oldest.slice(-2).toReversed()])
    const keys = ended.map((id) => ({ kind: 'session' as const, id }))
    deepEqual(new Set(await fixture.store.lookup(keys)), new Set([FOREVER]))
  })

  withSessions('a limit that cannot be enforced is rejected', async (sessions, fixture) => {
    const given: readonly Partial<SessionLimit>[] = [
      { max: 0 },
      { max: 1001 },
      { max: 1.5 },
      { max: Number.NaN },
      { idleMs: Number.NaN },
      { whenFull: 'endNewest' as never },
    ]
    for (const part of given) {
      await rejects(openLimited(sessions, session(fixture), { ...endOldest(1), ...part }), TypeError)
    }
    deepEqual(await sidsOf(sessions), [])
  })
}

/** For a store without `openLimited`: fails if the store has one that is not tested. */
export function noLimitContract({ test }: StoreTests): void {
  test('openLimited is tested wherever a store has it', async ({ store }) => {
    const hasLimit = store.sessions?.openLimited !== undefined
    equal(hasLimit, false, 'pass limitsSessions: true to storeContract')
  })
}

/** One call of `openLimited`. */
export async function openLimited(
  sessions: SessionStore,
  given: NewSession,
  limit: SessionLimit,
): Promise<LimitedOpening> {
  ok(sessions.openLimited !== undefined, 'The store has no sessions.openLimited')
  return sessions.openLimited(given, limit)
}

/** Opens a session like a manager: repeats the call until the session is open. */
export async function open(
  sessions: SessionStore,
  given: NewSession,
  limit: SessionLimit,
): Promise<OpenedSession & { readonly ended: readonly string[] }> {
  const ended: string[] = []
  for (;;) {
    const answer = await openLimited(sessions, given, limit)
    ok(answer.outcome !== 'full', 'The login was refused')
    ok(answer.ended.length <= MAX_ENDED_AT_ONCE, `${answer.ended.length} sessions were ended in one step`)
    ended.push(...answer.ended)
    if (answer.outcome === 'opened') return { ...answer, ended }
    ok(answer.ended.length > 0, 'A step has ended nothing')
  }
}

/** The ids of new sessions of the user `ada`, a second apart, oldest first. */
export async function openInTurn(
  sessions: SessionStore,
  fixture: StoreFixture,
  count: number,
): Promise<readonly string[]> {
  const sids: string[] = []
  for (let at = 0; at < count; at++) {
    sids.push((await sessions.open(session(fixture))).sid)
    fixture.advance(1000)
  }
  return sids
}

/** The ids of the sessions of the user `ada`, newest first. */
export async function sidsOf(sessions: SessionStore): Promise<readonly string[]> {
  return (await sessions.list('ada', LIST)).map(({ sid }) => sid)
}
