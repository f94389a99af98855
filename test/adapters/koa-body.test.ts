import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Router } from '@koa/router'
import Koa, { type Middleware } from 'koa'
import { afterAll, describe, expect, test } from 'vitest'
import { type RunningServer, serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject, sendCookies } from '../../src/adapters/koa.js'
import { setAccessCookies, unsetCookies } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf, toHttpText } from '../helpers/requests.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json', 'cookies'], JWT_CSRF_CHECK_FORM: true })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const BODY = { access_token: TOKEN, title: 'x' }
const guard = enforce(tokens.accessTokenRequired)

const servers: RunningServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.close())))

/** Serves an application of these, and returns its address. */
async function serve(...middleware: Middleware[]): Promise<string> {
  const app = new Koa()
  app.silent = true
  for (const one of middleware) app.use(one)
  const handle = app.callback()
  const server = await serveNode((req, res) => void handle(req, res), 0)
  servers.push(server)
  return server.url
}

/** What Koa's body parsers do: read the stream once, and leave what they made of it at ctx.request. */
const parser =
  (parse: (body: string) => unknown): Middleware =>
  async (ctx, next) => {
    const request = ctx.request as { body?: unknown }
    request.body ??= parse(await text(ctx.req))
    await next()
  }
const jsonParser = parser((body) => JSON.parse(body) as unknown)
const formParser = parser((body) => Object.fromEntries(new URLSearchParams(body)))

/** Answers with what a parser left. */
const echo: Middleware = (ctx) => {
  ctx.type = 'json'
  ctx.body = JSON.stringify((ctx.request as { body?: unknown }).body)
}

const postJson = (url: string, body: string = JSON.stringify(BODY)) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })

