import type { AuthenticatedUpgrade } from '../../requests/sockets.js'
import type { NodeRequest } from '../../http/node-view.js'
import type { AnyManager } from './manager-token.js'

/** A socket whose handshake was authenticated. */
export interface ProtectedSocket {
  readonly tokens: AnyManager
  readonly upgrade: AuthenticatedUpgrade
  /** The request that opened it. */
  readonly request: NodeRequest
}

const sockets = new WeakMap<object, ProtectedSocket>()

/** Keeps what is known of a client for as long as the client lives. */
export function rememberSocket(client: object, socket: ProtectedSocket): void {
  sockets.set(client, socket)
}

/** What is known of a client of a gateway; `null` when its handshake was not authenticated. */
export function readSocket(client: object): ProtectedSocket | null {
  return sockets.get(client) ?? null
}

/** The handshake of a client, as a manager has authenticated it: for `handleConnection`, which runs behind no guard. */
export function readUpgrade<Manager extends AnyManager>(
  client: object,
  tokens: Manager,
): Awaited<ReturnType<Manager['authenticateUpgrade']>> | null {
  const socket = readSocket(client)
  const isOwn = socket !== null && socket.tokens === tokens
  return isOwn ? (socket.upgrade as Awaited<ReturnType<Manager['authenticateUpgrade']>>) : null
}
