import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  acceptUpgrade,
  type AuthenticatedUpgrade,
  type UpgradePolicy,
} from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'

const { tokens } = createManager()
const server = createServer()
let policy: UpgradePolicy
let accepted: Promise<AuthenticatedUpgrade | null>[]
let connections: Socket[]
server.on('upgrade', (request, connection: Socket) => {
  connections.push(connection)
  accepted.push(acceptUpgrade(tokens, request, connection, policy))
})
beforeEach(async () => {
  policy = {}
  accepted = []
  connections = []
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => {
  for (const connection of connections) connection.destroy()
  server.close()
  await once(server, 'close')
})

/** Sends a handshake. */
async function send(token: string | null): Promise<Socket> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const fields = ['host: localhost', 'connection: upgrade', 'upgrade: websocket']
  if (token !== null) fields.push(`authorization: Bearer ${token}`)
  client.write(['GET / HTTP/1.1', ...fields, '', ''].join('\r\n'))
  return client
}

/** All that the server answers until it closes the connection. */
async function read(client: Socket): Promise<string> {
  let text = ''
  for await (const chunk of client) text += String(chunk)
  return text
}

test('a handshake without a good token is answered as HTTP, and the connection is closed', async () => {
  const [head = '', body = ''] = (await read(await send(null))).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 401 \r\n/)
  expect(head).toContain('www-authenticate: Bearer realm="api"')
  expect(head).toContain(`content-length: ${body.length}`)
  expect(JSON.parse(body)).toMatchObject({ code: 'TOKEN_MISSING' })
  expect(await accepted[0]).toBeNull()
})

test('a refused handshake names the scopes that the socket demands', async () => {
  policy = { scopes: ['read'], anyScope: ['write', 'read'] }
  for (const token of [null, 'bad', tokens.createAccessToken({ uid: 'ada' })]) {
    expect(await read(await send(token))).toMatch(/\r\nwww-authenticate: [^\r]*, scope="read write"\r\n/)
  }
})

test('an unavailable store is a 503', async () => {
  tokens.setTokenBlocklist(() => Promise.reject(new Error('ECONNREFUSED')))
  const answer = await read(await send(tokens.createAccessToken({ uid: 'ada' })))
  tokens.setTokenBlocklist(() => false)
  expect(answer).toMatch(/^HTTP\/1\.1 503 /)
  expect(answer).toContain('retry-after: 1')
})

test('a good handshake is left as it is', async () => {
  const client = await send(tokens.createAccessToken({ uid: 'ada' }))
  await vi.waitUntil(() => accepted.length === 1)
  expect((await accepted[0])?.payload.sub).toBe('ada')
  const [connection] = connections as [Socket]
  expect([connection.destroyed, connection.listenerCount('error')]).toEqual([false, 0])
  client.destroy()
})

test('a fault of the program is a 500 that says nothing, and a warning', async () => {
  policy = { until: 'session' }
  const warned = once(process, 'warning') as Promise<[Error]>
  const answer = await read(await send(tokens.createAccessToken({ uid: 'ada' })))
  expect(answer).toMatch(/^HTTP\/1\.1 500 /)
  expect(answer).not.toContain('store')
  const [warning] = await warned
  expect([warning.name, warning.message]).toEqual([
    'TokenUpgradeWarning',
    expect.stringContaining('needs a store that keeps sessions'),
  ])
})

test('a connection that breaks while its token is checked ends nothing else', async () => {
  let answer: (isRevoked: boolean) => void = () => {}
  const asked = new Promise<void>((resolve) => {
    tokens.setTokenBlocklist(() => {
      resolve()
      return new Promise((settle) => (answer = settle))
    })
  })
  const client = await send(tokens.createAccessToken({ uid: 'ada' }))
  await asked
  const [connection] = connections as [Socket]
  const closed = new Promise((resolve) => connection.once('close', resolve))
  const reset = once(client, 'close')
  client.resetAndDestroy()
  await reset
  answer(true)
  expect(await accepted[0]).toBeNull()
  // An error that nobody listens for is an uncaught exception, which fails this run.
  await closed
  tokens.setTokenBlocklist(() => false)
})

test('a mistake in the policy rejects, before anything is looked at', async () => {
  const connection = new PassThrough()
  const attempt = acceptUpgrade(tokens, { headers: {} }, connection, { until: 'ever' as never })
  await expect(attempt).rejects.toThrow(TypeError)
})
