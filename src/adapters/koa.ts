import type { Context, ExtendableContext, Next, ParameterizedContext } from 'koa'
import { isTokenError } from '../errors.js'
import { assertErrorOptions, type ErrorResponseOptions, toErrorResponse } from '../http/error-response.js'
import {
  createEnforcer,
  createInjector,
  type Dependencies,
  type DependencyValues,
  type NamedDependencies,
} from '../manager/dependencies.js'
import { NodeView, readSingleHeader } from '../request/node-view.js'
import { mayHaveBody, rememberView, type RequestView } from '../request/view.js'
import { assertRouterOf, markGuarded } from './koa/assert-router.js'

export { assertRouter, type LayeredRouter } from './koa/assert-router.js'

/** Middleware that asks no more of a context than it needs, so that Koa and its router infer the rest. */
export type KoaMiddleware<Given extends ExtendableContext = ExtendableContext> = (
  ctx: Given,
  next: Next,
) => Promise<void>

/** Middleware that lets a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): KoaMiddleware {
  const enforcer = createEnforcer(dependencies, readSingleHeader)
  return markGuarded(async (ctx: ExtendableContext, next: Next) => {
    assertRouterOf(ctx)
    if (mayHaveBody(ctx.req.method)) toView(ctx)
    if (!enforcer.passesNow(ctx.req)) await enforcer.enforce(toView(ctx))
    await next()
  })
}

/** Middleware that puts the values of dependencies into `ctx.state`, typed. */
export function inject<Values extends Record<string, unknown>>(
  dependencies: Dependencies<Values>,
): KoaMiddleware<ParameterizedContext<Readonly<Values>, unknown>>
/** A handler that receives the values of its dependencies first. */
export function inject<Values extends Record<string, unknown>, Ctx extends ExtendableContext = Context>(
  dependencies: Dependencies<Values>,
  handler: (values: Readonly<Values>, ctx: Ctx, next: Next) => unknown,
): KoaMiddleware<Ctx>
export function inject(
  dependencies: NamedDependencies,
  handler?: (values: DependencyValues<NamedDependencies>, ctx: Context, next: Next) => unknown,
): KoaMiddleware<Context> {
  const injector = createInjector(dependencies, readSingleHeader)
  return markGuarded(async (ctx: Context, next: Next) => {
    assertRouterOf(ctx)
    if (mayHaveBody(ctx.req.method)) toView(ctx)
    const values = injector.resolveNow(ctx.req) ?? (await injector.resolve(toView(ctx)))
    if (handler !== undefined) return void (await handler(values, ctx, next))
    Object.assign(ctx.state, values)
    await next()
  })
}

/** For `app.use` before all else: token errors become RFC 6750 answers, others are thrown on to Koa. */
export function handleErrors(options?: ErrorResponseOptions): KoaMiddleware {
  assertErrorOptions(options)
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      if (!isTokenError(error) || ctx.headerSent) throw error
      const { status, headers, body } = toErrorResponse(error, options)
      ctx.status = status
      ctx.set(headers)
      ctx.type = 'json'
      ctx.body = JSON.stringify(body)
    }
  }
}

/** Adds `Set-Cookie` values to a response, beside those it has. */
export function sendCookies(ctx: Pick<Context, 'append'>, cookies: readonly string[]): void {
  ctx.append('Set-Cookie', [...cookies])
}

function toView(ctx: ExtendableContext): RequestView {
  return rememberView(ctx.req, () => new KoaView(ctx))
}

// Body parsers of Koa leave the body at `ctx.request`, not at Node's request.
class KoaView extends NodeView {
  readonly #ctx: ExtendableContext

  constructor(ctx: ExtendableContext) {
    super(ctx.req)
    this.#ctx = ctx
  }

  override async body(): Promise<unknown> {
    const { body } = this.#ctx.request as { readonly body?: unknown }
    return body === undefined ? super.body() : this.parsed(body)
  }
}
