import express, { type Express, type RequestHandler } from 'express'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { applicationContract } from 'tokenlib/testing'
import { createApplication } from '../../examples/application.js'
import { start } from '../../examples/express.js'
import { type RunningServer, serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject } from '../../src/adapters/express.js'
import { type Dependency, MissingTokenError, TokenError } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const servers: RunningServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.close())))

/** Serves an application, and returns its address. */
async function serve(app: Express): Promise<string> {
  const server = await serveNode(app, 0)
  servers.push(server)
  return server.url
}

/** A route that records its calls. */
const createRoute = () => vi.fn<RequestHandler>((_req, res) => void res.send('ran'))

applicationContract(
  'express',
  async (options) => {
    const application = createApplication()
    const server = await start(application, { ...options, framework: 'express', port: 0 })
    return { ...server, checks: () => application.checks() }
  },
  { afterAll, beforeAll, describe, test },
)

describe('enforce', () => {
  test('lets a good request on to the route', async () => {
    const app = express()
    app.get('/', enforce(tokens.accessTokenRequired), createRoute())
    const response = await fetch(await serve(app), bearer(TOKEN))
    expect([response.status, await response.text()]).toEqual([200, 'ran'])
  })

  test('the route does not run when the request is refused', async () => {
    const route = createRoute()
    const app = express().get('/', enforce(tokens.accessTokenRequired), route)
    const url = await serve(app)
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
    const app = express()
    app.get('/', enforce(note('a'), note('b', new MissingTokenError()), note('c')), createRoute())
    await fetch(await serve(app))
    expect(log).toEqual(['a', 'b'])
  })

  test('takes dependencies that are not asynchronous', async () => {
    const isClosed: Dependency<never> = () => {
      throw new MissingTokenError()
    }
    const app = express()
    app.get(
      '/open',
      enforce(() => true),
      createRoute(),
    )
    app.get('/closed', enforce(isClosed), createRoute())
    app.use(handleErrors())
    const url = await serve(app)
    expect((await fetch(`${url}/open`)).status).toBe(200)
    expect((await fetch(`${url}/closed`)).status).toBe(401)
  })

  test('without a dependency, or with something else in its place, is refused when the route is made', () => {
    expect(() => enforce()).toThrow(TypeError)
    expect(() => enforce(undefined as never)).toThrow(TypeError)
    expect(() => inject({})).toThrow(TypeError)
    expect(() => inject({ payload: 'text' as never }, () => {})).toThrow(TypeError)
  })

  test('guards every route below a path, of a router too', async () => {
    const admin = express.Router().get('/users', createRoute())
    const app = express().get('/', createRoute())
    app.use('/admin', enforce(tokens.accessTokenRequired), admin)
    app.use(handleErrors())
    const url = await serve(app)
    expect((await fetch(url)).status).toBe(200)
    expect((await fetch(`${url}/admin/users`)).status).toBe(401)
    expect((await fetch(`${url}/admin/users`, bearer(TOKEN))).status).toBe(200)
  })

  // Express goes on after next() and next('route'), and leaves the guarded router after next('router').
  test.each([undefined, null, false, 0, '', 'route', 'router'])(
    'a dependency that throws %j refuses the request',
    async (thrown) => {
      const route = createRoute()
      const refuse: Dependency<never> = async () => {
        throw thrown
      }
      const app = express()
      app.get('/enforce', enforce(refuse), route)
      app.get('/inject', inject({ refuse }), route)
      app.get(
        '/handler',
        inject({ refuse }, (_values, ...given) => route(...given)),
      )
      app.use('/use', enforce(refuse))
      app.get('/use', route)
      app.use('/router', express.Router().use(enforce(refuse)), route)
      const url = await serve(app)
      for (const path of ['/enforce', '/inject', '/handler', '/use', '/router'])
        expect((await fetch(url + path)).status, path).toBe(500)
      expect(route).not.toHaveBeenCalled()
    },
  )

  // Express 4 does not look at the promise.
  test('gives errors to next, and its promise never rejects', async () => {
    const given: unknown[] = []
    const next = (error?: unknown): void => void given.push(error)
    const app = express()
    app.get('/', (req, res) => {
      const guards = [
        enforce(tokens.accessTokenRequired),
        inject({ payload: tokens.accessTokenRequired }),
        inject({ payload: tokens.accessTokenOptional }, async () => Promise.reject(new MissingTokenError())),
      ]
      return Promise.all(guards.map((guard) => guard(req, res, next))).then(() => res.send('settled'))
    })
    await expect((await fetch(await serve(app))).text()).resolves.toBe('settled')
    expect(given).toEqual([expect.any(TokenError), expect.any(TokenError), expect.any(TokenError)])
  })
})

