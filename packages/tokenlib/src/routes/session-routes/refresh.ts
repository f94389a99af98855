import { isTokenError, RevocationUnavailableError } from '../../errors.js'
import { isTooLate } from '../../sessions/refresh.js'
import type { RefreshOptions } from '../../revocation/session-options.js'
import { createDeletions, withCookies } from './answers.js'
import { checkCredentials } from './check-credentials.js'
import { parseLoginBody } from './credentials.js'
import { createAnswer } from './login.js'
import { type RouteParts, toErrorAnswer } from './parts.js'

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
    const given = { route: 'step-up', credentials, request, sub } as const
    return checkCredentials(parts, given, async (_claims, settle) => {
      // First: a limiter that fails must not use the refresh token up.
      await settle('success')
      return refresh(parts, request, { access: { fresh: true } })
    })
  })
}

async function refresh(parts: RouteParts, request: Request, options: RefreshOptions): Promise<Response> {
  const { tokens } = parts
  const found = await tokens.getTokenFromRequest(request, { type: 'refresh' })
  // As it came: what was in a cookie is never put where a script can read it.
  const transport = found?.location === 'cookies' ? 'cookies' : 'bearer'
  const made = await tokens.refresh(request, options)
  if (isTooLate(made)) throw new RevocationUnavailableError(new Error('The refresh took too long'))
  return createAnswer(parts, made, transport, made.refreshToken ?? (found?.token as string))
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
