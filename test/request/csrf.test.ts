import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { CsrfError, MissingCsrfTokenError } from '../../packages/tokenlib/src/errors.js'
import { createManager } from '../helpers/manager.js'
import { createRequest, csrfOf } from '../helpers/requests.js'

const COOKIES = { JWT_TOKEN_LOCATION: 'cookies' } as const satisfies TokenConfigOptions
const { tokens } = createManager(COOKIES)
const ACCESS = tokens.createAccessToken({ uid: 'ada' })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })
const CSRF = csrfOf(ACCESS)
const BOTH = { access_token_cookie: ACCESS, refresh_token_cookie: REFRESH }

/** A request with both cookies, and a CSRF value where one is given. */
const withCsrf = (csrf?: string, method = 'POST', header = 'x-csrf-token'): Request =>
  createRequest({ method, cookies: BOTH, ...(csrf !== undefined && { headers: { [header]: csrf } }) })

describe('a cookie token on a method that changes something', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'patch'])(
    'a %s needs the CSRF value, and passes with it',
    async (method) => {
      const refused = tokens.accessTokenRequired(withCsrf(undefined, method))
      await expect(refused).rejects.toBeInstanceOf(MissingCsrfTokenError)
      await expect(refused).rejects.toMatchObject({ code: 'CSRF_MISSING' })
      await expect(tokens.accessTokenRequired(withCsrf(CSRF, method))).resolves.toMatchObject({ sub: 'ada' })
    },
  )

  test('the RequestToken holds the value that was sent', async () => {
    await expect(tokens.getTokenFromRequest(withCsrf('anything'))).resolves.toMatchObject({
      token: ACCESS,
      location: 'cookies',
      csrf: 'anything',
    })
    await expect(tokens.getTokenFromRequest(withCsrf())).resolves.toMatchObject({ token: ACCESS, csrf: null })
  })

  test.each([
    ['of another token', csrfOf(tokens.createAccessToken({ uid: 'ada' }))],
    ['in another case', CSRF.toUpperCase() === CSRF ? CSRF.toLowerCase() : CSRF.toUpperCase()],
    ['cut short', CSRF.slice(0, -1)],
    ['made longer', `${CSRF}A`],
    ['sent twice', `${CSRF}, ${CSRF}`],
    ['not ASCII, of the same length', 'é'.repeat(CSRF.length)],
    ['not ASCII, of as many UTF-8 bytes', 'é'.repeat(CSRF.length / 2)],
    ['the token itself', ACCESS],
  ])('a value %s is a mismatch', async (_, value) => {
    const refused = tokens.accessTokenRequired(withCsrf(value))
    await expect(refused).rejects.toBeInstanceOf(CsrfError)
    await expect(refused).rejects.toMatchObject({ code: 'CSRF_MISMATCH' })
  })

  test.each([
    ['beyond Latin-1, of the same length', '🔑'.repeat(CSRF.length / 2)],
    ['a lone surrogate', '\ud800'.repeat(CSRF.length)],
    ['a list of two', [CSRF, CSRF]],
  ])('in a plain object: a value %s is a mismatch', async (_, value) => {
    const headers = { cookie: `access_token_cookie=${ACCESS}`, 'X-CSRF-TOKEN': value }
    await expect(tokens.accessTokenRequired({ method: 'POST', headers })).rejects.toBeInstanceOf(CsrfError)
  })

  test('an empty value counts as none', async () => {
    await expect(tokens.accessTokenRequired(withCsrf(''))).rejects.toMatchObject({ code: 'CSRF_MISSING' })
  })

  test('a CSRF cookie is no proof: the value must be the one signed into the token', async () => {
    const planted = { ...BOTH, csrf_access_token: 'planted' }
    const request = createRequest({
      method: 'POST',
      cookies: planted,
      headers: { 'x-csrf-token': 'planted' },
    })
    await expect(tokens.accessTokenRequired(request)).rejects.toBeInstanceOf(CsrfError)
    const cookieOnly = createRequest({ method: 'POST', cookies: { ...BOTH, csrf_access_token: CSRF } })
    await expect(tokens.accessTokenRequired(cookieOnly)).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test('of tokens that are made alone, the value of one type is refused on the other', async () => {
    await expect(tokens.refreshTokenRequired(withCsrf(CSRF))).rejects.toBeInstanceOf(CsrfError)
    await expect(tokens.accessTokenRequired(withCsrf(csrfOf(REFRESH)))).rejects.toBeInstanceOf(CsrfError)
    await expect(tokens.refreshTokenRequired(withCsrf(csrfOf(REFRESH)))).resolves.toMatchObject({
      type: 'refresh',
    })
  })

  test('a token without a CSRF claim is refused', async () => {
    const headersOnly = createManager().tokens.createAccessToken({ uid: 'ada' })
    expect(csrfOf(headersOnly)).toBeUndefined()
    const cookies = { access_token_cookie: headersOnly }
    for (const value of ['', 'undefined', 'null', CSRF]) {
      const request = createRequest({ method: 'POST', cookies, headers: { 'x-csrf-token': value } })
      await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({
        code: expect.stringMatching(/^CSRF_/),
      })
    }
    await expect(tokens.accessTokenRequired(createRequest({ cookies }))).resolves.toMatchObject({
      sub: 'ada',
    })
  })

  test('a token of either type needs its own value', async () => {
    const cookies = { refresh_token_cookie: REFRESH }
    const send = (csrf: string) =>
      tokens.tokenRequired(createRequest({ method: 'POST', cookies, headers: { 'x-csrf-token': csrf } }))
    await expect(send(csrfOf(REFRESH))).resolves.toMatchObject({ type: 'refresh' })
    await expect(send(CSRF)).rejects.toBeInstanceOf(CsrfError)
  })
})

