import { Elysia, NotFoundError } from 'elysia'
import { describe, expect, test } from 'vitest'
import { enforce, handleErrors } from '../../src/adapters/elysia.js'
import { RevocationUnavailableError, TokenExpiredError } from '../../src/index.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const get = (path = '/') => createRequest({ path })

describe.each([true, false])('errors, with aot: %s', (aot) => {
  const createApp = () => new Elysia({ aot })
  /** Guarded routes, one that fails, and one that answers with an error of Elysia's. */
  const routes = () =>
    createApp()
      .get('/', () => 'ran', { beforeHandle: enforce(tokens.accessTokenRequired) })
      .get('/scoped', () => 'ran', { beforeHandle: enforce(tokens.scopesRequired('write')) })
      .get('/down', () => {
        throw new RevocationUnavailableError(new Error('ECONNREFUSED'))
      })
      .get('/fails', () => {
        throw new Error('a bug')
      })
      .get('/gone', () => {
        throw new NotFoundError('gone')
      })

  test.each([
    ['no token', get()],
    ['a bad token', withBearer('bad')],
    ['an expired token', withBearer(OLD)],
  ])('ERR-01 ERR-10 not handled: %s is a 500 without a challenge or a token in it', async (_, request) => {
    const response = await routes().handle(request)
    expect(response.status).toBe(500)
    expect(response.headers.get('www-authenticate')).toBeNull()
    const text = await response.text()
    for (const segment of OLD.split('.').slice(1)) expect(text).not.toContain(segment)
  })

  test('ERR-01 not handled: a 500 whatever status the route had set before', async () => {
    const app = createApp()
      .onTransform(({ set }) => void (set.status = 201))
      .use(routes())
      .get('/after', () => 'ran', { beforeHandle: enforce(tokens.accessTokenRequired) })
    expect((await app.handle(get('/after'))).status).toBe(500)
  })

  test('ERR-02 ERR-04 ERR-08 handled: an RFC 6750 answer', async () => {
    const response = await createApp().onError(handleErrors()).use(routes()).handle(withBearer(OLD))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer realm="api", error="invalid_token", /)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    await expect(response.json()).resolves.toMatchObject({
      error_type: 'TokenExpiredError',
      code: 'TOKEN_EXPIRED',
    })
  })

  test('ERR-03 handled: 403 for a missing scope, 503 for a check that cannot answer', async () => {
    const app = createApp().onError(handleErrors()).use(routes())
    const response = await app.handle(withBearer(TOKEN, '/scoped'))
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('scope="write"')
    expect((await app.handle(get('/down'))).status).toBe(503)
  })

  test('ERR-06 handled: messages, the realm and the configured key', async () => {
    const { config } = createManager({ JWT_ERROR_MESSAGE_KEY: 'detail' }).tokens
    const options = { config, realm: 'shop', messages: { TOKEN_MISSING: 'Log in first' } }
    const response = await createApp().onError(handleErrors(options)).use(routes()).handle(get())
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
    await expect(response.json()).resolves.toMatchObject({ detail: 'Log in first' })
  })

  test('handled: other errors are what they are without a handler', async () => {
    const handled = createApp().onError(handleErrors()).use(routes())
    for (const path of ['/fails', '/gone', '/nowhere']) {
      const [expected, response] = [await routes().handle(get(path)), await handled.handle(get(path))]
      expect(response.status).toBe(expected.status)
      await expect(response.text()).resolves.toBe(await expected.text())
    }
  })

  test("ERR-05 the application's own handler comes first when it is registered first", async () => {
    const app = createApp()
      .onError(({ error, set }) => {
        if (!(error instanceof TokenExpiredError)) return undefined
        set.status = 410
        return 'own'
      })
      .onError(handleErrors())
      .use(routes())
    expect((await app.handle(withBearer(OLD))).status).toBe(410)
    expect((await app.handle(get())).status).toBe(401)
  })

  test('registered on the root before its plugins, it is for them all', async () => {
    const nested = createApp().use(createApp().use(routes()))
    expect((await createApp().onError(handleErrors()).use(nested).handle(get())).status).toBe(401)
  })

  test('registered in a plugin, it is for the whole application only as global', async () => {
    const local = createApp().onError(handleErrors())
    const global = createApp().onError({ as: 'global' }, handleErrors())
    expect((await createApp().use(local).use(routes()).handle(get())).status).toBe(500)
    expect((await createApp().use(global).use(routes()).handle(get())).status).toBe(401)
    const nested = createApp().use(createApp().use(global))
    expect((await nested.use(routes()).handle(get())).status).toBe(401)
  })

  test('ERR-11 behind a hook for cross-origin requests, a preflight passes and a refusal can be read', async () => {
    const app = createApp()
      .onRequest(({ request, set }) => {
        set.headers['access-control-allow-origin'] = 'https://app.example'
        if (request.method === 'OPTIONS') return new Response(null, { status: 204 })
        return undefined
      })
      .onError(handleErrors())
      .onBeforeHandle(enforce(tokens.accessTokenRequired))
      .get('/', () => 'ran')
    const preflight = await app.handle(createRequest({ method: 'OPTIONS' }))
    expect(preflight.status).toBe(204)
    const refusal = await app.handle(get())
    expect(refusal.status).toBe(401)
    expect(refusal.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(refusal.headers.get('www-authenticate')).toBe('Bearer realm="api"')
  })
})

// Types keep a guard out of onRequest. Past them, a refusal without handleErrors is a 200 in Elysia.
test('a guard in onRequest keeps the route from running all the same', async () => {
  const guard = enforce(tokens.accessTokenRequired) as () => Promise<void>
  const app = new Elysia().onRequest(guard).get('/', () => 'ran')
  await expect((await app.handle(get())).text()).resolves.not.toBe('ran')
})
