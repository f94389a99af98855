import { expect, test } from 'vitest'
import { createFrozenClock } from '../../packages/tokenlib/src/testing/test-tokens.js'

const START = Date.UTC(2026, 0, 1)

test('a clock stands still at the beginning of 2026', () => {
  const clock = createFrozenClock()
  expect([clock(), clock()]).toEqual([START, START])
})

test('a clock starts at the moment it is given, to the millisecond', () => {
  expect(createFrozenClock(new Date(1234))()).toBe(1234)
})

test.each([
  [90, 90_000],
  ['15m', 900_000],
  ['PT1H', 3_600_000],
  ['250ms', 250],
  [0, 0],
])('advance(%s) moves it on by %d milliseconds', (by, milliseconds) => {
  const clock = createFrozenClock()
  clock.advance(by)
  expect(clock()).toBe(START + milliseconds)
})

test('advances add up', () => {
  const clock = createFrozenClock()
  clock.advance('1m')
  clock.advance('1m')
  expect(clock()).toBe(START + 120_000)
})

test.each(['900', '-1s', 'soon', -1, Number.NaN])('advance(%s) is refused, and moves nothing', (by) => {
  const clock = createFrozenClock()
  expect(() => clock.advance(by)).toThrow(RangeError)
  expect(clock()).toBe(START)
})

test('set moves it to a moment, also back', () => {
  const clock = createFrozenClock()
  clock.set(new Date('2030-06-01T12:00:00Z'))
  expect(clock()).toBe(Date.UTC(2030, 5, 1, 12))
  clock.set(new Date(0))
  expect(clock()).toBe(0)
})

test('the Date it was set to can change without moving it', () => {
  const moment = new Date(5000)
  const clock = createFrozenClock(moment)
  moment.setTime(6000)
  expect(clock()).toBe(5000)
})

test('an invalid Date is refused: no token would ever expire by it', () => {
  const nonsense = new Date('nonsense')
  expect(() => createFrozenClock(nonsense)).toThrow(TypeError)
  const clock = createFrozenClock()
  expect(() => clock.set(nonsense)).toThrow(TypeError)
  expect(clock()).toBe(START)
})

test('two clocks are independent', () => {
  const [one, other] = [createFrozenClock(), createFrozenClock()]
  one.advance('1d')
  expect(other()).toBe(START)
})
