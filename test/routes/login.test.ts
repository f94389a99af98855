import { describe, expect, test, vi } from 'vitest'
import type { LoginOutcome, LoginResult } from '../../packages/tokenlib/src/routes/session-routes.js'
import type { JsonClaims, TokenConfigOptions, UserDescription } from '../../packages/tokenlib/src/index.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { openToken } from '../helpers/manager.js'
import { COOKIES, createRoutes, outcome } from './routes.js'

const BODY = { name: 'ada', password: 'secret' }

const readSession = async (response: Response): Promise<Record<string, unknown>> =>
  ((await response.json()) as { session: Record<string, unknown> }).session

describe('what logIn returns', () => {
  test('an error is thrown on, and the session before is not ended', async () => {
    const error = new Error('the database is down')
    const logIn = vi.fn<() => LoginResult<JsonClaims>>(() => ({ uid: 'ada' }))
    const browser = createRoutes(COOKIES, { logIn }).createBrowser()
    await browser.logIn()
    logIn.mockImplementation(() => {
      throw error
    })
    await expect(browser.logIn()).rejects.toBe(error)
    expect((await browser.send('GET /auth/session')).status).toBe(200)
  })

  test.each([undefined, true, 'ada', 7, {}, { uid: '' }, { uid: 7 }, []])(
    '%j is a TypeError that names it, and the session before is not ended',
    async (result) => {
      const logIn = vi.fn<() => LoginResult<JsonClaims>>(() => ({ uid: 'ada' }))
      const browser = createRoutes(COOKIES, { logIn }).createBrowser()
      await browser.logIn()
      logIn.mockImplementation(() => result as never)
      await expect(browser.logIn()).rejects.toThrow(/logIn must return/)
      expect((await browser.send('GET /auth/session')).status).toBe(200)
    },
  )

  test('a response of its own is the answer; nobody may keep it unless it says so', async () => {
    const own = [
      Response.json({ next: 'code' }, { status: 202, headers: { 'x-own': 'yes' } }),
      new Response(null, { status: 204, headers: { 'cache-control': 'private' } }),
    ]
    const { createBrowser } = createRoutes(COOKIES, { logIn: () => own.shift() as Response })
    const browser = createBrowser()
    const first = await browser.logIn()
    expect([first.status, first.headers.get('x-own')]).toEqual([202, 'yes'])
    expect(first.headers.get('cache-control')).toBe('no-store')
    expect(await first.json()).toEqual({ next: 'code' })
    expect((await browser.logIn()).headers.get('cache-control')).toBe('private')
    expect(browser.jar.headers('/')).toEqual({})
  })

  test('claims that make a cookie too large are an error of the server, and leave no session', async () => {
    const big = { uid: 'ada', big: 'x'.repeat(4000) }
    const { createBrowser, tokens } = createRoutes(COOKIES, { logIn: () => big })
    await expect(createBrowser().logIn()).rejects.toThrow(/browsers drop/)
    expect(await tokens.sessions.list('ada')).toEqual([])
  })
})

