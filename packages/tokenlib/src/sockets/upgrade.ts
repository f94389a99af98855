import { FreshTokenRequiredError, MissingTokenError } from '../errors.js'
import type { SessionClient } from '../events.js'
import { isOrigin } from '../http/csrf.js'
import { readUpgradeToken, type RequestToken } from '../http/read-token.js'
import type { RequestView } from '../http/view.js'
import { choice, listOf, type OptionKinds, parseOptions, textLike } from '../options.js'
import {
  assertUnrevoked,
  type Authenticator,
  authenticateToken,
  nameScopes,
  type RejectionFacts,
  reportingRejection,
  reportRejection,
  verifyWithKeys,
} from '../requests/authenticate.js'
import { assertProofKind, setMessageCheck } from '../requests/check-request.js'
import { observeCheck } from '../requests/observe-check.js'
import {
  assertFresh,
  assertIssuer,
  assertScopes,
  assertType,
  compilePolicy,
  demandsFresh,
  type ParsedPolicy,
  parsePolicy,
  TOKEN_POLICY_NAMES,
  type TokenPolicy,
} from '../requests/policy.js'
import type { VerifiedToken } from '../requests/verified-tokens.js'
import { requireSessions } from '../revocation/connect-store.js'
import { assertClaims, isCurrent, type TokenPayload } from '../tokens/payload.js'
import { OWN, parseIssuer } from '../tokens/token-sources.js'
import { type FollowedSession, followSession } from './followed-session.js'

/** What a WebSocket handshake must provide. */
export interface UpgradePolicy extends Pick<
  TokenPolicy,
  'fresh' | 'scopes' | 'anyScope' | 'issuer' | 'skipRevocation' | 'proof'
> {
  /** Default `access`. */
  readonly type?: 'access' | 'refresh'
  /** The origins whose cookies are accepted, as browsers write them: `https://app.example`. None by default. */
  readonly origins?: readonly string[]
  /**
   * What the socket lives as long as: its token (the default), or the session of the token, however often that is
   * refreshed. `session` needs a store that keeps sessions, and a token of `sessions.open`.
   */
  readonly until?: 'token' | 'session'
}

/** A handshake that may become a socket. */
export interface AuthenticatedUpgrade<Payload = TokenPayload> {
  readonly payload: Payload
  readonly token: RequestToken
  /** The subprotocol the server must select in its answer, when the token came in one. */
  readonly protocol: string | null
}

/** A policy that was checked, with what was left out. */
export type ParsedUpgradePolicy = ParsedPolicy & Required<Pick<UpgradePolicy, 'type' | 'origins' | 'until'>>

/** The fields of an upgrade policy. */
export const UPGRADE_OPTIONS: OptionKinds<UpgradePolicy> = {
  ...TOKEN_POLICY_NAMES,
  type: choice(['access', 'refresh']),
  origins: listOf(textLike('an origin like https://app.example', isOrigin), 0),
  until: choice(['token', 'session']),
}

/** A checked copy of a policy, or `TypeError`: a misspelled demand must not open a socket. */
export function parseUpgradePolicy(given: UpgradePolicy): ParsedUpgradePolicy {
  const {
    origins = [],
    until = 'token',
    ...demands
  } = parseOptions('sockets.authenticate()', given, UPGRADE_OPTIONS)
  const policy = parsePolicy(demands)
  if (until === 'session' && policy.skipRevocation === true) {
    throw new TypeError("until: 'session' needs the revocation check: leave skipRevocation out")
  }
  if (until === 'session' && policy.issuer !== undefined && !policy.issuer.includes(OWN)) {
    throw new TypeError("until: 'session' takes our own tokens only: leave issuer out, or add 'own'")
  }
  return { ...policy, type: demands.type ?? 'access', origins, until }
}

/** Checks the token of a WebSocket handshake like the token of any request. */
export async function authenticateUpgrade(
  authenticator: Authenticator,
  view: RequestView,
  { until, origins, ...demands }: ParsedUpgradePolicy,
): Promise<AuthenticatedUpgrade> {
  const { reading, sources } = authenticator.settings
  for (const name of demands.issuer ?? []) parseIssuer(sources.issuers, name)
  assertProofKind(authenticator.proofs, demands)
  const sessions = until === 'session' ? requireSessions(authenticator.store, "until: 'session'") : null
  // The origin is checked instead of a CSRF value, which no browser could send here. The store has only our own sessions.
  const own = sessions === null ? {} : { issuer: [OWN] }
  const policy = compilePolicy({ ...demands, ...own, csrf: false }, reading.locations)
  const client = { request: view }

  const check = async (): Promise<AuthenticatedUpgrade> => {
    const { token, protocol } = await reportingRejection(authenticator, { client }, async () => {
      const found = readUpgradeToken(view, demands.type, origins, reading)
      if (found === null) throw new MissingTokenError('No token found in the WebSocket handshake')
      return found
    })
    // A view of its own: a connection outlives its handshake, and later checks must not find the results of this one.
    const origin = { view: copyView(view), found: token }
    const now = authenticator.now()
    const verified = await authenticateToken(authenticator, token.token, policy, origin)
    const { payload, claims } = verified
    const followed =
      sessions &&
      (await reportingRejection(authenticator, { claims, client }, () =>
        followSession(authenticator, sessions, verified, now),
      ))
    const upgrade = { payload, token: Object.freeze(token), protocol }
    // Read now: the connection outlives its handshake.
    const handshake = authenticator.clients.readQuietly(client)
    accepted.set(upgrade, { authenticator, policy, verified, followed, client: handshake })
    return upgrade
  }
  return observeCheck(authenticator.observers, {
    kind: 'upgrade',
    run: () => nameScopes(policy.routeScopes, check),
    readSubject: ({ payload }) => payload.sub,
  })
}

