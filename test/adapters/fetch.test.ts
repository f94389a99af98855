import { describe, expect, test, vi } from 'vitest'
import { enforce, type FetchHandler, handleErrors, inject } from '../../src/adapters/fetch.js'
import {
  type Dependency,
  MissingTokenError,
  RevokedTokenError,
  TokenDecodeError,
  TokenExpiredError,
} from '../../src/index.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createJsonRequest, createRequest } from '../helpers/requests.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })

/** A handler that records its calls. */
const createHandler = () => vi.fn((..._given: readonly unknown[]) => new Response('ran'))

/** A dependency that writes its name into a list when it starts and when it ends. */
const createDependency =
  (name: string, log: string[], error?: Error): Dependency<string> =>
  async () => {
    log.push(`${name} starts`)
    await Promise.resolve()
    log.push(`${name} ends`)
    if (error !== undefined) throw error
    return name
  }

describe('enforce', () => {
  test('lets a good request through to the handler, with everything it was given', async () => {
    const handler = createHandler()
    const request = withBearer(TOKEN)
    const context = { params: { id: '1' } }
    const response = await enforce(tokens.accessTokenRequired)(handler)(request, context, 42)
    await expect(response.text()).resolves.toBe('ran')
    expect(handler).toHaveBeenCalledExactlyOnceWith(request, context, 42)
    expect(handler.mock.calls[0]?.[0]).toBe(request)
  })

  test('the handler does not run when the request is refused', async () => {
    const handler = createHandler()
    const guarded = enforce(tokens.accessTokenRequired)(handler)
    await expect(guarded(createRequest())).rejects.toBeInstanceOf(MissingTokenError)
    await expect(guarded(withBearer('bad'))).rejects.toBeInstanceOf(TokenDecodeError)
    expect(handler).not.toHaveBeenCalled()
  })

  test('runs its dependencies one after the other, in the order they are written', async () => {
    const log: string[] = []
    await enforce(createDependency('a', log), createDependency('b', log))(createHandler())(createRequest())
    expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends'])
  })

  test('stops at the first dependency that throws', async () => {
    const log: string[] = []
    const refused = new MissingTokenError()
    const guarded = enforce(createDependency('a', log, refused), createDependency('b', log))(createHandler())
    await expect(guarded(createRequest())).rejects.toBe(refused)
    expect(log).toEqual(['a starts', 'a ends'])
  })

  test('takes dependencies that are not asynchronous', async () => {
    const refuse: Dependency<never> = () => {
      throw new MissingTokenError()
    }
    await expect(enforce(refuse)(createHandler())(createRequest())).rejects.toBeInstanceOf(MissingTokenError)
    await expect(enforce(() => 1)(createHandler())(createRequest())).resolves.toBeInstanceOf(Response)
  })

  test('without a dependency, or with something else in its place, is refused when the route is made', () => {
    expect(() => enforce()).toThrow(TypeError)
    expect(() => enforce(undefined as never)).toThrow(TypeError)
    expect(() => inject({}, () => new Response())).toThrow(TypeError)
    expect(() => inject({ payload: 'text' as never }, () => new Response())).toThrow(TypeError)
  })
})

describe('inject', () => {
  test('gives the handler the values, the request and the rest', async () => {
    const request = withBearer(TOKEN)
    const route = inject(
      { payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest },
      ({ payload, token }, given, context: { id: number }) =>
        Response.json([payload.sub, payload.age, token?.location, given === request, context.id]),
    )
    const response = await route(request, { id: 7 })
    await expect(response.json()).resolves.toEqual(['ada', 36, 'headers', true, 7])
  })

  test('gives null for an optional token that is absent', async () => {
    const route = inject({ payload: tokens.accessTokenOptional }, ({ payload }) => Response.json(payload))
    await expect((await route(createRequest())).json()).resolves.toBeNull()
    await expect(route(withBearer('bad'))).rejects.toBeInstanceOf(TokenDecodeError)
  })

  test('the handler does not run when the request is refused', async () => {
    const handler = createHandler()
    await expect(
      inject({ payload: tokens.accessTokenRequired }, handler)(createRequest()),
    ).rejects.toBeInstanceOf(MissingTokenError)
    expect(handler).not.toHaveBeenCalled()
  })

  test('runs its dependencies one after the other, and stops at the first that throws', async () => {
    const log: string[] = []
    const handler = createHandler()
    const dependencies = {
      b: createDependency('b', log),
      a: createDependency('a', log, new MissingTokenError()),
      c: createDependency('c', log),
    }
    await expect(inject(dependencies, handler)(createRequest())).rejects.toBeInstanceOf(MissingTokenError)
    expect(log).toEqual(['b starts', 'b ends', 'a starts', 'a ends'])
  })

  test('inside enforce on one route, the token is checked once', async () => {
    const { tokens } = createManager()
    const isRevoked = vi.fn(() => false)
    tokens.setCallbackTokenBlocklist(isRevoked)
    const route = enforce(tokens.accessTokenRequired)(
      inject({ payload: tokens.accessTokenRequired }, ({ payload }) => new Response(payload.sub)),
    )
    await route(withBearer(TOKEN))
    expect(isRevoked).toHaveBeenCalledTimes(1)
    await route(withBearer(TOKEN))
    expect(isRevoked).toHaveBeenCalledTimes(2)
  })

  test('JSN-07 the handler can read the body that carried the token', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json' })
    const route = inject({ payload: tokens.accessTokenRequired }, async (_, request) =>
      Response.json(await request.json()),
    )
    const body = { access_token: TOKEN, title: 'x' }
    await expect((await route(createJsonRequest(body))).json()).resolves.toEqual(body)
  })
})

