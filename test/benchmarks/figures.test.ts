import { expect, test } from 'vitest'
import { alternate, createGroup, median, toRatio, toSpread } from '../../benchmarks/figures.js'

test('contestants take turns, every other turn backwards', async () => {
  const order: string[] = []
  const contestants = [{ name: 'a' }, { name: 'b' }, { name: 'c' }]
  await alternate(contestants, { rounds: 2, turns: 2 }, async ({ name }) => {
    order.push(name)
    return { used: 1, calls: 1 }
  })
  expect(order.join('')).toBe('abccbacbaabc')
})

test('a round adds up its turns, so that an expensive turn counts', async () => {
  const turns = [
    { used: 100, calls: 10, perSecond: 50 },
    { used: 500, calls: 20, perSecond: 70 },
  ]
  const samples = await alternate([{ name: 'a' }], { rounds: 1, turns: 2 }, async () => turns.shift()!)
  expect(samples).toEqual(new Map([['a', [{ cost: 20, perSecond: 60 }]]]))
})

test('a contestant that is measured seldom takes part in every third round', async () => {
  const contestants = [{ name: 'a' }, { name: 'b', seldom: true }]
  const samples = await alternate(contestants, { rounds: 4, turns: 2 }, async () => ({ used: 2, calls: 1 }))
  expect(samples.get('a')).toEqual([{ cost: 2 }, { cost: 2 }, { cost: 2 }, { cost: 2 }])
  expect(samples.get('b')).toEqual([{ cost: 2 }, null, null, { cost: 2 }])
})

test('a figure is the median of the rounds that a contestant took part in', () => {
  const rounds = [{ cost: 3, perSecond: 10 }, null, { cost: 1, perSecond: 30 }, { cost: 2, perSecond: 20 }]
  expect(createGroup('id', 'Title', new Map([['a', rounds]])).figures).toEqual([
    { name: 'a', cost: 2, low: 1.5, high: 2.5, perSecond: 20, samples: [3, null, 1, 2] },
  ])
})

test('the median is the middle, or the mean of both middles', () => {
  expect(median([3, 1, 2])).toBe(2)
  expect(median([4, 1, 3, 2])).toBe(2.5)
  expect(() => median([])).toThrow(TypeError)
})

test('a spread has the median and what half of the values lie between, and leaves the list alone', () => {
  const values = [30, 10, 20, 50, 40]
  expect(toSpread(values)).toEqual({ median: 30, low: 20, high: 40 })
  expect(toSpread([7])).toEqual({ median: 7, low: 7, high: 7 })
  expect(values).toEqual([30, 10, 20, 50, 40])
})

test('a ratio is taken round by round, above 1 where the first costs less', () => {
  expect(toRatio([50, 5, 50], [100, 10, 100])).toEqual({ median: 2, low: 2, high: 2 })
})

test('a ratio leaves out the rounds that one of them did not take part in', () => {
  expect(toRatio([50, 80, 45], [100, null, 90])).toEqual({ median: 2, low: 2, high: 2 })
  expect(() => toRatio([null], [1])).toThrow(TypeError)
})
