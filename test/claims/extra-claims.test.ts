import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type ClaimsSchema,
  TokenConfig,
  TokenExpiredError,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { ClaimsValidationError } from '../../packages/tokenlib/src/errors.js'
import { MAX_JSON_DEPTH } from '../../packages/tokenlib/src/encoding.js'
import { assertSerializable, hasOnlyImmutable } from '../../packages/tokenlib/src/tokens/extra-claims.js'
import { createClock, createManager, openToken, SECRET } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const build = <Input extends object, Output extends object>(
  claims: ClaimsSchema<Input, Output>,
  options: object = {},
) => {
  const clock = createClock()
  return {
    clock,
    tokens: new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }),
      claims,
      clock,
    }),
  }
}

describe.each([
  ['zod', z.object({ foo: z.string(), age: z.number() })],
  ['valibot', v.object({ foo: v.string(), age: v.number() })],
  ['arktype', type({ foo: 'string', age: 'number' })],
] as [string, ClaimsSchema<{ foo: string; age: number }, { foo: string; age: number }>][])(
  '%s',
  (_, schema) => {
    const { tokens } = build(schema)

    test('accepts good claims at creation and at verification', async () => {
      const payload = await tokens.verify(tokens.createAccessToken({ uid: 'u', foo: 'bar', age: 36 }))
      expect(payload).toMatchObject({ sub: 'u', foo: 'bar', age: 36, type: 'access' })
      expect(payload.jti).toEqual(expect.any(String))
    })

    test('refuses bad claims at creation with a TypeError that names them', () => {
      expect(() => tokens.createAccessToken({ uid: 'u', foo: 'bar', age: '36' as never })).toThrow(TypeError)
      expect(() => tokens.createAccessToken({ uid: 'u', foo: 'bar', age: '36' as never })).toThrow(/age/)
      expect(() => tokens.createRefreshToken({ uid: 'u' } as never)).toThrow(TypeError)
    })

    test('refuses a genuine token with bad claims, saying where', async () => {
      const token = createManager().tokens.createAccessToken({ uid: 'u', foo: 'bar', age: '36' })
      const error = await tokens.verify(token).catch((error: unknown) => error)
      expect(error).toBeInstanceOf(ClaimsValidationError)
      expect((error as ClaimsValidationError).issues[0]?.path).toEqual(['age'])
    })
  },
)

test('the schema sees the extra claims alone, so a strict one works', async () => {
  const strict = build(z.strictObject({ foo: z.string() }), { JWT_IDENTITY_CLAIM: 'user' }).tokens
  expect(await strict.verify(strict.createAccessToken({ uid: 'u', foo: 'x' }))).toMatchObject({
    sub: 'u',
    user: 'u',
    foo: 'x',
  })
})

test('what is signed is the input, what the payload has is the output', async () => {
  const { tokens } = build(
    z.object({
      born: z.iso.datetime().transform((text) => new Date(text)),
      role: z.string().default('guest'),
    }),
  )
  const token = tokens.createAccessToken({ uid: 'u', born: '1815-12-10T00:00:00Z' })
  expect(openToken(token).claims['born']).toBe('1815-12-10T00:00:00Z')
  const payload = await tokens.verify(token)
  expect(payload.born.getUTCFullYear()).toBe(1815)
  expect(payload.role).toBe('guest')
})

test('what a schema builds is built again for every check', async () => {
  const { tokens } = build(
    z.object({ raw: z.string().transform((text) => Buffer.from(text)), roles: z.array(z.string()) }),
  )
  const token = tokens.createAccessToken({ uid: 'u', raw: 'x', roles: ['a'] })
  const payload = await tokens.verify(token)
  expect(payload.raw.toString()).toBe('x')
  // The token is remembered: what a route does to this payload must not be there for the next request.
  payload.roles.push('admin')
  payload.raw.write('y')
  const next = await tokens.verify(token)
  expect([next.raw.toString(), next.roles]).toEqual(['x', ['a']])
})

