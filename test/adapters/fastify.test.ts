import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { applicationContract } from 'tokenlib/testing'
import { createApplication } from '../../examples/application.js'
import { start } from '../../examples/fastify.js'
import { enforce, handleErrors, inject, sendCookies } from '../../src/adapters/fastify.js'
import { type Dependency, MissingTokenError, setAccessCookies } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'

applicationContract(
  'fastify',
  async (options) => {
    const application = createApplication()
    const server = await start(application, { ...options, framework: 'fastify', port: 0 })
    return { ...server, checks: () => application.checks() }
  },
  { afterAll, beforeAll, describe, test },
)

const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const get = (app: FastifyInstance, url: string, token?: string) =>
  app.inject({ url, ...(token !== undefined && bearer(token)) })

/** A dependency that writes its name into a list when it starts and when it ends. */
const note =
  (name: string, log: string[], error?: Error): Dependency<string> =>
  async () => {
    log.push(`${name} starts`)
    await Promise.resolve()
    log.push(`${name} ends`)
    if (error !== undefined) throw error
    return name
  }

describe('enforce', () => {
  describe.each(['onRequest', 'preValidation', 'preHandler'] as const)('as %s', (hook) => {
    test('lets a good request on to the route', async () => {
      const app = Fastify()
      app.get('/', { [hook]: enforce(tokens.accessTokenRequired) }, () => 'ran')
      const response = await get(app, '/', TOKEN)
      expect([response.statusCode, response.body]).toEqual([200, 'ran'])
    })

    test('the route does not run when the request is refused', async () => {
      const route = vi.fn(() => 'ran')
      const app = Fastify()
      app.get('/', { [hook]: [enforce(tokens.accessTokenRequired)] }, route)
      for (const token of [undefined, 'bad', OLD]) expect((await get(app, '/', token)).statusCode).toBe(500)
      expect(route).not.toHaveBeenCalled()
    })

    test('guards every route of a context, and none outside of it', async () => {
      const app = Fastify()
      app.setErrorHandler(handleErrors())
      app.get('/', () => 'open')
      app.register(async (admin) => {
        admin.addHook(hook as 'onRequest', enforce(tokens.accessTokenRequired))
        admin.get('/users', () => 'users')
        admin.register(async (child) => void child.get('/deep', () => 'deep'))
      })
      expect((await get(app, '/')).statusCode).toBe(200)
      for (const url of ['/users', '/deep']) {
        expect((await get(app, url)).statusCode).toBe(401)
        expect((await get(app, url, TOKEN)).statusCode).toBe(200)
      }
    })
  })

  test('runs its dependencies one after the other in the order they are written, up to the first that throws', async () => {
    const log: string[] = []
    const app = Fastify()
    const hook = enforce(note('a', log), note('b', log, new MissingTokenError()), note('c', log))
    app.get('/', { onRequest: hook }, () => 'ran')
    expect((await get(app, '/')).statusCode).toBe(500)
    expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends'])
  })

  test('takes dependencies that are not asynchronous', async () => {
    const app = Fastify()
    app.setErrorHandler(handleErrors())
    const refuse: Dependency<never> = () => {
      throw new MissingTokenError()
    }
    app.get('/open', { onRequest: enforce(() => 1) }, () => 'ran')
    app.get('/closed', { onRequest: enforce(refuse) }, () => 'ran')
    expect((await get(app, '/open')).statusCode).toBe(200)
    expect((await get(app, '/closed')).statusCode).toBe(401)
  })

  test('without a dependency, or with something else in its place, is refused when the route is made', () => {
    expect(() => enforce()).toThrow(TypeError)
    expect(() => enforce(undefined as never)).toThrow(TypeError)
    expect(() => inject({}, () => 'ran')).toThrow(TypeError)
    expect(() => inject({ payload: 'text' as never }, () => 'ran')).toThrow(TypeError)
  })
})

