import { deepEqual, equal, ok } from 'node:assert/strict'
import {
  FOREVER,
  MAX_SESSION_LEAD_MS,
  MAX_WATERMARK_LEAD_MS,
  type OpenedSession,
  type SessionStore,
} from 'tokenlib/kit'
import { entry, readAll, readFrom } from './feed-contract.js'
import {
  childOf,
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
} from './store-fixture.js'

/** What a store promises of watermarks, which revoke all that began up to a moment, and of how long entries are kept. */
export function watermarkContract(tests: StoreTests): void {
  const { test } = tests
  const withSessions = testSessions(tests)

  for (const kind of ['user', 'all'] as const) {
    const given = revocationOf(kind)
    const key = { kind, id: given.id }

    test(`${kind}: is raised to the clock of the store, and never lowered`, async ({
      store,
      now,
      advance,
    }) => {
      const { position, now: taken } = await store.revoke([given])
      equal(taken, now())
      deepEqual([...(await store.lookup([key]))], [now()])
      await store.revoke([{ ...given, notBefore: now() + 5000 }])
      deepEqual([...(await store.lookup([key]))], [now() + 5000])
      const raised = { ...key, notBefore: now() + 5000, until: now() + 5000 + HOUR }
      deepEqual((await store.feed(position, { waitMs: 0 })).entries, [raised])
      advance(1000)
      await store.revoke([given])
      deepEqual([...(await store.lookup([key]))], [now() + 4000])
    })

    test(`${kind}: a process whose clock is far ahead does not lock everybody out`, async ({
      store,
      now,
    }) => {
      const { now: taken } = await store.revoke([{ ...given, notBefore: now() + 300_000 }])
      equal(taken, now() + MAX_WATERMARK_LEAD_MS)
      deepEqual([...(await store.lookup([key]))], [now() + MAX_WATERMARK_LEAD_MS])
    })

    test(`${kind}: lives for the longest lifetime that any manager asked for`, async ({ store, now }) => {
      await store.prepare({ longestLifetime: 3 * HOUR })
      await store.prepare({ longestLifetime: HOUR })
      await store.revoke([{ ...given, until: now() + HOUR }])
      deepEqual(await readAll(store), [{ ...key, notBefore: now(), until: now() + 3 * HOUR }])
    })

    test(`${kind}: a longer lifetime lengthens what is there`, async ({ store, now, advance }) => {
      await store.revoke([given, entry('token', 't', now() + HOUR)])
      const notBefore = now()
      const { position } = await store.revoke([])
      await store.prepare({ longestLifetime: HOUR })
      deepEqual((await store.feed(position, { waitMs: 0 })).entries, [])
      await store.prepare({ longestLifetime: 9 * HOUR })
      const lengthened = { ...key, notBefore, until: notBefore + 9 * HOUR }
      deepEqual((await store.feed(position, { waitMs: 0 })).entries, [lengthened])
      advance(9 * HOUR - 1)
      await store.prune(1000)
      deepEqual([...(await store.lookup([key]))], [notBefore])
      await store.prepare({ longestLifetime: FOREVER })
      equal((await readAll(store)).find((found) => found.kind === kind)?.until, FOREVER)
    })

    withSessions(`${kind}: again ends what was opened since`, async (sessions, { store, now }) => {
      await store.revoke([given])
      const { sid, startedAt } = await sessions.open(session({ now }))
      const { now: taken } = await store.revoke([given])
      ok(taken >= startedAt)
      deepEqual(await rotateFirst(sessions, sid), { outcome: 'ended' })
    })

    withSessions(
      `${kind}: a login by a wrong clock does not lock out the others`,
      async (sessions, fixture) => {
        await openAhead(sessions, fixture, 100)
        const { now: taken } = await fixture.store.revoke([given])
        ok(taken <= fixture.now() + MAX_SESSION_LEAD_MS)
      },
    )

    withSessions(`${kind}: by a clock that was set back`, async (sessions, { store, now, advance }) => {
      const { sid, startedAt } = await sessions.open(session({ now }))
      advance(-60_000)
      const { now: taken } = await store.revoke([given])
      ok(taken >= startedAt)
      deepEqual(await rotateFirst(sessions, sid), { outcome: 'ended' })
      deepEqual(await sessions.list('ada', LIST), [])
      const next = await sessions.open(session({ now }, { until: now() + HOUR }))
      equal((await rotateFirst(sessions, next.sid)).outcome, 'advanced')
    })
  }

  withSessions('what has not ended is never dropped', async (sessions, { store, now, advance }) => {
    const kept = [
      entry('token', 'short', now() + HOUR),
      entry('token', 'long', now() + 9 * HOUR),
      entry('token', 'endless', FOREVER),
      entry('key', 'k', FOREVER),
      { ...revocationOf('user'), id: 'grace' },
      revocationOf('all'),
    ]
    await store.revoke(kept)
    const { sid } = await sessions.open(session({ now }))
    advance(HOUR - 1)
    equal(await store.prune(1000), 0)
    // A store may drop what has ended whenever it writes.
    for (let write = 0; write < 20; write++) {
      await store.revoke([entry('token', `other-${write}`, now() + HOUR)])
      await sessions.open(session({ now }, { user: 'eve' }))
    }
    ok((await store.lookup(kept)).every((notBefore) => notBefore !== undefined))
    equal((await rotateFirst(sessions, sid)).outcome, 'advanced')
    advance(7 * HOUR)
    await store.prune(1000)
    const [, long, endless, key] = await store.lookup(kept)
    deepEqual([long, endless, key], [FOREVER, FOREVER, FOREVER])
    advance(100_000 * HOUR)
    await store.prune(1000)
    deepEqual((await store.lookup(kept)).slice(2, 4), [FOREVER, FOREVER])
  })
}

