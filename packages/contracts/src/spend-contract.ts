import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { FOREVER, type RevocationKind, type RevocationStore } from 'tokenlib/kit'
import { HOUR, type StoreTests } from './store-fixture.js'

const MINUTE = 60_000

const KINDS: readonly RevocationKind[] = ['token', 'session', 'user', 'key', 'all']

/** What a store promises about ids that are used up. */
export function spendContract({ test, isShared, canCount }: StoreTests): void {
  test('an id is spent once', async ({ store }) => {
    equal(await spend(store, 'a', HOUR), true)
    equal(await spend(store, 'a', HOUR), false)
    equal(await spend(store, 'a', 1), false)
    // Another id, whatever the order of the store's texts says.
    for (const id of ['A', 'a ', 'a%', 'a:1', 'b', '~'.repeat(64)]) equal(await spend(store, id, HOUR), true)
  })

  test('an id can be spent again after it has expired', async ({ store, advance }) => {
    equal(await spend(store, 'short', 1), true)
    // Some servers go by their own clock, which needs as long as that takes.
    let isFirst = false
    for (let tries = 0; tries < 10_000 && !isFirst; tries++) {
      advance(1)
      isFirst = await spend(store, 'short', HOUR)
    }
    equal(isFirst, true)
    equal(await spend(store, 'short', HOUR), false)
  })

  test('of many at the same time, one spends an id', async ({ store, another }) => {
    const stores = isShared ? [store, ...(await Promise.all([another(), another(), another()]))] : [store]
    for (let round = 0; round < 5; round++) {
      const calls = Array.from({ length: 50 }, (_, at) =>
        spend(stores[at % stores.length] ?? store, `race ${round}`, HOUR),
      )
      equal((await Promise.all(calls)).filter(Boolean).length, 1)
    }
  })

  test('a bad id or time is a TypeError, and spends nothing', async ({ store }) => {
    for (const id of ['', 'x'.repeat(65), 'é', 'a\0', 'a\n', 1, null, undefined]) {
      await rejects(spend(store, id as string, HOUR), TypeError, `the id ${JSON.stringify(id)}`)
    }
    for (const keepMs of [0, -1, 1.5, HOUR + 1, FOREVER, Number.NaN, Infinity, '1', null, undefined]) {
      await rejects(spend(store, 'kept', keepMs as number), TypeError, `a time of ${keepMs}`)
    }
    equal(await spend(store, 'kept', HOUR), true)
  })

  test('spent ids and revocations are apart', async ({ store, now }) => {
    await store.revoke([{ kind: 'token', id: 'revoked', notBefore: FOREVER, until: now() + HOUR }])
    const { next } = await store.feed(null, { waitMs: 0 })
    equal(await spend(store, 'revoked', HOUR), true)
    equal(await spend(store, 'spent', HOUR), true)
    const answers = await store.lookup(KINDS.map((kind) => ({ kind, id: 'spent' })))
    deepEqual(
      [...answers],
      KINDS.map(() => undefined),
    )
    const { entries, reset } = await store.feed(next, { waitMs: 0 })
    deepEqual([reset, [...entries]], [false, []])
    const all = await store.feed(null, { waitMs: 0 })
    deepEqual(
      all.entries.map(({ id }) => id),
      ['revoked'],
    )
    await store.restore?.(all.entries)
    equal(await spend(store, 'revoked', HOUR), false)
  })

  if (isShared) {
    test('what one process has spent is spent in the others', async ({ store, another }) => {
      const other = await another()
      equal(await spend(store, 'a', HOUR), true)
      equal(await spend(other, 'a', HOUR), false)
      equal(await spend(other, 'b', HOUR), true)
      equal(await spend(store, 'b', HOUR), false)
    })
  }

  if (!canCount) return

  test('of many at the same time, one spends an id that has expired and is still kept', async (fixture) => {
    const { store, another, advance } = fixture
    const stores = isShared ? [store, await another()] : [store]
    for (let round = 0; round < 5; round++) {
      const calls = Array.from({ length: 50 }, (_, at) =>
        spend(stores[at % stores.length] ?? store, 'again', 1000),
      )
      equal((await Promise.all(calls)).filter(Boolean).length, 1)
      advance(1000)
    }
  })

  test('an id is spent until its time has passed, and asking does not prolong it', async (fixture) => {
    const { store, advance } = fixture
    equal(await spend(store, 'a', 1000), true)
    advance(999)
    equal(await spend(store, 'a', 1000), false)
    advance(1)
    equal(await spend(store, 'a', 2000), true)
    advance(1999)
    equal(await spend(store, 'a', 2000), false)
  })

  test('each of many ids can be spent again once it has expired', async ({ store, advance }) => {
    const ids = Array.from({ length: 20 }, (_, at) => `id ${at}`)
    for (const id of ids) equal(await spend(store, id, 1000), true)
    advance(1000)
    for (const id of ids.toReversed()) equal(await spend(store, id, 1000), true, id)
  })

  test('prune drops ids that have expired, at most so many', async ({ store, advance }) => {
    for (const id of ['a', 'b', 'c']) await spend(store, id, MINUTE)
    await spend(store, 'long', HOUR)
    equal(await store.prune(100), 0)
    advance(10 * MINUTE)
    equal(await store.prune(2), 2)
    equal(await store.prune(2), 1)
    equal(await store.prune(2), 0)
    equal(await spend(store, 'long', HOUR), false)
    equal(await spend(store, 'a', HOUR), true)
  })
}

/** For a store without `spend`: fails if the store has one that is not tested. */
export function noSpendContract({ test }: StoreTests): void {
  test('spend is tested wherever a store has it', async ({ store }) => {
    equal(store.spend === undefined, true, 'pass spends: true to storeContract')
  })
}

async function spend(store: RevocationStore, id: string, keepMs: number): Promise<boolean> {
  ok(store.spend !== undefined, 'The store has no spend')
  return store.spend(id, keepMs)
}
