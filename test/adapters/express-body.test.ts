import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import express, { type Express, type RequestHandler } from 'express'
import { afterAll, describe, expect, test } from 'vitest'
import { type RunningServer, serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject, sendCookies } from '../../src/adapters/express.js'
import { setAccessCookies, unsetCookies } from '../../src/index.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf, toHttpText } from '../helpers/requests.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json', 'cookies'], JWT_CSRF_CHECK_FORM: true })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const BODY = { access_token: TOKEN, title: 'x' }

const servers: RunningServer[] = []
afterAll(() => Promise.all(servers.map((server) => server.close())))

/** Serves an application, and returns its address. */
async function serve(app: Express): Promise<string> {
  const server = await serveNode(app, 0)
  servers.push(server)
  return server.url
}

/** An application whose one route answers with its body, after these. */
async function serveEcho(...handlers: RequestHandler[]): Promise<string> {
  const app = express()
  app.post('/', ...handlers, (req, res) => void res.json(req.body ?? null))
  return serve(app.use(handleErrors()))
}

const postJson = (url: string, body: string | Buffer = JSON.stringify(BODY), headers = {}) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })

describe('a token in a JSON body', () => {
  const guard = enforce(tokens.accessTokenRequired)

  test.each<[order: string, handlers: RequestHandler[]]>([
    ['after express.json()', [express.json(), guard]],
    ['before express.json()', [guard, express.json()]],
    ['on both sides of express.json()', [guard, express.json(), enforce(tokens.tokenRequired)]],
  ])('JSN-01 JSN-07 is found %s, and the route has its body', async (_, handlers) => {
    const response = await postJson(await serveEcho(...handlers))
    expect(response.status).toBe(200)
    await expect(response.json()).resolves.toEqual(BODY)
  })

  test.each<[parser: string, handler: RequestHandler]>([
    ['express.text()', express.text({ type: '*/*' })],
    ['express.raw()', express.raw({ type: '*/*' })],
  ])('JSN-01 is found in what %s left', async (_, parser) => {
    expect((await postJson(await serveEcho(parser, guard))).status).toBe(200)
  })

  test('JSN-07 without a parser the route can still read the stream', async () => {
    const app = express()
    app.post('/', guard, (req, res) => text(req).then((body) => res.type('json').send(body)))
    const response = await postJson(await serve(app.use(handleErrors())))
    await expect(response.json()).resolves.toEqual(BODY)
  })

  test('JSN-01 is found in a compressed body after express.json()', async () => {
    const body = gzipSync(JSON.stringify(BODY))
    const url = await serveEcho(express.json(), guard)
    expect((await postJson(url, body, { 'content-encoding': 'gzip' })).status).toBe(200)
  })

  test('JSN-07 a compressed body is left to express.json() behind the guard', async () => {
    const body = gzipSync(JSON.stringify(BODY))
    const url = await serveEcho(enforce(tokens.accessTokenOptional), express.json())
    const response = await postJson(url, body, { 'content-encoding': 'gzip' })
    await expect(response.json()).resolves.toEqual(BODY)
  })

  test.each([
    ['empty', ''],
    ['without a token', '{"title":"x"}'],
    ['a list', '[1]'],
  ])('JSN-01 a body that is %s is refused as one without a token', async (_, body) => {
    for (const handlers of [[guard], [express.json(), guard]]) {
      const response = await postJson(await serveEcho(...handlers), body)
      expect(response.status).toBe(401)
      await expect(response.json()).resolves.toMatchObject({ code: 'TOKEN_MISSING' })
    }
  })

  test('JSN-07 on an optional route a malformed body is left for the parser to refuse', async () => {
    const url = await serveEcho(enforce(tokens.accessTokenOptional), express.json())
    expect((await postJson(url, '{"access_token":')).status).toBe(400)
  })

  test('JSN-01 a token that is no string is refused', async () => {
    const response = await postJson(await serveEcho(express.json(), guard), '{"access_token":42}')
    expect(response.status).toBe(401)
    await expect(response.json()).resolves.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test('CKI-12 the CSRF value of a form is found before and after express.urlencoded()', async () => {
    const parser = express.urlencoded()
    for (const handlers of [
      [parser, guard],
      [guard, parser],
    ]) {
      const response = await fetch(await serveEcho(...handlers), {
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
  test('QRY-01 is found in the query, in a mounted router too', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'query' })
    const router = express.Router()
    router.get('/me', inject({ payload: tokens.accessTokenRequired }), (_req, res) =>
      res.json(res.locals.payload.sub),
    )
    const url = await serve(express().use('/api', router))
    const response = await fetch(`${url}/api/me?token=${tokens.createAccessToken({ uid: 'ada' })}`)
    await expect(response.json()).resolves.toBe('ada')
  })

  test('HDR-12 two Authorization headers are refused', async () => {
    const { tokens } = createManager()
    const authorization = ['Authorization', `Bearer ${tokens.createAccessToken({ uid: 'ada' })}`] as const
    const app = express().get('/', enforce(tokens.accessTokenRequired), (_req, res) => res.send('ran'))
    const url = new URL(await serve(app.use(handleErrors())))
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
    const app = express()
    app.get('/', (_req, res) => {
      res.cookie('first', '1')
      sendCookies(res, setAccessCookies(tokens, TOKEN))
      res.cookie('last', '9')
      res.end()
    })
    const names = (await fetch(await serve(app))).headers.getSetCookie().map((cookie) => cookie.split('=')[0])
    expect(names).toEqual(['first', 'access_token_cookie', 'csrf_access_token', 'last'])
  })

  test('the cookies log a browser in, and out', async () => {
    const app = express()
    app.post('/login', (_req, res) => {
      sendCookies(res, setAccessCookies(tokens, TOKEN))
      res.end()
    })
    app.get(
      '/me',
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, _req, res) => res.json(payload.sub)),
    )
    app.post('/logout', enforce(tokens.accessTokenRequired), (_req, res) => {
      sendCookies(res, unsetCookies(tokens))
      res.end()
    })
    const url = await serve(app)
    const login = await fetch(`${url}/login`, { method: 'POST' })
    const cookie = login.headers
      .getSetCookie()
      .map((value) => value.split(';')[0])
      .join('; ')
    await expect((await fetch(`${url}/me`, { headers: { cookie } })).json()).resolves.toBe('ada')
    const headers = { cookie, 'x-csrf-token': csrfOf(TOKEN) }
    const logout = await fetch(`${url}/logout`, { method: 'POST', headers })
    expect(logout.headers.getSetCookie()).toEqual(unsetCookies(tokens))
  })
})
