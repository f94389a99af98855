import type { TokenPayload, TokenType } from '../claims/payload.js'
import { AccessTokenRequiredError, RefreshTokenRequiredError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { assertCsrf } from '../request/csrf.js'
import type { PerType, ReadingRules } from '../request/locations.js'
import { missingToken, readToken } from '../request/read-token.js'
import type { RequestToken, TokenLocation } from '../request/request-token.js'
import type { RequestView } from '../request/view.js'
import type { Blocklist } from '../revocation/blocklist.js'
import { assertNotRevoked, type RevocableToken } from '../revocation/check.js'
import { addTime, FOREVER } from '../revocation/revocation.js'
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
  /** What was asked about the tokens of a request: several policies on one route ask once. */
  readonly revocationChecks: WeakMap<RequestView, Map<string, Promise<void>>>
}

/** The request a token came in, and what was found there. */
export interface TokenOrigin {
  readonly view: RequestView
  readonly found: RequestToken
}

/** The token in a request, checked, or `null` for none where the policy allows that. */
export async function authenticate(
  authenticator: Authenticator,
  view: RequestView,
  policy: TokenPolicy,
): Promise<VerifiedToken | null> {
  const found = await findToken(authenticator, view, policy)
  return found === null ? null : authenticateToken(authenticator, found.token, policy, { view, found })
}

/** A token that satisfies the policy; every entry point ends here. Each step trusts those above. */
export async function authenticateToken(
  authenticator: Authenticator,
  token: string,
  policy: TokenPolicy,
  origin: TokenOrigin | null,
): Promise<VerifiedToken> {
  let verified: VerifiedToken | null = null
  try {
    const now = authenticator.now()
    verified = authenticator.verifier.verify(token, now)
    const { payload } = verified
    assertType(payload, policy)
    if (origin !== null) assertOrigin(origin, payload, policy, authenticator.settings.reading)
    assertFresh(payload, policy, now)
    assertScopes(payload, policy)
    if (policy.skipRevocation !== true) await askOnce(authenticator, token, verified, origin)
    return verified
  } catch (error) {
    reportRejection(authenticator, error, verified?.claims)
    throw error
  }
}

async function findToken(
  authenticator: Authenticator,
  view: RequestView,
  policy: TokenPolicy,
): Promise<RequestToken | null> {
  const { reading } = authenticator.settings
  const types = wantedTypes(policy)
  const locations = wantedLocations(policy, reading.locations)
  try {
    const found = await readToken(view, types, locations, reading)
    if (found === null && policy.optional !== true) throw missingToken(types, locations, reading)
    return found
  } catch (error) {
    reportRejection(authenticator, error)
    throw error
  }
}

function assertOrigin(
  { view, found }: TokenOrigin,
  payload: TokenPayload,
  policy: TokenPolicy,
  reading: ReadingRules,
): void {
  if (policy.type === 'any') assertPlace(payload.type, found, wantedLocations(policy, reading.locations))
  if (policy.csrf !== false) assertCsrf(view, found, payload, reading.csrf)
}

function askOnce(
  authenticator: Authenticator,
  token: string,
  verified: VerifiedToken,
  origin: TokenOrigin | null,
): Promise<void> | undefined {
  const { settings, blocklist, store, revocationChecks } = authenticator
  const isRevoked = blocklist.callback
  if (isRevoked === null && store === null) return undefined
  const ask = (): Promise<void> => {
    const { header, payload } = verified
    const location = origin?.found.location ?? null
    const checked = { ...toRevocable(verified, settings), token, header, type: payload.type, location }
    return assertNotRevoked(checked, { store, isRevoked, timeoutMs: settings.revocationTimeoutMs })
  }
  if (origin === null) return ask()
  const asked = revocationChecks.get(origin.view) ?? new Map<string, Promise<void>>()
  const answer = asked.get(token) ?? ask()
  revocationChecks.set(origin.view, asked.set(token, answer))
  return answer
}

/** A verified token as its revocation depends on it. */
export function toRevocable(
  { payload, kids, start }: VerifiedToken,
  { retentionMs }: Settings,
): RevocableToken {
  const { exp, iat } = payload
  const isEndless = exp === undefined || iat === undefined
  return { payload, kids, start, lifetime: isEndless ? FOREVER : addTime(exp * 1000 - start, retentionMs) }
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
  return locations === undefined ? configured : { access: locations, refresh: locations }
}