const ENDED = { outcome: 'ended' }

/** What a store promises of sessions that were opened while its clock was ahead, once the clock is right again. */
export function wrongClockContract(tests: StoreTests): void {
  const withSessions = testSessions(tests)

  for (const kind of ['user', 'all'] as const) {
    const given = revocationOf(kind)
    const key = { kind, id: given.id }

    for (const hours of [3, 100]) {
      withSessions(`${kind}: ends what was opened ${hours} h ahead`, async (sessions, fixture) => {
        const { store, now, advance } = fixture
        advance(hours * HOUR)
        const until = now() + HOUR + 1000
        const ahead = await sessions.open(session({ now }))
        const older = await sessions.open(session({ now }))
        await rotateFirst(sessions, older.sid)
        const grace = await sessions.open(session({ now }, { user: 'grace' }))
        advance(-hours * HOUR)
        const recent = await sessions.open(session({ now }))
        const { position: start } = await store.revoke([])
        const { position, now: taken } = await store.revoke([given])
        const ends = { kind: 'session' as const, notBefore: FOREVER, until }
        const ended = [ahead, older, ...(kind === 'all' ? [grace] : [])].map(({ sid }) => sid)

        // The watermark itself stays near: others would be locked out by it.
        ok(taken >= now() && taken <= now() + MAX_SESSION_LEAD_MS, `${taken - now()} ms ahead`)
        deepEqual([...(await store.lookup([key]))], [taken])
        ok(recent.startedAt <= taken)

        const keys = ended.map((id) => ({ kind: 'session' as const, id }))
        deepEqual(new Set(await store.lookup(keys)), new Set([FOREVER]))
        for (const { id: sid } of [...keys, { id: recent.sid }]) {
          for (const token of [firstToken(sid), childOf(firstToken(sid), now())]) {
            deepEqual(await sessions.present(sid, token, RULES), ENDED)
            deepEqual(await sessions.rotate(sid, token, RULES), ENDED)
          }
          equal(await sessions.get(sid, RULES), null)
        }
        deepEqual(await sessions.list('ada', LIST), [])
        equal((await sessions.list('grace', LIST)).length, kind === 'all' ? 0 : 1)
        if (kind === 'user') equal((await rotateFirst(sessions, grace.sid)).outcome, 'advanced')

        // The feed has them all, and the position of the batch includes them.
        const { entries } = await readFrom(store, start)
        const own = entries.filter((found) => found.kind === 'session')
        deepEqual(own.toSorted(byId), keys.map(({ id }) => ({ ...ends, id })).toSorted(byId))
        deepEqual((await store.feed(position, { waitMs: 0 })).entries, [])

        for (const user of ['ada', 'grace', 'bob']) {
          const next = await sessions.open(session({ now }, { user, until: now() + 3 * HOUR }))
          ok(next.startedAt <= now() + MAX_SESSION_LEAD_MS + 1)
          deepEqual(await sessions.present(next.sid, firstToken(next.sid), RULES), { outcome: 'current' })
          equal((await rotateFirst(sessions, next.sid)).outcome, 'advanced')
          deepEqual([...(await store.lookup([{ kind: 'session', id: next.sid }]))], [undefined])
        }
      })
    }

    withSessions(`${kind}: again ends what was opened ahead since`, async (sessions, fixture) => {
      const sids: string[] = []
      for (let round = 0; round < 2; round++) {
        for (const { sid } of await openAhead(sessions, fixture, 100)) sids.push(sid)
        await fixture.store.revoke([given])
        for (const sid of sids) deepEqual(await rotateFirst(sessions, sid), ENDED)
      }
    })

    withSessions(`${kind}: ends any number of sessions of a wrong clock`, async (sessions, fixture) => {
      const { store, now } = fixture
      const users = Array.from({ length: 1200 }, () => 'ada')
      const opened = await openAhead(sessions, fixture, 100, users)
      await store.revoke([given])
      deepEqual(await sessions.list('ada', LIST), [])
      const revoked = new Set((await readAll(store)).map(({ id }) => id))
      equal(opened.filter(({ sid }) => !revoked.has(sid)).length, 0)
      const found = await store.lookup(opened.map(({ sid }) => ({ kind: 'session', id: sid })))
      deepEqual(new Set(found), new Set([FOREVER]))
      const next = await sessions.open(session({ now }, { until: now() + 3 * HOUR }))
      equal((await rotateFirst(sessions, next.sid)).outcome, 'advanced')
    })
  }

  withSessions('one batch of several watermarks ends all that it names', async (sessions, fixture) => {
    const [ada, bob, eve] = await openAhead(sessions, fixture, 5, ['ada', 'bob', 'eve'])
    await fixture.store.revoke([revocationOf('user'), { ...revocationOf('user'), id: 'bob' }])
    for (const ended of [ada, bob]) deepEqual(await rotateFirst(sessions, ended?.sid ?? ''), ENDED)
    equal((await rotateFirst(sessions, eve?.sid ?? '')).outcome, 'advanced')
  })
}

// Opens a session of each user while the clock of the store is so many hours ahead.
async function openAhead(
  sessions: SessionStore,
  { now, advance }: StoreFixture,
  hours: number,
  users: readonly string[] = ['ada'],
): Promise<readonly OpenedSession[]> {
  advance(hours * HOUR)
  const given = users.map((user) => session({ now }, { user }))
  const opened = await openMany(sessions, given)
  advance(-hours * HOUR)
  return opened
}

function byId(one: { readonly id: string }, other: { readonly id: string }): number {
  return one.id < other.id ? -1 : 1
}
