import { type Context, type ErrorHandler, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { describe, expect, test } from 'vitest'
import { sendCookies as sendFetchCookies } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { enforce, handleErrors, inject, sendCookies } from '../../packages/tokenlib/src/frameworks/hono.js'
import type { RequestSource } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

test('enforce guards every route below a path', async () => {
  const app = new Hono()
  app.onError(handleErrors())
  app.use('/admin/*', enforce(tokens.accessTokenRequired))
  app.get('/admin/users', (c) => c.text('users')).get('/', (c) => c.text('open'))
  expect((await app.request('/')).status).toBe(200)
  expect((await app.request('/admin/users')).status).toBe(401)
  expect((await app.request('/admin/users', bearer(TOKEN))).status).toBe(200)
})

describe('inject', () => {
  test('as middleware puts the values into c.var, and the route has its path parameters', async () => {
    const app = new Hono().get(
      '/users/:id',
      inject({ payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest }),
      (c) => {
        const id: string = c.req.param('id')
        return c.json({ id, sub: c.var.payload.sub, age: c.get('payload').age, at: c.var.token?.location })
      },
    )
    const response = await app.request('/users/7', bearer(TOKEN))
    await expect(response.json()).resolves.toEqual({ id: '7', sub: 'ada', age: 36, at: 'headers' })
  })

  test('as a handler gives the values and the context, with the path parameters', async () => {
    const app = new Hono().get(
      '/users/:id',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) =>
        c.json([payload.sub, c.req.param('id')]),
      ),
    )
    const response = await app.request('/users/7', bearer(TOKEN))
    await expect(response.json()).resolves.toEqual(['ada', '7'])
  })
})

describe('a dependency called in a route', () => {
  // `c.header` and `c.body` make a response: a context looks like a view and is none.
  test.each(['headers', 'cookies', 'json', 'query'] as const)(
    'refuses the context itself with a TypeError, for %s too',
    async (location) => {
      const { tokens } = createManager({ JWT_TOKEN_LOCATION: location })
      const app = new Hono().get('/', async (c) => {
        const source = c as unknown as RequestSource
        const error: unknown = await tokens.accessTokenOptional(source).catch((reason: unknown) => reason)
        return c.text(error instanceof TypeError ? 'TypeError' : String(error))
      })
      await expect((await app.request('/', bearer(TOKEN))).text()).resolves.toBe('TypeError')
    },
  )
})

describe('errors', () => {
  function createApp(onError?: ErrorHandler): Hono {
    const app = new Hono()
    if (onError !== undefined) app.onError(onError)
    app.get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ran'))
    return app
  }

  test('an HTTPException keeps the headers that were set before it, as without a handler', async () => {
    const answers = []
    for (const onError of [undefined, handleErrors()]) {
      const app = new Hono()
      if (onError !== undefined) app.onError(onError)
      app.get('/', (c) => {
        c.header('x-set-before', '1')
        throw new HTTPException(403, { message: 'no' })
      })
      const response = await app.request('/')
      answers.push([response.status, response.headers.get('x-set-before'), await response.text()])
    }
    expect(answers).toEqual([
      [403, '1', 'no'],
      [403, '1', 'no'],
    ])
  })

  test("a sub-application's own handler comes before that of the whole", async () => {
    const app = new Hono()
    app.onError(handleErrors())
    app.route(
      '/own',
      createApp((_, c) => c.text('own', 410)),
    )
    app.route('/shared', createApp())
    expect((await app.request('/own')).status).toBe(410)
    expect((await app.request('/shared')).status).toBe(401)
    expect((await app.request('/shared', bearer(TOKEN))).status).toBe(200)
  })
})

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
})
