import type { IncomingMessage } from 'node:http'
import { Logger, type WebSocketAdapter, type WsMessageHandler } from '@nestjs/common'
import type { NodeRequest } from '../../http/node-view.js'
import { duration, type OptionKinds, parseOptions } from '../../options.js'
import {
  type AuthenticatedUpgrade,
  parseUpgradePolicy,
  recheckUpgrade,
  UPGRADE_OPTIONS,
  type UpgradePolicy,
} from '../../sockets/upgrade.js'
import { createRefusal, type Refusal } from '../../sockets/accept-upgrade.js'
import { type ClosableSocket, closeSocket, parseInterval } from '../../sockets/sockets.js'
import { systemScheduler } from '../../time.js'
import {
  protectConnections,
  readConnection,
  type SocketIoProtection,
  type SocketIoServer,
  type SocketIoSocket,
} from '../socket-io.js'
import type { Duration } from '../../time.js'
import { type AnyManager, protectedSockets } from './context.js'

/** What every handshake must present, and how often open sockets are checked. */
export type SocketProtection = Omit<SocketIoProtection, 'issuer' | 'skipRevocation'>

const { issuer: _issuer, skipRevocation: _skipRevocation, ...DEMANDS } = UPGRADE_OPTIONS
const OPTIONS: OptionKinds<SocketProtection> = { ...DEMANDS, every: duration() }

/**
 * A WebSocket adapter that authenticates each handshake once, and rejects it with 401, 403 or 503.
 *
 * @example
 * app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens, { origins: ['https://app.example'] }))
 */
export function protectSockets(
  adapter: WebSocketAdapter,
  tokens: AnyManager,
  options: SocketProtection = {},
): WebSocketAdapter {
  return new ProtectedAdapter(adapter, tokens, options)
}

/** Whether the sockets of an adapter are authenticated. */
export function isProtected(adapter: WebSocketAdapter): boolean {
  return adapter instanceof ProtectedAdapter
}

/** The client of a `ws` server. */
interface WsClient extends ClosableSocket {
  readonly readyState: number
}

type Client = WsClient | SocketIoSocket

// What Nest calls on an adapter although the interface does not have it.
interface Inner extends WebSocketAdapter {
  forceCloseConnections?: boolean
  dispose?(): Promise<void>
}

/** Option of a `ws` server: decides on a handshake before it becomes a socket. */
type VerifyClient = ((info: HandshakeInfo, done: VerifyDone) => void) | ((info: HandshakeInfo) => boolean)

interface HandshakeInfo {
  readonly req: IncomingMessage
}

type VerifyDone = (
  isAccepted: boolean,
  status?: number,
  body?: string,
  headers?: Readonly<Record<string, string>>,
) => void

/** What an adapter has created: a server of Socket.IO, a namespace of one, or a server of another kind. */
interface GatewayServer extends Partial<SocketIoServer> {
  readonly server?: SocketIoServer
}

class ProtectedAdapter implements WebSocketAdapter {
  readonly #inner: Inner
  readonly #tokens: AnyManager
  readonly #policy: UpgradePolicy
  readonly #every: Duration
  // By the request of the handshake: there a server decides whether it becomes a socket.
  readonly #accepted = new WeakMap<object, AuthenticatedUpgrade>()
  readonly #deliveries = new WeakMap<object, Delivery>()
  readonly #engines = new WeakSet<object>()
  readonly #logger = new Logger('protectSockets')

  constructor(adapter: WebSocketAdapter, tokens: AnyManager, options: SocketProtection) {
    const { every = '30s', ...policy } = parseOptions('protectSockets()', options, OPTIONS)
    parseInterval(every)
    this.#inner = adapter
    this.#tokens = tokens
    this.#policy = parseUpgradePolicy(policy)
    this.#every = every
  }

  set forceCloseConnections(value: boolean) {
    this.#inner.forceCloseConnections = value
  }

  create(port: number, options: { readonly verifyClient?: VerifyClient } = {}): unknown {
    const { verifyClient: next } = options
    const verifyClient: VerifyClient = (info, done) => void this.#verify(info, done, next)
    const server = this.#inner.create(port, { ...options, verifyClient }) as GatewayServer
    this.#protectEngine(server)
    return server
  }

