import { deepEqual, equal } from 'node:assert/strict'
import { FOREVER } from '../revocation/revocation.js'
import type { Reuse, Rotation } from '../revocation/session-store.js'
import { entry } from './feed-contract.js'
import {
  HOUR,
  LIST,
  revocationOf,
  RULES,
  session,
  type StoreTests,
  testOneSession,
  testSessions,
} from './store-fixture.js'

const CURRENT = { outcome: 'current' }
const ENDED = { outcome: 'ended' }

// Of a session whose client is not known.
const reused = (generation: number): Reuse => ({
  outcome: 'reused',
  generation,
  client: { ip: null, userAgent: null },
})

/** What a store promises of refresh tokens that are presented, in turn, again, too late and at the same time. */
export function rotationContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)
  const withSession = testOneSession(tests)

  withSession('every rotation moves one generation on, to the same end', async (sid, sessions, { now }) => {
    for (const generation of [0, 1, 2]) {
      deepEqual(await sessions.rotate(sid, generation, RULES), {
        outcome: 'rotated',
        generation: generation + 1,
        expiresAt: now() + HOUR,
      })
    }
  })

  withSession('the token before the last is good again within the grace', async (sid, sessions, fixture) => {
    const expiresAt = fixture.now() + HOUR
    await sessions.rotate(sid, 0, RULES)
    fixture.advance(9999)
    deepEqual(await sessions.rotate(sid, 0, RULES), { outcome: 'replayed', generation: 1, expiresAt })
    equal((await sessions.rotate(sid, 1, RULES)).outcome, 'rotated')
  })

  withSession('a replay changes neither the grace nor the session', async (sid, sessions, fixture) => {
    await sessions.rotate(sid, 0, RULES)
    const before = await sessions.list('ada', LIST)
    fixture.advance(9000)
    await sessions.rotate(sid, 0, { ...RULES, ip: '192.0.2.9', userAgent: 'other' })
    deepEqual(await sessions.list('ada', LIST), before)
    fixture.advance(1000)
    deepEqual(await sessions.rotate(sid, 0, RULES), reused(1))
  })

  withSession('rotation does not move the end of a session or its tokens', async (sid, sessions, fixture) => {
    const end = fixture.now() + HOUR
    fixture.advance(HOUR / 2)
    deepEqual(await sessions.rotate(sid, 0, RULES), { outcome: 'rotated', generation: 1, expiresAt: end })
    fixture.advance(HOUR / 2 + 1000)
    deepEqual(await sessions.rotate(sid, 1, RULES), ENDED)
  })

  withSession('a store that lost a rotation catches up', async (sid, sessions, { now }) => {
    const rotation = await sessions.rotate(sid, 5000, RULES)
    deepEqual(rotation, { outcome: 'rotated', generation: 5001, expiresAt: now() + HOUR })
    equal((await sessions.rotate(sid, 5001, RULES)).outcome, 'rotated')
  })

  withSession('of many rotations at the same time one wins; all agree', async (sid, sessions, fixture) => {
    const other = tests.isShared ? await fixture.another() : fixture.store
    for (const generation of [0, 1, 2]) {
      const rotations = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          ((at % 2 ? other.sessions : null) ?? sessions).rotate(sid, generation, RULES),
        ),
      )
      equal(count(rotations, 'rotated'), 1)
      equal(count(rotations, 'replayed'), 49)
      const generations = rotations.map((rotation) => 'generation' in rotation && rotation.generation)
      deepEqual(new Set(generations), new Set([generation + 1]))
    }
  })

  withSessions('after a revocation resolved, no rotation succeeds', async (sessions, { store, now }) => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => sessions.open(session({ now }))))
    const outcomes = opened.map(async ({ sid }) => {
      const racing = [sessions.rotate(sid, 0, RULES), sessions.rotate(sid, 0, RULES)]
      await store.revoke([entry('session', sid, now() + HOUR)])
      const after = await sessions.rotate(sid, 1, RULES)
      await Promise.all(racing)
      return after.outcome
    })
    deepEqual(new Set(await Promise.all(outcomes)), new Set(['ended']))
  })

  endingContract(tests, 'rotate')
}

function count(rotations: readonly Rotation[], outcome: Rotation['outcome']): number {
  return rotations.filter((rotation) => rotation.outcome === outcome).length
}

