import type { NodeRequest } from '../http/node-view.js'
import { parseOptions } from '../options.js'
import {
  createRefusal,
  type Refusal,
  type UpgradeAuthenticator,
  type UpgradeConnection,
  writeRefusal,
} from '../sockets/accept-upgrade.js'
import { type ClosableSocket, parseInterval, WATCH_OPTIONS, type WatchOptions } from '../sockets/sockets.js'
import {
  type AuthenticatedUpgrade,
  parseUpgradePolicy,
  UPGRADE_OPTIONS,
  type UpgradePolicy,
} from '../sockets/upgrade.js'

/** As much of a socket of a Socket.IO server as is needed to end its connection. */
export interface SocketIoSocket {
  readonly connected: boolean
  readonly request: NodeRequest
  readonly conn: EngineConnection
  on(event: 'disconnect', listener: () => void): unknown
  emit(event: 'exception', data: object): unknown
  disconnect(close: boolean): unknown
}

/** A connection of Engine.IO, which the sockets of all its namespaces share. */
export interface EngineConnection {
  readonly request: NodeRequest
  readonly readyState: string
  on(event: 'close', listener: () => void): unknown
  close(discard?: boolean): unknown
}

/** As much of a Socket.IO server as is needed to authenticate its connections. */
export interface SocketIoServer {
  readonly engine: SocketIoEngine
  /** The namespaces so far, by their names. */
  readonly _nsps?: ReadonlyMap<string, SocketIoNamespace>
  on(event: 'connection', listener: (socket: SocketIoSocket) => void): unknown
  on(event: 'new_namespace', listener: (namespace: SocketIoNamespace) => void): unknown
}

/** Opens the connections of a server. */
export interface SocketIoEngine {
  use(middleware: (request: EngineRequest, response: EngineResponse, next: () => void) => void): unknown
  on(event: 'connection', listener: (connection: EngineConnection) => void): unknown
}

/** What clients join over their connection. */
export interface SocketIoNamespace {
  use(middleware: (socket: SocketIoSocket, next: (error?: Error) => void) => void): unknown
  on(event: 'connection', listener: (socket: SocketIoSocket) => void): unknown
}

/** A request to Engine.IO, which has parsed the query of the URL. */
export interface EngineRequest extends NodeRequest {
  readonly socket: UpgradeConnection & NonNullable<NodeRequest['socket']>
  readonly _query?: { readonly sid?: unknown }
}

/** The response of a handshake; over WebSocket, Engine.IO passes an object that cannot write one. */
export interface EngineResponse {
  readonly headersSent?: boolean
  writeHead(status: number, headers: object): { end(body: string): unknown }
}

/** What the handshake of every connection must bring, and how often its token is checked. */
export interface SocketIoProtection extends UpgradePolicy, WatchOptions {}

/** A manager that authenticates handshakes and closes sockets. */
export interface SocketAuthenticator<
  Upgrade extends AuthenticatedUpgrade,
> extends UpgradeAuthenticator<Upgrade> {
  readonly sockets: UpgradeAuthenticator<Upgrade>['sockets'] & {
    closeWhenInvalid(socket: ClosableSocket, upgrade: Upgrade, options: WatchOptions): unknown
  }
}

/**
 * Authenticates each connection of a Socket.IO server and closes it once its token is no longer valid. Returns a function
 * that reads the result of the handshake.
 *
 * @example
 * const readUpgrade = protectSocketIo(io, tokens, { origins: ['https://app.example'] })
 * io.on('connection', (socket) => socket.emit('hello', readUpgrade(socket).payload.sub))
 */
export function protectSocketIo<Upgrade extends AuthenticatedUpgrade>(
  server: SocketIoServer,
  tokens: SocketAuthenticator<Upgrade>,
  options: SocketIoProtection = {},
): (socket: Pick<SocketIoSocket, 'request'>) => Upgrade {
  const kinds = { ...UPGRADE_OPTIONS, ...WATCH_OPTIONS }
  const { every = '30s', ...policy } = parseOptions('protectSocketIo()', options, kinds)
  parseUpgradePolicy(policy)
  parseInterval(every)
  const accepted = new WeakMap<object, Upgrade>()
  protectConnections(server, {
    async authenticate(request) {
      try {
        accepted.set(request, await tokens.sockets.authenticate(request, policy))
        return null
      } catch (error) {
        return createRefusal(error, tokens)
      }
    },
    follow(request, connection) {
      const upgrade = accepted.get(request)
      if (upgrade !== undefined) tokens.sockets.closeWhenInvalid(connection, upgrade, { every })
      return upgrade !== undefined
    },
  })
  return ({ request }) => {
    const upgrade = accepted.get(request)
    if (upgrade === undefined) throw new TypeError('protectSocketIo has not authenticated this socket')
    return upgrade
  }
}

