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
