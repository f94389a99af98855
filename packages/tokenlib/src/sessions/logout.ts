import { CsrfError, isOutage, isTokenError } from '../errors.js'
import { assertClaims, type StandardClaims, type TokenPayload, type TokenType } from '../tokens/payload.js'
import { readCookieValues } from '../http/credentials.js'
import { assertCsrf, isFromOrigin } from '../http/csrf.js'
import { readCookieHeader, type ReadingRules, readToken, RequestToken } from '../http/read-token.js'
import { type RequestSource, toRequestView } from '../http/request-source.js'
import type { RequestView } from '../http/view.js'
import { type Authenticator, reportingRejection, reportRejection } from '../requests/authenticate.js'
import { observeCheck } from '../requests/observe-check.js'
import type { VerifiedToken } from '../requests/verified-tokens.js'
import {
  type Acknowledgement,
  assertPayload,
  isOwnIssuer,
  type LogoutPayload,
  revokeSessions,
  revokeToken,
  toIssuers,
} from './revoke.js'
import { type AskedRevocation, type RevokeOptions, runRevocation } from './run-revocation.js'

/** Ends sessions. */
export interface Logout {
  /**
   * Ends the session of every genuine token in a request, expired or not. Returns the claims of the first one, or `null`
   * if there was nothing to end. Rejects for a cookie without its CSRF value, for a request from another site, and if the
   * store is unavailable. In every other case you can delete the cookies.
   */
  (request: RequestSource, options?: RevokeOptions): Promise<StandardClaims | null>
  /** Ends the session of a token and so revokes all of its tokens. Without a session, revokes the token itself. */
  (payload: LogoutPayload, options?: RevokeOptions): Promise<Acknowledgement>
}

/** `tokens.logout` of a manager. */
export function createLogout(authenticator: Authenticator): Logout {
  const { settings, observers } = authenticator
  const logOutRequest = (request: RequestSource, options: RevokeOptions): Promise<StandardClaims | null> =>
    runRevocation(authenticator, 'logout', { options, request }, async (asked) => {
      const view = toRequestView(request)
      return observeCheck(observers, {
        kind: 'logout',
        run: () => endSessions(asked, view),
        readSubject: ({ sub }) => sub,
      })
    })
  const logOutPayload = (payload: LogoutPayload, options: RevokeOptions): Promise<Acknowledgement> =>
    runRevocation(authenticator, 'logout', { options }, async (asked) => {
      assertPayload('logout() takes a request or', payload)
      return endSession(asked, payload, toIssuers(settings.sources, asked.issuer, payload))
    })
  return ((source: RequestSource | LogoutPayload, options: RevokeOptions = {}) =>
    isPayload(source) ? logOutPayload(source, options) : logOutRequest(source, options)) as Logout
}

// Ends the session of a token, or revokes the token itself if it belongs to none.
async function endSession(
  asked: AskedRevocation,
  payload: LogoutPayload,
  issuers: readonly (string | null)[],
): Promise<Acknowledgement> {
  const { sid = null, sub = null, jti = null } = payload
  const acknowledgement = await (sid === null
    ? revokeToken(asked, payload, issuers)
    : revokeSessions(asked, [sid], sub, issuers))
  asked.authenticator.emit('loggedOut', () => ({ sub, sid, jti, ...asked.origin }))
  return acknowledgement
}

// Recognised by what only a request has: a payload may have claims of any name, including `headers`, and other middleware
// may have put an unverified `sid` on a request.
function isPayload(source: RequestSource | LogoutPayload): source is LogoutPayload {
  // Neither a request nor a payload: rejected below as an invalid payload.
  if (typeof source !== 'object' || source === null) return true
  if (!('headers' in source || 'header' in source)) return true
  const { header, headers, method, url } = source as Partial<RequestView & Pick<Request, 'headers'>>
  // JSON has no functions.
  const { get } = (headers ?? {}) as Partial<Headers>
  if (typeof header === 'function' || typeof get === 'function') return false
  // What a dependency returns is frozen, and a request never is.
  if (!Object.isFrozen(source) && typeof method === 'string' && typeof url === 'string') return false
  const { jti, sid, sub } = source as LogoutPayload
  return [jti, sid, sub].some((claim) => typeof claim === 'string')
}

/**
 * Ends the session of every genuine token in a request, even if it is expired or revoked.
 *
 * A logout must work with an expired access token, with only the refresh token, next to invalid tokens, and a second time.
 * It only removes access, so it checks just two things: that a token is ours, or from an issuer for this application, and
 * that the request comes from the application itself.
 */
async function endSessions(asked: AskedRevocation, view: RequestView): Promise<TokenPayload | null> {
  const { authenticator } = asked
  const { reading } = authenticator.settings
  const client = { request: view }
  const found = [
    ...(await findTokens(view, 'access', reading)),
    ...(await findTokens(view, 'refresh', reading)),
  ]
  const lookups = new Set<string>()
  const opened = await Promise.allSettled(found.map((token) => openToken(authenticator, token, lookups)))
  const genuine = opened.flatMap((answer) => (answer.status === 'fulfilled' ? (answer.value ?? []) : []))
  await reportingRejection(authenticator, { claims: genuine[0]?.claims, client }, () =>
    assertOwnRequest(view, genuine, reading),
  )
  const sessions = new Map(genuine.map((token) => [token.session, token]))
  for (const { claims, issuer } of sessions.values()) await endSession(asked, claims, [issuer])
  // Only after the others are logged out: missing keys of one issuer must not keep sessions of another alive.
  const failed = opened.find((answer) => answer.status === 'rejected')
  if (failed !== undefined) {
    reportRejection(authenticator, failed.reason, { client })
    throw failed.reason as Error
  }
  return genuine[0]?.claims ?? null
}

