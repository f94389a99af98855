import { describe, expect, test, vi } from 'vitest'
import { type TokenConfigOptions, TokenExpiredError } from '../../packages/tokenlib/src/index.js'
import type { LoginAttempt } from '../../packages/tokenlib/src/routes/session-routes.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { moveMonotonicClock } from '../helpers/monotonic-clock.js'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { COOKIES, createRoutes, outcome } from './routes.js'

const BODY = { name: 'ada', password: 'secret' }

describe('describeUser', () => {
  test('is asked at the login and at every refresh, and replaces the claims and the scopes', async () => {
    const describeUser = vi.fn(() => ({ claims: { role: 'editor' }, scopes: ['write'] }))
    const browser = createRoutes(COOKIES, { describeUser }).createBrowser()
    await browser.logIn()
    const response = await browser.send('POST /auth/refresh')
    const session = { sub: 'ada', claims: { role: 'editor' }, scopes: ['write'] }
    expect(await response.json()).toMatchObject({ session })
    expect(describeUser.mock.calls).toEqual([
      ['ada', { reason: 'login', claims: { role: 'reader' }, scopes: [] }],
      ['ada', { reason: 'refresh', claims: { role: 'editor' }, scopes: ['write'] }],
    ])
    await browser.send('POST /auth/step-up', { body: BODY })
    expect(describeUser).toHaveBeenCalledTimes(3)
  })

  test('an admin who is demoted loses the scope with the next refresh', async () => {
    const admins = new Set(['ada'])
    const { tokens, createBrowser } = createRoutes(COOKIES, {
      describeUser: (uid) => ({ scopes: admins.has(uid) ? ['admin'] : [] }),
    })
    const browser = createBrowser()
    await browser.logIn()
    const enter = (): Promise<string> => outcomeOf(tokens.require({ scopes: ['admin'] })(browser.request()))
    expect(await enter()).toBe('ok')
    admins.clear()
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
    expect(await enter()).toBe('INSUFFICIENT_SCOPE')
  })

  test('keeps the claims and scopes that it leaves out', async () => {
    const browser = createRoutes(COOKIES, { describeUser: () => ({}) }).createBrowser()
    await browser.logIn()
    expect(await (await browser.send('POST /auth/refresh')).json()).toMatchObject({
      session: { claims: { role: 'reader' }, scopes: [] },
    })
  })

  test.each([
    undefined,
    'editor',
    7,
    true,
    [],
    { claims: { uid: 'grace' } },
    { role: 'editor' },
    { scopes: 7 },
  ])('%j is a TypeError, and uses nothing up', async (description) => {
    const describeUser = vi.fn(() => ({}) as never)
    const browser = createRoutes({ ...COOKIES, JWT_REFRESH_GRACE: 0 }, { describeUser }).createBrowser()
    await browser.logIn()
    describeUser.mockReturnValueOnce(description as never)
    await expect(browser.send('POST /auth/refresh')).rejects.toThrow(TypeError)
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
  })

  test('a failure is one of the application, and uses nothing up', async () => {
    const describeUser = vi.fn(() => ({}) as never)
    const { createBrowser } = createRoutes({ ...COOKIES, JWT_REFRESH_GRACE: 0 }, { describeUser })
    const browser = createBrowser()
    await browser.logIn()
    // Not even a token error is about the token of the request.
    for (const error of [new Error('ECONNREFUSED'), new TokenExpiredError(0), undefined]) {
      describeUser.mockImplementationOnce(() => {
        throw error
      })
      await expect(browser.send('POST /auth/refresh')).rejects.toThrow(/ECONNREFUSED|describeUser failed/)
    }
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
  })

  test('is not asked about a token that is refused anyway', async () => {
    const describeUser = vi.fn(() => null)
    const { createBrowser, tokens } = createRoutes({}, { describeUser })
    const headers = { authorization: `Bearer ${tokens.createRefreshToken({ uid: 'ada' })}` }
    expect(await outcome(await createBrowser().send('POST /auth/refresh', { headers }))).toEqual([
      401,
      'TOKEN_INVALID',
    ])
    expect(await outcome(await createBrowser().send('POST /auth/refresh'))).toEqual([401, 'TOKEN_MISSING'])
    expect(describeUser).not.toHaveBeenCalled()
  })

  test('a logout while it runs wins', async () => {
    const { tokens, createBrowser } = createRoutes(COOKIES, {
      async describeUser(uid, { reason }) {
        if (reason === 'refresh') await tokens.revoke.user(uid)
        return {}
      },
    })
    const browser = createBrowser()
    await browser.logIn()
    const response = await browser.send('POST /auth/refresh')
    expect(response.headers.getSetCookie()).toEqual([])
    expect(await outcome(response)).toEqual([401, 'TOKEN_REVOKED'])
  })

  test('a login in another tab while it runs leaves the new cookies', async () => {
    const { createBrowser } = createRoutes(COOKIES, {
      async describeUser(_uid, { reason }) {
        if (reason === 'refresh') await browser.logIn()
        return {}
      },
    })
    const browser = createBrowser()
    await browser.logIn()
    expect(await outcome(await browser.send('POST /auth/refresh'))).toEqual([401, 'TOKEN_REVOKED'])
    expect((await browser.send('GET /auth/session')).status).toBe(200)
  })

  test.each(['POST /auth/refresh', 'POST /auth/step-up'])(
    'null ends the session, and deletes the cookies: %s',
    async (route) => {
      const gone = new Set<string>()
      const describeUser = (uid: string): object | null => (gone.has(uid) ? null : {})
      const { createBrowser, tokens } = createRoutes(COOKIES, { describeUser })
      const browser = createBrowser()
      await browser.logIn()
      gone.add('ada')
      const response = await browser.send(route, route.endsWith('step-up') ? { body: BODY } : {})
      expect(response.headers.getSetCookie()).toHaveLength(3)
      expect(await outcome(response)).toEqual([401, 'SUBJECT_NOT_FOUND'])
      expect(await tokens.sessions.list('ada')).toEqual([])
    },
  )

  test('null refuses a login, which looks like wrong credentials to the client and the limiter', async () => {
    const told: unknown[] = []
    const { createBrowser, tokens } = createRoutes(COOKIES, {
      describeUser: () => null,
      rateLimit: { before: () => 0, after: (_attempt, result) => void told.push(result) },
    })
    const browser = createBrowser()
    const answers = [await browser.logIn(), await browser.logIn('ada', { password: 'wrong' })]
    const [refused, wrong] = await Promise.all(
      answers.map(async (answer) => [answer.status, [...answer.headers], await answer.text()]),
    )
    expect(refused).toEqual(wrong)
    expect(refused?.[0]).toBe(401)
    expect(told).toEqual(['failure', 'failure'])
    expect(await tokens.sessions.list('ada')).toEqual([])
  })

  test('a limiter that fails after the login leaves no session', async () => {
    const { createBrowser, tokens } = createRoutes(COOKIES, {
      rateLimit: {
        before: () => 0,
        after: () => Promise.reject(new Error('limiter is down')),
      },
    })
    await expect(createBrowser().logIn()).rejects.toThrow('limiter is down')
    expect(await tokens.sessions.list('ada')).toEqual([])
  })
})

