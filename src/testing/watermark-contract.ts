import { deepEqual, equal, ok } from 'node:assert/strict'
import { FOREVER, MAX_WATERMARK_LEAD_MS, MAX_SESSION_LEAD_MS } from '../revocation/revocation.js'
import { entry, readAll } from './read-feed.js'
import { LIST, RULES, session, testSessions } from './session-fixture.js'
import { HOUR, type StoreTests } from './store-fixture.js'

/** What a store promises of watermarks, which revoke all that began up to a moment, and of how long entries are kept. */
export function watermarkContract(tests: StoreTests): void {
  const { test } = tests
  const withSessions = testSessions(tests)

  for (const kind of ['user', 'all'] as const) {
    const key = { kind, id: kind === 'user' ? 'ada' : '' }
    const given = { ...key, notBefore: 0, until: 0 }

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
      deepEqual(await sessions.rotate(sid, 0, RULES), { outcome: 'ended' })
    })

    withSessions(
      `${kind}: a log-in by a wrong clock does not lock the others out`,
      async (sessions, fixture) => {
        const { store, now, advance } = fixture
        advance(100 * HOUR)
        await sessions.open(session({ now }))
        advance(-100 * HOUR)
        const { now: taken } = await store.revoke([given])
        ok(taken <= now() + MAX_SESSION_LEAD_MS)
      },
    )

    withSessions(`${kind}: by a clock that was set back`, async (sessions, { store, now, advance }) => {
      const { sid, startedAt } = await sessions.open(session({ now }))
      advance(-60_000)
      const { now: taken } = await store.revoke([given])
      ok(taken >= startedAt)
      deepEqual(await sessions.rotate(sid, 0, RULES), { outcome: 'ended' })
      deepEqual(await sessions.list('ada', LIST), [])
      const next = await sessions.open(session({ now }, { until: now() + HOUR }))
      equal((await sessions.rotate(next.sid, 0, RULES)).outcome, 'rotated')
    })
  }

  withSessions('what has not ended is never dropped', async (sessions, { store, now, advance }) => {
    const kept = [
      entry('token', 'short', now() + HOUR),
      entry('token', 'long', now() + 9 * HOUR),
      entry('token', 'endless', FOREVER),
      entry('key', 'k', FOREVER),
      { kind: 'user' as const, id: 'grace', notBefore: 0, until: 0 },
      { kind: 'all' as const, id: '', notBefore: 0, until: 0 },
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
    equal((await sessions.rotate(sid, 0, RULES)).outcome, 'rotated')
    advance(7 * HOUR)
    await store.prune(1000)
    const [, long, endless, key] = await store.lookup(kept)
    deepEqual([long, endless, key], [FOREVER, FOREVER, FOREVER])
    advance(100_000 * HOUR)
    await store.prune(1000)
    deepEqual((await store.lookup(kept)).slice(2, 4), [FOREVER, FOREVER])
  })
}
