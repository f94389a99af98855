import type { Context, ExtendableContext, Next, ParameterizedContext } from 'koa'
import { type NodeRequest, NodeView, readSingleHeader } from '../http/node-view.js'
import { rememberView, type RequestReader } from '../http/view.js'
import { createEnforcer, createInjector, type Dependencies } from '../requests/dependencies.js'
import { createErrorAnswers, type ErrorResponseOptions } from '../requests/error-response.js'
import type { MountableRoutes } from '../routes/router.js'
import type { RefreshingManager } from '../sessions/implicit-refresh.js'
import { createNodeMount, toNodeBody } from './node-bridge.js'
import { createNodeRefresh } from './node-refresh.js'

/** Middleware that asks no more of a context than it needs, so that Koa and its router infer the rest. */
export type KoaMiddleware<Given extends ExtendableContext = ExtendableContext> = (
  ctx: Given,
  next: Next,
) => Promise<void>

/** Middleware that passes a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): KoaMiddleware {
  const enforcer = createEnforcer(dependencies, contextReader)
  return markOwn(async (ctx: ExtendableContext, next: Next) => {
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
  dependencies: Dependencies<Record<string, unknown>>,
  handler?: (values: Readonly<Record<string, unknown>>, ctx: Context, next: Next) => unknown,
): KoaMiddleware<Context> {
  const injector = createInjector(dependencies, contextReader)
  return markOwn(async (ctx: Context, next: Next) => {
    assertRouterOf(ctx)
    const values = injector.resolveNow(ctx) ?? (await injector.resolve(ctx))
    if (handler !== undefined) return void (await handler(values, ctx, next))
    Object.assign(ctx.state, values)
    await next()
  })
}

/** Turns token errors into RFC 6750 responses. Register it first; other errors are rethrown to Koa. */
export function handleErrors(options?: ErrorResponseOptions): KoaMiddleware {
  const answer = createErrorAnswers(options)
  return async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const answered = ctx.headerSent ? null : answer(error)
      if (answered === null) throw error
      const { status, headers, body } = answered
      ctx.status = status
      ctx.set(headers)
      ctx.type = 'json'
      ctx.body = JSON.stringify(body)
    }
  }
}

/** Adds `Set-Cookie` values to a response, and keeps the ones it has. */
export function sendCookies(ctx: Pick<Context, 'append'>, cookies: readonly string[]): void {
  ctx.append('Set-Cookie', [...cookies])
}

/** Middleware that answers requests below the path of the routes, and passes on the rest. */
export function mount(routes: MountableRoutes): KoaMiddleware {
  const answer = createNodeMount(routes)
  return async (ctx, next) => {
    const { req, res, originalUrl: url, origin, ip } = ctx
    const response = await answer(req, res, { url, origin, ip, body: readFound(ctx).body })
    if (response === null) return void (await next())
    ctx.body = toNodeBody(response)
    // After the body: Koa sets a status and a type for it.
    ctx.status = response.status
    ctx.remove('content-type')
    for (const [name, value] of response.headers) {
      if (name === 'set-cookie') ctx.append(name, value)
      else ctx.set(name, value)
    }
  }
}

/** Middleware that refreshes the session of a request whose access cookie has expired, and sends the new cookies with the response. */
export function implicitRefresh(tokens: RefreshingManager): KoaMiddleware {
  const refresh = createNodeRefresh(tokens)
  return async (ctx, next) => {
    await refresh(contextReader.toView(ctx), ctx.res)
    await next()
  }
}

const contextReader: RequestReader<ExtendableContext> = {
  readHeader: ({ req }, name) => readSingleHeader(req, name),
  readMethod: ({ req }) => req.method,
  toView: (ctx) => rememberView(ctx.req, (req) => new NodeView(req, readFound(ctx))),
}