  bindClientConnect(server: unknown, callback: (client: Client, ...given: unknown[]) => void): void {
    this.#inner.bindClientConnect(server, (client: Client, ...given: unknown[]) => {
      const request = isWs(client) ? (given[0] as NodeRequest | undefined) : client.request
      // Every gateway of a server is told of each client.
      const isAccepted = this.#deliveries.has(client) || this.#accept(client, request)
      if (isAccepted) callback(client, ...given)
      else refuse(client)
    })
  }

  bindClientDisconnect(client: unknown, callback: () => void): void {
    this.#inner.bindClientDisconnect?.(client, callback)
  }

  bindMessageHandlers(client: Client, handlers: WsMessageHandler[], transform: Transform): void {
    const deliver = this.#deliveries.get(client)
    if (deliver === undefined) return refuse(client)
    const checked = handlers.map((handler) => ({ ...handler, callback: deliver(handler.callback) }))
    this.#inner.bindMessageHandlers(client, checked, transform)
  }

  async close(server: unknown): Promise<void> {
    await this.#inner.close(server)
  }

  async dispose(): Promise<void> {
    await this.#inner.dispose?.()
  }

  async #authenticate(request: NodeRequest): Promise<Refusal | null> {
    try {
      const upgrade = await this.#tokens.sockets.authenticate(request, this.#policy)
      this.#accepted.set(request, upgrade as AuthenticatedUpgrade)
      return null
    } catch (error) {
      return createRefusal(error, this.#tokens, (bug) => this.#logger.error(bug))
    }
  }

  // The application's own `verifyClient` is asked after the token.
  async #verify(info: HandshakeInfo, done: VerifyDone, next: VerifyClient | undefined): Promise<void> {
    const refusal = await this.#authenticate(info.req)
    if (refusal !== null) return done(false, refusal.status, refusal.body, refusal.headers)
    if (!next) return done(true)
    // As `ws` does: a function of two parameters answers through the second.
    if (next.length === 2) return void next(info, done)
    done((next as (given: HandshakeInfo) => boolean)(info))
  }

  // Servers of another kind than Socket.IO have no engine.
  #protectEngine(given: GatewayServer): void {
    const server = given.server ?? given
    const { engine } = server
    if (engine === undefined || this.#engines.has(engine)) return
    this.#engines.add(engine)
    protectConnections(server as SocketIoServer, {
      authenticate: (request) => this.#authenticate(request),
      follow: (request, connection) => {
        const upgrade = this.#accepted.get(request)
        if (upgrade !== undefined) this.#watch(connection, upgrade)
        return upgrade !== undefined
      },
    })
  }

  // A server that has not asked about the handshake has accepted it without a token.
  #accept(client: Client, request: NodeRequest | undefined): boolean {
    const upgrade = request && this.#accepted.get(request)
    if (request === undefined || upgrade === undefined) return false
    this.#deliveries.set(client, createDelivery(client, upgrade))
    protectedSockets.set(client, { tokens: this.#tokens, upgrade, request })
    // A client of Socket.IO is one namespace of a connection, which is watched as a whole.
    if (isWs(client)) this.#watch(client, upgrade)
    return true
  }

  #watch(socket: ClosableSocket, upgrade: AuthenticatedUpgrade): void {
    this.#tokens.sockets.closeWhenInvalid(socket, upgrade, { every: this.#every })
  }
}

type Transform = Parameters<WebSocketAdapter['bindMessageHandlers']>[2]
type Callback = WsMessageHandler['callback']
type Delivery = (callback: Callback) => Callback

/** Wraps the handlers of a client: each runs only when the token was found good after the message had come. */
function createDelivery(client: Client, upgrade: AuthenticatedUpgrade): Delivery {
  // Messages stay in their order, however long each check takes.
  let before: Promise<unknown> = Promise.resolve()
  const check = async (): Promise<boolean> => {
    try {
      await recheckUpgrade(upgrade)
      return true
    } catch (error) {
      if (isOpen(client))
        closeSocket(isWs(client) ? client : readConnection(client.conn), error, systemScheduler)
      return false
    }
  }
  return (callback) =>
    async (...given: unknown[]) => {
      const checked = Promise.all([check(), before])
      before = checked
      const [isGood] = await checked
      return isGood && isOpen(client) ? (callback(...given) as unknown) : undefined
    }
}

function isWs(client: Client): client is WsClient {
  return 'readyState' in client
}

function isOpen(client: Client): boolean {
  return isWs(client) ? client.readyState < 2 : client.connected
}

function refuse(client: Client): void {
  if (isWs(client)) client.terminate?.()
  else client.disconnect(true)
}
