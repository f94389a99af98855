import { extraClaims, type TokenPayload, type TokenType } from '../../tokens/payload.js'
import { keepPrivate } from '../../http/refreshed-response.js'
import {
  setAccessCookies,
  setRefreshCookies,
  unsetAccessCookies,
  unsetCookies,
  unsetRefreshCookies,
  withoutRepetition,
} from '../../requests/set-cookies.js'
import type { TokenConfig } from '../../config/config.js'
import type { RefreshedTokens } from '../../sessions/token-maker.js'
import { parseDuration } from '../../time.js'
import { formatBody } from '../../requests/error-response.js'
import { createEmptyAnswer, createJsonAnswer, type RefusedRequest, toErrorAnswer } from '../router.js'
import { internalsOf } from '../../sessions/internals.js'
import type { RouteParts } from './options.js'

/** The `code` of every answer of these routes that is not about a token. */
export type SessionRouteErrorCode =
  | 'CHALLENGE_REQUIRED'
  | 'CREDENTIALS_INVALID'
  | 'MEDIA_TYPE_UNSUPPORTED'
  | 'METHOD_NOT_ALLOWED'
  | 'RATE_LIMITED'
  | 'REQUEST_INVALID'
  | 'REQUEST_TOO_LARGE'
  | 'SESSION_DATA_TOO_LARGE'
  | 'SESSION_NOT_FOUND'

/** How a client gets its tokens: in cookies, or in the body of the answer. */
export type Transport = 'cookies' | 'bearer'

/** A session as its own client sees it. Times are seconds from now, because clocks of clients are wrong. */
export interface SessionAnswer {
  /** The `sid`, or `null` for a token that belongs to no session. */
  readonly id: string | null
  readonly sub: string
  /** The extra claims of the access token. */
  readonly claims: Readonly<Record<string, unknown>>
  readonly scopes: readonly string[]
  /** Whether the access token counts as fresh now. */
  readonly fresh: boolean
  /** `null` for an access token that never expires. */
  readonly accessExpiresIn: number | null
  /** Until the session ends unless it is refreshed; `null` for never. */
  readonly expiresIn: number | null
}

/** What answers are made with. */
export interface AnswerParts {
  readonly config: TokenConfig
  /** Epoch milliseconds. */
  readonly now: () => number
  /** A nonce for the next DPoP proof; `null` if proofs need none. */
  readonly createNonce: () => string | null
}

/** The session of an access token; `endsAt` is in epoch seconds, or `null` for never. */
export function toSessionAnswer(
  { config, now: clock }: AnswerParts,
  payload: TokenPayload<object>,
  endsAt: number | null,
): SessionAnswer {
  const now = clock() / 1000
  // Rounded down: a client must not take an expired token for a good one.
  const secondsUntil = (at: number | null): number | null =>
    at === null ? null : Math.max(0, Math.floor(at - now))
  const { [config.JWT_IDENTITY_CLAIM]: _sub, ...claims } = extraClaims(payload) as Record<string, unknown>
  const { sid = null, sub, scopes = [], fresh, exp = null } = payload
  return {
    id: sid,
    sub,
    claims,
    scopes,
    fresh: fresh === true || (typeof fresh === 'number' && now < fresh),
    accessExpiresIn: secondsUntil(exp),
    expiresIn: secondsUntil(endsAt),
  }
}

/** When an unused session ends: when it expires or is idle for too long. Epoch seconds; `null` for never. */
export function toSessionEnd(config: TokenConfig, endsAt: number | null, usedAt: number): number | null {
  const idle = config.JWT_REFRESH_IDLE_EXPIRES
  const end = Math.min(endsAt ?? Infinity, idle === false ? Infinity : usedAt + parseDuration(idle))
  return end === Infinity ? null : end
}

/** Whether a token of this type goes into a cookie; a type that is only read from cookies always does. */
function goesIntoCookie(config: TokenConfig, type: TokenType, transport: Transport): boolean {
  return config.hasLocation('cookies', type) && (transport === 'cookies' || !isReadElsewhere(config, type))
}

/** Whether tokens of a type are also, or only, read from other places than cookies. */
export function isReadElsewhere(config: TokenConfig, type: TokenType): boolean {
  return (['headers', 'json', 'query'] as const).some((location) => config.hasLocation(location, type))
}

/** The answer with new tokens; those that do not go into cookies are in the body. */
export function createTokenAnswer(
  { config, createNonce }: AnswerParts,
  { accessToken, refreshToken, tokenType }: RefreshedTokens,
  session: SessionAnswer,
  transport: Transport,
): Response {
  const cookies: string[] = []
  const members: { accessToken?: string; refreshToken?: string; tokenType?: string } = {}
  if (goesIntoCookie(config, 'access', transport)) {
    cookies.push(...setAccessCookies({ config }, accessToken))
  } else {
    members.accessToken = accessToken
    members.tokenType = tokenType
  }
  if (goesIntoCookie(config, 'refresh', transport)) {
    cookies.push(...setRefreshCookies({ config }, refreshToken))
  } else if (refreshToken !== null) {
    members.refreshToken = refreshToken
  }
  // RFC 9449 §8.2: the client refreshes its nonce along with its tokens.
  const nonce = createNonce()
  const headers = nonce === null ? {} : { 'dpop-nonce': nonce }
  return withCookies(createJsonAnswer({ session, ...members }, { headers }), withoutRepetition(cookies))
}

/** The response with `Set-Cookie` values added, which no shared cache keeps then. */
export function withCookies(response: Response, cookies: readonly string[]): Response {
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  if (cookies.length > 0) keepPrivate(response.headers)
  return response
}

/** The `Set-Cookie` values that delete every cookie that these routes set. */
export function createDeletions(config: TokenConfig): string[] {
  if (!config.hasLocation('cookies', 'refresh')) {
    return config.hasLocation('cookies', 'access') ? unsetAccessCookies({ config }) : []
  }
  return config.hasLocation('cookies', 'access') ? unsetCookies({ config }) : unsetRefreshCookies({ config })
}

/** The answer to the end of the request's own session. */
export function createEnd({ tokens }: RouteParts): Response {
  return withCookies(createEmptyAnswer(204), createDeletions(tokens.config))
}

/** The answer to a refusal or a token error, with the same members in the body. Any other error is thrown on. */
export function createErrorAnswer({ tokens }: Pick<RouteParts, 'tokens'>, error: unknown): Response {
  const { config, formatError } = internalsOf(tokens)
  const toBody = ({ status, code, message }: RefusedRequest): object =>
    formatBody(formatError, {
      status,
      code,
      message,
      body: { [config.JWT_ERROR_MESSAGE_KEY]: message, code },
      error: null,
    })
  return toErrorAnswer(error, toBody, { config, formatError })
}