describe('new claims that make a cookie too large', () => {
  // Every refresh moves the session on.
  const STRICT = { ...COOKIES, JWT_REFRESH_GRACE: 0 }

  test.each<[what: string, config: TokenConfigOptions]>([
    ['both cookies', STRICT],
    ['another identity claim', { ...STRICT, JWT_IDENTITY_CLAIM: 'user_id' }],
    ['tokens that never expire', { ...STRICT, JWT_ACCESS_TOKEN_EXPIRES: false }],
    [
      'a refresh cookie alone',
      { ...STRICT, JWT_TOKEN_LOCATION: 'headers', JWT_REFRESH_TOKEN_LOCATION: 'cookies' },
    ],
    ['an access cookie that is larger', { ...STRICT, JWT_ACCESS_COOKIE_NAME: 'a'.repeat(200) }],
  ])('are an error of the server, of any size, and use nothing up: %s', async (_what, config) => {
    let big = ''
    const { createBrowser } = createRoutes(config, { describeUser: () => ({ claims: { big } }) })
    const browser = createBrowser()
    await browser.logIn()
    // To the largest claim that fits, and one character more.
    let [fits, exceeds] = [0, 4000]
    while (exceeds - fits > 1) {
      const size = Math.floor((fits + exceeds) / 2)
      big = 'x'.repeat(size)
      const result = await browser.send('POST /auth/refresh').catch(String)
      if (result instanceof Response) {
        expect(result.status).toBe(200)
        fits = size
      } else {
        expect(result).toMatch(/browsers drop/)
        exceeds = size
      }
    }
    expect(fits).toBeGreaterThan(2000)
    big = ''
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
  })

  test('do not matter where the tokens are in the body', async () => {
    const { createBrowser } = createRoutes(COOKIES, {
      describeUser: () => ({ claims: { big: 'x'.repeat(4000) } }),
    })
    const browser = createBrowser()
    const login = await browser.logIn('ada', { transport: 'bearer' })
    const { refreshToken } = (await login.json()) as { refreshToken: string }
    const headers = { authorization: `Bearer ${refreshToken}` }
    expect((await browser.send('POST /auth/refresh', { headers })).status).toBe(200)
  })
})