// Body parsers of Koa leave the body at `ctx.request`, not at Node's request. Its address follows `app.proxy`.
function readFound({ request }: ExtendableContext): Pick<NodeRequest, 'body' | 'ip'> {
  return request
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

// In the global registry: `assertRouter` of one copy of this package has to know the middleware of another.
const OWN = Symbol.for('tokenlib:koa-middleware')
const checked = new WeakMap<LayeredRouter, number>()

// Marks the middleware of `enforce` and `inject`, so that `assertRouter` recognises it.
function markOwn<Middleware extends object>(middleware: Middleware): Middleware {
  return Object.defineProperty(middleware, OWN, { value: true })
}

function isOwn(middleware: unknown): boolean {
  return (middleware as { readonly [OWN]?: true } | null | undefined)?.[OWN] === true
}

/**
 * Throws `TypeError` for a router in which some spellings of a path bypass `enforce` or `inject` of `router.use`.
 *
 * `enforce` and `inject` do it for the router they run in, at the first request. Call it to know when the program starts.
 */
export function assertRouter(router: LayeredRouter): void {
  router.stack.forEach((route, at) => {
    if (!isRoute(route)) return
    const layers = router.stack.slice(0, at).filter((layer) => !isRoute(layer))
    for (const middleware of new Set(layers.flatMap(({ stack }) => stack))) {
      if (!isOwn(middleware) || route.stack.includes(middleware)) continue
      const used = layers.filter(({ stack }) => stack.includes(middleware))
      assertNotBypassed(used, route, router.exclusive === true)
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

// `layers` are the layers that run one middleware. An exclusive router runs only the last matching layer: the route.
function assertNotBypassed(layers: readonly Layer[], route: Layer, isExclusive: boolean): void {
  const open = findOpen(layers, route)
  if (open === null || (open.length === 0 && !isExclusive)) return
  const example = typeof route.path === 'string' && open.length > 0 ? `, for example as ${open[0]}` : ''
  throw new TypeError(
    `The route ${String(route.path)} can be reached without the enforce() or inject() of router.use()${example}: ` +
      'put it on the route itself',
  )
}

// The spellings of a route's path that bypass every layer; `null` if the layers do not apply to the route.
function findOpen(layers: readonly Layer[], route: Layer): readonly string[] | null {
  const spellings = spell(route)
  if (typeof route.path !== 'string') {
    // Nobody can list the paths that a regular expression matches, so one layer must run for all spellings.
    const isGuarded = layers.some(({ regexp }) => spellings.every((path) => regexp.test(path)))
    return isGuarded ? [] : spellings
  }
  const open = spellings.filter((path) => !layers.some(({ regexp }) => regexp.test(path)))
  const isUnrelated = open.length === spellings.length && !layers.some((layer) => isMeantFor(layer, route))
  return isUnrelated ? null : open
}

// `router.use('/', middleware)` and `router.use('/admin/', middleware)` match that one path, and none below it.
function isMeantFor({ path, regexp }: Layer, route: Layer): boolean {
  if (typeof path !== 'string' || typeof route.path !== 'string') return false
  const below = `${path.replace(/\/$/, '')}/`
  return route.path !== path && route.path.startsWith(below) && !regexp.test(`${below}x`)
}

// For a route whose paths are not known.
const ANY_PATHS = ['/', '/Any', '/any/Path', '/0/any/path/']

// The path of a route as requests may spell it, its parameters as they are: a name fits where a value does.
function spell({ path, regexp }: Layer): readonly string[] {
  if (typeof path !== 'string') return ANY_PATHS
  const plain = path.replaceAll(/[{}\\]/g, '')
  const spellings = [plain, plain.toUpperCase(), plain.toLowerCase(), `${plain}/`, plain.replace(/\/$/, '')]
  return spellings.filter((spelling) => regexp.test(spelling))
}

function isRoute({ methods }: Layer): boolean {
  return methods.length > 0
}

function isLayer(layer: Partial<Layer> | null | undefined): boolean {
  return Array.isArray(layer?.methods) && Array.isArray(layer.stack) && layer.regexp instanceof RegExp
}
