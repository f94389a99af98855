import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRecentTokens } from '../../packages/tokenlib/src/requests/recent-tokens.js'

// Like tokens, these differ at the end, but not in the last character.
const toToken = (key: number): string => `header.payload.${String(key).padStart(4, '0')}A`

test('never holds more than its size, and never a value that was not set', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 15 }))),
      (size, steps) => {
        const map = createRecentTokens<{ key: number }>(size, 'Bearer ')
        for (const [isSet, key] of steps) {
          if (isSet) map.set(toToken(key), { key })
          else expect([undefined, key]).toContain(map.get(toToken(key))?.key)
        }
        // Looking moves values about, so each is looked for in a map of its own history.
        const held = Array.from({ length: 16 }, (_, key) => {
          const replay = createRecentTokens<{ key: number }>(size, 'Bearer ')
          for (const [isSet, step] of steps) {
            if (isSet) replay.set(toToken(step), { key: step })
            else replay.get(toToken(step))
          }
          return replay.get(toToken(key))
        })
        expect(held.filter((value) => value !== undefined).length).toBeLessThanOrEqual(size)
      },
    ),
  )
})

test('the last half of what was used is always there', () => {
  const map = createRecentTokens<{ key: number }>(100, 'Bearer ')
  for (let key = 0; key < 1000; key++) map.set(toToken(key), { key })
  for (let key = 950; key < 1000; key++) expect(map.get(toToken(key))?.key).toBe(key)
  expect(map.get(toToken(0))).toBeUndefined()
})

test('random signatures hardly ever take each other\u2019s place', () => {
  const map = createRecentTokens<{ at: number }>(20_000, 'Bearer ')
  const random = fc.sample(fc.uint8Array({ minLength: 32, maxLength: 32 }), { numRuns: 9000, seed: 1 })
  const tokens = [...new Set(random.map((bytes) => Buffer.from(bytes).toString('base64url')))]
  for (const [at, token] of tokens.entries()) map.set(token, { at })
  expect(tokens.filter((token) => map.get(token) === undefined).length).toBeLessThan(50)
})

test.each([2, 3, 4, 5])('tokens that differ only %i characters before their end keep their places', (at) => {
  const map = createRecentTokens<{ name: string }>(10, 'Bearer ')
  const create = (character: string): string =>
    [
      'header.payload.',
      ...Array.from('ABCDEF', (other, index) => (index === 6 - at ? character : other)),
    ].join('')
  for (const name of ['x', 'y']) map.set(create(name), { name })
  for (const name of ['x', 'y']) expect(map.get(create(name))).toEqual({ name })
})

describe('tokens that end alike', () => {
  const end = '.0123456789abcdef'

  test('are told apart, and the younger takes the place', () => {
    const map = createRecentTokens<{ name: string }>(10, 'Bearer ')
    map.set(`one${end}`, { name: 'one' })
    expect(map.get(`two${end}`)).toBeUndefined()
    expect(map.get(end)).toBeUndefined()
    map.set(`two${end}`, { name: 'two' })
    expect(map.get(`two${end}`)?.name).toBe('two')
    expect(map.get(`one${end}`)).toBeUndefined()
  })

  test('are told apart from those that were not used for a while, too', () => {
    const map = createRecentTokens<{ name: string }>(4, 'Bearer ')
    map.set(`one${end}`, { name: 'one' })
    // Two more, and it is among the old ones.
    map.set(toToken(1), { name: 'a' })
    map.set(toToken(2), { name: 'b' })
    expect(map.get(`two${end}`)).toBeUndefined()
    expect(map.get(`one${end}`)?.name).toBe('one')
  })

  test.each(['', 'A', 'AB', '\uffff\uffff\uffff'])('%j finds nothing and breaks nothing', (text) => {
    const map = createRecentTokens<{ name: string }>(4, 'Bearer ')
    map.set(toToken(1), { name: 'a' })
    expect(map.get(text)).toBeUndefined()
  })
})

test('the long text that a token was a part of is not kept with it', () => {
  setFlagsFromString('--expose_gc')
  const collect = runInNewContext('gc') as () => void
  const map = createRecentTokens<{ at: number }>(1000, 'Bearer ')
  const add = (at: number): void => {
    const cookies = Buffer.from(`other=${'x'.repeat(60_000)}; token=${toToken(at)}`).toString('latin1')
    map.set(cookies.slice(-20), { at })
  }
  add(0)
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 1; at <= 200; at++) add(at)
  collect()
  // 200 such texts are 12 megabytes.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000)
})
