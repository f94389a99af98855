import { ConfigurationError, type Duration, isTokenError, type TokenManager } from 'tokenlib'
import { isOutage } from 'tokenlib/errors'
import {
  assertPath,
  createRoute,
  createRouter,
  hasNestedDuplicates,
  MAX_BODY_BYTES,
  type MountableRoutes,
  parseBodyText,
  parseDuration,
  readJsonObject,
  RefusedRequest,
  toErrorAnswer,
  readInternals,
} from 'tokenlib/kit'
import { invalidRequest } from '../oauth-error.js'

/** What receivers use of a manager. */
export type ReceiverTokens = Pick<TokenManager, 'revoke'>

/** How a receiver answers. */
export interface ReceiverParts {
  readonly path: string
  /** The response to a request that is accepted. Throws `RefusedRequest` or an error of a token for others. */
  readonly answer: (request: Request) => Promise<Response>
  /** A token error as a refusal: what the receiver's specification calls it. */
  readonly toRefusal: (error: { readonly code: string; readonly message: string }) => RefusedRequest
  /** The body of a refusal. */
  readonly toBody: (refusal: RefusedRequest) => object
}

/** A route for `POST` at one path, which answers refusals itself. What an application's function throws is thrown on. */
export function createReceiver({ path, answer, toRefusal, toBody }: ReceiverParts): MountableRoutes {
  const refuse = (error: unknown): unknown => {
    if (isOutage(error)) return toUnavailable(error)
    return isTokenError(error) ? toRefusal(error) : error
  }
  const routes = { '': createRoute({ POST: answer }, (error) => toErrorAnswer(refuse(error), toBody)) }
  return createRouter({ path, routes, isPathShared: true })
}

// Whether the request is valid, or whether its revocation was stored, is not known: the sender has to repeat it
// (RFC 9110 §15.6.4). A 400 would tell it not to.
function toUnavailable({ message }: Error): RefusedRequest {
  return new RefusedRequest(503, 'temporarily_unavailable', message, { 'retry-after': '5' })
}

/** What is expected of every JWT that a receiver accepts, besides what its own specification says. */
export const JWT_LIMITS: { readonly maxLength: number; readonly leeway: number } = {
  maxLength: MAX_BODY_BYTES,
  // A sender whose clock is a little ahead gets a 400 otherwise, and does not repeat the logout.
  leeway: 60,
}

/** The body of a request as text, or `RefusedRequest`. */
export async function parseText(request: Request, mediaType: string): Promise<string> {
  try {
    return await parseBodyText(request, mediaType)
  } catch (error) {
    // The specifications of these endpoints do not tell this from other malformed requests.
    if (error instanceof RefusedRequest && error.status === 415) throw invalidRequest(error.message)
    throw error
  }
}

/** The one value of a field of a URL-encoded form, or `RefusedRequest`. Other fields are ignored. */
export async function parseFormField(request: Request, name: string): Promise<string> {
  const text = await parseText(request, 'application/x-www-form-urlencoded')
  const [value = '', ...others] = new URLSearchParams(text).getAll(name)
  if (others.length > 0) throw invalidRequest(`${name} occurs more than once`)
  if (value === '') throw invalidRequest(`${name} is missing`)
  return value
}

/** The JSON object of a body, or `RefusedRequest`, also for a member that occurs twice. */
export async function parseJsonBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const text = await parseText(request, 'application/json')
  const value = readJsonObject(text)
  if (value === null) throw invalidRequest('The body must be a JSON object')
  // Another parser on the way may have kept the first of the two.
  if (hasNestedDuplicates(text)) throw invalidRequest('The body has a member twice')
  return value
}

/** Throws for what no receiver can be made with: `TypeError` for options, `ConfigurationError` for the manager. */
export function assertReceiver(owner: string, tokens: ReceiverTokens, given: ReceiverChecks): void {
  const internals = readInternals(tokens)
  if (internals === null) throw new TypeError(`${owner} takes a TokenManager and options`)
  if (internals.store === null) {
    throw new ConfigurationError(`${owner} needs a store: new TokenManager({ config, issuers, store })`)
  }
  // Nobody could send anything: senders sign with the keys of an issuer.
  if (internals.issuers.length === 0)
    throw new ConfigurationError(`${owner} needs issuers: new TokenManager({ issuers })`)
  assertPath(given.path, '/backchannel-logout')
  assertTexts(given.audienceName, given.audience)
  if (given.issuer !== undefined) {
    assertTexts('issuer', given.issuer)
    // Throws for an issuer that the manager does not have: nobody could send anything.
    for (const issuer of [given.issuer].flat()) internals.toSubject(issuer as string, 'sub')
  }
  for (const [name, value] of Object.entries(given.functions)) {
    if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name} must be a function`)
  }
  if (given.everywhere !== undefined && typeof given.everywhere !== 'boolean') {
    throw new TypeError('everywhere must be true or false')
  }
  if (given.everywhere === true && internals.store.replica === undefined) {
    throw new ConfigurationError(
      `everywhere of ${owner} needs a replica: new TokenManager({ store: replicate(store) }). ` +
        'If no process has a replica, leave it out: revocations apply everywhere once they resolve',
    )
  }
  if (parseDuration(given.maxAge) <= 0) throw new TypeError('maxAge must be more than 0 seconds')
}

/** What `assertReceiver` looks at. */
export interface ReceiverChecks {
  readonly path: unknown
  readonly audienceName: string
  readonly audience: unknown
  readonly issuer: unknown
  readonly everywhere: unknown
  readonly maxAge: Duration
  readonly functions: Readonly<Record<string, unknown>>
}

function assertTexts(name: string, value: unknown): void {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (texts.length > 0 && texts.every((text) => typeof text === 'string' && text !== '')) return
  throw new TypeError(`${name} must be a non-empty string, or a list of them`)
}