describe('credentials', () => {
  test('reach the application with the types they have, and the request can still be read', async () => {
    const logIn = vi.fn(async (_credentials: unknown, request: Request) => {
      expect(await request.json()).toMatchObject({ remember: true })
      return null
    })
    const { createBrowser } = createRoutes(COOKIES, { logIn })
    const body = { name: ['ada'], password: { $ne: null }, code: 7, remember: true, transport: 'cookies' }
    expect(await outcome(await createBrowser().send('POST /auth/login', { body }))).toEqual([
      401,
      'CREDENTIALS_INVALID',
    ])
    expect(logIn.mock.calls[0]?.[0]).toEqual({ name: ['ada'], password: { $ne: null }, code: 7 })
  })

  test('do not contain the tokens that the body may carry', async () => {
    const logIn = vi.fn(() => null)
    const { createBrowser } = createRoutes({ JWT_TOKEN_LOCATION: ['headers', 'json'] }, { logIn })
    await createBrowser().send('POST /auth/login', {
      body: { ...BODY, access_token: 'a', refresh_token: 'r' },
    })
    expect(logIn).toHaveBeenCalledWith(BODY, expect.any(Request))
  })

  test('of a stream are counted while it is read', async () => {
    const { routes } = createRoutes()
    let pulled = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(10_000).fill(0x20))
      },
    })
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    const response = await routes.login(new Request('http://localhost/auth/login', init))
    expect(await outcome(response)).toEqual([413, 'REQUEST_TOO_LARGE'])
    expect(pulled).toBeLessThan(20)
  })

  test('are not read if their length says that they are too many', async () => {
    const { createBrowser } = createRoutes()
    const sent = { body: BODY, headers: { 'content-length': '65537' } }
    expect(await outcome(await createBrowser().send('POST /auth/login', sent))).toEqual([
      413,
      'REQUEST_TOO_LARGE',
    ])
  })

  test('must be UTF-8, and nowhere name a prototype', async () => {
    const { routes } = createRoutes()
    const send = (body: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
      routes.login(
        new Request('http://localhost/auth/login', {
          method: 'POST',
          headers: { 'content-type': 'Application/JSON ; charset=utf-8' },
          body,
        }),
      )
    for (const body of [
      new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      new Uint8Array([0x22, 0xc3]),
      '{"a":{"__proto__":1}}',
      '{"a":[{"\\u005f_proto__":1}]}',
    ]) {
      expect(await outcome(await send(body))).toEqual([400, 'REQUEST_INVALID'])
    }
    expect((await send(JSON.stringify(BODY))).status).toBe(200)
  })
})

describe('where tokens go', () => {
  // In the body: a for access, r for refresh. In cookies: A and R.
  test.each<[config: TokenConfigOptions, transport: string | undefined, places: string]>([
    [{ JWT_TOKEN_LOCATION: 'headers' }, undefined, 'ar'],
    [{ JWT_TOKEN_LOCATION: 'headers' }, 'bearer', 'ar'],
    [{ JWT_TOKEN_LOCATION: 'headers' }, 'cookies', '400'],
    [{ JWT_TOKEN_LOCATION: 'cookies' }, undefined, 'AR'],
    [{ JWT_TOKEN_LOCATION: 'cookies' }, 'bearer', '400'],
    [{ JWT_TOKEN_LOCATION: ['headers', 'cookies'] }, undefined, 'AR'],
    [{ JWT_TOKEN_LOCATION: ['headers', 'cookies'] }, 'bearer', 'ar'],
    [{ JWT_TOKEN_LOCATION: ['json', 'cookies'] }, 'bearer', 'ar'],
    [{ JWT_TOKEN_LOCATION: 'headers', JWT_REFRESH_TOKEN_LOCATION: 'cookies' }, undefined, 'aR'],
    [{ JWT_TOKEN_LOCATION: 'headers', JWT_REFRESH_TOKEN_LOCATION: 'cookies' }, 'bearer', '400'],
    [{ JWT_TOKEN_LOCATION: 'cookies', JWT_REFRESH_TOKEN_LOCATION: 'headers' }, undefined, 'Ar'],
    [{ JWT_TOKEN_LOCATION: 'headers' }, 'post', '400'],
  ])('%j, transport %s: %s', async (config, transport, places) => {
    const { createBrowser, clock } = createRoutes({ JWT_COOKIE_SECURE: false, ...config })
    const browser = createBrowser()
    const readPlaces = async (response: Response): Promise<string> => {
      if (response.status !== 200) return String(response.status)
      const body = (await response.json()) as { accessToken?: string; refreshToken?: string }
      const cookies = parseSetCookies(response.headers.getSetCookie())
      if (body.refreshToken !== undefined) given.push(body.refreshToken)
      return [
        body.accessToken && 'a',
        cookies['access_token_cookie'] && 'A',
        body.refreshToken && 'r',
        cookies['refresh_token_cookie'] && 'R',
      ].join('')
    }
    const given: string[] = []
    const login = await browser.send('POST /auth/login', { body: { ...BODY, transport } })
    expect(await readPlaces(login)).toBe(places)
    if (places === '400') return
    const isJson = [config.JWT_TOKEN_LOCATION].flat().includes('json')
    const refresh = async (): Promise<string> => {
      const refreshToken = given.at(-1)
      const sent = isJson
        ? { body: { refresh_token: refreshToken } }
        : { headers: refreshToken === undefined ? {} : { authorization: `Bearer ${refreshToken}` } }
      return readPlaces(await browser.send('POST /auth/refresh', sent))
    }
    // A refresh answers in the same way. Within the grace, the client keeps its refresh token.
    clock.seconds += 60
    expect(await refresh()).toBe(places)
    expect(await refresh()).toBe(places.slice(0, 1))
  })

  test('scopes and lifetimes are those of the session, and the answer has nothing else', async () => {
    const { createBrowser } = createRoutes({}, { describeUser: () => ({ scopes: ['read', 'write'] }) })
    const body = (await (await createBrowser().logIn()).json()) as Record<string, unknown>
    expect(body).toEqual({
      accessToken: expect.any(String),
      tokenType: 'bearer',
      refreshToken: expect.any(String),
      session: expect.objectContaining({ scopes: ['read', 'write'], accessExpiresIn: 900 }),
    })
  })
})

