/** What an implicit refresh has changed. */
export interface ImplicitRefresh {
  /**
   * Every header that the response must have if it is sent now: one `set-cookie` per cookie (deletions if the session is
   * over), and `cache-control`. `applyTo` sets them. It has no cookies if it is too late to send the new tokens.
   */
  readonly headers: readonly HeaderPair[]
  /** The `Cookie` header with the new tokens, to pass on to the next handler; dependencies find them by themselves. */
  readonly cookieHeader: string
  /**
   * Sets `headers` on a response, and keeps it out of shared caches. Call it last: cookies that the
   * response already has win, because a login or a logout is newer than the refresh.
   */
  applyTo(headers: Headers): void
}

/** The name of a header, in lower case, and its value. */
export type HeaderPair = readonly [name: string, value: string]

/** The `Cache-Control` of a response with tokens: for its client only. */
const PRIVATE = 'private, no-store'

// RFC 9213 §2.2: a targeted header, such as `CDN-Cache-Control`, overrides `Cache-Control` in the caches that know it. The
// others here do the same in the caches that they were invented for.
const LIFETIMES: ReadonlySet<string> = new Set([
  'expires',
  'surrogate-control',
  'edge-control',
  'x-accel-expires',
])

/** Whether a header, besides `Cache-Control`, tells a shared cache how long to keep a response. */
export function isCacheLifetime(name: string): boolean {
  const key = name.toLowerCase()
  return LIFETIMES.has(key) || key.endsWith('-cache-control')
}

/** Keeps a response with tokens out of shared caches, whatever its headers allowed before. */
export function keepPrivate(headers: Headers): void {
  for (const name of [...headers.keys()].filter(isCacheLifetime)) headers.delete(name)
  headers.set('cache-control', PRIVATE)
}

/** Creates the result of a refresh from its cookies and the new `Cookie` header. */
export function createRefreshed(
  cookies: readonly string[],
  cookieHeader: string,
  isLate: () => boolean = () => false,
): ImplicitRefresh {
  const refreshed: ImplicitRefresh = {
    get headers(): readonly HeaderPair[] {
      const sent = isLate() ? [] : cookies
      return [...sent.map((cookie): HeaderPair => ['set-cookie', cookie]), ['cache-control', PRIVATE]]
    },
    cookieHeader,
    applyTo(target) {
      keepPrivate(target)
      for (const cookie of selectCookies(refreshed, target.getSetCookie()))
        target.append('set-cookie', cookie)
    },
  }
  return refreshed
}

/** The cookies of a refresh, except those that the response sets itself: cookies of a login or logout are newer. */
export function selectCookies({ headers }: ImplicitRefresh, own: readonly string[]): readonly string[] {
  const names = new Set(own.map(readCookieName))
  return headers
    .filter(([name, value]) => name === 'set-cookie' && !names.has(readCookieName(value)))
    .map(([, value]) => value)
}

/** A copy of a response with the headers of a refresh. */
export function toRefreshedResponse(response: Response, refreshed: ImplicitRefresh): Response {
  const { status, statusText, body } = response
  // An upgrade cannot be copied, and is never shared between requests as other responses may be.
  if (status === 101) {
    refreshed.applyTo(response.headers)
    return response
  }
  const headers = new Headers(response.headers)
  refreshed.applyTo(headers)
  return new Response(body, { status, statusText, headers })
}

/** The name of the cookie that a `Set-Cookie` value sets. */
export function readCookieName(cookie: string): string {
  return cookie.slice(0, cookie.indexOf('='))
}
