import { expect, test } from 'vitest'
import { median, percentile, toRatio, toSpread } from '../../benchmarks/statistics.js'

test('the median is the middle, or the mean of both middles', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(() => median([])).toThrow(TypeError)
})

test('a percentile is a value of the list', () => {
  const values = Array.from({ length: 100 }, (_, at) => 100 - at)
  expect(percentile(values, 0.5)).toBe(50)
  expect(percentile(values, 0.99)).toBe(99)
  expect(percentile([7], 0.99)).toBe(7)
  expect(() => percentile([], 0.5)).toThrow(TypeError)
})

test('a spread has the median and both ends, and leaves the list alone', () => {
  const values = [30, 10, 20]
  expect(toSpread(values)).toEqual({ median: 20, low: 10, high: 30 })
  expect(values).toEqual([30, 10, 20])
})

test('a ratio is taken round by round, so that a slow round of both does not count', () => {
  expect(toRatio([100, 10, 100], [50, 5, 50])).toEqual({ median: 2, low: 2, high: 2 })
})

test('a ratio leaves out the rounds that one of them sat out', () => {
  expect(toRatio([100, 80, 90], [50, null, 45])).toEqual({ median: 2, low: 2, high: 2 })
  expect(() => toRatio([null], [1])).toThrow(TypeError)
})
