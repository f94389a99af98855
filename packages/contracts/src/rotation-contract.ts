import { deepEqual, equal } from 'node:assert/strict'
import { FOREVER, type PresentedToken, type SessionStore, toCoarseMs } from 'tokenlib/kit'
import { entry, readFrom } from './feed-contract.js'
import {
  childOf,
  firstToken,
  HOUR,
  LIST,
  NO_GRACE,
  revocationOf,
  RULES,
  session,
  type StoreFixture,
  type StoreTests,
  testOneSession,
  testSessions,
} from './store-fixture.js'

const { graceMs: GRACE } = RULES
const CURRENT = { outcome: 'current' }
const ENDED = { outcome: 'ended' }
const CLIENT = { ip: '192.0.2.1', userAgent: 'first' }
const OTHER_CLIENT = { ip: '2001:db8::2', userAgent: '' }

// The outcome for each token of a session that has advanced three times, within the grace of the last time and after it.
const TABLE = [
  ['current', 'repeated', 'repeated'],
  ['child', 'kept', 'advanced'],
  ['previous', 'superseded', 'reused'],
  ['sibling', 'superseded', 'reused'],
  ['first', 'reused', 'reused'],
  ['aunt', 'reused', 'reused'],
  ['cousin', 'reused', 'reused'],
  ['niece', 'reused', 'reused'],
  ['grandchild', 'kept', 'advanced'],
  ['farAhead', 'kept', 'advanced'],
] as const

type Family = Record<(typeof TABLE)[number][0], PresentedToken>

// By a clock that may have been set back.
const WITHIN_GRACE = [0, GRACE - 1, 1 - GRACE]
const AFTER_GRACE = [GRACE, 4 * GRACE, -GRACE]

/** What a store promises of refresh tokens that are exchanged: in turn, again, too late and at the same time. */
export function rotationContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)
  const withSession = testOneSession(tests)

  tableContract(tests, 'rotate')

  withSession('the token of the login advances the session, even immediately', async (sid, sessions) => {
    const first = firstToken(sid)
    equal((await sessions.rotate(sid, first, RULES)).outcome, 'advanced')
    equal((await sessions.get(sid, RULES))?.current, first.id)
  })

  withSessions('a use that moves nothing is noted when the last one is old', async (sessions, fixture) => {
    const { now, advance } = fixture
    const { sid, tokens } = await openFamily(sessions, fixture)
    const movedAt = now()
    const rules = { ...RULES, graceMs: HOUR }
    for (const idleMs of [FOREVER, 40_000]) {
      for (const token of [tokens.current, tokens.child]) {
        const before = await sessions.get(sid, RULES)
        advance(toCoarseMs({ ...rules, idleMs }))
        await sessions.rotate(sid, token, { ...rules, idleMs })
        deepEqual(await sessions.get(sid, RULES), before)
        advance(1)
        await sessions.rotate(sid, token, { ...rules, idleMs, ...OTHER_CLIENT })
        deepEqual(await sessions.get(sid, RULES), { ...before, movedAt, lastUsedAt: now() })
        equal((await sessions.list('ada', LIST))[0]?.lastUsedAt, now())
      }
    }
  })

  withSession('what is not known of a client leaves what was known', async (sid, sessions, { now }) => {
    let token = firstToken(sid)
    for (const [given, expected] of [
      [{ ip: '192.0.2.1' }, { ip: '192.0.2.1', userAgent: null }],
      [{ userAgent: 'first' }, CLIENT],
      [{}, CLIENT],
      [{ userAgent: '' }, { ...CLIENT, userAgent: '' }],
    ] as const) {
      await sessions.rotate(sid, token, { ...NO_GRACE, ...given })
      const { ip, userAgent } = (await sessions.get(sid, RULES)) ?? {}
      deepEqual({ ip, userAgent }, expected)
      token = childOf(token, now())
    }
  })

  withSession(
    'of many concurrent uses of a token, one advances the session',
    async (sid, sessions, fixture) => {
      let token = firstToken(sid)
      for (let round = 0; round < 3; round++) {
        fixture.advance(GRACE)
        const outcomes = await useAtOnce(tests, fixture, sid, fiftyTimes(token))
        deepEqual(outcomes.toSorted(), ['advanced', ...fiftyTimes('repeated').slice(1)])
        const after = await sessions.get(sid, RULES)
        equal(after?.current, token.id)
        fixture.advance(GRACE)
        deepEqual(await useAtOnce(tests, fixture, sid, fiftyTimes(token)), fiftyTimes('repeated'))
        deepEqual(await sessions.get(sid, RULES), after)
        token = childOf(token, fixture.now())
      }
    },
  )

  withSessions('of concurrent siblings, one advances the session', async (sessions, fixture) => {
    const { sid, tokens } = await openFamily(sessions, fixture)
    let { current }: { current: PresentedToken } = tokens
    for (let round = 0; round < 5; round++) {
      const siblings = [childOf(current, fixture.now()), childOf(current, fixture.now())]
      fixture.advance(GRACE)
      const outcomes = await useAtOnce(tests, fixture, sid, siblings)
      deepEqual(outcomes.toSorted(), ['advanced', 'superseded'])
      current = siblings[outcomes.indexOf('advanced')] ?? current
      equal((await sessions.get(sid, RULES))?.current, current.id)
    }
  })

  withSessions('after a revocation resolved, no rotation succeeds', async (sessions, { store, now }) => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => sessions.open(session({ now }))))
    const outcomes = opened.map(async ({ sid }) => {
      const token = firstToken(sid)
      const racing = [sessions.rotate(sid, token, RULES), sessions.rotate(sid, token, NO_GRACE)]
      await store.revoke([entry('session', sid, now() + HOUR)])
      const after = await sessions.rotate(sid, token, RULES)
      await Promise.all(racing)
      return after.outcome
    })
    deepEqual(new Set(await Promise.all(outcomes)), new Set(['ended']))
  })
}

