import { once } from 'node:events'
import { createConnection } from 'node:net'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WebSocketGateway } from '@nestjs/websockets'
import { io, type Socket as ClientSocket } from 'socket.io-client'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { protectSockets, TokenModule } from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'
import { serve } from '../helpers/nest.js'

const opened: ClientSocket[] = []
afterEach(() => {
  for (const socket of opened.splice(0)) socket.disconnect()
})

/** As much of Socket.IO's server as these tests look at. */
interface IoServer {
  readonly engine: { readonly clientsCount: number }
  of(name: string): IoServer
  use(middleware: (socket: object, next: (error?: Error) => void) => void): unknown
  emit(event: string): unknown
}

/** An application whose only gateway is in the namespace `/chat`. */
async function start() {
  const { config } = createManager().tokens
  const tokens = new TokenManager({ config, store: createMemoryStore() })
  let server: IoServer | undefined

  @WebSocketGateway({ namespace: 'chat' })
  class ChatGateway {
    afterInit(chat: { server: IoServer }): void {
      server = chat.server
    }
  }

  const { port } = await serve([], {
    imports: [TokenModule.forRoot({ tokens })],
    providers: [ChatGateway],
    setUp: (app) =>
      void app.useWebSocketAdapter(
        protectSockets(new IoAdapter(app), tokens, { until: 'session', every: '1s' }),
      ),
  })
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  const authorization = `Bearer ${accessToken}`
  const connect = (namespace: string, options: object = {}): ClientSocket => {
    const socket = io(`http://127.0.0.1:${port}${namespace}`, {
      extraHeaders: { authorization },
      reconnection: false,
      forceNew: true,
      ...options,
    })
    opened.push(socket)
    return socket
  }
  const logOut = async () => tokens.logout(await tokens.verify(accessToken))
  return { port, authorization, server: server as unknown as IoServer, connect, logOut }
}

const joined = (socket: ClientSocket): Promise<void> =>
  new Promise((resolve, reject) => socket.on('connect', resolve).on('connect_error', reject))

/** Why the client lost its connection, and the close code that it was told before. */
function watchEnd(socket: ClientSocket): Promise<[reason: string, closeCode: unknown]> {
  let closeCode: unknown
  socket.on('exception', (data: { closeCode?: number }) => (closeCode = data.closeCode))
  return new Promise((resolve) => socket.on('disconnect', (reason) => resolve([reason, closeCode])))
}

