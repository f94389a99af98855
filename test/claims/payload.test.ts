import { createHmac } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import {
  expiresAt,
  extraClaims,
  hasScopes,
  issuedAt,
  timeSinceIssued,
  timeUntilExpiry,
} from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { RESERVED_CLAIMS, toTokenPayload } from '../../packages/tokenlib/src/tokens/payload.js'
import { createManager, NOW, SECRET } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const { tokens, clock } = createManager()

/** A genuine token with any claims set, also ones that we would never create. */
function sign(claims: string | object): string {
  const text = typeof claims === 'string' ? claims : JSON.stringify(claims)
  const input = ['{"alg":"HS256"}', text].map((part) => Buffer.from(part).toString('base64url')).join('.')
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}
const verify = (claims: string | object) => internalsOf(tokens).verifyWithoutRevocation(sign(claims))

describe('a payload', () => {
  test('has the claims as properties, sub being the uid', () => {
    const payload = internalsOf(tokens).verifyWithoutRevocation(
      tokens.createAccessToken({ uid: 'ada', age: 36, tags: ['a'] }),
    )
    expect(payload.sub).toBe('ada')
    expect(payload.age).toBe(36)
    expect(payload.tags).toEqual(['a'])
  })

  test('has only what the token carries', () => {
    expect(Reflect.ownKeys(verify({ sub: 'u', type: 'access' })).toSorted()).toEqual(['sub', 'type'])
  })

  test('has claims named like the members of every object as mere data', () => {
    const payload = verify(
      '{"sub":"u","type":"access","__proto__":{"admin":true},"constructor":"c","toString":1}',
    )
    expect(Object.getOwnPropertyDescriptor(payload, '__proto__')?.value).toEqual({ admin: true })
    expect(payload['admin']).toBeUndefined()
    expect(payload['constructor']).toBe('c')
    expect(payload['toString']).toBe(1)
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
    expect(verify({ sub: 'u', type: 'access' })['toString']).toBeUndefined()
  })

  test('is frozen to the bottom', () => {
    const payload = verify({ sub: 'u', type: 'access', deep: { list: [{ a: 1 }] } })
    expect(() => Object.assign(payload, { sub: 'admin' })).toThrow(TypeError)
    expect(() => Object.assign((payload.deep as { list: object[] }).list[0] as object, { a: 2 })).toThrow(
      TypeError,
    )
  })

  test('keeps its CSRF value readable and out of logs and copies', () => {
    const payload = verify({ sub: 'u', type: 'access', csrf: 'csrf-value-0123456789' })
    expect(payload.csrf).toBe('csrf-value-0123456789')
    expect(inspect(payload)).not.toContain('csrf-value')
    expect(JSON.stringify(payload)).not.toContain('csrf-value')
    expect({ ...payload }).not.toHaveProperty('csrf')
  })
})