// A copy with the same members, which does not share what is remembered for the original.
function copyView(view: RequestView): RequestView {
  const { method, url, ip = null, certificate } = view
  return { method, url, ip, certificate, header: (name) => view.header(name), body: () => view.body() }
}

/** The record of an accepted handshake. */
export interface AcceptedUpgrade {
  /** The manager that has authenticated it. */
  readonly authenticator: Authenticator
  /** What the handshake demanded of the token. */
  readonly policy: ParsedPolicy
  /** As of the handshake; for an opaque token, as of the last time that its issuer was asked. */
  verified: VerifiedToken
  /** `null` for a socket that lives as long as its token. */
  readonly followed: FollowedSession | null
  /** Where the handshake came from, for events. */
  readonly client: SessionClient
}

const accepted = new WeakMap<AuthenticatedUpgrade, AcceptedUpgrade>()

/** Rechecks an open socket: its token or, if it follows its session, the session. */
export async function recheckUpgrade(upgrade: AuthenticatedUpgrade): Promise<void> {
  const known = accepted.get(upgrade)
  if (known === undefined) throw new TypeError('Pass what sockets.authenticate() returned')
  await recheckToken(known.authenticator, upgrade, false)
}

/**
 * Checks only time and revocation of a token that was accepted before; `anew` rereads its session from the store. Of an
 * opaque token, it also checks the scopes, which may have changed.
 *
 * An open socket does not present its token again, so rechecking a rotated refresh token is not reuse.
 */
export async function recheckToken(
  authenticator: Authenticator,
  upgrade: AuthenticatedUpgrade,
  anew: boolean,
): Promise<VerifiedToken> {
  const { token, location } = upgrade.token
  const known = readAccepted(upgrade)
  const followed = known?.followed ?? null
  const check = async (): Promise<VerifiedToken> => {
    const verified = await verifyWithKeys(authenticator, token, { allowExpired: followed !== null })
    // Read the clock after the keys were loaded: the token may have expired since.
    const now = authenticator.now()
    followed?.assertWatched(now)
    await assertUnrevoked(authenticator, token, verified, { location, view: null })
    await followed?.assertAlive(verified, now, anew)
    if (verified.signer === null && known?.authenticator === authenticator) {
      assertScopes(verified.payload, known.policy)
      known.verified = verified
    }
    return verified
  }
  return observeCheck(authenticator.observers, {
    kind: 'recheck',
    run: () => reportingRejection(authenticator, toFacts(upgrade), check),
    readSubject: () => upgrade.payload.sub,
  })
}

/** The record of a handshake, or `null` for a copy of one. */
export function readAccepted(upgrade: AuthenticatedUpgrade): AcceptedUpgrade | null {
  return accepted.get(upgrade) ?? null
}

function toFacts(upgrade: AuthenticatedUpgrade): RejectionFacts {
  const { ip = null, userAgent = null } = readAccepted(upgrade)?.client ?? {}
  return {
    claims: upgrade.payload,
    client: { ip: ip ?? undefined, userAgent: userAgent ?? undefined },
  }
}

/** Marks a view as a message: dependencies use the token of the handshake instead of looking for one. */
export function rememberUpgrade(view: RequestView, upgrade: AuthenticatedUpgrade): void {
  const authenticator = accepted.get(upgrade)?.authenticator
  if (authenticator === undefined) return
  setMessageCheck(authenticator, view, (policy) => checkMessage(authenticator, policy, upgrade))
}

// The token for a message. It was rechecked for this message, and its origin was checked in the handshake: what remains is
// what the policy demands of the token itself.
function checkMessage(
  authenticator: Authenticator,
  policy: ParsedPolicy,
  upgrade: AuthenticatedUpgrade,
): VerifiedToken {
  const { token, location } = upgrade.token
  try {
    if (policy.locations !== undefined && !policy.locations.includes(location)) {
      throw new MissingTokenError(`The token of the WebSocket handshake was found in ${location}`)
    }
    const { verifier, proofs } = authenticator
    const now = authenticator.now()
    const known = readAccepted(upgrade)
    const allowExpired = (known?.followed ?? null) !== null
    const verified = recallOpaque(known, now) ?? verifier.verify(token, now, allowExpired)
    const { payload, claims, source } = verified
    assertIssuer(source.issuer, policy)
    assertType(payload, policy)
    // The handshake has proved the key, but only if the token is bound.
    proofs.assertBound(claims.cnf, policy.proof)
    assertFresh(claims, policy, now)
    // A token is fresh until it expires at the latest, even if the socket outlives it.
    if (demandsFresh(policy) && !isCurrent(claims, source.rules, now / 1000)) {
      throw new FreshTokenRequiredError()
    }
    assertScopes(payload, policy)
    return verified
  } catch (error) {
    reportRejection(authenticator, error, toFacts(upgrade))
    throw error
  }
}

// What the issuer said when it was asked for this message: its answer need not be remembered until now.
function recallOpaque(known: AcceptedUpgrade | null, now: number): VerifiedToken | null {
  if (known === null || known.verified.signer !== null) return null
  assertClaims(known.verified.claims, known.verified.source.rules, now / 1000)
  return known.verified
}
