import { expect, test } from 'vitest'
import { type Duration, parseDuration, systemClock, toEpochSeconds } from '../packages/tokenlib/src/time.js'

test.each<[Duration, number]>([
  [900, 900],
  [0, 0],
  [0.25, 0.25],
  ['15m', 900],
  ['250ms', 0.25],
  ['1.5h', 5400],
  ['30s', 30],
  ['20d', 1_728_000],
  ['2w', 1_209_600],
  ['PT15M', 900],
  ['PT1H30M', 5400],
  ['P1D', 86_400],
  ['P1DT12H', 129_600],
  ['P2W', 1_209_600],
  ['PT0.5S', 0.5],
])('%j is %d seconds', (given, seconds) => {
  expect(parseDuration(given)).toBeCloseTo(seconds, 9)
})

// CVE-2026-107275: a duration that is silently dropped makes a token that never expires.
test.each([
  '86400',
  '',
  ' 1h',
  '1h ',
  '1h30m',
  '1,5h',
  '1mo',
  '1y',
  '-1h',
  '+1h',
  '1e3s',
  '.5h',
  'P',
  'PT',
  'P1DT',
  'P1Y',
  'P1M',
  'P1W2D',
  'pt15m',
  'forever',
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  null,
  undefined,
  true,
  {},
  [],
])('%j is no duration', (given) => {
  expect(() => parseDuration(given as Duration)).toThrow(RangeError)
})

test('a text of a megabyte is refused immediately', () => {
  expect(() => parseDuration('1'.repeat(1024 * 1024))).toThrow(RangeError)
})

test('epoch seconds are rounded down and keep their size beyond 2038 and 2106', () => {
  expect(toEpochSeconds(1999)).toBe(1)
  expect(toEpochSeconds(Date.UTC(2038, 0, 20))).toBe(2_147_558_400)
  expect(toEpochSeconds(Date.UTC(2107, 0, 1))).toBe(4_323_283_200)
})

test('the system clock shows epoch milliseconds', () => {
  const before = Date.now()
  const now = systemClock()
  expect(now).toBeGreaterThanOrEqual(before)
  expect(now).toBeLessThanOrEqual(Date.now())
})
