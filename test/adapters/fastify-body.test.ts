import formbody from '@fastify/formbody'
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import { describe, expect, test } from 'vitest'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/fastify.js'
import { createManager } from '../helpers/manager.js'
import { csrfOf } from '../helpers/requests.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['json', 'cookies'], JWT_CSRF_CHECK_FORM: true })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const BODY = { access_token: TOKEN, title: 'x' }

type Hook = 'onRequest' | 'preValidation' | 'preHandler'

/** An application whose one route is guarded in a hook and answers with the body it finds. */
function createApp(hook: Hook = 'preValidation', dependency = tokens.accessTokenRequired): FastifyInstance {
  const app = Fastify()
  app.setErrorHandler(handleErrors())
  app.post('/', { [hook]: enforce(dependency) }, (request) => ({ body: request.body }))
  return app
}

const post = (
  app: FastifyInstance,
  payload: string | object = BODY,
  headers: InjectOptions['headers'] = {},
) =>
  app.inject({
    method: 'POST',
    url: '/',
    payload,
    headers: { 'content-type': 'application/json', ...headers },
  })

describe('a token in a JSON body', () => {
  test.each<[string, 'string' | 'buffer']>([
    ['a text', 'string'],
    ['bytes', 'buffer'],
  ])('is found when a parser of the application left the body as %s', async (_, parseAs) => {
    const app = createApp()
    app.addContentTypeParser('application/json', { parseAs }, (_request, body, done) => done(null, body))
    expect((await post(app)).statusCode).toBe(200)
  })

  test.each([
    ['a body that is null', 'null', 401, 'TOKEN_MISSING'],
    ['a body that Fastify cannot parse', '{"access_token":', 400, 'FST_ERR_CTP_INVALID_JSON_BODY'],
    ['an empty body', '', 400, 'FST_ERR_CTP_EMPTY_JSON_BODY'],
  ])('%s is refused', async (_, payload, status, code) => {
    const response = await post(createApp(), payload)
    expect([response.statusCode, response.json()]).toEqual([status, expect.objectContaining({ code })])
  })

  test('is not looked for in a body that Fastify does not parse', async () => {
    const app = Fastify()
    app.setErrorHandler(handleErrors())
    app.get('/', { preValidation: enforce(tokens.accessTokenRequired) }, () => 'ran')
    const headers = { 'content-type': 'application/json' }
    const response = await app.inject({ method: 'GET', url: '/', payload: BODY, headers })
    expect(response.json()).toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('a parser that gives nothing leaves a request without a token', async () => {
    const app = createApp()
    const parse = (_request: unknown, _body: unknown, done: (error: null) => void) => done(null)
    app.addContentTypeParser('application/json', { parseAs: 'string' }, parse)
    for (const payload of ['', BODY]) {
      expect((await post(app, payload)).json()).toMatchObject({ code: 'TOKEN_MISSING' })
    }
  })

  test('a parser that hands the stream on, for a proxy, leaves a request without a token', async () => {
    const app = createApp()
    app.addContentTypeParser('application/json', (_request, payload, done) => done(null, payload))
    expect((await post(app)).json()).toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('the token that preValidation found stays, when validation strips it from the body', async () => {
    const app = Fastify()
    const body = {
      type: 'object',
      properties: { title: { type: 'string' } },
      additionalProperties: false,
    }
    app.post(
      '/',
      { schema: { body }, preValidation: enforce(tokens.accessTokenRequired) },
      inject({ payload: tokens.accessTokenRequired }, ({ payload }, request) => [payload.sub, request.body]),
    )
    expect((await post(app)).json()).toEqual(['ada', { title: 'x' }])
  })
})

describe('a guard that looks for the body before it is parsed', () => {
  test.each([
    ['required', tokens.accessTokenRequired],
    ['optional', tokens.require({ optional: true })],
  ] as [string, typeof tokens.accessTokenRequired][])(
    'is a mistake of the application, and the route does not run: %s',
    async (_, dependency) => {
      const response = await post(createApp('onRequest', dependency))
      expect(response.statusCode).toBe(500)
      expect(response.json()).toMatchObject({ message: expect.stringContaining('preValidation') })
    },
  )

  test('does not hang over real HTTP', async () => {
    const app = createApp('onRequest')
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ ...BODY, filler: 'x'.repeat(500_000) })
    const response = await fetch(url, { method: 'POST', headers, body })
    await expect(response.json()).resolves.toMatchObject({ statusCode: 500 })
    // The client may still be sending, and Fastify would wait for that.
    app.server.closeAllConnections()
    await app.close()
  })

  test('a chunked body is no way around it', async () => {
    const app = createApp(
      'onRequest',
      tokens.require({ optional: true }) as typeof tokens.accessTokenRequired,
    )
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const chunked = new Blob([JSON.stringify(BODY)]).stream()
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: chunked, duplex: 'half' } as RequestInit
    expect((await fetch(url, init)).status).toBe(500)
    app.server.closeAllConnections()
    await app.close()
  })

  test('other locations work there, and leave the body to the route', async () => {
    const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'json'] })
    const app = createApp('onRequest', tokens.accessTokenRequired)
    const response = await post(app, { title: 'x' }, { authorization: `Bearer ${TOKEN}` })
    expect(response.json()).toEqual({ body: { title: 'x' } })
    const empty = await app.inject({ method: 'POST', url: '/' })
    expect(empty.json()).toMatchObject({ code: 'TOKEN_MISSING' })
  })
})

describe('a CSRF value in a form', () => {
  const CSRF = csrfOf(TOKEN)
  const form = (fields: readonly [string, string][]) => new URLSearchParams(fields).toString()
  const headers = {
    cookie: `access_token_cookie=${TOKEN}`,
    'content-type': 'application/x-www-form-urlencoded',
  }

  test('it cannot be looked for in onRequest', async () => {
    const app = createApp('onRequest')
    app.register(formbody)
    expect((await post(app, form([['csrf_token', CSRF]]), headers)).statusCode).toBe(500)
    const withHeader = { ...headers, 'x-csrf-token': CSRF }
    expect((await post(app, form([['title', 'a form']]), withHeader)).statusCode).toBe(200)
  })

  test('a multipart form that nobody parsed is refused', async () => {
    const app = createApp()
    app.addContentTypeParser('multipart/form-data', (_request, _payload, done) => done(null))
    const multipart = { ...headers, 'content-type': 'multipart/form-data; boundary=x' }
    const response = await post(app, '--x--', multipart)
    expect(response.json()).toMatchObject({ code: 'CSRF_MISSING' })
  })
})
