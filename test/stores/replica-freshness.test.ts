import { describe, expect, test } from 'vitest'
import { systemScheduler } from '../../packages/tokenlib/src/time.js'
import { createFreshness, type Freshness } from '../../packages/tokenlib/src/stores/replica/freshness.js'

/** Two clocks that are moved by hand; the wall clock can run further than the steady one. */
function create(boundMs = 1000) {
  const clocks = { steady: 5000, wall: 1_000_000 }
  const pass = (milliseconds: number): void => {
    clocks.steady += milliseconds
    clocks.wall += milliseconds
  }
  const scheduler = { ...systemScheduler, monotonicNow: () => clocks.steady }
  const freshness = createFreshness(
    boundMs,
    Object.assign(() => clocks.wall, { scheduler }),
  )
  /** A read that was sent so long ago, and is complete. */
  const read = (agoMs = 0): void => {
    pass(-agoMs)
    const sentAt = freshness.begin()
    pass(agoMs)
    freshness.confirm(sentAt)
  }
  return { clocks, pass, read, freshness }
}

test('nothing is fresh before it is confirmed', () => {
  const { freshness } = create()
  expect([freshness.isFresh(), freshness.readAge()]).toEqual([false, null])
})

test('it is fresh for as long as the bound, from the moment that is confirmed', () => {
  const { freshness, pass, read } = create()
  read(400)
  expect([freshness.isFresh(), freshness.readAge()]).toEqual([true, 400])
  pass(600)
  expect(freshness.isFresh()).toBe(true)
  pass(1)
  expect(freshness.isFresh()).toBe(false)
})

test('a confirmation that comes too late is none', () => {
  const { freshness, read } = create()
  read(1001)
  expect(freshness.isFresh()).toBe(false)
})

test('what was sent before it expired does not count', () => {
  const { freshness, pass, read } = create()
  const sentAt = freshness.begin()
  pass(10)
  freshness.expire()
  freshness.confirm(sentAt)
  expect(freshness.isFresh()).toBe(false)
  read()
  expect(freshness.isFresh()).toBe(true)
})

describe('a clock that moves', () => {
  test('a machine that was suspended is stale: the wall clock ran on, the steady one did not', () => {
    const { freshness, clocks, read } = create()
    read()
    clocks.wall += 1001
    expect([freshness.isFresh(), freshness.wasSetBack()]).toEqual([false, false])
    read()
    expect(freshness.isFresh()).toBe(true)
  })

  test('so is one that was suspended while it waited for the answer', () => {
    const { freshness, clocks } = create()
    const sentAt = freshness.begin()
    clocks.wall += 600_000
    freshness.confirm(sentAt)
    expect(freshness.isFresh()).toBe(false)
  })

  test.each([
    ['before the first read', (): void => undefined],
    ['after it expired', (freshness: Freshness): void => freshness.expire()],
    ['while a read is under way', (freshness: Freshness): void => void freshness.begin()],
  ] as const)('a clock that is set back %s is noticed, once', (when, prepare) => {
    const { freshness, clocks, read } = create()
    if (when !== 'before the first read') read()
    prepare(freshness)
    clocks.wall -= 7_200_000
    expect([freshness.wasSetBack(), freshness.wasSetBack()]).toEqual([true, false])
  })

  test('a clock that is set back is noticed', () => {
    const { freshness, clocks, read } = create()
    read()
    clocks.wall -= 1001
    expect([freshness.isFresh(), freshness.wasSetBack()]).toEqual([false, true])
  })

  test('so is one that was set ahead in the meantime, and then set right', () => {
    const { freshness, clocks, read } = create()
    clocks.wall += 7_200_000
    read()
    clocks.wall -= 7_200_000
    expect([freshness.wasSetBack(), freshness.wasSetBack()]).toEqual([true, false])
  })

  test('a wall clock that stands still, or shows the same moment twice, does not lengthen the bound', () => {
    const { freshness, clocks, read } = create(100)
    read()
    expect(freshness.isFresh()).toBe(true)
    clocks.steady += 101
    expect(freshness.isFresh()).toBe(false)
  })

  test('a clock that is corrected by up to a second is no matter', () => {
    const { freshness, clocks, read } = create()
    read()
    clocks.wall += 1000
    expect(freshness.isFresh()).toBe(true)
    clocks.wall -= 2000
    expect([freshness.isFresh(), freshness.wasSetBack()]).toEqual([true, false])
  })
})
