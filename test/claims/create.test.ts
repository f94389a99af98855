import { describe, expect, test } from 'vitest'
import type { CreateTokenOptions, TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { createManager, NOW, openToken } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { createRevocable } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const DAY = 86_400

describe('the claims of a new token', () => {
  test('an access token has three parts, its uid as sub and its type', () => {
    const token = createManager().tokens.createAccessToken({ uid: 'u' })
    expect(token.split('.')).toHaveLength(3)
    expect(openToken(token).claims).toMatchObject({ sub: 'u', type: 'access' })
  })

  test('a refresh token has its type and never a fresh claim', () => {
    const token = createManager().tokens.createRefreshToken({ uid: 'u' }, { fresh: true } as object)
    expect(openToken(token).claims).toMatchObject({ sub: 'u', type: 'refresh' })
    expect(openToken(token).claims).not.toHaveProperty('fresh')
  })

  test('fresh is false unless asked for', () => {
    const { tokens } = createManager()
    expect(openToken(tokens.createAccessToken({ uid: 'u' })).claims['fresh']).toBe(false)
    expect(openToken(tokens.createAccessToken({ uid: 'u' }, { fresh: true })).claims['fresh']).toBe(true)
    expect(openToken(tokens.createAccessToken({ uid: 'u' }, { fresh: '5m' })).claims['fresh']).toBe(NOW + 300)
  })

  test('extra claims keep their types, and the object given is not changed', () => {
    const { tokens } = createManager()
    const given = Object.freeze({ uid: 'u', foo: 'bar', age: 22, nested: Object.freeze({ a: [1, null] }) })
    expect(openToken(tokens.createAccessToken(given)).claims).toMatchObject({
      foo: 'bar',
      age: 22,
      nested: { a: [1, null] },
    })
    expect(given).toEqual({ uid: 'u', foo: 'bar', age: 22, nested: { a: [1, null] } })
  })

  test('dates are whole seconds, whatever the clock shows', () => {
    const { tokens, clock } = createManager()
    clock.seconds = NOW + 0.987
    expect(openToken(tokens.createAccessToken({ uid: 'u' })).claims).toMatchObject({
      iat: NOW,
      nbf: NOW,
      exp: NOW + 900,
    })
  })

  test('two tokens of one second differ in their 128-bit jti', () => {
    const { tokens } = createManager()
    const ids = Array.from({ length: 100 }, () =>
      String(openToken(tokens.createAccessToken({ uid: 'u' })).claims['jti']),
    )
    expect(new Set(ids).size).toBe(100)
    expect(Buffer.from(ids[0] as string, 'base64url')).toHaveLength(16)
  })

  test('JWT_ENCODE_NBF decides whether nbf is there', () => {
    const encode = (options: object) =>
      openToken(createManager(options).tokens.createAccessToken({ uid: 'u' })).claims
    expect(encode({})).toMatchObject({ nbf: NOW, iat: NOW })
    expect(encode({ JWT_ENCODE_NBF: false })).not.toHaveProperty('nbf')
  })

  test('issuer and audience come from the configuration, the audience of the call wins', () => {
    const { tokens } = createManager({ JWT_ENCODE_ISSUER: 'me', JWT_ENCODE_AUDIENCE: ['a', 'b'] })
    expect(openToken(tokens.createAccessToken({ uid: 'u' })).claims).toMatchObject({
      iss: 'me',
      aud: ['a', 'b'],
    })
    expect(openToken(tokens.createAccessToken({ uid: 'u' }, { audience: 'c' })).claims['aud']).toBe('c')
    const single = createManager({ JWT_ENCODE_AUDIENCE: 'a' }).tokens
    expect(openToken(single.createRefreshToken({ uid: 'u' })).claims['aud']).toBe('a')
    expect(openToken(createManager().tokens.createAccessToken({ uid: 'u' })).claims).not.toHaveProperty('aud')
  })

  test('a token is refused before its notBefore, and accepted from then on', () => {
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' }, { notBefore: '5m' })
    clock.seconds += 299
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(
      expect.objectContaining({ code: 'TOKEN_NOT_YET_VALID' }),
    )
    clock.seconds += 1
    expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('u')
  })

  test('headers of the call appear, and alg, typ and kid cannot be replaced', () => {
    const { tokens } = createManager()
    const { header } = openToken(tokens.createAccessToken({ uid: 'u' }, { headers: { region: 'eu' } }))
    expect(header).toMatchObject({ region: 'eu', alg: 'HS256', typ: 'JWT' })
    expect(
      internalsOf(tokens).verifyWithoutRevocation(
        tokens.createAccessToken({ uid: 'u' }, { headers: { region: 'eu' } }),
      ).sub,
    ).toBe('u')
    for (const name of ['alg', 'typ', 'kid', 'crit', 'b64', 'jku', 'jwk']) {
      expect(() => tokens.createAccessToken({ uid: 'u' }, { headers: { [name]: 'x' } })).toThrow(TypeError)
    }
    expect(() => tokens.createAccessToken({ uid: 'u' }, { headers: { when: new Date() as never } })).toThrow(
      TypeError,
    )
  })

  test('scopes are kept as given, and left out when not given', () => {
    const { tokens } = createManager()
    const scopes = (options: object) =>
      openToken(tokens.createAccessToken({ uid: 'u' }, options)).claims['scopes']
    expect(scopes({ scopes: ['a', 'b'] })).toEqual(['a', 'b'])
    expect(scopes({ scopes: [] })).toEqual([])
    expect(scopes({})).toBeUndefined()
  })

  test('scopes in one text are parsed, however many spaces are between them', () => {
    const { tokens } = createManager()
    expect(
      openToken(tokens.createAccessToken({ uid: 'u' }, { scopes: ' read  write ' })).claims['scopes'],
    ).toEqual(['read', 'write'])
  })
})

describe('expiry', () => {
  const expiry = (config: object, options?: object) => {
    const { tokens } = createManager(config)
    return [
      tokens.createAccessToken({ uid: 'u' }, options),
      tokens.createRefreshToken({ uid: 'u' }, options),
    ].map((token) => {
      const { exp } = openToken(token).claims
      return exp === undefined ? undefined : Number(exp) - NOW
    })
  }

  test('defaults to 15 minutes and 20 days', () => {
    expect(expiry({})).toEqual([900, 20 * DAY])
  })

  test('comes from the configuration, for each type', () => {
    expect(expiry({ JWT_ACCESS_TOKEN_EXPIRES: '1h', JWT_REFRESH_TOKEN_EXPIRES: 7200 })).toEqual([3600, 7200])
  })

  test('of the call wins: a duration, or a date as it is', () => {
    expect(expiry({}, { expiresIn: 'PT5M' })).toEqual([300, 300])
    expect(expiry({}, { expiresAt: new Date((NOW + 77) * 1000) })).toEqual([77, 77])
  })

  test('false means never, in the call and in the configuration', () => {
    expect(expiry({}, { expiresIn: false })).toEqual([undefined, undefined])
    expect(expiry({ JWT_ACCESS_TOKEN_EXPIRES: false, JWT_REFRESH_TOKEN_EXPIRES: false })).toEqual([
      undefined,
      undefined,
    ])
    const { tokens, clock } = createManager()
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: false })
    clock.seconds += 1000 * 365 * DAY
    expect(internalsOf(tokens).verifyWithoutRevocation(token)).not.toHaveProperty('exp')
  })

  test.each<object>([
    { expiresIn: '86400' },
    { expiresIn: 0 },
    { expiresIn: -5 },
    { expiresIn: 1.5 },
    { expiresIn: '100ms' },
    { expiresIn: null },
    { expiresIn: true },
    { expiresIn: Number.NaN },
    { expiresAt: new Date(Number.NaN) },
    { expiresAt: NOW },
    { fresh: '5' },
    { expiresIn: '5m', expiresAt: new Date() },
  ])('%j is a TypeError', (options) => {
    expect(() => expiry({}, options)).toThrow(TypeError)
  })
})

