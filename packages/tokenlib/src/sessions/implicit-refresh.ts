import { ConfigurationError, isOutage, isTokenError, type TokenErrorCode } from '../errors.js'
import type { TokenConfig } from '../config/config.js'
import { internalsOf } from './internals.js'
import { isTooLate } from './refresh.js'
import type { RefreshedTokens } from './token-maker.js'
import { readCookieHeader, type RequestToken, replaceCookies } from '../http/read-token.js'
import { type RequestSource, toRequestView } from '../http/request-source.js'
import type { RequestView } from '../http/view.js'
import { createRefreshed, type ImplicitRefresh, readCookieName } from '../http/refreshed-response.js'
import { coversPath, setCookies, unsetCookies } from '../requests/set-cookies.js'

/** The part of a manager that this needs; every `TokenManager` whose store keeps sessions has it. */
export interface RefreshingManager {
  readonly config: TokenConfig
  readonly sessions: { refresh(source: RequestSource): Promise<RefreshedTokens> }
  getTokenFromRequest(
    request: RequestSource,
    options?: { readonly type?: 'access' | 'refresh' },
  ): Promise<RequestToken | null>
}

/**
 * Refreshes the session of a request whose access cookie has expired and whose refresh cookie is valid, so that the request
 * continues with new tokens. Returns `null` if there was nothing to do.
 *
 * If the session has ended, or `describeUser` rejects its user, the request continues without a session, and the headers
 * delete its cookies. If the refresh token was just superseded, the request also continues without a session, but the
 * cookies stay: the browser has newer ones, or gets them soon. If the refresh token is rejected for another reason, such as
 * a missing CSRF value, the request continues unchanged. Rejects if the store or the signer is unavailable, or if
 * `describeUser` throws: that must not look like a logout.
 */
export async function refreshImplicitly(
  tokens: RefreshingManager,
  request: RequestSource,
): Promise<ImplicitRefresh | null> {
  return refreshView(tokens, toRequestView(request))
}

/** The same as a function of a view, for adapters. Checks the manager once. */
export function createImplicitRefresh(
  tokens: RefreshingManager,
): (view: RequestView) => Promise<ImplicitRefresh | null> {
  assertImplicitRefresh(tokens)
  return (view) => refreshView(tokens, view)
}

async function refreshView(tokens: RefreshingManager, view: RequestView): Promise<ImplicitRefresh | null> {
  const cookieHeader = readCookieHeader(view)
  if (cookieHeader === null || !(await needsRefresh(tokens, view))) return null
  let made: RefreshedTokens
  try {
    made = await tokens.sessions.refresh(view)
  } catch (error) {
    if (!isTokenError(error) || isOutage(error)) throw error
    const isSuperseded = error.code === 'REFRESH_SUPERSEDED'
    if (!isSuperseded && !OVER.includes(error.code)) return null
    const deletions = unsetCookies(tokens)
    return createRefreshed(isSuperseded ? [] : deletions, replace(view, cookieHeader, deletions))
  }
  const cookies = setCookies(tokens, made)
  return createRefreshed(cookies, replace(view, cookieHeader, cookies), () => isTooLate(made))
}

/** Throws `ConfigurationError` if browsers would not send the refresh cookie with every page request. */
export function assertImplicitRefresh({ config }: Pick<RefreshingManager, 'config'>): void {
  if (!config.hasLocation('cookies', 'access') || !config.hasLocation('cookies', 'refresh')) {
    throw new ConfigurationError("An implicit refresh needs cookies: add 'cookies' to JWT_TOKEN_LOCATION")
  }
  const { JWT_ACCESS_COOKIE_PATH: access, JWT_REFRESH_COOKIE_PATH: refresh } = config
  if (coversPath(refresh, access)) return
  throw new ConfigurationError(
    `An implicit refresh needs the refresh cookie wherever the access cookie is sent: JWT_REFRESH_COOKIE_PATH is ` +
      `${refresh}, JWT_ACCESS_COOKIE_PATH is ${access}`,
  )
}

async function needsRefresh(tokens: RefreshingManager, view: RequestView): Promise<boolean> {
  const access = await readQuietly(tokens, view, 'access')
  // A token in a header or a body comes from a program, which refreshes by itself.
  if (access !== null && access.location !== 'cookies') return false
  if (access !== null && !isExpired(tokens, access.token)) return false
  const refresh = await readQuietly(tokens, view, 'refresh')
  return refresh?.location === 'cookies'
}

// A token that cannot be read is refused by the dependencies of the route.
async function readQuietly(
  tokens: RefreshingManager,
  view: RequestView,
  type: 'access' | 'refresh',
): Promise<RequestToken | null> {
  try {
    return await tokens.getTokenFromRequest(view, { type })
  } catch (error) {
    if (isTokenError(error)) return null
    throw error
  }
}

function isExpired(tokens: RefreshingManager, token: string): boolean {
  try {
    internalsOf(tokens).verifyWithoutRevocation(token)
    return false
  } catch (error) {
    if (isTokenError(error)) return error.code === 'TOKEN_EXPIRED'
    throw error
  }
}

// A token that is refused for another reason may still be valid elsewhere: in an application with the same cookie names, or
// once a clock is right again.
const OVER: readonly TokenErrorCode[] = [
  'TOKEN_EXPIRED',
  'TOKEN_REVOKED',
  'REFRESH_TOKEN_REUSED',
  'SUBJECT_NOT_FOUND',
]

// Applies `Set-Cookie` values to the cookies of a request, and returns its new `Cookie` header.
function replace(view: RequestView, header: string, cookies: readonly string[]): string {
  const cookieHeader = toCookieHeader(header, cookies)
  replaceCookies(view, cookieHeader)
  return cookieHeader
}

// What a browser would send next: the cookies of the header, plus the cookies that are set, minus the deleted ones.
function toCookieHeader(header: string, setCookies: readonly string[]): string {
  const changed = new Map(
    setCookies.map((cookie) => {
      const name = readCookieName(cookie)
      return [name, (cookie.split(';', 1)[0] as string).slice(name.length + 1)]
    }),
  )
  const kept = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '' && !changed.has((pair.split('=', 1)[0] as string).trim()))
  const added = [...changed].filter(([, value]) => value !== '').map(([name, value]) => `${name}=${value}`)
  return [...kept, ...added].join('; ')
}
