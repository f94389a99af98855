import { ConfigurationError, type Duration, isTokenError } from 'tokenlib'
import { isOutage } from 'tokenlib/errors'
import {
  callable,
  createRoute,
  createRouter,
  duration,
  flag,
  hasNestedDuplicates,
  type IssuedJwtOptions,
  type Kind,
  listOf,
  MAX_BODY_BYTES,
  type MountableRoutes,
  oneOrMore,
  type OptionKinds,
  parseBodyText,
  parseOptions,
  readInternals,
  readJsonObject,
  recordOf,
  RefusedRequest,
  routePath,
  text,
  toErrorAnswer,
} from 'tokenlib/kit'
import { invalidRequest } from '../oauth-error.js'
import type { ReceiverTokens, UidFinder } from './revoke-subject.js'
import type { SubjectFinder, SubjectIssuers } from './subject-identifiers.js'

/** The options that every receiver has. */
export interface ReceiverOptions {
  /** Where the route is. Default `/backchannel-logout`, `/security-events` or `/global-token-revocation`. */
  readonly path?: string
  /** The issuers that may send. Default: every issuer of the manager. */
  readonly issuer?: string | readonly string[]
  /** How old a JWT may be. Default `1h`; `7d` for security events, which a transmitter may deliver late. */
  readonly maxAge?: Duration
  /** Answer once no process accepts the tokens any more; needs a replica. Default `false`. */
  readonly everywhere?: boolean
  /** The user of the application's own tokens, who is signed out as well. */
  readonly toUid?: UidFinder
}

/** The options of receivers whose senders name users by a subject identifier. */
export interface SubjectOptions {
  /** For a sender, the issuers whose users it may name in addition to its own. */
  readonly subjectIssuers?: SubjectIssuers
  /** Finds the `sub` of a user by an email address and the like. */
  readonly toSubject?: SubjectFinder
}

/** What `ReceiverOptions` accept. */
export const RECEIVER_OPTIONS: OptionKinds<ReceiverOptions> = {
  path: routePath,
  issuer: oneOrMore(text),
  maxAge: duration('a duration above zero', (seconds) => seconds > 0),
  everywhere: flag,
  toUid: callable(),
}

/** What `SubjectOptions` accept. */
export const SUBJECT_OPTIONS: OptionKinds<SubjectOptions> = {
  subjectIssuers: recordOf(listOf(text, 0)),
  toSubject: callable(),
}

/** The checked options of a receiver. Throws `ConfigurationError` if the manager lacks a store, issuers or a replica. */
export function parseReceiver<Options extends ReceiverOptions & SubjectOptions>(
  owner: string,
  tokens: ReceiverTokens,
  given: Options,
  kinds: { readonly [Name in keyof Options]-?: Kind<unknown> },
  meant: Readonly<Record<string, string>>,
): Options {
  const options = parseOptions(owner, given, kinds, { uid: 'toUid', ...meant })
  const { issuer = [], subjectIssuers = {}, everywhere } = options
  const internals = readInternals(tokens)
  if (internals === null) throw new TypeError(`${owner} takes a TokenManager and options`)
  if (internals.store === null) {
    throw new ConfigurationError(`${owner} needs a store: new TokenManager({ config, issuers, store })`)
  }
  // Nobody could send anything: senders sign with the keys of an issuer.
  if (internals.issuers.length === 0)
    throw new ConfigurationError(`${owner} needs issuers: new TokenManager({ issuers })`)
  if (everywhere === true && internals.store.replica === undefined) {
    throw new ConfigurationError(
      `everywhere of ${owner} needs a replica: new TokenManager({ store: replicate(store) }). ` +
        'If no process has a replica, leave it out: revocations apply everywhere once they resolve',
    )
  }
  // Throws for an issuer that the manager does not have: a spelling mistake would leave its users signed in.
  for (const name of [issuer, Object.entries(subjectIssuers)].flat(3)) internals.toSubject(name, 'sub')
  return options
}

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
export function toExpected(
  { issuer }: ReceiverOptions,
  maxAge: Duration,
): Pick<IssuedJwtOptions, 'maxLength' | 'leeway' | 'maxAge' | 'issuer'> {
  return {
    maxLength: MAX_BODY_BYTES,
    // A sender whose clock is a little ahead gets a 400 otherwise, and does not repeat the logout.
    leeway: 60,
    maxAge,
    ...(issuer !== undefined && { issuer }),
  }
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
  const form = await parseText(request, 'application/x-www-form-urlencoded')
  const [value = '', ...others] = new URLSearchParams(form).getAll(name)
  if (others.length > 0) throw invalidRequest(`${name} occurs more than once`)
  if (value === '') throw invalidRequest(`${name} is missing`)
  return value
}

/** The JSON object of a body, or `RefusedRequest`, also for a member that occurs twice. */
export async function parseJsonBody(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const body = await parseText(request, 'application/json')
  const value = readJsonObject(body)
  if (value === null) throw invalidRequest('The body must be a JSON object')
  // Another parser on the way may have kept the first of the two.
  if (hasNestedDuplicates(body)) throw invalidRequest('The body has a member twice')
  return value
}
