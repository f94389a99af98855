import { describe, expect, test } from 'vitest'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { withBearer } from '../helpers/manager.js'
import { COOKIES, createRoutes, outcome } from './routes.js'

describe('a token that belongs to no session', () => {
  const { tokens, routes, createBrowser } = createRoutes({})
  const send = (route: string, token = tokens.createAccessToken({ uid: 'solo' })): Promise<Response> =>
    createBrowser().send(route, { headers: { authorization: `Bearer ${token}` } })

  test('shows itself', async () => {
    const response = await send('GET /auth/session')
    expect(await response.json()).toMatchObject({
      session: { id: null, sub: 'solo', accessExpiresIn: 900, expiresIn: 900 },
    })
  })

  test('lists the sessions of its user, none of which is its own, and ends one', async () => {
    await tokens.sessions.open({ uid: 'solo' })
    const page = (await (await send('GET /auth/sessions')).json()) as { sessions: { id: string }[] }
    expect(page.sessions).toEqual([expect.objectContaining({ isCurrent: false })])
    expect((await send(`DELETE /auth/sessions/${page.sessions[0]?.id}`)).status).toBe(204)
  })

  test('has no other sessions', async () => {
    expect(await outcome(await send('DELETE /auth/sessions'))).toEqual([404, 'SESSION_NOT_FOUND'])
  })

  test('is ended by a logout, and by one everywhere', async () => {
    for (const route of ['logout', 'logout-everywhere']) {
      const token = tokens.createAccessToken({ uid: 'solo' })
      expect((await send(`POST /auth/${route}`, token)).status).toBe(204)
      expect((await routes.session(withBearer(token))).status).toBe(401)
    }
  })
})

describe('GET session', () => {
  test('has the end of the session, or the longest pause if that is sooner', async () => {
    for (const [idle, seconds] of [
      ['1h', 3600],
      ['3h', 7200],
      [false, 7200],
    ] as const) {
      const { createBrowser, clock } = createRoutes({
        ...COOKIES,
        JWT_REFRESH_TOKEN_EXPIRES: '2h',
        JWT_REFRESH_IDLE_EXPIRES: idle,
      })
      const browser = createBrowser()
      const login = await browser.logIn()
      expect(await login.json()).toMatchObject({ session: { expiresIn: seconds, accessExpiresIn: 900 } })
      clock.seconds += 60.5
      expect(await (await browser.send('GET /auth/session')).json()).toMatchObject({
        session: { expiresIn: seconds - 61, accessExpiresIn: 839, fresh: true },
      })
    }
  })

  test('says null for what never ends', async () => {
    const { createBrowser } = createRoutes({
      ...COOKIES,
      JWT_ACCESS_TOKEN_EXPIRES: false,
      JWT_REFRESH_TOKEN_EXPIRES: false,
      JWT_REFRESH_IDLE_EXPIRES: false,
    })
    const browser = createBrowser()
    await browser.logIn()
    const { session } = (await (await browser.send('GET /auth/session')).json()) as { session: object }
    expect(session).toMatchObject({ expiresIn: null, accessExpiresIn: null })
  })

  test('says how long an access token is fresh', async () => {
    const { createBrowser, clock } = createRoutes(COOKIES, {
      describeUser: () => ({ access: { fresh: '1m' } }),
    })
    const browser = createBrowser()
    expect(await (await browser.logIn()).json()).toMatchObject({ session: { fresh: true } })
    clock.seconds += 60
    expect(await (await browser.send('GET /auth/session')).json()).toMatchObject({
      session: { fresh: false },
    })
  })
})

test('a user whose id is stored as a digest has sessions like any other', async () => {
  const { createBrowser } = createRoutes()
  const browser = createBrowser()
  await browser.logIn('zoë@example')
  const { sessions } = (await (await browser.send('GET /auth/sessions')).json()) as {
    sessions: { id: string }[]
  }
  expect(sessions).toEqual([expect.objectContaining({ isCurrent: true })])
  expect(sessions[0]).not.toHaveProperty('sub')
  expect((await browser.send(`DELETE /auth/sessions/${sessions[0]?.id}`)).status).toBe(204)
})