describe('inject', () => {
  test('as middleware puts the values into res.locals, beside what is there', async () => {
    const app = express()
    app.use((_req, res, next) => {
      res.locals['lang'] = 'en'
      next()
    })
    app.get(
      '/',
      inject({ payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest, one: () => 1 }),
      (_req, res) => {
        const { payload, token, one } = res.locals
        res.json([payload.sub, payload.age, token?.location, one, Object.keys(res.locals)])
      },
    )
    const response = await fetch(await serve(app), bearer(TOKEN))
    const names = ['lang', 'payload', 'token', 'one']
    await expect(response.json()).resolves.toEqual(['ada', 36, 'headers', 1, names])
  })

  test('as a handler gives the values, the request, the response and next', async () => {
    const app = express()
    app.get(
      '/users/:id',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, req, res, next) => {
        res.locals['found'] = [payload.sub, req.params['id']]
        next()
      }),
      (_req, res) => res.json(res.locals['found']),
    )
    const response = await fetch(`${await serve(app)}/users/7`, bearer(TOKEN))
    await expect(response.json()).resolves.toEqual(['ada', '7'])
  })

  test.each(['sync', 'async'])('an error of a handler that is %s goes to the error handler', async (kind) => {
    const bug = new Error('a bug')
    const caught = vi.fn()
    const app = express()
    app.get(
      '/',
      inject({ one: () => 1 }, () => {
        if (kind === 'sync') throw bug
        return Promise.reject(bug)
      }),
    )
    app.use(((error, _req, res, _next) => {
      caught(error)
      res.status(418).end()
    }) satisfies express.ErrorRequestHandler)
    expect((await fetch(await serve(app))).status).toBe(418)
    expect(caught).toHaveBeenCalledExactlyOnceWith(bug)
  })

  test('gives null for an optional token that is absent, and refuses a bad one', async () => {
    const app = express()
    app.get('/', inject({ payload: tokens.accessTokenOptional }), (_req, res) => res.json(res.locals.payload))
    app.use(handleErrors())
    const url = await serve(app)
    await expect((await fetch(url)).json()).resolves.toBeNull()
    expect((await fetch(url, bearer('bad'))).status).toBe(401)
  })

  test('the route does not run when the request is refused, in either form', async () => {
    const route = createRoute()
    const app = express()
    app.get('/middleware', inject({ payload: tokens.accessTokenRequired }), route)
    app.get(
      '/handler',
      inject({ payload: tokens.accessTokenRequired }, (_values, ...given) => route(...given)),
    )
    const url = await serve(app)
    for (const path of ['/middleware', '/handler']) expect((await fetch(url + path)).status).toBe(500)
    expect(route).not.toHaveBeenCalled()
  })

  test('with enforce and a call by hand on one request, the token is checked once', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(async () => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const app = express().use(enforce(tokens.accessTokenRequired))
    app.get(
      '/',
      inject({ payload: tokens.accessTokenRequired }),
      inject({ payload: tokens.accessTokenRequired }, async ({ payload }, req, res) =>
        res.json([payload === res.locals['payload'], payload === (await tokens.accessTokenRequired(req))]),
      ),
    )
    const url = await serve(app)
    await expect((await fetch(url, bearer(TOKEN))).json()).resolves.toEqual([true, true])
    expect(isRevoked).toHaveBeenCalledTimes(1)
    await fetch(url, bearer(TOKEN))
    expect(isRevoked).toHaveBeenCalledTimes(2)
  })
})
