import { deepEqual, equal } from 'node:assert/strict'
import { FOREVER } from '../revocation/revocation.js'
import type { Rotation } from '../revocation/store.js'
import { LIST, RULES, session, testSessions, HOUR, type StoreTests } from './store-fixture.js'

/** What a store promises of refresh tokens that are presented, in turn, again, too late and at the same time. */
export function rotationContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)

  withSessions('every rotation moves one generation on, to the same end', async (sessions, { now }) => {
    const { sid } = await sessions.open(session({ now }))
    for (const generation of [0, 1, 2]) {
      deepEqual(await sessions.rotate(sid, generation, RULES), {
        outcome: 'rotated',
        generation: generation + 1,
        expiresAt: now() + HOUR,
      })
    }
  })

  withSessions('the token before the last one is good again within the grace', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture))
    await sessions.rotate(sid, 0, RULES)
    fixture.advance(9999)
    deepEqual(await sessions.rotate(sid, 0, RULES), {
      outcome: 'replayed',
      generation: 1,
      expiresAt: fixture.now() - 9999 + HOUR,
    })
    equal((await sessions.rotate(sid, 1, RULES)).outcome, 'rotated')
  })

  withSessions('a replay does not lengthen the grace, nor change the session', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture))
    await sessions.rotate(sid, 0, RULES)
    const before = await sessions.list('ada', LIST)
    fixture.advance(9000)
    await sessions.rotate(sid, 0, { ...RULES, ip: '192.0.2.9', userAgent: 'other' })
    deepEqual(await sessions.list('ada', LIST), before)
    fixture.advance(1000)
    deepEqual(await sessions.rotate(sid, 0, RULES), { outcome: 'reused', generation: 1 })
  })

  withSessions('a clock that was set back forgives no more than the grace', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture))
    await sessions.rotate(sid, 0, RULES)
    fixture.advance(-10_000)
    deepEqual(await sessions.rotate(sid, 0, RULES), { outcome: 'reused', generation: 1 })
  })

  withSessions('rotation moves neither the end of a session nor of its tokens', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture))
    const end = fixture.now() + HOUR
    fixture.advance(HOUR / 2)
    deepEqual(await sessions.rotate(sid, 0, RULES), { outcome: 'rotated', generation: 1, expiresAt: end })
    fixture.advance(HOUR / 2 + 1000)
    deepEqual(await sessions.rotate(sid, 1, RULES), { outcome: 'ended' })
  })

  withSessions(
    'an old token of a session that nobody used is no reuse',
    async (sessions, { store, now, advance }) => {
      const { sid } = await sessions.open(session({ now }))
      for (const generation of [0, 1]) await sessions.rotate(sid, generation, RULES)
      advance(60_001)
      deepEqual(await sessions.rotate(sid, 0, { ...RULES, idleMs: 60_000 }), { outcome: 'ended' })
      deepEqual([...(await store.lookup([{ kind: 'session', id: sid }]))], [undefined])
    },
  )

  for (const [title, graceMs, wait] of [
    ['after the grace', 10_000, 10_000],
    ['without a grace', 0, 0],
  ] as const) {
    withSessions(`a used token ${title} ends the session`, async (sessions, { store, now, advance }) => {
      const { sid } = await sessions.open(session({ now }))
      await sessions.rotate(sid, 0, RULES)
      advance(wait)
      const reuse = await sessions.rotate(sid, 0, { ...RULES, graceMs })
      deepEqual(reuse, { outcome: 'reused', generation: 1 })
      deepEqual([...(await store.lookup([{ kind: 'session', id: sid }]))], [FOREVER])
      for (const generation of [0, 1, 2]) {
        deepEqual(await sessions.rotate(sid, generation, RULES), { outcome: 'ended' })
      }
    })
  }

  withSessions('an older token ends the session within the grace too', async (sessions, { store, now }) => {
    const { position } = await store.revoke([])
    const { sid } = await sessions.open(session({ now }))
    for (const generation of [0, 1]) await sessions.rotate(sid, generation, RULES)
    deepEqual(await sessions.rotate(sid, 0, RULES), { outcome: 'reused', generation: 2 })
    deepEqual((await store.feed(position, { waitMs: 0 })).entries, [
      { kind: 'session', id: sid, notBefore: FOREVER, until: now() + HOUR + 1000 },
    ])
  })

  withSessions('a store that lost a rotation catches up', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture))
    const rotation = await sessions.rotate(sid, 5000, RULES)
    deepEqual(rotation, { outcome: 'rotated', generation: 5001, expiresAt: fixture.now() + HOUR })
    equal((await sessions.rotate(sid, 5001, RULES)).outcome, 'rotated')
  })

  withSessions('a session that is not known has ended', async (sessions) => {
    for (const generation of [0, 1, 1000]) {
      deepEqual(await sessions.rotate('AZxAAAAAAAAAAAAAAAAAAA', generation, RULES), { outcome: 'ended' })
    }
    deepEqual(await sessions.rotate('', 0, RULES), { outcome: 'ended' })
  })

  withSessions('of many rotations at the same time one wins, and all agree', async (sessions, fixture) => {
    const other = tests.isShared ? await fixture.another() : fixture.store
    const { sid } = await sessions.open(session(fixture))
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
      await store.revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until: now() + HOUR }])
      const after = await sessions.rotate(sid, 1, RULES)
      await Promise.all(racing)
      return after.outcome
    })
    deepEqual(new Set(await Promise.all(outcomes)), new Set(['ended']))
  })
}

function count(rotations: readonly Rotation[], outcome: Rotation['outcome']): number {
  return rotations.filter((rotation) => rotation.outcome === outcome).length
}

