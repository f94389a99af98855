import { describe, expect, onTestFinished, test } from 'vitest'
import { createMemoryStore } from 'tokenlib/memory'
import {
  type FeedPage,
  FOREVER,
  type Position,
  type RevocationStore,
} from '../../packages/tokenlib/src/kit.js'
import { sleep } from '../../packages/tokenlib/src/runtime.js'
import { createVirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'
import {
  createFaulty,
  createWorld,
  down,
  fixRandom,
  hang,
  isRevokedNow,
  key,
  lose,
} from './replica-fixture.js'

describe('a page', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a position that is no text', { next: 7 }],
    ['more that is no boolean', { more: undefined }],
    ['reset that is no boolean', { reset: undefined }],
    ['an age that is no number', { ageMs: '0' }],
    ['an age that is not known', { ageMs: Number.NaN }],
    ['an age in the future', { ageMs: -1 }],
    ['entries that are no list', { entries: { length: 0 } }],
  ])('that has %s fails the read, and nothing is accepted', async (_, given) => {
    const { faulty, start } = createWorld()
    faulty.onFeed = async (read) => {
      const page = await read()
      return (given === undefined || given === null ? given : { ...page, ...given }) as FeedPage
    }
    const replica = await start()
    await expect(replica.lookup(key('a'))).rejects.toBeInstanceOf(Error)
    expect(replica.replica?.readState()).toMatchObject({
      isFresh: false,
      ageMs: null,
      lastError: expect.any(TypeError) as TypeError,
    })
  })

  test.each([
    ['a second, where the bound is shorter', '100ms', 1000],
    ['the bound, where that is longer', '5s', 5000],
  ] as const)('is given up after %s, and asked for again', async (_, bound, timeoutMs) => {
    const { clock, faulty, start } = createWorld()
    faulty.onFeed = hang
    const replica = await start({ bound })
    const readState = () => replica.replica?.readState()
    await clock.advance(`${timeoutMs - 1}ms`)
    expect([readState()?.lastError, faulty.feeds]).toEqual([null, 1])
    faulty.onFeed = null
    await clock.advance('1ms')
    expect(readState()?.lastError?.message).toContain(`${timeoutMs} ms`)
    await clock.advance('50ms')
    expect(readState()).toMatchObject({ isFresh: true, lastError: null })
    expect(faulty.feeds).toBeGreaterThan(1)
  })
})

describe('a history that is lost while it is read', () => {
  /** Every read finds so many resets before a page. */
  async function openWith(resets: number) {
    fixRandom(0.9)
    const { clock, faulty, start } = createWorld()
    faulty.onFeed = async (read) => {
      if (faulty.feeds > 10) return hang()
      return { ...(await read()), reset: faulty.feeds <= resets }
    }
    const replica = await start({ bound: '1m' })
    await clock.advance('1ms')
    return { faulty, replica }
  }

  test('is read from the start, up to three times', async () => {
    const { faulty, replica } = await openWith(3)
    expect(isRevokedNow(replica, 'a')).toBe(false)
    expect(faulty.feeds).toBe(4)
  })

  test('is given up after that, and nothing is accepted', async () => {
    const { faulty, replica } = await openWith(4)
    await expect(replica.lookup(key('a'))).rejects.toBeInstanceOf(Error)
    expect(faulty.feeds).toBe(4)
    expect(replica.replica?.readState()).toMatchObject({ isFresh: false, ageMs: null })
  })

  test('is not complete before the new one is read', async () => {
    const { clock, faulty, open, entry } = createWorld()
    const replica = await open({ bound: '500ms' })
    const next = await lose(faulty, clock)
    await next.revoke([entry('a')])
    clock.block('501ms')
    expect(await replica.lookup(key('a'))).toEqual([FOREVER])
  })
})

describe('a store that tells of another history', () => {
  test('is read from the start, although the position is good, and what it lacks is restored', async () => {
    const { clock, faulty, inner, open, entry } = createWorld()
    let tell: (() => void) | undefined
    const changes: string[] = []
    const store: RevocationStore = {
      ...faulty.store,
      async prepare(needs) {
        tell = needs.onNewHistory
        await inner.prepare(needs)
      },
      // Taken, and lost before anybody has read it.
      revoke: () => inner.revoke([]),
    }
    const replica = await open({ bound: '100ms' }, store, {
      onReplicaChange: ({ kind }) => void changes.push(kind),
    })
    await replica.revoke([entry('a')])
    await clock.advance('1s')
    expect(faulty.restored).toEqual([])
    tell?.()
    await clock.advance('1s')
    expect(faulty.restored.map(({ id }) => id)).toEqual(['a'])
    expect(changes).toEqual(['fresh', 'reset'])
  })
})

