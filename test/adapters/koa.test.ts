import { Router, type RouterContext } from '@koa/router'
import Koa, { type Middleware } from 'koa'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { applicationContract } from 'tokenlib/testing'
import { createApplication } from '../../examples/application.js'
import { start } from '../../examples/koa.js'
import { type RunningServer, serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject } from '../../src/adapters/koa.js'
import { type Dependency, MissingTokenError } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const servers: RunningServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.close())))

/** Serves an application of these, and returns its address. */
async function serve(...middleware: Middleware[]): Promise<string> {
  const app = new Koa()
  app.silent = true
  for (const one of middleware) app.use(one)
  const handle = app.callback()
  const server = await serveNode((req, res) => void handle(req, res), 0)
  servers.push(server)
  return server.url
}

/** A route that records its calls. */
const createRoute = () => vi.fn<Middleware>((ctx) => void (ctx.body = 'ran'))

applicationContract(
  'koa',
  async (options) => {
    const application = createApplication()
    const server = await start(application, { ...options, framework: 'koa', port: 0 })
    return { ...server, checks: () => application.checks() }
  },
  { afterAll, beforeAll, describe, test },
)

describe('enforce', () => {
  test('lets a good request on to the route, and waits for it', async () => {
    const order: string[] = []
    const url = await serve(
      async (_ctx, next) => {
        await next()
        order.push('after')
      },
      enforce(tokens.accessTokenRequired),
      async (ctx) => {
        await Promise.resolve()
        order.push('route')
        ctx.body = 'ran'
      },
    )
    const response = await fetch(url, bearer(TOKEN))
    expect([response.status, await response.text()]).toEqual([200, 'ran'])
    expect(order).toEqual(['route', 'after'])
  })

  test('the route does not run when the request is refused', async () => {
    const route = createRoute()
    const url = await serve(enforce(tokens.accessTokenRequired), route)
    for (const init of [{}, bearer('bad')]) expect((await fetch(url, init)).status).toBe(500)
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
    await fetch(await serve(enforce(note('a'), note('b', new MissingTokenError()), note('c')), createRoute()))
    expect(log).toEqual(['a', 'b'])
  })

  test('takes dependencies that are not asynchronous', async () => {
    const isClosed: Dependency<never> = () => {
      throw new MissingTokenError()
    }
    const open = await serve(
      handleErrors(),
      enforce(() => true),
      createRoute(),
    )
    expect((await fetch(open)).status).toBe(200)
    const closed = await serve(handleErrors(), enforce(isClosed), createRoute())
    expect((await fetch(closed)).status).toBe(401)
  })

  test('without a dependency, or with something else in its place, is refused when the route is made', () => {
    expect(() => enforce()).toThrow(TypeError)
    expect(() => enforce(undefined as never)).toThrow(TypeError)
    expect(() => inject({})).toThrow(TypeError)
    expect(() => inject({ payload: 'text' as never }, () => {})).toThrow(TypeError)
  })

  test('guards every route below a path, of a nested router too', async () => {
    const admin = new Router().get('/users', createRoute())
    const router = new Router().get('/', createRoute())
    router.use('/admin', enforce(tokens.accessTokenRequired), admin.routes())
    const url = await serve(handleErrors(), router.routes() as Middleware)
    expect((await fetch(url)).status).toBe(200)
    expect((await fetch(`${url}/admin/users`)).status).toBe(401)
    expect((await fetch(`${url}/admin/users`, bearer(TOKEN))).status).toBe(200)
  })

  // Koa takes undefined and null for no error, and would leave the client waiting.
  test.each([undefined, null, false, 0, '', 'text'])(
    'a dependency that throws %j refuses the request',
    async (thrown) => {
      const route = createRoute()
      const refuse: Dependency<never> = async () => {
        throw thrown
      }
      const guards: Middleware[] = [enforce(refuse), inject({ refuse }), inject({ refuse }, route as never)]
      for (const guard of guards) {
        const url = await serve(handleErrors(), guard, route)
        expect((await fetch(url, { signal: AbortSignal.timeout(5000) })).status).toBe(500)
      }
      expect(route).not.toHaveBeenCalled()
    },
  )
})

describe('inject', () => {
  test('as middleware puts the values into ctx.state, beside what is there', async () => {
    const router = new Router()
    router.get(
      '/',
      (ctx, next) => {
        ctx.state['lang'] = 'en'
        return next()
      },
      inject({ payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest, one: () => 1 }),
      (ctx) => {
        const { payload, token, one } = ctx.state
        ctx.body = [payload.sub, payload.age, token?.location, one, Object.keys(ctx.state)]
      },
    )
    const response = await fetch(await serve(router.routes() as Middleware), bearer(TOKEN))
    const names = ['lang', 'payload', 'token', 'one']
    await expect(response.json()).resolves.toEqual(['ada', 36, 'headers', 1, names])
  })

  test('as a handler gives the values, the context and next', async () => {
    const router = new Router()
    router.get(
      '/users/:id',
      inject({ payload: tokens.accessTokenRequired }, async ({ payload }, ctx: RouterContext, next) => {
        await next()
        ctx.body = [payload.sub, ctx.params['id'], ctx.body]
      }),
      createRoute(),
    )
    const response = await fetch(`${await serve(router.routes() as Middleware)}/users/7`, bearer(TOKEN))
    await expect(response.json()).resolves.toEqual(['ada', '7', 'ran'])
  })

  test.each(['sync', 'async'])('an error of a handler that is %s goes the way of Koa', async (kind) => {
    const bug = Object.assign(new Error('a bug'), { status: 418 })
    const handler = inject({ one: () => 1 }, () => {
      if (kind === 'sync') throw bug
      return Promise.reject(bug)
    })
    expect((await fetch(await serve(handler))).status).toBe(418)
  })

  test('gives null for an optional token that is absent, and refuses a bad one', async () => {
    const router = new Router()
    router.get('/', inject({ payload: tokens.accessTokenOptional }), (ctx) => {
      ctx.body = { payload: ctx.state.payload }
    })
    const url = await serve(handleErrors(), router.routes() as Middleware)
    await expect((await fetch(url)).json()).resolves.toEqual({ payload: null })
    expect((await fetch(url, bearer('bad'))).status).toBe(401)
  })

  test('the route does not run when the request is refused, in either form', async () => {
    const route = createRoute()
    const middleware = await serve(inject({ payload: tokens.accessTokenRequired }), route)
    const handler = await serve(
      inject({ payload: tokens.accessTokenRequired }, (_values, ctx, next) => route(ctx, next)),
    )
    for (const url of [middleware, handler]) expect((await fetch(url)).status).toBe(500)
    expect(route).not.toHaveBeenCalled()
  })

  test('with enforce and a call by hand on one request, the token is checked once', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(async () => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const router = new Router()
    router.get(
      '/',
      inject({ payload: tokens.accessTokenRequired }),
      inject({ payload: tokens.accessTokenRequired }, async ({ payload }, ctx) => {
        ctx.body = [payload === ctx.state['payload'], payload === (await tokens.accessTokenRequired(ctx.req))]
      }),
    )
    const url = await serve(enforce(tokens.accessTokenRequired), router.routes() as Middleware)
    await expect((await fetch(url, bearer(TOKEN))).json()).resolves.toEqual([true, true])
    expect(isRevoked).toHaveBeenCalledTimes(1)
    await fetch(url, bearer(TOKEN))
    expect(isRevoked).toHaveBeenCalledTimes(2)
  })
})
