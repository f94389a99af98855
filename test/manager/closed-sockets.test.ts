import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { TokenManager, type RevocationStore } from '../../packages/tokenlib/src/index.js'
import type { ClosableSocket } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, createManager, createTimedClock, withBearer } from '../helpers/manager.js'
import { advance } from '../helpers/revocable.js'

const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

/** An upgrade whose token has expired since: a socket that is watched with it is closed at the first look. */
async function createExpired(clock = createClock()) {
  const { tokens } = createManager({}, clock)
  const request = withBearer(tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 60 }))
  const upgrade = await tokens.sockets.authenticate(request)
  clock.seconds += 61
  return { tokens, upgrade }
}

/** A real `ws` socket of a server, and the raw connection of its client, which obeys no protocol. */
async function openRaw(): Promise<{ readonly socket: WebSocket; readonly client: Socket }> {
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  cleanUps.push(
    () => client.destroy(),
    () => server.close(),
  )
  const key = randomBytes(16).toString('base64')
  client.write(
    'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  )
  const [[socket]] = (await Promise.all([once(sockets, 'connection'), once(client, 'data')])) as [
    [WebSocket],
    unknown,
  ]
  return { socket, client }
}

// RFC 6455 §5.2: a final text frame; the mask of a client is zero here.
const frame = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)])

test('after the close frame no message reaches the application, and the connection ends', async () => {
  const clock = createTimedClock()
  const { tokens, upgrade } = await createExpired(clock)
  const { socket, client } = await openRaw()
  const handled: string[] = []
  socket.on('message', (data: Buffer) => void handled.push(data.toString()))
  socket.addEventListener('message', () => void handled.push('listener'))
  Object.assign(socket, { onmessage: () => handled.push('onmessage') })
  client.write(frame('before'))
  await once(socket, 'message')
  tokens.sockets.closeWhenInvalid(socket, upgrade)
  const [[closing]] = (await Promise.all([once(client, 'data'), clock.advance(0)])) as [[Buffer], void]
  expect([closing[0], closing.readUInt16BE(2)]).toEqual([0x88, 4401])
  for (let count = 0; count < 100; count++) client.write(frame(`after ${count}`))
  // The client never answers the close frame.
  await clock.advance('999ms')
  expect(socket.readyState).toBe(socket.CLOSING)
  await Promise.all([once(client, 'close'), clock.advance('1ms')])
  expect(handled).toEqual(['before', 'listener', 'onmessage'])
})

/** A socket of the kind that Deno and Workers have. */
class TargetSocket extends EventTarget {
  readyState = 1
  onmessage: ((event: Event) => void) | null = null
  readonly codes: number[] = []

  close(code: number): void {
    this.codes.push(code)
    this.readyState = 2
  }

  receive(): void {
    const event = new Event('message')
    this.dispatchEvent(event)
    this.onmessage?.(event)
  }
}

test('an EventTarget delivers nothing to listeners that came after sockets.closeWhenInvalid, nor to onmessage', async () => {
  const { tokens, upgrade } = await createExpired()
  const socket = new TargetSocket()
  const handled: string[] = []
  const closed = new Promise((resolve) => {
    socket.close = (code) => resolve(socket.codes.push(code))
  })
  tokens.sockets.closeWhenInvalid(socket, upgrade)
  socket.addEventListener('message', () => void handled.push('listener'))
  Object.assign(socket, { onmessage: () => handled.push('onmessage') })
  socket.receive()
  await closed
  socket.receive()
  expect([handled, socket.codes]).toEqual([['listener', 'onmessage'], [4401]])
})

test('timers that are numbers, as in Deno and Workers, are no problem', async () => {
  const { tokens, upgrade } = await createExpired()
  const started: (() => void)[] = []
  vi.stubGlobal('setTimeout', (callback: () => void) => started.push(callback))
  cleanUps.push(() => vi.unstubAllGlobals())
  const closed = new Promise<number>((resolve) => {
    const socket: ClosableSocket = { close: resolve, addEventListener() {}, terminate() {} }
    tokens.sockets.closeWhenInvalid(socket, upgrade)
  })
  started[0]?.()
  expect(await closed).toBe(4401)
})

test('a refresh token of an open socket is rechecked, not presented: its session lives on', async () => {
  const clock = createClock()
  const { config } = createManager().tokens
  const store: RevocationStore = createMemoryStore({ clock })
  const tokens = new TokenManager({ config, clock, store })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  const upgrade = await tokens.sockets.authenticate(withBearer(refreshToken), { type: 'refresh' })
  const second = await advance({ tokens, clock }, refreshToken)
  const next = await advance({ tokens, clock }, second.refreshToken)
  clock.seconds += 120
  vi.useFakeTimers()
  cleanUps.push(() => void vi.useRealTimers())
  tokens.sockets.closeWhenInvalid({ close() {}, addEventListener() {} }, upgrade, { every: '1s' })
  await vi.advanceTimersByTimeAsync(5000)
  expect(await tokens.sessions.list('ada')).toHaveLength(1)
  expect((await tokens.sessions.refresh(next.refreshToken)).accessToken).toBeTypeOf('string')
})
