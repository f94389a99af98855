import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  setAccessCookies,
  setCookies,
  setRefreshCookies,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { coversPath } from '../../packages/tokenlib/src/requests/set-cookies.js'
import { parseSetCookie, parseSetCookies } from '../helpers/cookie-jar.js'
import { createRevocable } from '../helpers/revocable.js'
import { createManager, NOW, SECRET } from '../helpers/manager.js'
import { csrfOf } from '../helpers/requests.js'
import { forge } from '../security/harness/forge.js'

/** The cookies a manager with these fields sets for an access token, and the token. */
function setAccess(options: TokenConfigOptions = {}) {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', ...options })
  const token = tokens.createAccessToken({ uid: 'ada' })
  return { tokens, token, cookies: setAccessCookies(tokens, token).map(parseSetCookie) }
}

async function setRefresh(options: TokenConfigOptions = {}) {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', ...options })
  const { refreshToken: token } = await tokens.sessions.open({ uid: 'ada' })
  return { tokens, token, cookies: setRefreshCookies(tokens, token).map(parseSetCookie) }
}

describe('by default', () => {
  test('an access token makes two cookies, for the token and its CSRF value', () => {
    const { token, cookies } = setAccess()
    const shared = { path: '/', secure: true, samesite: 'Lax' }
    expect(cookies).toEqual([
      { name: 'access_token_cookie', value: token, attributes: { ...shared, httponly: true } },
      { name: 'csrf_access_token', value: csrfOf(token), attributes: shared },
    ])
  })

  test('so does a refresh token: the CSRF cookie is the same', async () => {
    const { token, cookies } = await setRefresh()
    const shared = { path: '/', secure: true, samesite: 'Lax' }
    expect(cookies).toEqual([
      { name: 'refresh_token_cookie', value: token, attributes: { ...shared, httponly: true } },
      { name: 'csrf_access_token', value: csrfOf(token), attributes: shared },
    ])
  })
})

describe('each attribute is on both cookies', () => {
  const attributesOf = async (options: TokenConfigOptions) =>
    [...setAccess(options).cookies, ...(await setRefresh(options)).cookies].map(
      ({ attributes }) => attributes,
    )

  test('JWT_COOKIE_DOMAIN', async () => {
    for (const attributes of await attributesOf({ JWT_COOKIE_DOMAIN: 'example.com' }))
      expect(attributes['domain']).toBe('example.com')
  })

  test.each([
    ['lax', 'Lax'],
    ['strict', 'Strict'],
    ['none', 'None'],
  ] as const)('JWT_COOKIE_SAMESITE %s', async (option, value) => {
    for (const attributes of await attributesOf({ JWT_COOKIE_SAMESITE: option }))
      expect(attributes['samesite']).toBe(value)
  })

  test('JWT_COOKIE_SECURE off', async () => {
    for (const attributes of await attributesOf({ JWT_COOKIE_SECURE: false }))
      expect(attributes).not.toHaveProperty('secure')
  })

  test('JWT_COOKIE_HTTP_ONLY off', async () => {
    for (const attributes of await attributesOf({ JWT_COOKIE_HTTP_ONLY: false }))
      expect(attributes).not.toHaveProperty('httponly')
  })

  test('all at once', async () => {
    const options = { JWT_COOKIE_DOMAIN: '.example.com', JWT_COOKIE_SAMESITE: 'strict' } as const
    for (const attributes of await attributesOf({ ...options, JWT_ACCESS_COOKIE_PATH: '/a' }))
      expect(attributes).toMatchObject({ domain: '.example.com', samesite: 'Strict', secure: true })
  })
})

