import { describe, expect, test } from 'vitest'
import {
  setAccessCookies,
  setCookies,
  type TokenConfigOptions,
  unsetAccessCookies,
  unsetCookies,
  unsetRefreshCookies,
} from '../../packages/tokenlib/src/index.js'
import { createCookieJar, parseSetCookie, parseSetCookies } from '../helpers/cookie-jar.js'
import { createManager } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'

const COOKIES = { JWT_TOKEN_LOCATION: 'cookies' } as const
const namesOf = (headers: readonly string[]): string[] => headers.map((header) => parseSetCookie(header).name)

describe('which cookies are deleted', () => {
  const { tokens } = createManager(COOKIES)
  const [ACCESS, REFRESH, CSRF] = ['access_token_cookie', 'refresh_token_cookie', 'csrf_access_token']

  test('that of one type, or all three', () => {
    expect(namesOf(unsetAccessCookies(tokens))).toEqual([ACCESS])
    expect(namesOf(unsetRefreshCookies(tokens))).toEqual([REFRESH])
    expect(namesOf(unsetCookies(tokens))).toEqual([ACCESS, CSRF, REFRESH])
  })

  test('the CSRF cookie goes with the last token that needs it', () => {
    const access = createManager({ ...COOKIES, JWT_REFRESH_TOKEN_LOCATION: 'json' }).tokens
    expect(namesOf(unsetAccessCookies(access))).toEqual([ACCESS, CSRF])
    const refresh = createManager({ JWT_REFRESH_TOKEN_LOCATION: 'cookies' }).tokens
    expect(namesOf(unsetRefreshCookies(refresh))).toEqual([REFRESH, CSRF])
  })

  test('under their configured names', () => {
    const { tokens } = createManager({
      ...COOKIES,
      JWT_ACCESS_COOKIE_NAME: 'a',
      JWT_ACCESS_CSRF_COOKIE_NAME: 'c',
      JWT_REFRESH_COOKIE_NAME: 'r',
    })
    expect(namesOf(unsetCookies(tokens))).toEqual(['a', 'c', 'r'])
  })
})

describe('how they are deleted', () => {
  const VARIANTS: readonly [name: string, options: TokenConfigOptions][] = [
    ['the defaults', {}],
    ['a domain', { JWT_COOKIE_DOMAIN: 'example.com' }],
    [
      'paths',
      { JWT_ACCESS_COOKIE_PATH: '/a', JWT_REFRESH_COOKIE_PATH: '/r', JWT_ACCESS_CSRF_COOKIE_PATH: '/c' },
    ],
    ['SameSite=None', { JWT_COOKIE_SAMESITE: 'none' }],
    ['no Secure', { JWT_COOKIE_SECURE: false }],
    ['no HttpOnly', { JWT_COOKIE_HTTP_ONLY: false }],
    [
      'a __Host- name',
      { JWT_ACCESS_COOKIE_NAME: '__Host-access', JWT_REFRESH_COOKIE_NAME: '__Host-refresh' },
    ],
    ['a lifetime', { JWT_SESSION_COOKIE: false, JWT_COOKIE_MAX_AGE: '30d' }],
  ]

  test.each(VARIANTS)('with %s: every attribute of the cookie is repeated', async (_, options) => {
    const { tokens } = createManager({ ...COOKIES, ...options })
    const set = parseSetCookies(setCookies(tokens, await tokens.sessions.open({ uid: 'ada' })))
    const deleted = parseSetCookies(unsetCookies(tokens))
    expect(Object.keys(deleted).toSorted()).toEqual(Object.keys(set).toSorted())
    for (const [name, cookie] of Object.entries(deleted)) {
      const { 'max-age': maxAge, expires, ...attributes } = cookie.attributes
      const { 'max-age': _lifetime, ...original } = set[name]?.attributes ?? {}
      expect(attributes).toEqual(original)
      expect(cookie.value).toBe('')
      expect(maxAge).toBe('0')
      expect(Date.parse(String(expires))).toBe(0)
    }
  })
})

describe('round trip through a browser', () => {
  const OPTIONS: readonly [name: string, options: TokenConfigOptions][] = [
    ['the defaults', {}],
    ['a domain and a lifetime', { JWT_COOKIE_DOMAIN: 'example.com', JWT_SESSION_COOKIE: false }],
    ['__Host- names', { JWT_ACCESS_COOKIE_NAME: '__Host-a', JWT_REFRESH_COOKIE_NAME: '__Host-r' }],
    ['a path for refresh', { JWT_REFRESH_COOKIE_PATH: '/refresh' }],
  ]

  test.each(OPTIONS)('with %s: set, sent back, passes; unset, missing', async (_, options) => {
    const { tokens } = createManager({ ...COOKIES, ...options })
    const jar = createCookieJar()
    jar.store(setCookies(tokens, await tokens.sessions.open({ uid: 'ada' })))

    const get = () => createRequest({ path: '/refresh', headers: jar.headers('/refresh') })
    const post = () =>
      createRequest({
        method: 'POST',
        path: '/refresh',
        headers: { ...jar.headers('/refresh'), 'x-csrf-token': jar.read('csrf_access_token') ?? '' },
      })
    await expect(tokens.accessTokenRequired(get())).resolves.toMatchObject({ sub: 'ada', type: 'access' })
    await expect(tokens.accessTokenRequired(post())).resolves.toMatchObject({ sub: 'ada' })
    await expect(tokens.refreshTokenRequired(post())).resolves.toMatchObject({ type: 'refresh' })

    jar.store(unsetAccessCookies(tokens))
    await expect(tokens.accessTokenRequired(get())).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
    await expect(tokens.refreshTokenRequired(post())).resolves.toMatchObject({ type: 'refresh' })

    jar.store(unsetCookies(tokens))
    await expect(tokens.refreshTokenRequired(get())).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
    expect(jar.headers('/refresh')).toEqual({})
  })

  test('a script of the page can read the CSRF value and not the token', async () => {
    const { tokens } = createManager(COOKIES)
    const jar = createCookieJar()
    jar.store(setAccessCookies(tokens, tokens.createAccessToken({ uid: 'ada' })))
    expect(jar.read('csrf_access_token')).toMatch(/^[\w-]{22}$/)
    expect(jar.read('access_token_cookie')).toBeUndefined()
  })
})
