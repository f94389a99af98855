import { isTokenError, RevokedTokenError, SessionMismatchError } from '../errors.js'
import type { TokenPayload } from '../tokens/payload.js'
import type { TokenEmitter } from '../events.js'
import type { Observers } from '../observer.js'
import { readCookieValues } from '../http/credentials.js'
import { toRequestView } from '../http/request-source.js'
import { assertCsrf } from '../http/csrf.js'
import { missingToken, readCookieHeader, readToken, type RequestToken } from '../http/read-token.js'
import { attach, readAttached, type RequestView } from '../http/view.js'
import { type Blocklist, type CallbackOrigin, callBlocklist } from '../revocation/blocklist.js'
import type { ClientReader, SessionClientOptions } from '../revocation/session-client.js'
import type { StoreConnection } from '../revocation/connect-store.js'
import type { Proofs } from '../proofs/proofs.js'
import type { Clock, Scheduler } from '../time.js'
import {
  assertFresh,
  assertIssuer,
  assertPlace,
  assertScopes,
  assertType,
  type CompiledPolicy,
} from './policy.js'
import type { Settings } from '../config/settings.js'
import type { Loaded, TokenVerifier, VerifiedToken } from './verified-tokens.js'

/** What every check of one manager works with. */
export interface Authenticator {
  readonly settings: Settings
  readonly verifier: TokenVerifier
  readonly blocklist: Blocklist
  readonly store: StoreConnection | null
  readonly proofs: Proofs
  readonly now: Clock
  readonly scheduler: Scheduler
  readonly emit: TokenEmitter['emit']
  readonly observers: Observers
  readonly clients: ClientReader
}

/** The request a token came in, and what was found there. */
export interface TokenOrigin {
  readonly view: RequestView
  readonly found: RequestToken
}

/** The checked token of a request, or `null` without one if the policy allows that. */
export async function authenticate(
  authenticator: Authenticator,
  view: RequestView,
  policy: CompiledPolicy,
): Promise<VerifiedToken | null> {
  const found = await findToken(authenticator, view, policy)
  return found && authenticateToken(authenticator, found.token, policy, { view, found })
}

/** The unchecked token of a request, or `null` without one if the policy allows that. */
export async function findToken(
  authenticator: Authenticator,
  view: RequestView,
  policy: CompiledPolicy,
): Promise<RequestToken | null> {
  const { reading } = authenticator.settings
  try {
    const found = await readToken(view, policy.places, reading)
    if (found === null && policy.optional !== true) throw missingToken(policy.places, reading)
    return found
  } catch (error) {
    authenticator.proofs.addChallenge(error, view, policy.proof)
    reportRejection(authenticator, error, { client: { request: view } })
    throw error
  }
}

/** A token that satisfies the policy. Every entry point ends here, and each step relies on those above it. */
export async function authenticateToken(
  authenticator: Authenticator,
  token: string,
  policy: CompiledPolicy,
  origin: TokenOrigin | null,
): Promise<VerifiedToken> {
  const { settings, proofs } = authenticator
  const view = origin?.view ?? (policy.proofOf === undefined ? null : toRequestView(policy.proofOf))
  let verified: VerifiedToken | undefined
  try {
    const isInspection = policy.isInspection === true
    const loaded = await loadFirst(authenticator, token, policy, origin)
    verified = await verifyWithKeys(authenticator, token, { loaded })
    // Read the clock again: the token may have expired while the keys were loaded.
    const now = authenticator.now()
    const { payload } = verified
    assertIssuer(verified.source.issuer, policy)
    assertType(payload, policy)
    if (origin !== null && policy.type === 'any') {
      assertPlace(payload.type, origin.found, policy.locationsOf)
    }
    const location = origin?.found.location ?? null
    const { cnf } = verified.claims
    const checkProof = policy.checkProof ?? (() => proofs.check({ token, cnf, view, location }, policy.proof))
    // An introspection is about a token that somebody else presents, with a proof that is not here.
    if (isInspection) proofs.assertCheckable(cnf)
    const spendProof = isInspection ? null : checkProof(verified.claims)
    if (origin !== null && location === 'cookies') {
      if (policy.csrf !== false) await assertCsrf(origin.view, origin.found, payload, settings.reading)
      assertOneSession(authenticator, origin, verified)
    }
    assertFresh(verified.claims, policy, now)
    assertScopes(payload, policy)
    if (policy.skipRevocation !== true)
      await assertUnrevokedOnce(authenticator, token, verified, policy, origin)
    // Last: only a request that is accepted uses its proof up.
    await spendProof?.()
    return verified
  } catch (error) {
    proofs.addChallenge(error, view, policy.proof)
    const client = origin === null ? {} : { request: origin.view }
    reportRejection(authenticator, error, { claims: verified?.claims, client })
    throw error
  }
}