test('after the clock was set back, what was dropped by it is read again', async () => {
  const right = createVirtualClock()
  const { clock, start, entry } = createWorld()
  clock.set(new Date(clock() + 7_200_000))
  const inner = createMemoryStore({ clock: right })
  await inner.revoke([entry('a', { until: right() + 3_600_000 })])
  const replica = await start({ bound: '200ms' }, createFaulty(inner).store)
  await clock.advance('1300ms')
  // It has ended by the clock of this process, as has every token that it concerns.
  expect(replica.replica?.readState()).toMatchObject({ isFresh: true, entries: 0 })
  clock.set(new Date(right()))
  await clock.advance('200ms')
  expect(isRevokedNow(replica, 'a')).toBe(true)
})

test('what has ended is dropped a minute later, by a read, once a second', async () => {
  const { clock, open, monotonicNow, entry, watermark } = createWorld()
  const replica = await open({ bound: '1m' })
  const countAfterReadAt = async (at: number): Promise<number | undefined> => {
    await clock.advance(`${at - monotonicNow()}ms`)
    await replica.revoke([watermark()])
    return replica.replica?.readState().entries
  }
  await replica.revoke([entry('late', { until: clock() - 50_000 })])
  for (const start of [0, 1000]) {
    await replica.revoke([entry('ended', { until: clock() - 60_000 })])
    expect(await countAfterReadAt(start + 1)).toBe(3)
    expect(await countAfterReadAt(start + 999)).toBe(3)
    expect(await countAfterReadAt(start + 1000)).toBe(2)
  }
  expect(isRevokedNow(replica, 'late')).toBe(true)
})

describe('after a loss', () => {
  test('the writes come when they are due, and only what arrived lately comes first', async () => {
    fixRandom(0.5)
    const { clock, inner, faulty, open, entry } = createWorld()
    await inner.revoke([entry('old')])
    const replica = await open({ bound: '1s' })
    await replica.revoke([entry('own')])
    await inner.revoke([entry('heard')])
    // At rest it reads every 218.75 ms.
    await clock.advance('219ms')
    const next = await lose(faulty, clock)
    await next.revoke([entry('newer')])
    // This process has also read what it has revoked, so it may write that twice.
    const ids = () => [...new Set(faulty.restored.map(({ id }) => id))]
    await clock.advance('280.75ms')
    expect(ids()).toEqual([])
    await clock.advance('0.25ms')
    expect(ids()).toEqual(['own', 'heard'])
    await clock.advance('249ms')
    expect(ids()).toEqual(['own', 'heard'])
    await clock.advance('1ms')
    expect(ids()).toEqual(['own', 'heard', 'old'])

    // What was read from the start is not new, however late it was read.
    faulty.restored.length = 0
    await lose(faulty, clock)
    await clock.advance('282ms')
    expect(ids()).not.toContain('newer')
    await clock.advance('250ms')
    expect(ids()).toContain('newer')
  })

  test('a store that refuses the writes is not read all the time', async () => {
    const { clock, faulty, open, entry } = createWorld()
    const replica = await open({ bound: '100ms' })
    await replica.revoke([entry('a')])
    await lose(faulty, clock)
    const { feed } = faulty.store
    let [asked, refused] = [0, 0]
    Object.assign(faulty.store, {
      feed: (...given: Parameters<typeof feed>) => (asked++, feed(...given)),
      restore: () => (refused++, down()),
    })
    await clock.advance('1s')
    expect(refused).toBeGreaterThan(10)
    expect(asked).toBeLessThan(100)
  })
})