/** What decides about the connections of a server. */
export interface ConnectionRules {
  /** What a handshake is refused with, or `null`. */
  authenticate(request: EngineRequest): Promise<Refusal | null>
  /** Watches an open connection; `false` if its handshake was not authenticated. */
  follow(request: NodeRequest, connection: ClosableSocket): boolean
}

/** Applies rules to the handshakes and connections of a Socket.IO server. */
export function protectConnections(server: SocketIoServer, rules: ConnectionRules): void {
  const { engine, _nsps: namespaces = new Map<string, SocketIoNamespace>() } = server
  if (typeof (engine as Partial<SocketIoEngine> | undefined)?.use !== 'function') {
    throw new TypeError(
      'Only a Socket.IO server (4.6 or newer) that is attached to an HTTP server can be protected',
    )
  }
  engine.use((request, response, next) => void passHandshake(rules, request, response, next))
  engine.on('connection', (connection) => {
    // The middleware decides. A connection that came by another way has not been authenticated.
    if (rules.follow(connection.request, readConnection(connection))) followed.add(connection)
    else connection.close(true)
  })
  for (const namespace of namespaces.values()) protectNamespace(namespace)
  server.on('new_namespace', protectNamespace)
}

// The connections that somebody follows. A server has another engine for every listener that it is attached to.
const followed = new WeakSet<EngineConnection>()

function protectNamespace(namespace: SocketIoNamespace): void {
  namespace.use(({ conn }, next) => next(followed.has(conn) ? undefined : new Error(UNPROTECTED)))
  namespace.on('connection', (socket) => {
    // A connection that is recovered may skip the middleware.
    if (followed.has(socket.conn)) trackSocket(socket)
    else socket.disconnect(true)
  })
}

const UNPROTECTED = 'This connection is not authenticated'

async function passHandshake(
  rules: ConnectionRules,
  request: EngineRequest,
  response: EngineResponse,
  next: () => void,
): Promise<void> {
  // By what Engine.IO itself decides: an empty id opens a connection, and an unknown one is refused.
  const { socket, _query: query } = request
  if (query?.sid) return next()
  const destroy = (): void => void socket.destroy()
  // Nobody else listens for errors of a connection that is being upgraded.
  socket.on('error', destroy)
  const refusal = await rules.authenticate(request)
  if (refusal === null) {
    socket.off('error', destroy)
    return next()
  }
  if (response.headersSent === undefined) return writeRefusal(socket, refusal)
  const headers = { ...refusal.headers, 'content-length': Buffer.byteLength(refusal.body) }
  response.writeHead(refusal.status, headers).end(refusal.body)
}

interface Connection extends ClosableSocket {
  readonly sockets: Set<SocketIoSocket>
}

const connections = new WeakMap<EngineConnection, Connection>()

/** A connection as something that can be closed with a code, which its namespaces get in an `exception` event. */
export function readConnection(connection: EngineConnection): ClosableSocket {
  return readOrCreate(connection)
}

function readOrCreate(connection: EngineConnection): Connection {
  const known = connections.get(connection) ?? createConnection(connection)
  connections.set(connection, known)
  return known
}

// Namespaces come and go; the connection carries them all.
function trackSocket(socket: SocketIoSocket): void {
  const { sockets } = readOrCreate(socket.conn)
  sockets.add(socket)
  socket.on('disconnect', () => void sockets.delete(socket))
}

function createConnection(connection: EngineConnection): Connection {
  const sockets = new Set<SocketIoSocket>()
  return {
    sockets,
    get readyState() {
      return connection.readyState === 'open' ? 1 : 3
    },
    close(closeCode, message) {
      const joined = [...sockets]
      for (const socket of joined) socket.emit('exception', { status: 'error', message, closeCode })
      // Clients do not reconnect by themselves once the server has disconnected them from a namespace.
      for (const socket of joined) socket.disconnect(true)
      connection.close()
    },
    terminate: () => void connection.close(true),
    addEventListener(type, listener) {
      if (type === 'close') connection.on('close', () => listener({}))
    },
  }
}
