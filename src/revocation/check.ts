import type { TokenPayload } from '../claims/payload.js'
import { RevocationUnavailableError, RevokedTokenError } from '../errors.js'
import { monotonicNow } from '../time.js'
import type { RevocationContext, TokenBlocklistCallback } from './blocklist.js'
import { isThenable, withDeadline } from './deadline.js'

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
  /** When its session began; epoch milliseconds. */
  readonly start: number
  /** From its start to the last moment it can verify, in milliseconds. */
  readonly lifetime: number
}

/** A token that has passed every other check. */
export interface CheckedToken extends RevocableToken, Omit<RevocationContext, 'signal' | 'payload'> {
  readonly token: string
}

/**
 * Throws `RevokedTokenError` for a revoked token, and `RevocationUnavailableError` when nobody can tell: an unanswered
 * question is not a "no", and letting the request through would un-revoke every token.
 */
export async function assertNotRevoked(checked: CheckedToken, sources: RevocationSources): Promise<void> {
  if (sources.store !== null && (await sources.store.isRevoked(checked))) {
    throw new RevokedTokenError(checked.payload, checked.header)
  }
  if (sources.isRevoked !== null) await assertNotListed(checked, sources.isRevoked, sources.timeoutMs)
}

async function assertNotListed(
  { token, payload, header, type, location }: CheckedToken,
  isRevoked: TokenBlocklistCallback,
  timeoutMs: number,
): Promise<void> {
  const { context, abort } = createContext({ payload, header, type, location })
  const startedAt = monotonicNow()
  let answer: unknown
  try {
    answer = isRevoked(token, context)
    if (isThenable(answer)) answer = await withDeadline(answer, timeoutMs, () => abort(tooLate(timeoutMs)))
    // A busy process takes an answer before it looks at the timer that should have ended the wait.
    if (monotonicNow() - startedAt > timeoutMs) throw tooLate(timeoutMs)
  } catch (cause) {
    throw new RevocationUnavailableError(cause)
  }
  if (answer === true) throw new RevokedTokenError(payload, header)
  if (answer !== false) {
    const type = answer === null ? 'null' : typeof answer
    throw new RevocationUnavailableError(
      new TypeError(`The revocation callback answered ${type}, not true or false`),
    )
  }
}

// The signal is made only for a callback that asks for it: most do not, and this is done for every request.
function createContext(facts: Omit<RevocationContext, 'signal'>) {
  let controller: AbortController | undefined
  let reason: Error | undefined
  const context: RevocationContext = {
    ...facts,
    get signal() {
      controller ??= new AbortController()
      if (reason !== undefined) controller.abort(reason)
      return controller.signal
    },
  }
  const abort = (deadline: Error): Error => {
    reason = deadline
    controller?.abort(deadline)
    return deadline
  }
  return { context, abort }
}

function tooLate(timeoutMs: number): Error {
  return new Error(`The revocation callback did not answer within ${timeoutMs} ms`)
}