describe('reads', () => {
  test.each([
    [0, 187.5],
    [0.5, 218.75],
    [0.96, 247.5],
  ])(
    'come within a quarter of the bound, and not all at once: with a chance of %d',
    async (chance, interval) => {
      fixRandom(chance)
      const { clock, faulty, open, monotonicNow } = createWorld()
      await open({ bound: '1s' })
      const times: number[] = []
      faulty.onFeed = (read) => {
        times.push(monotonicNow())
        return read()
      }
      await clock.advance('1s')
      expect(times.slice(0, 4)).toEqual([1, 2, 3, 4].map((number) => number * interval))
    },
  )

  test('at rest ask for one page', async () => {
    const { clock, faulty, start } = createWorld()
    await start({ bound: '1m' })
    await clock.advance('1ms')
    expect(faulty.feeds).toBe(1)
  })

  test('that bring nothing are told to nobody', async () => {
    const { clock, inner, open, entry } = createWorld()
    const replica = await open({ bound: '100ms' })
    const arrived: string[][] = []
    replica.replica?.subscribe((entries) => void arrived.push(entries.map(({ id }) => id)))
    await inner.revoke([entry('a')])
    await clock.advance('1s')
    expect(arrived).toEqual([['a']])
  })

  test('do not overlap', async () => {
    const { clock, faulty, open, watermark } = createWorld()
    const replica = await open({ bound: '100ms' })
    let [running, most] = [0, 0]
    faulty.onFeed = async (read) => {
      most = Math.max(most, ++running)
      await sleep(clock.scheduler, 15)
      running--
      return read()
    }
    for (let round = 0; round < 20; round++) {
      await clock.advance('20ms')
      void replica.revoke([watermark()])
    }
    expect(most).toBe(1)
  })

  test('that fail are repeated after longer and longer pauses, until one does not', async () => {
    fixRandom(0.5)
    const { clock, faulty, open, monotonicNow } = createWorld()
    await open({ bound: '1s' })
    const times: number[] = []
    faulty.onFeed = () => {
      times.push(monotonicNow())
      return down()
    }
    await clock.advance('2s')
    const pauses = times.slice(1).map((time, at) => time - (times[at] ?? 0))
    // At most the bound.
    expect(pauses.slice(0, 6)).toEqual([25, 50, 100, 200, 400, 500])
    faulty.onFeed = null
    await clock.advance('500ms')
    times.length = 0
    faulty.onFeed = () => {
      times.push(monotonicNow())
      return down()
    }
    await clock.advance('300ms')
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBe(25)
  })

  test('end with the replica, also one that is under way', async () => {
    const { clock, faulty, open } = createWorld()
    const replica = await open({ bound: '100ms' })
    const { feeds: before } = faulty
    faulty.onFeed = (read) => sleep(clock.scheduler, 30).then(read)
    await clock.advance('26ms')
    await replica.close()
    const { feeds } = faulty
    expect(feeds).toBe(before + 1)
    await clock.advance('1s')
    expect(faulty.feeds).toBe(feeds)
    expect(replica.replica?.readState().isFresh).toBe(false)
  })
})

