import { toRefreshedResponse } from '../http/refreshed-response.js'
import { fetchRequestReader, toRequestView } from '../http/request-source.js'
import { createEnforcer, createInjector, type Dependencies } from '../requests/dependencies.js'
import { createErrorResponses, type ErrorResponseOptions } from '../requests/error-response.js'
import { createMount, type MountableRoutes } from '../routes/router.js'
import { createImplicitRefresh, type RefreshingManager } from '../sessions/implicit-refresh.js'

/**
 * A handler of the Fetch standard: Next.js route handlers, Bun, Deno, Workers. `Rest` is what follows the request,
 * `Given` the request where it is more than a `Request`.
 */
export type FetchHandler<Rest extends readonly unknown[] = [], Given extends Request = Request> = (
  request: Given,
  ...rest: Rest
) => Response | Promise<Response>

type Wrap = <Rest extends readonly unknown[], Given extends Request>(
  handler: FetchHandler<Rest, Given>,
) => FetchHandler<Rest, Given>

/** Wraps a handler so that it runs only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(...dependencies: Dependencies<Values>): Wrap {
  const enforcer = createEnforcer(dependencies, fetchRequestReader)
  return (handler) =>
    async (request, ...rest) => {
      if (!enforcer.passesNow(request)) await enforcer.enforce(request)
      return handler(request, ...rest)
    }
}

/** A handler that receives the values of its dependencies first. */
export function inject<
  Values extends Record<string, unknown>,
  Rest extends readonly unknown[] = [],
  Given extends Request = Request,
>(
  dependencies: Dependencies<Values>,
  handler: (values: Readonly<Values>, request: Given, ...rest: Rest) => Response | Promise<Response>,
): FetchHandler<Rest, Given> {
  const injector = createInjector(dependencies, fetchRequestReader)
  return async (request, ...rest) => {
    const values = injector.resolveNow(request) ?? (await injector.resolve(request))
    return handler(values, request, ...rest)
  }
}

/** Wraps a handler and turns its token errors into RFC 6750 responses. Other errors pass through. */
export function handleErrors(options?: ErrorResponseOptions): Wrap {
  const answer = createErrorResponses(options)
  return (handler) =>
    async (request, ...rest) => {
      try {
        return await handler(request, ...rest)
      } catch (error) {
        const response = answer(error)
        if (response === null) throw error
        return response
      }
    }
}

/** A handler that answers requests below the path of the routes, and passes the rest to your handler. */
export function mount<Rest extends readonly unknown[], Given extends Request>(
  routes: MountableRoutes,
  handler: FetchHandler<Rest, Given>,
): FetchHandler<Rest, Given> {
  const answer = createMount(routes)
  return async (request, ...rest) => (await answer(request)) ?? handler(request, ...rest)
}

/** Wraps a handler so that it refreshes the session of a request whose access cookie has expired, and sends the new cookies with the response. */
export function implicitRefresh(tokens: RefreshingManager): Wrap {
  const refresh = createImplicitRefresh(tokens)
  return (handler) =>
    async (request, ...rest) => {
      const refreshed = await refresh(toRequestView(request))
      const response = await handler(request, ...rest)
      return refreshed === null ? response : toRefreshedResponse(response, refreshed)
    }
}

/** Returns a copy of a response with added `Set-Cookie` values. Also works for responses with immutable headers. */
export function sendCookies(response: Response, cookies: readonly string[]): Response {
  // Always a copy: the headers of `Response.redirect` and of a fetched response are immutable.
  const headers = new Headers(response.headers)
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}
