import { inspect } from 'node:util'
import { type ErrorHandler, Hono } from 'hono'
import { cors } from 'hono/cors'
import { HTTPException } from 'hono/http-exception'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { enforce, handleErrors } from '../../src/adapters/hono.js'
import { TokenDecodeError, TokenExpiredError } from '../../src/index.js'
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

describe('errors', () => {
  /** An application with one guarded route, one that fails, and one that answers with an HTTPException. */
  function createApp(onError?: ErrorHandler): Hono {
    const app = new Hono()
    if (onError !== undefined) app.onError(onError)
    app.get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ran'))
    app.get('/scoped', enforce(tokens.scopesRequired('write')), (c) => c.text('ran'))
    app.get('/fails', () => {
      throw new Error('a bug')
    })
    app.get('/teapot', () => {
      throw new HTTPException(418, { message: 'short and stout' })
    })
    return app
  }

  test.each([
    ['no token', {}],
    ['a bad token', bearer('bad')],
    ['an expired token', bearer(OLD)],
  ])('ERR-01 not handled: %s is a 500 without a challenge', async (_, init) => {
    const response = await createApp().request('/', init)
    expect(response.status).toBe(500)
    expect(response.headers.get('www-authenticate')).toBeNull()
  })

  test('an HTTPException keeps the headers that were set before it, as without a handler', async () => {
    const answers = []
    for (const onError of [undefined, handleErrors()]) {
      const app = new Hono()
      if (onError !== undefined) app.onError(onError)
      app.get('/', (c) => {
        c.header('x-set-before', '1')
        throw new HTTPException(403, { message: 'no' })
      })
      const response = await app.request('/')
      answers.push([response.status, response.headers.get('x-set-before'), await response.text()])
    }
    expect(answers).toEqual([
      [403, '1', 'no'],
      [403, '1', 'no'],
    ])
  })

  test('ERR-10 not handled: what Hono logs has no token in it', async () => {
    await createApp().request('/', bearer(OLD))
    expect(logged).toHaveBeenCalled()
    for (const segment of OLD.split('.').slice(1)) expect(inspect(logged.mock.calls)).not.toContain(segment)
  })

  test('ERR-02 ERR-04 ERR-08 handled: an RFC 6750 answer', async () => {
    const response = await createApp(handleErrors()).request('/', bearer(OLD))
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

  test('ERR-03 handled: 403 for a missing scope', async () => {
    const response = await createApp(handleErrors()).request('/scoped', bearer(TOKEN))
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('scope="write"')
  })

  test('ERR-06 handled: messages, the realm and the configured key', async () => {
    const { config } = createManager({ JWT_ERROR_MESSAGE_KEY: 'detail' }).tokens
    const options = { config, realm: 'shop', messages: { TOKEN_MISSING: 'Log in first' } }
    const response = await createApp(handleErrors(options)).request('/')
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
    await expect(response.json()).resolves.toMatchObject({ detail: 'Log in first' })
  })

  test('handled: other errors are what they are without a handler', async () => {
    const [bare, handled] = [createApp(), createApp(handleErrors())]
    for (const path of ['/fails', '/teapot']) {
      const [expected, response] = [await bare.request(path), await handled.request(path)]
      expect(response.status).toBe(expected.status)
      await expect(response.text()).resolves.toBe(await expected.text())
    }
    expect((await handled.request('/teapot')).status).toBe(418)
    expect(logged).toHaveBeenCalledTimes(2)
  })

  test.each([
    ['its class', TokenExpiredError],
    ['its parent', TokenDecodeError],
  ])("ERR-05 the application's handler for an error's %s comes first", async (_, type) => {
    const standard = handleErrors()
    const app = createApp((error, c) => (error instanceof type ? c.text('own', 410) : standard(error, c)))
    expect((await app.request('/', bearer(OLD))).status).toBe(410)
    expect((await app.request('/')).status).toBe(401)
  })

  test("ERR-05 a sub-application's own handler comes before that of the whole", async () => {
    const app = new Hono()
    app.onError(handleErrors())
    app.route(
      '/own',
      createApp((_, c) => c.text('own', 410)),
    )
    app.route('/shared', createApp())
    expect((await app.request('/own')).status).toBe(410)
    expect((await app.request('/shared')).status).toBe(401)
    expect((await app.request('/shared', bearer(TOKEN))).status).toBe(200)
  })
})

describe('cross-origin requests', () => {
  const app = new Hono()
  app.onError(handleErrors())
  app.use(cors({ origin: 'https://app.example' }))
  app.use(enforce(tokens.accessTokenRequired))
  app.get('/', (c) => c.text('ran'))
  const origin = { origin: 'https://app.example' }

  test('ERR-11 a preflight is not refused', async () => {
    const headers = {
      ...origin,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    }
    const response = await app.request('/', { method: 'OPTIONS', headers })
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example')
  })

  test('ERR-11 a refusal can be read by the page that asked', async () => {
    const response = await app.request('/', { headers: origin })
    expect(response.status).toBe(401)
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="api"')
  })
})