describe('where the value is not needed', () => {
  test('a token in a header needs none', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
    const request = createRequest({
      method: 'POST',
      headers: { authorization: `Bearer ${ACCESS}` },
      cookies: BOTH,
    })
    await expect(tokens.accessTokenRequired(request)).resolves.toMatchObject({ sub: 'ada' })
  })

  test('JWT_COOKIE_CSRF_PROTECT off: the cookie alone passes', async () => {
    const { tokens } = createManager({ ...COOKIES, JWT_COOKIE_CSRF_PROTECT: false })
    await expect(tokens.accessTokenRequired(withCsrf())).resolves.toMatchObject({ sub: 'ada' })
    expect(csrfOf(tokens.createAccessToken({ uid: 'ada' }))).toBeUndefined()
  })

  test('a route may leave the check out', async () => {
    await expect(tokens.require({ csrf: false })(withCsrf())).resolves.toMatchObject({ sub: 'ada' })
    await expect(tokens.require({ csrf: true })(withCsrf())).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test.each([[['GET', 'DELETE']], [['get', 'delete']]])(
    'JWT_CSRF_METHODS %j: those methods need it and no others',
    async (methods) => {
      const { tokens } = createManager({ ...COOKIES, JWT_CSRF_METHODS: methods })
      for (const method of ['GET', 'DELETE'])
        await expect(tokens.accessTokenRequired(withCsrf(undefined, method))).rejects.toMatchObject({
          code: 'CSRF_MISSING',
        })
      await expect(tokens.accessTokenRequired(withCsrf(CSRF, 'GET'))).resolves.toMatchObject({ sub: 'ada' })
      await expect(tokens.accessTokenRequired(withCsrf(undefined, 'POST'))).resolves.toMatchObject({
        sub: 'ada',
      })
    },
  )
})

describe('what the client sees', () => {
  test('a cookie without its CSRF value does not fall through to later locations', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies', 'headers'] })
    const request = createRequest({
      method: 'POST',
      cookies: BOTH,
      headers: { authorization: `Bearer ${ACCESS}` },
    })
    await expect(tokens.accessTokenRequired(request)).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })

  test('the error names the header that is expected', async () => {
    await expect(tokens.accessTokenRequired(withCsrf())).rejects.toThrow('X-CSRF-TOKEN')
  })

  test('an optional POST: no cookie is anonymous, a cookie without the value is refused', async () => {
    await expect(tokens.accessTokenOptional(createRequest({ method: 'POST' }))).resolves.toBeNull()
    await expect(tokens.accessTokenOptional(withCsrf())).rejects.toBeInstanceOf(MissingCsrfTokenError)
    await expect(tokens.accessTokenOptional(withCsrf('wrong'))).rejects.toBeInstanceOf(CsrfError)
    await expect(tokens.accessTokenOptional(withCsrf(CSRF))).resolves.toMatchObject({ sub: 'ada' })
  })

  test('a bad token is reported as such before its CSRF value is looked at', async () => {
    const request = createRequest({ method: 'POST', cookies: { access_token_cookie: `${ACCESS}x` } })
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({
      code: expect.stringMatching(/^TOKEN_/),
    })
  })
})

describe('a custom header name', () => {
  test('JWT_ACCESS_CSRF_HEADER_NAME is read for tokens of both types', async () => {
    const { tokens } = createManager({ ...COOKIES, JWT_ACCESS_CSRF_HEADER_NAME: 'X-My-Csrf' })
    const access = (header: string) => tokens.accessTokenRequired(withCsrf(CSRF, 'POST', header))
    const refresh = (header: string) => tokens.refreshTokenRequired(withCsrf(csrfOf(REFRESH), 'POST', header))
    await expect(access('x-my-csrf')).resolves.toMatchObject({ type: 'access' })
    await expect(refresh('x-my-csrf')).resolves.toMatchObject({ type: 'refresh' })
    await expect(access('x-csrf-token')).rejects.toBeInstanceOf(MissingCsrfTokenError)
    await expect(refresh('x-csrf-token')).rejects.toBeInstanceOf(MissingCsrfTokenError)
  })
})
