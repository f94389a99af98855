import { once } from 'node:events'
import { connect } from 'node:net'
import { type Context, Elysia } from 'elysia'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { applicationContract } from 'tokenlib/testing'
import { createApplication } from '../../examples/application.js'
import { start } from '../../examples/elysia.js'
import { FRAMEWORKS } from '../../examples/options.js'
import { serveFetch } from '../../examples/server.js'
import { enforce, handleErrors, inject, sendCookies } from '../../src/adapters/elysia.js'
import { type Dependency, MissingTokenError, setAccessCookies, unsetCookies } from '../../src/index.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createRequest, toHttpText } from '../helpers/requests.js'

applicationContract(
  'elysia',
  async (options) => {
    const application = createApplication()
    const server = await start(application, { ...options, framework: FRAMEWORKS[0], port: 0 })
    return { ...server, checks: () => application.checks() }
  },
  { afterAll, beforeAll, describe, test },
)

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const guard = { beforeHandle: enforce(tokens.accessTokenRequired) }

// Elysia compiles its routes, unless `aot` is off: then it runs them by other code, with other faults.
describe.each([true, false])('with aot: %s', (aot) => {
  const createApp = () => new Elysia({ aot })

  test('enforce lets a good request on to the route', async () => {
    const response = await createApp()
      .get('/', () => 'ran', guard)
      .handle(withBearer(TOKEN))
    expect([response.status, await response.text()]).toEqual([200, 'ran'])
  })

  test('the route does not run when the request is refused, in any form', async () => {
    const route = vi.fn(() => 'ran')
    const dependencies = { payload: tokens.accessTokenRequired }
    const apps = [
      createApp().get('/', () => route(), guard),
      createApp().get('/', () => route(), { transform: enforce(tokens.accessTokenRequired) }),
      createApp()
        .onBeforeHandle(enforce(tokens.accessTokenRequired))
        .get('/', () => route()),
      createApp()
        .resolve(inject(dependencies))
        .get('/', () => route()),
      createApp()
        .derive(inject(dependencies))
        .get('/', () => route()),
      createApp().get('/', inject(dependencies, route)),
      createApp().guard(guard, (app) => app.get('/', () => route())),
      createApp()
        .macro({ auth: { resolve: inject(dependencies) } })
        .get('/', () => route(), { auth: true }),
      createApp()
        .macro('auth', guard)
        .get('/', () => route(), { auth: true }),
    ]
    for (const app of apps) {
      for (const request of [createRequest(), withBearer('bad'), withBearer(OLD)]) {
        expect((await app.handle(request)).status).toBe(500)
      }
      expect(route).not.toHaveBeenCalled()
      await expect((await app.handle(withBearer(TOKEN))).text()).resolves.toBe('ran')
      route.mockClear()
    }
  })

  test('an answer that is no function is guarded too', async () => {
    const app = createApp().get('/', 'text', guard)
    expect((await app.handle(createRequest())).status).toBe(500)
    await expect((await app.handle(withBearer(TOKEN))).text()).resolves.toBe('text')
  })

  test('runs dependencies in the order they are written, and stops at the first that throws', async () => {
    const log: string[] = []
    const note =
      (name: string, error?: Error): Dependency<string> =>
      async () => {
        await Promise.resolve()
        log.push(name)
        if (error !== undefined) throw error
        return name
      }
    const guards = [enforce(note('a')), enforce(note('b'), note('c', new MissingTokenError()), note('d'))]
    await createApp()
      .get('/', () => 'ran', { beforeHandle: guards })
      .handle(createRequest())
    expect(log).toEqual(['a', 'b', 'c'])
  })

  test('a dependency of the application may be synchronous', async () => {
    const refuse: Dependency<never> = () => {
      throw new MissingTokenError()
    }
    const app = createApp()
      .onError(handleErrors())
      .get('/', () => 'ran', { beforeHandle: enforce(refuse) })
      .get(
        '/one',
        inject({ one: () => 1 }, ({ one }) => ({ one })),
      )
    expect((await app.handle(createRequest())).status).toBe(401)
    const response = await app.handle(createRequest({ path: '/one' }))
    await expect(response.json()).resolves.toEqual({ one: 1 })
  })

  test('inject as a handler gives the values, and all of the context', async () => {
    const app = createApp().post(
      '/users/:id',
      inject(
        { payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest },
        ({ payload, token }, { params, query, headers, cookie, body }: Context) => [
          [payload.sub, payload.age, token?.location],
          [params['id'], query['q'], headers['x-a'], cookie['c']?.value, body],
        ],
      ),
    )
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      'x-a': 'a',
      cookie: 'c=d',
      'content-type': 'application/json',
    }
    const request = createRequest({ method: 'POST', path: '/users/7?q=1', headers, body: '{"e":1}' })
    await expect((await app.handle(request)).json()).resolves.toEqual([
      ['ada', 36, 'headers'],
      ['7', '1', 'a', 'd', { e: 1 }],
    ])
  })

  test('inject gives null for an optional token that is absent, and refuses a bad one', async () => {
    const app = createApp()
      .onError(handleErrors())
      .resolve(inject({ payload: tokens.accessTokenOptional }))
      .get('/', ({ payload }) => ({ payload }))
    await expect((await app.handle(createRequest())).json()).resolves.toEqual({ payload: null })
    expect((await app.handle(withBearer('bad'))).status).toBe(401)
  })

  test('enforce, inject and a call by hand on one route check the token once per request', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(async () => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const dependencies = { payload: tokens.accessTokenRequired }
    const app = createApp()
      .macro({ auth: { resolve: inject(dependencies) } })
      .get(
        '/',
        inject(dependencies, async ({ payload }, { request }) => [
          payload.sub,
          (await tokens.accessTokenRequired(request)).sub,
        ]),
        { auth: true, beforeHandle: enforce(tokens.accessTokenRequired) },
      )
    for (const count of [1, 2]) {
      await expect((await app.handle(withBearer(TOKEN))).json()).resolves.toEqual(['ada', 'ada'])
      expect(isRevoked).toHaveBeenCalledTimes(count)
    }
  })

  describe('sendCookies', () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies'], JWT_SESSION_COOKIE: false })
    const cookies = [...unsetCookies(tokens).slice(2), ...setAccessCookies(tokens, TOKEN)]

    test('sends them with every attribute', async () => {
      const app = createApp().get('/', ({ set }) => {
        sendCookies(set, cookies)
        return 'ok'
      })
      const sent = (await app.handle(createRequest())).headers.getSetCookie()
      expect(parseSetCookies(sent)).toEqual(parseSetCookies(cookies))
    })

    test("adds to those of Elysia's jar and of its headers", async () => {
      const app = createApp().get('/', ({ set, cookie }) => {
        set.headers['set-cookie'] = ['a=1; Path=/', 'b=2']
        cookie['c']?.set({ value: '3' })
        sendCookies(set, cookies)
        cookie['d']?.set({ value: '4' })
        return 'ok'
      })
      const sent = parseSetCookies((await app.handle(createRequest())).headers.getSetCookie())
      expect(sent).toMatchObject(parseSetCookies(cookies))
      expect(Object.keys(sent)).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd']))
    })
  })
})

test('without a dependency, or with something else in its place, is refused when the route is made', () => {
  expect(() => enforce()).toThrow(TypeError)
  expect(() => enforce(undefined as never)).toThrow(TypeError)
  expect(() => inject({})).toThrow(TypeError)
  expect(() => inject({ payload: 'text' as never }, () => 'ran')).toThrow(TypeError)
})

test('HDR-12 two Authorization headers are refused', async () => {
  const app = new Elysia().onError(handleErrors()).get('/', () => 'ran', guard)
  const server = await serveFetch(app.fetch, 0)
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const header = ['Authorization', `Bearer ${TOKEN}`] as const
  socket.write(toHttpText('GET /', [header, header, ['Connection', 'close']]))
  const [data] = (await once(socket, 'data')) as [Buffer]
  await server.close()
  expect(data.toString()).toMatch(/^HTTP\/1\.1 401 /)
})
