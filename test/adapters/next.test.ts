import { beforeAll, describe, expect, test, vi } from 'vitest'
import { createCookieJar } from '../helpers/cookie-jar.js'
import { SECRET, withBearer } from '../helpers/manager.js'
import { createRequest, type RequestBody } from '../helpers/requests.js'

/** The modules of examples/next, loaded as Next.js loads them: after the environment is set. */
async function load() {
  vi.stubEnv('JWT_SECRET_KEY', SECRET)
  return {
    ...(await import('../../examples/next/lib/tokens.js')),
    login: (await import('../../examples/next/app/api/login/route.js')).POST,
    me: (await import('../../examples/next/app/api/me/route.js')).GET,
    user: (await import('../../examples/next/app/api/users/[id]/route.js')).PUT,
    proxy: (await import('../../examples/next/proxy.js')).proxy,
  }
}

let app: Awaited<ReturnType<typeof load>>
beforeAll(async () => void (app = await load()))

const accessToken = () => app.tokens.createAccessToken({ uid: 'ada' })
const postLogin = (contentType: string, body: RequestBody) =>
  app.login(
    createRequest({ method: 'POST', path: '/api/login', headers: { 'content-type': contentType }, body }),
  )
const login = (uid: unknown) => postLogin('application/json', JSON.stringify({ uid }))

describe('a route handler', () => {
  test('answers a request with a token', async () => {
    const response = await app.me(withBearer(accessToken()))
    expect(response.status).toBe(200)
    await expect(response.json()).resolves.toEqual({ id: 'ada' })
  })

  test('refuses one without, by itself and not by the proxy', async () => {
    const response = await app.me(createRequest())
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="api"')
  })

  // Next.js hands a subclass of Request over, and in some cases a Proxy around it.
  test('takes a subclass of Request, and a Proxy around one', async () => {
    class NextRequest extends Request {
      readonly nextUrl = new URL(this.url)
    }
    const request = new NextRequest('http://localhost/api/me', {
      headers: { authorization: `Bearer ${accessToken()}` },
    })
    const wrapped = new Proxy(request, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    for (const given of [request, wrapped]) expect((await app.me(given)).status).toBe(200)
  })

  test('gets its params, which are a promise, and can read the body', async () => {
    const request = () =>
      createRequest({
        method: 'PUT',
        headers: { authorization: `Bearer ${accessToken()}` },
        body: 'Ada Lovelace',
      })
    const own = await app.user(request(), { params: Promise.resolve({ id: 'ada' }) })
    await expect(own.json()).resolves.toEqual({ id: 'ada', name: 'Ada Lovelace' })
    const other = await app.user(request(), { params: Promise.resolve({ id: 'grace' }) })
    expect(other.status).toBe(403)
  })

  test('does not look at its params when the request is refused', async () => {
    const response = await app.user(createRequest({ method: 'PUT' }), { params: new Promise(() => {}) })
    expect(response.status).toBe(401)
  })
})

describe('the log-in', () => {
  test('answers with four cookies, which the routes accept', async () => {
    const response = await login('ada')
    expect(response.status).toBe(200)
    const cookies = response.headers.getSetCookie()
    expect(cookies.map((cookie) => cookie.split('=', 1)[0])).toEqual([
      'access_token_cookie',
      'csrf_access_token',
      'refresh_token_cookie',
      'csrf_refresh_token',
    ])

    const jar = createCookieJar()
    jar.store(cookies)
    const me = await app.me(createRequest({ headers: jar.headers() }))
    await expect(me.json()).resolves.toEqual({ id: 'ada' })
  })

  test('a request that changes something needs the CSRF value beside the cookie', async () => {
    const jar = createCookieJar()
    jar.store((await login('ada')).headers.getSetCookie())
    const put = (headers: Record<string, string>) =>
      app.user(createRequest({ method: 'PUT', headers: { ...jar.headers(), ...headers }, body: 'Ada' }), {
        params: Promise.resolve({ id: 'ada' }),
      })
    const refused = await put({})
    await expect(refused.json()).resolves.toMatchObject({ code: 'CSRF_MISSING' })
    const csrf = jar.read('csrf_access_token') ?? ''
    expect((await put({ 'x-csrf-token': csrf })).status).toBe(200)
  })

  test.each([
    ['no name', () => login('')],
    ['a name that is no text', () => login(['ada'])],
    ['a body that is no object', () => postLogin('application/json', 'null')],
    ['a body that is no JSON', () => postLogin('application/json', 'uid=ada')],
  ])('with %s is refused, and sets nothing', async (_, send) => {
    const response = await send()
    expect(response.status).toBe(400)
    expect(response.headers.getSetCookie()).toEqual([])
  })

  // HTML §4.10.21.6: the encodings that a form of another site can choose; a text/plain one can look like JSON.
  test.each([
    ['application/x-www-form-urlencoded', 'uid=mallory'],
    ['text/plain', '{"uid":"mallory","x":"="}'],
    ['text/plain; charset=utf-8; application/json', '{"uid":"mallory"}'],
    [
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="uid"\r\n\r\nmallory\r\n--x--',
    ],
  ])('takes no form of another site (OWASP CSRF: login forms): %s', async (contentType, body) => {
    const response = await postLogin(contentType, body)
    expect(response.status).toBe(415)
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test('takes no body without a media type, as a script of another site can send', async () => {
    const response = await app.login(
      createRequest({
        method: 'POST',
        path: '/api/login',
        body: new TextEncoder().encode('{"uid":"mallory"}'),
      }),
    )
    expect(response.status).toBe(415)
  })

  test('takes JSON with parameters, in any case', async () => {
    const response = await postLogin('Application/JSON; charset=utf-8', '{"uid":"ada"}')
    expect(response.status).toBe(200)
  })
})

describe('the proxy', () => {
  test('lets a request with a good token on, which for Next.js is to return nothing', async () => {
    await expect(app.proxy(withBearer(accessToken()))).resolves.toBeUndefined()
  })

  test.each([
    ['no token', () => createRequest(), 'TOKEN_MISSING'],
    ['a bad token', () => withBearer('bad'), 'TOKEN_INVALID'],
    [
      'a refresh token',
      () => withBearer(app.tokens.createRefreshToken({ uid: 'ada' })),
      'ACCESS_TOKEN_REQUIRED',
    ],
  ])('refuses a request with %s', async (_, request, code) => {
    const response = await app.proxy(request())
    expect(response?.status).toBe(401)
    expect(response?.headers.get('cache-control')).toBe('no-store')
    await expect(response?.json()).resolves.toMatchObject({ code })
  })

  test('leaves other errors to Next.js', async () => {
    await expect(app.proxy({} as Request)).rejects.toBeInstanceOf(TypeError)
  })

  test('guards the routes that need a token, and not the log-in', async () => {
    const { config } = await import('../../examples/next/proxy.js')
    expect(config.matcher).toEqual(['/api/me', '/api/users/:path*'])
  })
})

test('without a key in the environment the application does not start', async () => {
  vi.resetModules()
  vi.stubEnv('JWT_SECRET_KEY', undefined)
  try {
    const loading = import('../../examples/next/app/api/me/route.js')
    await expect(loading).rejects.toMatchObject({ name: 'ConfigurationError' })
  } finally {
    vi.unstubAllEnvs()
  }
})
