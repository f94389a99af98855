import { describe, expect, test } from 'vitest'
import { MissingTokenError, type TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { readCookie } from '../../packages/tokenlib/src/http/credentials.js'
import { createManager } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'

const COOKIES = { JWT_TOKEN_LOCATION: 'cookies' } as const satisfies TokenConfigOptions
const { tokens } = createManager(COOKIES)
const ACCESS = tokens.createAccessToken({ uid: 'ada' })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })

const withCookie = (cookie: string): Request => createRequest({ headers: { cookie } })

describe('the cookie of each type', () => {
  test('a GET with the access cookie passes without a CSRF value', async () => {
    const request = createRequest({ cookies: { access_token_cookie: ACCESS } })
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
    const found = await tokens.getTokenFromRequest(request)
    expect({ ...found }).toEqual({ token: ACCESS, type: 'access', location: 'cookies', csrf: null })
  })

  test.each(['HEAD', 'OPTIONS'])('so does a %s', async (method) => {
    const request = createRequest({ method, cookies: { access_token_cookie: ACCESS } })
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
  })

  test('without the cookie the error names it', async () => {
    const request = createRequest({ cookies: { other: 'x' } })
    const refused = tokens.accessTokenRequired(request)
    await expect(refused).rejects.toBeInstanceOf(MissingTokenError)
    await expect(refused).rejects.toThrow('access_token_cookie')
    await expect(tokens.refreshTokenRequired(request)).rejects.toThrow('refresh_token_cookie')
  })

  test('a refresh route reads the refresh cookie only', async () => {
    const both = { access_token_cookie: ACCESS, refresh_token_cookie: REFRESH }
    await expect(tokens.refreshTokenRequired(createRequest({ cookies: both }))).resolves.toMatchObject({
      type: 'refresh',
    })
    await expect(tokens.accessTokenRequired(createRequest({ cookies: both }))).resolves.toMatchObject({
      type: 'access',
    })
    const onlyAccess = createRequest({ cookies: { access_token_cookie: ACCESS } })
    await expect(tokens.refreshTokenRequired(onlyAccess)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
    const onlyRefresh = createRequest({ cookies: { refresh_token_cookie: REFRESH } })
    await expect(tokens.accessTokenRequired(onlyRefresh)).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('a token in the cookie of the other type is refused', async () => {
    const swapped = createRequest({ cookies: { access_token_cookie: REFRESH, refresh_token_cookie: ACCESS } })
    await expect(tokens.accessTokenRequired(swapped)).rejects.toMatchObject({ code: 'ACCESS_TOKEN_REQUIRED' })
    await expect(tokens.refreshTokenRequired(swapped)).rejects.toMatchObject({
      code: 'REFRESH_TOKEN_REQUIRED',
    })
  })

  test('JWT_ACCESS_COOKIE_NAME and JWT_REFRESH_COOKIE_NAME: only the custom names are read', async () => {
    const { tokens } = createManager({
      ...COOKIES,
      JWT_ACCESS_COOKIE_NAME: 'my-access',
      JWT_REFRESH_COOKIE_NAME: 'my-refresh',
    })
    const named = createRequest({ cookies: { 'my-access': ACCESS, 'my-refresh': REFRESH } })
    await expect(tokens.accessTokenRequired(named)).resolves.toMatchObject({ type: 'access' })
    await expect(tokens.refreshTokenRequired(named)).resolves.toMatchObject({ type: 'refresh' })
    const standard = createRequest({
      cookies: { access_token_cookie: ACCESS, refresh_token_cookie: REFRESH },
    })
    await expect(tokens.accessTokenRequired(standard)).rejects.toThrow('my-access')
    await expect(tokens.refreshTokenRequired(standard)).rejects.toThrow('my-refresh')
  })
})

describe('the Cookie header', () => {
  test.each([
    ['alone', 'c=v'],
    ['among others', 'a=1; c=v; b=2'],
    ['without spaces', 'a=1;c=v;b=2'],
    ['with white space around', 'a=1;  c = v ; b=2'],
    ['after one without a value', 'flag; c=v'],
    ['after a name that ends like it', 'xc=1; c=v'],
    ['before a name that starts like it', 'c=v; cc=1'],
    ['before a value that looks like it', 'c=v; a=c=x'],
  ])('a cookie is found %s', (_, header) => {
    expect(readCookie(header, 'c')).toBe('v')
  })

  test.each([
    ['no header', null],
    ['an empty header', ''],
    ['another name', 'a=1'],
    ['a longer name', 'xc=v; cx=v'],
    ['another case', 'C=v'],
    ['a value that looks like it', 'a=c=v'],
    ['a name without a value', 'c'],
    ['an empty value', 'c='],
    ['a name padded with a no-break space', '\u00a0c=v'],
    ['a name with a no-break space after it', 'c\u00a0=v'],
  ])('%s is no cookie', (_, header) => {
    expect(readCookie(header, 'c')).toBeNull()
  })

  test.each(['__proto__', 'constructor', 'toString'])('a cookie may be called %s', (name) => {
    expect(readCookie(`${name}=v`, name)).toBe('v')
    expect(readCookie(`x=${name}; y=1`, name)).toBeNull()
  })

  test('a cookie sent twice with one value is one cookie', async () => {
    const request = withCookie(`access_token_cookie=${ACCESS}; access_token_cookie=${ACCESS}`)
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
  })

  test.each([
    ['good first', `access_token_cookie=${ACCESS}; access_token_cookie=planted`],
    ['good last', `access_token_cookie=planted; a=1; access_token_cookie=${ACCESS}`],
    ['one empty', `access_token_cookie=; access_token_cookie=${ACCESS}`],
    ['three', `access_token_cookie=${ACCESS}; access_token_cookie=${ACCESS}; access_token_cookie=x`],
  ])('two values under one name are refused, %s (RFC 6265 §8.6)', async (_, cookie) => {
    await expect(tokens.accessTokenRequired(withCookie(cookie))).rejects.toBeInstanceOf(TokenDecodeError)
    await expect(tokens.accessTokenOptional(withCookie(cookie))).rejects.toBeInstanceOf(TokenDecodeError)
  })

  test('a percent-encoded token is another text, and refused', async () => {
    const encoded = ACCESS.replaceAll('.', '%2E')
    expect(readCookie(`c=${encoded}`, 'c')).toBe(encoded)
    const request = withCookie(`access_token_cookie=${encoded}`)
    await expect(tokens.accessTokenRequired(request)).rejects.toBeInstanceOf(TokenDecodeError)
  })

  test('a quoted token is another text, and refused', async () => {
    const request = withCookie(`access_token_cookie="${ACCESS}"`)
    await expect(tokens.accessTokenRequired(request)).rejects.toBeInstanceOf(TokenDecodeError)
  })
})
