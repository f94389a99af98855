import { parseAnswer, toUnavailable } from './errors.js'
import { CALL_TIMEOUT_MS, SAFE_METHOD } from './limits.js'
import { type ClientTimers, globals } from './options.js'
import { createAbortError } from './responses.js'
import type { CallRoute } from './session-list.js'
import type { TokenAnswer } from './types.js'

/** Makes a call whose signal aborts when it takes too long. */
export async function inTime<Value>(
  timers: ClientTimers,
  run: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController()
  const abort = (): void => controller.abort(createAbortError('TimeoutError'))
  const timer = timers.setTimeout(abort, CALL_TIMEOUT_MS)
  // In Node, a process that has nothing else to do may end.
  ;(timer as { unref?(): void }).unref?.()
  return run(controller.signal).finally(() => timers.clearTimeout(timer as never))
}

/** A call of a session route. For a POST with a body, a 401 is final. */
interface RouteCall {
  readonly route: string
  readonly isFinal: boolean
  readonly token: string | undefined
}

/** Creates the function that calls session routes. */
export function createCall<Claims>(
  timers: ClientTimers,
  toRoute: (route: string) => URL,
  hasCookies: boolean,
  send: (request: Request, call: RouteCall) => Promise<Response>,
): CallRoute<Claims> {
  return (method, route, expected, body, token) =>
    inTime(timers, async (signal) => {
      const request = createRouteRequest(toRoute(route), method, hasCookies, signal, body)
      const action = `${method} ${request.url}`
      try {
        const response = await send(request, { route, isFinal: !!body && method === 'POST', token })
        return await parseAnswer<TokenAnswer<Claims>>(action, response, expected)
      } catch (cause) {
        throw toUnavailable(action, cause)
      }
    })
}

// The routes never redirect, and nothing must follow.
function createRouteRequest(
  url: URL,
  method: string,
  hasCookies: boolean,
  signal: AbortSignal,
  body?: object,
): Request {
  return new Request(url, {
    method,
    redirect: 'manual',
    signal,
    // Also for a `path` on another origin. Workers do not know the member.
    ...(hasCookies && { credentials: 'include' }),
    headers: body ? { 'content-type': 'application/json' } : {},
    body: body ? JSON.stringify(body) : null,
  })
}

/** The credentials of a request. */
export interface RequestCredentials {
  readonly token: string | undefined
  /** The scheme of a bound token; any other is `Bearer`. */
  readonly tokenType: string | undefined
  readonly csrf: string | null | undefined
  readonly csrfHeader: string
  /** Whether a proof will be added. */
  readonly isProven: unknown
}

/** Adds the token and, unless the method is safe, the CSRF value. */
export function authorize(
  given: Request,
  { token, tokenType, csrf, csrfHeader, isProven }: RequestCredentials,
): Request {
  const needsCsrf = csrf && !SAFE_METHOD.test(given.method)
  const request = needsCsrf || isProven ? keepToOrigin(given) : given
  // Set on the request: `fetch(request, { headers })` would reset its referrer.
  if (token) request.headers.set('authorization', `${tokenType === 'DPoP' ? tokenType : 'Bearer'} ${token}`)
  if (needsCsrf) request.headers.set(csrfHeader, csrf)
  return request
}

/**
 * A request whose headers no other origin gets. On a redirect, `fetch` drops `Authorization` when the origin changes, but
 * no other header.
 */
function keepToOrigin(request: Request): Request {
  if (request.redirect !== 'follow') return request
  // A member left out here would be reset.
  const { referrer, referrerPolicy } = request
  const isOwn = new URL(request.url).origin === globals.location?.origin
  // Only browsers compare origins for us, and only with the page's origin.
  const rule: RequestInit = isOwn ? { mode: 'same-origin' } : { redirect: 'manual' }
  return new Request(request, { referrer, referrerPolicy, ...rule })
}
