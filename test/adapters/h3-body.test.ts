import {
  bodyLimit,
  defineValidatedHandler,
  H3,
  type H3Event,
  type Middleware,
  readBody,
  readFormData,
} from 'h3'
import { toNodeHandler } from 'h3/node'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { serveNode } from '../../examples/server.js'
import { enforce, handleErrors, inject } from '../../src/adapters/h3.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf, type RequestBody } from '../helpers/requests.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json', 'cookies'], JWT_CSRF_CHECK_FORM: true })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const BODY = { access_token: TOKEN, title: 'x' }
const JSON_INIT = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(BODY),
}
const OK = { status: 200, body: BODY }

/** An application whose one route is guarded, after `before`. */
function createApp(route: (event: H3Event) => unknown, ...before: Middleware[]): H3 {
  const app = new H3({ silent: true }).use(handleErrors())
  for (const middleware of before) app.use(middleware)
  return app.use(enforce(tokens.accessTokenRequired)).post('/', route)
}

const post = async (app: H3, body: string = JSON_INIT.body) => {
  const response = await app.request('/', { ...JSON_INIT, body })
  return { status: response.status, body: await response.json() }
}

const READERS: readonly [name: string, read: (event: H3Event) => Promise<unknown>][] = [
  ['readBody(event)', (event) => readBody(event)],
  ['event.req.json()', (event) => event.req.json()],
  ['event.req.text()', async (event) => JSON.parse(await event.req.text()) as unknown],
]

describe('a token in a JSON body', () => {
  test.each(READERS)('JSN-01 JSN-07 the route reads the body afterwards with %s', async (_, read) => {
    await expect(post(createApp(read))).resolves.toEqual(OK)
  })

  test.each(READERS)('JSN-01 JSN-07 also on a Node server, with %s', async (_, read) => {
    const server = await serveNode(toNodeHandler(createApp(read)), 0)
    const response = await fetch(server.url, JSON_INIT)
    await expect(response.json()).resolves.toEqual(BODY)
    await server.close()
  })

  test('JSN-01 a body that an earlier middleware read is gone: h3 does not keep it', async () => {
    const before: Middleware = async (event) => void (await readBody(event))
    const answer = await post(createApp(() => 'ran', before))
    expect(answer).toMatchObject({ status: 401, body: { code: 'TOKEN_MISSING' } })
  })

  test.each([
    ['malformed', '{"access_token":', 'TOKEN_MISSING'],
    ['empty', '', 'TOKEN_MISSING'],
    ['without a token', '{"title":"x"}', 'TOKEN_MISSING'],
    ['with a token that is no string', '{"access_token":42}', 'TOKEN_INVALID'],
  ])('JSN-01 a body that is %s is refused', async (_, body, code) => {
    const answer = await post(
      createApp(() => 'ran'),
      body,
    )
    expect(answer).toMatchObject({ status: 401, body: { code } })
  })

  test('JSN-07 a guard before bodyLimit and one after it share one check, and the route reads the body', async () => {
    const isRevoked = vi.fn(() => false)
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json'] })
    tokens.setCallbackTokenBlocklist(isRevoked)
    const app = new H3({ silent: true })
      .use(enforce(tokens.accessTokenRequired))
      .use(bodyLimit(1024))
      .post(
        '/',
        inject({ payload: tokens.accessTokenRequired }, async (_, event) => {
          await tokens.accessTokenRequired(event.req)
          return readBody(event)
        }),
      )
    await expect(post(app)).resolves.toEqual(OK)
    expect(isRevoked).toHaveBeenCalledTimes(1)
  })

  test('JSN-01 JSN-07 behind bodyLimit, which keeps large bodies out', async () => {
    const app = createApp(async (event) => {
      await tokens.tokenRequired(event.req)
      return readBody(event)
    }, bodyLimit(1024))
    await expect(post(app)).resolves.toEqual(OK)
    const server = await serveNode(toNodeHandler(app), 0)
    await expect((await fetch(server.url, JSON_INIT)).json()).resolves.toEqual(BODY)
    const large = JSON.stringify({ ...BODY, filler: 'x'.repeat(1024) })
    expect((await fetch(server.url, { ...JSON_INIT, body: large })).status).toBe(413)
    await server.close()
  })

  test('JSN-07 a guard in front of a validated handler leaves it the body', async () => {
    const app = new H3({ silent: true }).use(handleErrors()).post(
      '/',
      defineValidatedHandler({
        middleware: [enforce(tokens.accessTokenRequired)],
        validate: { body: z.object({ title: z.string() }) },
        handler: inject(
          { payload: tokens.accessTokenRequired },
          async ({ payload }, event: H3Event<{ body: { title: string } }>) => [
            payload.sub,
            await event.req.json(),
          ],
        ),
      }),
    )
    await expect(post(app)).resolves.toEqual({ status: 200, body: ['ada', { title: 'x' }] })
    expect((await post(app, '{"title":"x"}')).status).toBe(401)
    expect((await post(app, JSON.stringify({ access_token: TOKEN }))).status).toBe(400)
  })

  test('JSN-01 in an application mounted by its fetch', async () => {
    const inner = createApp((event) => readBody(event))
    const app = new H3({ silent: true }).mount('/api', (request) => inner.fetch(request))
    const response = await app.request('/api/', JSON_INIT)
    await expect(response.json()).resolves.toEqual(BODY)
  })
})

describe('a CSRF value in a form', () => {
  const form = (...values: readonly string[]): FormData => {
    const data = new FormData()
    data.append('title', 'a form')
    for (const value of values) data.append('csrf_token', value)
    return data
  }
  const app = createApp(async (event) => ({ title: (await readFormData(event)).get('title') }))
  const send = (body: RequestBody) =>
    app.request('/', { method: 'POST', headers: { cookie: `access_token_cookie=${TOKEN}` }, body })

  test.each([
    ['multipart', form(csrfOf(TOKEN))],
    ['urlencoded', new URLSearchParams({ title: 'a form', csrf_token: csrfOf(TOKEN) })],
  ])('CKI-12 JSN-07 a %s field supplies it, and the route reads the form', async (_, body) => {
    await expect((await send(body)).json()).resolves.toEqual({ title: 'a form' })
  })

  test.each([
    ['absent', form(), 'CSRF_MISSING'],
    ['wrong', form('wrong'), 'CSRF_MISMATCH'],
    ['sent twice', form(csrfOf(TOKEN), csrfOf(TOKEN)), 'CSRF_MISSING'],
  ])('CKI-12 a field that is %s is refused', async (_, body, code) => {
    await expect((await send(body)).json()).resolves.toMatchObject({ code })
  })
})
