import { deepEqual, equal } from 'node:assert/strict'
import { FOREVER } from '../revocation/revocation.js'
import { RULES, session, testSessions } from './session-fixture.js'
import { HOUR, type StoreTests } from './store-fixture.js'

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
