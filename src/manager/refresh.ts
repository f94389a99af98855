import type { CreateTokenOptions } from '../claims/create.js'
import { type TokenPayload, extraClaims } from '../claims/payload.js'
import { isTokenError, RevokedTokenError, SubjectNotFoundError, type TokenErrorCode } from '../errors.js'
import { assertOptions } from '../options.js'
import { settleQuietly } from '../promises.js'
import { type RequestSource, toRequestView } from '../request/request-source.js'
import { attach, readAttached, type RequestView } from '../request/view.js'
import type { StoreConnection } from '../sessions/connect-store.js'
import { REFRESH_OPTIONS, type RefreshOptions, type TokenPair } from '../sessions/options.js'
import type { RotatedSession, Sessions } from '../sessions/sessions.js'
import {
  type Authenticator,
  authenticateToken,
  findingsOf,
  findToken,
  reportRejection,
} from './authenticate.js'
import type { PlannedTokens, UserDescriber } from './describe-user.js'
import { observeCheck } from './observe-check.js'
import type { SignedPair, TokenMaker } from './token-maker.js'
import { compilePolicy, OWN } from './policy.js'

/** What a refresh works with. */
export interface RefreshParts {
  readonly authenticator: Authenticator
  readonly maker: TokenMaker
  readonly store: StoreConnection
  readonly sessions: Sessions
  readonly users: UserDescriber
}

/** A new pair for the refresh token in a request, or for a token itself; the session moves one generation on. */
export function refreshPair(
  parts: RefreshParts,
  source: RequestSource | string,
  options: RefreshOptions,
): Promise<TokenPair> {
  return observeCheck(parts.authenticator.observers, {
    kind: 'refresh',
    run: () => rotatePair(parts, source, options),
    readSubject: () => null,
  })
}

async function rotatePair(
  { authenticator, maker, store, sessions, users }: RefreshParts,
  source: RequestSource | string,
  refreshOptions: RefreshOptions,
): Promise<TokenPair> {
  assertOptions('refresh()', refreshOptions, REFRESH_OPTIONS)
  const { access, ...client } = refreshOptions
  const { settings } = authenticator
  const policy = {
    ...compilePolicy({ type: 'refresh', issuer: [OWN] }, settings.reading.locations),
    isRotation: true,
  }

  const view = typeof source === 'string' ? undefined : toRequestView(source)
  const found = view === undefined ? null : await findToken(authenticator, view, policy)
  const token = found === null ? (source as string) : found.token
  const origin = view === undefined || found === null ? null : { view, found }
  const verified = await authenticateToken(authenticator, token, policy, origin)

  // Pages of the session hold this value and may send it with any token of the session: a new value would refuse the
  // requests of every tab that read the old one just before the refresh.
  const { csrf, remember } = verified.claims
  const carried = { csrf, remember }
  const from = { ...(view && { request: view }), ...client }
  // Other dependencies of the request get the outcome of the rotation: to present a token that the same request has just
  // used would count as a reuse. A presentation that is under way comes first.
  const findings = findingsOf(authenticator, token, view)
  const presented = findings.presented
  let isStoreCalled = false
  const rotate = async (): Promise<TokenPair> => {
    await presented
    const { input, options } = await describe()
    const plan = maker.planPair(input, options, carried)
    if (view !== undefined) readPlanCheck(view)?.(plan.pair)
    const sign = (session: RotatedSession): Promise<SignedPair> =>
      maker.signPair(input, options, session, carried)
    const prepared = maker.hasAsyncSigner() ? await prepare(sign) : null
    isStoreCalled = true
    const session = await sessions.rotate(verified, from)
    // Again: a key that was revoked since the check must not live on in a pair that another key signs.
    if (await store.isRevoked(verified)) throw new RevokedTokenError(verified.payload, verified.header)
    const isExpected = prepared !== null && isSameSession(prepared.session, session)
    const signed = isExpected ? prepared.pair : await sign(session)
    return signed.issue()
  }
  // Before the session moves on: what fails here, or never answers, leaves the refresh token as it is.
  const describe = async (): Promise<PlannedTokens> => {
    const planned = toPlan(verified.claims, settings.identityClaim, access)
    const { sid, gen } = verified.claims
    // A token of no session: the rotation refuses it.
    if (sid === undefined || gen === undefined) return planned
    try {
      return await users.describe(planned, 'refresh')
    } catch (error) {
      if (!(error instanceof SubjectNotFoundError)) throw error
      const origin = { actor: null, note: null, ...authenticator.clients.readQuietly(from) }
      await store.revoker.revokeSessions([sid], verified.claims.sub, origin)
      throw error
    }
  }
  // Before the session moves on: after an outage of the signer, every client would have a used token.
  const prepare = async (
    sign: (session: RotatedSession) => Promise<SignedPair>,
  ): Promise<PreparedPair | null> => {
    const session = await sessions.readNext(verified)
    if (session === null) return null
    await maker.assertSignerAvailable()
    return { session, pair: await sign(session) }
  }
  const pair = rotate()
  findings.presented = settleQuietly(pair.then(() => undefined))
  try {
    return await pair
  } catch (error) {
    if (isStoreCalled && isTokenError(error) && UNANSWERED.has(error.code)) sessions.forgive(verified)
    reportRejection(authenticator, error, { claims: verified.claims, client: from })
    throw error
  }
}

/** A pair for what a session is expected to be after its rotation. */
interface PreparedPair {
  readonly session: RotatedSession
  readonly pair: SignedPair
}

function isSameSession(one: RotatedSession, other: RotatedSession): boolean {
  return one.generation === other.generation && one.endsAt === other.endsAt
}

// The client got no new token, whatever the store has done: the one it has must be good once more.
const UNANSWERED: ReadonlySet<string> = new Set<TokenErrorCode>([
  'REVOCATION_UNAVAILABLE',
  'KEYS_UNAVAILABLE',
])

// What the tokens say, if nobody describes the user.
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

type PlanCheck = (planned: TokenPair) => void

/** Has the next pair for a request checked before its refresh token is used up; what the check throws ends the refresh. */
export function checkPlannedPair(view: RequestView, check: PlanCheck): void {
  attach(view, checkPlannedPair, check)
}

function readPlanCheck(view: RequestView): PlanCheck | undefined {
  return readAttached(view, checkPlannedPair) as PlanCheck | undefined
}
