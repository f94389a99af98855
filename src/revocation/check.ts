import type { TokenPayload, TokenType } from '../claims/payload.js'
import { RevocationUnavailableError, RevokedTokenError } from '../errors.js'
import type { JwsHeader } from '../jws/compact.js'
import { isPromise } from '../promises.js'
import type { TokenLocation } from '../request/request-token.js'
import { monotonicNow } from '../time.js'
import type { RevocationContext, TokenBlocklistCallback } from './blocklist.js'
import { withDeadline } from './deadline.js'

/** What a token is checked against: a store, the application's callback, or both, in this order. */
export interface RevocationSources {
  readonly store: { isRevoked(token: RevocableToken): boolean | Promise<boolean> } | null
  readonly isRevoked: TokenBlocklistCallback | null
  /** How long the callback may take, in milliseconds. */
  readonly timeoutMs: number
}

/** What the revocation of a token depends on. */
export interface RevocableToken {
  readonly payload: TokenPayload
  /** The ids of the key that verified it. */
  readonly kids: readonly string[]
}

/** A token that has passed every other check. */
export interface CheckedToken extends RevocableToken {
  readonly header: JwsHeader
}

/**
 * Throws `RevokedTokenError` for a revoked token, and `RevocationUnavailableError` when nobody can tell: an unanswered
 * question is not a "no", and letting the request through would un-revoke every token. At once, unless an answer must
 * be waited for.
 */
export function assertNotRevoked(
  token: string,
  checked: CheckedToken,
  location: TokenLocation | null,
  sources: RevocationSources,
): void | Promise<void> {
  const { store, isRevoked } = sources
  const goOn = (isStored: boolean): void | Promise<void> => {
    if (isStored) throw new RevokedTokenError(checked.payload, checked.header)
    if (isRevoked !== null) return assertNotListed(token, checked, location, isRevoked, sources.timeoutMs)
  }
  const isStored = store !== null && store.isRevoked(checked)
  return typeof isStored === 'boolean' ? goOn(isStored) : isStored.then(goOn)
}

function assertNotListed(
  token: string,
  checked: CheckedToken,
  location: TokenLocation | null,
  isRevoked: TokenBlocklistCallback,
  timeoutMs: number,
): void | Promise<void> {
  const context = new CallbackContext(checked, location)
  const startedAt = monotonicNow()
  const judge = (answer: unknown): void => {
    // A busy process takes an answer before it looks at the timer that should have ended the wait.
    if (monotonicNow() - startedAt > timeoutMs) throw unavailable(tooLate(timeoutMs))
    if (answer === true) throw new RevokedTokenError(checked.payload, checked.header)
    if (answer === false) return
    const type = answer === null ? 'null' : typeof answer
    throw unavailable(new TypeError(`The revocation callback answered ${type}, not true or false`))
  }
  let answer: unknown
  let pending: Promise<unknown> | undefined
  try {
    answer = isRevoked(token, context)
    if (isPromise(answer)) {
      pending = withDeadline(answer, timeoutMs, () => context.abort(tooLate(timeoutMs)))
    }
  } catch (cause) {
    throw unavailable(cause)
  }
  if (pending === undefined) return judge(answer)
  return pending.then(judge, (cause: unknown) => {
    throw unavailable(cause)
  })
}

// The signal is made only for a callback that asks for it: most do not, and this is done for every request.
class CallbackContext implements RevocationContext {
  readonly payload: TokenPayload
  readonly header: JwsHeader
  readonly type: TokenType
  readonly location: TokenLocation | null
  #controller: AbortController | undefined
  #reason: Error | undefined

  constructor({ payload, header }: CheckedToken, location: TokenLocation | null) {
    this.payload = payload
    this.header = header
    this.type = payload.type
    this.location = location
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  abort(reason: Error): Error {
    this.#reason = reason
    this.#controller?.abort(reason)
    return reason
  }
}

function unavailable(cause: unknown): RevocationUnavailableError {
  return new RevocationUnavailableError(cause)
}

function tooLate(timeoutMs: number): Error {
  return new Error(`The revocation callback did not answer within ${timeoutMs} ms`)
}
