import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRecentMap } from '../../src/manager/recent-map.js'

test('never holds more than its size, and never a value that was not set', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 15 }))),
      (size, steps) => {
        const map = createRecentMap<number>(size)
        for (const [isSet, key] of steps) {
          if (isSet) map.set(`k${key}`, key)
          else expect([undefined, key]).toContain(map.get(`k${key}`))
        }
        // Looking moves values about, so each is looked for in a map of its own history.
        const held = Array.from({ length: 16 }, (_, key) => {
          const replay = createRecentMap<number>(size)
          for (const [isSet, step] of steps) {
            if (isSet) replay.set(`k${step}`, step)
            else replay.get(`k${step}`)
          }
          return replay.get(`k${key}`)
        })
        expect(held.filter((value) => value !== undefined).length).toBeLessThanOrEqual(size)
      },
    ),
  )
})

test('the last half of what was used is always there', () => {
  const map = createRecentMap<number>(100)
  for (let key = 0; key < 1000; key++) map.set(`k${key}`, key)
  for (let key = 950; key < 1000; key++) expect(map.get(`k${key}`)).toBe(key)
  expect(map.get('k0')).toBeUndefined()
})

test('texts that end alike are told apart, and the younger takes the place', () => {
  const map = createRecentMap<string>(10)
  const end = '.0123456789abcdef'
  map.set(`one${end}`, 'one')
  expect(map.get(`two${end}`)).toBeUndefined()
  expect(map.get(end)).toBeUndefined()
  map.set(`two${end}`, 'two')
  expect(map.get(`two${end}`)).toBe('two')
  expect(map.get(`one${end}`)).toBeUndefined()
})

test('one that ends like an older one is not found in its place either', () => {
  const map = createRecentMap<string>(4)
  const end = '.0123456789abcdef'
  map.set(`one${end}`, 'one')
  // Two more, and it is among the old ones.
  map.set('a', 'a')
  map.set('b', 'b')
  expect(map.get(`two${end}`)).toBeUndefined()
  expect(map.get(`one${end}`)).toBe('one')
})

test('the long text that a token was a part of is not kept with it', () => {
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const map = createRecentMap<number>(1000)
  const add = (at: number): void => {
    const cookies = Buffer.from(`other=${'x'.repeat(60_000)}; token=${'a.b.c'.repeat(20)}${at}`).toString(
      'latin1',
    )
    map.set(cookies.slice(-100), at)
  }
  add(0)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 1; at <= 200; at++) add(at)
  collect()
  // 200 such texts are 12 megabytes.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000)
})