describe('what cannot be given', () => {
  const create = (claims: unknown, options?: unknown) =>
    createManager().tokens.createAccessToken(claims as { uid: string }, options as object)

  test.each([
    [{ uid: '' }],
    [{ uid: 7 }],
    [{ uid: null }],
    [{ uid: undefined }],
    [{}],
    [{ uid: ['u'] }],
    [undefined],
    [null],
    ['u'],
    [{ uid: 'u', [Symbol('s')]: 1 }],
  ])('%j is a TypeError', (claims) => {
    expect(() => create(claims)).toThrow(TypeError)
  })

  test('the claims are an object, which the error says', () => {
    for (const claims of [undefined, null, 'u', 7, Object.assign(() => 1, { uid: 'u' })]) {
      expect(() => create(claims)).toThrow(naming('TypeError', 'Claims', 'object'))
    }
  })

  test.each(['sub', 'type', 'jti', 'iat', 'nbf', 'exp', 'iss', 'aud', 'fresh', 'csrf', 'scopes', 'sid'])(
    'the reserved claim %s is refused by name',
    (name) => {
      expect(() => create({ uid: 'u', [name]: 'x' })).toThrow(
        new TypeError(`"${name}" is a reserved claim and cannot be used as an extra claim`),
      )
    },
  )

  test.each([
    [{ scopes: [''] }],
    [{ scopes: ['a b'] }],
    [{ scopes: [1] }],
    [{ scopes: [['a']] }],
    [{ scopes: {} }],
    [{ audience: 1 }],
    [{ audience: [1] }],
  ])('the option %j is a TypeError', (options) => {
    expect(() => create({ uid: 'u' }, options)).toThrow(TypeError)
  })

  test.each([[null], ['text'], [['list']], [1]])('headers: %j is a TypeError', (headers) => {
    expect(() => create({ uid: 'u' }, { headers })).toThrow(new TypeError('headers must be an object'))
  })

  test('a symbol that is not enumerable is not a claim', () => {
    const claims = Object.defineProperty({ uid: 'u', a: 1 }, Symbol('internal'), { value: 1 })
    expect(openToken(create(claims)).claims).toMatchObject({ sub: 'u', a: 1 })
  })

  test('a getter is read once: what was checked is what is signed', () => {
    let reads = 0
    const claims = {
      uid: 'u',
      get level() {
        return reads++ === 0 ? 1 : new Date(0)
      },
    }
    expect(openToken(create(claims)).claims['level']).toBe(1)
  })

  test('a token that could not be read is not made', () => {
    expect(() => create({ uid: 'u', text: 'x'.repeat(8192) })).toThrow(TypeError)
    expect(() => create({ uid: 'u', list: Array.from({ length: 1100 }, () => 1) })).toThrow(TypeError)
    expect(() => create({ uid: 'u' }, { headers: { text: 'x'.repeat(2000) } })).toThrow(TypeError)
  })
})

