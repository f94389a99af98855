import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { describe, expect, test } from 'vitest'
import { enforce, handleErrors, inject } from '../../src/adapters/hono.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf, type RequestBody } from '../helpers/requests.js'

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

const postForm = (app: Hono, body: RequestBody) =>
  app.request('/', { method: 'POST', headers: { cookie: `access_token_cookie=${TOKEN}` }, body })

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
  test.each(READERS)('JSN-01 JSN-07 the route reads the body afterwards with %s', async (_, read) => {
    const response = await postJson(createApp(async (c) => c.json(await read(c))))
    expect(response.status).toBe(200)
    await expect(response.json()).resolves.toEqual(BODY)
  })

  // For what takes a Request: another application, tRPC, a proxy.
  test('JSN-07 the route can hand the raw request on, body and all', async () => {
    const inner = new Hono().post('/', async (c) => c.json(await c.req.json().catch(() => 'no body')))
    const response = await postJson(createApp((c) => inner.fetch(c.req.raw)))
    await expect(response.json()).resolves.toEqual(BODY)
  })

  test.each(READERS)(
    'JSN-01 the token is found after an earlier middleware read it with %s',
    async (_, read) => {
      const before: MiddlewareHandler = async (c, next) => {
        await read(c)
        await next()
      }
      const response = await postJson(createApp(async (c) => c.json(await c.req.json()), before))
      expect(response.status).toBe(200)
      await expect(response.json()).resolves.toEqual(BODY)
    },
  )

  test('JSN-01 a body that was read past Hono has no token for us', async () => {
    const before: MiddlewareHandler = async (c, next) => {
      await c.req.raw.text()
      await next()
    }
    expect((await postJson(createApp((c) => c.text('ran'), before))).status).toBe(401)
  })

  test.each([
    ['malformed', '{"access_token":'],
    ['empty', ''],
    ['without a token', '{"title":"x"}'],
  ])('JSN-01 a body that is %s is refused as one without a token', async (_, body) => {
    const response = await postJson(
      createApp((c) => c.text('ran')),
      body,
    )
    expect(response.status).toBe(401)
    await expect(response.json()).resolves.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('JSN-07 on an optional route a malformed body is left as it was', async () => {
    const app = new Hono()
    app.post('/', enforce(tokens.accessTokenOptional), async (c) => c.text(await c.req.text()))
    await expect((await postJson(app, '{"access_token":')).text()).resolves.toBe('{"access_token":')
  })

  test('JSN-01 a token that is no string is refused', async () => {
    const response = await postJson(
      createApp((c) => c.text('ran')),
      '{"access_token":42}',
    )
    expect(response.status).toBe(401)
    await expect(response.json()).resolves.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test('JSN-07 a body over 1 MiB is not searched, and left to the route', async () => {
    const app = new Hono()
    app.post(
      '/',
      inject({ token: tokens.getTokenFromRequest }, async ({ token }, c) =>
        c.json({ isFound: token !== null, length: (await c.req.text()).length }),
      ),
    )
    const large = JSON.stringify({ ...BODY, filler: 'x'.repeat(1024 * 1024) })
    const response = await postJson(app, large)
    await expect(response.json()).resolves.toEqual({ isFound: false, length: large.length })
  })

  test('JSN-01 a dependency before and one after a middleware that reads the body both find the token', async () => {
    const app = new Hono()
    app.use(enforce(tokens.accessTokenRequired), async (c, next) => {
      await c.req.text()
      await next()
    })
    app.post('/', enforce(tokens.tokenRequired), async (c) => c.json(await c.req.json()))
    await expect((await postJson(app)).json()).resolves.toEqual(BODY)
  })

  test("JSN-01 Hono's bodyLimit in front keeps large bodies out, and small ones whole", async () => {
    const limit = bodyLimit({ maxSize: 1024 })
    const app = createApp(async (c) => c.json(await c.req.json()), limit)
    await expect((await postJson(app)).json()).resolves.toEqual(BODY)
    const large = JSON.stringify({ ...BODY, filler: 'x'.repeat(1024) })
    expect((await postJson(app, large)).status).toBe(413)
  })

  test('JSN-01 in a sub-application, guarded outside and inside', async () => {
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

describe('a CSRF value in a form', () => {
  const form = (...values: readonly (string | Blob)[]): FormData => {
    const data = new FormData()
    data.append('title', 'a form')
    for (const value of values) data.append('csrf_token', value)
    return data
  }
  const app = createApp(async (c) => c.json((await c.req.parseBody())['title']))

  test.each([
    ['multipart', form(csrfOf(TOKEN))],
    ['urlencoded', new URLSearchParams({ title: 'a form', csrf_token: csrfOf(TOKEN) })],
  ])('CKI-12 JSN-07 a %s field supplies it, and the route reads the form', async (_, body) => {
    const response = await postForm(app, body)
    expect(response.status).toBe(200)
    await expect(response.json()).resolves.toBe('a form')
  })

  test('CKI-12 the token is found after an earlier middleware read the form', async () => {
    const before: MiddlewareHandler = async (c, next) => {
      await c.req.parseBody()
      await next()
    }
    expect(
      (
        await postForm(
          createApp((c) => c.text('ran'), before),
          form(csrfOf(TOKEN)),
        )
      ).status,
    ).toBe(200)
  })

  test.each([
    ['absent', form(), 'CSRF_MISSING'],
    ['empty', form(''), 'CSRF_MISSING'],
    ['wrong', form('wrong'), 'CSRF_MISMATCH'],
    ['a file', form(new Blob([csrfOf(TOKEN)])), 'CSRF_MISSING'],
    ['sent twice', form(csrfOf(TOKEN), csrfOf(TOKEN)), 'CSRF_MISSING'],
  ])('CKI-12 CKI-14 a field that is %s is refused', async (_, body, code) => {
    const response = await postForm(app, body)
    expect(response.status).toBe(401)
    await expect(response.json()).resolves.toMatchObject({ code })
  })
})
