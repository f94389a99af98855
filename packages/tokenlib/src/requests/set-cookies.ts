import { readBase64urlText, readJsonObject } from '../encoding.js'
import { ConfigurationError } from '../errors.js'
import type { TokenType } from '../tokens/payload.js'
import type { TokenConfig } from '../config/config.js'
import { parseDuration } from '../time.js'
import { serialize } from 'cookie-es'
import { readCookieName } from '../http/refreshed-response.js'

/** The name, value and attributes of a `Set-Cookie` value, or `undefined`. */
export { parseSetCookie } from 'cookie-es'

// RFC 6265 §6.1: what a browser must be able to store; beyond it the cookie vanishes without a word.
const MAX_COOKIE_BYTES = 4096
// RFC 6265bis §5.5: no cookie lives longer than 400 days, even if its token never expires.
const MAX_COOKIE_AGE = 400 * 86_400

interface Configured {
  readonly config: TokenConfig
}

/** The `Set-Cookie` values that give a browser an access token, and its CSRF value if that is on. */
export function setAccessCookies(tokens: Configured, token: string): string[] {
  return createCookies(tokens.config, 'access', token)
}

/**
 * The `Set-Cookie` values that give a browser a refresh token, and its CSRF value if that is on. Empty for `null`, which a
 * refresh returns if the browser keeps the cookies it has.
 */
export function setRefreshCookies(tokens: Configured, token: string | null): string[] {
  return token === null ? [] : createCookies(tokens.config, 'refresh', token)
}

/** The `Set-Cookie` values that give a browser the tokens of a login or a refresh, those that are read from cookies. */
export function setCookies(
  tokens: Configured,
  { accessToken, refreshToken }: { readonly accessToken: string; readonly refreshToken: string | null },
): string[] {
  const { config } = tokens
  return withoutRepetition([
    ...(config.hasLocation('cookies', 'access') ? setAccessCookies(tokens, accessToken) : []),
    ...(config.hasLocation('cookies', 'refresh') ? setRefreshCookies(tokens, refreshToken) : []),
  ])
}

/** `Set-Cookie` values without those that a later one replaces: both tokens of a pair bring the same CSRF cookie. */
export function withoutRepetition(cookies: readonly string[]): string[] {
  return [...new Map(cookies.map((cookie) => [readCookieName(cookie), cookie])).values()]
}

/** The `Set-Cookie` values that delete the access cookie, and the CSRF cookie unless refresh cookies need it. */
export function unsetAccessCookies(tokens: Configured): string[] {
  return createDeletions(tokens.config, ['access'])
}

/** The `Set-Cookie` values that delete the refresh cookie, and the CSRF cookie unless access cookies need it. */
export function unsetRefreshCookies(tokens: Configured): string[] {
  return createDeletions(tokens.config, ['refresh'])
}

/** The `Set-Cookie` values that delete every cookie of the manager. */
export function unsetCookies(tokens: Configured): string[] {
  return createDeletions(tokens.config, ['access', 'refresh'])
}