describe('handleErrors', () => {
  const guarded = enforce(tokens.accessTokenRequired)(createHandler())

  test('ERR-02 ERR-08 a refusal becomes an RFC 6750 answer', async () => {
    const response = await handleErrors()(guarded)(createRequest())
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="api"')
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(response.headers.get('cache-control')).toBe('no-store')
    await expect(response.json()).resolves.toMatchObject({
      error_type: 'MissingTokenError',
      code: 'TOKEN_MISSING',
    })
  })

  test('ERR-03 ERR-08 a missing scope becomes a 403 that names it', async () => {
    const scoped = enforce(tokens.scopesRequired('write'))(createHandler())
    const response = await handleErrors()(scoped)(withBearer(TOKEN))
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(response.headers.get('www-authenticate')).toContain('scope="write"')
  })

  test('ERR-03 an unanswered revocation check becomes a 503', async () => {
    const { tokens } = createManager()
    tokens.setCallbackTokenBlocklist(() => {
      throw new Error('down')
    })
    const response = await handleErrors()(enforce(tokens.accessTokenRequired)(createHandler()))(
      withBearer(TOKEN),
    )
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
  })

  test('ERR-06 takes messages, the realm and the configured key', async () => {
    const { tokens } = createManager({ JWT_ERROR_MESSAGE_KEY: 'detail' })
    const options = {
      config: tokens.config,
      realm: 'shop',
      messages: { TOKEN_MISSING: 'Bitte anmelden – jetzt' },
    }
    const response = await handleErrors(options)(guarded)(createRequest())
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="shop"')
    await expect(response.json()).resolves.toMatchObject({ detail: 'Bitte anmelden – jetzt' })
  })

  test('what the handler returns and is given passes through', async () => {
    const handler = createHandler()
    const response = await handleErrors()(handler)(createRequest(), 'rest')
    await expect(response.text()).resolves.toBe('ran')
    expect(handler).toHaveBeenCalledExactlyOnceWith(expect.any(Request), 'rest')
  })

  test.each([
    ['an error', new Error('ours')],
    ['a TypeError', new TypeError('ours')],
    ['an object that only says it is one', { isTokenError: true, code: 'TOKEN_MISSING' }],
  ])('other errors pass through as they are: %s', async (_, error) => {
    const handler: FetchHandler = () => Promise.reject(error)
    await expect(handleErrors()(handler)(createRequest())).rejects.toBe(error)
  })

  test('ERR-01 without it a refusal is an ordinary error of the handler', async () => {
    await expect(guarded(createRequest())).rejects.toBeInstanceOf(MissingTokenError)
  })

  test.each([
    ['its class', TokenExpiredError],
    ['its parent', TokenDecodeError],
  ])("ERR-05 the application's handler for an error's %s comes first", async (_, type) => {
    const expired: FetchHandler = () => Promise.reject(new TokenExpiredError(1))
    const revoked: FetchHandler = () => Promise.reject(new RevokedTokenError({}, {}))
    const own =
      (handler: FetchHandler): FetchHandler =>
      async (request) => {
        try {
          return await handler(request)
        } catch (error) {
          if (error instanceof type) return new Response('own', { status: 419 })
          throw error
        }
      }
    expect((await handleErrors()(own(expired))(createRequest())).status).toBe(419)
    expect((await handleErrors()(own(revoked))(createRequest())).status).toBe(401)
  })
})
