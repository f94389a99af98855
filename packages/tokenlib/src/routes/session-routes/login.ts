import type { TokenPayload, TokenType } from '../../tokens/payload.js'
import { isJsonObject } from '../../encoding.js'
import { CsrfError, isTokenError, RevocationUnavailableError } from '../../errors.js'
import { readOwnClaims } from '../../requests/set-cookies.js'
import type { TokenConfig } from '../../config/config.js'
import { isFromOrigin } from '../../http/csrf.js'
import type { RequestToken } from '../../http/read-token.js'
import { toRequestView } from '../../http/request-source.js'
import { isTooLate, type RefreshOptions } from '../../sessions/refresh.js'
import type { OpenSessionOptions } from '../../sessions/sessions.js'
import type { RefreshedTokens, TokenPair } from '../../sessions/token-maker.js'
import {
  createDeletions,
  createErrorAnswer,
  createTokenAnswer,
  isReadElsewhere,
  toSessionAnswer,
  toSessionEnd,
  type Transport,
  withCookies,
} from './answers.js'
import { RefusedRequest } from '../router.js'
import { checkCredentials, type LoginBody, parseLoginBody, type UserClaims } from './credentials.js'
import type { RouteParts } from './options.js'
import { answerSession } from './sessions.js'
import { internalsOf } from '../../sessions/internals.js'

/** Checks credentials and opens a session; ends the session in the request's cookies. */
export async function answerLogin(parts: RouteParts, request: Request): Promise<Response> {
  const { tokens, options } = parts
  const { config } = tokens
  assertOwnPage(config, request)
  const { credentials, ...body } = await parseLoginBody(request, config)
  const transport = parseTransport(config, body)
  // First: a client that has no nonce yet repeats the request, and the rate limiter counts attempts.
  const proof = internalsOf(tokens).hasProof(request) ? { proofOf: request } : {}
  const given = { route: 'login', credentials, request, sub: null } as const
  let hasEndedCookies = false
  try {
    return await checkCredentials(parts, given, async (claims, settle) => {
      // First: if it fails, no session ends.
      const data = (await options.describeSession?.(claims, credentials, request)) ?? null
      const described = data === null ? {} : { data }
      const replaced = await readSessionsOfCookies(parts, request)
      // Open the new session first: if that fails, the old one continues. With a limit, end the old one first,
      // or it would count.
      const counted =
        options.maxSessions === undefined ? [] : replaced.filter(({ sub }) => sub === claims.uid)
      const others = replaced.filter((payload) => !counted.includes(payload))
      await endSessions(parts, counted, request)
      hasEndedCookies = counted.length > 0
      const pairOptions = { ...readPairOptions(parts, body.remember), ...proof, ...described, request }
      const answer = await openSession(parts, claims, pairOptions, async (pair) => {
        const created = createLoginAnswer(parts, pair, transport)
        if (options.deviceBound === true && transport === 'cookies') await offerBinding(parts, pair, created)
        await settle('success')
        await endSessions(parts, others, request)
        return created
      })
      const hasEnded = replaced.length > 0
      return hasEnded && transport === 'bearer' ? withCookies(answer, createDeletions(config)) : answer
    })
  } catch (error) {
    if (!hasEndedCookies) throw error
    return withCookies(createErrorAnswer(parts, error), createDeletions(config))
  }
}

/** The next pair of a session, for its refresh token. */
export async function answerRefresh(parts: RouteParts, request: Request): Promise<Response> {
  // The browser has renewed the access token itself; the page only asks when it expires.
  if (parts.options.deviceBound === true && (await isRenewedByDevice(parts, request))) {
    return answerSession(parts, request)
  }
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
      // First: a failing limiter must not use up the refresh token.
      await settle('success')
      return refresh(parts, request, { access: { fresh: true } })
    })
  })
}

