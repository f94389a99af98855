import type { CreateTokenOptions } from '../tokens/create.js'
import { type Confirmation, type TokenPayload, extraClaims } from '../tokens/payload.js'
import { RevokedTokenError, SubjectNotFoundError } from '../errors.js'
import { kindOf, type OptionKinds, parseOptions } from '../options.js'
import { settleQuietly } from '../runtime.js'
import type { RequestToken } from '../http/read-token.js'
import { requestKind, type RequestSource, toRequestView } from '../http/request-source.js'
import { requireSessions, requireStore } from '../revocation/connect-store.js'
import { CLIENT_OPTIONS, type SessionClientOptions } from '../revocation/session-client.js'
import {
  type Authenticator,
  authenticateToken,
  findingsOf,
  findToken,
  reportingRejection,
} from '../requests/authenticate.js'
import type { PlannedTokens, UserDescriber } from './describe-user.js'
import { observeCheck } from '../requests/observe-check.js'
import { revokeSessions } from './revoke.js'
import type { RefreshedTokens, TokenMaker } from './token-maker.js'
import { compilePolicy, type ParsedPolicy } from '../requests/policy.js'
import { OWN } from '../tokens/token-sources.js'

/** Options of a refresh; what is left out comes from `describeUser`, or from the refresh token. */
export interface RefreshOptions extends SessionClientOptions {
  /** Options of the access token alone. */
  readonly access?: CreateTokenOptions
  /** The request that proves the key of a bound refresh token, if the token itself came another way. */
  readonly proofOf?: RequestSource | undefined
}

const REFRESH_OPTIONS: OptionKinds<RefreshOptions> = {
  ...CLIENT_OPTIONS,
  // Checked when the token is created.
  access: kindOf('an object', () => true),
  proofOf: requestKind,
}

/** Checks the proof of a device for a refresh token, and returns what the next one is bound to. */
export type DeviceCheck = (claims: TokenPayload) => {
  readonly cnf: Confirmation
  readonly spend: () => Promise<void>
}

/** The parts that sessions need. */
export interface SessionParts {
  readonly authenticator: Authenticator
  readonly maker: TokenMaker
  readonly users: UserDescriber
}

/** New tokens for a refresh token, or for the refresh token in a request; `device` takes one that a device is bound to. */
export async function refreshPair(
  parts: SessionParts,
  source: RequestSource | string,
  options: RefreshOptions,
  device: DeviceCheck | null = null,
): Promise<RefreshedTokens> {
  const { store, observers } = parts.authenticator
  requireSessions(store, 'sessions.refresh')
  return observeCheck(observers, {
    kind: 'refresh',
    run: () => rotatePair(parts, source, options, device),
    readSubject: () => null,
  })
}

/**
 * Whether it is too late to send new tokens: the client may already have newer ones, which these would replace. If they
 * are not sent, the client's refresh token still works.
 */
export function isTooLate(made: RefreshedTokens): boolean {
  return deadlines.get(made)?.() ?? false
}

const deadlines = new WeakMap<RefreshedTokens, () => boolean>()

async function rotatePair(
  { authenticator, maker, users }: SessionParts,
  source: RequestSource | string,
  refreshOptions: RefreshOptions,
  device: DeviceCheck | null,
): Promise<RefreshedTokens> {
  const { access, proofOf, ...client } = parseOptions('sessions.refresh()', refreshOptions, REFRESH_OPTIONS)
  if (source === null) {
    throw new TypeError(
      'sessions.refresh() takes a request or a refresh token. If the last refresh returned refreshToken: null, keep using the previous token',
    )
  }
  const { settings, now } = authenticator
  const { monotonicNow } = authenticator.scheduler
  const store = requireStore(authenticator.store, 'sessions.refresh')
  const sessions = requireSessions(store, 'sessions.refresh')
  let bound: Confirmation | undefined
  const policy = {
    ...compilePolicy(
      { type: 'refresh', issuer: [OWN], ...(device && DEVICE_POLICY) },
      settings.reading.locations,
    ),
    isRotation: true,
    proofOf,
    ...(device && {
      checkProof(claims: TokenPayload) {
        const { cnf, spend } = device(claims)
        bound = cnf
        return spend
      },
    }),
  }

  const view = typeof source === 'string' ? undefined : toRequestView(source)
  // `findToken` returns `null` only for an optional policy.
  const origin = view && { view, found: (await findToken(authenticator, view, policy)) as RequestToken }
  const token = origin?.found.token ?? (source as string)
  const verified = await authenticateToken(authenticator, token, policy, origin ?? null)

  // Pages keep this value and may send it with any token of the session. With a new value, requests of every tab that read
  // the old one just before the refresh would be refused.
  const { csrf, remember, cnf = bound } = verified.claims
  const from = { ...(view && { request: view }), ...client }
  const findings = findingsOf(authenticator, token, view)
  const presented = findings.presented
  // A failure here costs nothing, whether or not the session has advanced: the client can send the token again.
  const rotate = async (): Promise<RefreshedTokens> => {
    await presented
    const { input, options } = await describe()
    const [startedAt, steadyAt] = [now(), monotonicNow()]
    const rotated = await sessions.rotate(verified, from)
    // Check again: a key that was revoked since the first check must not live on in a pair that another key signs. A replica
    // may not know it yet.
    if (await store.isRevoked(verified, { fromStore: true })) {
      throw new RevokedTokenError(verified.payload, verified.header)
    }
    const session = { ...rotated, csrf, remember, cnf }
    const made =
      session.lineage === undefined
        ? await maker.signAccess(input, options, session)
        : await maker.signPair(input, options, session)
    rotated.report()
    // The monotonic clock stands still while a machine is suspended.
    deadlines.set(made, () => Math.max(now() - startedAt, monotonicNow() - steadyAt) > settings.sendWithinMs)
    return made
  }
  const describe = async (): Promise<PlannedTokens> => {
    const planned = toPlan(verified.claims, settings.identityClaim, access)
    const { sid, gen } = verified.claims
    // A token without a session: the rotation refuses it.
    if (sid === undefined || gen === undefined) return planned
    try {
      return await users.describe(planned, 'refresh')
    } catch (error) {
      if (!(error instanceof SubjectNotFoundError)) throw error
      const origin = { actor: null, note: null, ...authenticator.clients.readQuietly(from) }
      const { revoker } = store
      await revokeSessions({ authenticator, revoker, origin }, [sid], verified.claims.sub)
      throw error
    }
  }
  // Other dependencies of the request share the outcome of the rotation.
  const tokens = rotate()
  findings.presented = settleQuietly(tokens.then(() => undefined))
  return reportingRejection(authenticator, { claims: verified.claims, client: from }, () => tokens)
}

// The browser itself sends these requests, without a CSRF value. No page can: the proof is in a header of its own, and its
// challenge is for one session.
const DEVICE_POLICY: ParsedPolicy = { locations: ['cookies'], csrf: false }

// Without describeUser, the new tokens have the claims of the refresh token.
function toPlan(
  claims: TokenPayload,
  identityClaim: string,
  access: CreateTokenOptions | undefined,
): PlannedTokens {
  const extras: Record<string, unknown> = { ...extraClaims(claims) }
  delete extras[identityClaim]
  const { sub: uid, scopes, aud, iss } = claims
  return {
    input: { ...extras, uid },
    options: {
      ...(scopes !== undefined && { scopes }),
      ...(aud !== undefined && { audience: aud }),
      ...(iss !== undefined && { issuer: iss }),
      ...(access && { access }),
    },
  }
}
