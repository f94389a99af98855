import { ConfigurationError, type Duration, isTokenError, type TokenManager } from 'tokenlib'
import { assertPath, type MountableRoutes, parseDuration } from 'tokenlib/kit'

/** What receivers use of a manager. */
export type ReceiverTokens = Pick<
  TokenManager,
  | 'keepsRevocations'
  | 'hasReplica'
  | 'issuers'
  | 'verifyIssuedJwt'
  | 'toSubject'
  | 'revokeToken'
  | 'revokeSession'
  | 'revokeUser'
>

/** Thrown inside of receivers for a request that is refused; never leaves them. */
export class RefusedEvent extends Error {
  readonly status: number
  /** The error code of the receiver's specification. */
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** How a receiver answers. */
export interface ReceiverParts {
  readonly path: string
  /** The response to a request that is accepted. Throws `RefusedEvent` or an error of a token for others. */
  readonly answer: (request: Request) => Promise<Response>
  /** The same error as a refusal: what the receiver's specification calls it. */
  readonly toRefusal: (error: { readonly code: string; readonly message: string }) => RefusedEvent
  /** The body of a refusal. */
  readonly toBody: (refusal: RefusedEvent) => object
}

/** A route for `POST` at one path, which answers refusals itself. What an application's function throws is thrown on. */
export function createReceiver({ path, answer, toRefusal, toBody }: ReceiverParts): MountableRoutes {
  const refuse = (refusal: RefusedEvent): Response =>
    Response.json(toBody(refusal), {
      status: refusal.status,
      headers: { 'cache-control': 'no-store', ...refusal.headers },
    })
  return Object.freeze({
    path,
    paths: Object.freeze([path]),
    async handle(request: Request): Promise<Response | null> {
      // No browser sends these requests: pre-flights are not answered here.
      if (new URL(request.url).pathname !== path || request.method === 'OPTIONS') return null
      if (request.method !== 'POST') {
        return refuse(new RefusedEvent(405, 'invalid_request', 'The method must be POST', { allow: 'POST' }))
      }
      try {
        return await answer(request)
      } catch (error) {
        if (error instanceof RefusedEvent) return refuse(error)
        if (!isTokenError(error)) throw error
        return refuse(readUnavailable(error) ?? toRefusal(error))
      }
    },
  })
}

const UNAVAILABLE: ReadonlySet<string> = new Set(['KEYS_UNAVAILABLE', 'REVOCATION_UNAVAILABLE'])

// Whether the request is valid, or whether its revocation was stored, is not known: the sender has to repeat it
// (RFC 9110 §15.6.4). A 400 would tell it not to.
function readUnavailable({ code, message }: { code: string; message: string }): RefusedEvent | null {
  if (!UNAVAILABLE.has(code)) return null
  return new RefusedEvent(503, 'temporarily_unavailable', message, { 'retry-after': '5' })
}

/** An empty response that is not cached. */
export function createAccepted(status: 200 | 202 | 204): Response {
  return new Response(null, { status, headers: { 'cache-control': 'no-store' } })
}

/** Throws for what no receiver can be made with: `TypeError` for options, `ConfigurationError` for the manager. */
export function assertReceiver(owner: string, tokens: ReceiverTokens, given: ReceiverChecks): void {
  if (typeof tokens?.verifyIssuedJwt !== 'function') {
    throw new TypeError(`${owner} takes a TokenManager and options`)
  }
  if (!tokens.keepsRevocations) {
    throw new ConfigurationError(
      `${owner} needs a store: new TokenManager({ config, issuers, revocation: store })`,
    )
  }
  // Nobody could send anything: senders sign with the keys of an issuer.
  if (tokens.issuers.length === 0)
    throw new ConfigurationError(`${owner} needs issuers: new TokenManager({ issuers })`)
  assertPath(given.path, '/backchannel-logout')
  assertTexts(given.audienceName, given.audience)
  if (given.issuer !== undefined) {
    assertTexts('issuer', given.issuer)
    // Throws for an issuer that the manager does not have: nobody could send anything.
    for (const issuer of [given.issuer].flat()) tokens.toSubject(issuer as string, 'sub')
  }
  for (const [name, value] of Object.entries(given.functions)) {
    if (value !== undefined && typeof value !== 'function') throw new TypeError(`${name} must be a function`)
  }
  if (given.everywhere !== undefined && typeof given.everywhere !== 'boolean') {
    throw new TypeError('everywhere must be true or false')
  }
  if (given.everywhere === true && !tokens.hasReplica) {
    throw new ConfigurationError(
      `everywhere of ${owner} needs a replica: new TokenManager({ revocation: replicate(store) }). ` +
        'Where no process has a replica, a revocation holds everywhere without it',
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
