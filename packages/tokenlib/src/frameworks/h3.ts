import type { ServerResponse } from 'node:http'
import type { EventHandler, EventHandlerRequest, H3Event, Middleware } from 'h3'
import { type ImplicitRefresh, keepPrivate, selectCookies } from '../http/refreshed-response.js'
import { fetchRequestReader, FetchView } from '../http/request-source.js'
import { rememberView, type RequestReader } from '../http/view.js'
import { createEnforcer, createInjector, type Dependencies } from '../requests/dependencies.js'
import { createErrorResponses, type ErrorResponseOptions } from '../requests/error-response.js'
import { createMount, type MountableRoutes } from '../routes/router.js'
import type { RefreshingManager } from '../sessions/implicit-refresh.js'
import { createNodeRefresh } from './node-refresh.js'

/** Middleware that passes a request on only after every dependency has passed. */
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

/** Turns token errors into RFC 6750 responses. Register it first; other errors pass through. */
export function handleErrors(options?: ErrorResponseOptions): Middleware {
  const answer = createErrorResponses(options)
  return async (event, next) => {
    readRequest(event)
    try {
      return await next()
    } catch (error) {
      const response = answer(error)
      if (response === null) throw error
      return response
    }
  }
}

/** Adds `Set-Cookie` values to the response, and keeps the ones it has. */
export function sendCookies(event: H3Event, cookies: readonly string[]): void {
  readRequest(event)
  for (const cookie of cookies) event.res.headers.append('set-cookie', cookie)
}

/** Middleware that answers requests below the path of the routes, and passes on the rest. */
export function mount(routes: MountableRoutes): Middleware {
  const answer = createMount(routes)
  return async (event, next) => (await answer(readRequest(event))) ?? next()
}

/** Middleware that refreshes the session of a request whose access cookie has expired, and sends the new cookies with the response. */
export function implicitRefresh(tokens: RefreshingManager): Middleware {
  const refresh = createNodeRefresh(tokens)
  return async (event, next) => {
    const view = requestReader.toView(readRequest(event))
    // At Node's response too: a handler of Node, or a hook for errors, may answer without the event.
    const refreshed = await refresh(view, event.runtime?.node?.res as ServerResponse | undefined)
    if (refreshed === null) return next()
    try {
      const answer = await next()
      addRefreshed(event, refreshed, readHeaders(answer))
      return toPrivate(answer)
    } catch (error) {
      const headers = readHeaders(error)
      addRefreshed(event, refreshed, headers)
      if (headers !== null) keepPrivate(headers)
      throw error
    }
  }
}

function readHeaders(answer: unknown): Headers | null {
  const { headers } = Object(answer) as { readonly headers?: unknown }
  return headers instanceof Headers ? headers : null
}

// The headers of the event (for errors, its error headers) override the headers of what a handler returns or throws.
function addRefreshed(event: H3Event, refreshed: ImplicitRefresh, given: Headers | null): void {
  const own = given?.getSetCookie() ?? []
  for (const headers of [event.res.headers, event.res.errHeaders]) {
    keepPrivate(headers)
    const cookies = selectCookies(refreshed, [...own, ...headers.getSetCookie()])
    for (const cookie of cookies) headers.append('set-cookie', cookie)
  }
}

const HTTP_RESPONSE = Symbol.for('h3.HTTPResponse')

// A copy: the application may return one response to many requests.
function toPrivate(answer: unknown): unknown {
  const isResponse = answer instanceof Response && answer.status !== 101
  if (!isResponse && (Object(answer) as Record<symbol, unknown>)[HTTP_RESPONSE] !== true) return answer
  const { body, status, statusText, headers: given, constructor } = answer as Response
  const headers = new Headers(given)
  keepPrivate(headers)
  const Copy = isResponse ? Response : (constructor as typeof Response)
  return new Copy(body, { status, statusText, headers })
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
