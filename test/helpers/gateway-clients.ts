import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { INestApplication } from '@nestjs/common'
import { IoAdapter } from '@nestjs/platform-socket.io'
import { WsAdapter } from '@nestjs/platform-ws'
import { io } from 'socket.io-client'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'

/** The client of a gateway; what it gets for a message is the value, or the code of a refusal. */
export interface GatewayClient {
  /** 101 for an accepted handshake, or the status it was refused with. */
  readonly status: number
  send(event: string): Promise<unknown>
  /** Sends without waiting for an answer. */
  push(event: string, data?: unknown): void
  /** The close code, when the server ends the connection. */
  readonly closed: Promise<unknown>
}

/** A WebSocket platform of Nest, with a real client for it. */
export interface GatewayPlatform {
  readonly name: string
  createAdapter(app: INestApplication): WsAdapter | IoAdapter
  connect(port: number, headers: Readonly<Record<string, string>>): Promise<GatewayClient>
}

interface Answer {
  readonly event?: string
  readonly data: { readonly code?: string }
}

const toValue = ({ event, data }: Answer): unknown => (event === 'exception' ? data.code : data)

const ws: GatewayPlatform = {
  name: 'ws',
  createAdapter: (app) => new WsAdapter(app),
  async connect(port, headers) {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { headers })
    onTestFinished(() => socket.terminate())
    const status = await new Promise<number>((resolve) => {
      socket.on('error', () => {})
      socket.on('open', () => resolve(101))
      socket.on('unexpected-response', (_, response: IncomingMessage) => resolve(response.statusCode ?? 0))
    })
    const push = (event: string, data: unknown = {}): void => socket.send(JSON.stringify({ event, data }))
    return {
      status,
      push,
      closed: new Promise((resolve) => socket.on('close', resolve)),
      async send(event) {
        push(event)
        const [text] = (await once(socket, 'message')) as [Buffer]
        return toValue(JSON.parse(text.toString()) as Answer)
      },
    }
  },
}

function createSocketIo(transport: 'websocket' | 'polling'): GatewayPlatform {
  return {
    name: `Socket.IO over ${transport}`,
    createAdapter: (app) => new IoAdapter(app),
    async connect(port, headers) {
      const socket = io(`http://127.0.0.1:${port}`, {
        extraHeaders: headers,
        transports: [transport],
        reconnection: false,
        forceNew: true,
      })
      onTestFinished(() => void socket.disconnect())
      let closeCode: unknown
      socket.on('exception', (data: { closeCode?: number }) => (closeCode ??= data.closeCode))
      const status = await new Promise<number>((resolve) => {
        socket.on('connect', () => resolve(101))
        socket.on('connect_error', (error) => resolve(readStatus(error)))
      })
      return {
        status,
        push: (event, data = {}) => void socket.emit(event, data),
        closed: new Promise((resolve) => socket.on('disconnect', () => resolve(closeCode))),
        send: (event) =>
          new Promise((resolve) => {
            const done = (answer: Answer): void => {
              socket.offAny(listen)
              resolve(toValue(answer))
            }
            const listen = (name: string, data: Answer['data']): void => done({ event: name, data })
            socket.onAny(listen)
            socket.emit(event, {})
          }),
      }
    },
  }
}

// Where Engine.IO's client keeps the status: that of the polling request, or the text of the error of `ws`.
function readStatus(error: unknown): number {
  const { description } = error as { description?: number | { message?: string } }
  if (typeof description === 'number') return description
  return Number(/\d{3}/.exec(description?.message ?? '')?.[0] ?? 0)
}

/** Every WebSocket platform of Nest that is supported. */
export const GATEWAY_PLATFORMS: readonly GatewayPlatform[] = [
  ws,
  createSocketIo('websocket'),
  createSocketIo('polling'),
]
