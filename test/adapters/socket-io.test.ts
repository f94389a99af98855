import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server, type Socket } from 'socket.io'
import { io } from 'socket.io-client'
import { afterEach, expect, test, vi } from 'vitest'
import { protectSocketIo, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { SocketIoProtection } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createManager } from '../helpers/manager.js'

const ended: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ended.splice(0).toReversed()) await end()
})

/** A protected server with the namespaces `/`, `/early` and `/admin`, and a client that has logged in. */
async function start(options: SocketIoProtection = { until: 'session', every: '1s' }) {
  const { config } = createManager().tokens
  const tokens = new TokenManager({ config, store: createMemoryStore() })
  const listener = createServer()
  const server = new Server(listener)
  ended.push(() => server.close())
  server.of('/early')
  const readUpgrade = protectSocketIo(server, tokens, options)
  server.of('/admin')
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  const connect = (namespace: string, token = accessToken) => {
    const extraHeaders = { authorization: `Bearer ${token}` }
    const socket = io(url + namespace, { extraHeaders, reconnection: false, forceNew: true })
    ended.push(() => socket.disconnect())
    return socket
  }
  const logOut = async () => tokens.logout(await tokens.verify(accessToken))
  return { tokens, server, readUpgrade, url, connect, logOut }
}

test('the handshake decides for every namespace, and the logout ends the connection', async () => {
  const { server, readUpgrade, url, connect, logOut } = await start()
  const names: string[] = []
  server.of('/admin').on('connection', (socket) => names.push(readUpgrade(socket).payload.sub))
  const client = connect('/admin')
  await new Promise((resolve) => client.on('connect', () => resolve(null)))
  expect(names).toEqual(['ada'])
  const told = new Promise((resolve) => client.on('exception', resolve))
  const gone = new Promise((resolve) => client.on('disconnect', resolve))
  await logOut()
  expect(await told).toEqual({ status: 'error', message: 'Token is revoked', closeCode: 4401 })
  expect(await gone).toBe('io server disconnect')
  for (const sid of ['', '&sid=', '&sid=one&sid=']) {
    const response = await fetch(`${url}/socket.io/?EIO=4&transport=polling${sid}`)
    expect([response.status, await response.json()]).toEqual([
      401,
      expect.objectContaining({ code: 'TOKEN_MISSING' }),
    ])
  }
})

test('a client that joins and leaves a namespace again and again is watched once', async () => {
  const { connect, server, logOut } = await start()
  const client = connect('/')
  const joined = () => new Promise((resolve) => client.once('connect', () => resolve(null)))
  await joined()
  const lasting = client.io.socket('/admin')
  await new Promise((resolve) => lasting.once('connect', () => resolve(null)))
  for (let count = 0; count < 10; count++) {
    client.disconnect()
    await expect.poll(() => server.sockets.sockets.size, { interval: 1 }).toBe(0)
    client.connect()
    await joined()
  }
  const [socket] = await server.fetchSockets()
  const { conn } = server.sockets.sockets.get(socket?.id ?? '') as Socket
  expect(conn.listenerCount('close')).toBeLessThan(5)
  const gone = Promise.all(
    [client, lasting].map((one) => new Promise((resolve) => one.on('disconnect', resolve))),
  )
  await logOut()
  expect(await gone).toEqual(['io server disconnect', 'io server disconnect'])
})

// One server for http and https is attached twice, and has an engine for each.
test.each(['/', '/admin', '/early'])(
  'a connection through another listener of the server joins no namespace: %s',
  async (name) => {
    const { server, readUpgrade, connect } = await start()
    const other = createServer()
    server.attach(other)
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const found: unknown[] = []
    server.of(name).on('connection', (socket) => found.push(readUpgrade(socket).payload.sub))
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const client = io(url + name, { forceNew: true, reconnection: false })
    ended.push(() => client.disconnect())
    const refused = new Promise((resolve) => client.on('connect_error', resolve))
    expect(await refused).toMatchObject({ message: 'This connection is not authenticated' })
    await new Promise((resolve) => connect(name).on('connect', () => resolve(null)))
    expect(found).toEqual(['ada'])
    expect(() => readUpgrade({ request: {} as never })).toThrow(TypeError)
  },
)

test('a bug in the application is a 500 and a process warning', async () => {
  const { tokens, connect } = await start({})
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  tokens.sockets.authenticate = () => Promise.reject(new Error('fault'))
  const error = await new Promise((resolve) => connect('/').on('connect_error', resolve))
  expect(error).toMatchObject({ description: 500 })
  expect(warn).toHaveBeenCalledOnce()
  warn.mockRestore()
})

test('mistakes are thrown at the start', () => {
  const { tokens } = createManager()
  expect(() => protectSocketIo(new Server(), tokens)).toThrow(TypeError)
  const server = new Server(createServer())
  expect(() => protectSocketIo(server, tokens, { origin: 'x' } as object)).toThrow(TypeError)
  expect(() => protectSocketIo(server, tokens, { origins: ['https://app.example/'] })).toThrow(TypeError)
  expect(() => protectSocketIo(server, tokens, { every: 0.1 })).toThrow(RangeError)
})
