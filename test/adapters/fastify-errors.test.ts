import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { describe, expect, test } from 'vitest'
import { enforce, handleErrors } from '../../packages/tokenlib/src/frameworks/fastify.js'
import { createManager } from '../helpers/manager.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

type Handler = Parameters<FastifyInstance['setErrorHandler']>[0]

const THROWN: readonly [name: string, thrown: unknown][] = [
  ['an error', new Error('a bug')],
  ['an error with a status', Object.assign(new Error('short and stout'), { statusCode: 418 })],
  ['an error that only says it is one', Object.assign(new Error('ours'), { code: 'TOKEN_MISSING' })],
  ['a string', 'text'],
  ['an object', { reason: 'ours' }],
  ['null', null],
]

/** An application with a guarded route, and one for each thing that can be thrown. */
function createApp(handler?: Handler, options: FastifyServerOptions = {}): FastifyInstance {
  const app = Fastify(options)
  if (handler !== undefined) app.setErrorHandler(handler)
  app.get('/', { onRequest: enforce(tokens.accessTokenRequired) }, () => 'ran')
  for (const [at, [, thrown]] of THROWN.entries()) {
    app.get(`/async/${at}`, async () => {
      throw thrown
    })
    app.get(`/sync/${at}`, () => {
      throw thrown
    })
  }
  return app
}

/** A logger's lines, taken apart. */
function createLog() {
  const lines: { level: number; msg: string; err?: { code?: string } }[] = []
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) }
  return { lines, logger: { level: 'info', stream } }
}

describe('handleErrors', () => {
  test('the answer is the same under a response schema, a serializer and other headers of the route', async () => {
    const app = Fastify()
    app.setErrorHandler(handleErrors())
    app.setReplySerializer(() => 'replaced')
    const schema = { response: { '4xx': { type: 'object', properties: { only: { type: 'string' } } } } }
    app.get('/', { schema }, async (request, reply) => {
      reply.type('text/html').serializer(() => 'replaced')
      return tokens.accessTokenRequired(request.raw)
    })
    const [expected, response] = [await createApp(handleErrors()).inject('/'), await app.inject('/')]
    expect(response.body).toBe(expected.body)
    for (const { headers } of [expected, response])
      expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(response.headers['content-length']).toBe(String(Buffer.byteLength(response.body)))
  })

  test.each(['async', 'sync'])('other errors of %s routes are what they are without it', async (kind) => {
    for (const [at, [name]] of THROWN.entries()) {
      const url = `/${kind}/${at}`
      const [bare, handled] = [createLog(), createLog()]
      const expected = await createApp(undefined, { logger: bare.logger }).inject(url)
      const response = await createApp(handleErrors(), { logger: handled.logger }).inject(url)
      expect([name, response.statusCode, response.body]).toEqual([name, expected.statusCode, expected.body])
      expect(response.headers['content-type']).toBe(expected.headers['content-type'])
      expect(handled.lines.map(({ msg }) => msg)).toEqual(bare.lines.map(({ msg }) => msg))
    }
  })

  test('Fastify’s own errors keep their answers', async () => {
    const app = createApp(handleErrors())
    const schema = { body: { type: 'object', required: ['title'] } }
    app.post('/', { schema }, () => 'ran')
    expect((await app.inject('/nowhere')).statusCode).toBe(404)
    const invalid = await app.inject({ method: 'POST', url: '/', payload: {} })
    expect(invalid.json()).toMatchObject({ statusCode: 400, code: 'FST_ERR_VALIDATION' })
  })

  test('a refusal is logged as information, an unanswered revocation check as an error, without a token', async () => {
    const { tokens } = createManager()
    tokens.setCallbackTokenBlocklist(() => {
      throw new Error('down')
    })
    const { lines, logger } = createLog()
    const app = Fastify({ logger })
    app.setErrorHandler(handleErrors())
    app.get('/', { onRequest: enforce(tokens.accessTokenRequired) }, () => 'ran')
    expect((await app.inject('/')).statusCode).toBe(401)
    const response = await app.inject({ url: '/', ...bearer(TOKEN) })
    expect([response.statusCode, response.headers['retry-after']]).toEqual([503, '1'])
    expect(lines.flatMap(({ level, err }) => (err ? [[level, err.code]] : []))).toEqual([
      [30, 'TOKEN_MISSING'],
      [50, 'REVOCATION_UNAVAILABLE'],
    ])
    for (const segment of TOKEN.split('.').slice(1)) expect(JSON.stringify(lines)).not.toContain(segment)
  })
})

describe('whose handler answers', () => {
  test("a child context's own handler comes before that of the whole", async () => {
    const app = createApp(handleErrors())
    app.register(async (child) => {
      child.setErrorHandler((_error, _request, reply) => reply.code(410).send('own'))
      child.get('/own', { onRequest: enforce(tokens.accessTokenRequired) }, () => 'ran')
    })
    app.register(async (child) => {
      child.get('/shared', { onRequest: enforce(tokens.accessTokenRequired) }, () => 'ran')
    })
    expect((await app.inject('/own')).statusCode).toBe(410)
    expect((await app.inject('/shared')).statusCode).toBe(401)
  })

  test('in a child context it handles the errors of that context alone, and others go on to the handler around it', async () => {
    const app = createApp((_error, _request, reply) => reply.code(410).send('outer'))
    app.register(async (child) => {
      child.setErrorHandler(handleErrors())
      child.get('/child', { onRequest: enforce(tokens.accessTokenRequired) }, () =>
        Promise.reject(new Error()),
      )
    })
    expect((await app.inject('/')).statusCode).toBe(410)
    expect((await app.inject('/child')).statusCode).toBe(401)
    expect((await app.inject({ url: '/child', ...bearer(TOKEN) })).statusCode).toBe(410)
  })
})
