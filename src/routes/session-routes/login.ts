import { TOKEN_OPTIONS } from '../../claims/create.js'
import type { TokenPayload, TokenType } from '../../claims/payload.js'
import { CsrfError, isTokenError } from '../../errors.js'
import { readOwnClaims } from '../../http/set-cookies.js'
import type { TokenConfig } from '../../manager/config.js'
import { assertOptions, type OptionNames } from '../../options.js'
import { isFromOrigin } from '../../request/csrf.js'
import { toRequestView } from '../../request/request-source.js'
import type { CreateTokenPairOptions, PairTokenOptions, TokenPair } from '../../sessions/options.js'
import {
  createDeletions,
  createTokenAnswer,
  isReadElsewhere,
  toSessionAnswer,
  withCookies,
} from './answers.js'
import { type LoginBody, parseLoginBody, type Transport } from './credentials.js'
import { checkCredentials, type UserClaims } from './check-credentials.js'
import type { LoginPairOptions } from './options.js'
import { readOrigin, type RouteParts, toErrorAnswer } from './parts.js'
import { RefusedRequest } from './refused-request.js'

/** Checks credentials and opens a session; the one that the cookies of the request belong to is ended. */
export async function answerLogin(parts: RouteParts, request: Request): Promise<Response> {
  const { config } = parts.tokens
  assertOwnPage(config, request)
  const body = await parseLoginBody(request, config)
  const transport = parseTransport(config, body)
  const claims = await checkCredentials(
    parts,
    { route: 'login', credentials: body.credentials, request },
    null,
  )
  if (claims instanceof Response) return claims

  const pairOptions = await readPairOptions(parts, claims, body.remember, request)
  const replaced = await readSessionsOfCookies(parts, request)
  // The new session is opened first: if that fails, the session before goes on. With a limit it must be ended first, or
  // it would count.
  const counted =
    parts.options.maxSessions === undefined ? [] : replaced.filter(({ sub }) => sub === claims.uid)
  const others = replaced.filter((payload) => !counted.includes(payload))
  await endSessions(parts, counted, request)
  try {
    const options = { ...pairOptions, ...readOrigin(parts, request) }
    const answer = await openSession(parts, claims, options, async (pair) => {
      const created = createLoginAnswer(parts, pair, transport)
      await endSessions(parts, others, request)
      return created
    })
    const hasEnded = replaced.length > 0
    return hasEnded && transport === 'bearer' ? withCookies(answer, createDeletions(config)) : answer
  } catch (error) {
    if (counted.length === 0) throw error
    return withCookies(toErrorAnswer(parts, error), createDeletions(config))
  }
}

// If there is no answer, nobody has the tokens of the new session, and it is ended.
async function openSession(
  { tokens }: RouteParts,
  claims: UserClaims,
  options: CreateTokenPairOptions,
  answer: (pair: TokenPair) => Promise<Response>,
): Promise<Response> {
  const pair = await tokens.createTokenPair(claims, options)
  try {
    return await answer(pair)
  } catch (error) {
    // Read, not verified: the error may be that the tokens are refused.
    const { sid } = readOwnClaims(pair.accessToken) as { readonly sid: string }
    // If the store is unavailable, the session stays in the list until it expires. The first error is the one to report.
    await tokens.revokeSession({ sid, sub: claims.uid }).catch(() => undefined)
    throw error
  }
}

// A token that is refused as soon as it was made is a mistake of the application. As 401 it would be taken for one of the
// user, at every log-in.
function createLoginAnswer(parts: RouteParts, pair: TokenPair, transport: Transport): Response {
  try {
    return createAnswer(parts, pair, transport)
  } catch (cause) {
    if (!isTokenError(cause)) throw cause
    throw new TypeError(`pairOptions makes tokens that the manager refuses: ${cause.code}`, { cause })
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

function parseTransport(config: TokenConfig, { transport }: LoginBody): Transport {
  const isBearerPossible = isReadElsewhere(config, 'access') && isReadElsewhere(config, 'refresh')
  const isCookiePossible = config.hasLocation('cookies')
  const chosen = transport ?? (isCookiePossible ? 'cookies' : 'bearer')
  if (chosen === 'cookies' ? isCookiePossible : isBearerPossible) return chosen
  throw new RefusedRequest(400, 'REQUEST_INVALID', `transport "${chosen}" is not configured`)
}

async function readPairOptions(
  { options, tokens }: RouteParts,
  claims: UserClaims,
  remember: boolean | undefined,
  request: Request,
): Promise<CreateTokenPairOptions> {
  const { access, ...given } = (await options.pairOptions?.(claims, request)) ?? {}
  assertOptions('pairOptions', { access, ...given }, LOGIN_PAIR_OPTIONS)
  const { maxSessions, whenFull } = options
  const isRemembered = remember ?? !tokens.config.JWT_SESSION_COOKIE
  const lifetime = isRemembered ? options.remember?.remembered : options.remember?.session
  return {
    ...given,
    access: { fresh: given.fresh ?? true, ...access },
    ...(lifetime !== undefined &&
      !hasExpiry(given) && { refresh: { ...given.refresh, expiresIn: lifetime } }),
    ...(remember !== undefined && { remember }),
    ...(maxSessions !== undefined && { maxSessions }),
    ...(whenFull !== undefined && { whenFull }),
  }
}

function hasExpiry({ refresh = {}, ...shared }: LoginPairOptions): boolean {
  return [refresh, shared].some(
    ({ expiresIn, expiresAt }) => expiresIn !== undefined || expiresAt !== undefined,
  )
}

const { notBefore: _notBefore, ...LOGIN_PAIR_OPTIONS } = {
  ...TOKEN_OPTIONS,
  access: true,
  refresh: true,
} satisfies OptionNames<PairTokenOptions>

/** The answer with a pair that was just made. */
export function createAnswer({ tokens }: RouteParts, pair: TokenPair, transport: Transport): Response {
  const payload = tokens.verifyTokenWithoutRevocation(pair.accessToken)
  const { exp: endsAt = null } = tokens.verifyTokenWithoutRevocation(pair.refreshToken, { type: 'refresh' })
  return createTokenAnswer(tokens, pair, toSessionAnswer(tokens, payload, endsAt), transport)
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
  for (const payload of sessions) await parts.tokens.logout(payload, readOrigin(parts, request))
}

// A genuine token, expired or not. What is none has no session to end.
async function readCookieToken(
  { tokens }: RouteParts,
  request: Request,
  type: TokenType,
): Promise<TokenPayload | null> {
  if (!tokens.config.hasLocation('cookies', type)) return null
  try {
    const found = await tokens.getTokenFromRequest(request, { type, locations: 'cookies' })
    return found && tokens.verifyTokenWithoutRevocation(found.token, { type, allowExpired: true })
  } catch (error) {
    if (isTokenError(error)) return null
    throw error
  }
}
