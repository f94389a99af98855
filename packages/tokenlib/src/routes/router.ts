import { isTokenError } from '../errors.js'
import { readBytes, toMediaType } from '../http/body.js'
import { type Kind, textLike } from '../options.js'
import { type ErrorResponseOptions, toFetchErrorResponse } from '../requests/error-response.js'

/** Routes that every adapter can mount. `createSessionRoutes`, `createConsole` and others return them. */
export interface MountableRoutes {
  /** Where the routes are, without a trailing slash: `/auth`. */
  readonly path: string
  /** The paths of the routes, if they do not answer everything below `path`. */
  readonly paths?: readonly string[]
  /** Answers a request. Returns `null`, without reading the body, if no route has its path. */
  handle(request: Request): Promise<Response | null>
}

/** Answers every request to one path. */
export type Route<Rest extends readonly unknown[] = []> = (
  request: Request,
  ...rest: Rest
) => Promise<Response>

/** The options of a router. */
export interface RouterOptions {
  readonly path: string
  /** The routes, by the part after `path`: `/login`, or an empty string for `path` itself. */
  readonly routes: Readonly<Record<string, Route>>
  /** Finds a route whose path is not known before the request, by the part after `path`. */
  readonly find?: (rest: string) => Route | null
  /** Whether the application has other routes below `path`. Adapters then register only the paths in `routes`. */
  readonly isPathShared?: boolean
}

/** Finds the route for a request by its path. */
export function createRouter({
  path,
  routes,
  find,
  isPathShared = false,
}: RouterOptions): Readonly<MountableRoutes> {
  return Object.freeze({
    path,
    ...(isPathShared && { paths: Object.freeze(Object.keys(routes).map((rest) => path + rest)) }),
    async handle(request: Request): Promise<Response | null> {
      const { pathname } = new URL(request.url)
      // The application answers pre-flight requests, because only it knows who may call it.
      if (request.method === 'OPTIONS' || !isBelow({ path }, pathname)) return null
      const rest = pathname.slice(path.length)
      const route = Object.hasOwn(routes, rest) ? routes[rest] : find?.(rest)
      return route?.(request) ?? null
    },
  })
}

/** Request handlers, by method. */
export type Methods<Rest extends readonly unknown[] = []> = Readonly<
  Record<string, (request: Request, ...rest: Rest) => Response | Promise<Response>>
>

/**
 * A route that answers by method: `HEAD` like `GET` without the body (RFC 9110 §9.3.2), and unknown methods with 405.
 * `toAnswer` turns an error into a response, or rethrows it.
 */
export function createRoute<Rest extends readonly unknown[] = []>(
  methods: Methods<Rest>,
  toAnswer: (error: unknown) => Response,
): Route<Rest> {
  const answerRequest: Route<Rest> = async (request, ...rest) => {
    const method = request.method === 'HEAD' ? 'GET' : request.method
    try {
      const answer = Object.hasOwn(methods, method) ? methods[method] : undefined
      if (answer === undefined) throw methodNotAllowed(Object.keys(methods))
      return await answer(request, ...rest)
    } catch (error) {
      return toAnswer(error)
    }
  }
  return async (request, ...rest) => {
    const response = await answerRequest(request, ...rest)
    if (request.method !== 'HEAD') return response
    await response.body?.cancel()
    return new Response(null, response)
  }
}

function methodNotAllowed(methods: readonly string[]): RefusedRequest {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  const allow = allowed.join(', ')
  const message = `The method must be ${allowed.length === 1 ? allow : `one of ${allow}`}`
  return new RefusedRequest(405, 'METHOD_NOT_ALLOWED', message, { allow })
}

