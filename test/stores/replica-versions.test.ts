import { describe, expect, test } from 'vitest'
import { replicate } from 'tokenlib/replica'
import { FOREVER, type RevocationStore } from '../../packages/tokenlib/src/kit.js'
import { createVersionFreshness } from '../../packages/tokenlib/src/stores/replica/freshness.js'
import { createWorld, down, hang, isRevokedNow, key } from './replica-fixture.js'

/** A store that tells its version, which a test or a write changes. */
function createVersioned() {
  const world = createWorld()
  const versions = { count: 0, read: (): unknown => `${versions.count}` }
  const { faulty } = world
  const store: RevocationStore = {
    ...faulty.store,
    readVersion: () => versions.read() as string,
    async revoke(batch) {
      versions.count++
      return faulty.store.revoke(batch)
    },
  }
  return { ...world, store, versions }
}

describe('with a bound of 0', () => {
  test('a check refuses what was revoked before it began, and answers from memory until then', async () => {
    const { faulty, store, open, entry } = createVersioned()
    const replica = await open({ bound: 0 }, store)
    const { feeds } = faulty
    expect(isRevokedNow(replica, 'a')).toBe(false)
    expect(await replica.lookup(key('a'))).toEqual([undefined])
    expect(faulty.feeds).toBe(feeds)
    await store.revoke([entry('a')])
    expect(() => isRevokedNow(replica, 'a')).toThrow('the store has changed since')
    // A change is read by the next check, so the replica can answer.
    expect(replica.replica?.readState().isFresh).toBe(true)
    expect(await replica.lookup(key('a'))).toEqual([FOREVER])
    expect(isRevokedNow(replica, 'a')).toBe(true)
    expect([faulty.feeds - feeds, faulty.lookups]).toEqual([1, 0])
  })

  test('a check that may ask the store reads its feed first', async () => {
    const { faulty, store, open, entry } = createVersioned()
    const replica = await open({ bound: 0, whenStale: 'ask' }, store)
    await store.revoke([entry('a')])
    expect(await replica.lookup(key('a'))).toEqual([FOREVER])
    expect(faulty.lookups).toBe(0)
  })

  test('a check answers where the store changes during every read', async () => {
    const { faulty, store, open, versions, entry } = createVersioned()
    const replica = await open({ bound: 0 }, store)
    faulty.onFeed = (read) => {
      versions.count++
      return read()
    }
    await store.revoke([entry('a')])
    expect(await replica.lookup([...key('a'), ...key('b')])).toEqual([FOREVER, undefined])
    // What was committed during the read may be missing.
    expect(() => isRevokedNow(replica, 'b')).toThrow('the store has changed since')
  })

  test('nothing is accepted before the first read is complete', async () => {
    const { clock, faulty, store, start } = createVersioned()
    faulty.onFeed = hang
    const replica = await start({ bound: 0 }, store)
    expect(() => isRevokedNow(replica, 'a')).toThrow('never read its store completely')
    expect(replica.replica?.readState()).toMatchObject({ isFresh: false, lastError: null })
    await expect(clock.runUntil(replica.lookup(key('a')))).rejects.toThrow('never read its store completely')
  })

  test('where the change cannot be read, nothing is accepted', async () => {
    const { faulty, store, open, entry } = createVersioned()
    const replica = await open({ bound: 0 }, store)
    faulty.onFeed = down
    await store.revoke([entry('a')])
    await expect(replica.lookup(key('b'))).rejects.toThrow('the store has changed since')
    expect(replica.replica?.readState().isFresh).toBe(false)
    faulty.onFeed = null
  })

  test('where the change cannot be read, the store is asked if that is wanted', async () => {
    const { faulty, store, open, entry } = createVersioned()
    const replica = await open({ bound: 0, whenStale: 'ask' }, store)
    faulty.onFeed = down
    await store.revoke([entry('a')])
    expect(await replica.lookup([...key('a'), ...key('b')])).toEqual([FOREVER, undefined])
    expect(faulty.lookups).toBe(1)
  })

  test.each([
    ['throws', throwGone],
    ['is no text', () => 7],
  ])('nothing is accepted where the version %s', async (_, read) => {
    const { store, open, versions } = createVersioned()
    const replica = await open({ bound: 0 }, store)
    versions.read = read
    expect(() => isRevokedNow(replica, 'a')).toThrow(Error)
    await expect(replica.lookup(key('a'))).rejects.toBeInstanceOf(Error)
  })

  test('the store is asked, if that is wanted, where it has never told its version', async () => {
    const { store, start, versions, entry, inner } = createVersioned()
    versions.read = throwGone
    const replica = await start({ bound: 0, whenStale: 'ask' }, store)
    await inner.revoke([entry('a')])
    expect(await replica.lookup([...key('a'), ...key('b')])).toEqual([FOREVER, undefined])
  })

  test('after a read that failed, only a later one counts, also of the same version', async () => {
    const { faulty, store, open, watermark } = createVersioned()
    const replica = await open({ bound: 0 }, { ...store, revoke: faulty.store.revoke })
    faulty.onFeed = down
    await replica.revoke([watermark()])
    expect(() => isRevokedNow(replica, 'a')).toThrow(Error)
  })

  test('the feed is still read a few times a second', async () => {
    const { clock, faulty, store, open } = createVersioned()
    await open({ bound: 0 }, store)
    const { feeds } = faulty
    await clock.advance('1s')
    expect(faulty.feeds - feeds).toBeGreaterThanOrEqual(4)
    expect(faulty.feeds - feeds).toBeLessThanOrEqual(6)
  })

  test('becoming fresh is reported once, whatever is written', async () => {
    const { clock, store, open, entry } = createVersioned()
    const changes: string[] = []
    const replica = await open({ bound: 0 }, store, {
      onReplicaChange: ({ kind }) => void changes.push(kind),
    })
    for (let round = 0; round < 5; round++) {
      await store.revoke([entry(`${round}`)])
      if (round % 2 === 0) await replica.lookup(key('a'))
      await clock.advance('1s')
    }
    expect(changes).toEqual(['fresh'])
  })

  test('a store without versions is refused', () => {
    const { faulty } = createWorld()
    expect(() => replicate(faulty.store, { bound: 0 })).toThrow(RangeError)
  })
})

describe('the freshness of a version', () => {
  function create() {
    const { clock, store, versions } = createVersioned()
    return { versions, freshness: createVersionFreshness(store, clock) }
  }

  test('begins with a confirmation', () => {
    const { freshness } = create()
    expect(freshness.isFresh()).toBe(false)
    freshness.begin()
    expect([freshness.isFresh(), freshness.readAge()]).toEqual([false, null])
    freshness.confirm(freshness.begin())
    expect([freshness.isFresh(), freshness.readAge()]).toEqual([true, 0])
  })

  test('ends with another version, also one that came after the read was sent', () => {
    const { freshness, versions } = create()
    const sentAt = freshness.begin()
    versions.count++
    freshness.confirm(sentAt)
    expect(freshness.isFresh()).toBe(false)
    freshness.confirm(freshness.begin())
    expect(freshness.isFresh()).toBe(true)
    versions.count++
    expect(freshness.isFresh()).toBe(false)
  })

  test('ends when it expires', () => {
    const { freshness } = create()
    freshness.confirm(freshness.begin())
    freshness.expire()
    expect([freshness.isFresh(), freshness.readAge()]).toEqual([false, null])
  })
})

function throwGone(): never {
  throw new Error('The file is gone')
}