describe('claims of the wrong type', () => {
  const bad: Record<string, unknown[]> = {
    sub: ['', 1, null, {}, [], ['u'], true],
    type: ['', 'Access', 'id', null, 1, ['access'], 'toString'],
    jti: ['', 1, null, {}],
    iat: ['hello', '1', null, true, [], {}],
    nbf: ['', '1', null, false, [NOW]],
    exp: ['', String(NOW), null, true, [], {}],
    iss: [1, null, ['me'], {}],
    aud: [1, null, {}, [1], ['a', null], [['a']]],
    fresh: ['true', null, {}, []],
    csrf: ['', 1, null, ['x']],
    scopes: [1, null, {}, [1], ['a', null]],
    sid: ['', 1, null],
  }
  test.each(Object.entries(bad))('%s: %j are decode errors', (name, values) => {
    const good = { sub: 'u', type: 'access', exp: NOW + 60 }
    expect(() => verify(good)).not.toThrow()
    for (const value of values) {
      expect(() => verify({ ...good, [name]: value }), JSON.stringify(value)).toThrow(TokenDecodeError)
    }
  })

  const standard = [...RESERVED_CLAIMS].filter((name) => name !== 'cnf')
  test.each(standard)('an object as %s is a decode error that names the claim', (name) => {
    expect(() => toTokenPayload({ sub: 'u', type: 'access', [name]: {} }, 'sub')).toThrow(
      new TokenDecodeError(`Token claim "${name}" is missing or has the wrong type`),
    )
  })

  test.each(['exp', 'nbf', 'iat'])('%s of 1e400 is a decode error, not for ever', (name) => {
    expect(() => verify(`{"sub":"u","type":"access","${name}":1e400}`)).toThrow(TokenDecodeError)
  })

  test('a token without sub or without type is refused', () => {
    expect(() => verify({ type: 'access' })).toThrow(TokenDecodeError)
    expect(() => verify({ sub: 'u' })).toThrow(
      new TokenDecodeError('Token claim "type" is missing or has the wrong type'),
    )
  })

  test.each([true, false])('remember: %s is of the right type', (remember) => {
    expect(verify({ sub: 'u', type: 'access', remember }).remember).toBe(remember)
  })

  test.each(['[]', '[{"sub":"u","type":"access"}]', 'null', '"text"', '1', 'true', '{', ''])(
    'the claims set %j is refused',
    (text) => {
      expect(() => internalsOf(tokens).verifyWithoutRevocation(sign(text))).toThrow(TokenDecodeError)
    },
  )

  test('invalid UTF-8 in a signed claims set is refused', () => {
    const claims = Buffer.concat([
      Buffer.from('{"sub":"u","type":"access","x":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ])
    const input = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${claims.toString('base64url')}`
    const token = `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(TokenDecodeError)
  })
})

describe('JWT_IDENTITY_CLAIM', () => {
  test('names the claim that carries the uid; the payload has it as sub too', () => {
    const custom = createManager({ JWT_IDENTITY_CLAIM: 'user_id' }).tokens
    const token = custom.createAccessToken({ uid: 'ada' })
    expect(internalsOf(custom).verifyWithoutRevocation(token)).toMatchObject({ sub: 'ada', user_id: 'ada' })
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(TokenDecodeError)
    expect(() =>
      internalsOf(custom).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'ada' })),
    ).toThrow(TokenDecodeError)
    expect(() => custom.createAccessToken({ uid: 'ada', user_id: 'eve' })).toThrow(TypeError)
  })
})

describe('helpers', () => {
  const payload = verify({ sub: 'u', type: 'access', iat: NOW - 10, exp: NOW + 60, foo: 'bar', csrf: 'c' })

  test('extraClaims has only what we do not set', () => {
    expect({ ...extraClaims(payload) }).toEqual({ foo: 'bar' })
    expect({ ...extraClaims(verify('{"sub":"u","type":"access","__proto__":1}')) }).toHaveProperty(
      '__proto__',
      1,
    )
  })

  test('dates and durations, null where the token says nothing', () => {
    expect(issuedAt(payload)).toEqual(new Date((NOW - 10) * 1000))
    expect(expiresAt(payload)).toEqual(new Date((NOW + 60) * 1000))
    expect(timeUntilExpiry(payload, clock)).toBe(60)
    expect(timeSinceIssued(payload, clock)).toBe(10)
    const bare = verify({ sub: 'u', type: 'access' })
    expect([issuedAt(bare), expiresAt(bare), timeUntilExpiry(bare), timeSinceIssued(bare)]).toEqual([
      null,
      null,
      null,
      null,
    ])
  })

  test.each<[string[] | string | undefined, string[], boolean]>([
    [['a'], ['a'], true],
    [['a', 'b'], ['b', 'a'], true],
    [['a'], ['a', 'b'], false],
    [[], ['a'], false],
    [undefined, ['a'], false],
    [['a'], [], true],
    [undefined, [], true],
    ['a  b', ['b'], true],
    [['admin:*'], ['admin'], true],
    [['admin:*'], ['admin:users'], true],
    [['admin:*'], ['admin:users:edit'], true],
    [['admin:*'], ['administrator'], false],
    [['admin:*'], ['users:read'], false],
    [['admin:users'], ['admin:*'], false],
    [['admin:*'], ['admin:*'], true],
    [['*'], ['admin'], false],
    [[':*'], ['admin'], false],
  ])('scopes %j cover %j: %s', (scopes, required, expected) => {
    const holder = verify({ sub: 'u', type: 'access', ...(scopes !== undefined && { scopes }) })
    expect(hasScopes(holder, ...required)).toBe(expected)
  })

  test('a list made of a scope text cannot be changed, or the next check of the token would find what was added', () => {
    const token = sign({ sub: 'u', type: 'access', scopes: 'read write' })
    const first = internalsOf(tokens).verifyWithoutRevocation(token).scopes as string[]
    expect(() => first.push('admin')).toThrow(TypeError)
    expect(internalsOf(tokens).verifyWithoutRevocation(token).scopes).toEqual(['read', 'write'])
  })
})
