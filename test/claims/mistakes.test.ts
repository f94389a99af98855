import { describe, expect, test } from 'vitest'
import {
  type CreateTokenOptions,
  hasScopes,
  TokenConfig,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { parseClaims, toTokenPayload } from '../../packages/tokenlib/src/tokens/payload.js'
import { assertSerializable } from '../../packages/tokenlib/src/tokens/extra-claims.js'
import { readTokenStart } from '../../packages/tokenlib/src/tokens/ids.js'
import { createManager, NOW, openToken, SECRET } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

describe('a mistake in a call is told by name, so that it can be fixed', () => {
  const { tokens } = createManager()

  test.each<[unknown, string]>([
    [undefined, 'uid'],
    [null, 'uid'],
    ['ada', 'uid'],
    [{}, 'uid'],
    [{ uid: '' }, 'uid'],
    [{ uid: 7 }, 'uid'],
    [{ uid: 'u', [Symbol('s')]: 1 }, 'claim'],
    [{ uid: 'u', exp: 1 }, '"exp"'],
  ])('claims %o', (claims, name) => {
    expect(() => tokens.createAccessToken(claims as never)).toThrow(naming('TypeError', name))
  })

  test.each<[CreateTokenOptions, string]>([
    [{ expiresIn: 60, expiresAt: new Date(NOW) }, 'expiresAt'],
    [{ expiresIn: false, expiresAt: new Date(NOW) }, 'expiresAt'],
    [{ expiresAt: new Date('?') }, 'expiresAt'],
    [{ expiresAt: NOW as never }, 'expiresAt'],
    [{ expiresIn: 0.5 }, 'expiresIn'],
    [{ expiresIn: 0 }, 'expiresIn'],
    [{ fresh: '500ms' }, 'fresh'],
    [{ notBefore: new Date('?') }, 'notBefore'],
    [{ notBefore: 0 }, 'notBefore'],
    [{ notBefore: 60, expiresIn: 60 }, 'notBefore'],
    [{ notBefore: '1d', expiresIn: 60 }, 'notBefore'],
    [{ issuer: '' }, 'issuer'],
    [{ issuer: 7 as never }, 'issuer'],
    [{ scopes: ['a b'] }, 'scopes'],
    [{ audience: [1] as never }, 'audience'],
  ])('options %o', (options, name) => {
    expect(() => tokens.createAccessToken({ uid: 'u' }, options)).toThrow(naming('TypeError', name))
  })

  test.each(['expiresIn', 'fresh', 'notBefore'])(
    '%s that is no duration says what one is, and keeps the cause',
    (option) => {
      const create = () => tokens.createAccessToken({ uid: 'u' }, { [option]: 'soon' })
      expect(create).toThrow(option)
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
      naming('TypeError', 'user.age: too old', 'name: no name'),
    )
  })

  test('may be about the claims as a whole', async () => {
    const tokens = complainOf({ message: 'not today' })
    const foreign = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    await expect(tokens.verify(foreign.createAccessToken({ uid: 'u' }))).rejects.toMatchObject({
      issues: [{ message: 'not today', path: [] }],
    })
  })
})

describe('a claims set of the wrong shape', () => {
  const parse = (claims: unknown) => () => toTokenPayload(parseClaims(JSON.stringify(claims)), 'sub')

  const invalid = expect.objectContaining({ code: 'TOKEN_INVALID' }) as Error

  test.each([[[]], [{ type: 'access' }], [{ sub: 'u' }], [{ sub: 'u', type: 'access', iat: '1' }]])(
    'is refused: %j',
    (claims) => {
      expect(parse(claims)).toThrow(invalid)
    },
  )

  test.each([-1, 1.5, '1', null, true, 2 ** 53])('has %j for a generation', (gen) => {
    expect(parse({ sub: 'u', type: 'refresh', gen })).toThrow(invalid)
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
  expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('ada')
  expect(() =>
    createManager({ JWT_IDENTITY_CLAIM: 'user' }).tokens.createAccessToken({ uid: 'ada', user: 'eve' }),
  ).toThrow('"user"')
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
