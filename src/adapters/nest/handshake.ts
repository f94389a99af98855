import type { IncomingMessage, ServerResponse } from 'node:http'
import { Logger } from '@nestjs/common'
import { isTokenError } from '../../errors.js'
import { createRefusal, type Refusal, writeRefusal } from '../../http/accept-upgrade.js'
import type { AuthenticatedUpgrade, UpgradePolicy } from '../../manager/sockets.js'
import type { AnyManager } from './manager-token.js'

/** Option of a `ws` server: decides on a handshake before it becomes a socket. */
export type VerifyClient =
  | ((info: HandshakeInfo, done: VerifyDone) => void)
  | ((info: HandshakeInfo) => boolean)

interface HandshakeInfo {
  readonly req: IncomingMessage
}

type VerifyDone = (
  isAccepted: boolean,
  status?: number,
  body?: string,
  headers?: Readonly<Record<string, string>>,
) => void

/** As much of Socket.IO's server, or of a namespace of it, as is needed here. */
export interface SocketIoServer {
  readonly engine?: Engine
  readonly server?: { readonly engine?: Engine }
}

interface Engine {
  use(middleware: (request: IncomingMessage, response: object, next: () => void) => void): unknown
}

/** Authenticates handshakes where a server decides on them, and keeps the result for the socket. */
export class Handshakes {
  readonly #tokens: AnyManager
  readonly #policy: UpgradePolicy
  readonly #accepted = new WeakMap<object, AuthenticatedUpgrade>()
  readonly #engines = new WeakSet<Engine>()
  readonly #logger = new Logger('protectSockets')

  constructor(tokens: AnyManager, policy: UpgradePolicy) {
    this.#tokens = tokens
    this.#policy = policy
  }

  /** What was found in the handshake that a request made; `null` when it was not accepted here. */
  readAccepted(request: object): AuthenticatedUpgrade | null {
    return this.#accepted.get(request) ?? null
  }

  /** A `verifyClient` for `ws`; the application's own one is asked after it. */
  createVerifyClient(next: VerifyClient | null): VerifyClient {
    return (info, done) => void this.#verify(info, done, next)
  }

  async #verify(info: HandshakeInfo, done: VerifyDone, next: VerifyClient | null): Promise<void> {
    const refusal = await this.#authenticate(info.req)
    if (refusal !== null) return done(false, refusal.status, refusal.body, refusal.headers)
    if (next === null) return done(true)
    // As `ws` does: a function of two parameters answers through the second.
    if (next.length === 2) return void next(info, done)
    done((next as (given: HandshakeInfo) => boolean)(info))
  }

  /** Puts a middleware before the handshakes of Socket.IO; servers of another kind have no engine. */
  protectEngine(server: SocketIoServer): void {
    const engine = server.engine ?? server.server?.engine
    if (engine === undefined || this.#engines.has(engine)) return
    if (typeof engine.use !== 'function') throw new TypeError('protectSockets needs Socket.IO 4.6 or newer')
    this.#engines.add(engine)
    engine.use((request, response, next) => void this.#passEngine(request, response, next))
  }

  async #passEngine(request: IncomingMessage, response: object, next: () => void): Promise<void> {
    // A request of a connection that is open; one that only claims to be is refused by Socket.IO.
    if (new URL(request.url ?? '/', 'http://localhost').searchParams.has('sid')) return next()
    const { socket } = request
    const destroy = (): void => void socket.destroy()
    // Nobody else listens for errors of a connection that is being upgraded.
    socket.on('error', destroy)
    const refusal = await this.#authenticate(request)
    if (refusal === null) {
      socket.off('error', destroy)
      return next()
    }
    if (!isServerResponse(response)) return writeRefusal(socket, refusal)
    const headers = { ...refusal.headers, 'content-length': Buffer.byteLength(refusal.body) }
    response.writeHead(refusal.status, headers).end(refusal.body)
  }

  async #authenticate(request: IncomingMessage): Promise<Refusal | null> {
    try {
      const upgrade = await this.#tokens.authenticateUpgrade(request, this.#policy)
      this.#accepted.set(request, upgrade as AuthenticatedUpgrade)
      return null
    } catch (error) {
      if (!isTokenError(error)) this.#logger.error(error)
      return createRefusal(error, this.#tokens)
    }
  }
}

// For a handshake over WebSocket Socket.IO passes something that cannot answer.
function isServerResponse(response: object): response is ServerResponse {
  return 'headersSent' in response
}