describe('a refresh token that stays as it is', () => {
  const ROUTES = [
    ['POST /auth/refresh', {}, false],
    ['POST /auth/step-up', BODY, true],
  ] as const

  test.each(ROUTES)('is left out of the answer in JSON: %s', async (route, body, fresh) => {
    const { createBrowser, tokens, clock } = createRoutes({
      JWT_TOKEN_LOCATION: 'headers',
      JWT_REFRESH_TOKEN_EXPIRES: '1h',
    })
    const browser = createBrowser()
    const send = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      return (await (await browser.send(route, { headers, body })).json()) as Record<string, string>
    }
    const login = (await (await browser.logIn()).json()) as { refreshToken: string }
    clock.seconds += 60
    const { refreshToken } = await send(login.refreshToken)
    clock.seconds += 59
    const kept = await send(refreshToken as string)
    expect(Object.keys(kept).toSorted()).toEqual(['accessToken', 'session', 'tokenType'])
    expect(kept['session']).toMatchObject({ fresh, accessExpiresIn: 900, expiresIn: 3481 })
    expect(await tokens.verify(kept['accessToken'] as string)).toMatchObject({
      sub: 'ada',
      fresh,
      iat: clock.seconds,
    })
    // It is valid for the next refresh, and moves the session on then.
    clock.seconds += 1
    expect(await send(refreshToken as string)).toHaveProperty('refreshToken')
  })

  test.each(ROUTES)('is not set as a cookie again: %s', async (route, body, fresh) => {
    const { createBrowser, clock } = createRoutes()
    const browser = createBrowser()
    await browser.logIn()
    clock.seconds += 60
    await browser.send('POST /auth/refresh')
    const response = await browser.send(route, { body })
    expect(Object.keys(parseSetCookies(response.headers.getSetCookie()))).toEqual([
      'access_token_cookie',
      'csrf_access_token',
    ])
    expect(await response.json()).toEqual({ session: expect.objectContaining({ sub: 'ada', fresh }) })
    expect((await browser.send('GET /auth/session')).status).toBe(200)
  })
})

