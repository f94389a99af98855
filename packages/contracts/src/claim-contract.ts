import { deepEqual, equal } from 'node:assert/strict'
import { FOREVER } from 'tokenlib/kit'
import { entry } from './feed-contract.js'
import { HOUR, type StoreTests } from './store-fixture.js'

/** What a store promises about claims. */
export function claimContract({ test, isShared }: StoreTests): void {
  test('the first claim is taken as a whole, and a second one not at all', async ({ store, now }) => {
    const until = now() + HOUR
    const first = entry('token', 'first', until)
    const ours = entry('token', 'ours', until)
    const theirs = entry('token', 'theirs', until)
    const { next } = await store.feed(null, { waitMs: 0 })
    equal((await store.claim([first, ours])).isFirst, true)
    equal((await store.claim([first, theirs])).isFirst, false)
    equal((await store.claim([first, ours])).isFirst, false)
    deepEqual([...(await store.lookup([first, ours, theirs]))], [FOREVER, FOREVER, undefined])
    const { entries } = await store.feed(next, { waitMs: 0 })
    deepEqual(entries.map(({ id }) => id).toSorted(), ['first', 'ours'])
  })

  test('what was revoked cannot be claimed', async ({ store, now }) => {
    const revoked = entry('token', 'revoked', now() + HOUR)
    await store.revoke([revoked])
    equal((await store.claim([revoked])).isFirst, false)
  })

  test('an entry that is claimed later keeps what it was before', async ({ store, now }) => {
    const late = entry('token', 'late', now() + 2 * HOUR)
    await store.revoke([late])
    const claim = [entry('token', 'claim', now() + HOUR), entry('token', 'late', now() + HOUR)]
    equal((await store.claim(claim)).isFirst, true)
    const { entries } = await store.feed(null, { waitMs: 0 })
    equal(entries.find(({ id }) => id === 'late')?.until, late.until)
  })

  test('the second claim returns a position that includes the first one', async (fixture) => {
    const { store, another, now } = fixture
    const other = isShared ? await another() : store
    const claim = [entry('token', 'first', now() + HOUR), entry('token', 'ours', now() + HOUR)]
    await store.claim(claim)
    const { isFirst, position } = await other.claim([...claim.slice(0, 1), entry('token', 'theirs', HOUR)])
    equal(isFirst, false)
    deepEqual([...(await other.lookup(claim, { atLeast: position }))], [FOREVER, FOREVER])
  })

  test('of many at the same time, one is the first', async ({ store, another, now }) => {
    const stores = isShared ? [store, ...(await Promise.all([another(), another(), another()]))] : [store]
    for (let round = 0; round < 20; round++) {
      const first = entry('token', `race ${round}`, now() + HOUR)
      const claims = Array.from({ length: 12 }, (_, at) => [
        first,
        entry('token', `race ${round} by ${at}`, now() + HOUR),
      ])
      const answers = await Promise.all(
        claims.map((claim, at) => (stores[at % stores.length] ?? store).claim(claim)),
      )
      equal(answers.filter(({ isFirst }) => isFirst).length, 1)
      const found = await store.lookup(claims.flatMap((claim) => claim.slice(1)))
      deepEqual(
        found.map((notBefore) => notBefore !== undefined),
        answers.map(({ isFirst }) => isFirst),
      )
    }
  })
}
