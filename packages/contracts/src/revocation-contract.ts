import { deepEqual, equal, ok } from 'node:assert/strict'
import type { RevocationKind } from 'tokenlib/kit'
import { FOREVER, isWatermark, MAX_WATERMARK_LEAD_MS } from 'tokenlib/kit'
import { entry, readAll } from './feed-contract.js'
import { HOUR, type StoreTests } from './store-fixture.js'

const KINDS: readonly RevocationKind[] = ['token', 'session', 'user', 'key', 'all']
const KEYS = KINDS.map((kind) => ({ kind, id: kind === 'all' ? '' : 'x' }))

/** What a store promises of single revocations. */
export function revocationContract({ test, isShared, canCount }: StoreTests): void {
  test('nothing is revoked at first', async ({ store }) => {
    const expected = Array.from(KEYS, () => undefined)
    deepEqual([...(await store.lookup(KEYS))], expected)
    deepEqual([...(await store.lookup([]))], [])
  })

  for (const { kind, id } of KEYS) {
    test(`a revoked ${kind} is found, and nothing else`, async ({ store, now }) => {
      await store.revoke([entry(kind, id, now() + HOUR)])
      const expected = isWatermark(kind) ? now() + MAX_WATERMARK_LEAD_MS : FOREVER
      for (const key of KEYS) {
        const [found] = await store.lookup([key])
        equal(found, key.kind === kind ? expected : undefined)
      }
      if (kind !== 'all') deepEqual([...(await store.lookup([{ kind, id: 'y' }]))], [undefined])
    })
  }

  test('any printable id is kept apart from every other', async ({ store, now }) => {
    const ids = [
      'a',
      'A',
      'a ',
      ' a',
      'a:b',
      'token:a',
      "a'b",
      'a"b',
      'a\\b',
      'a%',
      'a_',
      'a*',
      '{a}',
      '$1',
      '?',
      '0',
      '-',
      'null',
      '__proto__',
      'constructor',
      'a,b',
      '(a)',
      '[a]',
      'x'.repeat(127),
      'x'.repeat(128),
      '~!@#^&;|<>`',
    ]
    const revoked = ids.filter((_, at) => at % 2 === 0)
    await store.revoke(revoked.map((id) => entry('token', id, now() + HOUR)))
    const found = await store.lookup(ids.map((id) => ({ kind: 'token', id })))
    deepEqual(
      ids.filter((_, at) => found[at] !== undefined),
      revoked,
    )
  })

  test('answers come in the order of the keys, also for a key asked twice', async ({ store, now }) => {
    await store.revoke([entry('token', 'b', now() + HOUR)])
    const keys = ['b', 'a', 'b'].map((id) => ({ kind: 'token' as const, id }))
    deepEqual([...(await store.lookup(keys))], [FOREVER, undefined, FOREVER])
  })

  test('revoking twice changes nothing, and nothing takes a revocation back', async ({ store, now }) => {
    const given = entry('token', 'a', now() + HOUR)
    const first = await store.revoke([given])
    await store.revoke([given, given])
    await store.revoke([{ ...given, notBefore: 1, until: 1 }])
    deepEqual([...(await store.lookup([given]))], [FOREVER])
    deepEqual((await store.feed(first.position, { waitMs: 0 })).entries, [])
  })

  test('entries merge into the larger numbers, in whatever order they come', async ({ store, now }) => {
    const at = now() + HOUR
    const entries = [
      { kind: 'token' as const, id: 'ada', notBefore: at + 5, until: at + 2 * HOUR },
      { kind: 'token' as const, id: 'ada', notBefore: at + 1, until: at + 100 },
      { kind: 'token' as const, id: 'ada', notBefore: at + 9, until: at + 50 },
    ]
    for (const given of entries) await store.revoke([given])
    await store.revoke(entries.map((given) => ({ ...given, id: 'grace' })).toReversed())
    const keys = ['ada', 'grace'].map((id) => ({ kind: 'token' as const, id }))
    deepEqual([...(await store.lookup(keys))], [at + 9, at + 9])
    const untils = new Set((await readAll(store)).map(({ until }) => until))
    deepEqual([...untils], [at + 2 * HOUR])
  })

  test('an entry counts until it is dropped, whatever its until', async ({ store, now }) => {
    await store.revoke([entry('token', 'a', now() - 1), entry('token', 'b', 0)])
    deepEqual([...(await store.lookup([entry('token', 'a', 0), entry('token', 'b', 0)]))], [FOREVER, FOREVER])
  })

  test('an empty batch and a large one are accepted', async ({ store, now }) => {
    await store.revoke([])
    const batch = Array.from({ length: 5000 }, (_, at) => entry('token', `t${at}`, now() + HOUR))
    await store.revoke(batch)
    const found = await store.lookup(batch.slice(0, 4).concat(batch.slice(-4)))
    deepEqual(new Set(found), new Set([FOREVER]))
    equal((await readAll(store)).length, 5000)
  })

  test('revocations at the same time are all kept', async ({ store, now }) => {
    const ids = Array.from({ length: 100 }, (_, at) => `t${at % 50}`)
    await Promise.all(ids.map((id) => store.revoke([entry('token', id, now() + HOUR)])))
    const found = await store.lookup(ids.map((id) => ({ kind: 'token', id })))
    deepEqual(new Set(found), new Set([FOREVER]))
  })

  if (canCount)
    test('what has ended is dropped, a bounded number at a time', async ({ store, now, advance, count }) => {
      await store.revoke(Array.from({ length: 25 }, (_, at) => entry('token', `t${at}`, now() + HOUR)))
      advance(2 * HOUR)
      let dropped = 0
      for (let round = 0; round < 5; round++) {
        const step = await store.prune(10)
        ok(step <= 10, `${step} in one call`)
        dropped += step
      }
      equal(dropped, 25)
      equal(await count(), 0)
    })

  if (isShared)
    test('another process sees a revocation at its next look', async ({ store, another, now }) => {
      const other = await another()
      const key = entry('session', 's1', now() + HOUR)
      deepEqual([...(await other.lookup([key]))], [undefined])
      await store.revoke([key])
      deepEqual([...(await other.lookup([key]))], [FOREVER])
      await other.revoke([entry('token', 't1', now() + HOUR)])
      deepEqual([...(await store.lookup([{ kind: 'token', id: 't1' }]))], [FOREVER])
      await other.close()
      deepEqual([...(await store.lookup([key]))], [FOREVER])
    })
}

