import type {
  ContextConfigDefault,
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  FastifyTypeProvider,
  FastifyTypeProviderDefault,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerBase,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
} from 'fastify'
import { isTokenError } from '../errors.js'
import { assertErrorOptions, type ErrorResponseOptions, toErrorResponse } from '../http/error-response.js'
import {
  createEnforcer,
  createInjector,
  type Dependencies,
  type DependencyValues,
  type NamedDependencies,
} from '../manager/dependencies.js'
import { markGuarded } from './fastify/describe-security.js'
import { readSingleHeader, toWrappedView, type WrappedRequest } from '../request/node-view.js'
import { mayHaveBody } from '../request/view.js'

export { describeSecurity } from './fastify/describe-security.js'

type InjectedHandler<Values, Method extends (...given: never) => unknown> = (
  this: ThisParameterType<Method>,
  values: Values,
  ...given: Parameters<Method>
) => ReturnType<Method>

/** A hook that calls `done`, or returns a promise where something must be waited for. */
export type FastifyHook = (
  request: WrappedRequest,
  reply?: unknown,
  done?: () => void,
) => void | Promise<void>

/** An `onRequest`, `preValidation` or `preHandler` hook that refuses a request unless every dependency passes. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): FastifyHook {
  const enforcer = createEnforcer(dependencies, readSingleHeader)
  return markGuarded((request: WrappedRequest, _reply?: unknown, done?: () => void) => {
    if (mayHaveBody(request.raw.method)) toWrappedView(request)
    if (done !== undefined && enforcer.passesNow(request.raw)) return done()
    return enforcer.enforce(toWrappedView(request))
  }, dependencies)
}

/** A route handler that receives the values of its dependencies first. */
export function inject<
  Values extends Record<string, unknown>,
  Server extends RawServerBase = RawServerDefault,
  RawRequest extends RawRequestDefaultExpression<Server> = RawRequestDefaultExpression<Server>,
  RawReply extends RawReplyDefaultExpression<Server> = RawReplyDefaultExpression<Server>,
  Route extends RouteGenericInterface = RouteGenericInterface,
  Config = ContextConfigDefault,
  Schema extends FastifySchema = FastifySchema,
  Provider extends FastifyTypeProvider = FastifyTypeProviderDefault,
  Logger extends FastifyBaseLogger = FastifyBaseLogger,
>(
  dependencies: Dependencies<Values>,
  handler: InjectedHandler<
    Readonly<Values>,
    RouteHandlerMethod<Server, RawRequest, RawReply, Route, Config, Schema, Provider, Logger>
  >,
): RouteHandlerMethod<Server, RawRequest, RawReply, Route, Config, Schema, Provider, Logger>
export function inject(
  dependencies: NamedDependencies,
  handler: InjectedHandler<DependencyValues<NamedDependencies>, RouteHandlerMethod>,
): RouteHandlerMethod {
  const injector = createInjector(dependencies, readSingleHeader)
  return markGuarded(function (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
    if (mayHaveBody(request.raw.method)) toWrappedView(request)
    const known = injector.resolveNow(request.raw)
    if (known !== null) return handler.call(this, known, request, reply)
    // What sends its answer in a callback returns nothing; from a promise Fastify would send that nothing.
    return injector
      .resolve(toWrappedView(request))
      .then((values) => handler.call(this, values, request, reply) ?? reply)
  }, Object.values(dependencies))
}

/** For `app.setErrorHandler`: token errors become RFC 6750 answers, others go on to the handler around this one. */
export function handleErrors(
  options?: ErrorResponseOptions,
): (
  error: unknown,
  request: Pick<FastifyRequest, 'log'>,
  reply: { code(status: number): unknown; headers(values: Readonly<Record<string, string>>): unknown },
) => Promise<Buffer> {
  assertErrorOptions(options)
  return async (error, request, reply) => {
    if (!isTokenError(error)) throw error
    const { status, headers, body } = toErrorResponse(error, options)
    // As Fastify does for an error that nobody handles.
    request.log[status < 500 ? 'info' : 'error']({ err: error }, error.message)
    reply.code(status)
    reply.headers({ ...headers, 'content-type': 'application/json; charset=utf-8' })
    // Bytes, so that no serializer or response schema of the route changes them.
    return Buffer.from(JSON.stringify(body))
  }
}

/** Adds `Set-Cookie` values to a reply, beside those it has. */
export function sendCookies(
  reply: { header(name: 'set-cookie', values: string[]): unknown },
  cookies: readonly string[],
): void {
  reply.header('set-cookie', [...cookies])
}
