import type { JsonClaims } from '../../manager/manager-options.js'
import type { Credentials, LoginAttempt, LoginOutcome, LoginResult } from './options.js'
import { readIp, type RouteParts } from './parts.js'
import { RefusedRequest } from './refused-request.js'

/** The claims of the user whom the credentials belong to. */
export type UserClaims = { readonly uid: string } & JsonClaims

/**
 * Asks the application, and the rate limiter before and after it. Wrong credentials throw `RefusedRequest`, and so do
 * those of another user than `sub`.
 */
export async function checkCredentials(
  parts: RouteParts,
  given: {
    readonly route: LoginAttempt['route']
    readonly credentials: Credentials
    readonly request: Request
  },
  sub: string | null,
): Promise<UserClaims | Response> {
  const { rateLimit } = parts.options
  const attempt: LoginAttempt = { ...given, sub, ip: readIp(parts, given.request) }
  if (rateLimit !== undefined) assertWithinLimit(await rateLimit.before(attempt))
  const result = parseResult(await parts.options.logIn(given.credentials, given.request))
  const outcome = toOutcome(result, sub)
  await rateLimit?.after?.(attempt, outcome)
  if (outcome !== 'failure') return result as UserClaims | Response
  // Without a challenge: no token would help, and browsers ask for a password of their own on some.
  throw new RefusedRequest(401, 'CREDENTIALS_INVALID', 'The credentials are wrong')
}

function assertWithinLimit(wait: unknown): void {
  const seconds = wait ?? 0
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds < 0) {
    throw new TypeError('before() of rateLimit must return a number of seconds, null or undefined')
  }
  if (seconds === 0) return
  const headers = { 'retry-after': String(Math.ceil(seconds)) }
  throw new RefusedRequest(429, 'RATE_LIMITED', 'Too many attempts', headers)
}

function parseResult(result: LoginResult<JsonClaims>): LoginResult<JsonClaims> {
  if (result === null) return null
  if (isResponse(result)) return keepPrivate(result)
  const { uid } = (result ?? {}) as { readonly uid?: unknown }
  if (typeof uid === 'string' && uid !== '') return result
  throw new TypeError('logIn must return claims with a uid, null for wrong credentials, or a Response')
}

function toOutcome(result: LoginResult<JsonClaims>, sub: string | null): LoginOutcome {
  if (result === null) return 'failure'
  if (isResponse(result)) return 'response'
  return sub === null || result.uid === sub ? 'success' : 'failure'
}

// By its tag: the class may be that of a polyfill.
function isResponse(value: unknown): value is Response {
  return value instanceof Response || Object.prototype.toString.call(value) === '[object Response]'
}

function keepPrivate(response: Response): Response {
  const headers = new Headers(response.headers)
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}
