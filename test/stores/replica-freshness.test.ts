import { describe, expect, test } from 'vitest'
import { createFreshness } from '../../src/stores/replica/freshness.js'

/** Two clocks that are moved by hand; the wall clock can run further than the steady one. */
function create(boundMs = 1000) {
  const clocks = { steady: 5000, wall: 1_000_000 }
  const pass = (milliseconds: number): void => {
    clocks.steady += milliseconds
    clocks.wall += milliseconds
  }
  const freshness = createFreshness(
    boundMs,
    () => clocks.wall,
    () => clocks.steady,
  )
  return { clocks, pass, freshness }
}

test('nothing is fresh before it is confirmed', () => {
  const { freshness } = create()
  expect([freshness.isFresh(), freshness.readAge()]).toEqual([false, null])
})

test('it is fresh for as long as the bound, from the moment that is confirmed', () => {
  const { freshness, pass, clocks } = create()
  freshness.confirm(clocks.steady - 400)
  expect([freshness.isFresh(), freshness.readAge()]).toEqual([true, 400])
  pass(600)
  expect(freshness.isFresh()).toBe(true)
  pass(1)
  expect(freshness.isFresh()).toBe(false)
})

test('a confirmation that comes too late is none', () => {
  const { freshness, clocks } = create()
  freshness.confirm(clocks.steady - 1001)
  expect(freshness.isFresh()).toBe(false)
})

test('what was sent before it expired does not count', () => {
  const { freshness, pass, clocks } = create()
  const sentAt = clocks.steady
  pass(10)
  freshness.expire()
  freshness.confirm(sentAt)
  expect(freshness.isFresh()).toBe(false)
  freshness.confirm(clocks.steady)
  expect(freshness.isFresh()).toBe(true)
})

describe('a clock that moves', () => {
  test('a machine that was suspended is stale: the wall clock ran on, the steady one did not', () => {
    const { freshness, clocks } = create()
    freshness.confirm(clocks.steady)
    clocks.wall += 1001
    expect([freshness.isFresh(), freshness.wasSetBack()]).toEqual([false, false])
    freshness.confirm(clocks.steady)
    expect(freshness.isFresh()).toBe(true)
  })

  test('a clock that is set back is noticed', () => {
    const { freshness, clocks } = create()
    freshness.confirm(clocks.steady)
    clocks.wall -= 1001
    expect([freshness.isFresh(), freshness.wasSetBack()]).toEqual([false, true])
  })

  test('a clock that is corrected by less is no matter', () => {
    const { freshness, clocks } = create()
    freshness.confirm(clocks.steady)
    clocks.wall += 999
    expect(freshness.isFresh()).toBe(true)
    clocks.wall -= 1998
    expect([freshness.isFresh(), freshness.wasSetBack()]).toEqual([true, false])
  })
})