// Loads what cannot be looked for later: for the caller of an introspection, which does not retry, and for an opaque token.
async function loadFirst(
  authenticator: Authenticator,
  token: string,
  policy: CompiledPolicy,
  origin: TokenOrigin | null,
): Promise<Loaded | false> {
  const { verifier, now } = authenticator
  const opaque = verifier.findOpaque(token)
  if (opaque !== null) {
    // A token that the route refuses anyway is not sent to its issuer.
    assertIssuer(opaque.issuer, policy)
    assertType({ sub: '', type: 'access' }, policy)
  }
  if (policy.isInspection === true) return verifier.loadForCertain(token, now())
  if (opaque === null) return false
  return (findingsOf(authenticator, token, origin?.view).loaded ??= verifier.load(token))
}

// More values than that under one name are not set by accident.
const MAX_COOKIE_VALUES = 8

/**
 * Throws `SessionMismatchError` if the cookie of the other type belongs to another session.
 *
 * A subdomain can set cookies for the whole domain, and so plant a token of its own next to a token of the visitor. Nobody
 * can tell which of the two is the visitor's. Tokens without a `sid`, and tokens of other issuers, are not compared.
 */
function assertOneSession(
  { settings: { reading }, verifier, now }: Authenticator,
  { view, found }: TokenOrigin,
  { claims: { sid }, source }: VerifiedToken,
): void {
  const other = found.type === 'access' ? 'refresh' : 'access'
  if (sid === undefined || source.issuer !== null || !reading.locations[other].includes('cookies')) return
  const values = readCookieValues(readCookieHeader(view, reading), reading.cookieName[other])
  const isOther = (value: string): boolean => {
    try {
      // An expired access token still shows its session; an expired refresh token belongs to a session that is over.
      const token = verifier.verify(reading.toCanonical(value), now(), other === 'access')
      const isOurs = token.source.issuer === null && token.claims.type === other
      return isOurs && token.claims.sid !== undefined && token.claims.sid !== sid
    } catch (error) {
      if (isTokenError(error)) return false
      throw error
    }
  }
  if (values.length > MAX_COOKIE_VALUES || values.some(isOther)) throw new SessionMismatchError()
}

/** Verifies a token. Loads what is missing, unless that was `loaded` a moment ago. */
export async function verifyWithKeys(
  { verifier, now }: Authenticator,
  token: string,
  {
    loaded = false,
    allowExpired = false,
  }: { readonly loaded?: Loaded | false; readonly allowExpired?: boolean },
): Promise<VerifiedToken> {
  try {
    return verifier.verify(token, now(), allowExpired, loaded)
  } catch (error) {
    if (!isTokenError(error) || error.code !== 'KEYS_UNAVAILABLE') throw error
    const found = await verifier.load(token)
    return verifier.verify(token, now(), allowExpired, found)
  }
}

