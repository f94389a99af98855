import { bodyLimit, defineValidatedHandler, H3, type H3Event, type Middleware, readBody } from 'h3'
import { toNodeHandler } from 'h3/node'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject, sendCookies } from '../../packages/tokenlib/src/frameworks/h3.js'
import { isTokenError, TokenExpiredError } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'

// What every adapter does is in matrix.test.ts.
const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const createApp = () => new H3({ silent: true })

describe('enforce', () => {
  test.each(['/admin/users', '/admin', '/admin/', '/%61dmin/users', '/admin/users?x'])(
    'guards every route below a path: %s',
    async (path) => {
      const app = createApp()
        .use(handleErrors())
        .use('/admin/**', enforce(tokens.accessTokenRequired))
        .get('/admin', () => 'admin')
        .get('/admin/users', () => 'users')
        .get('/', () => 'open')
      expect((await app.request('/')).status).toBe(200)
      expect((await app.request(path)).status).toBe(401)
      expect((await app.request(path, bearer(TOKEN))).status).toBe(200)
    },
  )
})

describe('inject', () => {
  test('gives the values and the event', async () => {
    const app = createApp().get(
      '/users/:id',
      inject({ payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest }, (values, event) => [
        values.payload.sub,
        values.payload.age,
        values.token?.location,
        event.context.params?.['id'],
      ]),
    )
    const response = await app.request('/users/7', bearer(TOKEN))
    await expect(response.json()).resolves.toEqual(['ada', 36, 'headers', '7'])
  })
})

describe('a middleware that replaces event.req with another request', () => {
  const bearerOf = (uid: string) => `Bearer ${tokens.createAccessToken({ uid })}`

  /** Two guards, and between them a middleware that gives the request these headers instead of its own. */
  function createReplacing(headers: Record<string, string>): H3 {
    return createApp()
      .use(handleErrors())
      .use(enforce(tokens.accessTokenRequired))
      .use((event) => void Object.assign(event, { req: new Request(event.req, { headers }) }))
      .get(
        '/',
        inject({ payload: tokens.accessTokenRequired }, async ({ payload }, event) => [
          payload.sub,
          (await tokens.accessTokenRequired(event.req)).sub,
        ]),
      )
  }

  // A token is remembered at its second request: the first two take the recipe, the others the fast lane.
  test('the guard after it reads the new token, whether or not it was seen before', async () => {
    const init = { headers: { authorization: bearerOf('ada') } }
    const app = createReplacing({ authorization: bearerOf('grace') })
    for (let times = 0; times < 4; times++) {
      const response = await app.request('/', init)
      await expect(response.json()).resolves.toEqual(['grace', 'grace'])
    }
  })

  test('the guard after it refuses a request without a token, whether or not the first was seen before', async () => {
    const init = { headers: { authorization: bearerOf('ada') } }
    const app = createReplacing({})
    for (let times = 0; times < 4; times++) {
      const response = await app.request('/', init)
      expect({ status: response.status, body: await response.json() }).toMatchObject({
        status: 401,
        body: { code: 'TOKEN_MISSING' },
      })
    }
  })
})

