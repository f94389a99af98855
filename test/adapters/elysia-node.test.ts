import { once } from 'node:events'
import { connect } from 'node:net'
import { node } from '@elysiajs/node'
import { type Context, Elysia } from 'elysia'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { enforce, handleErrors, inject } from '../../packages/tokenlib/src/frameworks/elysia.js'
import { createManager } from '../helpers/manager.js'
import { toHttpText } from '../helpers/requests.js'

const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'json'] })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const BODY = { access_token: TOKEN, title: 'x' }
const AUTHORIZATION = ['Authorization', `Bearer ${TOKEN}`] as const
const guard = { beforeHandle: enforce(tokens.accessTokenRequired) }
const opened = vi.fn()

/** What @elysiajs/node hands to the callback of `listen`, past its types. */
interface ListeningServer {
  readonly raw: { readonly url: string; ready(): Promise<unknown>; close(force: boolean): Promise<void> }
}

describe('served by @elysiajs/node', () => {
  const app = new Elysia({ adapter: node() })
    .onError(handleErrors())
    .macro({ auth: { resolve: inject({ payload: tokens.accessTokenRequired }) } })
    .get('/', () => 'ran', guard)
    .post('/parsed', ({ body }: Context) => body as object, guard)
    .post('/raw', async ({ request }) => JSON.parse(await request.text()) as object, guard)
    .ws('/hook', { ...guard, open: opened, message() {} })
    .ws('/macro', { auth: true, open: opened, message() {} })
  let server: ListeningServer['raw']

  beforeAll(async () => {
    const listening = await new Promise<unknown>((resolve) => {
      app.listen({ port: 0, hostname: '127.0.0.1' }, resolve)
    })
    server = (listening as ListeningServer).raw
    await server.ready()
  })
  afterAll(() => server.close(true))

  test.each(['parsed', 'raw'])('a token in a JSON body is found, and the body %s', async (path) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const url = new URL(path, server.url)
    const response = await fetch(url, { ...init, body: JSON.stringify(BODY) })
    await expect(response.json()).resolves.toEqual(BODY)
    expect((await fetch(url, { ...init, body: '{}' })).status).toBe(401)
    expect((await fetch(url, { method: 'POST' })).status).toBe(401)
  })

  test.each([
    ['one', 200],
    ['two', 401],
  ])('%s Authorization header: %d', async (count, status) => {
    const headers = count === 'two' ? [AUTHORIZATION, AUTHORIZATION] : [AUTHORIZATION]
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write(toHttpText('GET /', [...headers, ['Connection', 'close']]))
    const [data] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(data.toString().slice(9, 12)).toBe(String(status))
  })

  test.each(['hook', 'macro'])('a WebSocket is refused before it opens, by a %s', async (path) => {
    opened.mockClear()
    const url = new URL(path, server.url.replace('http', 'ws'))
    const refused = new WebSocket(url)
    const [, response] = (await once(refused, 'unexpected-response')) as [unknown, { statusCode: number }]
    expect(response.statusCode).toBe(401)
    expect(opened).not.toHaveBeenCalled()
    refused.on('error', () => {}).terminate()

    const accepted = new WebSocket(url, { headers: Object.fromEntries([AUTHORIZATION]) })
    await once(accepted, 'open')
    accepted.terminate()
  })
})