/** Throws `RevokedTokenError` for a token that the store or the callback has revoked. */
export async function assertUnrevoked(
  { store, blocklist, settings, scheduler }: Authenticator,
  token: string,
  verified: VerifiedToken,
  origin: CallbackOrigin,
  { atLeast }: Pick<CompiledPolicy, 'atLeast'> = {},
): Promise<void> {
  // Read once, so that a replacement never takes effect half-way through a check.
  const { callback } = blocklist
  const isRevoked =
    (store !== null && (await store.isRevoked(verified, atLeast === undefined ? undefined : { atLeast }))) ||
    (callback !== null &&
      (await callBlocklist(callback, token, verified, origin, settings.store.timeoutMs, scheduler)))
  if (isRevoked) throw new RevokedTokenError(verified.payload, verified.header)
}

/** What was found out about a token of a request, so that several dependencies of a route ask once. */
interface Findings {
  readonly token: string
  /** What the issuer says about an opaque token. */
  loaded?: Promise<Loaded>
  unrevoked?: Promise<void>
  /** Rejects a used refresh token wherever it comes, and ends its session (RFC 9700 §4.14.2). */
  presented?: Promise<void>
  /** About another token of the request. */
  readonly next: Findings | undefined
}

/** The findings about a token of a request; new ones for a token that came without a request. */
export function findingsOf(
  authenticator: Authenticator,
  token: string,
  view: RequestView | undefined,
): Findings {
  const first = view && (readAttached(view, authenticator) as Findings | undefined)
  for (let known = first; known !== undefined; known = known.next) if (known.token === token) return known
  const findings = { token, next: first }
  if (view !== undefined) attach(view, authenticator, findings)
  return findings
}

async function assertUnrevokedOnce(
  authenticator: Authenticator,
  token: string,
  verified: VerifiedToken,
  policy: CompiledPolicy,
  origin: TokenOrigin | null,
): Promise<void> {
  const { store, blocklist } = authenticator
  if (store === null && blocklist.callback === null) return
  const findings = findingsOf(authenticator, token, origin?.view)
  const from = { location: origin?.found.location ?? null, view: origin?.view ?? null }
  await (findings.unrevoked ??= assertUnrevoked(authenticator, token, verified, from, policy))
  const sessions = store?.sessions ?? null
  if (sessions === null || verified.payload.type !== 'refresh' || policy.isRotation === true) return
  if (policy.isInspection === true) return sessions.assertUnused(verified)
  const client = origin === null ? {} : { request: origin.view }
  await (findings.presented ??= sessions.assertCurrent(verified, client))
}

/** Emits `rejected` for a refused token; a fault of the program is not a refusal. */
export function reportRejection(
  { emit, clients }: Pick<Authenticator, 'emit' | 'clients'>,
  error: unknown,
  { claims, client = {} }: RejectionFacts = {},
): void {
  if (!isTokenError(error)) return
  const { sub = null, jti = null, sid = null } = claims ?? {}
  const { code, message: reason } = error
  emit('rejected', () => ({ code, reason, sub, jti, sid, ...clients.readQuietly(client) }))
}

/** Runs a check, and emits `rejected` if it refuses the token. */
export async function reportingRejection<Value>(
  authenticator: Pick<Authenticator, 'emit' | 'clients'>,
  facts: RejectionFacts,
  check: () => Promise<Value>,
): Promise<Value> {
  try {
    return await check()
  } catch (error) {
    reportRejection(authenticator, error, facts)
    throw error
  }
}

/** What is known about a refusal. */
export interface RejectionFacts {
  /** Of the token, if it is genuine. */
  readonly claims?: Partial<TokenPayload> | undefined
  /** Where the request came from; read only if somebody listens. */
  readonly client?: SessionClientOptions
}

/** Runs a check. An error of it names the scopes that its route demands, so that the challenge can. */
export async function nameScopes<Value>(
  scopes: readonly string[],
  check: () => Promise<Value>,
): Promise<Value> {
  try {
    return await check()
  } catch (error) {
    if (scopes.length > 0 && isTokenError(error)) {
      const value = Object.freeze([...new Set([...(error.routeScopes ?? []), ...scopes])])
      // Reflect, because an assignment would throw where the application has frozen an error of its own.
      Reflect.defineProperty(error, 'routeScopes', { value, configurable: true, enumerable: true })
    }
    throw error
  }
}
