import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { describe, expect, test } from 'vitest'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/hono.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf } from '../helpers/requests.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json', 'cookies'], JWT_CSRF_CHECK_FORM: true })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const BODY = { access_token: TOKEN, title: 'x' }

/** An application whose one route is guarded, after `before`. */
function createApp(
  route: (c: Context) => Response | Promise<Response>,
  ...before: MiddlewareHandler[]
): Hono {
  const app = new Hono()
  app.onError(handleErrors())
  for (const middleware of before) app.use(middleware)
  app.post('/', enforce(tokens.accessTokenRequired), route)
  return app
}

const postJson = (app: Hono, body: string = JSON.stringify(BODY), path = '/') =>
  app.request(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body })

const READERS: readonly [name: string, read: (c: Context) => Promise<unknown>][] = [
  ['c.req.json()', (c) => c.req.json()],
  ['c.req.text()', async (c) => JSON.parse(await c.req.text()) as unknown],
  [
    'c.req.arrayBuffer()',
    async (c) => JSON.parse(Buffer.from(await c.req.arrayBuffer()).toString()) as unknown,
  ],
  ['c.req.blob()', async (c) => JSON.parse(await (await c.req.blob()).text()) as unknown],
]

describe('a token in a JSON body', () => {
  // For what takes a Request: another application, tRPC, a proxy.
  test('the route can hand the raw request on, body and all', async () => {
    const inner = new Hono().post('/', async (c) => c.json(await c.req.json().catch(() => 'no body')))
    const response = await postJson(createApp((c) => inner.fetch(c.req.raw)))
    await expect(response.json()).resolves.toEqual(BODY)
  })

  test.each(READERS)('the token is found after an earlier middleware read it with %s', async (_, read) => {
    const before: MiddlewareHandler = async (c, next) => {
      await read(c)
      await next()
    }
    const response = await postJson(createApp(async (c) => c.json(await c.req.json()), before))
    expect(response.status).toBe(200)
    await expect(response.json()).resolves.toEqual(BODY)
  })

  test('a body that was read past Hono has no token for us', async () => {
    const before: MiddlewareHandler = async (c, next) => {
      await c.req.raw.text()
      await next()
    }
    expect((await postJson(createApp((c) => c.text('ran'), before))).status).toBe(401)
  })

  test('a dependency before and one after a middleware that reads the body both find the token', async () => {
    const app = new Hono()
    app.use(enforce(tokens.accessTokenRequired), async (c, next) => {
      await c.req.text()
      await next()
    })
    app.post('/', enforce(tokens.tokenRequired), async (c) => c.json(await c.req.json()))
    await expect((await postJson(app)).json()).resolves.toEqual(BODY)
  })

  test('a call in the route finds the token behind a guard that knows another one, in the header', async () => {
    const { tokens: mixed } = createManager({
      JWT_TOKEN_LOCATION: 'headers',
      JWT_REFRESH_TOKEN_LOCATION: 'json',
    })
    const app = new Hono()
    app.post('/', enforce(mixed.accessTokenRequired), async (c) => {
      await c.req.json()
      return c.text((await mixed.refreshTokenRequired(c.req.raw)).sub)
    })
    const authorization = `Bearer ${mixed.createAccessToken({ uid: 'ada' })}`
    const body = JSON.stringify({ refresh_token: mixed.createRefreshToken({ uid: 'ada' }) })
    for (let times = 1; times <= 4; times++) {
      const headers = { authorization, 'content-type': 'application/json' }
      const response = await app.request('/', { method: 'POST', headers, body })
      expect([times, await response.text()]).toEqual([times, 'ada'])
    }
  })

  test("Hono's bodyLimit in front keeps large bodies out, and small ones whole", async () => {
    const limit = bodyLimit({ maxSize: 1024 })
    const app = createApp(async (c) => c.json(await c.req.json()), limit)
    await expect((await postJson(app)).json()).resolves.toEqual(BODY)
    const large = JSON.stringify({ ...BODY, filler: 'x'.repeat(1024) })
    expect((await postJson(app, large)).status).toBe(413)
  })

  test('in a sub-application, guarded outside and inside', async () => {
    const sub = new Hono().post(
      '/me',
      inject({ payload: tokens.accessTokenRequired }, async ({ payload }, c) =>
        c.json([payload.sub, await c.req.json()]),
      ),
    )
    const app = new Hono()
    app.use('/api/*', enforce(tokens.accessTokenRequired))
    app.route('/api', sub)
    const response = await postJson(app, undefined, '/api/me')
    await expect(response.json()).resolves.toEqual(['ada', BODY])
  })
})

test('the CSRF value of a form is found after an earlier middleware read the form', async () => {
  const before: MiddlewareHandler = async (c, next) => {
    await c.req.parseBody()
    await next()
  }
  const body = new FormData()
  body.append('csrf_token', csrfOf(TOKEN))
  const headers = { cookie: `access_token_cookie=${TOKEN}` }
  const app = createApp((c) => c.text('ran'), before)
  expect((await app.request('/', { method: 'POST', headers, body })).status).toBe(200)
})
