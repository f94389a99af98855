import { once } from 'node:events'
import { connect } from 'node:net'
import { defineHandler, H3, type H3Event } from 'h3'
import { toNodeHandler } from 'h3/node'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { applicationContract } from 'tokenlib/testing'
import { createApplication } from '../../examples/application.js'
import { start } from '../../examples/h3.js'
import { FRAMEWORKS } from '../../examples/options.js'
import { serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject, sendCookies } from '../../src/adapters/h3.js'
import { type Dependency, MissingTokenError, setAccessCookies, unsetCookies } from '../../src/index.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { createManager } from '../helpers/manager.js'
import { toHttpText } from '../helpers/requests.js'

applicationContract(
  'h3',
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
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const createApp = () => new H3({ silent: true })

describe('enforce', () => {
  test('lets a good request on to the route', async () => {
    const app = createApp().get('/', () => 'ran', { middleware: [enforce(tokens.accessTokenRequired)] })
    const response = await app.request('/', bearer(TOKEN))
    expect([response.status, await response.text()]).toEqual([200, 'ran'])
  })

  test('the route does not run when the request is refused, wherever the guard is', async () => {
    const route = vi.fn(() => 'ran')
    const guard = enforce(tokens.accessTokenRequired)
    const apps = [
      createApp().use(guard).get('/', route),
      createApp().get('/', route, { middleware: [guard] }),
      createApp().get('/', defineHandler({ middleware: [guard], handler: route })),
      createApp().mount('', createApp().use(guard).get('/', route)),
    ]
    for (const app of apps) {
      for (const init of [{}, bearer('bad'), bearer(OLD)]) {
        expect((await app.request('/', init)).status).toBe(500)
      }
    }
    expect(route).not.toHaveBeenCalled()
  })

  test('runs its dependencies in the order they are written, and stops at the first that throws', async () => {
    const log: string[] = []
    const note =
      (name: string, error?: Error): Dependency<string> =>
      async () => {
        await Promise.resolve()
        log.push(name)
        if (error !== undefined) throw error
        return name
      }
    const guard = enforce(note('a'), note('b', new MissingTokenError()), note('c'))
    await createApp()
      .use(guard)
      .get('/', () => 'ran')
      .request('/')
    expect(log).toEqual(['a', 'b'])
  })

  test('a dependency of the application may be synchronous', async () => {
    const refuse: Dependency<never> = () => {
      throw new MissingTokenError()
    }
    const app = createApp()
      .use(handleErrors())
      .get('/', () => 'ran', { middleware: [enforce(refuse)] })
      .get(
        '/one',
        inject({ one: () => 1 }, ({ one }) => ({ one })),
      )
    expect((await app.request('/')).status).toBe(401)
    await expect((await app.request('/one')).json()).resolves.toEqual({ one: 1 })
  })

  test('without a dependency, or with something else in its place, is refused when the route is made', () => {
    expect(() => enforce()).toThrow(TypeError)
    expect(() => enforce(undefined as never)).toThrow(TypeError)
    expect(() => inject({}, () => 'ran')).toThrow(TypeError)
    expect(() => inject({ payload: 'text' as never }, () => 'ran')).toThrow(TypeError)
  })

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

  test('gives null for an optional token that is absent, and refuses a bad one', async () => {
    const app = createApp()
      .use(handleErrors())
      .get(
        '/',
        inject({ payload: tokens.accessTokenOptional }, ({ payload }) => ({ payload })),
      )
    await expect((await app.request('/')).json()).resolves.toEqual({ payload: null })
    expect((await app.request('/', bearer('bad'))).status).toBe(401)
  })

  test('the handler does not run when the request is refused', async () => {
    const handler = vi.fn(() => 'ran')
    const app = createApp().get('/', inject({ payload: tokens.accessTokenRequired }, handler))
    expect((await app.request('/')).status).toBe(500)
    expect(handler).not.toHaveBeenCalled()
  })

  test('with enforce and a call by hand on one route, the token is checked once per request', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(async () => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const app = createApp()
      .use(enforce(tokens.accessTokenRequired))
      .get(
        '/',
        inject({ payload: tokens.accessTokenRequired }, async ({ payload }, event) => [
          payload.sub,
          (await tokens.accessTokenRequired(event.req)).sub,
        ]),
      )
    for (const count of [1, 2]) {
      await expect((await app.request('/', bearer(TOKEN))).json()).resolves.toEqual(['ada', 'ada'])
      expect(isRevoked).toHaveBeenCalledTimes(count)
    }
  })
})

test('sendCookies adds to the cookies of the response', async () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies'] })
  const cookies = [...unsetCookies(tokens), ...setAccessCookies(tokens, TOKEN)]
  const login = (event: H3Event) => {
    event.res.headers.append('set-cookie', 'theme=dark')
    sendCookies(event, cookies)
    return 'ok'
  }
  const response = await createApp().post('/', login).request('/', { method: 'POST' })
  expect(response.headers.getSetCookie()).toEqual(['theme=dark', ...cookies])
  expect(parseSetCookies(cookies)['access_token_cookie']?.value).toBe(TOKEN)
})

test('HDR-12 two Authorization headers are refused', async () => {
  const app = createApp().use(handleErrors()).use(enforce(tokens.accessTokenRequired))
  const server = await serveNode(toNodeHandler(app.get('/', () => 'ran')), 0)
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const header = ['Authorization', `Bearer ${TOKEN}`] as const
  socket.write(toHttpText('GET /', [header, header, ['Connection', 'close']]))
  const [data] = (await once(socket, 'data')) as [Buffer]
  await server.close()
  expect(data.toString()).toMatch(/^HTTP\/1\.1 401 /)
})
