import { type Channel, channel } from 'node:diagnostics_channel'
import type { AnyTokenError } from './errors.js'
import { unknownName } from './options.js'
import { describeThrown, emitWarning } from './runtime.js'

/** Where a request comes from, if known; both are `null` without a request. */
export interface SessionClient {
  readonly ip: string | null
  readonly userAgent: string | null
}

/** Who caused a revocation and why, as far as the application says. */
export interface EventOrigin extends SessionClient {
  /** Who did it, if it was not the user: what the application passed as `actor`. */
  readonly actor: string | null
  /** Why: what the application passed as `note`. */
  readonly note: string | null
}

/**
 * Why a login failed. `credentials`: they were wrong. `user`: `describeUser` returned `null`. `rateLimit`: there were too
 * many attempts. `sessionLimit`: the user has too many sessions. `response`: `logIn` answered with an error of its own.
 */
export type LoginFailure = 'credentials' | 'user' | 'rateLimit' | 'sessionLimit' | 'response'

/** The data of each event of a manager; never a token, a secret or a CSRF value. */
export interface TokenEvents {
  /** A token was made. */
  readonly issued: {
    readonly type: 'access' | 'refresh'
    readonly sub: string
    readonly jti: string
    readonly sid: string | null
    /** Epoch seconds; `null` for a token that never expires. */
    readonly expiresAt: number | null
  }
  /** A request, a token or a login was rejected; the ids are `null` unless they are known to be genuine. */
  readonly rejected: SessionClient & {
    readonly code: AnyTokenError['code']
    /** The message of the error. */
    readonly reason: string
    readonly sub: string | null
    readonly jti: string | null
    readonly sid: string | null
  }
  /** A user has logged in: `sessions.open` made a pair. */
  readonly loggedIn: SessionClient & {
    readonly sub: string
    readonly sid: string
  }
  /** A login or a step-up failed. */
  readonly loginFailed: SessionClient & {
    /** The name that the client sent, truncated and without control characters, or `null`. It is unverified. */
    readonly user: string | null
    /** The user of the session for a step-up; `null` for a login. */
    readonly sub: string | null
    readonly reason: LoginFailure
  }
  /** A user has logged out: `logout` ended a session, or a token without one. */
  readonly loggedOut: EventOrigin & {
    readonly sub: string | null
    readonly sid: string | null
    readonly jti: string | null
  }
  /** Something was revoked, and the store has it. */
  readonly revoked: EventOrigin & {
    readonly kind: 'token' | 'session' | 'user' | 'key' | 'all'
    /** A `jti`, `sid`, `sub` or `kid`; empty for `all`. */
    readonly id: string
    /** The user whose tokens are revoked; `null` for `key` and `all`, or if unknown. */
    readonly sub: string | null
    /** The issuer of the revoked tokens; `null` for our own tokens, or if there are several issuers. */
    readonly issuer: string | null
    /** `requested`: by the application. `reuse`: by a used refresh token. `limit`: by a login, to make room for it. */
    readonly reason: 'requested' | 'reuse' | 'limit'
  }
  /** A session got new tokens. */
  readonly refreshed: SessionClient & {
    readonly sid: string
    readonly sub: string
    /** How often the session has advanced. */
    readonly generation: number
    /**
     * `advanced`: the session advanced. `repeated`: the refresh token had been exchanged before, and none of its successors
     * has been used. `kept`: the refresh token is too young to be replaced, and only the access token is new.
     */
    readonly outcome: 'advanced' | 'repeated' | 'kept'
    /** The client that opened or last advanced the session before this; `null` if the store does not report it. */
    readonly previous: SessionClient | null
  }
  /** A refresh token was exchanged again, from elsewhere or after the grace. */
  readonly refreshRepeated: SessionClient & {
    readonly sid: string
    readonly sub: string
    readonly generation: number
    /** When the session advanced to this token, by the store's clock; epoch milliseconds. */
    readonly movedAt: number
    /** Whether the ip or the user agent differs from the client that last advanced the session. */
    readonly isElsewhere: boolean
    readonly previous: SessionClient | null
  }
  /** A refresh token was used again; the session is revoked. */
  readonly reuseDetected: SessionClient & {
    readonly sid: string
    readonly sub: string
    /** The generation of the token that was used again. */
    readonly presented: number
    /** The generation that the session had reached. */
    readonly current: number
    /** Where the session was opened or last refreshed from before this; `null` if the store does not tell. */
    readonly previous: SessionClient | null
  }
  /** The store has lost data; everything that may be affected is revoked. */
  readonly storeLostData: {
    /** Every session that started at or before this moment is revoked; epoch milliseconds by the store's clock. */
    readonly revokedBefore: number
  }
  /** The replica of this process is older than its bound: checks are rejected, or ask the store. */
  readonly replicaStale: ReplicaEvent
  /** The replica of this process answers from memory, for the first time or again. */
  readonly replicaFresh: ReplicaEvent
  /** The store has another history: the replica goes on with what it knows, and restores what the store lacks. */
  readonly replicaReset: ReplicaEvent
  /** The keys of an issuer were loaded, for the first time or again. */
  readonly keysLoaded: {
    readonly issuer: string
    /** The `kid` of each key that is accepted now; empty text for a key without one. */
    readonly kids: readonly string[]
    /** The keys of the set that are not accepted, and why. */
    readonly refused: readonly { readonly kid: string | null; readonly reason: string }[]
  }
  /**
   * The keys of an issuer could not be loaded; those loaded before stay in use until they are too old. Or the issuer of an
   * opaque token did not answer about it.
   */
  readonly keysFailed: {
    readonly issuer: string
    readonly cause: unknown
  }
  /** The store failed, did not answer in time, or returned something invalid. */
  readonly storeUnavailable: {
    readonly operation: string
    /** What the store or its client threw. */
    readonly cause: unknown
  }
}

