import type { JsonClaims } from '../../tokens/extra-claims.js'
import { isTokenError } from '../../errors.js'
import type { LoginFailure } from '../../events.js'
import type { Credentials, LoginAttempt, LoginOutcome, LoginResult } from './options.js'
import type { RouteParts } from './parts.js'
import { RefusedRequest } from './refused-request.js'

/** The claims of the user whom the credentials belong to. */
export type UserClaims = { readonly uid: string } & JsonClaims

/**
 * Asks the application, and the rate limiter before and after it, and calls `admit` for right credentials. Wrong ones throw
 * `RefusedRequest`, and so do those of another user than `sub`. Every failure is an event.
 */
export async function checkCredentials(
  parts: RouteParts,
  given: Omit<LoginAttempt, 'ip'>,
  admit: (claims: UserClaims, settle: (outcome: LoginOutcome) => Promise<void>) => Promise<Response>,
): Promise<Response> {
  const { tokens, options } = parts
  const { rateLimit } = options
  const { sub, credentials, request } = given
  const attempt: LoginAttempt = { ...given, ip: tokens.readClient(request).ip }
  const report = (reason: LoginFailure): void =>
    tokens.reportFailedLogin({ reason, user: readName(credentials), sub, request })
  let isSettled = false
  const settle = async (outcome: LoginOutcome): Promise<void> => {
    if (isSettled) return
    isSettled = true
    await rateLimit?.after?.(attempt, outcome)
  }
  const refuse = async (reason: LoginFailure): Promise<RefusedRequest> => {
    await settle('failure')
    report(reason)
    // Without a challenge: no token would help, and browsers ask for a password of their own on some.
    return new RefusedRequest(401, 'CREDENTIALS_INVALID', 'The credentials are wrong')
  }

  const wait = parseWait((await rateLimit?.before(attempt)) ?? 0)
  if (wait > 0) {
    report('rateLimit')
    const headers = { 'retry-after': String(Math.ceil(wait)) }
    throw new RefusedRequest(429, 'RATE_LIMITED', 'Too many attempts', headers)
  }
  const result = parseResult(await options.logIn(credentials, request))
  if (isResponse(result)) {
    await settle('response')
    // A second factor is asked for with another status.
    if (result.status >= 400) report('response')
    return result
  }
  if (result === null || (sub !== null && result.uid !== sub)) throw await refuse('credentials')
  try {
    const response = await admit(result, settle)
    await settle('success')
    return response
  } catch (error) {
    const code = isTokenError(error) ? error.code : null
    // A user who may not log in gets the answer to wrong credentials: another one would confirm the password. The user of
    // a step-up is known to the client, and the session is over.
    if (code === 'SUBJECT_NOT_FOUND' && sub === null) throw await refuse('user')
    if (code === 'SUBJECT_NOT_FOUND') report('user')
    if (code === 'SESSION_LIMIT_REACHED') report('sessionLimit')
    await settle('success')
    throw error
  }
}

function parseWait(seconds: unknown): number {
  if (typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0) return seconds
  throw new TypeError('before() of rateLimit must return a number of seconds, null or undefined')
}

// What clients call the name of a user, in the order in which it is looked for.
const NAMES = ['username', 'user', 'email', 'login', 'name'] as const

function readName(credentials: Credentials): string | null {
  for (const member of NAMES) {
    const name = credentials[member]
    if (typeof name === 'string' && name !== '') return name
  }
  return null
}

function parseResult(result: LoginResult<JsonClaims>): LoginResult<JsonClaims> {
  if (result === null) return null
  if (isResponse(result)) return keepPrivate(result)
  const { uid } = (result ?? {}) as { readonly uid?: unknown }
  if (typeof uid === 'string' && uid !== '') return result
  throw new TypeError('logIn must return claims with a uid, null for wrong credentials, or a Response')
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
