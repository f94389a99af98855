// An adapter for plain `node:http`, which docs/extending.md describes. It passes `applicationContract`.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isTokenError, toErrorResponse } from 'tokenlib'
import {
  assertErrorOptions,
  createEnforcer,
  createInjector,
  type Dependencies,
  type ErrorResponseOptions,
  nodeRequestReader,
} from 'tokenlib/kit'

/** A route of a plain Node server. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

/** Lets a request continue only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(...dependencies: Dependencies<Values>) {
  const enforcer = createEnforcer(dependencies, nodeRequestReader)
  return (handler: Handler): Handler =>
    async (request, response) => {
      if (!enforcer.passesNow(request)) await enforcer.enforce(request)
      await handler(request, response)
    }
}

/** Passes the values of dependencies to a handler. */
export function inject<Values extends Record<string, unknown>>(
  dependencies: Dependencies<Values>,
  handler: (values: Readonly<Values>, ...rest: Parameters<Handler>) => void | Promise<void>,
): Handler {
  const injector = createInjector(dependencies, nodeRequestReader)
  return async (request, response) => {
    const values = injector.resolveNow(request) ?? (await injector.resolve(request))
    await handler(values, request, response)
  }
}

/** Turns token errors into responses, and passes other errors on. */
export function handleErrors(options?: ErrorResponseOptions) {
  assertErrorOptions(options)
  return (handler: Handler): Handler =>
    async (request, response) => {
      try {
        await handler(request, response)
      } catch (error) {
        if (!isTokenError(error)) throw error
        const { status, headers, body } = toErrorResponse(error, options)
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(JSON.stringify(body))
      }
    }
}

/** Adds cookies to a response, and keeps the ones it has. */
export function sendCookies(response: ServerResponse, cookies: readonly string[]): void {
  for (const cookie of cookies) response.appendHeader('set-cookie', cookie)
}
