import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { FOREVER, readTimedId, ROOT, toFirstPlace } from 'tokenlib/kit'
import { entry, readAll } from './feed-contract.js'
import {
  childOf,
  firstToken,
  HOUR,
  LIST,
  NO_GRACE,
  revocationOf,
  rotateFirst,
  RULES,
  session,
  type StoreTests,
  testOneSession,
  testSessions,
  withoutData,
} from './store-fixture.js'

/** What a store promises of sessions from their start to their end. */
export function sessionContract(tests: StoreTests): void {
  const { test } = tests
  const withSessions = testSessions(tests)
  const withSession = testOneSession(tests)

  withSessions('an opened session has an id that carries its start', async (sessions, { now }) => {
    const { sid, startedAt } = await sessions.open(session({ now }, { nonce: 'AAAAAAAAAAAAAA' }))
    equal(startedAt, now())
    match(sid, /^[A-Za-z0-9_-]{8}AAAAAAAAAAAAAA$/)
    equal(readTimedId(sid), startedAt)
  })

  withSessions('a session ends with its time, and not before', async (sessions, fixture) => {
    const [early, late] = [await sessions.open(session(fixture)), await sessions.open(session(fixture))]
    fixture.advance(HOUR + 999)
    equal((await rotateFirst(sessions, early.sid)).outcome, 'advanced')
    fixture.advance(1)
    for (const { sid } of [early, late]) deepEqual(await rotateFirst(sessions, sid), { outcome: 'ended' })
  })

  withSessions('a session that never ends is kept', async (sessions, fixture) => {
    const { sid } = await sessions.open(session(fixture, { expiresAt: FOREVER, until: FOREVER }))
    fixture.advance(100_000 * HOUR)
    await fixture.store.prune(1000)
    equal((await rotateFirst(sessions, sid)).outcome, 'advanced')
  })

  withSession('a session that nobody used for too long has ended', async (sid, sessions, { advance }) => {
    const rules = { ...RULES, idleMs: 60_000 }
    advance(60_000)
    equal((await sessions.rotate(sid, firstToken(sid), rules)).outcome, 'advanced')
    advance(60_001)
    deepEqual(await sessions.rotate(sid, firstToken(sid), rules), { outcome: 'ended' })
  })

  for (const kind of ['session', 'user', 'all'] as const) {
    withSession(`revoking ${kind} ends its sessions`, async (sid, sessions, { store, now, advance }) => {
      const other = await sessions.open(session({ now }, { user: 'grace' }))
      await store.revoke([revocationOf(kind, sid)])
      advance(5)
      deepEqual(await rotateFirst(sessions, sid), { outcome: 'ended' })
      equal((await rotateFirst(sessions, other.sid)).outcome, kind === 'all' ? 'ended' : 'advanced')
      deepEqual(await sessions.list('ada', LIST), [])
      equal((await sessions.list('grace', LIST)).length, kind === 'all' ? 0 : 1)
    })
  }

  for (const kind of ['user', 'all'] as const) {
    withSessions(
      `a login after revoking ${kind} is valid immediately`,
      async (sessions, { store, now, advance }) => {
        await store.revoke([revocationOf(kind)])
        const revokedAt = now()
        equal((await sessions.open(session({ now }))).startedAt, revokedAt + 1)
        // Setting the clock back must not make new logins look old.
        advance(-60_000)
        const { sid, startedAt } = await sessions.open(session({ now }, { until: revokedAt + HOUR }))
        equal(startedAt, revokedAt + 1)
        equal((await rotateFirst(sessions, sid)).outcome, 'advanced')
      },
    )
  }

  test('the revocation of a session that is not known is kept', async ({ store, now }) => {
    const { position } = await store.revoke([])
    await store.revoke([entry('session', 'long', now() + 9 * HOUR), entry('session', 'short', 0)])
    const { entries } = await store.feed(position, { waitMs: 0 })
    const untils = Object.fromEntries(entries.map(({ id, until }) => [id, until - now()]))
    deepEqual(untils, { long: 9 * HOUR, short: HOUR })
  })

  withSession('of one batch, each session is kept until its own end', async (sid, _, { store, now }) => {
    const { position } = await store.revoke([])
    await store.revoke([entry('session', sid, 0), entry('session', 'unknown', now() + 9 * HOUR)])
    const { entries } = await store.feed(position, { waitMs: 0 })
    const untils = Object.fromEntries(entries.map(({ id, until }) => [id, until - now()]))
    deepEqual(untils, { [sid]: HOUR + 1000, unknown: 9 * HOUR })
  })

  for (const given of [1, 9 * HOUR]) {
    withSession(
      `revoked for ${given} ms, a session is kept until its end`,
      async (sid, _, { store, now }) => {
        const { position } = await store.revoke([])
        await store.revoke([entry('session', sid, now() + given)])
        const ended = entry('session', sid, now() + HOUR + 1000)
        deepEqual((await store.feed(position, { waitMs: 0 })).entries, [ended])
      },
    )
  }

  withSession('revoking a session again is harmless', async (sid, sessions, { store, now, advance }) => {
    const end = now() + HOUR + 1000
    for (let round = 0; round < 3; round++) {
      const given = entry('session', sid, 0)
      await store.revoke([given])
      deepEqual([...(await store.lookup([given]))], [FOREVER])
      const [found] = await readAll(store)
      ok(found !== undefined && found.until >= end, `the entry ends at ${found?.until}`)
      deepEqual(await rotateFirst(sessions, sid), { outcome: 'ended' })
      equal(await sessions.get(sid, RULES), null)
      advance(1000)
    }
  })

  withSessions('one session is read by its id', async (sessions, { store, now, advance }) => {
    const client = { ip: '192.0.2.1', userAgent: 'curl/8' }
    const { sid, startedAt } = await sessions.open(session({ now }, client))
    const found = {
      sid,
      user: 'ada',
      startedAt,
      expiresAt: startedAt + HOUR,
      ...toFirstPlace(startedAt),
      ...client,
    }
    deepEqual(withoutData(await sessions.get(sid, RULES)), found)
    advance(60_000)
    deepEqual(withoutData(await sessions.get(sid, { idleMs: 60_000 })), found)
    advance(1)
    equal(await sessions.get(sid, { idleMs: 60_000 }), null)
    await rotateFirst(sessions, sid)
    deepEqual(withoutData(await sessions.get(sid, { idleMs: 60_000 })), {
      ...found,
      current: firstToken(sid).id,
      previous: ROOT,
      generation: 1,
      movedAt: now(),
      lastUsedAt: now(),
    })
    equal(await sessions.get('AZxAAAAAAAAAAAAAAAAAAA', RULES), null)
    equal(await sessions.get('', RULES), null)
    advance(HOUR + 1000)
    equal(await sessions.get(sid, RULES), null)
    for (const kind of ['session', 'user', 'all'] as const) {
      const next = await sessions.open(session({ now }))
      equal((await sessions.get(next.sid, RULES))?.sid, next.sid)
      await store.revoke([revocationOf(kind, next.sid)])
      equal(await sessions.get(next.sid, RULES), null, kind)
    }
  })

  withSessions('users are kept apart to the last character', async (sessions, { store, now }) => {
    const users = ['ada', 'Ada', 'ada ', 'x'.repeat(127), 'x'.repeat(128), `${'x'.repeat(127)}y`]
    for (const user of users) await sessions.open(session({ now }, { user }))
    for (const user of users) equal((await sessions.list(user, LIST)).length, 1, user)
    await store.revoke([revocationOf('user')])
    for (const user of users) equal((await sessions.list(user, LIST)).length, user === 'ada' ? 0 : 1, user)
    for (let count = 0; count < 3; count++) await sessions.open(session({ now }, { user: 'Ada' }))
    equal((await sessions.list('Ada', LIST)).length, 4)
  })

  withSessions('sessions are listed newest first, with what is known of them', async (sessions, fixture) => {
    const client = { ip: '2001:db8::1', userAgent: 'Browser "Ä" \\ 漢字 🦊' }
    const first = await sessions.open(session(fixture, client))
    fixture.advance(1000)
    const second = await sessions.open(session(fixture))
    await sessions.open(session(fixture, { user: 'grace' }))
    fixture.advance(1000)
    const token = firstToken(second.sid)
    await sessions.rotate(second.sid, token, { ...NO_GRACE, ip: '192.0.2.7', userAgent: 'curl/8' })
    fixture.advance(1000)
    await sessions.rotate(second.sid, childOf(token, fixture.now()), NO_GRACE)
    const started = fixture.now() - 3000
    deepEqual((await sessions.list('ada', LIST)).map(withoutData), [
      {
        sid: second.sid,
        user: 'ada',
        startedAt: started + 1000,
        lastUsedAt: started + 3000,
        expiresAt: started + 1000 + HOUR,
        generation: 2,
        ip: '192.0.2.7',
        userAgent: 'curl/8',
      },
      {
        sid: first.sid,
        user: 'ada',
        startedAt: started,
        lastUsedAt: started,
        expiresAt: started + HOUR,
        generation: 0,
        ...client,
      },
    ])
    deepEqual(await sessions.list('nobody', LIST), [])
    fixture.advance(2 * HOUR)
    deepEqual(await sessions.list('ada', LIST), [])
  })

  if (tests.canCount) {
    withSession('a revoked session leaves its entry and nothing else', async (sid, sessions, fixture) => {
      const { store, count } = fixture
      const reused = await sessions.open(session(fixture))
      await rotateFirst(sessions, reused.sid)
      equal(await count(), 2)
      await store.revoke([entry('session', sid, 0)])
      const sibling = { ...firstToken(reused.sid), id: 'sibling' }
      equal((await sessions.rotate(reused.sid, sibling, NO_GRACE)).outcome, 'reused')
      equal(await count(), 2)
      equal((await readAll(store)).length, 2)
    })

    withSessions('sessions that have ended are dropped', async (sessions, fixture) => {
      const { store, advance, count } = fixture
      for (let at = 0; at < 5; at++) await sessions.open(session(fixture))
      equal(await count(), 5)
      advance(2 * HOUR)
      const first = await store.prune(3)
      ok(first <= 3)
      equal(first + (await store.prune(10)), 5)
      equal(await count(), 0)
    })
  }
}
