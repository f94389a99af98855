import { deepEqual, equal } from 'node:assert/strict'
import { parseSetCookie } from 'tokenlib/kit'

/** The parts of a request that a page sets. */
export interface SentRequest {
  /** Sent as JSON; a text is sent as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Replaces the CSRF value of the cookie; `null` sends none. */
  readonly csrf?: string | null
}

/** A client that keeps cookies, as far as the contract needs one. */
export interface SessionBrowser {
  /** A route is written `POST login`. Pages send the CSRF value of the cookie that the route reads. */
  send(route: string, sent?: SentRequest): Promise<Response>
  /** Throws unless the login succeeds. */
  logIn(name: string, more?: object): Promise<SessionBody>
  /** Keeps the cookies of a response. */
  keep(response: Response): void
  /** Another browser with a copy of the cookies: a second tab, or a thief. */
  copy(): SessionBrowser
  /** The names of the cookies it has. */
  cookieNames(): readonly string[]
}

/** The response body of a login and of a refresh. */
export interface SessionBody {
  readonly session: {
    readonly id: string
    readonly sub: string
    readonly claims: Readonly<Record<string, unknown>>
    readonly scopes: readonly string[]
    readonly fresh: boolean
    readonly accessExpiresIn: number
    readonly expiresIn: number
  }
  readonly accessToken?: string
  readonly refreshToken?: string
}

interface KeptCookie {
  readonly value: string
  readonly path: string
}

/** A browser without cookies, for routes below `url`. */
export function createSessionBrowser(
  url: string,
  cookies: Map<string, KeptCookie> = new Map(),
): SessionBrowser {
  const root = new URL(url).pathname

  const toCookieHeader = (path: string): Record<string, string> => {
    const sent = [...cookies].filter(([, { path: own }]) => own === '/' || `${path}/`.startsWith(`${own}/`))
    return sent.length === 0 ? {} : { cookie: sent.map(([name, { value }]) => `${name}=${value}`).join('; ') }
  }

  const browser: SessionBrowser = {
    async send(route, { body, headers = {}, csrf } = {}) {
      const [method = '', path = ''] = route.split(' ')
      const value = csrf === undefined ? cookies.get('csrf_access_token')?.value : csrf
      const response = await fetch(`${url}/${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...toCookieHeader(`${root}/${path}`),
          ...(typeof value === 'string' && { 'x-csrf-token': value }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      browser.keep(response)
      return response
    },
    async logIn(name, more = {}) {
      const response = await browser.send('POST login', { body: { name, password: 'secret', ...more } })
      equal(response.status, 200)
      return response.json() as Promise<SessionBody>
    },
    keep(response) {
      for (const header of response.headers.getSetCookie()) {
        const cookie = parseSetCookie(header)
        if (cookie === undefined) continue
        const { name, value, path = '/', maxAge } = cookie
        if (maxAge === 0) cookies.delete(name)
        else cookies.set(name, { value, path })
      }
    },
    copy: () => createSessionBrowser(url, new Map(cookies)),
    cookieNames: () => [...cookies.keys()],
  }
  return browser
}

/** Asserts the status and the code of a refusal; its body must be there to be read. */
export async function assertRefused(response: Response, status: number, code: string): Promise<void> {
  const body = (await response.json()) as { readonly code?: string }
  equal(`${response.status} ${body.code}`, `${status} ${code}`)
  // With cookies also `private`, for a cache that does not know `no-store`.
  const hasCookies = response.headers.getSetCookie().length > 0
  equal(response.headers.get('cache-control'), hasCookies ? 'private, no-store' : 'no-store')
}

/** Asserts that a response deletes every cookie. */
export function assertDeletion(response: Response, browser: SessionBrowser): void {
  equal(response.headers.getSetCookie().length, 3)
  deepEqual(browser.cookieNames(), [])
}
