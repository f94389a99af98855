import { inspect } from 'node:util'
import { H3, handleCors, HTTPError } from 'h3'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { enforce, handleErrors, sendCookies } from '../../src/adapters/h3.js'
import { isTokenError, RevocationUnavailableError, TokenExpiredError } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

// h3 logs an error that nobody handles.
const logged = vi.spyOn(console, 'error')
beforeEach(() => void logged.mockReset().mockImplementation(() => {}))
afterAll(() => logged.mockRestore())

/** Adds a guarded route, one that fails, and one that answers with an HTTPError. */
function addRoutes(app: H3): H3 {
  return app
    .get('/', () => 'ran', { middleware: [enforce(tokens.accessTokenRequired)] })
    .get('/scoped', () => 'ran', { middleware: [enforce(tokens.scopesRequired('write'))] })
    .get('/fails', () => {
      throw new Error('a bug')
    })
    .get('/teapot', () => {
      throw new HTTPError({ status: 418, message: 'short and stout' })
    })
}

describe('errors', () => {
  test.each([
    ['no token', {}],
    ['a bad token', bearer('bad')],
    ['an expired token', bearer(OLD)],
  ])('ERR-01 not handled: %s is a 500 without a challenge', async (_, init) => {
    const response = await addRoutes(new H3()).request('/', init)
    expect(response.status).toBe(500)
    expect(response.headers.get('www-authenticate')).toBeNull()
  })

  test('ERR-10 not handled: what h3 logs has no token in it', async () => {
    await addRoutes(new H3()).request('/', bearer(OLD))
    expect(logged).toHaveBeenCalled()
    for (const segment of OLD.split('.').slice(1)) expect(inspect(logged.mock.calls)).not.toContain(segment)
  })

  test('ERR-02 ERR-04 ERR-08 handled: an RFC 6750 answer, and nothing in the log', async () => {
    const response = await addRoutes(new H3().use(handleErrors())).request('/', bearer(OLD))
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

  test('ERR-03 handled: 403 for a missing scope, 503 for a check that cannot answer', async () => {
    const app = addRoutes(new H3().use(handleErrors())).get('/down', () => {
      throw new RevocationUnavailableError(new Error('ECONNREFUSED'))
    })
    const response = await app.request('/scoped', bearer(TOKEN))
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('scope="write"')
    expect((await app.request('/down')).status).toBe(503)
  })

  test('ERR-06 handled: messages, the realm and the configured key', async () => {
    const { config } = createManager({ JWT_ERROR_MESSAGE_KEY: 'detail' }).tokens
    const options = { config, realm: 'shop', messages: { TOKEN_MISSING: 'Log in first' } }
    const response = await addRoutes(new H3().use(handleErrors(options))).request('/')
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
    await expect(response.json()).resolves.toMatchObject({ detail: 'Log in first' })
  })

  test('handled: other errors are what they are without a handler', async () => {
    const [bare, handled] = [addRoutes(new H3()), addRoutes(new H3().use(handleErrors()))]
    for (const path of ['/fails', '/teapot', '/nowhere']) {
      const [expected, response] = [await bare.request(path), await handled.request(path)]
      expect(response.status).toBe(expected.status)
      await expect(response.text()).resolves.toBe(await expected.text())
    }
    expect((await handled.request('/teapot')).status).toBe(418)
    expect(logged).toHaveBeenCalledTimes(2)
  })

  test('handled: a refusal does not send what the route staged, cookies included', async () => {
    const app = new H3()
      .use(handleErrors())
      .use((event) => sendCookies(event, ['session=x']))
      .use(enforce(tokens.accessTokenRequired))
    expect((await app.request('/')).headers.getSetCookie()).toEqual([])
  })

  test("ERR-05 the application's own middleware comes first, and h3's onError sees what nobody handled", async () => {
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
    await addRoutes(new H3(app.config)).request('/')
    expect(seen).toEqual([true])
  })

  test('an error of a mounted application is handled by the whole', async () => {
    const app = new H3().use(handleErrors()).mount('/sub', addRoutes(new H3()))
    expect((await app.request('/sub/')).status).toBe(401)
    expect((await app.request('/sub/', bearer(TOKEN))).status).toBe(200)
  })
})

describe('cross-origin requests', () => {
  const app = new H3()
    .use((event) => {
      const answer = handleCors(event, { origin: ['https://app.example'] })
      return answer === false ? undefined : answer
    })
    .use(handleErrors())
    .use(enforce(tokens.accessTokenRequired))
    .get('/', () => 'ran')
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