const CURRENT = { outcome: 'current' }
const ENDED = { outcome: 'ended' }

/** What a store promises of refresh tokens that are presented while their session does not move on. */
export function presentContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)

  withSessions('presenting the newest token changes nothing', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture))
    const { position } = await fixture.store.revoke([])
    for (const generation of [0, 1]) {
      const before = await sessions.get(sid, RULES)
      fixture.advance(1000)
      for (let time = 0; time < 3; time++) deepEqual(await sessions.present(sid, generation, RULES), CURRENT)
      deepEqual(await sessions.get(sid, RULES), before)
      deepEqual(await sessions.rotate(sid, generation, RULES), {
        outcome: 'rotated',
        generation: generation + 1,
        expiresAt: before?.expiresAt,
      })
    }
    deepEqual((await fixture.store.feed(position, { waitMs: 0 })).entries, [])
  })

  withSessions('the token before the newest one is current within the grace', async (sessions, fixture) => {
    const { store, now, advance } = fixture
    const { sid } = await sessions.open(session({ now }))
    await sessions.rotate(sid, 0, RULES)
    advance(9999)
    deepEqual(await sessions.present(sid, 0, RULES), CURRENT)
    // Presenting it did not lengthen the grace.
    advance(1)
    deepEqual(await sessions.present(sid, 0, RULES), { outcome: 'reused', generation: 1 })
    deepEqual([...(await store.lookup([{ kind: 'session', id: sid }]))], [FOREVER])
  })

  withSessions('a clock that was set back lengthens no grace', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture))
    await sessions.rotate(sid, 0, RULES)
    fixture.advance(-10_000)
    deepEqual(await sessions.present(sid, 0, RULES), { outcome: 'reused', generation: 1 })
  })

  withSessions('presenting an old token revokes the session', async (sessions, { store, now }) => {
    const { sid } = await sessions.open(session({ now }))
    const other = await sessions.open(session({ now }))
    for (const generation of [0, 1]) await sessions.rotate(sid, generation, RULES)
    const { position } = await store.revoke([])
    deepEqual(await sessions.present(sid, 0, RULES), { outcome: 'reused', generation: 2 })
    deepEqual((await store.feed(position, { waitMs: 0 })).entries, [
      { kind: 'session', id: sid, notBefore: FOREVER, until: now() + HOUR + 1000 },
    ])
    for (const generation of [0, 1, 2, 3]) {
      deepEqual(await sessions.present(sid, generation, RULES), ENDED)
      deepEqual(await sessions.rotate(sid, generation, RULES), ENDED)
    }
    equal(await sessions.get(sid, RULES), null)
    deepEqual(await sessions.present(other.sid, 0, RULES), CURRENT)
  })

  withSessions('without a grace the token before the newest one is reuse', async (sessions, { now }) => {
    const { sid } = await sessions.open(session({ now }))
    await sessions.rotate(sid, 0, RULES)
    deepEqual(await sessions.present(sid, 0, { ...RULES, graceMs: 0 }), { outcome: 'reused', generation: 1 })
  })

  withSessions('a generation ahead of the store is current', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture))
    deepEqual(await sessions.present(sid, 5000, RULES), CURRENT)
    // The store did not catch up: that is for a rotation.
    deepEqual(await sessions.present(sid, 0, RULES), CURRENT)
    equal((await sessions.rotate(sid, 0, RULES)).outcome, 'rotated')
  })

  withSessions('a session that is not known, over or idle has ended', async (sessions, fixture) => {
    const { store, now, advance } = fixture
    for (const generation of [0, 1, 1000]) {
      deepEqual(await sessions.present('AZxAAAAAAAAAAAAAAAAAAA', generation, RULES), ENDED)
    }
    deepEqual(await sessions.present('', 0, RULES), ENDED)
    const { sid } = await sessions.open(session({ now }))
    for (const generation of [0, 1]) await sessions.rotate(sid, generation, RULES)
    advance(60_000)
    deepEqual(await sessions.present(sid, 2, { ...RULES, idleMs: 60_000 }), CURRENT)
    advance(1)
    // Also for an old token, which is no reuse then.
    for (const generation of [2, 0]) {
      deepEqual(await sessions.present(sid, generation, { ...RULES, idleMs: 60_000 }), ENDED)
    }
    deepEqual([...(await store.lookup([{ kind: 'session', id: sid }]))], [undefined])
    advance(HOUR)
    deepEqual(await sessions.present(sid, 2, RULES), ENDED)
  })

  for (const kind of ['session', 'user', 'all'] as const) {
    withSessions(`revoking ${kind} ends what is presented`, async (sessions, { store, now }) => {
      const { sid } = await sessions.open(session({ now }))
      await sessions.rotate(sid, 0, RULES)
      const id = { session: sid, user: 'ada', all: '' }[kind]
      await store.revoke([{ kind, id, notBefore: kind === 'session' ? FOREVER : 0, until: 0 }])
      for (const generation of [0, 1, 2]) deepEqual(await sessions.present(sid, generation, RULES), ENDED)
    })
  }

  withSessions(
    'of many that present an old token at the same time one is told',
    async (sessions, fixture) => {
      const other = (tests.isShared ? (await fixture.another()).sessions : null) ?? sessions
      const { sid } = await sessions.open(session(fixture))
      for (const generation of [0, 1]) await sessions.rotate(sid, generation, RULES)
      const presented = await Promise.all(
        Array.from({ length: 20 }, (_, at) => (at % 2 ? other : sessions).present(sid, 0, RULES)),
      )
      const outcomes = presented.map(({ outcome }) => outcome).toSorted()
      deepEqual(outcomes, [...Array.from({ length: 19 }, () => 'ended'), 'reused'])
    },
  )
}
