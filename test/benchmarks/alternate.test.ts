import { expect, test } from 'vitest'
import { alternate } from '../../benchmarks/alternate.js'

test('contestants take turns, every other round backwards', async () => {
  const order: string[] = []
  const contestants = [{ name: 'a' }, { name: 'b' }, { name: 'c' }]
  const samples = await alternate(contestants, 2, ({ name }) => order.push(name))
  expect(order.join('')).toBe('abccba')
  expect(samples).toEqual(
    new Map([
      ['a', [1, 6]],
      ['b', [2, 5]],
      ['c', [3, 4]],
    ]),
  )
})

test('one that is there seldom takes part in every third round', async () => {
  const contestants = [{ name: 'a' }, { name: 'b', seldom: true }]
  const samples = await alternate(contestants, 4, () => 1)
  expect(samples.get('a')).toEqual([1, 1, 1, 1])
  expect(samples.get('b')).toEqual([1, null, null, 1])
})