describe('inject', () => {
  test('gives the handler the values, the request, the reply and the instance', async () => {
    const app = Fastify()
    app.decorate('name', 'shop')
    app.get<{ Params: { id: string } }>(
      '/users/:id',
      inject(
        { payload: tokens.accessTokenRequired, token: tokens.getTokenFromRequest },
        function ({ payload, token }, request, reply) {
          const name = this.getDecorator<string>('name')
          return reply.send([payload.sub, payload.age, token?.location, request.params.id, name])
        },
      ),
    )
    const response = await get(app, '/users/7', TOKEN)
    expect(response.json()).toEqual(['ada', 36, 'headers', '7', 'shop'])
  })

  test('the handler may return its answer, resolve with it, send it, or send it later', async () => {
    const app = Fastify()
    const values = { payload: tokens.accessTokenRequired }
    app.get(
      '/returned',
      inject(values, () => ({ a: 1 })),
    )
    app.get(
      '/resolved',
      inject(values, async () => ({ a: 1 })),
    )
    app.get(
      '/sent',
      inject(values, (_, _request, reply) => void reply.send({ a: 1 })),
    )
    app.get(
      '/replied',
      inject(values, async (_, _request, reply) => reply.send({ a: 1 })),
    )
    app.get(
      '/later',
      inject(values, (_, _request, reply) => void setImmediate(() => void reply.send({ a: 1 }))),
    )
    for (const path of ['/returned', '/resolved', '/sent', '/replied', '/later']) {
      const response = await get(app, path, TOKEN)
      expect([path, response.statusCode, response.body]).toEqual([path, 200, '{"a":1}'])
    }
  })

  test('gives null for an optional token that is absent, and refuses a bad one', async () => {
    const app = Fastify()
    app.setErrorHandler(handleErrors())
    app.get(
      '/',
      inject({ payload: tokens.accessTokenOptional }, ({ payload }) => ({ payload })),
    )
    expect((await get(app, '/')).json()).toEqual({ payload: null })
    expect((await get(app, '/', 'bad')).statusCode).toBe(401)
  })

  test('the handler does not run when the request is refused', async () => {
    const handler = vi.fn(() => 'ran')
    const log: string[] = []
    const app = Fastify()
    const dependencies = { b: note('b', log), a: tokens.accessTokenRequired, c: note('c', log) }
    app.get('/', inject(dependencies, handler))
    expect((await get(app, '/')).statusCode).toBe(500)
    expect(handler).not.toHaveBeenCalled()
    expect(log).toEqual(['b starts', 'b ends'])
  })

  test('what the handler throws is the error of the route', async () => {
    const app = Fastify()
    const fail = () => Promise.reject(Object.assign(new Error('gone'), { statusCode: 410 }))
    app.get('/', inject({ payload: tokens.accessTokenRequired }, fail))
    expect((await get(app, '/', TOKEN)).statusCode).toBe(410)
  })
})

test('enforce, inject and calls by hand on one route ask the revocation callback once per request', async () => {
  const { tokens } = createManager()
  const isRevoked = vi.fn(async () => false)
  tokens.setCallbackTokenBlocklist(isRevoked)
  const app = Fastify()
  app.addHook('onRequest', enforce(tokens.accessTokenRequired))
  app.get(
    '/',
    { preHandler: enforce(tokens.accessTokenRequired) },
    inject({ payload: tokens.accessTokenRequired }, async ({ payload }, request) => {
      expect(await tokens.accessTokenRequired(request.raw)).toBe(payload)
      expect(await tokens.accessTokenRequired(request)).toBe(payload)
      return payload.sub
    }),
  )
  expect((await get(app, '/', TOKEN)).body).toBe('ada')
  expect(isRevoked).toHaveBeenCalledTimes(1)
  await get(app, '/', TOKEN)
  expect(isRevoked).toHaveBeenCalledTimes(2)
})

describe('sendCookies', () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies' })
  const cookies = setAccessCookies(tokens, tokens.createAccessToken({ uid: 'ada' }))

  test('adds to the cookies that the reply has and will get', async () => {
    const app = Fastify()
    app.post('/', (_request, reply) => {
      reply.header('set-cookie', 'theme=dark')
      sendCookies(reply, cookies)
      return reply.header('set-cookie', 'lang=en').send()
    })
    const response = await app.inject({ method: 'POST', url: '/' })
    expect(response.headers['set-cookie']).toEqual(['theme=dark', ...cookies, 'lang=en'])
    expect(cookies).toHaveLength(2)
  })

  test('the cookies are found again in the next request', async () => {
    const app = Fastify()
    app.post('/login', (_request, reply) => {
      sendCookies(reply, cookies)
      return reply.code(204).send()
    })
    app.get(
      '/me',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }) => payload.sub),
    )
    const login = await app.inject({ method: 'POST', url: '/login' })
    const jar = Object.fromEntries(login.cookies.map(({ name, value }) => [name, value]))
    expect((await app.inject({ url: '/me', cookies: jar })).body).toBe('ada')
  })
})
