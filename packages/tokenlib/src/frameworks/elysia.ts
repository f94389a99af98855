import type { AnyElysia, Context } from 'elysia'
import { FetchView } from '../http/request-source.js'
import { type ImplicitRefresh, selectCookies, toRefreshedResponse } from '../http/refreshed-response.js'
import { attach, readAttached, rememberView, type RequestReader } from '../http/view.js'
import { createEnforcer, createInjector, type Dependencies } from '../requests/dependencies.js'
import { parseSetCookie } from '../requests/set-cookies.js'
import { createErrorResponses, type ErrorResponseOptions } from '../requests/error-response.js'
import { createMount, type MountableRoutes, MOUNTED_METHODS, toRouterPaths } from '../routes/router.js'
import { createImplicitRefresh, type RefreshingManager } from '../sessions/implicit-refresh.js'

/** The part of Elysia's context that the adapter reads. In `onRequest` the context has no `body`: don't use `enforce` there. */
export interface RouteContext {
  readonly request: Request
  readonly body: unknown
}

/** A hook that passes a request on only after every dependency has passed; for `beforeHandle` or `transform`. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): (context: RouteContext) => Promise<void> {
  const enforcer = createEnforcer(dependencies, contextReader)
  return hideSource(async (context) => {
    if (!enforcer.passesNow(context)) await enforcer.enforce(context)
  })
}

/** A resolver that puts the values of dependencies into the context, typed; for `resolve`, in macros too. */
export function inject<Values extends Record<string, unknown>>(
  dependencies: Dependencies<Values>,
): (context: RouteContext) => Promise<Readonly<Values>>
/** A handler that receives the values of its dependencies first. */
export function inject<Values extends Record<string, unknown>, Expected = Context, Answer = unknown>(
  dependencies: Dependencies<Values>,
  handler: (values: Readonly<Values>, context: Expected) => Answer | Promise<Answer>,
): (context: Expected & RouteContext) => Promise<Answer>
export function inject(
  dependencies: Dependencies<Record<string, unknown>>,
  handler?: (values: Readonly<Record<string, unknown>>, context: RouteContext) => unknown,
): (context: RouteContext) => Promise<unknown> {
  const injector = createInjector(dependencies, contextReader)
  const resolve = async (context: RouteContext): Promise<Readonly<Record<string, unknown>>> =>
    injector.resolveNow(context) ?? injector.resolve(context)
  if (handler === undefined) return hideSource(resolve)
  return async (context) => handler(await resolve(context), context)
}

/** Turns token errors into RFC 6750 responses, for `onError`. Elysia handles other errors. */
export function handleErrors(
  options?: ErrorResponseOptions,
): (context: { readonly error: unknown }) => Response | undefined {
  const answer = createErrorResponses(options)
  return ({ error }) => answer(error) ?? undefined
}

/** Adds `Set-Cookie` values to the response, and keeps the ones it has. */
export function sendCookies(set: Context['set'], cookies: readonly string[]): void {
  // Elysia sends its jar or this header, never both.
  const present = [set.headers['set-cookie'] ?? []].flat()
  delete set.headers['set-cookie']
  set.cookie ??= {}
  for (const { name, ...cookie } of [...present, ...cookies].flatMap((text) => parseSetCookie(text) ?? [])) {
    set.cookie[name] = cookie
  }
}

/** A plugin with the routes: `app.use(mount(routes))`. */
export function mount(routes: MountableRoutes): <App extends AnyElysia>(app: App) => App {
  const answer = createMount(routes)
  const handler = async (given: object): Promise<Response> =>
    (await answer((given as Context).request)) ?? new Response('NOT_FOUND', { status: 404 })
  return (app) => {
    for (const path of toRouterPaths(routes)) {
      for (const method of MOUNTED_METHODS) app.route(method, path, handler, { parse: 'none' })
    }
    return app
  }
}

/**
 * A plugin that refreshes the session of a request whose access cookie has expired, and sends the new cookies with the
 * response: `app.use(implicitRefresh(tokens))`, before the routes.
 */
export function implicitRefresh(tokens: RefreshingManager): <App extends AnyElysia>(app: App) => App {
  const refresh = createImplicitRefresh(tokens)
  const transform = async (given: object): Promise<void> => {
    const context = given as Context
    const { request } = context
    const refreshed = await refresh(contextReader.toView(context))
    if (refreshed === null) return
    attach(request, implicitRefresh, [...readRefreshed(request), refreshed])
    // The response to an upgrade is made from these headers alone.
    if (request.headers.has('upgrade')) sendCookies(context.set, selectCookies(refreshed, []))
  }
  return (app) => {
    if (app.config.aot === false) {
      throw new TypeError(
        'implicitRefresh() of tokenlib/elysia does not work with `aot: false`: wrap app.handle with implicitRefresh() of tokenlib/fetch',
      )
    }
    app.onTransform(transform)
    // Around everything: the headers of a returned response override the context's headers, and hooks for responses
    // do not run for every error.
    app.wrap(sendRefreshed as never)
    return app
  }
}

type RequestHandler = (request: Request) => Response | Promise<Response>

function sendRefreshed(handle: RequestHandler): RequestHandler {
  return async (request) => {
    const response = await handle(request)
    return readRefreshed(request).reduce(toRefreshedResponse, response)
  }
}

// One for each manager that has refreshed a session of the request.
function readRefreshed(request: Request): readonly ImplicitRefresh[] {
  return (readAttached(request, implicitRefresh) as readonly ImplicitRefresh[] | undefined) ?? []
}

// Elysia reads the source of a hook to see what it uses, and would parse every body for one that is handed the whole
// context. A bound function shows no source, so a route behind it can still read the raw request.
function hideSource<Value>(
  hook: (context: RouteContext) => Promise<Value>,
): (context: RouteContext) => Promise<Value> {
  return hook.bind(undefined)
}

const contextReader: RequestReader<RouteContext> = {
  readHeader: ({ request }, name) => request.headers.get(name),
  readMethod: ({ request }) => request.method,
  // A body that Elysia parsed for the route cannot be read again, but is in the context. It is looked for there, because
  // the `bodyUsed` of a request from @elysiajs/node throws then.
  toView: (context) => rememberView(context.request, (request) => new FetchView(request, () => context.body)),
}
