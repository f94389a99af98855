import { RevocationUnavailableError, RevokedTokenError } from '../errors.js'
import { monotonicNow } from '../time.js'
import type { RevocationContext, TokenBlocklistCallback } from './blocklist.js'

/**
 * Throws `RevokedTokenError` when the callback says so, and `RevocationUnavailableError` when it says nothing
 * usable: it throws, answers anything but `true` or `false`, or not within `timeoutMs`.
 */
export async function assertNotRevoked<Payload extends object>(
  isRevoked: TokenBlocklistCallback<Payload>,
  token: string,
  facts: Omit<RevocationContext<Payload>, 'signal'>,
  timeoutMs: number,
): Promise<void> {
  const { context, abort } = createContext(facts)
  const startedAt = monotonicNow()
  let answer: unknown
  try {
    answer = isRevoked(token, context)
    if (isThenable(answer)) answer = await withDeadline(answer, timeoutMs, abort)
    // A busy process takes an answer before it looks at the timer that should have ended the wait.
    if (monotonicNow() - startedAt > timeoutMs) throw tooLate(timeoutMs)
  } catch (cause) {
    // An unanswered question is not a "no": letting the request through would un-revoke every token.
    throw new RevocationUnavailableError(cause)
  }
  if (answer === true) throw new RevokedTokenError(facts.payload as Record<string, unknown>, facts.header)
  if (answer !== false) {
    const type = answer === null ? 'null' : typeof answer
    throw new RevocationUnavailableError(
      new TypeError(`The revocation callback answered ${type}, not true or false`),
    )
  }
}

// The signal is made only for a callback that asks for it: most do not, and this is done for every request.
function createContext<Payload>(facts: Omit<RevocationContext<Payload>, 'signal'>) {
  let controller: AbortController | undefined
  let reason: Error | undefined
  const context: RevocationContext<Payload> = {
    ...facts,
    get signal() {
      controller ??= new AbortController()
      if (reason !== undefined) controller.abort(reason)
      return controller.signal
    },
  }
  const abort = (deadline: Error): void => {
    reason = deadline
    controller?.abort(deadline)
  }
  return { context, abort }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return isObject && typeof (value as Partial<PromiseLike<unknown>>).then === 'function'
}

// Whichever comes first is final: a promise settles once, and what the loser brings later is dropped.
function withDeadline(
  answer: PromiseLike<unknown>,
  timeoutMs: number,
  abort: (reason: Error) => void,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      const reason = tooLate(timeoutMs)
      reject(reason)
      abort(reason)
    }, timeoutMs)
    Promise.resolve(answer)
      .finally(() => clearTimeout(timer))
      .then(resolve, reject)
  })
}

function tooLate(timeoutMs: number): Error {
  return new Error(`The revocation callback did not answer within ${timeoutMs} ms`)
}
