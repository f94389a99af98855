import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from 'express'
import { nodeRequestReader } from '../http/request-source.js'
import { createEnforcer, createInjector, type Dependencies } from '../requests/dependencies.js'
import { createErrorAnswers, type ErrorResponseOptions } from '../requests/error-response.js'
import { createMiddleware } from './node-bridge.js'

export { mount } from './node-bridge.js'
export { implicitRefresh } from './node-refresh.js'

/** Middleware that leaves the type of the request open, so that Express infers parameters and body as usual. */
export type ExpressMiddleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: NextFunction,
) => void | Promise<void>

/** Middleware that tells the other handlers of the route what it puts into `res.locals`. */
export interface LocalsMiddleware<Values> {
  // Of several signatures the last is inferred from, and any may match: a `RequestHandler` takes this one too.
  (req: IncomingMessage, res: ServerResponse, next: NextFunction): void | Promise<void>
  (req: IncomingMessage, res: { locals: Values }, next: NextFunction): void | Promise<void>
}

/** Middleware that passes a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): ExpressMiddleware {
  const enforcer = createEnforcer(dependencies, nodeRequestReader)
  const enforceLater: ExpressMiddleware = createMiddleware(async (req) => {
    await enforcer.enforce(req)
    return false
  })
  return (req, res, next) => (enforcer.passesNow(req) ? next() : enforceLater(req, res, next))
}

/** Middleware that puts the values of dependencies into `res.locals`, typed. */
export function inject<Values extends Record<string, unknown>>(
  dependencies: Dependencies<Values>,
): LocalsMiddleware<Readonly<Values>>
/** A handler that receives the values of its dependencies first. */
export function inject<
  Values extends Record<string, unknown>,
  Req extends IncomingMessage = Request,
  Res extends ServerResponse = Response,
>(
  dependencies: Dependencies<Values>,
  handler: (values: Readonly<Values>, req: Req, res: Res, next: NextFunction) => unknown,
): (req: Req, res: Res, next: NextFunction) => Promise<void>
export function inject(
  dependencies: Dependencies<Record<string, unknown>>,
  handler?: (
    values: Readonly<Record<string, unknown>>,
    req: Request,
    res: Response,
    next: NextFunction,
  ) => unknown,
): RequestHandler {
  const injector = createInjector(dependencies, nodeRequestReader)
  return createMiddleware(async (req, res, next) => {
    const values = injector.resolveNow(req) ?? (await injector.resolve(req))
    if (handler === undefined) Object.assign(res.locals, values)
    else await handler(values, req, res, next)
    return handler !== undefined
  })
}

/** Turns token errors into RFC 6750 responses. Register it after the routes; other errors go to the next handler. */
export function handleErrors(options?: ErrorResponseOptions): ErrorRequestHandler {
  const answer = createErrorAnswers(options)
  return (error: unknown, _req, res, next) => {
    const answered = res.headersSent ? null : answer(error)
    if (answered === null) return next(error)
    const { status, headers, body } = answered
    // Not res.json: its settings (`json spaces`, `json replacer`) are for the application's own answers.
    res.status(status).set(headers).type('json').send(JSON.stringify(body))
  }
}

/** Adds `Set-Cookie` values to a response, and keeps the ones it has. */
export function sendCookies(res: Pick<Response, 'append'>, cookies: readonly string[]): void {
  res.append('Set-Cookie', [...cookies])
}