/** Whether a browser sends a cookie of a path with a request of another (RFC 6265 §5.1.4). */
export function coversPath(cookiePath: string, path: string): boolean {
  if (cookiePath === path) return true
  return path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`)
}

function createCookies(config: TokenConfig, type: TokenType, token: string): string[] {
  if (!config.hasLocation('cookies', type)) {
    throw new ConfigurationError(
      `${type} cookies are set but never read: add 'cookies' to JWT_TOKEN_LOCATION`,
    )
  }
  const claims = readOwnClaims(token)
  if (claims?.['type'] !== type)
    throw new TypeError(`Not ${type === 'access' ? 'an access' : 'a refresh'} token`)
  const { csrf } = claims
  const cookie = createCookie(config, type, token, readMaxAge(config, claims))
  if (typeof csrf !== 'string' || !setsCsrf(config)) return [cookie]
  // There is one CSRF cookie. If both tokens are in cookies, they need the same value, as the tokens of a session have.
  if (type === 'refresh' && claims['sid'] === undefined && config.hasLocation('cookies', 'access')) {
    throw new TypeError(
      'A refresh token without a session has its own CSRF value, but there is only one CSRF cookie: ' +
        'create both tokens with sessions.open()',
    )
  }
  return [cookie, createCookie(config, 'csrf', csrf, readCsrfMaxAge(config, claims))]
}

// A browser deletes a cookie only when name, domain and path are those it was set with, and keeps a __Host- or
// SameSite=None one unless the other attributes are repeated too.
function createDeletions(config: TokenConfig, types: readonly TokenType[]): string[] {
  const isLast = (['access', 'refresh'] as const).every(
    (type) => types.includes(type) || !config.hasLocation('cookies', type),
  )
  const deleted: (TokenType | 'csrf')[] = [...types]
  // In the order in which they are set.
  if (isLast && setsCsrf(config)) deleted.splice(1, 0, 'csrf')
  return deleted.map((cookie) => createCookie(config, cookie, '', 0))
}

const PREFIXES = { access: 'JWT_ACCESS', refresh: 'JWT_REFRESH', csrf: 'JWT_ACCESS_CSRF' } as const

function createCookie(
  config: TokenConfig,
  cookie: TokenType | 'csrf',
  value: string,
  maxAge: number | null,
): string {
  const name = config[`${PREFIXES[cookie]}_COOKIE_NAME`]
  const header = serialize(name, value, {
    path: config[`${PREFIXES[cookie]}_COOKIE_PATH`],
    // Scripts must be able to read the CSRF cookie.
    httpOnly: cookie !== 'csrf' && config.JWT_COOKIE_HTTP_ONLY,
    secure: config.JWT_COOKIE_SECURE,
    sameSite: config.JWT_COOKIE_SAMESITE,
    ...(config.JWT_COOKIE_DOMAIN !== null && { domain: config.JWT_COOKIE_DOMAIN }),
    ...(maxAge !== null && { maxAge }),
    ...(maxAge === 0 && { expires: new Date(0) }),
  })
  const size = Buffer.byteLength(header)
  if (size > MAX_COOKIE_BYTES) {
    throw new TypeError(`The cookie ${name} has ${size} bytes; browsers drop those over ${MAX_COOKIE_BYTES}`)
  }
  return header
}

function setsCsrf(config: TokenConfig): boolean {
  return config.JWT_COOKIE_CSRF_PROTECT && config.JWT_CSRF_IN_COOKIES
}

// Seconds, or null for a cookie that ends with the browser session.
function readMaxAge(config: TokenConfig, { exp, iat, remember }: Record<string, unknown>): number | null {
  if (typeof remember === 'boolean' ? !remember : config.JWT_SESSION_COOKIE) return null
  if (config.JWT_COOKIE_MAX_AGE !== null) return Math.floor(parseDuration(config.JWT_COOKIE_MAX_AGE))
  // The token is new, so what is left of its life is all of it.
  return typeof exp === 'number' && typeof iat === 'number' ? Math.max(0, exp - iat) : MAX_COOKIE_AGE
}

// A session outlives its access tokens, and an access token does not say for how long: a refresh that brings only a new one
// must not shorten the life of the value that the refresh cookie needs. Without its token the value is worth nothing.
function readCsrfMaxAge(config: TokenConfig, claims: Record<string, unknown>): number | null {
  const maxAge = readMaxAge(config, claims)
  if (maxAge === null || config.JWT_COOKIE_MAX_AGE !== null || claims['type'] === 'refresh') return maxAge
  const isShared = claims['sid'] !== undefined && config.hasLocation('cookies', 'refresh')
  return isShared ? MAX_COOKIE_AGE : maxAge
}

/** The claims of a token that the application has just made, or has verified: they are read, not checked. */
export function readOwnClaims(token: string): Record<string, unknown> | null {
  const text = readBase64urlText(token.split('.', 3)[1] ?? '')
  return text === null ? null : readJsonObject(text)
}
