import { isTokenError, type InsufficientScopeError, type TokenError, type TokenErrorCode } from '../errors.js'
import { tokenConfig, type TokenConfig } from '../config/config.js'
import {
  assertOptions,
  callable,
  kindOf,
  type OptionKinds,
  orNull,
  parseOptions,
  textLike,
} from '../options.js'
import { emitWarning, isPromise } from '../runtime.js'

/** How errors become responses. */
export interface ErrorResponseOptions {
  /** The manager's configuration, for its `JWT_ERROR_MESSAGE_KEY` and `JWT_HEADER_TYPE`. */
  readonly config?: TokenConfig
  /** The protection space named in the challenge, in printable ASCII. Default `api`. */
  readonly realm?: string
  /** Where the metadata of the protected resource is (RFC 9728); the challenge tells clients. An https URL. */
  readonly resourceMetadata?: string
  /** Texts of your own, by error code. */
  readonly messages?: { readonly [Code in TokenErrorCode]?: string }
  /** The JSON body; `tokens.formatError`, for example. */
  readonly formatError?: FormatError | null
}

/** An HTTP response that every framework can send. */
export interface ErrorResponse {
  readonly status: 401 | 403 | 409 | 503
  readonly headers: Readonly<Record<string, string>>
  readonly body: ErrorBody
}

/** The RFC 6750 response to an error: status, challenge, and `{ message, error_type, code }`. */
export function toErrorResponse(error: TokenError, options: ErrorResponseOptions = {}): ErrorResponse {
  assertErrorOptions(options, 'toErrorResponse()')
  const { code } = error
  // A newer copy of this package may throw a code that this one has never heard of.
  const answer = Object.hasOwn(ANSWERS, code) ? ANSWERS[code as TokenErrorCode] : INVALID_TOKEN
  const { status } = answer
  const message = options.messages?.[code as TokenErrorCode] ?? error.message
  const key = options.config?.JWT_ERROR_MESSAGE_KEY ?? 'message'
  const body = { [key]: message, error_type: error.name, code }
  return {
    status,
    headers: { 'cache-control': 'no-store', ...createHeaders(answer, error, message, options) },
    body: formatBody(options.formatError, { status, code, message, body, error }),
  }
}

/** The same as a Fetch `Response`, for the frameworks that answer with one. */
export function toFetchErrorResponse(error: TokenError, options?: ErrorResponseOptions): Response {
  const { status, headers, body } = toErrorResponse(error, options)
  return Response.json(body, { status, headers })
}

/** What `handleErrors` of an adapter does: answers token errors, and returns `null` for any other error. */
export function createErrorAnswers(options?: ErrorResponseOptions): (error: unknown) => ErrorResponse | null {
  assertErrorOptions(options)
  return (error) => (isTokenError(error) ? toErrorResponse(error, options) : null)
}

/** The same as Fetch responses. */
export function createErrorResponses(options?: ErrorResponseOptions): (error: unknown) => Response | null {
  assertErrorOptions(options)
  return (error) => (isTokenError(error) ? toFetchErrorResponse(error, options) : null)
}

const OPTIONS: OptionKinds<ErrorResponseOptions> = {
  config: tokenConfig,
  realm: textLike('a string of printable ASCII characters', (value) => /^[\x20-\x7e]*$/.test(value)),
  resourceMetadata: textLike('an https URL without a fragment', isEndpointUrl),
  messages: kindOf('an object', () => true),
  formatError: orNull(callable<FormatError>()),
}

/** Throws `TypeError` for options that no answer can be made with; `owner` is what they were given to. */
export function assertErrorOptions(options: ErrorResponseOptions = {}, owner = 'handleErrors()'): void {
  const { messages = {} } = parseOptions(owner, options, OPTIONS)
  assertOptions('messages', messages, ANSWERS)
  for (const [code, message] of Object.entries(messages)) {
    if (message !== undefined && typeof message !== 'string') {
      throw new TypeError(`messages: the text for ${code} must be a string`)
    }
  }
}

interface Answer {
  readonly status: ErrorResponse['status']
  /** The `error` of the challenge; none when the request brought no credentials (RFC 6750 §3.1). */
  readonly error?: string
  /** Whether no other credentials would help, so that the client is not asked for any. */
  readonly isFinal?: true
}

const INVALID_TOKEN: Answer = { status: 401, error: 'invalid_token' }

