import { type Context, Hono } from 'hono'
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { enforce, fromContext, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/hono.js'
import { MissingTokenError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { SECRET, withBearer } from '../helpers/manager.js'

interface AppEnv {
  Bindings: { readonly JWT_SECRET_KEY: string; readonly REALM?: string }
}

const ONE = { JWT_SECRET_KEY: `${SECRET}-one` }
const OTHER = { JWT_SECRET_KEY: `${SECRET}-other` }

const isRevoked = vi.fn(() => false)
const managers = new Map<string, TokenManager>()

/** The manager for an environment, made once. */
function tokensFor({ JWT_SECRET_KEY }: AppEnv['Bindings']): TokenManager {
  let tokens = managers.get(JWT_SECRET_KEY)
  if (tokens === undefined) {
    tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY }) })
    tokens.setCallbackTokenBlocklist(isRevoked)
    managers.set(JWT_SECRET_KEY, tokens)
  }
  return tokens
}

const accessTokenRequired = fromContext((c: Context<AppEnv>) => tokensFor(c.env).accessTokenRequired)
const bearer = (env: AppEnv['Bindings']) => ({
  headers: { authorization: `Bearer ${tokensFor(env).createAccessToken({ uid: 'ada' })}` },
})

// Hono logs an error that nobody handles.
const logged = vi.spyOn(console, 'error')
beforeEach(() => {
  logged.mockReset().mockImplementation(() => {})
  isRevoked.mockClear()
})
afterAll(() => logged.mockRestore())

