import { text } from 'node:stream/consumers'
import { Router, type RouterContext } from '@koa/router'
import Koa, { type Middleware } from 'koa'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/koa.js'
import { MissingTokenError } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** What Koa was told of errors; a listener takes the place of its log. */
const reported = vi.fn<(error: unknown) => void>()

/** Serves an application of these until the test ends, and returns its address. */
async function serve(...middleware: Middleware[]): Promise<string> {
  const app = new Koa()
  app.on('error', (error) => reported(error))
  for (const one of middleware) app.use(one)
  const handle = app.callback()
  const server = await serveNode((req, res) => void handle(req, res), 0)
  onTestFinished(() => server.close())
  reported.mockReset()
  return server.url
}

test('enforce waits for what comes after it', async () => {
  const order: string[] = []
  const url = await serve(
    async (_ctx, next) => {
      await next()
      order.push('after')
    },
    enforce(tokens.accessTokenRequired),
    async (ctx) => {
      await Promise.resolve()
      order.push('route')
      ctx.body = 'ran'
    },
  )
  await fetch(url, bearer(TOKEN))
  expect(order).toEqual(['route', 'after'])
})

describe('inject', () => {
  test('as middleware puts the values into ctx.state, next to what is there', async () => {
    const router = new Router()
    router.get(
      '/',
      (ctx, next) => {
        ctx.state['lang'] = 'en'
        return next()
      },
      inject({ payload: tokens.accessTokenRequired, one: () => 1 }),
      (ctx) => {
        ctx.body = [ctx.state.payload.age, ctx.state.one, Object.keys(ctx.state)]
      },
    )
    const response = await fetch(await serve(router.routes() as Middleware), bearer(TOKEN))
    await expect(response.json()).resolves.toEqual([36, 1, ['lang', 'payload', 'one']])
  })

  test('as a handler gives the values, the context and next', async () => {
    const router = new Router()
    router.get(
      '/users/:id',
      inject({ payload: tokens.accessTokenRequired }, async ({ payload }, ctx: RouterContext, next) => {
        await next()
        ctx.body = [payload.sub, ctx.params['id'], ctx.body]
      }),
      (ctx) => void (ctx.body = 'ran'),
    )
    const response = await fetch(`${await serve(router.routes() as Middleware)}/users/7`, bearer(TOKEN))
    await expect(response.json()).resolves.toEqual(['ada', '7', 'ran'])
  })
})

describe('a body', () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json' })
  const guard = enforce(tokens.accessTokenRequired)
  const BODY = JSON.stringify({ access_token: tokens.createAccessToken({ uid: 'ada' }) })
  /** What Koa's body parsers do: read the stream, and leave what they made of it at ctx.request. */
  const createParser =
    (parse: (body: string) => unknown): Middleware =>
    async (ctx, next) => {
      Object.assign(ctx.request, { body: parse(await text(ctx.req)) })
      await next()
    }
  const post = (url: string, body: string) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })

  test('that a parser left as text is searched', async () => {
    const url = await serve(
      handleErrors(),
      createParser((body) => body),
      guard,
      (ctx) => void (ctx.body = 'ran'),
    )
    expect((await post(url, BODY)).status).toBe(200)
  })

  test('that is null has no token', async () => {
    for (const middleware of [[guard], [createParser((body) => JSON.parse(body) as unknown), guard]]) {
      const response = await post(await serve(handleErrors(), ...middleware), 'null')
      expect([response.status, await response.json()]).toMatchObject([401, { code: 'TOKEN_MISSING' }])
    }
  })
})

describe('handleErrors', () => {
  test('another error is thrown on as the same object', async () => {
    for (const bug of [new Error('a bug'), { isTokenError: true }, 'text']) {
      const caught: unknown[] = []
      const url = await serve(
        async (ctx, next) => {
          await next().catch((error: unknown) => caught.push(error))
          ctx.status = 418
        },
        handleErrors(),
        () => Promise.reject(bug),
      )
      expect((await fetch(url)).status).toBe(418)
      expect(caught).toHaveLength(1)
      expect(caught[0]).toBe(bug)
    }
  })

  test('the answer takes the place of a body that a route had begun to set', async () => {
    const url = await serve(handleErrors(), (ctx) => {
      ctx.type = 'html'
      ctx.body = '<p>a long text that is no JSON'
      throw new MissingTokenError()
    })
    const response = await fetch(url)
    expect([response.status, await response.json()]).toMatchObject([401, { code: 'TOKEN_MISSING' }])
    expect(reported).not.toHaveBeenCalled()
  })

  test('an answer that has been sent is left alone', async () => {
    const url = await serve(handleErrors(), (ctx) => {
      ctx.res.end('sent')
      throw new MissingTokenError()
    })
    const response = await fetch(url)
    expect([response.status, await response.text()]).toEqual([404, 'sent'])
    expect(reported).toHaveBeenCalledExactlyOnceWith(expect.any(MissingTokenError))
  })
})