describe('names and paths', () => {
  const FIELDS = {
    JWT_ACCESS_COOKIE_NAME: 'a',
    JWT_ACCESS_COOKIE_PATH: '/a',
    JWT_ACCESS_CSRF_COOKIE_NAME: 'c',
    JWT_ACCESS_CSRF_COOKIE_PATH: '/c',
    JWT_REFRESH_COOKIE_NAME: 'r',
    JWT_REFRESH_COOKIE_PATH: '/r',
  }

  test('every JWT_…_COOKIE_NAME and JWT_…_COOKIE_PATH names its own cookie', async () => {
    const cookies = [...setAccess(FIELDS).cookies, ...(await setRefresh(FIELDS)).cookies]
    expect(cookies.map(({ name, attributes }) => [name, attributes['path']])).toEqual([
      ['a', '/a'],
      ['c', '/c'],
      ['r', '/r'],
      ['c', '/c'],
    ])
  })

  test.each(['__Host-token', '__Secure-token'])('a cookie may be called %s', (name) => {
    const [cookie] = setAccess({ JWT_ACCESS_COOKIE_NAME: name }).cookies
    expect(cookie).toMatchObject({ name, attributes: { secure: true, path: '/' } })
    expect(cookie?.attributes).not.toHaveProperty('domain')
  })
})

describe('the CSRF cookie', () => {
  test.each(['JWT_CSRF_IN_COOKIES', 'JWT_COOKIE_CSRF_PROTECT'])('%s off: it is left out', async (field) => {
    expect(setAccess({ [field]: false }).cookies.map(({ name }) => name)).toEqual(['access_token_cookie'])
    const { cookies } = await setRefresh({ [field]: false })
    expect(cookies.map(({ name }) => name)).toEqual(['refresh_token_cookie'])
  })

  test('JWT_CSRF_IN_COOKIES off: the token still carries the value', () => {
    expect(csrfOf(setAccess({ JWT_CSRF_IN_COOKIES: false }).token)).toMatch(/^[\w-]{22}$/)
  })
})

test('a token without a CSRF value sets no CSRF cookie', () => {
  const { token } = setAccess({ JWT_COOKIE_CSRF_PROTECT: false })
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
  expect(setAccessCookies(tokens, token).map((cookie) => parseSetCookie(cookie).name)).toEqual([
    'access_token_cookie',
  ])
})

test.each([
  ['/', '/', true],
  ['/', '/auth', true],
  ['/auth', '/auth', true],
  ['/auth', '/auth/refresh', true],
  ['/auth/', '/auth/refresh', true],
  ['/auth', '/authors', false],
  ['/auth/', '/auth', false],
  ['/auth/refresh', '/auth', false],
])('a cookie of %s, a request for %s: %j (RFC 6265 §5.1.4)', (cookiePath, path, isSent) => {
  expect(coversPath(cookiePath, path)).toBe(isSent)
})

describe('how long a browser keeps them', () => {
  const agesOf = (options: TokenConfigOptions) =>
    setAccess(options).cookies.map(({ attributes }) => attributes['max-age'])

  test('JWT_SESSION_COOKIE on, the default: until it is closed', () => {
    for (const { attributes } of setAccess().cookies) {
      expect(attributes).not.toHaveProperty('max-age')
      expect(attributes).not.toHaveProperty('expires')
    }
  })

  test('JWT_SESSION_COOKIE off: as long as the token lives', async () => {
    expect(agesOf({ JWT_SESSION_COOKIE: false })).toEqual(['900', '900'])
    expect(agesOf({ JWT_SESSION_COOKIE: false, JWT_ACCESS_TOKEN_EXPIRES: '1h' })).toEqual(['3600', '3600'])
    const { cookies } = await setRefresh({ JWT_SESSION_COOKIE: false })
    expect(cookies.map(({ attributes }) => attributes['max-age'])).toEqual(['1728000', '1728000'])
  })

  test('JWT_SESSION_COOKIE off: a token that never expires has the 400 days a browser allows', () => {
    const never = { JWT_SESSION_COOKIE: false, JWT_ACCESS_TOKEN_EXPIRES: false } as const
    expect(agesOf(never)).toEqual(['34560000', '34560000'])
    expect(agesOf({ ...never, JWT_COOKIE_MAX_AGE: '30d' })).toEqual(['2592000', '2592000'])
  })

  test('JWT_SESSION_COOKIE off: so has one that does not say when it was made', () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', JWT_SESSION_COOKIE: false })
    const token = forge({ key: SECRET, claims: { type: 'access', exp: NOW + 60 } })
    const [cookie = ''] = setAccessCookies(tokens, token)
    expect(parseSetCookie(cookie).attributes['max-age']).toBe('34560000')
  })

  test.each([
    [60, '60'],
    ['2h', '7200'],
    ['PT1M', '60'],
    ['1500ms', '1'],
  ])('JWT_COOKIE_MAX_AGE %s', (age, seconds) => {
    const options = { JWT_SESSION_COOKIE: false, JWT_COOKIE_MAX_AGE: age }
    expect(agesOf(options)).toEqual([seconds, seconds])
  })
})