/** What a store promises of lookups, and of those that are prepared. */
export function lookupContract({ test }: StoreTests): void {
  test('a lookup returns a promise', async ({ store }) => {
    const answer = store.lookup([{ kind: 'all', id: '' }])
    equal(typeof answer.then, 'function')
    await answer
  })
}

/** What a store promises of `isRevokedNow`. */
export function synchronousContract({ test, isShared }: StoreTests): void {
  test('a synchronous check counts a tie as revoked', async ({ store, now }) => {
    const key = { kind: 'token' as const, id: 'a' }
    const moment = now()
    await store.revoke([{ ...key, notBefore: moment, until: moment + HOUR }])
    const answers = [-1, 0, 1].map((offset) => store.isRevokedNow?.([key], moment + offset))
    equal(answers.join(), 'true,true,false')
  })

  test('a synchronous check of a closed store never calls a revoked token good', async ({ store, now }) => {
    ok(store.isRevokedNow)
    const key = entry('session', 's1', now() + HOUR)
    await store.revoke([key])
    await store.close()
    let answer = true
    try {
      answer = store.isRevokedNow([key], now())
    } catch {
      // It cannot tell.
    }
    equal(answer, true)
  })

  if (isShared)
    test('a synchronous check sees what another process revokes', async ({ store, another, now }) => {
      const other = await another()
      ok(other.isRevokedNow)
      const key = entry('token', 't1', now() + HOUR)
      equal(other.isRevokedNow([key], now()), false)
      await store.revoke([key])
      equal(other.isRevokedNow([key], now()), true)
    })
}

/** What a store without `isRevokedNow` promises of it. */
export function noSynchronousContract({ test }: StoreTests): void {
  test('isRevokedNow is tested wherever a store has it', async ({ store }) => {
    equal(store.isRevokedNow, undefined, 'pass checksSynchronously: true to storeContract')
  })
}