test('a request with another method is another one, also with the same headers', async () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
  const withMethod = (request: Request, method: string): Request =>
    new Proxy(request, {
      get(target, name) {
        const value: unknown = name === 'method' ? method : Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  const app = createApp()
    .use(handleErrors())
    .use(enforce(tokens.accessTokenRequired))
    .use((event) => void Object.assign(event, { req: withMethod(event.req, 'POST') }))
    .get(
      '/',
      inject({ payload: tokens.accessTokenRequired }, () => 'transferred'),
    )
  const headers = { cookie: `access_token_cookie=${tokens.createAccessToken({ uid: 'ada' })}` }
  const response = await app.request('/', { headers })
  expect(await response.json()).toMatchObject({ code: 'CSRF_MISSING' })
})

describe('a token in a JSON body', () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json' })
  const TOKEN = tokens.createAccessToken({ uid: 'ada' })
  const BODY = { access_token: TOKEN, title: 'x' }
  const JSON_INIT = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(BODY),
  }
  const OK = { status: 200, body: BODY }

  /** An application whose one route is guarded, after `before`. */
  function createGuarded(route: (event: H3Event) => unknown, ...before: Middleware[]): H3 {
    const app = new H3({ silent: true }).use(handleErrors())
    for (const middleware of before) app.use(middleware)
    return app.use(enforce(tokens.accessTokenRequired)).post('/', route)
  }

  const post = async (app: H3, body: string = JSON_INIT.body) => {
    const response = await app.request('/', { ...JSON_INIT, body })
    return { status: response.status, body: await response.json() }
  }

  test('a body that an earlier middleware read is gone: h3 does not keep it', async () => {
    const before: Middleware = async (event) => void (await readBody(event))
    const answer = await post(createGuarded(() => 'ran', before))
    expect(answer).toMatchObject({ status: 401, body: { code: 'TOKEN_MISSING' } })
  })

  test('a guard before bodyLimit and one after it share one check, and the route reads the body', async () => {
    const isRevoked = vi.fn(() => false)
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json'] })
    tokens.setCallbackTokenBlocklist(isRevoked)
    const app = new H3({ silent: true })
      .use(enforce(tokens.accessTokenRequired))
      .use(bodyLimit(1024))
      .post(
        '/',
        inject({ payload: tokens.accessTokenRequired }, async (_, event) => {
          await tokens.accessTokenRequired(event.req)
          return readBody(event)
        }),
      )
    await expect(post(app)).resolves.toEqual(OK)
    expect(isRevoked).toHaveBeenCalledTimes(1)
  })

  test('behind bodyLimit, which keeps large bodies out', async () => {
    const app = createGuarded(async (event) => {
      await tokens.tokenRequired(event.req)
      return readBody(event)
    }, bodyLimit(1024))
    await expect(post(app)).resolves.toEqual(OK)
    const server = await serveNode(toNodeHandler(app), 0)
    await expect((await fetch(server.url, JSON_INIT)).json()).resolves.toEqual(BODY)
    const large = JSON.stringify({ ...BODY, filler: 'x'.repeat(1024) })
    expect((await fetch(server.url, { ...JSON_INIT, body: large })).status).toBe(413)
    await server.close()
  })

  test('a guard in front of a validated handler leaves it the body', async () => {
    const app = new H3({ silent: true }).use(handleErrors()).post(
      '/',
      defineValidatedHandler({
        middleware: [enforce(tokens.accessTokenRequired)],
        validate: { body: z.object({ title: z.string() }) },
        handler: inject(
          { payload: tokens.accessTokenRequired },
          async ({ payload }, event: H3Event<{ body: { title: string } }>) => [
            payload.sub,
            await event.req.json(),
          ],
        ),
      }),
    )
    await expect(post(app)).resolves.toEqual({ status: 200, body: ['ada', { title: 'x' }] })
    expect((await post(app, '{"title":"x"}')).status).toBe(401)
    expect((await post(app, JSON.stringify({ access_token: TOKEN }))).status).toBe(400)
  })

  test('in an application mounted by its fetch', async () => {
    const inner = createGuarded((event) => readBody(event))
    const app = new H3({ silent: true }).mount('/api', (request) => inner.fetch(request))
    const response = await app.request('/api/', JSON_INIT)
    await expect(response.json()).resolves.toEqual(BODY)
  })
})

describe('errors', () => {
  test('handled: a refusal does not send what the route staged, cookies included', async () => {
    const app = new H3()
      .use(handleErrors())
      .use((event) => sendCookies(event, ['session=x']))
      .use(enforce(tokens.accessTokenRequired))
    expect((await app.request('/')).headers.getSetCookie()).toEqual([])
  })

  test("the application's own middleware comes first, and h3's onError sees what nobody handled", async () => {
    const seen: unknown[] = []
    const app = new H3({ silent: true, onError: (error) => void seen.push(isTokenError(error.cause)) })
      .use(handleErrors())
      .use('/own', async (_event, next) => {
        try {
          return await next()
        } catch (error) {
          if (error instanceof TokenExpiredError) return new Response('own', { status: 410 })
          throw error
        }
      })
      .get('/own', () => 'ran', { middleware: [enforce(tokens.accessTokenRequired)] })
    expect((await app.request('/own', bearer(OLD))).status).toBe(410)
    expect((await app.request('/own')).status).toBe(401)
    expect(seen).toEqual([])
    await new H3(app.config).use(enforce(tokens.accessTokenRequired)).request('/')
    expect(seen).toEqual([true])
  })
})