/** What a store promises about refresh tokens that are presented without advancing their session. */
export function presentContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)

  tableContract(tests, 'present')

  for (const kind of ['session', 'user', 'all'] as const) {
    withSessions(`revoking ${kind} ends what is presented`, async (sessions, fixture) => {
      const { sid, tokens } = await openFamily(sessions, fixture)
      await fixture.store.revoke([revocationOf(kind, sid)])
      for (const token of Object.values(tokens)) deepEqual(await sessions.present(sid, token, RULES), ENDED)
    })
  }
}

// The same rules apply whether or not the session is to advance.
function tableContract(tests: StoreTests, method: 'rotate' | 'present'): void {
  const withSessions = testSessions(tests)

  for (const [name, within, after] of TABLE) {
    withSessions(`${name}: ${within} within the grace, ${after} after it`, async (sessions, fixture) => {
      for (const [outcome, waits] of [
        [within, WITHIN_GRACE],
        [after, AFTER_GRACE],
      ] as const) {
        for (const wait of waits) {
          const { sid, tokens } = await openFamily(sessions, fixture)
          fixture.advance(wait)
          await assertOutcome(fixture, method, sid, tokens[name], outcome)
        }
      }
    })
  }

  withSessions('a reuse ends every token of its session, and no other session', async (sessions, fixture) => {
    const { store, now } = fixture
    const other = await sessions.open(session({ now }))
    const { sid, tokens } = await openFamily(sessions, fixture)
    const { position } = await store.revoke([])
    const until = (await sessions.get(sid, RULES))?.expiresAt ?? 0
    equal((await sessions[method](sid, tokens.first, RULES)).outcome, 'reused')
    deepEqual((await readFrom(store, position)).entries, [entry('session', sid, until + 1000)])
    for (const token of Object.values(tokens)) {
      deepEqual(await sessions.present(sid, token, RULES), ENDED)
      deepEqual(await sessions.rotate(sid, token, RULES), ENDED)
    }
    deepEqual(await sessions.present(other.sid, firstToken(other.sid), RULES), CURRENT)
  })

  withSessions('of many concurrent uses of an old token, one is reported', async (sessions, fixture) => {
    const { sid, tokens } = await openFamily(sessions, fixture)
    const outcomes = await useAtOnce(tests, fixture, sid, fiftyTimes(tokens.first), method)
    deepEqual(outcomes.toSorted(), [...fiftyTimes('ended').slice(1), 'reused'])
  })

  withSessions('a session that is not known has ended', async (sessions, { now }) => {
    const sid = 'AZxAAAAAAAAAAAAAAAAAAA'
    for (const token of [firstToken(sid), childOf(firstToken(sid), now())]) {
      deepEqual(await sessions[method](sid, token, RULES), ENDED)
      deepEqual(await sessions[method]('', token, RULES), ENDED)
    }
  })

  withSessions('a session is idle when neither it nor the token is younger', async (sessions, fixture) => {
    const { store, now, advance } = fixture
    const rules = { ...RULES, idleMs: 4 * GRACE }
    const { sid, tokens } = await openFamily(sessions, fixture)
    const { current, child, first } = tokens
    advance(GRACE)
    // Its exchange was too soon after the last use to be noted.
    const younger = childOf(current, now())
    advance(3 * GRACE)
    deepEqual(await sessions.present(sid, child, rules), CURRENT)
    advance(1)
    for (const token of [current, child, first]) deepEqual(await sessions[method](sid, token, rules), ENDED)
    advance(GRACE - 1)
    deepEqual(await sessions.present(sid, younger, rules), CURRENT)
    advance(1)
    deepEqual(await sessions[method](sid, younger, rules), ENDED)
    deepEqual([...(await store.lookup([{ kind: 'session', id: sid }]))], [undefined])
  })
}

