import type { Context, Env, ErrorHandler, MiddlewareHandler } from 'hono'
import { isTokenError } from '../errors.js'
import { isForm, isJson } from '../http/body.js'
import { toRefreshedResponse } from '../http/refreshed-response.js'
import { FetchView, toRequestView } from '../http/request-source.js'
import {
  createEnforcer,
  createInjector,
  type Dependencies,
  type Dependency,
} from '../requests/dependencies.js'
import { assertErrorOptions, type ErrorResponseOptions, toErrorResponse } from '../requests/error-response.js'
import { createMount, isBelow, type MountableRoutes } from '../routes/router.js'
import { createImplicitRefresh, type RefreshingManager } from '../sessions/implicit-refresh.js'
import type { NodeRequest } from '../http/node-view.js'
import {
  attach,
  readAttached,
  rememberView,
  type RequestReader,
  type RequestView,
  setNodeRequest,
  setRequestIp,
} from '../http/view.js'

/** Middleware that passes a request on only after every dependency has passed. */
export function enforce<Values extends readonly unknown[]>(
  ...dependencies: Dependencies<Values>
): MiddlewareHandler {
  const enforcer = createEnforcer(dependencies, contextReader)
  return async (c, next) => {
    if (hasContextDependencies) toView(c)
    if (!enforcer.passesNow(c)) await enforcer.enforce(c)
    await next()
  }
}

/** Middleware that puts the values of dependencies into `c.var`, typed. */
export function inject<Values extends Record<string, unknown>>(
  dependencies: Dependencies<Values>,
): MiddlewareHandler<{ Variables: Readonly<Values> }>
/** A handler that receives the values of its dependencies first. */
export function inject<
  Values extends Record<string, unknown>,
  Answer extends Response | Promise<Response>,
  E extends Env = Env,
  Path extends string = string,
>(
  dependencies: Dependencies<Values>,
  handler: (values: Readonly<Values>, c: Context<E, Path>) => Answer,
): (c: Context<E, Path>) => Answer | Promise<Awaited<Answer>>
export function inject(
  dependencies: Dependencies<Record<string, unknown>>,
  handler?: (values: Readonly<Record<string, unknown>>, c: Context) => Response | Promise<Response>,
): MiddlewareHandler {
  const injector = createInjector(dependencies, contextReader)
  return async (c, next) => {
    if (hasContextDependencies) toView(c)
    const values = injector.resolveNow(c) ?? (await injector.resolve(c))
    if (handler !== undefined) return handler(values, c)
    for (const [name, value] of Object.entries(values)) c.set(name, value)
    return next()
  }
}

/** Selects a dependency by the context, once per request: for managers that need `c.env`. */
export function fromContext<Value>(select: (c: Context) => Dependency<Value>): Dependency<Value> {
  hasContextDependencies = true
  const selected = new WeakMap<Context, Dependency<Value>>()
  return (request) => {
    const c = readAttached(toRequestView(request), toView) as Context | undefined
    if (c === undefined) {
      throw new TypeError('fromContext works only on routes with enforce or inject of tokenlib/hono')
    }
    const dependency = selected.get(c) ?? select(c)
    selected.set(c, dependency)
    return dependency(request)
  }
}

/** Turns token errors into RFC 6750 responses, for `app.onError`. Other errors get Hono's standard response. */
export function handleErrors(
  options?: ErrorResponseOptions | ((c: Context) => ErrorResponseOptions),
): ErrorHandler {
  if (typeof options !== 'function') assertErrorOptions(options)
  return (error, c) => {
    if (isTokenError(error)) {
      const chosen = typeof options === 'function' ? options(c) : options
      const { status, headers, body } = toErrorResponse(error, chosen)
      return c.json(body, status, headers)
    }
    if ('getResponse' in error) {
      const response = error.getResponse()
      return c.newResponse(response.body, response)
    }
    console.error(error)
    return c.text('Internal Server Error', 500)
  }
}

/** Adds `Set-Cookie` values to the response that the context makes. */
export function sendCookies(c: Context, cookies: readonly string[]): void {
  for (const cookie of cookies) c.header('set-cookie', cookie, { append: true })
}

/** Middleware that answers requests below the path of the routes, and passes on the rest. */
export function mount(routes: MountableRoutes): MiddlewareHandler {
  const answer = createMount(routes)
  return async (c, next) => {
    // Before the body is read: another route may have used its body up.
    if (!isBelow(routes, new URL(c.req.url).pathname)) return next()
    rememberConnection(c, c.req.raw)
    return (await answer(await readUnread(c))) ?? next()
  }
}

/** Middleware that refreshes the session of a request whose access cookie has expired, and sends the new cookies with the response. */
export function implicitRefresh(tokens: RefreshingManager): MiddlewareHandler {
  const refresh = createImplicitRefresh(tokens)
  return async (c, next) => {
    const refreshed = await refresh(toView(c))
    await next()
    if (refreshed === null) return
    const response = toRefreshedResponse(c.res, refreshed)
    // Hono adds the headers of the response before to the one that replaces it.
    c.res = undefined
    c.res = response
  }
}

// Hono keeps a body that an earlier middleware has read.
async function readUnread(c: Context): Promise<Request> {
  const { method, url, headers, bodyUsed } = c.req.raw
  if (!bodyUsed || method === 'GET' || method === 'HEAD') return c.req.raw
  const unread = new Request(url, { method, headers, body: await c.req.arrayBuffer() })
  setRequestIp(unread, toView(c).ip)
  rememberConnection(c, unread)
  return unread
}

// `@hono/node-server` keeps the Node request in the environment. Only a TLS socket has something to tell.
function rememberConnection(c: Context, request: Request): void {
  const { incoming } = (c.env ?? {}) as { readonly incoming?: NodeRequest }
  if (incoming?.socket?.getPeerCertificate !== undefined) setNodeRequest(request, incoming)
}

// A route may call a dependency of `fromContext` by itself: it finds the context at the view.
let hasContextDependencies = false

const contextReader: RequestReader<Context> = {
  readHeader: (c, name) => c.req.raw.headers.get(name),
  readMethod: (c) => c.req.raw.method,
  toView,
}

function toView(c: Context): RequestView {
  const view = rememberView(c.req.raw, (request) => {
    rememberConnection(c, request)
    return new FetchView(request, () => (request.bodyUsed ? readKeptBody(c) : undefined))
  })
  // Not only when the view is new: another application may have been given the same request.
  if (readAttached(view, toView) !== c) attach(view, toView, c)
  return view
}

// A body that an earlier middleware read is not lost: Hono keeps it.
async function readKeptBody(c: Context): Promise<unknown> {
  const contentType = c.req.header('content-type') ?? null
  try {
    if (isJson(contentType)) return await c.req.json<unknown>()
    if (isForm(contentType)) return await c.req.parseBody({ all: true })
  } catch {
    // Not what its content type says: then it holds no token, and the route will notice by itself.
  }
  return undefined
}