interface GenuineToken {
  readonly found: RequestToken
  readonly claims: TokenPayload
  /** `null` for our own tokens. */
  readonly issuer: string | null
  /** Identifies the session, or the token if it has no session, uniquely across issuers. */
  readonly session: string
}

// Another host may have set cookies of the same name. Try those too, up to a limit.
const MAX_COOKIE_VALUES = 8

// Searches every place; a token that cannot be read in one place does not hide a token in another.
async function findTokens(
  view: RequestView,
  type: TokenType,
  reading: ReadingRules,
): Promise<readonly RequestToken[]> {
  const found: (RequestToken | null)[] = []
  for (const location of reading.locations[type]) {
    try {
      if (location === 'cookies') found.push(...readCookies(view, type, reading))
      else found.push(await readToken(view, [{ type, location }], reading))
    } catch (error) {
      if (!isRefusal(error)) throw error
    }
  }
  return found.filter((token) => token !== null)
}

function readCookies(view: RequestView, type: TokenType, reading: ReadingRules): readonly RequestToken[] {
  const values = readCookieValues(readCookieHeader(view, reading), reading.cookieName[type])
  const csrf = view.header(reading.csrf.headerName.toLowerCase())
  return values
    .slice(0, MAX_COOKIE_VALUES)
    .map((value) => new RequestToken(reading.toCanonical(value), type, 'cookies', csrf))
}

/** The claims of a genuine token, expired or not, or `null`: enough to remove its access. */
export async function readRevocableClaims(
  authenticator: Authenticator,
  text: string,
): Promise<TokenPayload | null> {
  const { sources, reading } = authenticator.settings
  const opened = await openGenuine(authenticator, reading.toCanonical(text))
  const iss = opened?.claims.iss
  // A token of ours with an `iss` that is not accepted has no access to remove.
  const isKnown = iss === undefined || sources.issuers.has(iss) || isOwnIssuer(sources, iss)
  return isKnown ? (opened?.claims ?? null) : null
}

async function openToken(
  authenticator: Authenticator,
  found: RequestToken,
  lookups: Set<string>,
): Promise<GenuineToken | null> {
  // A header or query has one place for both types; cookies and bodies have a name for each.
  const isNamed = found.location === 'cookies' || found.location === 'json'
  // Opaque tokens are access tokens: under the other name, there is nothing to ask about.
  if (isNamed && found.type === 'refresh' && authenticator.verifier.findOpaque(found.token) !== null)
    return null
  const opened = await openGenuine(authenticator, found.token, lookups)
  if (opened === null) return null
  const { claims, source } = opened
  if (isNamed && claims.type !== found.type) return null
  const { issuer } = source
  const { sid, jti } = claims
  return { found, claims, issuer, session: JSON.stringify([issuer, sid ?? null, sid === undefined && jti]) }
}

async function openGenuine(
  { verifier, now }: Authenticator,
  token: string,
  lookups?: Set<string>,
): Promise<VerifiedToken | null> {
  try {
    const loaded = await verifier.loadForCertain(token, now(), lookups)
    const opened = verifier.open(token, now(), loaded)
    const { claims, source } = opened
    // Ignore tokens that an issuer made for another application. Nothing else matters here: even a token that is not valid
    // yet would be accepted later.
    const rules = { ...source.rules, leeway: Infinity, maxAge: null, requiredClaims: [] }
    if (source.issuer !== null) assertClaims(claims, rules, now() / 1000)
    return opened
  } catch (error) {
    if (isRefusal(error)) return null
    throw error
  }
}

// A page of another site cannot send us a header, a JSON body or a CSRF value. It can send a query, and the browser adds
// cookies. So every cookie token needs its CSRF value, whatever the method, unless another token of its session has it.
async function assertOwnRequest(
  view: RequestView,
  genuine: readonly GenuineToken[],
  reading: ReadingRules,
): Promise<void> {
  if (genuine.every(({ found }) => found.location === 'query')) assertNotCrossSite(view, reading)
  const proved = new Set<string>()
  const refused: { readonly session: string | null; readonly error: unknown }[] = []
  for (const { found, claims, session } of genuine.filter((token) => token.found.location === 'cookies')) {
    try {
      await assertCsrf(toUnsafe(view), found, claims, reading)
      proved.add(session)
    } catch (error) {
      refused.push({ session: claims.sid === undefined ? null : session, error })
    }
  }
  for (const { session, error } of refused) {
    if (session === null || !proved.has(session)) throw error as Error
  }
}

// The response to a request without tokens deletes cookies, and another site may have started that request (Fetch §2.2.2:
// no page can change these headers).
function assertNotCrossSite(view: RequestView, { locations, csrf }: ReadingRules): void {
  const usesCookies = locations.access.includes('cookies') || locations.refresh.includes('cookies')
  if (!usesCookies || !csrf.protect) return
  const site = view.header('sec-fetch-site')
  const isBrowser = site !== null || view.header('origin') !== null
  const isOwn = csrf.origins.length > 0 ? isFromOrigin(view, csrf.origins) : site !== 'cross-site'
  if (isBrowser && !isOwn) throw new CsrfError('The request comes from another origin')
}

// A logout changes something, even by GET: an empty method always needs a CSRF value.
function toUnsafe(view: RequestView): RequestView {
  return { method: '', url: view.url, header: (name) => view.header(name), body: () => view.body() }
}

// By its code: an issuer may come from another copy of this package.
function isRefusal(error: unknown): boolean {
  return isTokenError(error) && !isOutage(error)
}