describe('the description of a user', () => {
  test('decides lifetimes and freshness', async () => {
    const describeUser = vi.fn(() => ({
      access: { expiresIn: '1m', fresh: false },
      refresh: { expiresIn: '1h' },
    }))
    const { createBrowser } = createRoutes(COOKIES, { describeUser, remember: { session: '2h' } })
    const session = await readSession(await createBrowser().logIn())
    expect(session).toMatchObject({ fresh: false, accessExpiresIn: 60, expiresIn: 3600 })
    const login = { reason: 'login', claims: { role: 'reader' }, scopes: [] }
    expect(describeUser).toHaveBeenCalledExactlyOnceWith('ada', login)
  })

  test.each([{ scope: 'read' }, { access: { notBefore: '1m' } }, { request: {} }])(
    '%j is refused',
    async (given) => {
      const { createBrowser } = createRoutes(COOKIES, { describeUser: () => given as never })
      await expect(createBrowser().logIn()).rejects.toThrow(TypeError)
    },
  )

  test.each([
    [true, {}, 7200],
    [false, {}, 3600],
    [undefined, {}, 3600],
    [undefined, { JWT_SESSION_COOKIE: false }, 7200],
  ])('a session lasts as long as "remember me" says: %s %j', async (remember, config, seconds) => {
    const { createBrowser } = createRoutes(
      { ...COOKIES, ...config },
      { remember: { remembered: '2h', session: '1h' } },
    )
    expect(await readSession(await createBrowser().logIn('ada', { remember }))).toMatchObject({
      expiresIn: seconds,
    })
  })

  test.each<[config: TokenConfigOptions, description: UserDescription]>([
    [{ JWT_DECODE_AUDIENCE: 'app' }, { audience: 'other' }],
    [{ JWT_IDENTITY_CLAIM: 'user_id' }, { refresh: { expiresAt: new Date(0) } }],
  ])(
    '%j: %j, which the manager refuses, is an error of the server, and leaves no session',
    async (config, given) => {
      const { createBrowser, tokens } = createRoutes({ ...COOKIES, ...config }, { describeUser: () => given })
      const ended: unknown[] = []
      tokens.on('revoked', ({ kind, sub }) => void ended.push([kind, sub]))
      await expect(createBrowser().logIn()).rejects.toThrow(/describeUser/)
      expect(ended).toEqual([['session', 'ada']])
      expect(await tokens.sessions.list('ada')).toEqual([])
    },
  )

  test('the address is that of clientIp', async () => {
    const { createBrowser, tokens, clock } = createRoutes(COOKIES, {
      clientIp: (request) => request.header('x-ip'),
    })
    const browser = createBrowser()
    await browser.send('POST /auth/login', { body: BODY, headers: { 'x-ip': '192.0.2.7' } })
    expect((await tokens.sessions.list('ada'))[0]?.ip).toBe('192.0.2.7')
    clock.seconds += 60
    await browser.send('POST /auth/refresh', { headers: { 'x-ip': '192.0.2.8' } })
    expect((await tokens.sessions.list('ada'))[0]?.ip).toBe('192.0.2.8')
    const junk = createRoutes(COOKIES, { clientIp: () => 7 as never })
    await expect(junk.createBrowser().logIn()).rejects.toThrow(/clientIp/)
  })
})