describe('the cookies of a pair', () => {
  const openPair = async (options: TokenConfigOptions = {}) => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', ...options })
    const pair = await tokens.sessions.open({ uid: 'ada' })
    const agesOf = (cookies: readonly string[]) =>
      cookies.map(parseSetCookie).map(({ name, attributes }) => [name, attributes['max-age']])
    return { tokens, pair, agesOf }
  }

  test('are three: the tokens share one CSRF cookie, which lasts as long as the session', async () => {
    const { tokens, pair, agesOf } = await openPair({ JWT_SESSION_COOKIE: false })
    expect(agesOf(setCookies(tokens, pair))).toEqual([
      ['access_token_cookie', '900'],
      ['csrf_access_token', '1728000'],
      ['refresh_token_cookie', '1728000'],
    ])
  })

  test('a new access token alone does not shorten the life of the CSRF cookie', async () => {
    const { tokens, pair, agesOf } = await openPair({ JWT_SESSION_COOKIE: false })
    // A session may be made for longer than JWT_REFRESH_TOKEN_EXPIRES says: 400 days are what a browser allows.
    const expected = [
      ['access_token_cookie', '900'],
      ['csrf_access_token', '34560000'],
    ]
    expect(agesOf(setCookies(tokens, { ...pair, refreshToken: null }))).toEqual(expected)
    expect(agesOf(setAccessCookies(tokens, pair.accessToken))).toEqual(expected)
  })

  test('a refresh that brings only an access token leaves a longer session its CSRF cookie', async () => {
    const { tokens } = createRevocable({ JWT_TOKEN_LOCATION: 'cookies', JWT_SESSION_COOKIE: false })
    const pair = await tokens.sessions.open({ uid: 'ada' }, { refresh: { expiresIn: '90d' } })
    const ageOf = (cookies: readonly string[], name: string) =>
      Number(cookies.map(parseSetCookie).find((cookie) => cookie.name === name)?.attributes['max-age'])
    const days90 = 90 * 86_400
    const opened = setCookies(tokens, pair)
    expect(ageOf(opened, 'refresh_token_cookie')).toBe(days90)
    expect(ageOf(opened, 'csrf_access_token')).toBe(days90)
    const kept = await tokens.sessions.refresh(pair.refreshToken)
    const next = await tokens.sessions.refresh(kept.refreshToken ?? pair.refreshToken)
    expect(next.refreshToken).toBeNull()
    expect(ageOf(setCookies(tokens, next), 'csrf_access_token')).toBeGreaterThanOrEqual(days90)
  })

  test('where only access tokens are in cookies, the CSRF cookie lasts as long as they', async () => {
    const { tokens, pair, agesOf } = await openPair({
      JWT_SESSION_COOKIE: false,
      JWT_REFRESH_TOKEN_LOCATION: 'json',
    })
    expect(agesOf(setCookies(tokens, pair))).toEqual([
      ['access_token_cookie', '900'],
      ['csrf_access_token', '900'],
    ])
  })

  test('JWT_COOKIE_MAX_AGE is the age of all three', async () => {
    const { tokens, pair, agesOf } = await openPair({ JWT_SESSION_COOKIE: false, JWT_COOKIE_MAX_AGE: '1h' })
    for (const refreshToken of [pair.refreshToken, null]) {
      const ages = agesOf(setCookies(tokens, { ...pair, refreshToken })).map(([, age]) => age)
      expect(new Set(ages)).toEqual(new Set(['3600']))
    }
  })

  test.each([true, false])(
    'remember decides about all three, whatever the configuration: %s',
    async (remember) => {
      const { tokens, agesOf } = await openPair({ JWT_SESSION_COOKIE: remember })
      const pair = await tokens.sessions.open({ uid: 'ada' }, { remember })
      const alone = agesOf(setCookies(tokens, { ...pair, refreshToken: null }))
      expect(alone.map(([, age]) => age)).toEqual(remember ? ['900', '34560000'] : [undefined, undefined])
    },
  )

  test('where only refresh tokens are in cookies, no access cookie is set', async () => {
    const { tokens, pair, agesOf } = await openPair({
      JWT_TOKEN_LOCATION: 'headers',
      JWT_REFRESH_TOKEN_LOCATION: 'cookies',
    })
    expect(agesOf(setCookies(tokens, pair)).map(([name]) => name)).toEqual([
      'refresh_token_cookie',
      'csrf_access_token',
    ])
  })

  test('a refresh token of its own would need a second CSRF cookie, and is refused', () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
    const token = tokens.createRefreshToken({ uid: 'ada' })
    expect(() => setRefreshCookies(tokens, token)).toThrow('sessions.open()')
    const { tokens: alone } = createManager({ JWT_REFRESH_TOKEN_LOCATION: 'cookies' })
    expect(setRefreshCookies(alone, alone.createRefreshToken({ uid: 'ada' }))).toHaveLength(2)
  })
})

