import type { WebSocketAdapter, WsMessageHandler, Type } from '@nestjs/common'
import { readConnection, type SocketIoSocket } from '../../http/protect-socket-io.js'
import { type ClosableSocket, closeSocket } from '../../manager/closable-socket.js'
import { parseInterval } from '../../manager/close-when-invalid.js'
import {
  type AuthenticatedUpgrade,
  parseUpgradePolicy,
  recheckUpgrade,
  type UpgradePolicy,
} from '../../manager/sockets.js'
import { assertOptions, type OptionNames } from '../../options.js'
import type { NodeRequest } from '../../request/node-view.js'
import type { Duration } from '../../time.js'
import { type GatewayServer, Handshakes, type VerifyClient } from './handshake.js'
import type { AnyManager } from './manager-token.js'
import { rememberSocket } from './protected-sockets.js'
import { type ApplicationConfig, MetadataScanner, type ModulesContainer, Reflector } from '@nestjs/core'
import { ConfigurationError } from '../../errors.js'
import { readAccess } from './access.js'
import { readGuardKind } from './guard-kind.js'

/** What the handshake of every socket of the application must bring. */
export interface SocketProtection extends Pick<
  UpgradePolicy,
  'type' | 'fresh' | 'scopes' | 'anyScope' | 'origins' | 'until'
> {
  /** How often the tokens of open sockets are checked, beside the check for every message. Default `30s`. */
  readonly every?: Duration
}

const OPTIONS: OptionNames<SocketProtection> = {
  type: true,
  fresh: true,
  scopes: true,
  anyScope: true,
  origins: true,
  until: true,
  every: true,
}

/**
 * A WebSocket adapter that authenticates each handshake once, and refuses it with 401, 403 or 503.
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

class ProtectedAdapter implements WebSocketAdapter {
  readonly #inner: Inner
  readonly #tokens: AnyManager
  readonly #handshakes: Handshakes
  readonly #every: Duration
  readonly #deliveries = new WeakMap<object, Delivery>()

  constructor(adapter: WebSocketAdapter, tokens: AnyManager, options: SocketProtection) {
    assertOptions('protectSockets()', options, OPTIONS)
    const { every = '30s', ...policy } = options
    parseInterval(every)
    this.#inner = adapter
    this.#tokens = tokens
    this.#handshakes = new Handshakes(tokens, parseUpgradePolicy(policy), every)
    this.#every = every
  }

  set forceCloseConnections(value: boolean) {
    this.#inner.forceCloseConnections = value
  }

  create(port: number, options: { readonly verifyClient?: VerifyClient } = {}): unknown {
    const verifyClient = this.#handshakes.createVerifyClient(options.verifyClient ?? null)
    const server = this.#inner.create(port, { ...options, verifyClient }) as GatewayServer
    this.#handshakes.protectEngine(server)
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

  // A server that has not asked about the handshake has accepted it without a token.
  #accept(client: Client, request: NodeRequest | undefined): boolean {
    const upgrade = request === undefined ? null : this.#handshakes.readAccepted(request)
    if (request === undefined || upgrade === null) return false
    this.#deliveries.set(client, createDelivery(client, upgrade))
    rememberSocket(client, { tokens: this.#tokens, upgrade, request })
    // A client of Socket.IO is one namespace of a connection, which is watched as a whole.
    if (isWs(client)) this.#tokens.closeWhenInvalid(client, upgrade, { every: this.#every })
    return true
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
      if (isOpen(client)) closeSocket(isWs(client) ? client : readConnection(client.conn), error)
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

// Where @WebSocketGateway(), @SubscribeMessage() and @UseGuards() write; no package exports these names.
const GATEWAY_METADATA = 'websockets:is_gateway'
const MESSAGE_METADATA = 'websockets:message_mapping'
const GUARDS_METADATA = '__guards__'

const reflector = new Reflector()
const scanner = new MetadataScanner()

/**
 * Throws `ConfigurationError` for a gateway that is meant to be guarded while its sockets are not authenticated.
 *
 * Nest 11 runs no global guards for the messages of gateways, so behind `TokenGuard` it would be open without a word.
 */
export function assertGateways(modules: ModulesContainer, application: ApplicationConfig): void {
  const adapter = application.getIoAdapter() as ReturnType<ApplicationConfig['getIoAdapter']> | null
  // Without an adapter Nest has connected no gateway.
  if (adapter === null || adapter === undefined || isProtected(adapter)) return
  const isGlobal = hasTokenGuard(application)
  for (const module of modules.values()) {
    for (const { metatype } of module.providers.values()) {
      if (isGateway(metatype) && isExposed(metatype, isGlobal)) throw unprotected(metatype.name)
    }
  }
}

function unprotected(gateway: string): ConfigurationError {
  return new ConfigurationError(
    `The sockets of ${gateway} are not authenticated: app.useWebSocketAdapter(protectSockets(new WsAdapter(app), tokens)), or mark the gateway with @Public()`,
  )
}

function hasTokenGuard(application: ApplicationConfig): boolean {
  const scoped = application.getGlobalRequestGuards().map(({ metatype }) => metatype as unknown)
  return [...application.getGlobalGuards(), ...scoped].some((guard) => readGuardKind(guard) === 'token')
}

function isGateway(metatype: unknown): metatype is Type<object> {
  return typeof metatype === 'function' && reflector.get<unknown>(GATEWAY_METADATA, metatype as Type) === true
}

// A gateway without messages of its own still sends what it likes to whoever is connected.
function isExposed(gateway: Type<object>, isGlobal: boolean): boolean {
  const prototype = gateway.prototype as Record<string, () => unknown>
  const handlers = scanner
    .getAllMethodNames(prototype)
    .map((name) => prototype[name] as () => unknown)
    .filter((method) => reflector.get<unknown>(MESSAGE_METADATA, method) === true)
  const isOpen = (target: Type | (() => unknown)): boolean => readAccess(target, gateway) === 'public'
  const isPublic = handlers.length === 0 ? isOpen(gateway) : handlers.every(isOpen)
  return (isGlobal && !isPublic) || [gateway, ...handlers].some(hasOwnGuard)
}

function hasOwnGuard(target: Type | (() => unknown)): boolean {
  const guards = reflector.get<unknown[] | undefined>(GUARDS_METADATA, target) ?? []
  return guards.some((guard) => readGuardKind(guard) !== null)
}
