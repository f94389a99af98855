import type { ServerResponse } from 'node:http'
import type { EventHandler, EventHandlerRequest, H3Event, Middleware } from 'h3'
import { isTokenError } from '../errors.js'
import {
  assertErrorOptions,
  type ErrorResponseOptions,
  toFetchErrorResponse,
} from '../requests/error-response.js'
import { createImplicitRefresh, type RefreshingManager } from '../sessions/implicit-refresh.js'
import { assertMount, mountFetch, type MountableRoutes } from '../routes/router.js'
import { keepRefreshed } from './node-refresh.js'
import {
  type ImplicitRefresh,
  isCacheLifetime,
  keepPrivate,
  selectCookies,
} from '../http/refreshed-response.js'
import { createEnforcer, createInjector, type Dependencies } from '../requests/dependencies.js'
import { FetchView } from '../http/fetch-view.js'
import { fetchRequestReader } from '../http/request-source.js'
import { rememberView, type RequestReader } from '../http/view.js'

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
    const nodeResponse = event.runtime?.node?.res
    // A handler of Node, or a hook for errors, may answer without the event.
    if (nodeResponse !== undefined) keepRefreshed(nodeResponse as ServerResponse, refreshed)
    try {
      const answer = await next()
      addRefreshed(event, refreshed, answer)
      return withoutLifetimes(answer)
    } catch (error) {
      addRefreshed(event, refreshed, error)
      const { headers } = Object(error) as { readonly headers?: unknown }
      if (headers instanceof Headers) removeLifetimes(headers)
      throw error
    }
  }
}

// The headers of the event, and others for errors, are put over those of what a handler returns or throws.
function addRefreshed(event: H3Event, refreshed: ImplicitRefresh, answer: unknown): void {
  const { headers: given } = Object(answer) as { readonly headers?: unknown }
  const own = given instanceof Headers ? given.getSetCookie() : []
  for (const headers of [event.res.headers, event.res.errHeaders]) {
    keepPrivate(headers)
    const cookies = selectCookies(refreshed, [...own, ...headers.getSetCookie()])
    for (const cookie of cookies) headers.append('set-cookie', cookie)
  }
}

const HTTP_RESPONSE = Symbol.for('h3.HTTPResponse')

// A copy: the application may return one response to many requests.
function withoutLifetimes(answer: unknown): unknown {
  const isResponse = answer instanceof Response && answer.status !== 101
  if (!isResponse && (Object(answer) as Record<symbol, unknown>)[HTTP_RESPONSE] !== true) return answer
  const { body, status, statusText, headers: given, constructor } = answer as Response
  const headers = new Headers(given)
  removeLifetimes(headers)
  const Copy = isResponse ? Response : (constructor as typeof Response)
  return new Copy(body, { status, statusText, headers })
}

function removeLifetimes(headers: Headers): void {
  for (const name of [...headers.keys()].filter(isCacheLifetime)) headers.delete(name)
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