describe('the name of a session', () => {
  const open = async (data?: object) => {
    const { tokens, routes } = createRoutes({})
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, data && { data: data as never })
    const { sid = '' } = await tokens.verify(accessToken)
    const rename = (body: string, id = sid) => {
      const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }
      return routes.renameSession(new Request('http://localhost/', { method: 'PATCH', headers, body }), id)
    }
    return { rename, read: async () => (await tokens.sessions.get(sid))?.data }
  }

  test.each(['x', '', '{"label":"a","label":"b"}', '{"label":"a","__proto__":1}', '"a"', '['.repeat(500)])(
    'does not come from the body %j',
    async (body) => {
      const { rename, read } = await open({ label: 'phone' })
      expect(await outcome(await rename(body))).toEqual([400, 'REQUEST_INVALID'])
      expect(await read()).toEqual({ label: 'phone' })
    },
  )

  test('is refused if the data has no room for it', async () => {
    const { rename, read } = await open({ note: 'x'.repeat(2000) })
    expect(await outcome(await rename(`{"label":"${'y'.repeat(100)}"}`))).toEqual([
      400,
      'SESSION_DATA_TOO_LARGE',
    ])
    expect((await rename('{"label":"y"}')).status).toBe(204)
    expect(await read()).toMatchObject({ label: 'y' })
  })

  test('needs an id', async () => {
    const { rename } = await open()
    expect(await outcome(await rename('{"label":"a"}', ''))).toEqual([404, 'SESSION_NOT_FOUND'])
    await expect(rename('{"label":"a"}', 5 as never)).rejects.toThrow(TypeError)
  })
})

describe('a route that an application mounts itself', () => {
  const { routes } = createRoutes(COOKIES, { path: '/deep/auth' })

  test.each([
    ['login', 'GET', 'POST'],
    ['refresh', 'GET', 'POST'],
    ['logout', 'GET', 'POST'],
    ['logoutEverywhere', 'GET', 'POST'],
    ['stepUp', 'GET', 'POST'],
    ['session', 'POST', 'GET, HEAD'],
    ['sessions', 'POST', 'GET, HEAD'],
    ['endOtherSessions', 'GET', 'DELETE'],
  ] as const)('%s refuses %s', async (name, method, allow) => {
    const response = await routes[name](new Request('http://localhost/', { method }))
    expect(response.headers.get('allow')).toBe(allow)
    expect(await outcome(response)).toEqual([405, 'METHOD_NOT_ALLOWED'])
  })

  test('endSession refuses GET, and what is no id', async () => {
    const request = new Request('http://localhost/')
    expect((await routes.endSession(request, 'id')).status).toBe(405)
    await expect(routes.endSession(request, undefined as never)).rejects.toThrow(TypeError)
  })

  test('endSession finds no session with an empty id', async () => {
    const { tokens, routes: own } = createRoutes({})
    const headers = { authorization: `Bearer ${tokens.createAccessToken({ uid: 'ada' })}` }
    const request = new Request('http://localhost/', { method: 'DELETE', headers })
    expect(await outcome(await own.endSession(request, ''))).toEqual([404, 'SESSION_NOT_FOUND'])
  })

  test.each([
    '/auth/login',
    '/deep/auth',
    '/deep/auth/',
    '/deep/authlogin',
    '/deep/auth/login/',
    '/deep/auth/toString',
  ])('handle passes on %s', async (path) => {
    expect(await routes.handle(new Request(`http://localhost${path}`, { method: 'POST' }))).toBeNull()
  })

  test('handle passes on pre-flights', async () => {
    const request = new Request('http://localhost/deep/auth/login', { method: 'OPTIONS' })
    expect(await routes.handle(request)).toBeNull()
  })
})

test('a manager that reads one type from cookies deletes only its cookies', async () => {
  const { createBrowser } = createRoutes({
    JWT_COOKIE_SECURE: false,
    JWT_TOKEN_LOCATION: 'headers',
    JWT_REFRESH_TOKEN_LOCATION: 'cookies',
  })
  const response = await createBrowser().send('POST /auth/logout')
  expect(Object.keys(parseSetCookies(response.headers.getSetCookie()))).toEqual([
    'refresh_token_cookie',
    'csrf_access_token',
  ])
  const bearer = createRoutes({}).createBrowser()
  expect((await bearer.send('POST /auth/logout')).headers.getSetCookie()).toEqual([])
})

test('messages have the key of the configuration', async () => {
  const { createBrowser } = createRoutes({ ...COOKIES, JWT_ERROR_MESSAGE_KEY: 'detail' })
  const response = await createBrowser().send('POST /auth/login', { body: {} })
  expect(await response.json()).toEqual({ detail: expect.any(String) as string, code: 'CREDENTIALS_INVALID' })
})
