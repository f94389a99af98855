import { isTokenError } from '../errors.js'
import { readBytes, toMediaType } from '../http/body.js'
import { type ErrorResponseOptions, toFetchErrorResponse } from '../requests/error-response.js'

/** Routes of this package that every adapter can mount: `createSessionRoutes`, `createConsole` and others return them. */
export interface MountableRoutes {
  /** Where they are, without a slash at the end: `/auth`. */
  readonly path: string
  /** Their paths, if they do not answer everything below `path`. */
  readonly paths?: readonly string[]
  /** The response to a request. `null` if no route has its path; then the body has not been read. */
  handle(request: Request): Promise<Response | null>
}

/** Answers every request to one path. */
export type Route<Rest extends readonly unknown[] = []> = (
  request: Request,
  ...rest: Rest
) => Promise<Response>

/** What a router is made of. */
export interface RouterOptions {
  readonly path: string
  /** The routes, by what follows `path`: `/login`, or an empty text for `path` itself. */
  readonly routes: Readonly<Record<string, Route>>
  /** Finds a route whose path is not known before the request, by what follows `path`. */
  readonly find?: (rest: string) => Route | null
  /** Whether other routes of the application are below `path`: then adapters register only the paths in `routes`. */
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
      // The application answers pre-flights: it alone knows who may call it.
      if (request.method === 'OPTIONS' || !isBelow({ path }, pathname)) return null
      const rest = pathname.slice(path.length)
      const route = Object.hasOwn(routes, rest) ? routes[rest] : find?.(rest)
      return route?.(request) ?? null
    },
  })
}

/** What answers a request, by its method. */
export type Methods<Rest extends readonly unknown[] = []> = Readonly<
  Record<string, (request: Request, ...rest: Rest) => Response | Promise<Response>>
>

/**
 * A route that answers by method: `HEAD` as `GET` without the body (RFC 9110 §9.3.2), and methods that it does not have
 * with 405. `toAnswer` turns what is thrown into a response, or throws it on.
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

/** Thrown inside of routes to refuse a request for another reason than its token; never leaves them. */
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
 * The response to an error of a request: a refusal, with the body of `toBody` and without a challenge, because no token
 * would help, or a token error. Any other error is thrown on.
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

/** A JSON response that nobody may keep. */
export function createJsonAnswer(
  body: object,
  init: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): Response {
  return Response.json(body, { ...init, headers: { ...NO_STORE, ...init.headers } })
}

/** A response without a body that nobody may keep. */
export function createEmptyAnswer(status: 200 | 202 | 204): Response {
  return new Response(null, { status, headers: NO_STORE })
}

/** How many bytes the body of a request may have: far more than credentials, tokens and signed events need. */
export const MAX_BODY_BYTES: number = 64 * 1024

/**
 * The body of a request as text, or `RefusedRequest` for another media type, for one too large, and for invalid UTF-8.
 * The request can still be read afterwards.
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
 * The methods that routes are mounted for. Pre-flights belong to the application, and a browser sends no others; a Fetch
 * request cannot even have some of them.
 */
export const MOUNTED_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * The paths to register at a router, with a wildcard for everything below. Where the paths are known, only they are
 * registered: what else is below, `/.well-known/security.txt` for example, belongs to the application.
 */
export function toRouterPaths({ path, paths }: MountableRoutes): readonly string[] {
  return paths === undefined ? [path, `${path}/*`] : paths.map(toRouterPath)
}

// Colons and asterisks are patterns of routers, and some compare what is percent-encoded decoded. A parameter takes the
// place of a segment with them; the routes compare the path themselves.
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

/** What `mount` of an adapter does: the response to a Fetch request, or `null` if it is not below the path of the routes. */
export function createMount(routes: MountableRoutes): (request: Request) => Promise<Response | null> {
  assertMount(routes)
  return async (request) => {
    const { pathname } = new URL(request.url)
    return isBelow(routes, pathname) ? routes.handle(request) : null
  }
}

/** Throws `TypeError` for what cannot be mounted. */
export function assertMount(routes: MountableRoutes): void {
  if (typeof routes?.handle === 'function' && typeof routes.path === 'string') return
  throw new TypeError('mount() takes routes: what createSessionRoutes(), createConsole() or the like returns')
}

// What a URL parser would change, or a browser would encode, is never the path of a request.
const PATH = /^(?=\/)(?:\/(?=[\w~-])|[\w.~-])+$/

/** Throws `TypeError` for a path that routes cannot be at. */
export function assertPath(path: unknown, example = '/auth'): void {
  if (typeof path === 'string' && PATH.test(path)) return
  throw new TypeError(`path must begin with a slash and not end with one, such as ${example}`)
}

// With all of these fields: h3 would take missing ones from the cause.
class HookError extends Error {
  readonly status = 500
  readonly statusText = 'Internal Server Error'
  readonly headers = {}
  readonly unhandled = true
}

/**
 * Calls a function of the application, and wraps what it throws: frameworks would answer the request with the status of
 * that error.
 */
export async function callHook<Value>(name: string, call: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await call()
  } catch (error) {
    throw toHookError(name, error)
  }
}

/** An error that every framework answers with 500, for what a function of the application has thrown. */
export function toHookError(name: string, cause: unknown): Error {
  return cause instanceof HookError ? cause : new HookError(`${name} failed`, { cause })
}

/**
 * Throws `TypeError` unless a dependency that says who sends a request has returned somebody; `name` is its option.
 *
 * `null` is what an optional dependency returns for nobody; `false` is how guards of other libraries refuse, and a check
 * like `list.length && user` returns `0`.
 */
export function assertIdentity(name: string, value: unknown): void {
  if (Boolean(value) && !(value instanceof Error) && !(value instanceof Response)) return
  throw new TypeError(
    `${name} must throw to refuse a request, and return who it is: not null, false, 0, an empty string or an error`,
  )
}