describe('a refresh that takes longer than a quarter of the grace', () => {
  test.each([
    ['POST /auth/refresh', 'was busy', {}],
    ['POST /auth/step-up', 'was busy', BODY],
    ['POST /auth/refresh', 'was suspended', {}],
  ])('sets no cookies, and can be repeated: %s, the machine %s', async (route, machine, body) => {
    const { createBrowser, tokens, clock } = createRoutes()
    const browser = createBrowser()
    await browser.logIn()
    clock.seconds += 60
    const monotonic = moveMonotonicClock()
    // As soon as the store has answered. The monotonic clock of a suspended machine stands still.
    const stop = tokens.on('refreshed', () => {
      if (machine === 'was busy') monotonic.add(15_000)
      else clock.seconds += 16
    })
    const late = await browser.send(route, { body })
    expect([late.headers.get('retry-after'), late.headers.getSetCookie()]).toEqual(['1', []])
    expect(await outcome(late)).toEqual([503, 'REVOCATION_UNAVAILABLE'])
    stop()
    clock.seconds += 3600
    expect((await browser.send(route, { body })).headers.getSetCookie()).toHaveLength(3)
  })

  test('and one that takes just as long sets them', async () => {
    const { createBrowser, tokens, clock } = createRoutes()
    const browser = createBrowser()
    await browser.logIn()
    clock.seconds += 60
    tokens.on('refreshed', () => (clock.seconds += 15))
    expect((await browser.send('POST /auth/refresh', { body: {} })).headers.getSetCookie()).toHaveLength(3)
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
  ])('that %s stay: they may be valid for another instance or application', async (_what, create, code) => {
    for (const headers of [{}, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }]) {
      const response = await refresh(create(), headers)
      expect(response.headers.getSetCookie()).toEqual([])
      expect(await outcome(response)).toEqual([401, code])
    }
  })

  test('that has expired or was revoked stay: a newer session may have set its own', async () => {
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const csrf = { 'x-csrf-token': csrfOf(refreshToken) }
    await tokens.revoke.user('ada')
    const revoked = await refresh(refreshToken, csrf)
    expect(revoked.headers.getSetCookie()).toEqual([])
    expect(await outcome(revoked)).toEqual([401, 'TOKEN_REVOKED'])
    clock.seconds += 3601
    const expired = await refresh(refreshToken, csrf)
    expect(expired.headers.getSetCookie()).toEqual([])
    expect(await outcome(expired)).toEqual([401, 'TOKEN_EXPIRED'])
  })

  test('that was used up are deleted: that ends the session. Within the grace they stay', async () => {
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const csrf = { 'x-csrf-token': csrfOf(refreshToken) }
    clock.seconds += 60
    const next = parseSetCookies((await refresh(refreshToken, csrf)).headers.getSetCookie())
    clock.seconds += 60
    await refresh(next['refresh_token_cookie']?.value as string, csrf)

    const superseded = await refresh(refreshToken, csrf)
    expect([superseded.headers.get('retry-after'), superseded.headers.getSetCookie()]).toEqual(['1', []])
    expect(await outcome(superseded)).toEqual([409, 'REFRESH_SUPERSEDED'])

    clock.seconds += 60
    expect((await refresh(refreshToken)).headers.getSetCookie()).toEqual([])
    const response = await refresh(refreshToken, csrf)
    expect(response.headers.getSetCookie()).toHaveLength(3)
    expect(await outcome(response)).toEqual([401, 'REFRESH_TOKEN_REUSED'])
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

  test('deletes cookies like a refresh: if it ends the session', async () => {
    const { createBrowser, clock } = createRoutes()
    const [browser, thief] = [createBrowser(), createBrowser()]
    thief.jar.store((await browser.logIn()).headers.getSetCookie())
    for (const _ of [1, 2]) {
      clock.seconds += 60
      await browser.send('POST /auth/refresh')
    }
    const superseded = await thief.send('POST /auth/step-up', { body: BODY })
    expect([superseded.headers.get('retry-after'), superseded.headers.getSetCookie()]).toEqual(['1', []])
    expect(await outcome(superseded)).toEqual([409, 'REFRESH_SUPERSEDED'])
    clock.seconds += 60
    const reuse = await thief.send('POST /auth/step-up', { body: BODY })
    expect(reuse.headers.getSetCookie()).toHaveLength(3)
    expect(await outcome(reuse)).toEqual([401, 'REFRESH_TOKEN_REUSED'])
    const revoked = await browser.send('POST /auth/step-up', { body: BODY })
    expect(revoked.headers.getSetCookie()).toEqual([])
    expect(await outcome(revoked)).toEqual([401, 'TOKEN_REVOKED'])
  })

  test('tells the rate limiter whose session it is, whatever the name', async () => {
    const subs: (string | null)[] = []
    const rateLimit = { before: ({ sub }: LoginAttempt) => void subs.push(sub) }
    const browser = createRoutes(COOKIES, { rateLimit }).createBrowser()
    await browser.logIn()
    for (const name of ['ada', 'Ada', 'ada@mail.example']) {
      await browser.send('POST /auth/step-up', { body: { name, password: 'guess' } })
    }
    expect(subs).toEqual([null, 'ada', 'ada', 'ada'])
  })

  test('needs JSON like a login, and uses nothing up without it', async () => {
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
    const { refreshToken } = (await (await browser.logIn()).json()) as { refreshToken: string }
    const body = { ...BODY, refresh_token: refreshToken }
    const response = await browser.send('POST /auth/step-up', { body })
    expect(await response.json()).toMatchObject({ session: { fresh: true } })
    expect(logIn).toHaveBeenLastCalledWith(BODY, expect.any(Request))
  })
})