describe('pairs', () => {
  test('a pair has one subject and session, two types and two strings', async () => {
    const { tokens } = createManager()
    const pair = await tokens.sessions.open({ uid: 'u' })
    const access = openToken(pair.accessToken).claims
    const refresh = openToken(pair.refreshToken).claims
    expect(pair.tokenType).toBe('bearer')
    expect([access['type'], refresh['type']]).toEqual(['access', 'refresh'])
    expect([access['sub'], refresh['sub']]).toEqual(['u', 'u'])
    expect(access['sid']).toBe(refresh['sid'])
    expect(access['jti']).not.toBe(refresh['jti'])
  })

  test('expiry and scopes are separate, claims and audience shared', async () => {
    const { tokens } = createManager()
    const pair = await tokens.sessions.open(
      { uid: 'u', age: 3 },
      {
        audience: 'api',
        access: { expiresIn: 60, scopes: ['a'] },
        refresh: { expiresIn: 120, scopes: ['b'] },
      },
    )
    expect(openToken(pair.accessToken).claims).toMatchObject({
      age: 3,
      aud: 'api',
      exp: NOW + 60,
      scopes: ['a'],
    })
    expect(openToken(pair.refreshToken).claims).toMatchObject({
      age: 3,
      aud: 'api',
      exp: NOW + 120,
      scopes: ['b'],
    })
  })

  test.each([true, false])('remember: %s is in both tokens, also after a refresh', async (remember) => {
    const { tokens } = createRevocable({ JWT_REFRESH_GRACE: 0 })
    const pair = await tokens.sessions.open({ uid: 'u' }, { remember })
    const next = await tokens.sessions.refresh(pair.refreshToken)
    for (const token of [pair.accessToken, pair.refreshToken, next.accessToken, next.refreshToken]) {
      expect(openToken(token ?? '').claims['remember']).toBe(remember)
    }
  })

  test('an expiry of one token replaces the shared one, whichever way they are written', async () => {
    const { tokens } = createManager()
    const expiresAt = new Date((NOW + 500) * 1000)
    const pair = await tokens.sessions.open({ uid: 'u' }, { expiresAt, access: { expiresIn: 60 } })
    expect(openToken(pair.accessToken).claims['exp']).toBe(NOW + 60)
    expect(openToken(pair.refreshToken).claims['exp']).toBe(NOW + 500)
  })

  test('a session id starts with the millisecond the session started in', async () => {
    const { tokens, clock } = createManager()
    clock.seconds = NOW + 0.123
    const { sid } = openToken((await tokens.sessions.open({ uid: 'u' })).accessToken).claims
    const bytes = Buffer.from(String(sid), 'base64url')
    expect(bytes).toHaveLength(16)
    expect(bytes.readUIntBE(0, 6)).toBe(NOW * 1000 + 123)
  })
})

