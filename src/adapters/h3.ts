import type { EventHandler, EventHandlerRequest, H3Event, Middleware } from 'h3'
import { isTokenError } from '../errors.js'
import {
  assertErrorOptions,
  type ErrorResponseOptions,
  toFetchErrorResponse,
} from '../http/error-response.js'
import {
  createImplicitRefresh,
  type ImplicitRefresh,
  PRIVATE,
  type RefreshingManager,
  selectCookies,
} from '../http/implicit-refresh.js'
import { assertMount, mountFetch, type MountableRoutes } from '../http/mountable-routes.js'
import { createEnforcer, createInjector, type Dependencies } from '../manager/dependencies.js'
import { FetchView } from '../request/fetch-view.js'
import { fetchRequestReader } from '../request/request-source.js'
import { rememberView, type RequestReader } from '../request/view.js'

/** Middleware that lets a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): Middleware {
  const enforcer = createEnforcer(dependencies, requestReader)
  return async (event, next) => {
    const request = readRequest(event)
    if (!enforcer.passesNow(request)) await enforcer.enforce(request)
    return next()
  }
}

/** An event handler that receives the values of its dependencies first. */
export function inject<
  Values extends Record<string, unknown>,
  Expected extends EventHandlerRequest = EventHandlerRequest,
  Answer = unknown,
>(
  dependencies: Dependencies<Values>,
  handler: (values: Readonly<Values>, event: H3Event<Expected>) => Answer | Promise<Answer>,
): EventHandler<Expected, Promise<Answer>> {
  const injector = createInjector(dependencies, requestReader)
  return async (event) => {
    const request = readRequest(event)
    return handler(injector.resolveNow(request) ?? (await injector.resolve(request)), event)
  }
}

/** Middleware, to be used first: token errors become RFC 6750 answers, others pass through. */
export function handleErrors(options?: ErrorResponseOptions): Middleware {
  assertErrorOptions(options)
  return async (event, next) => {
    readRequest(event)
    try {
      return await next()
    } catch (error) {
      if (!isTokenError(error)) throw error
      return toFetchErrorResponse(error, options)
    }
  }
}

/** Adds `Set-Cookie` values to the response, beside those that are there. */
export function sendCookies(event: H3Event, cookies: readonly string[]): void {
  readRequest(event)
  for (const cookie of cookies) event.res.headers.append('set-cookie', cookie)
}

/** Middleware that answers what is below the path of the routes, and passes on the rest. */
export function mount(routes: MountableRoutes): Middleware {
  assertMount(routes)
  return async (event, next) => (await mountFetch(routes, readRequest(event))) ?? next()
}

/** Middleware that refreshes the session of a request whose access cookie has expired, and sends the new cookies with the response. */
export function implicitRefresh(tokens: RefreshingManager): Middleware {
  const refresh = createImplicitRefresh(tokens)
  return async (event, next) => {
    const refreshed = await refresh(requestReader.toView(readRequest(event)))
    if (refreshed === null) return next()
    try {
      const answer = await next()
      addRefreshed(event, refreshed, answer instanceof Response ? answer.headers.getSetCookie() : [])
      return answer
    } catch (error) {
      addRefreshed(event, refreshed, [])
      throw error
    }
  }
}

// h3 has headers of its own for errors. Both are put over those of a response that a handler returns.
function addRefreshed(event: H3Event, refreshed: ImplicitRefresh, own: readonly string[]): void {
  for (const headers of [event.res.headers, event.res.errHeaders]) {
    const cookies = selectCookies(refreshed, [...own, ...headers.getSetCookie()])
    for (const cookie of cookies) headers.append('set-cookie', cookie)
    headers.set('cache-control', PRIVATE)
  }
}

/** The request of an event, or `TypeError` for an event of h3 1: its requests, answers and middleware are others. */
function readRequest(event: H3Event): Request {
  const { req: request } = event as { readonly req?: Partial<Request> }
  if (typeof request?.headers?.get === 'function') return event.req
  throw new TypeError(
    'tokenlib/h3 needs h3 2, and this event is one of h3 1 (Nitro 2, Nuxt 3 and 4). ' +
      'There, call a dependency yourself: await tokens.accessTokenRequired(toWebRequest(event))',
  )
}

// By the headers too: `bodyLimit` and validated handlers replace the request with a proxy, which has the same ones. A
// request with another method or address is another one, whatever it shares.
const requestReader: RequestReader<Request> = {
  ...fetchRequestReader,
  toView: (request) =>
    rememberView(request, ({ headers, method, url }) => {
      const known = rememberView(headers, () => new FetchView(request))
      return known.method === method && known.url === url ? known : new FetchView(request)
    }),
}
