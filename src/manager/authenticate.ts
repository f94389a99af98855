import type { TokenPayload, TokenType } from '../claims/payload.js'
import { AccessTokenRequiredError, RefreshTokenRequiredError } from '../errors.js'
import { assertCsrf } from '../request/csrf.js'
import type { PerType, ReadingRules } from '../request/locations.js'
import { missingToken, readToken } from '../request/read-token.js'
import type { RequestToken, TokenLocation } from '../request/request-token.js'
import type { RequestView } from '../request/view.js'
import type { Blocklist, RevocationContext } from '../revocation/blocklist.js'
import { assertNotRevoked } from '../revocation/check.js'
import type { Clock } from '../time.js'
import { assertFresh, assertScopes, assertType, type TokenPolicy } from './policy.js'
import type { Settings } from './settings.js'
import type { TokenVerifier } from './verified-tokens.js'

/** What every check of one manager works with. */
export interface Authenticator {
  readonly settings: Settings
  readonly verifier: TokenVerifier
  readonly blocklist: Blocklist
  readonly now: Clock
  /** What was asked about the tokens of a request: several policies on one route ask once. */
  readonly revocationChecks: WeakMap<RequestView, Map<string, Promise<void>>>
}

/** The request a token came in, and what was found there. */
export interface TokenOrigin {
  readonly view: RequestView
  readonly found: RequestToken
}

/** The payload of the token in a request, or `null` for none where the policy allows that. */
export async function authenticate(
  authenticator: Authenticator,
  view: RequestView,
  policy: TokenPolicy,
): Promise<TokenPayload | null> {
  const { reading } = authenticator.settings
  const types = wantedTypes(policy)
  const locations = wantedLocations(policy, reading.locations)
  const found = await readToken(view, types, locations, reading)
  if (found !== null) return authenticateToken(authenticator, found.token, policy, { view, found })
  if (policy.optional === true) return null
  throw missingToken(types, locations, reading)
}

/** The payload of a token that satisfies the policy; every entry point ends here. Each step trusts those above. */
export async function authenticateToken(
  authenticator: Authenticator,
  token: string,
  policy: TokenPolicy,
  origin: TokenOrigin | null,
): Promise<TokenPayload> {
  const now = authenticator.now()
  const { header, payload } = authenticator.verifier.verify(token, now)
  assertType(payload, policy)
  if (origin !== null) assertOrigin(origin, payload, policy, authenticator.settings.reading)
  assertFresh(payload, policy, now)
  assertScopes(payload, policy)
  if (policy.skipRevocation !== true) {
    const facts = { payload, header, type: payload.type, location: origin?.found.location ?? null }
    await askOnce(authenticator, origin?.view ?? null, token, facts)
  }
  return payload
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
  { settings, blocklist, revocationChecks }: Authenticator,
  view: RequestView | null,
  token: string,
  facts: Omit<RevocationContext, 'signal'>,
): Promise<void> | undefined {
  const isRevoked = blocklist.callback
  if (isRevoked === null) return undefined
  const ask = (): Promise<void> => assertNotRevoked(isRevoked, token, facts, settings.revocationTimeoutMs)
  if (view === null) return ask()
  const asked = revocationChecks.get(view) ?? new Map<string, Promise<void>>()
  const answer = asked.get(token) ?? ask()
  revocationChecks.set(view, asked.set(token, answer))
  return answer
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