describe('issuer and notBefore of one token', () => {
  const claimsOf = (options: CreateTokenOptions, fields: TokenConfigOptions = {}) =>
    openToken(createManager(fields).tokens.createAccessToken({ uid: 'u' }, options)).claims

  test('win over the configuration', () => {
    expect(claimsOf({ issuer: 'own' }, { JWT_ENCODE_ISSUER: 'configured' })).toMatchObject({ iss: 'own' })
    expect(claimsOf({ notBefore: '5m' })).toMatchObject({ nbf: NOW + 300, exp: NOW + 900 })
    expect(claimsOf({ notBefore: 60 }, { JWT_ENCODE_NBF: false })).toMatchObject({ nbf: NOW + 60 })
    expect(claimsOf({ notBefore: new Date((NOW - 60) * 1000) })).toMatchObject({ nbf: NOW - 60 })
    expect(claimsOf({}, { JWT_ENCODE_NBF: false })).not.toHaveProperty('nbf')
  })

  test.each<[string, CreateTokenOptions]>([
    ['an empty issuer', { issuer: '' }],
    ['an issuer that is no text', { issuer: 7 as never }],
    ['an invalid moment', { notBefore: new Date(Number.NaN) }],
    ['an invalid duration', { notBefore: 'soon' }],
    ['no duration at all', { notBefore: 0 }],
    ['a start at the expiry', { notBefore: '15m' }],
    ['a start after the expiry', { notBefore: '1h', expiresIn: '30m' }],
  ])('%s is refused', (_, options) => {
    expect(() => claimsOf(options)).toThrow(TypeError)
  })

  test('a token that never expires may begin at any time', () => {
    expect(claimsOf({ notBefore: '52w', expiresIn: false })).not.toHaveProperty('exp')
  })
})

test('a refresh near the end of a session is not refused for a late start of its access token', async () => {
  const { tokens, clock } = createRevocable({ JWT_REFRESH_TOKEN_EXPIRES: '1h', JWT_REFRESH_GRACE: 0 })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  clock.seconds += 3300
  const next = await tokens.sessions.refresh(refreshToken, { access: { notBefore: '10m' } })
  expect(openToken(next.accessToken).claims).toMatchObject({ nbf: NOW + 3900, exp: NOW + 3600 })
})

test('a refreshed pair keeps its issuer', async () => {
  const { tokens } = createRevocable({ JWT_ENCODE_ISSUER: 'configured' })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' }, { issuer: 'own' })
  expect(openToken((await tokens.sessions.refresh(refreshToken)).accessToken).claims['iss']).toBe('own')
})
