import type { TokenPayload } from '../../claims/payload.js'
import { isTokenError, SubjectNotFoundError, type TokenErrorCode } from '../../errors.js'
import type { JsonClaims } from '../../manager/token-manager.js'
import type { RefreshOptions } from '../../sessions/options.js'
import { createDeletions, withCookies } from './answers.js'
import { checkCredentials } from './check-credentials.js'
import { parseLoginBody } from './credentials.js'
import { createAnswer } from './login.js'
import { readOrigin, type RouteParts, toErrorAnswer } from './parts.js'

/** The next pair of a session, for its refresh token. */
export async function answerRefresh(parts: RouteParts, request: Request): Promise<Response> {
  return withRefreshToken(parts, request, () => refresh(parts, request, {}))
}

/** The next pair of a session, its access token fresh, for its refresh token and the credentials of its user. */
export async function answerStepUp(parts: RouteParts, request: Request): Promise<Response> {
  return withRefreshToken(parts, request, async () => {
    // First: nobody without a token of the session can try passwords here.
    const { sub } = await parts.tokens.refreshTokenRequired(request)
    const { credentials } = await parseLoginBody(request, parts.tokens.config)
    const claims = await checkCredentials(parts, { route: 'step-up', credentials, request }, sub)
    return claims instanceof Response ? claims : refresh(parts, request, { access: { fresh: true } })
  })
}

async function refresh(
  parts: RouteParts,
  request: Request,
  options: Pick<RefreshOptions<JsonClaims>, 'access'>,
): Promise<Response> {
  const { tokens } = parts
  const claims = await readNewClaims(parts, request)
  const origin = readOrigin(parts, request)
  const pair = await tokens.refresh(request, {
    ...(origin.ip !== undefined && { ip: origin.ip }),
    ...options,
    ...(claims !== undefined && { claims }),
  })
  // As it came: what was in a cookie is never put where a script can read it.
  const found = await tokens.getTokenFromRequest(request, { type: 'refresh' })
  return createAnswer(parts, pair, found?.location === 'cookies' ? 'cookies' : 'bearer')
}

// What the application says about the user of a refresh token, which is checked before and used up after.
async function readNewClaims(parts: RouteParts, request: Request): Promise<JsonClaims | undefined> {
  const { tokens, options } = parts
  if (options.claimsOnRefresh === undefined) return undefined
  const payload: TokenPayload = await tokens.refreshTokenRequired(request)
  // A token of no session: refresh() refuses it.
  if (payload.sid === undefined) return undefined
  const claims = await options.claimsOnRefresh(payload, request)
  if (claims === null) {
    await tokens.revokeSession(payload, readOrigin(parts, request))
    throw new SubjectNotFoundError()
  }
  if (claims !== undefined && (typeof claims !== 'object' || Array.isArray(claims))) {
    throw new TypeError('claimsOnRefresh must return claims, null for a user who is gone, or undefined')
  }
  return claims
}

// The refresh token is of no use any more, so its cookies go. Not after an outage, nor for a request of another site.
const DEAD: ReadonlySet<TokenErrorCode> = new Set<TokenErrorCode>([
  'CLAIMS_INVALID',
  'REFRESH_TOKEN_REQUIRED',
  'REFRESH_TOKEN_REUSED',
  'SUBJECT_NOT_FOUND',
  'TOKEN_AUDIENCE_INVALID',
  'TOKEN_EXPIRED',
  'TOKEN_INVALID',
  'TOKEN_ISSUER_INVALID',
  'TOKEN_REVOKED',
  'TOKEN_SIGNATURE_INVALID',
])

// Runs a route for the refresh token of a request, and deletes the cookies of one that is dead.
async function withRefreshToken(
  parts: RouteParts,
  request: Request,
  run: () => Promise<Response>,
): Promise<Response> {
  const found = await parts.tokens.getTokenFromRequest(request, { type: 'refresh' })
  try {
    return await run()
  } catch (error) {
    if (found?.location !== 'cookies' || !isTokenError(error) || !DEAD.has(error.code)) throw error
    return withCookies(toErrorAnswer(parts, error), createDeletions(parts.tokens.config))
  }
}
