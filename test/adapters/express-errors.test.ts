import { inspect } from 'node:util'
import express, { type ErrorRequestHandler, type Express } from 'express'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type RunningServer, serveNode } from '../../examples/server.js'
import { enforce, handleErrors } from '../../src/adapters/express.js'
import { MissingTokenError, TokenDecodeError, TokenExpiredError } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

// Express logs an error that nobody handles, except in the environment `test`.
const logged = vi.spyOn(console, 'error')
beforeEach(() => void logged.mockReset().mockImplementation(() => {}))

const servers: RunningServer[] = []
afterAll(async () => {
  logged.mockRestore()
  await Promise.all(servers.map((server) => server.close()))
})

/** Serves an application, and returns its address. */
async function serve(app: Express): Promise<string> {
  const server = await serveNode(app, 0)
  servers.push(server)
  return server.url
}

/** An application with a guarded route, one that needs a scope, and one that fails. */
function createApp(...handlers: ErrorRequestHandler[]): Express {
  const app = express()
  app.get('/', enforce(tokens.accessTokenRequired), (_req, res) => res.send('ran'))
  app.get('/scoped', enforce(tokens.scopesRequired('write')), (_req, res) => res.send('ran'))
  app.get('/fails', () => {
    throw Object.assign(new Error('a bug'), { status: 418, headers: { 'x-reason': 'tea' } })
  })
  if (handlers.length > 0) app.use(...handlers)
  return app
}

describe('errors', () => {
  test.each([
    ['no token', {}],
    ['a bad token', bearer('bad')],
    ['an expired token', bearer(OLD)],
  ])('ERR-01 not handled: %s is a 500 without a challenge', async (_, init) => {
    const response = await fetch(await serve(createApp()), init)
    expect(response.status).toBe(500)
    expect(response.headers.get('www-authenticate')).toBeNull()
  })

  test('ERR-10 not handled: what Express logs and shows has no token in it', async () => {
    const app = createApp().set('env', 'development')
    const page = await (await fetch(await serve(app), bearer(OLD))).text()
    expect(logged).toHaveBeenCalled()
    expect(page).toContain('TokenExpiredError')
    const shown = page + inspect(logged.mock.calls)
    for (const segment of OLD.split('.').slice(1)) expect(shown).not.toContain(segment)
  })

  test('ERR-02 ERR-04 ERR-08 handled: an RFC 6750 answer', async () => {
    const response = await fetch(await serve(createApp(handleErrors())), bearer(OLD))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="api", error="invalid_token", /)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    await expect(response.json()).resolves.toMatchObject({
      error_type: 'TokenExpiredError',
      code: 'TOKEN_EXPIRED',
    })
    expect(logged).not.toHaveBeenCalled()
  })

  test("handled: the application's JSON settings do not change the answer", async () => {
    const plain = await (await fetch(await serve(createApp(handleErrors())))).text()
    const app = createApp(handleErrors()).set('json spaces', 2).set('json replacer', ['code'])
    await expect((await fetch(await serve(app))).text()).resolves.toBe(plain)
  })

  test('ERR-03 handled: 403 for a missing scope', async () => {
    const response = await fetch(`${await serve(createApp(handleErrors()))}/scoped`, bearer(TOKEN))
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('scope="write"')
  })

  test('ERR-03 handled: 503 when nobody can say whether the token is revoked', async () => {
    const { tokens } = createManager()
    tokens.setCallbackTokenBlocklist(() => Promise.reject(new Error('ECONNREFUSED')))
    const app = express().use(enforce(tokens.accessTokenRequired)).use(handleErrors())
    const response = await fetch(await serve(app), bearer(TOKEN))
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  })

  test('ERR-06 handled: messages, the realm and the configured key', async () => {
    const { config } = createManager({ JWT_ERROR_MESSAGE_KEY: 'detail' }).tokens
    const options = { config, realm: 'shop', messages: { TOKEN_MISSING: 'Log in first' } }
    const response = await fetch(await serve(createApp(handleErrors(options))))
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
    await expect(response.json()).resolves.toMatchObject({ detail: 'Log in first' })
  })

  test('handled: other errors are what they are without a handler', async () => {
    const [bare, handled] = [await serve(createApp()), await serve(createApp(handleErrors()))]
    const [expected, response] = [await fetch(`${bare}/fails`), await fetch(`${handled}/fails`)]
    expect([response.status, response.headers.get('x-reason')]).toEqual([418, 'tea'])
    expect(expected.status).toBe(418)
  })

  test('handled: other errors reach the next handler as they are', async () => {
    const next = vi.fn()
    const bugs = [new Error('a bug'), { isTokenError: true }, 'text']
    for (const bug of bugs) await handleErrors()(bug, {} as never, {} as never, next)
    expect(next.mock.calls).toEqual(bugs.map((bug) => [bug]))
  })

  test('handled: when an answer has begun, the error goes on as it is', async () => {
    const refused = new MissingTokenError()
    const caught = vi.fn()
    const app = express()
    app.get('/', (_req, res, next) => {
      res.write('begun')
      next(refused)
    })
    app.use(handleErrors(), ((error, _req, _res, next) => {
      caught(error)
      next(error)
    }) satisfies ErrorRequestHandler)
    const response = await fetch(await serve(app))
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow(TypeError)
    expect(caught).toHaveBeenCalledExactlyOnceWith(refused)
  })

  test.each([
    ['its class', TokenExpiredError],
    ['its parent', TokenDecodeError],
  ])("ERR-05 the application's handler for an error's %s comes first", async (_, type) => {
    const own: ErrorRequestHandler = (error, _req, res, next) =>
      error instanceof type ? res.status(410).end() : next(error)
    const url = await serve(createApp(own, handleErrors()))
    expect((await fetch(url, bearer(OLD))).status).toBe(410)
    expect((await fetch(url)).status).toBe(401)
  })

  test("ERR-05 a router's own handler comes before that of the application", async () => {
    const router = express.Router().use(enforce(tokens.accessTokenRequired))
    router.use(((_error, _req, res, _next) => res.status(410).end()) satisfies ErrorRequestHandler)
    const app = express().use('/own', router).use('/shared', createApp()).use(handleErrors())
    const url = await serve(app)
    expect((await fetch(`${url}/own`)).status).toBe(410)
    expect((await fetch(`${url}/shared`)).status).toBe(401)
    expect((await fetch(`${url}/shared`, bearer(TOKEN))).status).toBe(200)
  })
})

describe('cross-origin requests', () => {
  const origin = 'https://app.example'
  /** What the `cors` package does, in front of a guard for everything. */
  const createCorsApp = (): Express => {
    const app = express()
    app.use((req, res, next) => {
      res.set('access-control-allow-origin', origin)
      if (req.method === 'OPTIONS') res.status(204).end()
      else next()
    })
    app.use(enforce(tokens.accessTokenRequired))
    return app.use(handleErrors())
  }

  test('ERR-11 a preflight is not refused', async () => {
    const response = await fetch(await serve(createCorsApp()), {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'GET' },
    })
    expect(response.status).toBe(204)
  })

  test('ERR-11 a refusal can be read by the page that asked', async () => {
    const response = await fetch(await serve(createCorsApp()), { headers: { origin } })
    expect(response.status).toBe(401)
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="api"')
  })
})
