import type { StandardClaims } from '../claims/payload.js'
import { ConfigurationError, isTokenError, type TokenErrorCode } from '../errors.js'
import type { TokenConfig } from '../manager/config.js'
import { assertOptions, type OptionNames } from '../options.js'
import { readCookieHeader, type RequestToken, replaceCookies } from '../request/read-token.js'
import { type RequestSource, toRequestView } from '../request/request-source.js'
import type { RequestView } from '../request/view.js'
import type { RefreshOptions, TokenPair } from '../sessions/options.js'
import { createRefreshed, type ImplicitRefresh, readCookieName } from './refreshed-response.js'
import { coversPath, setAccessCookies, setRefreshCookies, unsetCookies } from './set-cookies.js'

/** What is needed of a manager; every `TokenManager` whose store keeps sessions has it. */
export interface RefreshingManager<Input extends object = object, Payload = unknown> {
  readonly config: TokenConfig
  refresh(source: RequestSource, options?: RefreshOptions<Input>): Promise<TokenPair>
  refreshTokenRequired(request: RequestSource): Promise<Payload>
  revokeSession(session: Pick<StandardClaims, 'sid'>): Promise<unknown>
  getTokenFromRequest(
    request: RequestSource,
    options?: { readonly type?: 'access' | 'refresh' },
  ): Promise<RequestToken | null>
  verifyTokenWithoutRevocation(token: string): object
}

/** How a request is refreshed; `Source` is what stands for a request in the framework. */
export interface ImplicitRefreshOptions<Source, Input extends object = object, Payload = unknown> {
  /**
   * The extra claims from this refresh on; `undefined` keeps those of the token, and `null` ends the session, because the
   * user is gone. As in `createSessionRoutes`.
   */
  readonly claimsOnRefresh?: (
    payload: Payload,
  ) => Input | null | undefined | Promise<Input | null | undefined>
  /** The address of the client, for the list of sessions; the default is what the framework knows. */
  readonly ip?: (source: Source) => string | null | undefined
}

/**
 * Refreshes the session of a request whose access cookie has expired and whose refresh cookie is good, so that the request
 * goes on with new tokens. `null` when there was nothing to do.
 *
 * A session that is over is not refreshed: the request goes on without it, and the headers delete what is left of it. A
 * request whose refresh token is refused for another reason, a missing CSRF value for example, goes on as it came. Rejects
 * when the store or the signer is unavailable: a request must not count as logged out for that.
 */
export async function refreshImplicitly<Source extends RequestSource, Input extends object, Payload>(
  tokens: RefreshingManager<Input, Payload>,
  request: Source,
  options: ImplicitRefreshOptions<Source, Input, Payload> = {},
): Promise<ImplicitRefresh | null> {
  assertOptions('refreshImplicitly()', options, OPTIONS)
  return refreshView(tokens, toRequestView(request), options.claimsOnRefresh, options.ip?.(request))
}

/** What an adapter calls for each request, with the view of its own. */
export function createImplicitRefresh<Source, Input extends object, Payload>(
  tokens: RefreshingManager<Input, Payload>,
  options: ImplicitRefreshOptions<Source, Input, Payload>,
  readIp: (source: Source) => string | null | undefined,
): (source: Source, view: RequestView) => Promise<ImplicitRefresh | null> {
  assertOptions('implicitRefresh()', options, OPTIONS)
  assertImplicitRefresh(tokens)
  const { claimsOnRefresh, ip = readIp } = options
  return (source, view) => refreshView(tokens, view, claimsOnRefresh, ip(source))
}

const OPTIONS: OptionNames<ImplicitRefreshOptions<never>> = { claimsOnRefresh: true, ip: true }

async function refreshView<Input extends object, Payload>(
  tokens: RefreshingManager<Input, Payload>,
  view: RequestView,
  claimsOnRefresh: ImplicitRefreshOptions<unknown, Input, Payload>['claimsOnRefresh'],
  ip: string | null | undefined,
): Promise<ImplicitRefresh | null> {
  const cookieHeader = readCookieHeader(view)
  if (cookieHeader === null || !(await needsRefresh(tokens, view))) return null
  const client = ip === null || ip === undefined ? {} : { ip }
  try {
    const claims = claimsOnRefresh && (await readClaims(tokens, view, claimsOnRefresh))
    if (claims === null) return replace(view, cookieHeader, unsetCookies(tokens))
    const pair = await tokens.refresh(view, { ...client, ...(claims && { claims }) })
    const cookies = [
      ...setAccessCookies(tokens, pair.accessToken),
      ...setRefreshCookies(tokens, pair.refreshToken),
    ]
    return replace(view, cookieHeader, cookies)
  } catch (error) {
    if (!isTokenError(error) || UNAVAILABLE.includes(error.code)) throw error
    return isOver(error.code) ? replace(view, cookieHeader, unsetCookies(tokens)) : null
  }
}

// `null`: the user is gone, and the session with it.
async function readClaims<Input extends object, Payload>(
  tokens: RefreshingManager<Input, Payload>,
  view: RequestView,
  claimsOnRefresh: NonNullable<ImplicitRefreshOptions<unknown, Input, Payload>['claimsOnRefresh']>,
): Promise<Input | null | undefined> {
  const payload = await tokens.refreshTokenRequired(view)
  const claims = await claimsOnRefresh(payload)
  if (claims === null) await tokens.revokeSession(payload as Pick<StandardClaims, 'sid'>)
  return claims
}

/** Throws `ConfigurationError` where a browser would not send the refresh cookie with the requests of pages. */
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

type AnyRefreshing = Pick<
  RefreshingManager,
  'config' | 'getTokenFromRequest' | 'verifyTokenWithoutRevocation'
>

async function needsRefresh(tokens: AnyRefreshing, view: RequestView): Promise<boolean> {
  const access = await readQuietly(tokens, view, 'access')
  // A token in a header or a body is that of a program, which refreshes by itself.
  if (access !== null && access.location !== 'cookies') return false
  if (access !== null && !isExpired(tokens, access.token)) return false
  const refresh = await readQuietly(tokens, view, 'refresh')
  return refresh?.location === 'cookies'
}

// What cannot be read is for the dependencies of the route to refuse.
async function readQuietly(
  tokens: AnyRefreshing,
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

function isExpired(tokens: AnyRefreshing, token: string): boolean {
  try {
    tokens.verifyTokenWithoutRevocation(token)
    return false
  } catch (error) {
    if (isTokenError(error)) return error.code === 'TOKEN_EXPIRED'
    throw error
  }
}

const UNAVAILABLE: readonly TokenErrorCode[] = ['REVOCATION_UNAVAILABLE', 'KEYS_UNAVAILABLE']
const OVER: readonly TokenErrorCode[] = ['TOKEN_EXPIRED', 'TOKEN_REVOKED', 'REFRESH_TOKEN_REUSED']

// A token that is refused for another reason may still be good elsewhere: for an application under the same names, or
// once a clock is right again.
function isOver(code: string): boolean {
  return (OVER as readonly string[]).includes(code)
}

function replace(view: RequestView, header: string, cookies: readonly string[]): ImplicitRefresh {
  const cookieHeader = toCookieHeader(header, cookies)
  replaceCookies(view, cookieHeader)
  return createRefreshed(cookies, cookieHeader)
}

// What a browser would send next: the cookies of the header, with those that are set and without those that are deleted.
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
    .filter((pair) => pair !== '' && !changed.has(pair.split('=', 1)[0]?.trim() ?? ''))
  const added = [...changed].filter(([, value]) => value !== '').map(([name, value]) => `${name}=${value}`)
  return [...kept, ...added].join('; ')
}