test('a schema cannot change a standard claim, and csrf stays hidden', async () => {
  const { tokens } = build(
    z.looseObject({}).transform(() => ({ sub: 'admin', type: 'refresh', csrf: 'x', extra: 1 })),
    {
      JWT_TOKEN_LOCATION: ['headers', 'cookies'],
    },
  )
  const payload = await tokens.verify(tokens.createAccessToken({ uid: 'u' }))
  expect(payload).toMatchObject({ sub: 'u', type: 'access', extra: 1 })
  expect(payload.csrf).not.toBe('x')
  expect(Object.keys(payload)).not.toContain('csrf')
})

test('an expired token is expired before its claims are looked at', async () => {
  const { tokens, clock } = build(z.object({ foo: z.string() }))
  const token = createManager({}, clock).tokens.createAccessToken({ uid: 'u', foo: 1 })
  clock.seconds += 1000
  await expect(tokens.verify(token)).rejects.toBeInstanceOf(TokenExpiredError)
})

test('a schema that answers later is a mistake of the application', () => {
  const { tokens } = build(z.object({ foo: z.string() }).refine(() => Promise.resolve(true)))
  expect(() => tokens.createAccessToken({ uid: 'u', foo: 'x' })).toThrow(/synchronously/)
  const thenable = { '~standard': { version: 1, vendor: 'test', validate: () => ({ then: () => {} }) } }
  const later = build(thenable as unknown as ClaimsSchema).tokens
  expect(() => later.createAccessToken({ uid: 'u' })).toThrow(/synchronously/)
})

class Account {
  id = 1
}
const cycle: Record<string, unknown> = {}
cycle['self'] = { cycle }
const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)])

describe('a value JSON does not carry unchanged is a TypeError that names the claim', () => {
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
  expect(internalsOf(tokens).verifyWithoutRevocation(token).deep).toEqual(deep(depth))
  expect(depth).toBe(31)
})

describe('claims that cannot change', () => {
  const frozen = (levels: number): unknown => (levels === 0 ? 1 : Object.freeze([frozen(levels - 1)]))
  const inherit = (prototype: object | null) =>
    Object.freeze(Object.assign(Object.create(prototype) as object, { a: 1 }))
  const circle: { self?: object } = {}
  circle.self = circle

  test.each<[string, unknown]>([
    ['a text', 'x'],
    ['null', null],
    ['undefined', undefined],
    ['a symbol', Symbol('s')],
    ['a frozen list', Object.freeze([1, Object.freeze([])])],
    ['a frozen object', Object.freeze({ a: Object.freeze({ b: 1 }) })],
    ['a frozen object without a prototype', inherit(null)],
    ['the deepest nesting that JSON may have', frozen(MAX_JSON_DEPTH)],
  ])('may have %s', (_, value) => {
    expect(hasOnlyImmutable({ first: 1, value, last: 1 })).toBe(true)
  })

  test.each<[string, unknown]>([
    ['a function', () => 1],
    ['a list', [1]],
    ['an object', { a: 1 }],
    ['a list in a frozen object', Object.freeze({ first: 1, list: [], last: 1 })],
    ['a list in a frozen list', Object.freeze([[]])],
    ['a list under a symbol', Object.freeze({ [Symbol('s')]: [] })],
    ['a hidden list', Object.freeze(Object.defineProperty({}, 'list', { value: [] }))],
    ['a getter', Object.freeze(Object.defineProperty({}, 'at', { get: () => 1, enumerable: true }))],
    ['a frozen Date', Object.freeze(new Date(0))],
    ['a frozen Map', Object.freeze(new Map())],
    ['a frozen object with another prototype', inherit({ a: [] })],
    ['a circle', Object.freeze(circle)],
    ['a deeper nesting', frozen(MAX_JSON_DEPTH + 1)],
  ])('do not have %s', (_, value) => {
    expect(hasOnlyImmutable({ first: 1, value, last: 1 })).toBe(false)
  })

  test('have no getter themselves', () => {
    expect(hasOnlyImmutable(Object.defineProperty({}, 'at', { get: () => 1 }))).toBe(false)
  })
})
