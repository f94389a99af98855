import { ConfigurationError, isTokenError } from '../errors.js'
import type { StandardClaims } from '../claims/payload.js'
import type { TokenEmitter, TokenEventName, TokenListener } from '../events.js'
import { type LogoutPayload, parseText, type RevocablePayload, type Revoker } from '../revocation/revoker.js'
import { type ActorOptions, parseActor } from '../sessions/session-client.js'
import type { ListSessionsOptions, SessionInfo, Sessions } from '../sessions/sessions.js'
import type { StoreConnection, StoreHealth } from '../sessions/token-store.js'

/** The half of a `TokenManager` that ends tokens: by token, session, user, key, or all at once. */
export abstract class RevocableTokens {
  readonly #emitter: TokenEmitter
  readonly #store: StoreConnection | null

  protected constructor(emitter: TokenEmitter, store: StoreConnection | null) {
    this.#emitter = emitter
    this.#store = store
  }

  /**
   * Resolves once the store has been found fit for use; waits a few seconds for it, and then rejects with the reason.
   * It does not ask again: for the state of the store at this moment, see `health`.
   */
  async ready(): Promise<void> {
    await this.#store?.ready()
  }

  /** Asks the store now, within `JWT_REVOCATION_TIMEOUT`, and says what is wrong; never rejects. */
  async health(): Promise<StoreHealth> {
    return this.#store?.health() ?? { status: 'up', responseTimeMs: null, error: null }
  }

  /** Calls a listener at every event of a kind; returns a function that ends that. */
  on<Name extends TokenEventName>(name: Name, listener: TokenListener<Name>): () => void {
    return this.#emitter.on(name, listener)
  }

  /** Revokes one token by its `jti`; the other token of its session stays good. */
  async revokeToken(payload: RevocablePayload, options: ActorOptions = {}): Promise<void> {
    await this.#revoker('revokeToken').revokeToken(payload, parseActor('revokeToken()', options))
  }

  /** Revokes every token of a session, those still to be refreshed included. */
  async revokeSession(
    session: string | (Pick<StandardClaims, 'sid'> & { readonly sub?: string }),
    options: ActorOptions = {},
  ): Promise<void> {
    const revoker = this.#revoker('revokeSession')
    const origin = parseActor('revokeSession()', options)
    const sid = typeof session === 'string' ? session : session?.sid
    if (sid === undefined) throw new TypeError('The token belongs to no session: revoke the token instead')
    const sub = typeof session === 'string' ? await this.#readSubject(sid) : (session.sub ?? null)
    await revoker.revokeSessions([sid], sub, origin)
  }

  /** Revokes every token of a user whose session began before now; a new one is good at once. */
  async revokeUser(uid: string, options: ActorOptions = {}): Promise<void> {
    await this.#revoker('revokeUser').revokeUser(uid, parseActor('revokeUser()', options))
  }

  /** Revokes every token that a key has signed or will sign, for good; take the key out of the configuration too. */
  async revokeKey(kid: string, options: ActorOptions = {}): Promise<void> {
    await this.#revoker('revokeKey').revokeKey(kid, parseActor('revokeKey()', options))
  }

  /** Revokes every token of everybody whose session began before now. */
  async revokeAll(options: ActorOptions = {}): Promise<void> {
    await this.#revoker('revokeAll').revokeAll(parseActor('revokeAll()', options))
  }

  /** Ends the session of a token: its access and refresh tokens die together. A token of no session is revoked by itself. */
  async logout(payload: LogoutPayload, options: ActorOptions = {}): Promise<void> {
    await this.#revoker('logout').logout(payload, parseActor('logout()', options))
  }

  /** The live sessions of a user, newest first, a page at a time. */
  async listSessions(uid: string, options: ListSessionsOptions = {}): Promise<readonly SessionInfo[]> {
    return this.#sessions('listSessions').listSessions(uid, options)
  }

  /** One live session, or `null`; with a `uid`, only if it is that user's. A `uid` that is `undefined` is a `TypeError`. */
  async getSession(id: string, ...owner: [uid?: string]): Promise<SessionInfo | null> {
    const sessions = this.#sessions('getSession')
    return owner.length === 0 ? sessions.getSession(id) : sessions.getSession(id, parseText('uid', owner[0]))
  }

  /** Revokes every session of the token's user but its own; returns how many they were. */
  async revokeOtherSessions(
    payload: Pick<StandardClaims, 'sub' | 'sid'>,
    options: ActorOptions = {},
  ): Promise<number> {
    const origin = parseActor('revokeOtherSessions()', options)
    return this.#sessions('revokeOtherSessions').revokeOtherSessions(payload, origin)
  }

  // For the event alone: a session that is over already has no user any more, and a read that fails changes nothing.
  async #readSubject(sid: string): Promise<string | null> {
    try {
      const session = await this.#store?.sessions?.getSession(sid)
      return session?.sub ?? null
    } catch (error) {
      if (isTokenError(error)) return null
      throw error
    }
  }

  #revoker(method: string): Revoker {
    return this.#store?.revoker ?? missingStore(method)
  }

  #sessions(method: string): Sessions {
    return this.#store?.sessions ?? missingStore(method, 'a store that keeps sessions')
  }
}

/** Throws the error for a method that needs what the manager was not given. */
export function missingStore(method: string, needed = 'a store'): never {
  throw new ConfigurationError(`${method} needs ${needed}: new TokenManager({ config, revocation: store })`)
}
