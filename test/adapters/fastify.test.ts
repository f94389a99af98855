import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/fastify.js'
import { createManager } from '../helpers/manager.js'
import { toHttpText } from '../helpers/requests.js'

// What every adapter does is in matrix.test.ts.
const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
const get = (app: FastifyInstance, url: string, token: string) =>
  app.inject({ url, headers: { authorization: `Bearer ${token}` } })

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
})

describe('over a socket', () => {
  const app = Fastify()
  app.setErrorHandler(handleErrors())
  app.post('/', { onRequest: enforce(tokens.accessTokenRequired) }, () => 'ran')
  beforeAll(() => app.listen({ host: '127.0.0.1', port: 0 }))
  afterAll(() => app.close())

  test('a refused upload is answered before its body has come', async () => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    const headers = [
      ['Content-Type', 'application/json'],
      ['Content-Length', '1000000'],
    ] as const
    socket.write(toHttpText('POST /', headers, '{'))
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 401 /)
  })
})

describe('over HTTP/2', () => {
  const app = Fastify({ http2: true })
  app.setErrorHandler(handleErrors())
  app.addHook('onRequest', enforce(tokens.accessTokenRequired))
  app.get(
    '/',
    inject({ payload: tokens.accessTokenRequired }, ({ payload }) => payload.sub),
  )
  beforeAll(() => app.listen({ host: '127.0.0.1', port: 0 }))
  afterAll(() => app.close())

  test.each([
    ['a good token', { authorization: `Bearer ${TOKEN}` }, 200, 'ada'],
    ['no token', {}, 401, expect.stringContaining('TOKEN_MISSING')],
  ])('%s', async (_, headers, status, body) => {
    const session = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
    const stream = session.request({ ':path': '/', ...headers })
    const [answer] = (await once(stream, 'response')) as [Record<string, unknown>]
    expect([answer[':status'], await text(stream)]).toEqual([status, body])
    session.close()
  })
})
