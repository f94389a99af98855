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
  RouteOptions,
} from 'fastify'
import type { TokenConfig } from '../config/config.js'
import { type WrappedRequest, wrappedRequestReader } from '../http/node-view.js'
import { flag, parseOptions } from '../options.js'
import {
  createEnforcer,
  createInjector,
  type Dependencies,
  type Dependency,
  requiredTokenType,
} from '../requests/dependencies.js'
import { createErrorAnswers, type ErrorResponseOptions } from '../requests/error-response.js'
import { type MountableRoutes, MOUNTED_METHODS, toRouterPaths } from '../routes/router.js'
import { securityRequirements } from '../routes/openapi.js'
import type { RefreshingManager } from '../sessions/implicit-refresh.js'
import type { TokenType } from '../tokens/payload.js'
import { createNodeMount, sendReply } from './node-bridge.js'
import { createNodeRefresh } from './node-refresh.js'

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

/** An `onRequest`, `preValidation` or `preHandler` hook that rejects a request unless every dependency passes. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): FastifyHook {
  const enforcer = createEnforcer(dependencies, wrappedRequestReader)
  return markTokenType((request: WrappedRequest, _reply?: unknown, done?: () => void) => {
    if (done !== undefined && enforcer.passesNow(request)) return done()
    return enforcer.enforce(request)
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
  dependencies: Dependencies<Record<string, unknown>>,
  handler: InjectedHandler<Readonly<Record<string, unknown>>, RouteHandlerMethod>,
): RouteHandlerMethod {
  const injector = createInjector(dependencies, wrappedRequestReader)
  return markTokenType(function (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
    const known = injector.resolveNow(request)
    if (known !== null) return handler.call(this, known, request, reply)
    // What sends its answer in a callback returns nothing; from a promise Fastify would send that nothing.
    return injector.resolve(request).then((values) => handler.call(this, values, request, reply) ?? reply)
  }, Object.values(dependencies))
}

/** Turns token errors into RFC 6750 responses, for `app.setErrorHandler`. Other errors go to the parent context. */
export function handleErrors(
  options?: ErrorResponseOptions,
): (
  error: unknown,
  request: Pick<FastifyRequest, 'log'>,
  reply: { code(status: number): unknown; headers(values: Readonly<Record<string, string>>): unknown },
) => Promise<Buffer> {
  const answer = createErrorAnswers(options)
  return async (error, request, reply) => {
    const answered = answer(error)
    if (answered === null) throw error
    const { status, headers, body } = answered
    // As Fastify does for an error that nobody handles.
    request.log[status < 500 ? 'info' : 'error']({ err: error }, (error as Error).message)
    reply.code(status)
    reply.headers({ ...headers, 'content-type': 'application/json; charset=utf-8' })
    // Bytes, so that no serializer or response schema of the route changes them.
    return Buffer.from(JSON.stringify(body))
  }
}

/** Adds `Set-Cookie` values to a reply, and keeps the ones it has. */
export function sendCookies(
  reply: { header(name: 'set-cookie', values: string[]): unknown },
  cookies: readonly string[],
): void {
  reply.header('set-cookie', [...cookies])
}

/** An `onRequest` hook that refreshes the session of a request whose access cookie has expired, and sends the new cookies with the response. */
export function implicitRefresh(
  tokens: RefreshingManager,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const refresh = createNodeRefresh(tokens)
  return async (request, reply) => {
    // At Node's response: a route may answer without the reply.
    await refresh(wrappedRequestReader.toView(request), reply.raw)
  }
}

/** A plugin with the routes: `app.register(mount(routes))`. Their path is their own, so register it without a prefix. */
export function mount(routes: MountableRoutes): (app: FastifyInstance) => Promise<void> {
  const answer = createNodeMount(routes)
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { raw, originalUrl: url, protocol, host, ip } = request
    const response = await answer(raw, reply.raw, { url, origin: `${protocol}://${host}`, ip })
    return response === null ? reply.callNotFound() : sendReply(response, reply)
  }
  return async (app) => {
    if (app.prefix !== '') {
      throw new TypeError(
        `mount() has its path from the routes, ${routes.path}: register it without a prefix`,
      )
    }
    // The routes read their bodies, and answer for those that they cannot read.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
    // A HEAD route comes with its GET route.
    const method = MOUNTED_METHODS.filter((name) => name !== 'HEAD')
    for (const url of toRouterPaths(routes)) app.route({ method, url, handler })
  }
}

const tokenTypes = new WeakMap<object, TokenType | 'any'>()
const described = new WeakSet<object>()

/** Keeps the type of token that the dependencies of a hook or handler need. */
function markTokenType<Hook extends object>(hook: Hook, dependencies: readonly Dependency<unknown>[]): Hook {
  tokenTypes.set(hook, requiredTokenType(dependencies))
  return hook
}

/**
 * Gives the guarded routes that are added to a context from now on their `schema.security`, for `@fastify/swagger`.
 *
 * A route cannot see a hook that guards its whole context: `everyRoute` declares it.
 */
export function describeSecurity(
  app: { addHook(name: 'onRoute', hook: (route: RouteOptions) => void): unknown },
  config: TokenConfig,
  options: { readonly everyRoute?: boolean } = {},
): void {
  const { everyRoute = false } = parseOptions('describeSecurity()', options, { everyRoute: flag })
  app.addHook('onRoute', (route) => {
    const type = readTokenType(route)
    if (!everyRoute && type === null) return
    // What the route says itself stands; what a context around this one said does not.
    const stated = (route.schema as { readonly security?: object } | undefined)?.security
    if (stated !== undefined && !described.has(stated)) return
    const security = securityRequirements(config, strictestMethod(route), type ?? 'access')
    // Tokens in a JSON body only: an empty list would say that the route is open.
    if (security.length === 0) return
    described.add(security)
    // A copy: another route, an open one, may have been given the same schema.
    route.schema = Object.assign({}, route.schema, { security })
  })
}

// The type of token that the first `enforce` or `inject` of a route needs, or null for a route without one.
function readTokenType({
  onRequest,
  preValidation,
  preHandler,
  handler,
}: RouteOptions): TokenType | 'any' | null {
  const used = [onRequest, preValidation, preHandler, handler].flat()
  const hook = used.find((one) => one !== undefined && tokenTypes.has(one))
  return (hook && tokenTypes.get(hook)) ?? null
}

// One schema speaks for all methods of a route, and those that change something may need a CSRF value.
function strictestMethod({ method }: RouteOptions): string | undefined {
  return [method].flat().find((name) => !['GET', 'HEAD', 'OPTIONS'].includes(name))
}