describe('a limit of sessions', () => {
  test('ends the oldest, or refuses the login', async () => {
    const ending = createRoutes(COOKIES, { maxSessions: 1 })
    const [first, second] = [ending.createBrowser(), ending.createBrowser()]
    await first.logIn()
    expect((await second.logIn()).status).toBe(200)
    expect(await outcome(await first.send('GET /auth/session'))).toEqual([401, 'TOKEN_REVOKED'])

    const refusing = createRoutes(COOKIES, { maxSessions: 1, whenFull: 'refuse' })
    const browser = refusing.createBrowser()
    await browser.logIn()
    expect(await outcome(await refusing.createBrowser().logIn())).toEqual([403, 'SESSION_LIMIT_REACHED'])
    // The session that it replaces does not count.
    expect((await browser.logIn()).status).toBe(200)
  })
})

describe('requests of other origins', () => {
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://partner.example' }

  test.each<[config: TokenConfigOptions, status: number]>([
    [{}, 401],
    [{ JWT_CSRF_ORIGINS: 'https://other.example' }, 401],
    [{ JWT_CSRF_ORIGINS: 'https://partner.example' }, 200],
    // Nobody is logged in without wanting it where there are no cookies.
    [{ JWT_TOKEN_LOCATION: 'headers' }, 200],
    [{ JWT_COOKIE_CSRF_PROTECT: false }, 200],
  ])('%j: %d', async (config, status) => {
    const { createBrowser } = createRoutes({ ...COOKIES, ...config })
    expect((await createBrowser().send('POST /auth/login', { body: BODY, headers })).status).toBe(status)
  })
})

describe('a session that the cookies of a login belong to', () => {
  test('is ended for a bearer login too, and its cookies go', async () => {
    const { createBrowser, tokens } = createRoutes()
    const browser = createBrowser()
    await browser.logIn()
    const response = await browser.logIn('ada', { transport: 'bearer' })
    expect(response.headers.getSetCookie()).toHaveLength(3)
    expect(browser.jar.headers('/auth')).toEqual({})
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })

  test('is ended by its expired access token alone', async () => {
    const { createBrowser, clock, tokens } = createRoutes()
    const browser = createBrowser()
    await browser.logIn()
    const [access] = browser.jar.headers('/')['cookie']?.split('; ') ?? []
    clock.seconds += 1000
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
    const headers = { cookie: access as string }
    expect((await createBrowser().send('POST /auth/login', { body: BODY, headers })).status).toBe(200)
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })

  test('is not looked for in cookies that are no tokens', async () => {
    const { createBrowser } = createRoutes()
    const headers = { cookie: 'access_token_cookie=a.b.c; refresh_token_cookie=x; refresh_token_cookie=y' }
    expect((await createBrowser().send('POST /auth/login', { body: BODY, headers })).status).toBe(200)
  })

  test('goes on if the new session cannot be opened', async () => {
    const { createBrowser, store } = createRoutes()
    const browser = createBrowser()
    await browser.logIn()
    const sessions = store.sessions as NonNullable<typeof store.sessions>
    vi.spyOn(sessions, 'open').mockRejectedValueOnce(new Error('gone'))
    const response = await browser.logIn('grace')
    expect(response.headers.getSetCookie()).toEqual([])
    expect(await outcome(response)).toEqual([503, 'REVOCATION_UNAVAILABLE'])
    expect(await readSession(await browser.send('GET /auth/session'))).toMatchObject({ sub: 'ada' })
  })

  test('goes on if it cannot be ended, and the new one is not left open', async () => {
    const { createBrowser, store, tokens } = createRoutes()
    const browser = createBrowser()
    await browser.logIn()
    vi.spyOn(store, 'revoke').mockRejectedValueOnce(new Error('gone'))
    const response = await browser.logIn('grace')
    expect(response.headers.getSetCookie()).toEqual([])
    expect(await outcome(response)).toEqual([503, 'REVOCATION_UNAVAILABLE'])
    expect(await readSession(await browser.send('GET /auth/session'))).toMatchObject({ sub: 'ada' })
    expect(await tokens.sessions.list('grace')).toEqual([])
  })

  test('of the same user is ended before with a limit of sessions, so its cookies go with it', async () => {
    const { createBrowser, store } = createRoutes(COOKIES, { maxSessions: 1 })
    const browser = createBrowser()
    await browser.logIn()
    const sessions = store.sessions as NonNullable<typeof store.sessions>
    const openLimited = vi.spyOn(sessions as Required<typeof sessions>, 'openLimited')
    openLimited.mockRejectedValueOnce(new Error('gone'))
    const other = await browser.logIn('grace')
    expect(other.headers.getSetCookie()).toEqual([])
    expect((await browser.send('GET /auth/session')).status).toBe(200)
    openLimited.mockRejectedValueOnce(new Error('gone'))
    const same = await browser.logIn('ada')
    expect(same.headers.getSetCookie()).toHaveLength(3)
    expect(await outcome(same)).toEqual([503, 'REVOCATION_UNAVAILABLE'])
    expect(browser.jar.headers('/auth')).toEqual({})
  })
})

