import type { IncomingMessage } from 'node:http'
import { Logger } from '@nestjs/common'
import { isTokenError } from '../../errors.js'
import { createRefusal, type Refusal } from '../../sockets/accept-upgrade.js'
import { protectConnections, type SocketIoServer } from '../../sockets/protect-socket-io.js'
import type { AuthenticatedUpgrade, UpgradePolicy } from '../../requests/sockets.js'
import type { NodeRequest } from '../../http/node-view.js'
import type { Duration } from '../../time.js'
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

/** What an adapter has created: a server of Socket.IO, a namespace of one, or a server of another kind. */
export interface GatewayServer extends Partial<SocketIoServer> {
  readonly server?: SocketIoServer
}

/** Authenticates handshakes where a server decides on them, and keeps the result for the socket. */
export class Handshakes {
  readonly #tokens: AnyManager
  readonly #policy: UpgradePolicy
  readonly #every: Duration
  readonly #accepted = new WeakMap<object, AuthenticatedUpgrade>()
  readonly #protected = new WeakSet<object>()
  readonly #logger = new Logger('protectSockets')

  constructor(tokens: AnyManager, policy: UpgradePolicy, every: Duration) {
    this.#tokens = tokens
    this.#policy = policy
    this.#every = every
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

  /** Authenticates and follows the connections of Socket.IO; servers of another kind have no engine. */
  protectEngine(given: GatewayServer): void {
    const server = given.server ?? given
    const { engine } = server
    if (engine === undefined || this.#protected.has(engine)) return
    this.#protected.add(engine)
    protectConnections(server as SocketIoServer, {
      authenticate: (request) => this.#authenticate(request),
      follow: (request, connection) => {
        const upgrade = this.readAccepted(request)
        if (upgrade !== null) this.#tokens.closeWhenInvalid(connection, upgrade, { every: this.#every })
        return upgrade !== null
      },
    })
  }

  async #authenticate(request: NodeRequest): Promise<Refusal | null> {
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
