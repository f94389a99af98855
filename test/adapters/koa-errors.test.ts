import { inspect } from 'node:util'
import { Router } from '@koa/router'
import Koa, { type Middleware } from 'koa'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type RunningServer, serveNode } from '../../examples/server.js'
import { enforce, handleErrors } from '../../src/adapters/koa.js'
import { MissingTokenError, TokenDecodeError, TokenExpiredError } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const servers: RunningServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.close())))

/** What Koa was told of errors; a listener takes the place of its log. */
const reported = vi.fn<(error: unknown) => void>()

/** Serves an application of these, and returns its address. */
async function serve(...middleware: Middleware[]): Promise<string> {
  const app = new Koa()
  app.on('error', (error) => reported(error))
  for (const one of middleware) app.use(one)
  const handle = app.callback()
  const server = await serveNode((req, res) => void handle(req, res), 0)
  servers.push(server)
  reported.mockReset()
  return server.url
}

/** A guarded route, one that needs a scope, and two that fail, after these. */
function serveRoutes(...middleware: Middleware[]): Promise<string> {
  const router = new Router()
  router.get('/', enforce(tokens.accessTokenRequired), (ctx) => void (ctx.body = 'ran'))
  router.get('/scoped', enforce(tokens.scopesRequired('write')), (ctx) => void (ctx.body = 'ran'))
  router.get('/fails', () => {
    throw new Error('a bug')
  })
  router.get('/teapot', (ctx) => ctx.throw(418, 'short and stout', { headers: { 'x-reason': 'tea' } }))
  return serve(...middleware, router.routes() as Middleware)
}

describe('errors', () => {
  test.each([
    ['no token', {}],
    ['a bad token', bearer('bad')],
    ['an expired token', bearer(OLD)],
  ])('ERR-01 not handled: %s is a 500 without a challenge', async (_, init) => {
    const response = await fetch(await serveRoutes(), init)
    expect(response.status).toBe(500)
    expect(response.headers.get('www-authenticate')).toBeNull()
  })

  test('ERR-10 not handled: what Koa reports has no token in it', async () => {
    await fetch(await serveRoutes(), bearer(OLD))
    expect(reported).toHaveBeenCalledExactlyOnceWith(expect.any(TokenExpiredError))
    for (const segment of OLD.split('.').slice(1)) expect(inspect(reported.mock.calls)).not.toContain(segment)
  })

  test('ERR-02 ERR-04 ERR-08 handled: an RFC 6750 answer', async () => {
    const response = await fetch(await serveRoutes(handleErrors()), bearer(OLD))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="api", error="invalid_token", /)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    await expect(response.json()).resolves.toMatchObject({
      error_type: 'TokenExpiredError',
      code: 'TOKEN_EXPIRED',
    })
    expect(reported).not.toHaveBeenCalled()
  })

  test('ERR-03 handled: 403 for a missing scope', async () => {
    const response = await fetch(`${await serveRoutes(handleErrors())}/scoped`, bearer(TOKEN))
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('scope="write"')
  })

  test('ERR-03 handled: 503 when nobody can say whether the token is revoked', async () => {
    const { tokens } = createManager()
    tokens.setCallbackTokenBlocklist(() => Promise.reject(new Error('ECONNREFUSED')))
    const response = await fetch(
      await serve(handleErrors(), enforce(tokens.accessTokenRequired)),
      bearer(TOKEN),
    )
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  })

  test('ERR-06 handled: messages, the realm and the configured key', async () => {
    const { config } = createManager({ JWT_ERROR_MESSAGE_KEY: 'detail' }).tokens
    const options = { config, realm: 'shop', messages: { TOKEN_MISSING: 'Log in first' } }
    const response = await fetch(await serveRoutes(handleErrors(options)))
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
    await expect(response.json()).resolves.toMatchObject({ detail: 'Log in first' })
  })

  test.each(['/fails', '/teapot'])('handled: another error on %s is what it is without', async (path) => {
    const [bare, handled] = [await serveRoutes(), await serveRoutes(handleErrors())]
    const [expected, response] = [await fetch(bare + path), await fetch(handled + path)]
    expect(response.status).toBe(path === '/teapot' ? 418 : 500)
    expect(response.status).toBe(expected.status)
    expect(response.headers.get('x-reason')).toBe(expected.headers.get('x-reason'))
    await expect(response.text()).resolves.toBe(await expected.text())
  })

  test('handled: another error is thrown on as it is', async () => {
    for (const bug of [new Error('a bug'), { isTokenError: true }, 'text']) {
      const thrown = handleErrors()({} as never, () => Promise.reject(bug))
      await expect(thrown).rejects.toBe(bug)
    }
  })

  test('handled: the answer takes the place of a body that a route had begun to set', async () => {
    const url = await serve(handleErrors(), (ctx) => {
      ctx.type = 'html'
      ctx.body = '<p>a long text that is no JSON'
      throw new MissingTokenError()
    })
    const response = await fetch(url)
    expect(response.status).toBe(401)
    await expect(response.json()).resolves.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('handled: an answer that has been sent is left alone', async () => {
    const url = await serve(handleErrors(), (ctx) => {
      ctx.res.end('sent')
      throw new MissingTokenError()
    })
    const response = await fetch(url)
    expect([response.status, await response.text()]).toEqual([404, 'sent'])
    expect(reported).toHaveBeenCalledExactlyOnceWith(expect.any(MissingTokenError))
  })

  test.each([
    ['its class', TokenExpiredError],
    ['its parent', TokenDecodeError],
  ])("ERR-05 the application's handler for an error's %s comes first", async (_, type) => {
    const own: Middleware = async (ctx, next) => {
      try {
        await next()
      } catch (error) {
        if (!(error instanceof type)) throw error
        ctx.status = 410
      }
    }
    const url = await serveRoutes(handleErrors(), own)
    expect((await fetch(url, bearer(OLD))).status).toBe(410)
    expect((await fetch(url)).status).toBe(401)
  })
})

describe('cross-origin requests', () => {
  const origin = 'https://app.example'
  // What @koa/cors does, in front of a guard for everything.
  const cors: Middleware = (ctx, next) => {
    ctx.set('access-control-allow-origin', origin)
    return ctx.method === 'OPTIONS' ? void (ctx.status = 204) : next()
  }

  test('ERR-11 a preflight is not refused', async () => {
    const url = await serve(handleErrors(), cors, enforce(tokens.accessTokenRequired))
    const headers = { origin, 'access-control-request-method': 'GET' }
    expect((await fetch(url, { method: 'OPTIONS', headers })).status).toBe(204)
  })

  test('ERR-11 a refusal can be read by the page that asked', async () => {
    const url = await serve(handleErrors(), cors, enforce(tokens.accessTokenRequired))
    const response = await fetch(url, { headers: { origin } })
    expect(response.status).toBe(401)
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="api"')
  })
})