// Ends the new session if the answer fails: nobody has its tokens.
async function openSession(
  { tokens }: RouteParts,
  claims: UserClaims,
  options: OpenSessionOptions,
  answer: (pair: TokenPair) => Promise<Response>,
): Promise<Response> {
  const pair = await tokens.sessions.open(claims, options)
  try {
    return await answer(pair)
  } catch (error) {
    // Read, not verified: the error may be that the tokens are refused.
    const { sid } = readOwnClaims(pair.accessToken) as { readonly sid: string }
    // If the store is unavailable, the session stays in the list until it expires. The first error is the one to report.
    await tokens.revoke.session({ sid, sub: claims.uid }, { request: options.request }).catch(() => undefined)
    throw error
  }
}

// Asks the browser to make a key for the session (W3C Device Bound Session Credentials). Other browsers ignore the header.
async function offerBinding(
  { tokens, options }: RouteParts,
  pair: TokenPair,
  answer: Response,
): Promise<void> {
  const { sid, cnf } = readOwnClaims(pair.refreshToken) as { readonly sid: string; readonly cnf?: unknown }
  if (cnf !== undefined) return
  const challenge = await internalsOf(tokens).devices.createChallenge(sid)
  const { path = '/auth' } = options
  answer.headers.set(
    'secure-session-registration',
    `(ES256 RS256);path="${path}/device/register";challenge="${challenge}"`,
  )
}

// Read without verifying: the caller also needs a valid access token, and does not get a new one.
async function isRenewedByDevice({ tokens }: RouteParts, request: Request): Promise<boolean> {
  const refreshToken = await tokens.getTokenFromRequest(request, { type: 'refresh', locations: 'cookies' })
  const { cnf } = (refreshToken && readOwnClaims(refreshToken.token)) ?? {}
  if (!isJsonObject(cnf) || cnf['jwk'] === undefined) return false
  return (await tokens.getTokenFromRequest(request, { type: 'access', locations: 'cookies' })) !== null
}

// A new token that is refused is a mistake of the application. A 401 would blame the user, at every login.
function createLoginAnswer(parts: RouteParts, pair: TokenPair, transport: Transport): Response {
  try {
    return createAnswer(parts, pair, transport, pair.refreshToken)
  } catch (cause) {
    if (!isTokenError(cause)) throw cause
    throw new TypeError(`describeUser makes tokens that the manager refuses: ${cause.code}`, { cause })
  }
}

// A page of another site that could log its visitor in as somebody else would see what the visitor then enters. The
// browser writes both headers, and no page can change them (Fetch §2.2.2).
function assertOwnPage(config: TokenConfig, request: Request): void {
  if (!config.hasLocation('cookies') || !config.JWT_COOKIE_CSRF_PROTECT) return
  const site = request.headers.get('sec-fetch-site')
  if (site !== 'cross-site' && site !== 'same-site') return
  if (isFromOrigin(toRequestView(request), [config.JWT_CSRF_ORIGINS ?? []].flat())) return
  throw new CsrfError('The login comes from a page of another origin')
}

function parseTransport(config: TokenConfig, { transport }: Pick<LoginBody, 'transport'>): Transport {
  const isBearerPossible = isReadElsewhere(config, 'access') && isReadElsewhere(config, 'refresh')
  const isCookiePossible = config.hasLocation('cookies')
  const chosen = transport ?? (isCookiePossible ? 'cookies' : 'bearer')
  if (chosen === 'cookies' ? isCookiePossible : isBearerPossible) return chosen
  throw new RefusedRequest(400, 'REQUEST_INVALID', `transport "${chosen}" is not configured`)
}

function readPairOptions({ options, tokens }: RouteParts, remember: boolean | undefined): OpenSessionOptions {
  const { maxSessions, whenFull } = options
  const isRemembered = remember ?? !tokens.config.JWT_SESSION_COOKIE
  const lifetime = isRemembered ? options.remember?.remembered : options.remember?.session
  return {
    access: { fresh: true },
    ...(lifetime !== undefined && { refresh: { expiresIn: lifetime } }),
    ...(remember !== undefined && { remember }),
    ...(maxSessions !== undefined && { maxSessions }),
    ...(whenFull !== undefined && { whenFull }),
  }
}

