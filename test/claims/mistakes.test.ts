import { describe, expect, test } from 'vitest'
import { type CreateTokenOptions, hasScopes, TokenConfig, TokenManager } from '../../src/index.js'
import { parseClaims } from '../../src/claims/payload.js'
import { assertSerializable } from '../../src/claims/extra-claims.js'
import { readTokenStart } from '../../src/claims/ids.js'
import { createManager, NOW, openToken, SECRET } from '../helpers/manager.js'

describe('a mistake in a call is told by name, so that it can be mended', () => {
  const { tokens } = createManager()

  test.each<[unknown, string]>([
    [undefined, 'Claims must be an object with a uid'],
    [null, 'Claims must be an object with a uid'],
    ['ada', 'Claims must be an object with a uid'],
    [{}, 'uid must be a non-empty string'],
    [{ uid: '' }, 'uid must be a non-empty string'],
    [{ uid: 7 }, 'uid must be a non-empty string'],
    [{ uid: 'u', [Symbol('s')]: 1 }, 'Claim names must be strings; the claims have a symbol as a name'],
    [{ uid: 'u', exp: 1 }, '"exp" is a reserved claim and cannot be used as an extra claim'],
  ])('CRE-19 CRE-20 claims %o', (claims, message) => {
    expect(() => tokens.createAccessToken(claims as never)).toThrow(new TypeError(message))
  })

  test.each<[CreateTokenOptions, string]>([
    [{ expiresIn: 60, expiresAt: new Date(NOW) }, 'Pass expiresIn or expiresAt, not both'],
    [{ expiresIn: false, expiresAt: new Date(NOW) }, 'Pass expiresIn or expiresAt, not both'],
    [{ expiresAt: new Date('?') }, 'expiresAt must be a valid Date'],
    [{ expiresAt: NOW as never }, 'expiresAt must be a valid Date'],
    [{ expiresIn: 0.5 }, 'expiresIn must be a whole number of seconds, at least 1'],
    [{ expiresIn: 0 }, 'expiresIn must be a whole number of seconds, at least 1'],
    [{ fresh: '500ms' }, 'fresh must be a whole number of seconds, at least 1'],
    [{ notBefore: new Date('?') }, 'notBefore must be a valid Date or a duration'],
    [{ notBefore: 0 }, 'notBefore must be a whole number of seconds, at least 1'],
    [{ notBefore: 60, expiresIn: 60 }, 'notBefore must be earlier than the expiry of the token'],
    [{ notBefore: '1d', expiresIn: 60 }, 'notBefore must be earlier than the expiry of the token'],
    [{ issuer: '' }, 'issuer must be a non-empty string'],
    [{ issuer: 7 as never }, 'issuer must be a non-empty string'],
    [{ scopes: ['a b'] }, 'scopes must be a list of non-empty strings without spaces'],
    [{ audience: [1] as never }, 'audience must be a string or a list of strings'],
  ])('options %o', (options, message) => {
    expect(() => tokens.createAccessToken({ uid: 'u' }, options)).toThrow(new TypeError(message))
  })

  test.each(['expiresIn', 'fresh', 'notBefore'])(
    '%s that is no duration says what one is, and keeps the cause',
    (option) => {
      const create = () => tokens.createAccessToken({ uid: 'u' }, { [option]: 'soon' })
      expect(create).toThrow(new RegExp(`^${option}: a duration is a number of seconds`))
      expect(create).toThrow(expect.objectContaining({ name: 'TypeError', cause: expect.any(RangeError) }))
    },
  )

  test('one second is long enough', () => {
    const { claims } = openToken(tokens.createAccessToken({ uid: 'u' }, { expiresIn: 1, fresh: 1 }))
    expect(claims).toMatchObject({ exp: NOW + 1, fresh: NOW + 1 })
  })
})