// Presents a token, and checks the whole answer and all that is kept of its session.
async function assertOutcome(
  { store, now }: StoreFixture,
  method: 'rotate' | 'present',
  sid: string,
  token: PresentedToken,
  outcome: (typeof TABLE)[number][1 | 2],
): Promise<void> {
  const { sessions } = store as { sessions: SessionStore }
  const before = await sessions.get(sid, RULES)
  const answer = await sessions[method](sid, token, { ...RULES, ...OTHER_CLIENT })
  const after = await sessions.get(sid, RULES)
  const [revoked] = await store.lookup([{ kind: 'session', id: sid }])

  const { generation = 0, movedAt, expiresAt } = before ?? {}
  if (outcome === 'reused') {
    deepEqual(answer, { outcome, generation, client: CLIENT })
    return deepEqual([after, revoked], [null, FOREVER])
  }
  equal(revoked, undefined)
  if (outcome === 'superseded' || method === 'present') {
    deepEqual(answer, { outcome: outcome === 'superseded' ? outcome : 'current' })
    return deepEqual(after, before)
  }
  deepEqual(answer, { outcome, now: now(), movedAt, expiresAt, client: CLIENT })
  const { id, parent } = token
  const used = { ...before, generation: token.generation, movedAt: now(), lastUsedAt: now() }
  const advanced = { ...used, current: id, previous: parent, ...OTHER_CLIENT }
  const adopted = { ...used, current: parent, previous: null, generation: token.generation - 1, movedAt: 0 }
  const isAhead = token.generation > generation + 1
  deepEqual(after, outcome === 'advanced' ? advanced : isAhead ? adopted : before)
}

// A session that has advanced three times, the last time just now, and its tokens.
async function openFamily(
  sessions: SessionStore,
  { now, advance }: StoreFixture,
): Promise<{ readonly sid: string; readonly tokens: Family }> {
  const { sid } = await sessions.open(session({ now }, CLIENT))
  const first = firstToken(sid)
  const [aunt, previous] = [childOf(first, now()), childOf(first, now())]
  const [sibling, current] = [childOf(previous, now()), childOf(previous, now())]
  for (const token of [first, previous, current]) {
    advance(1000)
    equal((await sessions.rotate(sid, token, NO_GRACE)).outcome, 'advanced')
  }
  const child = childOf(current, now())
  const grandchild = childOf(child, now())
  const farAhead = { ...grandchild, generation: 5000 }
  const [cousin, niece] = [childOf(aunt, now()), childOf(sibling, now())]
  const tokens = { current, child, previous, sibling, first, aunt, cousin, niece, grandchild, farAhead }
  return { sid, tokens }
}

// Through two stores in turn, where there can be two.
async function useAtOnce(
  { isShared }: StoreTests,
  { store, another }: StoreFixture,
  sid: string,
  tokens: readonly PresentedToken[],
  method: 'rotate' | 'present' = 'rotate',
): Promise<readonly string[]> {
  const stores = [store, isShared ? await another() : store]
  const uses = tokens.map(async (token, at) => {
    const { sessions } = stores[at % 2] as { sessions: SessionStore }
    return (await sessions[method](sid, token, RULES)).outcome
  })
  return Promise.all(uses)
}

function fiftyTimes<Value>(value: Value): readonly Value[] {
  return Array.from({ length: 50 }, () => value)
}
