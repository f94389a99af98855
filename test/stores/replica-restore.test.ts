import { expect, test } from 'vitest'
import { createMemoryStore } from 'tokenlib/memory'
import { FOREVER, type Revocation, type RevocationStore } from '../../packages/tokenlib/src/kit.js'
import { createRevocationCopy } from '../../packages/tokenlib/src/stores/memory/revocations.js'
import { createRestorer } from '../../packages/tokenlib/src/stores/replica/restore.js'
import { createVirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'
import { fixRandom } from './replica-fixture.js'

const BOUND_MS = 1000
const NOW = 1_000_000

const entry = (id: string, until = FOREVER): Revocation => ({ kind: 'token', id, notBefore: FOREVER, until })
const many = (count: number): Revocation[] => Array.from({ length: count }, (_, at) => entry(`${at}`))

/** A restorer, what its process knows, and the ids of each batch that it has written. */
function create(change: Partial<RevocationStore> = {}) {
  // Due after 62.5 ms, and the rest after 250 ms more.
  fixRandom(0.5)
  const clock = createVirtualClock()
  const pruneClock = (): number => NOW
  const copy = createRevocationCopy('The copy', pruneClock)
  const written: string[][] = []
  const fault: { onRestore: (() => Promise<void>) | null } = { onRestore: null }
  const store: RevocationStore = {
    ...createMemoryStore({ clock }),
    async restore(batch) {
      written.push(batch.map(({ id }) => id))
      await fault.onRestore?.()
    },
    ...change,
  }
  const restorer = createRestorer({
    store,
    copy,
    boundMs: BOUND_MS,
    timeoutMs: 2000,
    pruneClock,
    scheduler: clock.scheduler,
  })
  const know = (...entries: Revocation[]): void => {
    for (const each of entries) copy.merge(each)
  }
  /** Waits until the restorer is due, and runs it. */
  const runWhenDue = async (): Promise<void> => {
    await clock.advance((restorer.dueAt - clock.scheduler.monotonicNow()) / 1000)
    await restorer.run()
  }
  return { clock, copy, store, written, fault, restorer, know, runWhenDue }
}

/** A write that does not end before it is told to. */
function createHeld() {
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  return { hold: () => held, release: () => release() }
}

test('what was revoked lately is written within an eighth of the bound, the rest within half of it more', async () => {
  const { clock, restorer, know, written, runWhenDue } = create()
  know(entry('new'), entry('old'))
  restorer.noteArrived([entry('new')])
  await clock.advance('100ms')
  restorer.begin()
  expect(restorer.dueAt).toBe(162.5)
  await clock.advance('62ms')
  await restorer.run()
  expect(written).toEqual([])
  await runWhenDue()
  expect(written).toEqual([['new']])
  expect(restorer.dueAt).toBe(412.5)
  await clock.advance('249ms')
  await restorer.run()
  expect(written).toEqual([['new']])
  await runWhenDue()
  expect(written).toEqual([['new'], ['old']])
  expect(restorer.dueAt).toBe(Number.POSITIVE_INFINITY)
})

test('what arrived more than two bounds ago is part of the rest', async () => {
  const { clock, restorer, know, written, runWhenDue } = create()
  await clock.advance('1ms')
  know(entry('old'), entry('new'))
  restorer.noteArrived([entry('old')])
  await clock.advance(2)
  restorer.noteArrived([entry('new')])
  restorer.begin()
  await runWhenDue()
  expect(written).toEqual([['new']])
})

test('nothing is written without a loss', async () => {
  const { restorer, know, written } = create()
  know(entry('a'))
  restorer.noteArrived([entry('a')])
  await restorer.run()
  expect(written).toEqual([])
})

test('nothing is written where the store has everything', async () => {
  const { restorer, know, written, runWhenDue } = create()
  know(entry('a'))
  restorer.begin()
  restorer.noteGiven(entry('a'), NOW)
  await runWhenDue()
  await runWhenDue()
  expect(written).toEqual([])
})

test('a write that failed is repeated until all is there', async () => {
  const { restorer, know, written, fault, runWhenDue } = create()
  know(entry('a'))
  restorer.begin()
  await runWhenDue()
  fault.onRestore = () => Promise.reject(new Error('The store is down'))
  await expect(runWhenDue()).rejects.toThrow('The store is down')
  await expect(runWhenDue()).rejects.toThrow('The store is down')
  fault.onRestore = null
  await runWhenDue()
  expect(written).toEqual([['a'], ['a'], ['a']])
  expect(restorer.dueAt).toBe(Number.POSITIVE_INFINITY)
})

test('a write that is not answered is given up, and repeated', async () => {
  const { clock, restorer, know, written, fault, runWhenDue } = create()
  know(entry('a'))
  restorer.begin()
  await runWhenDue()
  fault.onRestore = () => new Promise(() => undefined)
  let hasFailed = false
  await clock.advance('250ms')
  const running = restorer.run().catch(() => void (hasFailed = true))
  await clock.advance('1999ms')
  expect([written, hasFailed]).toEqual([[['a']], false])
  await clock.advance('1ms')
  await running
  expect(hasFailed).toBe(true)
  fault.onRestore = null
  await runWhenDue()
  expect(written).toEqual([['a'], ['a']])
})

test('a second loss while the rest is written is restored too', async () => {
  const { clock, restorer, know, written, fault, runWhenDue } = create()
  know(entry('a'))
  restorer.begin()
  await runWhenDue()
  const { hold, release } = createHeld()
  fault.onRestore = hold
  await clock.advance('250ms')
  const running = restorer.run()
  await clock.advance('1ms')
  expect(written).toEqual([['a']])
  restorer.begin()
  release()
  await running
  await runWhenDue()
  await runWhenDue()
  expect(written).toEqual([['a'], ['a']])
})

test('writes do not overlap', async () => {
  const { clock, restorer, written, fault } = create()
  const { hold, release } = createHeld()
  fault.onRestore = hold
  restorer.keepUnsent([entry('a')])
  const running = restorer.run()
  await restorer.run()
  expect(written).toEqual([['a']])
  release()
  await clock.runUntil(running)
  expect(written).toEqual([['a']])
})

test('what has ended is not written', async () => {
  const { restorer, know, written, runWhenDue } = create()
  restorer.keepUnsent([entry('unsent', NOW)])
  await restorer.run()
  know(entry('known', NOW), entry('later', NOW + 1))
  restorer.begin()
  await runWhenDue()
  await runWhenDue()
  expect(written).toEqual([['later']])
})

test('what could not be written before does not wait for what was lost', async () => {
  const { restorer, know, written, runWhenDue } = create()
  know(entry('lost'))
  restorer.noteArrived([entry('lost')])
  restorer.begin()
  restorer.keepUnsent([entry('unsent')])
  await restorer.run()
  expect(written).toEqual([['unsent']])
  await runWhenDue()
  expect(written).toEqual([['unsent'], ['lost']])
})

test('an entry that grew while it was written is written again', async () => {
  const written: number[] = []
  const { hold, release } = createHeld()
  const { restorer } = create({
    async restore(batch) {
      written.push(...batch.map(({ until }) => until))
      await hold()
    },
  })
  restorer.keepUnsent([entry('a', NOW + 1)])
  const running = restorer.run()
  restorer.keepUnsent([entry('a', NOW + 2)])
  release()
  await running
  expect(written).toEqual([NOW + 1, NOW + 2])
})

test('no more than 100,000 entries wait to be written', async () => {
  let count = 0
  const { restorer } = create({ restore: async (batch) => void (count += batch.length) })
  restorer.keepUnsent(many(100_001))
  await restorer.run()
  expect(count).toBe(100_000)
})

test('what is missing is written in parts', async () => {
  const { restorer, written, runWhenDue } = create()
  restorer.noteArrived(many(1200))
  restorer.begin()
  await runWhenDue()
  expect(written.map(({ length }) => length)).toEqual([500, 500, 200])
})

test('processes begin at different places, and each writes all', async () => {
  const { restorer, know, written, runWhenDue } = create()
  know(entry('a'), entry('b'), entry('c'), entry('d'))
  restorer.begin()
  await runWhenDue()
  await runWhenDue()
  expect(written).toEqual([
    ['c', 'd'],
    ['a', 'b'],
  ])
})

test('others have their turn after every 2,000 entries that are compared', async () => {
  const { clock, restorer } = create()
  const entries = many(4000)
  restorer.begin()
  for (const each of entries) restorer.noteGiven(each, NOW)
  restorer.noteArrived(entries)
  await clock.advance('62.5ms')
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await restorer.run()
  isOver = true
  expect(turns).toBe(2)
})

test('a store without `restore` is left as it is', async () => {
  const clock = createVirtualClock()
  const { restore: _, ...store } = createMemoryStore({ clock })
  const { scheduler } = clock
  const pruneClock = (): number => NOW
  const copy = createRevocationCopy('The copy', pruneClock)
  const restorer = createRestorer({
    store,
    copy,
    boundMs: BOUND_MS,
    timeoutMs: BOUND_MS,
    pruneClock,
    scheduler,
  })
  restorer.begin()
  restorer.keepUnsent([entry('a')])
  expect(restorer.dueAt).toBe(Number.POSITIVE_INFINITY)
  await restorer.run()
})
