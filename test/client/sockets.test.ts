import { once } from 'node:events'
import { expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { ADA, openServer } from './open-server.js'

async function openLoggedIn() {
  const server = await openServer()
  const client = server.createClient({ WebSocket })
  await client.logIn(ADA)
  // No delays between two connections.
  const random = vi.spyOn(Math, 'random').mockReturnValue(0)
  onTestFinished(() => random.mockRestore())
  return { ...server, client, before: server.requests.length }
}

/** The server's end of a new socket, the socket, and the code of its `close`. */
async function openSocket() {
  const { server, client, origin, before, sent } = await openLoggedIn()
  const sockets = new WebSocketServer({ server })
  onTestFinished(() => sockets.close())
  const socket = client.socket(`${origin}/live`)
  const closed = new Promise<number>((resolve) => {
    socket.addEventListener('close', ({ code }) => resolve(code))
  })
  const opened = new Promise((resolve) => socket.addEventListener('open', resolve))
  const [connection] = (await once(sockets, 'connection')) as [WebSocket]
  await opened
  return { connection, socket, closed, client, sent, before }
}

test.each([undefined, 1000, 1002, 1003, 1007, 1008, 1009, 4400])(
  'closed by the server with %s',
  async (code) => {
    const { connection, socket, closed } = await openSocket()
    connection.close(code)
    expect(await closed).toBe(code ?? 1005)
    expect(socket.readyState).toBe(3)
  },
)

test('a code that cannot be sent is refused, and the socket stays open', async () => {
  const { connection, socket, closed } = await openSocket()
  expect(() => socket.close(999)).toThrow()
  expect(socket.readyState).toBe(1)
  socket.close(4000, 'done')
  const [code, reason] = (await once(connection, 'close')) as [number, Buffer]
  expect([code, String(reason), await closed]).toEqual([4000, 'done', 4000])
})

test('a server that refuses every handshake is asked six times, and refreshed for once', async () => {
  const { server, client, origin, before, sent } = await openLoggedIn()
  let handshakes = 0
  server.on('upgrade', (_request, socket) => {
    handshakes++
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  const socket = client.socket(`${origin}/live`)
  const code = await new Promise((resolve) => {
    socket.addEventListener('close', (event) => resolve(event.code))
  })
  expect([code, handshakes, sent(before)]).toEqual([1006, 6, ['POST /auth/refresh']])
})

test('nobody is logged in: the socket is closed with 4401, and nothing is sent', async () => {
  const { createClient, origin, sent } = await openServer()
  const socket = createClient({ WebSocket }).socket(`${origin}/live`)
  const code = await new Promise((resolve) => {
    socket.addEventListener('close', (event) => resolve(event.code))
  })
  expect([code, sent()]).toEqual([4401, []])
})

test('a socket that is closed before it connects', async () => {
  const { client, origin } = await openLoggedIn()
  const socket = client.socket(`${origin}/live`)
  const closed = new Promise((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)))
  expect(() => socket.send('early')).toThrow(expect.objectContaining({ code: 'SOCKET_NOT_OPEN' }))
  socket.close()
  socket.close()
  expect([socket.readyState, await closed]).toEqual([3, 1000])
})

test('a logout closes it', async () => {
  const { client, closed } = await openSocket()
  await client.logOut()
  expect(await closed).toBe(4401)
})

test('a protocol that is not valid closes it', async () => {
  const { client, origin } = await openLoggedIn()
  const socket = client.socket(`${origin}/live`, 'not valid')
  const code = await new Promise((resolve) => {
    socket.addEventListener('close', (event) => resolve(event.code))
  })
  expect(code).toBe(1006)
})
