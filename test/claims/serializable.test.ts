import { describe, expect, test } from 'vitest'
import { assertSerializable } from '../../src/claims/extra-claims.js'
import { createManager, openToken } from '../helpers/manager.js'

class Account {
  id = 1
}
const cycle: Record<string, unknown> = {}
cycle['self'] = { cycle }
const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)])

describe('CRE-05 a value JSON does not carry unchanged is a TypeError that names the claim', () => {
  test.each<[string, unknown, string]>([
    ['a date', new Date(0), 'Date'],
    ['undefined', undefined, 'undefined'],
    ['a bigint', 1n, 'bigint'],
    ['a function', () => 1, 'function'],
    ['a symbol', Symbol('s'), 'symbol'],
    ['NaN', Number.NaN, 'NaN'],
    ['Infinity', Number.NEGATIVE_INFINITY, '-Infinity'],
    ['a map', new Map(), 'Map'],
    ['a set', new Set(), 'Set'],
    ['a class instance', new Account(), 'Account'],
    ['a boxed string', Object('text'), 'String'],
    ['bytes', new Uint8Array(1), 'Uint8Array'],
    ['a promise', Promise.resolve(), 'Promise'],
    ['an error', new Error('e'), 'Error'],
    ['an anonymous class', new (class {})(), 'object'],
    ['a cycle', cycle, 'circular reference'],
    ['too deep a nesting', nest(40), 'too deeply nested value'],
    ['a symbol as a key', { [Symbol('s')]: 1 }, 'symbol'],
  ])('%s', (_, value, type) => {
    expect(() => assertSerializable('when', value)).toThrow(TypeError)
    expect(() => assertSerializable('when', value)).toThrow(
      `Object of type ${type} is not JSON serializable (claim "when`,
    )
  })

  test('the message leads to a value inside a claim', () => {
    expect(() => assertSerializable('a', { list: [0, { when: new Date(0) }] })).toThrow(
      'Object of type Date is not JSON serializable (claim "a.list[1].when")',
    )
    expect(() => assertSerializable('a', [1, , 2])).toThrow(
      'Object of type undefined is not JSON serializable (claim "a[1]")',
    )
  })

  test('whatever has a toJSON method is refused, seen or hidden, on a list too', () => {
    const list = Object.assign([1], { toJSON: () => 'changed' })
    const hidden = Object.defineProperty({ a: 1 }, 'toJSON', { value: () => undefined })
    for (const value of [list, hidden, Object.assign([1], { name: 'x' })]) {
      expect(() => assertSerializable('claim', value)).toThrow(TypeError)
    }
  })

  test('a toJSON method does not help, and no token is made', () => {
    const { tokens } = createManager()
    const claims = { uid: 'x', when: new Date() }
    // @ts-expect-error a Date is refused by the compiler as well
    expect(() => tokens.createAccessToken(claims)).toThrow(
      new TypeError('Object of type Date is not JSON serializable (claim "when")'),
    )
    expect(() => assertSerializable('a', { toJSON: () => 1 })).toThrow(TypeError)
  })
})

test.each([
  null,
  true,
  'text',
  '',
  0,
  -1.5,
  2 ** 53,
  [],
  {},
  [1, [2]],
  { a: { b: [null] } },
  Object.create(null),
])('%j is carried', (value) => {
  expect(() => assertSerializable('claim', value)).not.toThrow()
})

test('the same object twice, side by side, is no cycle', () => {
  const shared = { a: 1 }
  expect(() => assertSerializable('claim', [shared, shared])).not.toThrow()
})

test('the deepest claims that can be created can be verified', () => {
  const { tokens } = createManager()
  const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)])
  let depth = 0
  while (depth < 100) {
    try {
      assertSerializable('deep', deep(depth + 1))
      depth++
    } catch {
      break
    }
  }
  const token = tokens.createAccessToken({ uid: 'x', deep: deep(depth) as never })
  expect(openToken(token).claims['deep']).toEqual(deep(depth))
  expect(tokens.verifyTokenWithoutRevocation(token).deep).toEqual(deep(depth))
  expect(depth).toBe(31)
})