describe('a store that can be watched', () => {
  /** The store calls its watcher when the test does. */
  function createWatched() {
    const world = createWorld()
    const watch = { count: 0, stopped: 0, wake: (): void => undefined }
    const store: RevocationStore = {
      ...world.faulty.store,
      watch(listener) {
        watch.count++
        watch.wake = listener
        return () => void watch.stopped++
      },
    }
    return { ...world, store, watch }
  }

  test('is watched once, however often it is prepared, until the replica is closed', async () => {
    const { clock, faulty, open, store, watch } = createWatched()
    const replica = await open({ bound: '100ms' }, store)
    await replica.prepare({ longestLifetime: 1 })
    expect(watch).toMatchObject({ count: 1, stopped: 0 })
    await replica.close()
    expect(watch).toMatchObject({ count: 1, stopped: 1 })
    const { feeds } = faulty
    watch.wake()
    await clock.advance('1s')
    expect(faulty.feeds).toBe(feeds)
  })

  test('is read immediately, but not twice within 15 ms while entries arrive', async () => {
    const { clock, inner, faulty, open, entry, store, watch } = createWatched()
    const replica = await open({ bound: '1m' }, store)
    await clock.advance('100ms')
    const { feeds } = faulty
    await inner.revoke([entry('a')])
    watch.wake()
    await clock.advance('0ms')
    expect([faulty.feeds - feeds, isRevokedNow(replica, 'a')]).toEqual([1, true])
    await clock.advance('5ms')
    await inner.revoke([entry('b')])
    watch.wake()
    await clock.advance('9ms')
    expect([faulty.feeds - feeds, isRevokedNow(replica, 'b')]).toEqual([1, false])
    await clock.advance('1ms')
    expect([faulty.feeds - feeds, isRevokedNow(replica, 'b')]).toEqual([2, true])
  })

  test('is read again where it calls during a read, which may have missed the change', async () => {
    const { clock, inner, faulty, open, entry, store, watch } = createWatched()
    const replica = await open({ bound: '1m' }, store)
    await clock.advance('100ms')
    faulty.onFeed = async (read) => {
      const page = await read()
      await sleep(clock.scheduler, 30)
      return page
    }
    watch.wake()
    await clock.advance('10ms')
    await inner.revoke([entry('a')])
    watch.wake()
    await clock.advance('60ms')
    expect(isRevokedNow(replica, 'a')).toBe(true)
  })

  test('is optional, and so is the listener to changes', async () => {
    const warnings: string[] = []
    const onWarning = ({ name }: Error): void => void warnings.push(name)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const { clock, open, inner } = createWorld()
    const { watch: _, ...unwatched } = inner
    const replica = await open({}, unwatched)
    await replica.close()
    await clock.advance('1ms')
    expect(warnings).not.toContain('TokenListenerWarning')
  })
})

describe('a check of a stale replica', () => {
  test('does not ask a feed again that has just failed', async () => {
    fixRandom(0.9)
    const { clock, faulty, start } = createWorld()
    faulty.onFeed = down
    const replica = await start({ bound: '1m' })
    // It has failed three times, and tries again after 180 ms.
    await clock.advance('135ms')
    expect(faulty.feeds).toBe(3)
    await clock.advance('49ms')
    for (let check = 0; check < 5; check++) {
      await expect(replica.lookup(key('a'))).rejects.toMatchObject({
        cause: expect.objectContaining({ message: 'The store is down' }) as Error,
      })
    }
    expect(faulty.feeds).toBe(3)
    faulty.onFeed = null
    await clock.advance('1ms')
    expect(await replica.lookup(key('a'))).toEqual([undefined])
    expect(faulty.feeds).toBe(4)
  })

  test('waits for a read that is under way, also right after one that has failed', async () => {
    fixRandom(0.2)
    const { clock, faulty, start } = createWorld()
    faulty.onFeed = down
    const replica = await start({ bound: '1m' })
    faulty.onFeed = (read) => sleep(clock.scheduler, 20).then(read)
    await clock.advance('10ms')
    expect(faulty.feeds).toBe(2)
    expect(await clock.runUntil(replica.lookup(key('a')))).toEqual([undefined])
  })

  test('asks again where a read was complete after the one that failed', async () => {
    fixRandom(0.1)
    const { clock, faulty, start } = createWorld()
    faulty.onFeed = down
    const replica = await start({ bound: '20ms' })
    faulty.onFeed = null
    await clock.advance('5ms')
    expect(replica.replica?.readState()).toMatchObject({ isFresh: true, lastError: null })
    clock.block('21ms')
    expect(await replica.lookup(key('a'))).toEqual([undefined])
  })
})

describe('the position', () => {
  test('of the last complete read is one that needs no question', async () => {
    const { faulty, open, inner, entry } = createWorld()
    const { position } = await inner.revoke([entry('a')])
    const replica = await open({ bound: '1m' })
    expect(replica.replica?.readState().position).toBe(position)
    expect(await replica.lookup(key('a'), { atLeast: position })).toEqual([FOREVER])
    expect(faulty.lookups).toBe(0)
  })

  test('that it does not have is passed on to the store', async () => {
    const { faulty, open, entry, inner } = createWorld()
    const asked: (Position | undefined)[] = []
    const replica = await open(
      { bound: '1m' },
      {
        ...faulty.store,
        lookup(keys, options) {
          asked.push(options?.atLeast)
          return inner.lookup(keys)
        },
      },
    )
    const { position } = await inner.revoke([entry('a')])
    await replica.lookup(key('a'), { atLeast: position })
    expect(asked).toEqual([position])
  })
})