// The response with new tokens; any refresh token of the session tells when it ends.
function createAnswer(
  { tokens }: RouteParts,
  made: RefreshedTokens,
  transport: Transport,
  refreshToken: string,
): Response {
  const internals = internalsOf(tokens)
  const payload = internals.verifyWithoutRevocation(made.accessToken)
  const { exp = null } = internals.verifyWithoutRevocation(refreshToken, { type: 'refresh' })
  const endsAt = toSessionEnd(internals.config, exp, internals.now() / 1000)
  return createTokenAnswer(internals, made, toSessionAnswer(internals, payload, endsAt), transport)
}

// The request is from a page of the application, so no CSRF value is needed to end what its cookies belong to.
async function readSessionsOfCookies(parts: RouteParts, request: Request): Promise<readonly TokenPayload[]> {
  const found = [
    await readCookieToken(parts, request, 'refresh'),
    await readCookieToken(parts, request, 'access'),
  ]
  const sessions = new Map(
    found.flatMap((payload) => (payload === null ? [] : [[payload.sid ?? payload.jti, payload]])),
  )
  return [...sessions.values()]
}

async function endSessions(
  parts: RouteParts,
  sessions: readonly TokenPayload[],
  request: Request,
): Promise<void> {
  for (const payload of sessions) await parts.tokens.logout(payload, { request })
}

/** The payload of a genuine token in a cookie, expired or not; otherwise `null`. */
export async function readCookieToken(
  { tokens }: RouteParts,
  request: Request,
  type: TokenType,
): Promise<TokenPayload | null> {
  if (!tokens.config.hasLocation('cookies', type)) return null
  const internals = internalsOf(tokens)
  let found: RequestToken | null = null
  try {
    found = await tokens.getTokenFromRequest(request, { type, locations: 'cookies' })
    return found && internals.verifyWithoutRevocation(found.token, { type, allowExpired: true })
  } catch (error) {
    if (!isTokenError(error)) throw error
    // Without its key, a bound token can only end its session.
    return error.code === 'PROOF_REQUIRED' && found !== null
      ? internals.readRevocableToken(found.token)
      : null
  }
}

async function refresh(parts: RouteParts, request: Request, options: RefreshOptions): Promise<Response> {
  const { tokens } = parts
  const found = await tokens.getTokenFromRequest(request, { type: 'refresh' })
  // Return it the way it came: a token from a cookie must never go where a script can read it.
  const transport = found?.location === 'cookies' ? 'cookies' : 'bearer'
  const made = await tokens.sessions.refresh(request, options)
  if (isTooLate(made)) throw new RevocationUnavailableError(new Error('The refresh took too long'))
  return createAnswer(parts, made, transport, made.refreshToken ?? (found?.token as string))
}

// With these, the request itself has ended its session. Where the session was over before, the user may have logged in
// again in another tab: a deletion would take the cookies of the new session. All other refusals leave open
// whether the token is good: for an instance with another key, for a request with a CSRF value, once a clock is right.
const ENDS_SESSION: ReadonlySet<string> = new Set(['REFRESH_TOKEN_REUSED', 'SUBJECT_NOT_FOUND'])

/** Runs a route for the refresh token of a request, and deletes the cookies if that ends the session. */
export async function withRefreshToken(
  parts: RouteParts,
  request: Request,
  run: () => Promise<Response>,
): Promise<Response> {
  const found = await parts.tokens.getTokenFromRequest(request, { type: 'refresh' })
  try {
    return await run()
  } catch (error) {
    if (found?.location !== 'cookies' || !isTokenError(error) || !ENDS_SESSION.has(error.code)) throw error
    return withCookies(createErrorAnswer(parts, error), createDeletions(parts.tokens.config))
  }
}
