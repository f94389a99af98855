import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from 'express'
import { isTokenError } from '../errors.js'
import { assertErrorOptions, type ErrorResponseOptions, toErrorResponse } from '../requests/error-response.js'
import type { RefreshingManager } from '../sessions/implicit-refresh.js'
import { assertMount, type MountableRoutes } from '../routes/router.js'
import { createNodeMount } from './node-bridge.js'
import { createNodeRefresh } from './node-refresh.js'
import {
  createEnforcer,
  createInjector,
  type Dependencies,
  type DependencyValues,
  type NamedDependencies,
} from '../requests/dependencies.js'
import { nodeRequestReader } from '../http/request-source.js'

/** Middleware that says nothing about the request, so that Express infers parameters and body as without it. */
export type ExpressMiddleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: NextFunction,
) => void | Promise<void>

/** Middleware that tells the handlers beside it what it puts into `res.locals`. */
export interface LocalsMiddleware<Values> {
  // Of several signatures the last is inferred from, and any may match: a `RequestHandler` takes this one too.
  (req: IncomingMessage, res: ServerResponse, next: NextFunction): void | Promise<void>
  (req: IncomingMessage, res: { locals: Values }, next: NextFunction): void | Promise<void>
}

/** Middleware that lets a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): ExpressMiddleware {
  const enforcer = createEnforcer(dependencies, nodeRequestReader)
  const enforceAndContinue = async (req: IncomingMessage, next: NextFunction): Promise<void> => {
    try {
      await enforcer.enforce(req)
    } catch (error) {
      return next(toError(error))
    }
    next()
  }
  return (req, _res, next) => (enforcer.passesNow(req) ? next() : enforceAndContinue(req, next))
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
  dependencies: NamedDependencies,
  handler?: (
    values: DependencyValues<NamedDependencies>,
    req: Request,
    res: Response,
    next: NextFunction,
  ) => unknown,
): RequestHandler {
  const injector = createInjector(dependencies, nodeRequestReader)
  return async (req, res, next): Promise<void> => {
    try {
      const values = injector.resolveNow(req) ?? (await injector.resolve(req))
      if (handler !== undefined) return void (await handler(values, req, res, next))
      Object.assign(res.locals, values)
    } catch (error) {
      return next(toError(error))
    }
    next()
  }
}

/** For `app.use` after the routes: token errors become RFC 6750 answers, others go to the next error handler. */
export function handleErrors(options?: ErrorResponseOptions): ErrorRequestHandler {
  assertErrorOptions(options)
  return (error: unknown, _req, res, next) => {
    if (!isTokenError(error) || res.headersSent) return next(error)
    const { status, headers, body } = toErrorResponse(error, options)
    // Not res.json: its settings (`json spaces`, `json replacer`) are for the application's own answers.
    res.status(status).set(headers).type('json').send(JSON.stringify(body))
  }
}

/** Adds `Set-Cookie` values to a response, beside those it has. */
export function sendCookies(res: Pick<Response, 'append'>, cookies: readonly string[]): void {
  res.append('Set-Cookie', [...cookies])
}

/** Middleware that answers what is below the path of the routes, and passes on the rest. */
export function mount(
  routes: MountableRoutes,
): (req: Request, res: ServerResponse, next: NextFunction) => Promise<void> {
  assertMount(routes)
  return createNodeMount(routes, (req: Request) => ({
    url: assertPrefix(routes, req),
    origin: `${req.protocol}://${req.get('host') ?? ''}`,
    ip: req.ip,
    body: req.body as unknown,
  }))
}

// `app.use('/api', mount(routes))` looks as if the routes moved; they would never be found there.
function assertPrefix({ path }: MountableRoutes, { baseUrl, url, originalUrl }: Request): string {
  if (baseUrl === '' || path.startsWith(baseUrl) || !`${url}/`.startsWith(`${path}/`)) return originalUrl
  throw new TypeError(
    `The routes are at ${path}, and mount() is used below ${baseUrl}: give them the path ${baseUrl}${path}`,
  )
}

/** Middleware that refreshes the session of a request whose access cookie has expired, and sends the new cookies with the response. */
export function implicitRefresh(
  tokens: RefreshingManager,
): (req: Request, res: ServerResponse, next: NextFunction) => Promise<void> {
  return createNodeRefresh(tokens)
}

// Express lets a request on when `next` is called with nothing, and past the route with 'route' or 'router'.
function toError(thrown: unknown): object {
  return typeof thrown === 'object' && thrown !== null
    ? thrown
    : new Error('Something that is no error was thrown', { cause: thrown })
}
