import { expect, test } from 'vitest'
import { createVirtualClock } from '../../packages/tokenlib/src/testing/test-tokens.js'

const START = Date.UTC(2026, 0, 1)

/** A clock, and what its timers have done: the name of each with the milliseconds that had passed. */
function create() {
  const clock = createVirtualClock()
  const done: string[] = []
  const start = (name: string, milliseconds: number): unknown =>
    clock.scheduler.setTimeout(() => done.push(`${name} ${clock() - START}`), milliseconds)
  return { clock, done, start }
}

test('no time passes by itself', async () => {
  const { clock, done, start } = create()
  start('a', 0)
  await new Promise(setImmediate)
  expect([clock(), clock.scheduler.monotonicNow(), done]).toEqual([START, 0, []])
})

test('timers run in the order in which they are due, each at its moment', async () => {
  const { clock, done, start } = create()
  start('late', 30)
  start('first', 10)
  start('second', 10)
  start('too late', 41)
  await clock.advance('40ms')
  expect(done).toEqual(['first 10', 'second 10', 'late 30'])
  expect([clock() - START, clock.scheduler.monotonicNow()]).toEqual([40, 40])
})

test('timers that timers start run in the same advance, if they are due by then', async () => {
  const { clock, done, start } = create()
  clock.scheduler.setTimeout(() => void Promise.resolve().then(() => start('next', 10)), 10)
  await clock.advance('19ms')
  expect(done).toEqual([])
  await clock.advance('1ms')
  expect(done).toEqual(['next 20'])
})

test('a timer that was cleared does not run', async () => {
  const { clock, done, start } = create()
  clock.scheduler.clearTimeout(start('a', 10) as number)
  clock.scheduler.clearTimeout(undefined)
  await clock.advance('1s')
  expect(done).toEqual([])
})

test('runUntil lets no more time pass than a promise needs', async () => {
  const { clock, done, start } = create()
  start('a', 10)
  start('b', 30)
  const promise = new Promise<string>((resolve) => clock.scheduler.setTimeout(() => resolve('value'), 20))
  expect(await clock.runUntil(promise)).toBe('value')
  expect([clock() - START, done]).toEqual([20, ['a 10']])
  await expect(clock.runUntil(Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  expect(clock() - START).toBe(20)
})

test('while the process is blocked, nothing runs; then what is due runs late', async () => {
  const { clock, done, start } = create()
  start('b', 20)
  start('a', 10)
  clock.block('1s')
  expect([clock() - START, done]).toEqual([1000, []])
  await clock.advance(0)
  expect(done).toEqual(['a 1000', 'b 1000'])
})

test('to set the time of day lets no time pass', async () => {
  const { clock, done, start } = create()
  start('a', 10)
  clock.set(new Date('2030-01-01T00:00:00Z'))
  await clock.advance(0)
  expect([clock(), clock.scheduler.monotonicNow(), done]).toEqual([Date.UTC(2030, 0, 1), 0, []])
  await clock.advance('10ms')
  expect(clock()).toBe(Date.UTC(2030, 0, 1) + 10)
  expect(done).toHaveLength(1)
})

test('an invalid date and a negative duration are refused', async () => {
  expect(() => createVirtualClock(new Date('no date'))).toThrow(TypeError)
  const { clock } = create()
  expect(() => clock.set(new Date('no date'))).toThrow(TypeError)
  await expect(clock.advance(-1)).rejects.toThrow(RangeError)
  expect(() => clock.block(-1)).toThrow(RangeError)
  expect(clock()).toBe(START)
})

test.each(['4007ms', 4.007, 'PT4.007S'])('advance(%j) is exact', async (by) => {
  const { clock, done, start } = create()
  start('a', 4007)
  await clock.advance(by)
  expect(done).toEqual(['a 4007'])
})

test('a delay that Node does not have is a millisecond, as in Node', async () => {
  const { clock, done, start } = create()
  for (const delay of [Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) start(String(delay), delay)
  await clock.advance('1ms')
  expect(done).toEqual(['NaN 1', 'Infinity 1', '2147483648 1'])
})

test('timers without a delay that start each other for ever are an error', async () => {
  const { clock } = create()
  const again = (): void => void clock.scheduler.setTimeout(again, 0)
  again()
  await expect(clock.advance(1)).rejects.toThrow('for ever')
})