describe('fromContext', () => {
  const app = new Hono<AppEnv>()
  app.onError(handleErrors())
  app.get('/enforce', enforce(accessTokenRequired), (c) => c.text('ran'))
  app.get('/var', inject({ payload: accessTokenRequired }), (c) => c.text(c.var.payload.sub))
  app.get(
    '/handler',
    inject({ payload: accessTokenRequired }, ({ payload }, c) => c.text(payload.sub)),
  )

  test.each([
    ['/enforce', 'ran'],
    ['/var', 'ada'],
    ['/handler', 'ada'],
  ])('%s is guarded by the manager of the environment', async (path, text) => {
    for (const [env, foreign] of [
      [ONE, OTHER],
      [OTHER, ONE],
    ] as const) {
      await expect((await app.request(path, bearer(env), env)).text()).resolves.toBe(text)
      const refused = await app.request(path, bearer(foreign), env)
      await expect(refused.json()).resolves.toMatchObject({ code: 'TOKEN_SIGNATURE_INVALID' })
      expect((await app.request(path, {}, env)).status).toBe(401)
    }
  })

  test('the dependency is chosen once per request, so a token is checked once', async () => {
    // A dependency created for each call shares nothing with the one before.
    const select = vi.fn((c: Context<AppEnv>) => tokensFor(c.env).require({ type: 'access' }))
    const required = fromContext(select)
    const app = new Hono<AppEnv>()
    app.get('/', enforce(required), inject({ payload: required }), async (c) => {
      const payload = await required(c.req.raw)
      return c.json(payload === c.var.payload)
    })
    await expect((await app.request('/', bearer(ONE), ONE)).json()).resolves.toBe(true)
    expect([select.mock.calls.length, isRevoked.mock.calls.length]).toEqual([1, 1])
    await app.request('/', bearer(ONE), ONE)
    expect([select.mock.calls.length, isRevoked.mock.calls.length]).toEqual([2, 2])
  })

  test('shares its result with the dependency it chooses', async () => {
    const app = new Hono<AppEnv>().get('/', enforce(accessTokenRequired), async (c) =>
      c.text((await tokensFor(c.env).accessTokenRequired(c.req.raw)).sub),
    )
    await expect((await app.request('/', bearer(ONE), ONE)).text()).resolves.toBe('ada')
    expect(isRevoked).toHaveBeenCalledTimes(1)
  })

  test('a route calls it behind a guard that knows the token of the header', async () => {
    const tokens = new TokenManager({ config: new TokenConfig(ONE) })
    const app = new Hono<AppEnv>()
    app.onError(handleErrors())
    app.get('/', enforce(tokens.accessTokenRequired), async (c) =>
      c.text((await accessTokenRequired(c.req.raw)).sub),
    )
    const known = bearer(ONE)
    for (let times = 1; times <= 4; times++) {
      expect([times, (await app.request('/', known, ONE)).status]).toEqual([times, 200])
    }
  })

  test('passes what the dependency throws on, and the route does not run', async () => {
    const route = vi.fn(() => new Response('ran'))
    const app = new Hono<AppEnv>().get('/', enforce(accessTokenRequired), route)
    expect((await app.request('/', {}, ONE)).status).toBe(500)
    expect(logged.mock.calls[0]?.[0]).toBeInstanceOf(MissingTokenError)
    expect(route).not.toHaveBeenCalled()
  })

  test('takes dependencies that are not asynchronous, and an error in the choice', async () => {
    const app = new Hono()
    app.get('/', inject({ path: fromContext((c) => () => c.req.path) }), (c) => c.text(c.var.path))
    app.get(
      '/fails',
      enforce(
        fromContext(() => {
          throw new Error('a bug')
        }),
      ),
      (c) => c.text('ran'),
    )
    await expect((await app.request('/')).text()).resolves.toBe('/')
    expect((await app.request('/fails')).status).toBe(500)
  })

  test('two requests at the same time have a context each', async () => {
    const envs = [ONE, OTHER, ONE, OTHER]
    const answers = await Promise.all(envs.map(async (env) => app.request('/handler', bearer(env), env)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })

  test('the same request, handed to another application, is checked with the environment of that one', async () => {
    const outer = new Hono<AppEnv>()
    outer.get('/handler', enforce(accessTokenRequired), async (c) => {
      const inner = await app.fetch(c.req.raw, OTHER)
      return c.json({ inner: inner.status })
    })
    const response = await outer.request('/handler', bearer(ONE), ONE)
    await expect(response.json()).resolves.toEqual({ inner: 401 })
  })

  test('works in a sub-application', async () => {
    const outer = new Hono<AppEnv>().route('/api', app)
    expect((await outer.request('/api/handler', bearer(ONE), ONE)).status).toBe(200)
    expect((await outer.request('/api/handler', bearer(OTHER), ONE)).status).toBe(401)
  })

  test('outside a route of ours it throws a TypeError that says what is missing', async () => {
    const token = tokensFor(ONE).createAccessToken({ uid: 'ada' })
    expect(() => accessTokenRequired(withBearer(token))).toThrow(TypeError)
    expect(() => accessTokenRequired(withBearer(token))).toThrow('tokenlib/hono')

    const errors: unknown[] = []
    const app = new Hono<AppEnv>().get('/', async (c) => c.json(await accessTokenRequired(c.req.raw)))
    app.onError((error, c) => {
      errors.push(error)
      return c.text('', 500)
    })
    await app.request('/', bearer(ONE), ONE)
    expect(errors[0]).toBeInstanceOf(TypeError)
  })
})

describe('handleErrors', () => {
  test('takes options as a function of the context', async () => {
    const app = new Hono<AppEnv>()
    const options = vi.fn((c: Context<AppEnv>) => ({ realm: c.env.REALM ?? 'none' }))
    app.onError(handleErrors(options))
    app.get('/', enforce(accessTokenRequired), (c) => c.text('ran'))
    app.get('/fails', () => {
      throw new Error('a bug')
    })
    const response = await app.request('/', {}, { ...ONE, REALM: 'shop' })
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
    expect(options).toHaveBeenCalledTimes(1)
    expect((await app.request('/fails', {}, ONE)).status).toBe(500)
    expect(options).toHaveBeenCalledTimes(1)
  })

  test('gives each environment the words of its own manager', async () => {
    const configs = { de: 'nachricht', en: 'message' } as const
    const app = new Hono<{ Bindings: { LANG: keyof typeof configs } }>()
    app.onError(
      handleErrors((c: Context<{ Bindings: { LANG: keyof typeof configs } }>) => ({
        config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_ERROR_MESSAGE_KEY: configs[c.env.LANG] }),
      })),
    )
    app.get('/', () => {
      throw new MissingTokenError()
    })
    for (const [lang, key] of Object.entries(configs)) {
      await expect((await app.request('/', {}, { LANG: lang })).json()).resolves.toHaveProperty(key)
    }
  })
})
