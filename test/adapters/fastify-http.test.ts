import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { enforce, handleErrors, inject } from '../../src/adapters/fastify.js'
import { createManager } from '../helpers/manager.js'
import { toHttpText } from '../helpers/requests.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'query'] })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const OTHER = tokens.createAccessToken({ uid: 'grace' })

describe('over a socket', () => {
  const handler = vi.fn(({ payload }: { payload: { sub: string } }) => payload.sub)
  const app = Fastify()
  app.setErrorHandler(handleErrors())
  app.get('/', inject({ payload: tokens.accessTokenRequired }, handler))
  app.post('/', { onRequest: enforce(tokens.accessTokenRequired) }, () => 'ran')
  beforeAll(() => app.listen({ host: '127.0.0.1', port: 0 }))
  afterAll(() => app.close())

  const send = async (...headers: readonly [string, string][]): Promise<string> => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    socket.write(toHttpText('GET /', [...headers, ['Connection', 'close']]))
    return text(socket)
  }

  test('two Authorization headers are refused, whichever is good, and the handler does not run', async () => {
    for (const tokens of [
      [TOKEN, OTHER],
      [TOKEN, 'bad'],
      ['bad', TOKEN],
      [TOKEN, TOKEN],
    ]) {
      const headers = tokens.map((token): [string, string] => ['Authorization', `Bearer ${token}`])
      expect(await send(...headers)).toMatch(/^HTTP\/1\.1 401 /)
    }
    expect(handler).not.toHaveBeenCalled()
    expect(await send(['AUTHORIZATION', `bearer ${TOKEN}`])).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('a token in the query string is found', async () => {
    const { port } = app.server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}/?token=${TOKEN}&page=2`)
    await expect(response.text()).resolves.toBe('ada')
  })

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
