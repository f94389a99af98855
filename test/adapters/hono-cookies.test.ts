import { type Context, Hono } from 'hono'
import { setCookie } from 'hono/cookie'
import { describe, expect, test } from 'vitest'
import { sendCookies as sendFetchCookies } from '../../src/adapters/fetch.js'
import { enforce, handleErrors, inject, sendCookies } from '../../src/adapters/hono.js'
import { setAccessCookies, setRefreshCookies, unsetCookies } from '../../src/index.js'
import { createCookieJar } from '../helpers/cookie-jar.js'
import { createManager } from '../helpers/manager.js'

const COOKIES = ['a=1; Path=/', 'b=2; Path=/; Expires=Thu, 01 Jan 2026 00:00:00 GMT']

async function cookiesOf(route: (c: Context) => Response): Promise<string[]> {
  const app = new Hono().get('/', route)
  return (await app.request('/')).headers.getSetCookie()
}

describe('sendCookies', () => {
  test.each<[name: string, answer: (c: Context) => Response]>([
    ['c.json', (c) => c.json('ok')],
    ['c.text', (c) => c.text('ok')],
    ['c.body', (c) => c.body(null, 204)],
    ['c.redirect', (c) => c.redirect('/home')],
  ])('adds every cookie to what %s answers', async (_, answer) => {
    const cookies = await cookiesOf((c) => {
      sendCookies(c, COOKIES)
      return answer(c)
    })
    expect(cookies).toEqual(COOKIES)
  })

  test("keeps the cookies of the application and of Hono's own helper", async () => {
    const cookies = await cookiesOf((c) => {
      setCookie(c, 'theme', 'dark')
      sendCookies(c, COOKIES)
      setCookie(c, 'lang', 'en')
      return c.json('ok')
    })
    expect(cookies).toEqual(['theme=dark; Path=/', ...COOKIES, 'lang=en; Path=/'])
  })

  test('adds to a response that is made already, in a middleware', async () => {
    const app = new Hono()
    app.use(async (c, next) => {
      await next()
      sendCookies(c, COOKIES)
    })
    app.get('/', () => new Response('ok', { headers: { 'set-cookie': 'own=1' } }))
    app.get('/redirect', () => Response.redirect('http://localhost/home', 302))
    expect((await app.request('/')).headers.getSetCookie()).toEqual(['own=1', ...COOKIES])
    expect((await app.request('/redirect')).headers.getSetCookie()).toEqual(COOKIES)
  })

  test('a Response made by hand takes those of tokenlib/fetch', async () => {
    const app = new Hono()
    app.get(
      '/',
      enforce(() => true),
      () => sendFetchCookies(Response.redirect('http://localhost/home', 302), COOKIES),
    )
    const response = await app.request('/')
    expect(response.headers.get('location')).toBe('http://localhost/home')
    expect(response.headers.getSetCookie()).toEqual(COOKIES)
  })

  test('logs a browser in and out', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies'] })
    const jar = createCookieJar()
    const app = new Hono()
    app.onError(handleErrors({ config: tokens.config }))
    app.post('/login', async (c) => {
      const { accessToken, refreshToken } = await tokens.createTokenPair({ uid: 'ada' })
      sendCookies(c, [...setAccessCookies(tokens, accessToken), ...setRefreshCookies(tokens, refreshToken)])
      return c.body(null, 204)
    })
    app.get(
      '/me',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) => c.json(payload.sub)),
    )
    app.delete('/logout', enforce(tokens.accessTokenRequired), (c) => {
      sendCookies(c, unsetCookies(tokens))
      return c.body(null, 204)
    })

    jar.store((await app.request('/login', { method: 'POST' })).headers.getSetCookie())
    await expect((await app.request('/me', { headers: jar.headers() })).json()).resolves.toBe('ada')

    const csrf = { 'x-csrf-token': jar.read('csrf_access_token') ?? '' }
    const logout = await app.request('/logout', { method: 'DELETE', headers: { ...jar.headers(), ...csrf } })
    expect(logout.status).toBe(204)
    jar.store(logout.headers.getSetCookie())
    expect((await app.request('/me', { headers: jar.headers() })).status).toBe(401)
  })
})