/** Thrown inside routes to refuse a request for a reason other than its token. Never leaves them. */
export class RefusedRequest extends Error {
  readonly status: number
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/**
 * Turns a token error or a refusal into a response. The body comes from `toBody`. It has no challenge, because no token
 * would help. Rethrows any other error.
 */
export function toErrorAnswer(
  error: unknown,
  toBody: (refusal: RefusedRequest) => object,
  options?: ErrorResponseOptions,
): Response {
  if (error instanceof RefusedRequest) {
    return createJsonAnswer(toBody(error), { status: error.status, headers: error.headers })
  }
  if (isTokenError(error)) return toFetchErrorResponse(error, options)
  throw error
}

const NO_STORE = { 'cache-control': 'no-store' }

/** A JSON response that must not be cached. */
export function createJsonAnswer(
  body: object,
  init: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Response {
  return Response.json(body, { ...init, headers: { ...NO_STORE, ...init.headers } })
}

/** A response without a body that must not be cached. */
export function createEmptyAnswer(status: 200 | 202 | 204): Response {
  return new Response(null, { status, headers: NO_STORE })
}

/** The largest request body, in bytes: far more than credentials, tokens and signed events need. */
export const MAX_BODY_BYTES: number = 64 * 1024

/**
 * Reads the body of a request as text. Throws `RefusedRequest` for another media type, a body that is too large, or invalid
 * UTF-8. The request can still be read afterwards.
 */
export async function parseBodyText(request: Request, mediaType: string): Promise<string> {
  if (toMediaType(request.headers.get('content-type')) !== mediaType) {
    throw new RefusedRequest(415, 'MEDIA_TYPE_UNSUPPORTED', `The body must be of the type ${mediaType}`)
  }
  if (Number(request.headers.get('content-length')) > MAX_BODY_BYTES) throw tooLarge()
  const stream: ReadableStream<Uint8Array> | null = request.clone().body
  const bytes = stream === null ? new Uint8Array() : await readBytes(stream, MAX_BODY_BYTES)
  if (bytes === null) throw tooLarge()
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new RefusedRequest(400, 'REQUEST_INVALID', 'The body is not valid UTF-8')
  }
}

function tooLarge(): RefusedRequest {
  return new RefusedRequest(413, 'REQUEST_TOO_LARGE', `The body is larger than ${MAX_BODY_BYTES} bytes`)
}

/**
 * The methods that routes are mounted for. Pre-flight requests belong to the application. Browsers send no other methods,
 * and a Fetch request cannot even have some of them.
 */
export const MOUNTED_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * The paths to register at a router, with a wildcard for everything below. If the paths are known, only they are
 * registered: anything else below `path`, such as `/.well-known/security.txt`, belongs to the application.
 */
export function toRouterPaths({ path, paths }: MountableRoutes): readonly string[] {
  return paths === undefined ? [path, `${path}/*`] : paths.map(toRouterPath)
}

// Routers treat colons and asterisks as patterns, and some decode percent-encoding before they compare. Replace such a
// segment with a parameter; the routes compare the path themselves.
function toRouterPath(path: string): string {
  return path
    .split('/')
    .map((segment, at) => (/[:*%]/.test(segment) ? `:segment${at}` : segment))
    .join('/')
}

/** Whether a path, or a URL without an origin, is the path of mounted routes or below it. */
export function isBelow({ path }: Pick<MountableRoutes, 'path'>, url: string): boolean {
  if (!url.startsWith(path)) return false
  const next = url.charAt(path.length)
  return next === '' || next === '/' || next === '?'
}

/** Implements `mount` of an adapter: answers a Fetch request, or returns `null` if it is not below the routes' path. */
export function createMount(routes: MountableRoutes): (request: Request) => Promise<Response | null> {
  assertMount(routes)
  return async (request) => {
    const { pathname } = new URL(request.url)
    return isBelow(routes, pathname) ? routes.handle(request) : null
  }
}

/** Throws `TypeError` for values that cannot be mounted. */
export function assertMount(routes: MountableRoutes): void {
  if (typeof routes?.handle === 'function' && typeof routes.path === 'string') return
  throw new TypeError('mount() takes routes, as createSessionRoutes() or createConsole() returns them')
}

// A path that a URL parser would change, or a browser would encode, is never the path of a request.
const PATH = /^(?=\/)(?:\/(?=[\w~-])|[\w.~-])+$/

/** The path of mounted routes, as an option. */
export const routePath: Kind<string> = textLike(
  'a path that begins with a slash and does not end with one, for example /auth',
  (value) => PATH.test(value),
)

// Set all of these fields: h3 would copy missing ones from the cause.
class HookError extends Error {
  readonly status = 500
  readonly statusText = 'Internal Server Error'
  readonly headers = {}
  readonly unhandled = true
}

/**
 * Calls a function of the application and wraps its errors. Otherwise frameworks would answer with the status of that
 * error.
 */
export async function callHook<Value>(name: string, call: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await call()
  } catch (error) {
    throw toHookError(name, error)
  }
}

/** Wraps an error of an application function, so that every framework answers with 500. */
export function toHookError(name: string, cause: unknown): Error {
  return cause instanceof HookError ? cause : new HookError(`${name} failed`, { cause })
}

/**
 * Throws `TypeError` unless a dependency that identifies the caller has returned one. `name` is its option.
 *
 * An optional dependency returns `null` without a token, guards of other libraries return `false` to refuse, and a check
 * like `list.length && user` returns `0`.
 */
export function assertIdentity(name: string, value: unknown): void {
  if (Boolean(value) && !(value instanceof Error) && !(value instanceof Response)) return
  throw new TypeError(
    `${name} must throw to refuse a request, and otherwise return the caller: not null, false, 0, an empty string or an error`,
  )
}