// Every code is here, or this does not compile.
const ANSWERS: Readonly<Record<TokenErrorCode, Answer>> = {
  TOKEN_MISSING: { status: 401 },
  // The CSRF value is a part of the credentials of a cookie: without it, nobody is authenticated.
  CSRF_MISSING: { status: 401, error: 'invalid_request' },
  CSRF_MISMATCH: { status: 401, error: 'invalid_request' },
  TOKEN_INVALID: INVALID_TOKEN,
  TOKEN_SIGNATURE_INVALID: INVALID_TOKEN,
  TOKEN_EXPIRED: INVALID_TOKEN,
  TOKEN_NOT_YET_VALID: INVALID_TOKEN,
  TOKEN_AUDIENCE_INVALID: INVALID_TOKEN,
  TOKEN_ISSUER_INVALID: INVALID_TOKEN,
  CLAIMS_INVALID: INVALID_TOKEN,
  ACCESS_TOKEN_REQUIRED: INVALID_TOKEN,
  REFRESH_TOKEN_REQUIRED: INVALID_TOKEN,
  // RFC 9449 §7.1: the answer to a bound token that comes with the scheme of a bearer token.
  PROOF_REQUIRED: INVALID_TOKEN,
  PROOF_INVALID: { status: 401, error: 'invalid_dpop_proof' },
  PROOF_REUSED: { status: 401, error: 'invalid_dpop_proof' },
  PROOF_NONCE_REQUIRED: { status: 401, error: 'use_dpop_nonce' },
  TOKEN_REVOKED: INVALID_TOKEN,
  REFRESH_TOKEN_REUSED: INVALID_TOKEN,
  // Not 401: a client must not drop its session because another of its requests was first.
  REFRESH_SUPERSEDED: { status: 409 },
  SESSION_MISMATCH: INVALID_TOKEN,
  SUBJECT_NOT_FOUND: INVALID_TOKEN,
  // RFC 9470 §3: the token is good, but the login behind it is too old.
  FRESH_TOKEN_REQUIRED: { status: 401, error: 'insufficient_user_authentication' },
  INSUFFICIENT_SCOPE: { status: 403, error: 'insufficient_scope' },
  SESSION_LIMIT_REACHED: { status: 403, isFinal: true },
  // Not 401: a client must not throw its session away because a store is down.
  REVOCATION_UNAVAILABLE: { status: 503 },
  KEYS_UNAVAILABLE: { status: 503 },
}

/** The status of the answer to an error. */
export function statusOf(code: TokenErrorCode): number {
  return ANSWERS[code].status
}

function createHeaders(
  { status, isFinal, error: given }: Answer,
  error: TokenError,
  message: string,
  { realm = 'api', resourceMetadata, config }: ErrorResponseOptions,
): Record<string, string> {
  if (status === 503 || status === 409) return { 'retry-after': '1' }
  if (isFinal === true) return {}
  const { dpop } = error
  // RFC 8705 §3: where the proof is a client certificate, it is the token that is invalid.
  const code = given === 'invalid_dpop_proof' && dpop === undefined ? 'invalid_token' : given
  // RFC 9110 §5.6.4: quotes and backslashes are escaped.
  const parameters = [`realm="${realm.replaceAll(/["\\]/g, '\\$&')}"`]
  if (code !== undefined) parameters.push(`error="${code}"`, `error_description="${toPlain(message)}"`)
  const scopes = listScopes(error)
  if (scopes.length > 0) parameters.push(`scope="${scopes.join(' ')}"`)
  // RFC 9728 §5.1
  if (resourceMetadata !== undefined) parameters.push(`resource_metadata="${resourceMetadata}"`)
  const challenge = `${config?.JWT_HEADER_TYPE || 'Bearer'} ${parameters.join(', ')}`
  if (dpop === undefined) return { 'www-authenticate': challenge }
  const algorithms = `algs="${dpop.algorithms.join(' ')}"`
  return {
    // RFC 9449 §7.1 and §7.2: a client that has no key yet is offered both schemes.
    'www-authenticate': dpop.isOnlyScheme
      ? `DPoP ${[...parameters, algorithms].join(', ')}`
      : `${challenge}, DPoP ${algorithms}`,
    ...(dpop.nonce !== null && { 'dpop-nonce': dpop.nonce }),
  }
}

type ScopeError = Partial<Pick<InsufficientScopeError, 'required' | 'anyOf'>>

// RFC 6749 §3.3: what the attribute can carry. Another spelling of a scope would be another scope.
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

// RFC 6750 §3: the scopes that give access. The attribute has no word for "one of": a token with all of them passes.
function listScopes(error: TokenError): readonly string[] {
  // An error of an older copy of this package has no `anyOf`.
  const { required = [], anyOf = [] } = error.code === 'INSUFFICIENT_SCOPE' ? (error as ScopeError) : {}
  const scopes = new Set([...required, ...anyOf, ...(error.routeScopes ?? [])])
  return [...scopes].filter((scope) => SCOPE_TOKEN.test(scope))
}

// RFC 6750 §3: this value has no quotes, backslashes, controls or non-ASCII characters.
function toPlain(message: string): string {
  return message.replaceAll('"', "'").replaceAll(/[^\x20-\x7e]|\\/g, '?')
}

/** What `formatError` gets. */
export interface RefusalDetails {
  /** The status of the response. */
  readonly status: number
  /** The code for programs, from the error or the session routes. */
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

// RFC 3986 §2: what is left out has to be percent-encoded, quotes and backslashes among them.
const URI = /^[\w.~:/?[\]@!$&'()*+,;=%-]+$/
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/**
 * Whether a value is the URL of an endpoint that clients are told of: `https`, or `http` on this machine, without user
 * information and fragment.
 */
export function isEndpointUrl(value: unknown): value is string {
  if (typeof value !== 'string' || !URI.test(value) || !URL.canParse(value)) return false
  const { protocol, hostname, username, password } = new URL(value)
  const isSecure = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname))
  return isSecure && username === '' && password === ''
}

/** Whether a value is an identifier (RFC 8414 §2, RFC 9728 §1.2): such a URL, without a query too. */
export function isIdentifierUrl(value: unknown): value is string {
  return isEndpointUrl(value) && !value.includes('?')
}