describe('what a schema complains of', () => {
  const complainOf = (...issues: object[]) =>
    new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      claims: {
        '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) },
      } as never,
    })

  test('is told with the way to each value, at creation', () => {
    const tokens = complainOf(
      { message: 'too old', path: ['user', { key: 'age' }] },
      { message: 'no name', path: ['name'] },
    )
    expect(() => tokens.createAccessToken({ uid: 'u' })).toThrow(
      new TypeError('Extra claims do not satisfy the schema (user.age: too old; name: no name)'),
    )
  })

  test('may be about the claims as a whole', async () => {
    const tokens = complainOf({ message: 'not today' })
    const foreign = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    await expect(tokens.verifyToken(foreign.createAccessToken({ uid: 'u' }))).rejects.toMatchObject({
      issues: [{ message: 'not today', path: [] }],
    })
  })
})

describe('VAL-18 a claims set of the wrong shape', () => {
  const parse = (claims: unknown) => () => parseClaims(JSON.stringify(claims), 'sub')

  test('says what is wrong with it', () => {
    expect(parse([])).toThrow('Token claims must be a JSON object')
    expect(parse({ type: 'access' })).toThrow('Token claim "sub" is missing or has the wrong type')
    expect(parse({ sub: 'u' })).toThrow('Token claim "type" is missing or has the wrong type')
    expect(parse({ sub: 'u', type: 'access', iat: '1' })).toThrow('Token claim "iat" is missing')
  })

  test.each([-1, 1.5, '1', null, true, 2 ** 53])('has %j for a generation', (gen) => {
    expect(parse({ sub: 'u', type: 'refresh', gen })).toThrow('Token claim "gen" is missing')
  })

  test.each([0, 1])('has not, where the generation is %j', (gen) => {
    expect(parse({ sub: 'u', type: 'refresh', gen })()).toMatchObject({ gen })
  })
})

test('the CSRF value is made where cookies may carry the token, and only there', () => {
  const claimsFor = (options: object) =>
    openToken(createManager(options).tokens.createAccessToken({ uid: 'u' })).claims
  const { csrf } = claimsFor({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
  expect(Buffer.from(String(csrf), 'base64url')).toHaveLength(16)
  expect(claimsFor({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })['csrf']).not.toBe(csrf)
  expect(claimsFor({})).not.toHaveProperty('csrf')
  expect(claimsFor({ JWT_TOKEN_LOCATION: 'cookies', JWT_COOKIE_CSRF_PROTECT: false })).not.toHaveProperty(
    'csrf',
  )
})

test('the identity claim may be called uid', () => {
  const { tokens } = createManager({ JWT_IDENTITY_CLAIM: 'uid' })
  const token = tokens.createAccessToken({ uid: 'ada' })
  expect(openToken(token).claims).toMatchObject({ uid: 'ada' })
  expect(tokens.verifyTokenWithoutRevocation(token).sub).toBe('ada')
  expect(() =>
    createManager({ JWT_IDENTITY_CLAIM: 'user' }).tokens.createAccessToken({ uid: 'ada', user: 'eve' }),
  ).toThrow('"user" is a reserved claim')
})

test('a scope without a star covers itself alone', () => {
  expect(hasScopes({ scopes: ['users'] }, 'use')).toBe(false)
  expect(hasScopes({ scopes: ['users'] }, 'use:read')).toBe(false)
  expect(hasScopes({ scopes: ['users'] }, 'users:read')).toBe(false)
  expect(hasScopes({ scopes: ['users:*'] }, 'users:read')).toBe(true)
})

test('a list with members of its own and an object of nobody are told apart', () => {
  expect(() => assertSerializable('tags', Object.assign(['a'], { size: 1 }))).toThrow(
    'Object of type Array with other members is not JSON serializable (claim "tags")',
  )
  expect(() => assertSerializable('who', Object.create(Object.create(Object.create(null))))).toThrow(
    'Object of type object is not JSON serializable (claim "who")',
  )
})

test('a token of 1970 with a foreign id starts at its issue date', () => {
  expect(readTokenStart({ iat: 0, jti: 'foreign' })).toBe(0)
})
