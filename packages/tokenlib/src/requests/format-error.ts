import type { TokenError } from '../errors.js'
import { isPromise } from '../promises.js'
import { emitWarning } from '../runtime.js'

/** What `formatError` gets. */
export interface RefusalDetails {
  /** The status of the response. */
  readonly status: number
  /** The code for programs: that of the error, or of the session routes. */
  readonly code: string
  /** The text for people. */
  readonly message: string
  /** The body without `formatError`. */
  readonly body: ErrorBody
  /** `null` if the request was rejected for another reason than its token, such as a wrong password. */
  readonly error: TokenError | null
}

/** Turns a refusal into the JSON body of its response. It cannot change the status or the headers. */
export type FormatError = (refusal: RefusalDetails) => object

/** The JSON body of a refusal. */
export type ErrorBody = Readonly<Record<string, unknown>>

/** Throws `TypeError` unless `formatError` is a function, `null` or `undefined`. */
export function assertFormatError(formatError: FormatError | null | undefined): void {
  if (formatError === null || formatError === undefined || typeof formatError === 'function') return
  throw new TypeError('formatError must be a function')
}

/** The body for the client. If `formatError` fails, it is the standard body: a 401 must not become a 500. */
export function formatBody(formatError: FormatError | null | undefined, refusal: RefusalDetails): ErrorBody {
  if (formatError === null || formatError === undefined) return refusal.body
  try {
    const body: unknown = formatError(refusal)
    if (isPromise(body)) throw new TypeError('it must not be async')
    // As it is sent: some frameworks would fail on a value that has no JSON, after their headers.
    const sent: unknown = JSON.parse(JSON.stringify(body) ?? 'null')
    if (typeof sent === 'object' && sent !== null && !Array.isArray(sent)) return sent as ErrorBody
    throw new TypeError('it must return an object')
  } catch (error) {
    warnOnce(formatError, error)
    return refusal.body
  }
}

const warned = new WeakSet<FormatError>()

// Anybody can cause refusals, and must not fill the log with them.
function warnOnce(formatError: FormatError, error: unknown): void {
  if (warned.has(formatError)) return
  warned.add(formatError)
  emitWarning(`formatError failed, so the standard body was sent: ${String(error)}`, 'TokenErrorWarning')
}
