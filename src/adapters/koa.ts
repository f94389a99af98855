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
import { rememberView, type RequestReader } from '../request/view.js'

/** Middleware that asks no more of a context than it needs, so that Koa and its router infer the rest. */
export type KoaMiddleware<Given extends ExtendableContext = ExtendableContext> = (
  ctx: Given,
  next: Next,
) => Promise<void>

/** Middleware that lets a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): KoaMiddleware {
  const enforcer = createEnforcer(dependencies, contextReader)
  return markGuarded(async (ctx: ExtendableContext, next: Next) => {
    assertRouterOf(ctx)
    if (!enforcer.passesNow(ctx)) await enforcer.enforce(ctx)
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
  const injector = createInjector(dependencies, contextReader)
  return markGuarded(async (ctx: Context, next: Next) => {
    assertRouterOf(ctx)
    const values = injector.resolveNow(ctx) ?? (await injector.resolve(ctx))
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

const contextReader: RequestReader<ExtendableContext> = {
  readHeader: ({ req }, name) => readSingleHeader(req, name),
  readMethod: ({ req }) => req.method,
  toView: (ctx) => rememberView(ctx.req, () => new KoaView(ctx)),
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

/** What is looked at of a layer of `@koa/router`; one without methods comes from `router.use`. */
interface Layer {
  readonly path: string | RegExp
  readonly methods: readonly string[]
  readonly regexp: RegExp
  readonly stack: readonly unknown[]
}

/** What is looked at of a router of `@koa/router`. */
export interface LayeredRouter {
  readonly stack: readonly Layer[]
  /** Whether only the last layer that matches is run. */
  readonly exclusive?: boolean
}

const guards = new WeakSet<object>()
const checked = new WeakMap<LayeredRouter, number>()

/** Makes a middleware known as a guard. */
function markGuarded<Guard extends object>(guard: Guard): Guard {
  guards.add(guard)
  return guard
}

/**
 * Throws `TypeError` for a router with a guard that some spellings of a path get around.
 *
 * `enforce` and `inject` do it for the router they run in, at the first request. Call it to know when the program starts.
 */
export function assertRouter(router: LayeredRouter): void {
  router.stack.forEach((layer, at) => {
    if (isRoute(layer)) return
    const routes = router.stack.slice(at + 1).filter(isRoute)
    for (const guard of layer.stack) {
      if (!guards.has(guard as object)) continue
      for (const route of routes) assertGuarded(router, layer, guard, route)
    }
  })
}

/** The same for the router that a request went through, if it did; once for each router. */
function assertRouterOf(ctx: object): void {
  const { router } = ctx as { readonly router?: LayeredRouter | null }
  if (!router || checked.get(router) === router.stack?.length) return
  // Other routers of Koa put themselves at `ctx.router` too.
  if (!Array.isArray(router.stack) || !router.stack.every(isLayer)) return
  assertRouter(router)
  checked.set(router, router.stack.length)
}

function assertGuarded(router: LayeredRouter, layer: Layer, guard: unknown, route: Layer): void {
  if (route.stack.includes(guard)) return
  const layers = router.stack
    .slice(0, router.stack.indexOf(route))
    .filter((other) => !isRoute(other) && other.stack.includes(guard))
  if (typeof route.path !== 'string' && !layers.some(matchesAll)) {
    throw new TypeError(
      `Nobody can say whether the guard runs for every spelling of ${String(route.path)}: put the guard on the route`,
    )
  }
  const spellings = spell(route)
  const open = spellings.filter((path) => !layers.some(({ regexp }) => regexp.test(path)))
  const path = String(route.path)
  if (open.length === spellings.length) {
    if (!isMeantFor(layer, route)) return
    throw new TypeError(
      `The guard on ${String(layer.path)} does not run for ${path}: ` +
        'use router.use(guard), or a path without a slash at its end',
    )
  }
  if (router.exclusive === true) {
    throw new TypeError(
      `The guard of ${path} does not run, because the router is exclusive: put the guard on the route`,
    )
  }
  if (open.length > 0) {
    throw new TypeError(
      `The guard of ${path} does not run for ${open[0]}: @koa/router compares the prefix of router.use(guard) ` +
        'with case, and its routes without. Use router.use(path, guard), put the guard on the routes, ' +
        'or create the router with sensitive: true',
    )
  }
}

function matchesAll({ regexp }: Layer): boolean {
  return ['/', '/a', '/A/b', '/a/B/'].every((path) => regexp.test(path))
}

// `router.use('/', guard)` and `router.use('/admin/', guard)` match that one path, and none below it.
function isMeantFor({ path, regexp }: Layer, route: Layer): boolean {
  if (typeof path !== 'string' || typeof route.path !== 'string') return false
  const below = `${path.replace(/\/$/, '')}/`
  return route.path !== path && route.path.startsWith(below) && !regexp.test(`${below}x`)
}

// The path of a route as requests may spell it, its parameters as they are: a name fits where a value does.
function spell({ path, regexp }: Layer): string[] {
  if (typeof path !== 'string') return []
  const plain = path.replaceAll(/[{}]/g, '')
  const spellings = [plain, plain.toUpperCase(), plain.toLowerCase(), `${plain}/`, plain.replace(/\/$/, '')]
  return spellings.filter((spelling) => regexp.test(spelling))
}

function isRoute({ methods }: Layer): boolean {
  return methods.length > 0
}

function isLayer(layer: Partial<Layer> | null | undefined): boolean {
  return Array.isArray(layer?.methods) && Array.isArray(layer.stack) && layer.regexp instanceof RegExp
}
