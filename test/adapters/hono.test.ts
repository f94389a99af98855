import { Hono } from 'hono'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { enforce, handleErrors, inject } from '../../src/adapters/hono.js'
import { type Dependency, MissingTokenError, type RequestSource } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

// Hono logs an error that nobody handles.
const logged = vi.spyOn(console, 'error')
beforeEach(() => void logged.mockReset().mockImplementation(() => {}))
afterAll(() => logged.mockRestore())

describe('enforce', () => {
  test('lets a good request on to the route', async () => {
    const app = new Hono().get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ran'))
    const response = await app.request('/', bearer(TOKEN))
    expect([response.status, await response.text()]).toEqual([200, 'ran'])
  })

  test('the route does not run when the request is refused', async () => {
    const route = vi.fn(() => new Response('ran'))
    const app = new Hono().get('/', enforce(tokens.accessTokenRequired), route)
    for (const init of [{}, bearer('bad'), bearer(OLD)])
      expect((await app.request('/', init)).status).toBe(500)
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
    const app = new Hono()
    app.get('/', enforce(note('a'), note('b', new MissingTokenError()), note('c')), (c) => c.text('ran'))
    await app.request('/')
    expect(log).toEqual(['a', 'b'])
  })

  test('without a dependency, or with something else in its place, is refused when the route is made', () => {
    expect(() => enforce()).toThrow(TypeError)
    expect(() => enforce(undefined as never)).toThrow(TypeError)
    expect(() => inject({})).toThrow(TypeError)
    expect(() => inject({ payload: 'text' as never }, () => new Response())).toThrow(TypeError)
  })

  test('guards every route below a path', async () => {
    const app = new Hono()
    app.onError(handleErrors())
    app.use('/admin/*', enforce(tokens.accessTokenRequired))
    app.get('/admin/users', (c) => c.text('users')).get('/', (c) => c.text('open'))
    expect((await app.request('/')).status).toBe(200)
    expect((await app.request('/admin/users')).status).toBe(401)
    expect((await app.request('/admin/users', bearer(TOKEN))).status).toBe(200)
  })
})

describe('inject', () => {
  test('as middleware puts the values into c.var', async () => {
    const app = new Hono().get(
      '/',
      inject({ payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest }),
      (c) => c.json({ id: c.var.payload.sub, age: c.get('payload').age, at: c.var.token?.location }),
    )
    await expect((await app.request('/', bearer(TOKEN))).json()).resolves.toEqual({
      id: 'ada',
      age: 36,
      at: 'headers',
    })
  })

  test('as a handler gives the values and the context', async () => {
    const app = new Hono().get(
      '/users/:id',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) =>
        c.json([payload.sub, c.req.param('id')]),
      ),
    )
    await expect((await app.request('/users/7', bearer(TOKEN))).json()).resolves.toEqual(['ada', '7'])
  })

  test('gives null for an optional token that is absent, and refuses a bad one', async () => {
    const app = new Hono().get('/', inject({ payload: tokens.accessTokenOptional }), (c) =>
      c.json(c.var.payload),
    )
    app.onError(handleErrors())
    await expect((await app.request('/')).json()).resolves.toBeNull()
    expect((await app.request('/', bearer('bad'))).status).toBe(401)
  })

  test('the route does not run when the request is refused, in either form', async () => {
    const route = vi.fn(() => new Response('ran'))
    const app = new Hono()
      .get('/middleware', inject({ payload: tokens.accessTokenRequired }), route)
      .get('/handler', inject({ payload: tokens.accessTokenRequired }, route))
    for (const path of ['/middleware', '/handler']) expect((await app.request(path)).status).toBe(500)
    expect(route).not.toHaveBeenCalled()
  })

  test('with enforce on one route, the token is checked once per request', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(async () => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const app = new Hono()
    app.use(enforce(tokens.accessTokenRequired))
    app.get(
      '/',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) => c.text(payload.sub)),
    )
    await app.request('/', bearer(TOKEN))
    expect(isRevoked).toHaveBeenCalledTimes(1)
    await app.request('/', bearer(TOKEN))
    expect(isRevoked).toHaveBeenCalledTimes(2)
  })
})

describe('a dependency called in a route', () => {
  test('takes c.req.raw, and shares its result with enforce', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(() => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const app = new Hono().get('/', enforce(tokens.accessTokenRequired), async (c) =>
      c.text((await tokens.accessTokenRequired(c.req.raw)).sub),
    )
    await expect((await app.request('/', bearer(TOKEN))).text()).resolves.toBe('ada')
    expect(isRevoked).toHaveBeenCalledTimes(1)
  })

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
