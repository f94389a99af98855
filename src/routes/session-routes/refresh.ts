import type { TokenPayload } from '../../claims/payload.js'
import { isTokenError, SubjectNotFoundError } from '../../errors.js'
import type { JsonClaims } from '../../manager/manager-options.js'
import type { RefreshOptions } from '../../sessions/options.js'
import { assertCookieSizes, createDeletions, withCookies } from './answers.js'
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
  const found = await tokens.getTokenFromRequest(request, { type: 'refresh' })
  // As it came: what was in a cookie is never put where a script can read it.
  const transport = found?.location === 'cookies' ? 'cookies' : 'bearer'
  if (found !== null && transport === 'cookies' && claims !== undefined) {
    assertCookieSizes(tokens, found.token, claims)
  }
  const origin = readOrigin(parts, request)
  const pair = await tokens.refresh(request, {
    ...(origin.ip !== undefined && { ip: origin.ip }),
    ...options,
    ...(claims !== undefined && { claims }),
  })
  return createAnswer(parts, pair, transport)
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
    const session = await tokens.getSession(payload.sid, payload.sub)
    await tokens.revokeSession(payload, readOrigin(parts, request))
    if (session !== null) throw new SubjectNotFoundError()
    // It was over before: refresh() refuses it.
    return undefined
  }
  if (claims !== undefined && (typeof claims !== 'object' || Array.isArray(claims))) {
    throw new TypeError('claimsOnRefresh must return claims, null for a user who is gone, or undefined')
  }
  return claims
}

// With these, the request itself has ended its session. Where the session was over before, the user may have logged in
// again meanwhile, in another tab: a deletion would take the cookies of the new session. All other refusals leave open
// whether the token is good: for an instance with another key, for a request with a CSRF value, once a clock is right.
const ENDS_SESSION: ReadonlySet<string> = new Set(['REFRESH_TOKEN_REUSED', 'SUBJECT_NOT_FOUND'])

// Runs a route for the refresh token of a request, and deletes the cookies if that ends the session.
async function withRefreshToken(
  parts: RouteParts,
  request: Request,
  run: () => Promise<Response>,
): Promise<Response> {
  const found = await parts.tokens.getTokenFromRequest(request, { type: 'refresh' })
  try {
    return await run()
  } catch (error) {
    if (found?.location !== 'cookies' || !isTokenError(error) || !ENDS_SESSION.has(error.code)) throw error
    return withCookies(toErrorAnswer(parts, error), createDeletions(parts.tokens.config))
  }
}
