import { describe, expect, test, vi } from 'vitest'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { COOKIES, createRoutes, outcome } from './routes.js'

const BODY = { name: 'ada', password: 'secret' }

describe('claimsOnRefresh', () => {
  test('gets the payload, and replaces the extra claims', async () => {
    const claimsOnRefresh = vi.fn(() => ({ role: 'editor' }))
    const browser = createRoutes(COOKIES, { claimsOnRefresh }).createBrowser()
    await browser.logIn()
    const response = await browser.send('POST /auth/refresh')
    expect(await response.json()).toMatchObject({ session: { sub: 'ada', claims: { role: 'editor' } } })
    expect(claimsOnRefresh).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ sub: 'ada', role: 'reader', type: 'refresh' }),
      expect.any(Request),
    )
    await browser.send('POST /auth/step-up', { body: BODY })
    expect(claimsOnRefresh).toHaveBeenCalledTimes(2)
  })

  test('keeps the claims for undefined', async () => {
    const browser = createRoutes(COOKIES, { claimsOnRefresh: () => undefined }).createBrowser()
    await browser.logIn()
    expect(await (await browser.send('POST /auth/refresh')).json()).toMatchObject({
      session: { claims: { role: 'reader' } },
    })
  })

  test.each(['editor', 7, true, [], { uid: 'grace' }])(
    '%j is a TypeError, and uses nothing up',
    async (claims) => {
      const claimsOnRefresh = vi.fn(() => claims as never)
      const browser = createRoutes(COOKIES, { claimsOnRefresh }).createBrowser()
      await browser.logIn()
      await expect(browser.send('POST /auth/refresh')).rejects.toThrow(TypeError)
      claimsOnRefresh.mockReturnValue(undefined as never)
      expect((await browser.send('POST /auth/refresh')).status).toBe(200)
    },
  )

  test('is not asked for a token that is refused anyway', async () => {
    const claimsOnRefresh = vi.fn(() => null)
    const { createBrowser, tokens } = createRoutes({}, { claimsOnRefresh })
    const headers = { authorization: `Bearer ${tokens.createRefreshToken({ uid: 'ada' })}` }
    expect(await outcome(await createBrowser().send('POST /auth/refresh', { headers }))).toEqual([
      401,
      'TOKEN_INVALID',
    ])
    expect(await outcome(await createBrowser().send('POST /auth/refresh'))).toEqual([401, 'TOKEN_MISSING'])
    expect(claimsOnRefresh).not.toHaveBeenCalled()
  })

  test('a log-out while it runs wins', async () => {
    const { tokens, createBrowser } = createRoutes(COOKIES, {
      async claimsOnRefresh(payload) {
        await tokens.logout(payload)
        return undefined
      },
    })
    const browser = createBrowser()
    await browser.logIn()
    const response = await browser.send('POST /auth/refresh')
    expect(response.headers.getSetCookie()).toHaveLength(4)
    expect(await outcome(response)).toEqual([401, 'TOKEN_REVOKED'])
  })
})