/** The state of a replica. */
export interface ReplicaEvent {
  /** How long ago its last complete read was sent, in milliseconds; `null` before the first one. */
  readonly ageMs: number | null
  /** How old it may be, in milliseconds. */
  readonly boundMs: number
  /** How many revocations it has. */
  readonly entries: number
  /** Why its last read failed; `null` when it did not. */
  readonly cause: unknown
}

/** The name of an event. */
export type TokenEventName = keyof TokenEvents

/** Called with each event; what it returns or throws has no effect on the request. */
export type TokenListener<Name extends TokenEventName> = (event: TokenEvents[Name]) => unknown

/** Registers listeners and emits events. */
export interface TokenEmitter {
  /** Returns a function that removes the listener. */
  readonly on: <Name extends TokenEventName>(name: Name, listener: TokenListener<Name>) => () => void
  /** `create` is called only if there is a listener. */
  readonly emit: <Name extends TokenEventName>(name: Name, create: () => TokenEvents[Name]) => void
  /** Whether there is a listener; without one, what only the event needs is not read. */
  readonly isHeard: (name: TokenEventName) => boolean
}

// Every event is here, or this does not compile.
const NAMES: Readonly<Record<TokenEventName, true>> = {
  issued: true,
  rejected: true,
  loggedIn: true,
  loginFailed: true,
  loggedOut: true,
  revoked: true,
  refreshed: true,
  refreshRepeated: true,
  reuseDetected: true,
  storeLostData: true,
  replicaStale: true,
  replicaFresh: true,
  replicaReset: true,
  keysLoaded: true,
  keysFailed: true,
  storeUnavailable: true,
}

const channels = new Map<string, Channel>(
  Object.keys(NAMES).map((name) => [name, channel(`tokenlib:${name}`)]),
)

/** An emitter that also publishes every event on the diagnostics channel `tokenlib:<event>`. */
export function createEmitter(): TokenEmitter {
  const listeners = new Map<TokenEventName, Set<TokenListener<never>>>()
  const isHeard = (name: TokenEventName): boolean =>
    Boolean(listeners.get(name)?.size) || channels.get(name)?.hasSubscribers === true
  return {
    isHeard,
    on(name, listener) {
      if (!channels.has(name)) {
        const known = [...channels.keys()]
        throw new TypeError(unknownName('event', name, known, undefined, `. Known: ${known.join(', ')}`))
      }
      if (typeof listener !== 'function') throw new TypeError('A listener must be a function')
      // Wrapped, so that one function can be registered twice and removed once.
      const own: TokenListener<never> = (event) => listener(event)
      listeners.set(name, (listeners.get(name) ?? new Set()).add(own))
      return () => void listeners.get(name)?.delete(own)
    },
    emit(name, create) {
      if (!isHeard(name)) return
      const registered = listeners.get(name)
      const published = channels.get(name)
      const event = Object.freeze(create())
      // A copy: a listener may add or remove others, or itself.
      for (const listener of Array.from(registered ?? [])) notify(listener, event as never)
      published?.publish(event)
    },
  }
}

// A failing listener has no effect on the request; a warning reports it.
function notify(listener: TokenListener<never>, event: never): void {
  try {
    Promise.resolve(listener(event)).catch(warn)
  } catch (error) {
    warn(error)
  }
}

function warn(error: unknown): void {
  emitWarning(`A listener of tokenlib failed: ${describeThrown(error)}`, 'TokenListenerWarning')
}