describe('a token in a JSON body', () => {
  test.each<[order: string, middleware: Middleware[]]>([
    ['after a body parser', [jsonParser, guard]],
    ['before a body parser', [guard, jsonParser]],
    ['on both sides of a body parser', [guard, jsonParser, enforce(tokens.tokenRequired)]],
  ])('JSN-01 JSN-07 is found %s, and the route has its body', async (_, middleware) => {
    const response = await postJson(await serve(handleErrors(), ...middleware, echo))
    expect(response.status).toBe(200)
    await expect(response.json()).resolves.toEqual(BODY)
  })

  test('JSN-01 is found in a body that a parser left as text', async () => {
    const url = await serve(
      handleErrors(),
      parser((body) => body),
      guard,
      echo,
    )
    expect((await postJson(url)).status).toBe(200)
  })

  test('JSN-01 is found by a dependency that the route calls itself', async () => {
    const url = await serve(jsonParser, enforce(tokens.accessTokenRequired), async (ctx) => {
      ctx.body = (await tokens.tokenRequired(ctx.req)).sub
    })
    await expect((await postJson(url)).text()).resolves.toBe('ada')
  })

  test('JSN-07 without a parser the route can still read the stream', async () => {
    const url = await serve(handleErrors(), guard, async (ctx) => {
      ctx.body = await text(ctx.req)
    })
    await expect((await postJson(url)).json()).resolves.toEqual(BODY)
  })

  test.each([
    ['without a token', '{"title":"x"}'],
    ['a list', '[1]'],
    ['null', 'null'],
  ])('JSN-01 a body that is %s is refused as one without a token', async (_, body) => {
    for (const middleware of [[guard], [jsonParser, guard]]) {
      const response = await postJson(await serve(handleErrors(), ...middleware, echo), body)
      expect(response.status).toBe(401)
      await expect(response.json()).resolves.toMatchObject({ code: 'TOKEN_MISSING' })
    }
  })

  test('JSN-07 on an optional route a malformed body is left as it was', async () => {
    const url = await serve(enforce(tokens.accessTokenOptional), async (ctx) => {
      ctx.body = await text(ctx.req)
    })
    await expect((await postJson(url, '{"access_token":')).text()).resolves.toBe('{"access_token":')
  })

  test('JSN-01 a token that is no string is refused', async () => {
    const response = await postJson(await serve(handleErrors(), jsonParser, guard), '{"access_token":42}')
    expect(response.status).toBe(401)
    await expect(response.json()).resolves.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test('CKI-12 the CSRF value of a form is found before and after a body parser', async () => {
    for (const middleware of [
      [formParser, guard],
      [guard, formParser],
    ]) {
      const response = await fetch(await serve(handleErrors(), ...middleware, echo), {
        method: 'POST',
        headers: { cookie: `access_token_cookie=${TOKEN}` },
        body: new URLSearchParams({ title: 'a form', csrf_token: csrfOf(TOKEN) }),
      })
      expect(response.status).toBe(200)
      await expect(response.json()).resolves.toMatchObject({ title: 'a form' })
    }
  })
})

describe('a token elsewhere', () => {
  test('QRY-01 is found in the query', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'query' })
    const route = inject({ payload: tokens.accessTokenRequired }, ({ payload }, ctx) => {
      ctx.body = payload.sub
    })
    const response = await fetch(`${await serve(route)}/me?token=${tokens.createAccessToken({ uid: 'ada' })}`)
    await expect(response.text()).resolves.toBe('ada')
  })

  test('HDR-12 two Authorization headers are refused', async () => {
    const { tokens } = createManager()
    const authorization = ['Authorization', `Bearer ${tokens.createAccessToken({ uid: 'ada' })}`] as const
    const route: Middleware = (ctx) => void (ctx.body = 'ran')
    const url = new URL(await serve(handleErrors(), enforce(tokens.accessTokenRequired), route))
    const send = (...headers: readonly (readonly [string, string])[]): Promise<string> => {
      const socket = connect(Number(url.port), url.hostname)
      socket.write(toHttpText('GET /', [...headers, ['Connection', 'close']]))
      return text(socket)
    }
    await expect(send(authorization)).resolves.toMatch(/^HTTP\/1\.1 200 /)
    const refused = await send(authorization, authorization)
    expect(refused).toMatch(/^HTTP\/1\.1 401 /)
    expect(refused).toContain('"code":"TOKEN_INVALID"')
  })
})

describe('sendCookies', () => {
  test('adds cookies beside those that are there, and those that come later', async () => {
    const url = await serve((ctx) => {
      ctx.cookies.set('first', '1')
      sendCookies(ctx, setAccessCookies(tokens, TOKEN))
      ctx.cookies.set('last', '9')
      ctx.status = 204
    })
    const names = (await fetch(url)).headers.getSetCookie().map((cookie) => cookie.split('=')[0])
    expect(names).toEqual(['first', 'access_token_cookie', 'csrf_access_token', 'last'])
  })

  test('the cookies log a browser in, and out', async () => {
    const router = new Router()
    router.post('/login', (ctx) => {
      sendCookies(ctx, setAccessCookies(tokens, TOKEN))
      ctx.status = 204
    })
    router.get('/me', inject({ payload: tokens.accessTokenRequired }), (ctx) => {
      ctx.body = ctx.state.payload.sub
    })
    router.post('/logout', guard, (ctx) => {
      sendCookies(ctx, unsetCookies(tokens))
      ctx.status = 204
    })
    const url = await serve(router.routes() as Middleware)
    const login = await fetch(`${url}/login`, { method: 'POST' })
    const pairs = login.headers.getSetCookie().map((value) => value.split(';')[0])
    const headers = { cookie: pairs.join('; '), 'x-csrf-token': csrfOf(TOKEN) }
    await expect((await fetch(`${url}/me`, { headers })).text()).resolves.toBe('ada')
    const logout = await fetch(`${url}/logout`, { method: 'POST', headers })
    expect(logout.headers.getSetCookie()).toEqual(unsetCookies(tokens))
  })
})