describe('cookies of a refresh token', () => {
  const { tokens, routes, clock } = createRoutes({ ...COOKIES, JWT_REFRESH_TOKEN_EXPIRES: '1h' })
  const refresh = (token: string, headers: Record<string, string> = {}): Promise<Response> =>
    routes.refresh(
      createRequest({
        method: 'POST',
        path: '/auth/refresh',
        cookies: { refresh_token_cookie: token },
        headers,
      }),
    )

  test.each([
    ['is malformed', () => 'x', 'TOKEN_INVALID'],
    [
      'has another signature',
      () => `${tokens.createRefreshToken({ uid: 'ada' }).slice(0, -4)}AAAA`,
      'TOKEN_SIGNATURE_INVALID',
    ],
    ['is an access token', () => tokens.createAccessToken({ uid: 'ada' }), 'REFRESH_TOKEN_REQUIRED'],
  ])('that %s are deleted', async (_what, create, code) => {
    const response = await refresh(create())
    expect(response.headers.getSetCookie()).toHaveLength(4)
    expect(await outcome(response)).toEqual([401, code])
  })

  test('that has expired are deleted', async () => {
    const { refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
    clock.seconds += 3601
    const response = await refresh(refreshToken)
    expect(response.headers.getSetCookie()).toHaveLength(4)
    expect(await outcome(response)).toEqual([401, 'TOKEN_EXPIRED'])
  })

  test('that is not valid yet stay: a clock is wrong', async () => {
    const token = tokens.createRefreshToken({ uid: 'ada' }, { notBefore: '1m' })
    const response = await refresh(token, { 'x-csrf-token': csrfOf(token) })
    expect(response.headers.getSetCookie()).toHaveLength(0)
    expect(await outcome(response)).toEqual([401, 'TOKEN_NOT_YET_VALID'])
  })

  test('stay if there are two: one of them is not ours', async () => {
    const headers = { cookie: 'refresh_token_cookie=x; refresh_token_cookie=y' }
    const response = await routes.refresh(createRequest({ method: 'POST', path: '/auth/refresh', headers }))
    expect(response.headers.getSetCookie()).toHaveLength(0)
    expect(await outcome(response)).toEqual([401, 'TOKEN_INVALID'])
  })
})

describe('a step-up', () => {
  test('asks for the token before the password', async () => {
    const logIn = vi.fn(() => ({ uid: 'ada' }))
    const { createBrowser } = createRoutes(COOKIES, { logIn })
    expect(await outcome(await createBrowser().send('POST /auth/step-up', { body: BODY }))).toEqual([
      401,
      'TOKEN_MISSING',
    ])
    expect(logIn).not.toHaveBeenCalled()
  })

  test('with a dead refresh token deletes its cookies', async () => {
    const { createBrowser, tokens } = createRoutes()
    const browser = createBrowser()
    await browser.logIn()
    await tokens.revokeUser('ada')
    const response = await browser.send('POST /auth/step-up', { body: BODY })
    expect(response.headers.getSetCookie()).toHaveLength(4)
    expect(await outcome(response)).toEqual([401, 'TOKEN_REVOKED'])
  })

  test('needs JSON like a log-in, and uses nothing up without it', async () => {
    const browser = createRoutes().createBrowser()
    await browser.logIn()
    expect(await outcome(await browser.send('POST /auth/step-up'))).toEqual([415, 'MEDIA_TYPE_UNSUPPORTED'])
    expect(await outcome(await browser.send('POST /auth/step-up', { body: '{' }))).toEqual([
      400,
      'REQUEST_INVALID',
    ])
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
  })

  test('answers with a response of the application, and refreshes nothing', async () => {
    const logIn = vi.fn<() => Response | { uid: string }>(() => ({ uid: 'ada' }))
    const browser = createRoutes(COOKIES, { logIn }).createBrowser()
    await browser.logIn()
    logIn.mockReturnValue(Response.json({ next: 'code' }, { status: 202 }))
    const response = await browser.send('POST /auth/step-up', { body: BODY })
    expect([response.status, response.headers.getSetCookie().length]).toEqual([202, 0])
  })

  test('with the refresh token in the body does not give it to the application', async () => {
    const logIn = vi.fn(() => ({ uid: 'ada' }))
    const browser = createRoutes({ JWT_TOKEN_LOCATION: ['headers', 'json'] }, { logIn }).createBrowser()
    const { refresh_token } = (await (await browser.logIn()).json()) as { refresh_token: string }
    const body = { ...BODY, refresh_token }
    const response = await browser.send('POST /auth/step-up', { body })
    expect(await response.json()).toMatchObject({ session: { fresh: true } })
    expect(logIn).toHaveBeenLastCalledWith(BODY, expect.any(Request))
  })
})
