import type { StandardClaims, TokenPayload, TokenType } from '../claims/payload.js'
import { AccessTokenRequiredError, RefreshTokenRequiredError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { isPromise, settleQuietly, toRejection } from '../promises.js'
import { assertCsrf } from '../request/csrf.js'
import type { PerType, ReadingRules } from '../request/locations.js'
import { readNote, writeNote } from '../request/notes.js'
import { missingToken, readToken, type TokenPlace, toPlaces } from '../request/read-token.js'
import type { RequestToken, TokenLocation } from '../request/request-token.js'
import type { RequestView } from '../request/view.js'
import type { Blocklist } from '../revocation/blocklist.js'
import { assertNotRevoked, type RevocationSources } from '../revocation/check.js'
import type { StoreConnection } from '../sessions/token-store.js'
import type { Clock } from '../time.js'
import { reportRejection } from './report-rejection.js'
import { assertFresh, assertScopes, assertType, type TokenPolicy } from './policy.js'
import type { Settings } from './settings.js'
import type { TokenVerifier, VerifiedToken } from './verified-tokens.js'

/** What every check of one manager works with. */
export interface Authenticator {
  readonly settings: Settings
  readonly verifier: TokenVerifier
  readonly blocklist: Blocklist
  readonly store: StoreConnection | null
  readonly now: Clock
  readonly emit: TokenEmitter['emit']
}

/** The request a token came in, and what was found there. */
export interface TokenOrigin {
  readonly view: RequestView
  readonly found: RequestToken
}

/** A policy, with what only this library asks for. */
export interface InternalPolicy extends TokenPolicy {
  /**
   * The rotation of a refresh token that follows the check and presents the token to its session. Its outcome counts
   * for the other dependencies of the request: to present a token that the same request has just used would be a reuse.
   */
  readonly rotation?: Promise<void>
}

/** A policy, and the places where it looks for a token. */
export interface Guard {
  readonly policy: InternalPolicy
  readonly places: readonly TokenPlace[]
}

/** What is done once for a policy, so that no request has to. */
export function createGuard(policy: InternalPolicy, { reading }: Settings): Guard {
  return { policy, places: toPlaces(wantedTypes(policy), wantedLocations(policy, reading.locations)) }
}

/** The payload of the token in a request, checked, or `null` for none where the policy allows that. */
export function createCheck(
  authenticator: Authenticator,
  policy: TokenPolicy,
): (view: RequestView) => TokenPayload | null | Promise<TokenPayload | null> {
  const guard = createGuard(policy, authenticator.settings)
  return (view) => {
    const verified = authenticate(authenticator, view, guard)
    return isPromise(verified) ? verified.then(toPayload) : toPayload(verified)
  }
}

function toPayload(verified: VerifiedToken | null): TokenPayload | null {
  return verified && verified.payload
}

/**
 * The token in a request, checked, or `null` for none where the policy allows that.
 *
 * At once, like each of its steps, unless a body, a store or a callback must be waited for.
 */
export function authenticate(
  authenticator: Authenticator,
  view: RequestView,
  guard: Guard,
): VerifiedToken | null | Promise<VerifiedToken | null> {
  const found = findToken(authenticator, view, guard)
  return isPromise(found)
    ? found.then((later) => checkFound(authenticator, view, guard, later))
    : checkFound(authenticator, view, guard, found)
}

function checkFound(
  authenticator: Authenticator,
  view: RequestView,
  { policy }: Guard,
  found: RequestToken | null,
): VerifiedToken | null | Promise<VerifiedToken> {
  return found && authenticateToken(authenticator, found.token, policy, { view, found })
}

/** A token that satisfies the policy; every entry point ends here. Each step trusts those above. */
export function authenticateToken(
  authenticator: Authenticator,
  token: string,
  policy: InternalPolicy,
  origin: TokenOrigin | null,
): VerifiedToken | Promise<VerifiedToken> {
  let verified: VerifiedToken | null = null
  try {
    const now = authenticator.now()
    const genuine = (verified = authenticator.verifier.verify(token, now))
    const { payload } = genuine
    const grant = (): void | Promise<void> => {
      assertFresh(payload, policy, now)
      assertScopes(payload, policy)
      return policy.skipRevocation === true
        ? undefined
        : askOnce(authenticator, token, genuine, policy, origin)
    }
    assertType(payload, policy)
    const pending = origin && assertOrigin(origin, payload, policy, authenticator.settings.reading)
    const answer = isPromise(pending) ? pending.then(grant) : grant()
    return answer === undefined ? genuine : afterAnswer(authenticator, answer, genuine)
  } catch (error) {
    reportRejection(authenticator, error, verified?.claims)
    throw error
  }
}

async function afterAnswer(
  authenticator: Authenticator,
  answer: Promise<void>,
  verified: VerifiedToken,
): Promise<VerifiedToken> {
  try {
    await answer
    return verified
  } catch (error) {
    reportRejection(authenticator, error, verified.claims)
    throw error
  }
}

function findToken(
  authenticator: Authenticator,
  view: RequestView,
  guard: Guard,
): RequestToken | null | Promise<RequestToken | null> {
  const { reading } = authenticator.settings
  try {
    const found = readToken(view, guard.places, reading)
    return isPromise(found) ? awaitToken(authenticator, found, guard) : assertFound(found, guard, reading)
  } catch (error) {
    reportRejection(authenticator, error)
    throw error
  }
}

async function awaitToken(
  authenticator: Authenticator,
  pending: Promise<RequestToken | null>,
  guard: Guard,
): Promise<RequestToken | null> {
  try {
    return assertFound(await pending, guard, authenticator.settings.reading)
  } catch (error) {
    reportRejection(authenticator, error)
    throw error
  }
}

function assertFound(
  found: RequestToken | null,
  { policy, places }: Guard,
  reading: ReadingRules,
): RequestToken | null {
  if (found === null && policy.optional !== true) throw missingToken(places, reading)
  return found
}

function assertOrigin(
  { view, found }: TokenOrigin,
  claims: StandardClaims,
  policy: TokenPolicy,
  reading: ReadingRules,
): void | Promise<void> {
  if (policy.type === 'any') assertPlace(claims.type, found, wantedLocations(policy, reading.locations))
  return policy.csrf === false ? undefined : assertCsrf(view, found, claims, reading)
}

// Several policies on one route ask once: the second finds the answer to the first, or its refusal.
function askOnce(
  authenticator: Authenticator,
  token: string,
  verified: VerifiedToken,
  policy: InternalPolicy,
  origin: TokenOrigin | null,
): void | Promise<void> {
  const { settings, blocklist, store } = authenticator
  const isRevoked = blocklist.callback
  if (isRevoked === null && store === null) return undefined
  const known = origin ? (readNote(origin.view, authenticator) as Answered | undefined) : undefined
  for (let one = known; one !== undefined; one = one.before) if (one.token === token) return one.answer
  const sources = { store, isRevoked, timeoutMs: settings.revocationTimeoutMs }
  const unrevoked = ask(token, verified, origin, sources)
  const answer = presentToken(unrevoked, verified, policy, origin, store)
  // A store that answers at once may as well be asked again.
  if (origin !== null && (isRevoked !== null || answer !== undefined)) {
    writeNote(origin.view, authenticator, { token, answer, before: known })
  }
  return policy.rotation === undefined ? answer : unrevoked
}

function ask(
  token: string,
  verified: VerifiedToken,
  origin: TokenOrigin | null,
  sources: RevocationSources,
): void | Promise<void> {
  try {
    return assertNotRevoked(token, verified, origin?.found.location ?? null, sources)
  } catch (error) {
    return toRejection(error)
  }
}

// A refresh token that was used before is refused wherever it comes, and ends its session (RFC 9700 §4.14.2).
function presentToken(
  unrevoked: void | Promise<void>,
  verified: VerifiedToken,
  { rotation }: InternalPolicy,
  origin: TokenOrigin | null,
  store: StoreConnection | null,
): void | Promise<void> {
  if (rotation !== undefined) return settleQuietly(afterwards(unrevoked, () => rotation))
  const sessions = store?.sessions
  if (!sessions || verified.payload.type !== 'refresh') return unrevoked
  const client = origin === null ? {} : { request: origin.view }
  return afterwards(unrevoked, () => sessions.assertCurrent(verified, client))
}

async function afterwards(first: void | Promise<void>, next: () => Promise<void>): Promise<void> {
  await first
  await next()
}

/** What was answered about a token of a request. */
interface Answered {
  readonly token: string
  readonly answer: void | Promise<void>
  /** About another token of it. */
  readonly before: Answered | undefined
}

// Where either type will do, a token must still be where its own type is looked for.
function assertPlace(
  type: TokenType,
  found: RequestToken,
  locations: PerType<readonly TokenLocation[]>,
): void {
  const isNamed = found.location === 'cookies' || found.location === 'json'
  const isInPlace = isNamed ? found.type === type : locations[type].includes(found.location)
  if (isInPlace) return
  throw type === 'refresh' ? new AccessTokenRequiredError(type) : new RefreshTokenRequiredError(type)
}

function wantedTypes({ type = 'access' }: TokenPolicy): readonly TokenType[] {
  return type === 'any' ? ['access', 'refresh'] : [type]
}

/** The locations a policy looks in: its own, or the configured ones. */
export function wantedLocations(
  { locations }: Pick<TokenPolicy, 'locations'>,
  configured: PerType<readonly TokenLocation[]>,
): PerType<readonly TokenLocation[]> {
  if (locations === undefined) return configured
  const list = [locations].flat()
  return { access: list, refresh: list }
}