/** What a store promises of refresh tokens that are presented while their session does not move on. */
export function presentContract(tests: StoreTests): void {
  const withSession = testOneSession(tests)

  withSession('presenting the newest token changes nothing', async (sid, sessions, { store, advance }) => {
    const { position } = await store.revoke([])
    for (const generation of [0, 1]) {
      const before = await sessions.get(sid, RULES)
      advance(1000)
      for (let time = 0; time < 3; time++) deepEqual(await sessions.present(sid, generation, RULES), CURRENT)
      deepEqual(await sessions.get(sid, RULES), before)
      deepEqual(await sessions.rotate(sid, generation, RULES), {
        outcome: 'rotated',
        generation: generation + 1,
        expiresAt: before?.expiresAt,
      })
    }
    deepEqual((await store.feed(position, { waitMs: 0 })).entries, [])
  })

  withSession('the token before the newest is current within the grace', async (sid, sessions, fixture) => {
    await sessions.rotate(sid, 0, RULES)
    fixture.advance(9999)
    deepEqual(await sessions.present(sid, 0, RULES), CURRENT)
    // Presenting it did not lengthen the grace.
    fixture.advance(1)
    deepEqual(await sessions.present(sid, 0, RULES), reused(1))
  })

  withSession('a generation ahead of the store is current', async (sid, sessions) => {
    deepEqual(await sessions.present(sid, 5000, RULES), CURRENT)
    // The store did not catch up: that is for a rotation.
    deepEqual(await sessions.present(sid, 0, RULES), CURRENT)
    equal((await sessions.rotate(sid, 0, RULES)).outcome, 'rotated')
  })

  for (const kind of ['session', 'user', 'all'] as const) {
    withSession(`revoking ${kind} ends what is presented`, async (sid, sessions, { store }) => {
      await sessions.rotate(sid, 0, RULES)
      await store.revoke([revocationOf(kind, sid)])
      for (const generation of [0, 1, 2]) deepEqual(await sessions.present(sid, generation, RULES), ENDED)
    })
  }

  withSession('of many that present an old token at once one is told', async (sid, sessions, fixture) => {
    const other = (tests.isShared ? (await fixture.another()).sessions : null) ?? sessions
    for (const generation of [0, 1]) await sessions.rotate(sid, generation, RULES)
    const presented = await Promise.all(
      Array.from({ length: 20 }, (_, at) => (at % 2 ? other : sessions).present(sid, 0, RULES)),
    )
    const outcomes = presented.map(({ outcome }) => outcome).toSorted()
    deepEqual(outcomes, [...Array.from({ length: 19 }, () => 'ended'), 'reused'])
  })

  endingContract(tests, 'present')
}

// When a token is too old for its session, and when that is over: the same whether the session is to move on or not.
function endingContract(tests: StoreTests, method: 'rotate' | 'present'): void {
  const withSessions = testSessions(tests)
  const withSession = testOneSession(tests)

  withSession('a clock that was set back does not lengthen the grace', async (sid, sessions, { advance }) => {
    await sessions.rotate(sid, 0, RULES)
    advance(-10_000)
    deepEqual(await sessions[method](sid, 0, RULES), reused(1))
  })

  for (const [title, graceMs, wait] of [
    ['after the grace', 10_000, 10_000],
    ['without a grace', 0, 0],
  ] as const) {
    withSession(`a used token ${title} ends the session`, async (sid, sessions, { store, advance }) => {
      await sessions.rotate(sid, 0, RULES)
      advance(wait)
      const reuse = await sessions[method](sid, 0, { ...RULES, graceMs })
      deepEqual(reuse, reused(1))
      deepEqual([...(await store.lookup([{ kind: 'session', id: sid }]))], [FOREVER])
      for (const generation of [0, 1, 2]) deepEqual(await sessions[method](sid, generation, RULES), ENDED)
    })
  }

  withSessions('an older token within the grace ends its session, no other', async (sessions, fixture) => {
    const { store, now } = fixture
    const { position } = await store.revoke([])
    const { sid } = await sessions.open(session({ now }))
    const other = await sessions.open(session({ now }))
    for (const generation of [0, 1]) await sessions.rotate(sid, generation, RULES)
    deepEqual(await sessions[method](sid, 0, RULES), reused(2))
    const ended = entry('session', sid, now() + HOUR + 1000)
    deepEqual((await store.feed(position, { waitMs: 0 })).entries, [ended])
    for (const generation of [0, 1, 2, 3]) {
      deepEqual(await sessions.present(sid, generation, RULES), ENDED)
      deepEqual(await sessions.rotate(sid, generation, RULES), ENDED)
    }
    equal(await sessions.get(sid, RULES), null)
    deepEqual(await sessions.present(other.sid, 0, RULES), CURRENT)
  })

  withSessions('a reuse names the client that used the session last', async (sessions, { now }) => {
    const first = { ip: '192.0.2.1', userAgent: 'first' }
    const second = { ip: '2001:db8::2', userAgent: '' }
    const third = { ip: '192.0.2.3', userAgent: 'third' }
    for (const [rotations, expected] of [
      // What a rotation does not know stays as it was, and the client of a replay or of the reuse is not kept.
      [[{}, third], first],
      [[second, third], second],
      [[{ ip: second.ip }, third], { ...first, ip: second.ip }],
    ] as const) {
      const { sid } = await sessions.open({ ...session({ now }), ...first })
      for (const client of rotations) await sessions.rotate(sid, 0, { ...RULES, ...client })
      const reuse = await sessions[method](sid, 0, { ...RULES, ...third, graceMs: 0 })
      deepEqual(reuse, { outcome: 'reused', generation: 1, client: expected })
    }
  })

  withSessions('a session that is not known has ended', async (sessions) => {
    for (const generation of [0, 1, 1000]) {
      deepEqual(await sessions[method]('AZxAAAAAAAAAAAAAAAAAAA', generation, RULES), ENDED)
    }
    deepEqual(await sessions[method]('', 0, RULES), ENDED)
  })

  withSession('an old token of a session that nobody used is no reuse', async (sid, sessions, fixture) => {
    const { store, advance } = fixture
    const rules = { ...RULES, idleMs: 60_000 }
    for (const generation of [0, 1]) await sessions.rotate(sid, generation, RULES)
    advance(60_000)
    deepEqual(await sessions.present(sid, 2, rules), CURRENT)
    advance(1)
    for (const generation of [2, 0]) deepEqual(await sessions[method](sid, generation, rules), ENDED)
    deepEqual([...(await store.lookup([{ kind: 'session', id: sid }]))], [undefined])
    advance(HOUR)
    deepEqual(await sessions[method](sid, 2, RULES), ENDED)
  })
}
