import { deepEqual, equal, ok } from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { FOREVER, type LostData, type Revocation } from 'tokenlib/kit'
import type { RevocationStore } from 'tokenlib'
import { entry } from './feed-contract.js'
import { HOUR, rotateFirst, session, type StoreTests } from './store-fixture.js'

/** What a store promises to a replica that gives back what it lost. */
export function restoreContract({ test }: StoreTests): void {
  test('entries are restored as they are, and the feed shows them', async ({ store, now }) => {
    const { next } = await store.feed(null, { waitMs: 0 })
    const given: Revocation[] = [
      entry('token', 'a', now() + HOUR),
      { kind: 'user', id: 'ada', notBefore: 5, until: now() + HOUR },
      { kind: 'all', id: '', notBefore: 3, until: now() + HOUR },
      entry('key', 'k', FOREVER),
      entry('session', 's', now() + HOUR),
    ]
    await restore(store, given)
    deepEqual([...(await store.lookup(given))], [FOREVER, 5, 3, FOREVER, FOREVER])
    const { entries } = await store.feed(next, { waitMs: 0 })
    deepEqual(entries.map(({ kind, notBefore }) => `${kind} ${notBefore}`).toSorted(), [
      'all 3',
      `key ${FOREVER}`,
      `session ${FOREVER}`,
      `token ${FOREVER}`,
      'user 5',
    ])
  })

  test('what is there is never lowered', async ({ store, now }) => {
    const user = { kind: 'user', id: 'ada' } as const
    await store.revoke([{ ...user, notBefore: now(), until: now() + HOUR }])
    const [before] = await store.lookup([user])
    await restore(store, [{ ...user, notBefore: 5, until: 6 }])
    deepEqual([...(await store.lookup([user]))], [before])
  })

  test('restoring twice changes nothing the second time', async ({ store, now }) => {
    const given = [entry('token', 'a', now() + HOUR), entry('key', 'k', FOREVER)]
    await restore(store, given)
    const { next } = await store.feed(null, { waitMs: 0 })
    await restore(store, given)
    deepEqual((await store.feed(next, { waitMs: 0 })).entries, [])
  })

  test('fractions of a millisecond are restored too', async ({ store, now }) => {
    const given = [{ kind: 'user', id: 'ada', notBefore: 5.5, until: now() + HOUR + 0.25 }] as const
    await restore(store, given)
    const [until = 0] = await store.lookup(given)
    ok(until >= 5.5 && until <= 6)
  })

  test('a session that is restored as revoked has ended', async (fixture) => {
    const { store, now } = fixture
    ok(store.sessions, 'The store keeps no sessions')
    const { sid } = await store.sessions.open(session(fixture))
    await restore(store, [entry('session', sid, now() + HOUR)])
    equal(await store.sessions.get(sid, { idleMs: FOREVER }), null)
    deepEqual(await rotateFirst(store.sessions, sid), { outcome: 'ended' })
  })
}

/** What a store with `watch` promises to a replica. */
export function watchContract({ test, isShared }: StoreTests): void {
  test('a watcher is called after a revocation, until it stops', async ({ store, another, now }) => {
    const other = isShared ? await another() : store
    const calls: true[] = []
    const stop = watch(other, () => calls.push(true))
    // A connection of its own may take a moment: what comes before that is not announced.
    for (let at = 0; calls.length === 0; at++) {
      await store.revoke([entry('token', `t${at}`, now() + HOUR)])
      // A store in this process answers without a turn of the event loop, which timers need.
      await nextTurn()
    }
    stop()
  })
}

/** For a store without `watch`: fails if the store has one that is not tested. */
export function noWatchContract({ test }: StoreTests): void {
  test('nobody can watch', async ({ store }) => equal('watch' in store, false))
}

/** What it promises when its data is lost. */
export function restoreAfterLossContract({ test }: StoreTests): void {
  test('after a loss, one who restores has nothing else revoked', async ({ store, wipe, now }) => {
    const losses: LostData[] = []
    const needs = { longestLifetime: HOUR, onLostData: (loss: LostData) => void losses.push(loss) }
    await store.prepare({ ...needs, canRestore: () => true })
    await store.revoke([entry('token', 'a', now() + HOUR)])
    const { next } = await store.feed(null, { waitMs: 0 })
    await wipe()
    equal((await store.feed(next, { waitMs: 0 })).reset, true)
    deepEqual([...(await store.lookup([{ kind: 'all', id: '' }]))], [undefined])
    await restore(store, [entry('token', 'a', now() + HOUR)])
    deepEqual([...(await store.lookup([{ kind: 'token', id: 'a' }]))], [FOREVER])
    deepEqual(losses, [])
  })

  test('after a loss, one who cannot restore any more revokes everything', async ({ store, wipe, now }) => {
    await store.prepare({ longestLifetime: HOUR, canRestore: () => false })
    await store.revoke([entry('token', 'a', now() + HOUR)])
    await wipe()
    const [all] = await store.lookup([{ kind: 'all', id: '' }])
    ok(all !== undefined && all >= now(), 'Nothing was revoked')
  })
}

function restore(store: RevocationStore, batch: readonly Revocation[]): Promise<void> {
  const restoring = store.restore?.(batch)
  ok(restoring, 'The store has no restore')
  return restoring
}

function watch(store: RevocationStore, listener: () => void): () => void {
  const stop = store.watch?.(listener)
  ok(stop, 'The store has no watch')
  return stop
}