/** The status line of the answer to a raw request: no client writes addresses like these. */
async function request(port: number, path: string, headers: readonly string[] = []): Promise<string> {
  const socket = createConnection(port, '127.0.0.1')
  socket.write([`GET ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n'))
  const [data] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return data.toString().split('\r\n', 1)[0]?.split(' ')[1] ?? ''
}

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]

describe('a handshake without a token', () => {
  // Engine.IO opens a connection where the last `sid` is empty, and looks for one that is open where it is not.
  test.each([
    ['', '401'],
    ['&sid', '401'],
    ['&sid=', '401'],
    ['&%73id=', '401'],
    ['&sid=one&sid=', '401'],
    ['&sid=&sid=', '401'],
    ['&sid=#one', '401'],
    ['&SID=one', '401'],
    ['&sid[]=one', '401'],
    ['&sid=&sid=one', '400'],
    ['&sid=one', '400'],
    ['&sid=%00', '400'],
    ['&sid=__proto__', '400'],
    ['&sid=constructor', '400'],
  ])('opens no connection with the parameters %j', async (parameters, status) => {
    const { port, server } = await start()
    const polling = `/socket.io/?EIO=4&transport=polling${parameters}`
    const upgrade = `/socket.io/?EIO=4&transport=websocket${parameters}`
    expect([await request(port, polling), await request(port, upgrade, UPGRADE)]).toEqual([status, status])
    expect(server.engine.clientsCount).toBe(0)
  })

  test('opens none over a later protocol or another transport', async () => {
    const { port, server } = await start()
    for (const query of ['EIO=3&transport=polling&sid=', 'transport=polling&sid=', 'EIO=4&sid=', 'sid=']) {
      expect(await request(port, `/socket.io/?${query}`)).toBe('401')
    }
    expect(server.engine.clientsCount).toBe(0)
  })

  test('cannot take over the upgrade of a connection that is gone', async () => {
    const { port, connect, server } = await start()
    const client = connect('/', { transports: ['polling'] })
    await joined(client)
    const sid = client.io.engine.id
    client.disconnect()
    await expect.poll(() => server.engine.clientsCount).toBe(0)
    expect(await request(port, `/socket.io/?EIO=4&transport=websocket&sid=${sid}`, UPGRADE)).toBe('400')
  })
})

test('a client with a token polls, and upgrades to WebSocket', async () => {
  const { server, connect } = await start()
  const client = connect('/')
  await joined(client)
  await expect.poll(() => client.io.engine.transport.name).toBe('websocket')
  const news = new Promise<void>((resolve) => client.on('news', resolve))
  server.emit('news')
  await news
  expect(server.engine.clientsCount).toBe(1)
})

describe.each(['websocket', 'polling'])('over %s, the logout ends a connection', (transport) => {
  test('that has joined only the default namespace, where no gateway is', async () => {
    const { connect, logOut } = await start()
    const client = connect('/', { transports: [transport] })
    await joined(client)
    const ended = watchEnd(client)
    await logOut()
    // A client that the server has disconnected does not reconnect by itself.
    expect(await ended).toEqual(['io server disconnect', 4401])
  })

  test('that has left the namespace of the gateway', async () => {
    const { connect, logOut, server } = await start()
    const chat = connect('/chat', { transports: [transport] })
    await joined(chat)
    const other = chat.io.socket('/')
    await joined(other)
    chat.disconnect()
    const ended = watchEnd(other)
    await logOut()
    expect(await ended).toEqual(['io server disconnect', 4401])
    await expect.poll(() => server.engine.clientsCount).toBe(0)
  })

  test('in every namespace that it has joined', async () => {
    const { connect, logOut } = await start()
    const chat = connect('/chat', { transports: [transport] })
    await joined(chat)
    const other = chat.io.socket('/')
    await joined(other)
    const ended = Promise.all([watchEnd(chat), watchEnd(other)])
    await logOut()
    expect(await ended).toEqual([
      ['io server disconnect', 4401],
      ['io server disconnect', 4401],
    ])
  })

  test('and a new one needs another token', async () => {
    const { connect, logOut } = await start()
    const client = connect('/', { transports: [transport] })
    await joined(client)
    const ended = watchEnd(client)
    await logOut()
    await ended
    client.connect()
    await new Promise((resolve) => client.once('connect_error', resolve))
    expect(client.connected).toBe(false)
  })
})

describe('a connection that has joined no namespace', () => {
  // Socket.IO's own client closes a connection that it has no use for.
  const CONNECT = '40'
  const REFUSED = '44{"message":"refused"}'

  test('is closed at the logout, over WebSocket', async () => {
    const { port, authorization, logOut, server } = await start()
    server.use((_, next) => next(new Error('refused')))
    const url = `ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`
    const socket = new WebSocket(url, { headers: { authorization } })
    await once(socket, 'message')
    socket.send(CONNECT)
    const [refused] = (await once(socket, 'message')) as [Buffer]
    expect(refused.toString()).toBe(REFUSED)
    const closed = once(socket, 'close')
    await logOut()
    await closed
  })

  test('is closed at the logout, over polling', async () => {
    const { port, authorization, logOut, server } = await start()
    server.use((_, next) => next(new Error('refused')))
    const url = `http://127.0.0.1:${port}/socket.io/?EIO=4&transport=polling`
    const opened = await (await fetch(url, { headers: { authorization } })).text()
    const { sid } = JSON.parse(opened.slice(1)) as { sid: string }
    const poll = async () => (await fetch(`${url}&sid=${sid}`)).text()
    await fetch(`${url}&sid=${sid}`, { method: 'POST', body: CONNECT })
    expect(await poll()).toBe(REFUSED)
    const last = poll()
    await logOut()
    // Engine.IO's packet for the end of a connection.
    expect(await last).toBe('1')
    expect(server.engine.clientsCount).toBe(0)
  })
})
