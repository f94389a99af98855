import { isTokenError } from '../../errors.js'
import type { LoginFailure } from '../../events.js'
import { hasDuplicateMembers, isJsonObject, isWithinJsonLimits } from '../../encoding.js'
import type { TokenConfig } from '../../config/config.js'
import { findLabelProblem } from '../../revocation/session-data.js'
import type { JsonClaims } from '../../tokens/extra-claims.js'
import { parseBodyText, RefusedRequest } from '../router.js'
import type { Transport } from './answers.js'
import type { Credentials, LoginAttempt, LoginOutcome, LoginResult, RouteParts } from './options.js'
import { internalsOf } from '../../sessions/internals.js'

/** The parsed body of a login. */
export interface LoginBody {
  readonly credentials: Credentials
  /** Whether the cookies outlive the browser; `undefined` for what the configuration says. */
  readonly remember: boolean | undefined
  readonly transport: Transport | undefined
}

/**
 * The credentials in the JSON body of a request, or `RefusedRequest`. The request can still be read afterwards.
 *
 * No form of another site can send this media type, and no script of one without the permission of a CORS pre-flight.
 */
export async function parseLoginBody(request: Request, config: TokenConfig): Promise<LoginBody> {
  const { remember, transport, ...credentials } = await parseMembers(request, config)
  if (remember !== undefined && typeof remember !== 'boolean')
    throw malformed('remember must be true or false')
  if (transport !== undefined && transport !== 'cookies' && transport !== 'bearer') {
    throw malformed('transport must be "cookies" or "bearer"')
  }
  return { remember, transport, credentials }
}

/** The label in the JSON body of a request, `null` to remove it; or `RefusedRequest`. */
export async function parseLabelBody(request: Request, config: TokenConfig): Promise<string | null> {
  const { label, ...others } = await parseMembers(request, config)
  const [other] = Object.keys(others)
  // Only the application changes other data: it trusts what it has stored.
  if (other !== undefined) throw malformed('The body must have no member besides label')
  const problem = label === null ? null : findLabelProblem(label)
  if (problem !== null) throw malformed(problem)
  return label as string | null
}

// The members of a JSON body without tokens.
async function parseMembers(request: Request, config: TokenConfig): Promise<Record<string, unknown>> {
  return withoutTokens(parseObject(await parseBodyText(request, 'application/json')), config)
}

function parseObject(text: string): Record<string, unknown> {
  if (!isWithinJsonLimits(text)) throw malformed('The body is nested too deeply or has too many members')
  let value: unknown
  try {
    value = JSON.parse(text, refusePrototype)
  } catch (error) {
    throw error instanceof RefusedRequest ? error : malformed('The body is not valid JSON')
  }
  if (!isJsonObject(value)) throw malformed('The body must be a JSON object')
  // Another parser on the way may have kept the first of the two.
  if (hasDuplicateMembers(text)) throw malformed('The body has a member twice')
  return value
}

// `Object.assign({}, credentials)` would set the prototype.
function refusePrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw malformed('The body has a member "__proto__"')
  return value
}

// Tokens in the body are not credentials of the user.
function withoutTokens(members: Record<string, unknown>, config: TokenConfig): Credentials {
  const names = new Set<string>()
  if (config.hasLocation('json', 'access')) names.add(config.JWT_JSON_KEY)
  if (config.hasLocation('json', 'refresh')) names.add(config.JWT_REFRESH_JSON_KEY)
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(name)))
}

/** The answer to a request with a bad body. */
export function malformed(message: string): RefusedRequest {
  return new RefusedRequest(400, 'REQUEST_INVALID', message)
}

/** The claims of the user whom the credentials belong to. */
export type UserClaims = { readonly uid: string } & JsonClaims

/**
 * Asks the application, and the rate limiter before and after it, and calls `admit` for right credentials. Wrong ones throw
 * `RefusedRequest`, and so do credentials of another user than `sub`. Every failure is an event.
 */
export async function checkCredentials(
  parts: RouteParts,
  given: Omit<LoginAttempt, 'ip'>,
  admit: (claims: UserClaims, settle: (outcome: LoginOutcome) => Promise<void>) => Promise<Response>,
): Promise<Response> {
  const { tokens, options } = parts
  const { rateLimit } = options
  const { sub, credentials, request } = given
  const attempt: LoginAttempt = { ...given, ip: internalsOf(tokens).readClient(request).ip }
  const report = (reason: LoginFailure): void =>
    tokens.sessions.reportFailedLogin({ reason, user: readName(credentials), sub, request })
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

// By its tag: the class may come from a polyfill.
function isResponse(value: unknown): value is Response {
  return value instanceof Response || Object.prototype.toString.call(value) === '[object Response]'
}

function keepPrivate(response: Response): Response {
  const headers = new Headers(response.headers)
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}