describe('the rate limiter', () => {
  test('is asked before and told after, with what it can count by', async () => {
    const told: [route: string, outcome: LoginOutcome][] = []
    const before = vi.fn(() => undefined)
    const { createBrowser } = createRoutes(COOKIES, {
      clientIp: () => '192.0.2.7',
      rateLimit: { before, after: (attempt, result) => void told.push([attempt.route, result]) },
      logIn: ({ name, password }) =>
        name === 'two' ? Response.json({}) : password === 'secret' ? { uid: String(name) } : null,
    })
    const browser = createBrowser()
    await browser.logIn()
    await browser.logIn('two')
    await browser.send('POST /auth/step-up', { body: { ...BODY, name: 'grace' } })
    await browser.send('POST /auth/step-up', { body: BODY })
    await browser.send('POST /auth/login', { body: { name: 'ada' } })
    expect(told).toEqual([
      ['login', 'success'],
      ['login', 'response'],
      ['step-up', 'failure'],
      ['step-up', 'success'],
      ['login', 'failure'],
    ])
    expect(before).toHaveBeenCalledWith({
      route: 'login',
      ip: '192.0.2.7',
      sub: null,
      credentials: BODY,
      request: expect.any(Request) as Request,
    })
  })

  test('keeps logIn from being called', async () => {
    const logIn = vi.fn(() => null)
    const { createBrowser } = createRoutes(COOKIES, { logIn, rateLimit: { before: () => 0.2 } })
    const response = await createBrowser().logIn()
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await outcome(response)).toEqual([429, 'RATE_LIMITED'])
    expect(logIn).not.toHaveBeenCalled()
  })

  test.each([true, '30', -1, Number.NaN, Number.POSITIVE_INFINITY])(
    '%s is no time to wait',
    async (seconds) => {
      const { createBrowser } = createRoutes(COOKIES, { rateLimit: { before: () => seconds as number } })
      await expect(createBrowser().logIn()).rejects.toThrow(TypeError)
    },
  )

  test('that fails refuses the login', async () => {
    const error = new Error('limiter down')
    const { createBrowser } = createRoutes(COOKIES, { rateLimit: { before: () => Promise.reject(error) } })
    await expect(createBrowser().logIn()).rejects.toBe(error)
  })
})

test('the claim of the identity is no extra claim', async () => {
  const { createBrowser } = createRoutes({ JWT_IDENTITY_CLAIM: 'user_id' })
  const body = (await (await createBrowser().logIn()).json()) as { accessToken: string; session: object }
  expect(openToken(body.accessToken).claims).toMatchObject({ user_id: 'ada' })
  expect(body.session).toMatchObject({ sub: 'ada', claims: { role: 'reader' } })
})
