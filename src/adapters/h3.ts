import type { EventHandler, EventHandlerRequest, H3Event, Middleware } from 'h3'
import { isTokenError } from '../errors.js'
import {
  assertErrorOptions,
  type ErrorResponseOptions,
  toFetchErrorResponse,
} from '../http/error-response.js'
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
    if (!enforcer.passesNow(event.req)) await enforcer.enforce(event.req)
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
  return async (event) =>
    handler(injector.resolveNow(event.req) ?? (await injector.resolve(event.req)), event)
}

/** Middleware, to be used first: token errors become RFC 6750 answers, others pass through. */
export function handleErrors(options?: ErrorResponseOptions): Middleware {
  assertErrorOptions(options)
  return async (_event, next) => {
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
  for (const cookie of cookies) event.res.headers.append('set-cookie', cookie)
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