describe('what is refused', () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
  const [access, refresh] = [
    tokens.createAccessToken({ uid: 'ada' }),
    tokens.createRefreshToken({ uid: 'ada' }),
  ]

  test('a token of the other type', () => {
    expect(() => setAccessCookies(tokens, refresh)).toThrow(TypeError)
    expect(() => setRefreshCookies(tokens, access)).toThrow(TypeError)
  })

  test.each([
    '',
    'x',
    'a.b.c',
    'x.bnVsbA.x', // null
    'x.eyJ0eXBlIjoib3RoZXIifQ.x', // { "type": "other" }
  ])('a text that is no token of ours: %j', (text) => {
    expect(() => setAccessCookies(tokens, text)).toThrow(TypeError)
    expect(() => setRefreshCookies(tokens, text)).toThrow(TypeError)
  })

  test('any token while cookies are not a location', () => {
    const { tokens } = createManager()
    expect(() => setAccessCookies(tokens, access)).toThrow(ConfigurationError)
    expect(() => setRefreshCookies(tokens, refresh)).toThrow(ConfigurationError)
  })

  test('a token of a type that is never read from cookies', () => {
    const headersThenCookies = createManager({
      JWT_TOKEN_LOCATION: 'headers',
      JWT_REFRESH_TOKEN_LOCATION: 'cookies',
    }).tokens
    expect(setRefreshCookies(headersThenCookies, refresh)).toHaveLength(2)
    expect(() => setAccessCookies(headersThenCookies, access)).toThrow(ConfigurationError)
    const cookiesThenHeaders = createManager({
      JWT_TOKEN_LOCATION: 'cookies',
      JWT_REFRESH_TOKEN_LOCATION: 'headers',
    }).tokens
    expect(setAccessCookies(cookiesThenHeaders, access)).toHaveLength(2)
    expect(() => setRefreshCookies(cookiesThenHeaders, refresh)).toThrow(ConfigurationError)
  })

  // RFC 6265 §6.1: at least 4096 bytes per cookie, name, value and attributes together; more may be dropped.
  test('a cookie of 4096 bytes is set, and one of 4097 is refused', () => {
    const sized = (filler: number, path: string): (() => string[]) => {
      const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', JWT_ACCESS_COOKIE_PATH: path })
      const token = tokens.createAccessToken({ uid: 'ada', filler: 'x'.repeat(filler) })
      return () => setAccessCookies(tokens, token)
    }
    const size = Buffer.byteLength(sized(2500, '/')()[0] as string)
    const missing = 4096 - size
    expect(missing).toBeGreaterThan(0)
    expect(Buffer.byteLength(sized(2500, `/${'p'.repeat(missing)}`)()[0] as string)).toBe(4096)
    expect(sized(2500, `/${'p'.repeat(missing + 1)}`)).toThrow(TypeError)
    expect(sized(3500, '/')).toThrow(TypeError)
  })
})

test('the functions need only the configuration of a manager', () => {
  const { tokens, token } = setAccess()
  expect(tokens).toBeInstanceOf(TokenManager)
  const cookies = parseSetCookies(setAccessCookies({ config: tokens.config }, token))
  expect(Object.keys(cookies)).toEqual(['access_token_cookie', 'csrf_access_token'])
})
