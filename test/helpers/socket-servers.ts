import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { serve, upgradeWebSocket, type WebSocketServerLike } from '@hono/node-server'
import Fastify, { type FastifyPluginCallback, type FastifyRequest } from 'fastify'
import { Hono } from 'hono'
import { Server as SocketIo } from 'socket.io'
import { io } from 'socket.io-client'
import { WebSocket, WebSocketServer } from 'ws'
import * as fastifyAdapter from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as honoAdapter from '../../packages/tokenlib/src/frameworks/hono.js'
import {
  acceptUpgrade,
  type AuthenticatedUpgrade,
  protectSocketIo,
  type RequestSource,
  type TokenManager,
  type UpgradePolicy,
} from '../../packages/tokenlib/src/index.js'

/** A client of a server that says what it hears. */
export interface EchoClient {
  /** What the server answers to a message. */
  send(text: string): Promise<string>
  /** The close code, when the server ends the connection. */
  readonly closed: Promise<number>
}

/** What a client brings: a subprotocol, or the headers of a browser. */
export interface Handshake {
  readonly protocols?: string[]
  readonly headers?: Readonly<Record<string, string>>
}

/** A WebSocket server as docs/websockets.md has it, which echoes messages under the name of the user. */
export interface SocketServer {
  connect(handshake: Handshake): Promise<EchoClient | number>
  close(): Promise<void>
}

type Create = (tokens: TokenManager, policy: UpgradePolicy, every?: string) => Promise<SocketServer>

const readPort = (server: { address(): unknown }): number => (server.address() as AddressInfo).port

function echo(socket: WebSocket, { payload }: AuthenticatedUpgrade): void {
  socket.on('message', (data: Buffer) => socket.send(`${payload.sub}: ${data.toString()}`))
}

async function connectWs(url: string, { protocols = [], headers = {} }: Handshake) {
  const client = new WebSocket(url, protocols, { headers })
  client.on('error', () => {})
  const closed = new Promise<number>((resolve) => client.on('close', resolve))
  const refusal = await new Promise<number | null>((resolve) => {
    client.on('open', () => resolve(null))
    client.on('unexpected-response', (_, response: IncomingMessage) => resolve(response.statusCode ?? 0))
  })
  if (refusal !== null) return refusal
  return {
    closed,
    async send(text: string) {
      client.send(text)
      const [answer] = (await once(client, 'message')) as [Buffer]
      return answer.toString()
    },
  }
}

const ws: Create = async (tokens, policy, every = '30s') => {
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true })
  const accept = async (request: IncomingMessage, connection: Duplex, head: Buffer): Promise<void> => {
    const upgrade = await acceptUpgrade(tokens, request, connection, policy)
    if (upgrade === null) return
    sockets.handleUpgrade(request, connection, head, (socket) => {
      tokens.sockets.closeWhenInvalid(socket, upgrade, { every })
      echo(socket, upgrade)
    })
  }
  server.on('upgrade', (request, connection, head) => void accept(request, connection, head))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    connect: (handshake) => connectWs(`ws://127.0.0.1:${readPort(server)}`, handshake),
    async close() {
      for (const socket of sockets.clients) socket.terminate()
      server.close()
      await once(server, 'close')
    },
  }
}

const socketIo: Create = async (tokens, policy, every = '30s') => {
  const server = createServer()
  // So seldom that a test which moves its timers ahead does not lose the connection.
  const heartbeat = { pingInterval: 86_400_000, pingTimeout: 86_400_000 }
  const sockets = new SocketIo(server, { transports: ['websocket'], ...heartbeat })
  const readUpgrade = protectSocketIo(sockets, tokens, { ...policy, every })
  sockets.on('connection', (socket) => {
    const upgrade = readUpgrade(socket)
    socket.on('say', (text: string) => socket.emit('said', `${upgrade.payload.sub}: ${text}`))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    async connect({ protocols = [], headers = {} }) {
      const client = io(`http://127.0.0.1:${readPort(server)}`, {
        transports: ['websocket'],
        reconnection: false,
        forceNew: true,
        protocols,
        extraHeaders: { ...headers },
      })
      let code = 0
      client.on('exception', ({ closeCode }: { closeCode: number }) => (code = closeCode))
      const closed = new Promise<number>((resolve) => client.on('disconnect', () => resolve(code)))
      const refusal = await new Promise<number | null>((resolve) => {
        client.on('connect', () => resolve(null))
        client.on('connect_error', (error) => resolve(readStatus(error)))
      })
      if (refusal !== null) {
        client.disconnect()
        return refusal
      }
      return {
        closed,
        send: (text) =>
          new Promise((resolve) => {
            client.once('said', resolve)
            client.emit('say', text)
          }),
      }
    },
    close: () => sockets.close(),
  }
}

// The client of `ws` has the status in the text of its error only.
function readStatus(error: unknown): number {
  const { description } = error as { description?: { message?: string } }
  return Number(/\d{3}/.exec(description?.message ?? '')?.[0])
}

// Without its types: they change those of every Fastify route of the program.
const fastifyWebSocket = createRequire(import.meta.url)('@fastify/websocket') as FastifyPluginCallback

const fastify: Create = async (tokens, policy, every = '30s') => {
  const app = Fastify()
  app.setErrorHandler(fastifyAdapter.handleErrors({ config: tokens.config }))
  await app.register(fastifyWebSocket)
  app.decorateRequest('upgrade', null)
  const handle = (socket: WebSocket, request: FastifyRequest): void => {
    const upgrade = request.getDecorator<AuthenticatedUpgrade>('upgrade')
    tokens.sockets.closeWhenInvalid(socket, upgrade, { every })
    echo(socket, upgrade)
  }
  const options = {
    websocket: true,
    preValidation: async (request: FastifyRequest) => {
      request.setDecorator('upgrade', await tokens.sockets.authenticate(request.raw, policy))
    },
  }
  app.get('/chat', options, handle as never)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    connect: (handshake) => connectWs(`${url.replace('http', 'ws')}/chat`, handshake),
    close: () => app.close(),
  }
}

const hono: Create = async (tokens, policy, every = '30s') => {
  const app = new Hono()
  app.onError(honoAdapter.handleErrors({ config: tokens.config }))
  const upgrade = (request: RequestSource) => tokens.sockets.authenticate(request, policy)
  app.get(
    '/chat',
    honoAdapter.inject({ upgrade }),
    upgradeWebSocket((c) => ({
      onOpen: (_, socket) =>
        void tokens.sockets.closeWhenInvalid(socket.raw as WebSocket, c.var.upgrade, { every }),
      onMessage: ({ data }, socket) => socket.send(`${c.var.upgrade.payload.sub}: ${String(data)}`),
    })),
  )
  const sockets = new WebSocketServer({ noServer: true })
  const websocket = { server: sockets as WebSocketServerLike }
  const server = serve({
    fetch: app.fetch,
    hostname: '127.0.0.1',
    port: 0,
    websocket,
    overrideGlobalObjects: false,
  })
  await once(server, 'listening')
  return {
    connect: (handshake) => connectWs(`ws://127.0.0.1:${readPort(server)}/chat`, handshake),
    async close() {
      for (const socket of sockets.clients) socket.terminate()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The servers of docs/websockets.md; a client that is refused gets an HTTP status. */
export const SOCKET_SERVERS: readonly { name: string; create: Create }[] = [
  { name: 'ws', create: ws },
  { name: 'Socket.IO', create: socketIo },
  { name: 'Fastify', create: fastify },
  { name: 'Hono', create: hono },
]
