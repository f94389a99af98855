import { deepEqual, equal, ok } from 'node:assert/strict'
import type { LostData, RevocationStore, StoreNeeds } from '../revocation/store.js'
import { entry } from './read-feed.js'
import { session, testSessions } from './session-fixture.js'
import { HOUR, type StoreTests } from './store-fixture.js'

const ALL = { kind: 'all' as const, id: '' }

/** What a store promises when its data was destroyed. */
export function lostDataContract(tests: StoreTests): void {
  const { test, isShared } = tests
  const withSessions = testSessions(tests)

  test('a store that lost its data accepts nothing from before', async ({ store, wipe, now }) => {
    await store.revoke([entry('token', 'a', now() + HOUR)])
    await wipe()
    const keys = [{ kind: 'token' as const, id: 'a' }, ALL]
    const [, all] = await store.lookup(keys)
    ok(all !== undefined && all >= now(), `all sessions until ${all} must be revoked`)
    equal((await store.lookup(keys))[1], all)
  })

  test('a loss is reported once, to everyone who asked', async ({ store, wipe, now, advance }) => {
    const [one, other] = [collect(), collect()]
    await store.prepare(one.needs)
    await store.prepare(other.needs)
    // Again, as for a longer lifetime.
    await store.prepare({ ...one.needs, longestLifetime: 2 * HOUR })
    await store.revoke([entry('token', 'a', now() + HOUR)])
    deepEqual([one.losses, other.losses], [[], []])
    const reported: LostData[] = []
    for (let loss = 0; loss < 2; loss++) {
      advance(1000)
      await wipe()
      reported.push({ revokedBefore: await findWatermark(store) })
      await store.revoke([entry('token', 'b', now() + HOUR)])
      await store.prepare(one.needs)
      await store.lookup([ALL])
      deepEqual([one.losses, other.losses], [reported, reported])
    }
  })

  test('a loss that prepare finds is reported too', async ({ store, wipe, now }) => {
    await store.revoke([entry('token', 'a', now() + HOUR)])
    await wipe()
    const { losses, needs } = collect()
    await store.prepare(needs)
    deepEqual(losses, [{ revokedBefore: await findWatermark(store) }])
  })

  withSessions('a log-in after a loss is good', async (sessions, { store, wipe, now }) => {
    const { losses, needs } = collect()
    await store.prepare(needs)
    const { sid } = await sessions.open(session({ now }))
    await wipe()
    const watermark = await findWatermark(store)
    deepEqual(losses, [{ revokedBefore: watermark }])
    equal(await sessions.get(sid, { idleMs: HOUR }), null)
    const next = await sessions.open(session({ now }))
    ok(next.startedAt > watermark)
    equal((await sessions.get(next.sid, { idleMs: HOUR }))?.sid, next.sid)
    equal(losses.length, 1)
  })

  test('what a listener throws changes nothing', async ({ store, wipe }) => {
    const { losses, needs } = collect()
    await store.prepare({ longestLifetime: HOUR, onLostData: fail })
    await store.prepare(needs)
    await wipe()
    const watermark = await findWatermark(store)
    deepEqual(losses, [{ revokedBefore: watermark }])
  })

  if (isShared)
    test('every process reports a loss of what it had seen', async ({ store, another, wipe, now }) => {
      const other = await another()
      const [one, two] = [collect(), collect()]
      await store.prepare(one.needs)
      await other.prepare(two.needs)
      await store.revoke([entry('token', 'a', now() + HOUR)])
      await other.lookup([entry('token', 'a', 0)])
      await wipe()
      const watermarks = [await findWatermark(store), await findWatermark(other)]
      await store.lookup([ALL])
      await other.lookup([ALL])
      deepEqual(
        [one.losses, two.losses],
        watermarks.map((revokedBefore) => [{ revokedBefore }]),
      )
      // One that starts now has seen nothing that it could miss.
      const three = collect()
      await (await another()).prepare(three.needs)
      deepEqual(three.losses, [])
    })
}

function collect(): { readonly losses: readonly LostData[]; readonly needs: StoreNeeds } {
  const losses: LostData[] = []
  return { losses, needs: { longestLifetime: HOUR, onLostData: (loss) => void losses.push(loss) } }
}

async function findWatermark(store: RevocationStore): Promise<number> {
  const [watermark] = await store.lookup([ALL])
  ok(watermark !== undefined, 'All sessions must be revoked')
  return watermark
}

function fail(): void {
  throw new Error('a listener that fails')
}
