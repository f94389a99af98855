import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/express.js'
import { MissingTokenError, TokenError } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'

// What every adapter does is in matrix.test.ts.
const { tokens, clock } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
clock.seconds += 1
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** Serves an application until the test ends, and returns its address. */
async function serve(app: Express): Promise<string> {
  const server = await serveNode(app, 0)
  onTestFinished(() => server.close())
  return server.url
}

// Express 4 does not look at the promise.
test('enforce and inject give errors to next, and their promises never reject', async () => {
  const given: unknown[] = []
  const next = (error?: unknown): void => void given.push(error)
  const app = express()
  app.get('/', (req, res) => {
    const guards = [
      enforce(tokens.accessTokenRequired),
      inject({ payload: tokens.accessTokenRequired }),
      inject({ payload: tokens.accessTokenOptional }, async () => Promise.reject(new MissingTokenError())),
    ]
    return Promise.all(guards.map(async (guard) => guard(req, res, next))).then(() => res.send('settled'))
  })
  await expect((await fetch(await serve(app))).text()).resolves.toBe('settled')
  expect(given).toEqual([expect.any(TokenError), expect.any(TokenError), expect.any(TokenError)])
})

describe('inject', () => {
  test('as middleware puts the values into res.locals, next to what is there', async () => {
    const app = express()
    app.use((_req, res, next) => {
      res.locals['lang'] = 'en'
      next()
    })
    app.get('/', inject({ payload: tokens.accessTokenRequired, one: () => 1 }), (_req, res) =>
      res.json([res.locals.payload.age, res.locals.one, Object.keys(res.locals)]),
    )
    const response = await fetch(await serve(app), bearer(TOKEN))
    await expect(response.json()).resolves.toEqual([36, 1, ['lang', 'payload', 'one']])
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

  test.each(['sync', 'async'])(
    'an error of a handler that is %s goes to the error handler once',
    async (kind) => {
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
      }) satisfies ErrorRequestHandler)
      expect((await fetch(await serve(app))).status).toBe(418)
      expect(caught).toHaveBeenCalledExactlyOnceWith(bug)
    },
  )
})

describe('a token in a JSON body', () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json' })
  const BODY = { access_token: tokens.createAccessToken({ uid: 'ada' }), title: 'x' }
  const guard = enforce(tokens.accessTokenRequired)
  const optional = enforce(tokens.accessTokenOptional)

  const post = async (
    handlers: RequestHandler[],
    body: string | Buffer = JSON.stringify(BODY),
    headers = {},
  ): Promise<Response> => {
    const app = express()
    app.post('/', ...handlers, (req, res) => void res.json(req.body ?? null))
    app.use(handleErrors())
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
    return fetch(await serve(app), init)
  }

  test.each<[parser: string, handler: RequestHandler]>([
    ['express.text()', express.text({ type: '*/*' })],
    ['express.raw()', express.raw({ type: '*/*' })],
  ])('is found in what %s left', async (_, parser) => {
    expect((await post([parser, guard])).status).toBe(200)
  })

  test('a compressed body is searched after express.json(), and left to it before', async () => {
    const body = gzipSync(JSON.stringify(BODY))
    for (const handlers of [
      [express.json(), guard],
      [optional, express.json()],
    ]) {
      const response = await post(handlers, body, { 'content-encoding': 'gzip' })
      await expect(response.json()).resolves.toEqual(BODY)
    }
  })

  test('on an optional route a malformed body is left for the parser to refuse', async () => {
    expect((await post([optional, express.json()], '{"access_token":')).status).toBe(400)
  })
})

describe('errors', () => {
  const guarded = (): Express => {
    const app = express()
    app.get('/', enforce(tokens.accessTokenRequired), (_req, res) => res.send('ran'))
    return app
  }

  test('not handled: what Express logs and shows has no token in it', async () => {
    // Express logs after it has answered.
    const logged = new Promise<unknown[]>((resolve) => {
      const spy = vi.spyOn(console, 'error').mockImplementation((...given) => resolve(given))
      onTestFinished(() => spy.mockRestore())
    })
    // In the environment `test` it would not log.
    const page = await (await fetch(await serve(guarded().set('env', 'development')), bearer(OLD))).text()
    const shown = page + inspect(await logged)
    expect(page).toContain('TokenExpiredError')
    for (const segment of OLD.split('.').slice(1)) expect(shown).not.toContain(segment)
  })

  test("handled: the application's JSON settings do not change the answer", async () => {
    const plain = await (await fetch(await serve(guarded().use(handleErrors())))).text()
    const app = guarded().use(handleErrors()).set('json spaces', 2).set('json replacer', ['code'])
    await expect((await fetch(await serve(app))).text()).resolves.toBe(plain)
  })

  test('handled: another error reaches the next handler as the same object', async () => {
    for (const bug of [new Error('a bug'), { isTokenError: true }, 'text']) {
      const caught: unknown[] = []
      const app = express()
      app.get('/', () => {
        throw bug
      })
      app.use(handleErrors(), ((error, _req, res, _next) => {
        caught.push(error)
        res.status(418).end()
      }) satisfies ErrorRequestHandler)
      expect((await fetch(await serve(app))).status).toBe(418)
      expect(caught).toHaveLength(1)
      expect(caught[0]).toBe(bug)
    }
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

  test("a router's own handler comes before that of the application", async () => {
    const router = express.Router().use(enforce(tokens.accessTokenRequired))
    router.use(((_error, _req, res, _next) => res.status(410).end()) satisfies ErrorRequestHandler)
    const app = express().use('/own', router).use('/shared', guarded()).use(handleErrors())
    const url = await serve(app)
    expect((await fetch(`${url}/own`)).status).toBe(410)
    expect((await fetch(`${url}/shared`)).status).toBe(401)
    expect((await fetch(`${url}/shared`, bearer(TOKEN))).status).toBe(200)
  })
})
