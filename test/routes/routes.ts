import type { JsonClaims, TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import type { ReadClientIp } from '../../packages/tokenlib/src/kit.js'
import {
  createSessionRoutes,
  type SessionRoutesOptions,
} from '../../packages/tokenlib/src/routes/session-routes.js'
import { createCookieJar } from '../helpers/cookie-jar.js'
import { createRevocable } from '../helpers/revocable.js'

/** Cookies over plain HTTP, and their CSRF values. */
export const COOKIES = { JWT_TOKEN_LOCATION: ['cookies', 'headers'], JWT_COOKIE_SECURE: false } as const

interface Options extends Partial<SessionRoutesOptions<JsonClaims>> {
  /** An option of the manager. */
  readonly clientIp?: ReadClientIp
}

/** Everybody's password is `secret`. */
export const logIn: SessionRoutesOptions<JsonClaims>['logIn'] = ({ name, password }) =>
  typeof name === 'string' && password === 'secret' ? { uid: name, role: 'reader' } : null

/** Session routes on a memory store, and a browser that keeps their cookies. */
export function createRoutes(config: TokenConfigOptions = COOKIES, given: Options = {}) {
  const { clientIp, ...options } = given
  const revocable = createRevocable(config, { ...(clientIp && { clientIp }) })
  const routes = createSessionRoutes(revocable.tokens, { logIn, ...options })
  return { ...revocable, routes, createBrowser: () => createBrowser(routes) }
}

/** What a request of a browser has besides its cookies. */
export interface Sent {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The CSRF value; by default that of the cookie, as a page would send it. */
  readonly csrf?: string | null
}

/** A browser for session routes. */
export function createBrowser({ handle }: Pick<ReturnType<typeof createSessionRoutes>, 'handle'>) {
  const jar = createCookieJar()
  const send = async (route: string, sent: Sent = {}): Promise<Response> => {
    const [method = '', path = ''] = route.split(' ')
    const csrf = sent.csrf === undefined ? jar.read('csrf_access_token') : sent.csrf
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: {
        ...jar.headers(path),
        ...(typeof csrf === 'string' && { 'x-csrf-token': csrf }),
        ...(sent.body !== undefined && { 'content-type': 'application/json' }),
        ...sent.headers,
      },
      ...(sent.body !== undefined && {
        body: typeof sent.body === 'string' ? sent.body : JSON.stringify(sent.body),
      }),
    })
    const response = await handle(request)
    if (response === null) return new Response('none of the routes', { status: 599 })
    jar.store(response.headers.getSetCookie())
    return response
  }
  return {
    jar,
    send,
    /** A request of the application's own pages. */
    request: () => new Request('http://localhost/', { headers: jar.headers('/') }),
    logIn: (name = 'ada', more: object = {}) =>
      send('POST /auth/login', { body: { name, password: 'secret', ...more } }),
  }
}

/** The status and the code of an answer. */
export async function outcome(response: Response): Promise<[status: number, code: string | undefined]> {
  const text = await response.text()
  return [response.status, text === '' ? undefined : (JSON.parse(text) as { code?: string }).code]
}
