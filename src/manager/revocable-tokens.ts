import type { StandardClaims } from '../claims/payload.js'
import { ConfigurationError } from '../errors.js'
import type { TokenEmitter, TokenEventName, TokenListener } from '../events.js'
import type { Revoker } from '../revocation/revoker.js'
import type { SessionInfo, Sessions } from '../sessions/sessions.js'
import type { StoreConnection } from '../sessions/token-store.js'

/** The half of a `TokenManager` that ends tokens: by token, session, user, key, or all at once. */
export abstract class RevocableTokens {
  readonly #emitter: TokenEmitter
  readonly #store: StoreConnection | null

  protected constructor(emitter: TokenEmitter, store: StoreConnection | null) {
    this.#emitter = emitter
    this.#store = store
  }

  /** Resolves when the store is there and fit for use; waits a few seconds for it, and then says why it is not. */
  async ready(): Promise<void> {
    await this.#store?.ready()
  }

  /** Calls a listener at every event of a kind; returns a function that ends that. */
  on<Name extends TokenEventName>(name: Name, listener: TokenListener<Name>): () => void {
    return this.#emitter.on(name, listener)
  }

  /** Revokes one token by its `jti`; the other token of its log-in stays good. */
  async revokeToken(payload: Pick<StandardClaims, 'jti' | 'exp'>): Promise<void> {
    await this.#revoker('revokeToken')(payload)
  }

  /** Revokes every token of a session, those still to be refreshed included. */
  async revokeSession(session: string | Pick<StandardClaims, 'sid'>): Promise<void> {
    await this.#revoker('revokeSession')(session)
  }

  /** Revokes every token of a user whose log-in lies before now; a new log-in is good at once. */
  async revokeUser(uid: string): Promise<void> {
    await this.#revoker('revokeUser')(uid)
  }

  /** Revokes every token that a key has signed or will sign, for good; take the key out of the configuration too. */
  async revokeKey(kid: string): Promise<void> {
    await this.#revoker('revokeKey')(kid)
  }

  /** Revokes every token of everybody whose log-in lies before now. */
  async revokeAll(): Promise<void> {
    await this.#revoker('revokeAll')()
  }

  /** Ends a log-in: its access and refresh tokens die together. A token of no session is revoked by itself. */
  async logout(payload: Pick<StandardClaims, 'sid' | 'jti' | 'exp'>): Promise<void> {
    await this.#revoker('logout')(payload)
  }

  /** The live sessions of a user, newest first, at most 1,000. */
  async listSessions(uid: string): Promise<readonly SessionInfo[]> {
    return this.#sessions('listSessions')(uid)
  }

  /** Revokes every session of the token's user but its own; returns how many they were. */
  async revokeOtherSessions(payload: Pick<StandardClaims, 'sub' | 'sid'>): Promise<number> {
    return this.#sessions('revokeOtherSessions')(payload)
  }

  #revoker<Method extends keyof Revoker>(method: Method): Revoker[Method] {
    return this.#store?.revoker[method] ?? missingStore(method)
  }

  #sessions<Method extends keyof Sessions>(method: Method): Sessions[Method] {
    return this.#store?.sessions?.[method] ?? missingStore(method)
  }
}

/** Throws the error for a method that needs what the manager was not given. */
export function missingStore(method: string): never {
  throw new ConfigurationError(
    `${method} needs a store${method.includes('essions') || method === 'refresh' ? ' that keeps sessions' : ''}: new TokenManager({ config, revocation: store })`,
  )
}
