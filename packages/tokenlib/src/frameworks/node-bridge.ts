import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isUrlEncoded } from '../http/body.js'
import { readReplacedCookies } from '../http/read-token.js'
import { setNodeRequest, setRequestIp } from '../http/view.js'
import { toRequestView } from '../http/request-source.js'
import { assertMount, isBelow, type MountableRoutes, MOUNTED_METHODS } from '../routes/router.js'

/** What a framework knows of a Node request beyond the request itself. */
export interface NodeRequestFacts {
  /** The path and query as the client sent them, whatever a router has taken off. */
  readonly url: string
  /** Where the server is, as the client wrote it: `https://app.example`. */
  readonly origin?: string | undefined
  /** The address of the client. */
  readonly ip?: string | null | undefined
  /** What a body parser has made of the body; `undefined` when none has read it. */
  readonly body?: unknown
}

/**
 * A Fetch request with the content of a Node one. Its body is read from the Node request only when it is asked for; what is
 * left of it when the response is sent is dropped.
 */
export function toFetchRequest(req: IncomingMessage, res: ServerResponse, facts: NodeRequestFacts): Request {
  const { method = 'GET', rawHeaders } = req
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    // RFC 9113 §8.3: a name that begins with a colon is a pseudo-header.
    if (!name.startsWith(':')) headers.append(name, rawHeaders[at + 1] as string)
  }
  const replaced = readReplacedCookies(req)
  if (replaced !== null) headers.set('cookie', replaced)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const init = hasBody ? { body: toBody(req, res, facts.body), duplex: 'half' } : {}
  const url = toUrl(facts.url, facts.origin ?? readOrigin(req))
  const request = new Request(url, { method, headers, ...init } as RequestInit)
  setRequestIp(request, facts.ip)
  setNodeRequest(request, req)
  return request
}

/** Sends a Fetch response as the answer to a Node request; cookies that are set already stay. */
export async function sendFetchResponse(response: Response, res: ServerResponse): Promise<void> {
  res.statusCode = response.status
  for (const [name, value] of response.headers) {
    if (name === 'set-cookie') res.appendHeader(name, value)
    else res.setHeader(name, value)
  }
  const body = toNodeBody(response)
  if (body === null) return void res.end()
  try {
    await pipeline(body, res)
  } catch (error) {
    // The client has left; an answer that is streamed ends with that.
    if (!res.destroyed) throw error
  }
}

/** What a reply of Fastify and a response of Express are sent with. */
export interface ReplyMethods {
  status(status: number): unknown
  header(name: string, value: string): unknown
  send(body: unknown): unknown
}

/** A reply of Fastify. */
export interface FastifyReplyLike extends ReplyMethods {
  readonly raw: ServerResponse
}

/** Sends a Fetch response through a reply of Fastify, and so through its hooks. */
export function sendReply(response: Response, reply: FastifyReplyLike): unknown {
  reply.status(response.status)
  for (const [name, value] of response.headers) reply.header(name, value)
  // Not null: Fastify would send that as JSON.
  return reply.send(toNodeBody(response) ?? undefined)
}

/** The body of a Fetch response as Node frameworks send one. */
export function toNodeBody({ body }: Response): Readable | null {
  return body === null ? null : Readable.fromWeb(body)
}

// The path must be as a URL parser writes it: of `/auth/x/../login` the routers and limiters of the application have
// seen another path than the routes would.
function isMounted(routes: MountableRoutes, method: string | undefined, url: string): boolean {
  if (!isBelow(routes, url) || !MOUNTED_METHODS.includes(method ?? '')) return false
  return new URL(url, 'http://localhost').pathname === url.split('?', 1)[0]
}

type NodeMount = (
  req: IncomingMessage,
  res: ServerResponse,
  facts: NodeRequestFacts,
) => Promise<Response | null>

/** What `mount` of an adapter for Node does: the response to a request, or `null` if it is not for the routes. */
export function createNodeMount(routes: MountableRoutes): NodeMount {
  assertMount(routes)
  return async (req, res, facts) =>
    isMounted(routes, req.method, facts.url) ? routes.handle(toFetchRequest(req, res, facts)) : null
}

/** Middleware of a Node server; Nest takes it on both platforms. */
export type NodeMiddleware<Req = IncomingMessage> = (
  req: Req,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/** Middleware from a step that returns whether it has answered the request; otherwise the next handler runs. */
export function createMiddleware<Req, Res, Next extends (error?: unknown) => void>(
  step: (req: Req, res: Res, next: Next) => Promise<boolean>,
): (req: Req, res: Res, next: Next) => Promise<void> {
  return async (req, res, next) => {
    try {
      if (await step(req, res, next)) return
    } catch (error) {
      return next(toError(error))
    }
    next()
  }
}

// Express lets a request on when `next` is called with nothing, and past the route with 'route' or 'router'.
function toError(thrown: unknown): object {
  return typeof thrown === 'object' && thrown !== null
    ? thrown
    : new Error('A value that is not an error was thrown', { cause: thrown })
}

// What Express, or the middleware of Fastify, adds to a request.
interface RoutedMessage extends IncomingMessage {
  /** The URL before a router removed its prefix. */
  readonly originalUrl?: string
  readonly baseUrl?: string
  /** Follows `trust proxy`. */
  readonly protocol?: string
  readonly body?: unknown
}

/** Middleware that answers what is below the path of the routes, and passes on the rest. */
export function mount(routes: MountableRoutes): NodeMiddleware {
  const answer = createNodeMount(routes)
  return createMiddleware(async (req: RoutedMessage, res: ServerResponse) => {
    const { url = '/', originalUrl = url, protocol, headers, body } = req
    assertPrefix(routes, req)
    const response = await answer(req, res, {
      url: originalUrl,
      origin: protocol && `${protocol}://${headers.host ?? ''}`,
      // Created only when needed: most requests are not for these routes.
      get ip() {
        return toRequestView(req).ip
      },
      body,
    })
    if (response !== null) await sendFetchResponse(response, res)
    return response !== null
  })
}

// `app.use('/api', mount(routes))` looks as if the routes moved; they would never be found there.
function assertPrefix({ path }: MountableRoutes, { baseUrl = '', url }: RoutedMessage): void {
  if (baseUrl === '' || path.startsWith(baseUrl) || !`${url}/`.startsWith(`${path}/`)) return
  throw new TypeError(
    `The routes are at ${path}, and mount() is used below ${baseUrl}: give them the path ${baseUrl}${path}`,
  )
}

function toBody(
  req: IncomingMessage,
  res: ServerResponse,
  parsed: unknown,
): string | Uint8Array | ReadableStream<Uint8Array> {
  if (parsed === undefined || !req.readableDidRead) return toStream(req, res)
  if (typeof parsed === 'string' || parsed instanceof Uint8Array) return parsed
  const isFormBody = isUrlEncoded(req.headers['content-type'] ?? null)
  return isFormBody ? new URLSearchParams(toFormPairs(parsed)).toString() : JSON.stringify(parsed)
}

// As parsers of forms read them: a field that came twice is a list, and `a[b]` may have become an object.
function toFormPairs(value: unknown, name = ''): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[name, String(value)]]
  if (Array.isArray(value)) return value.flatMap((item) => toFormPairs(item, name))
  return Object.entries(value).flatMap(([key, item]) =>
    toFormPairs(item, name === '' ? key : `${name}[${key}]`),
  )
}

// Pulls, and not before it must: a request that is passed on keeps its body.
function toStream(req: IncomingMessage, res: ServerResponse): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array, undefined> | undefined
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        chunks ??= readChunks(req, res)
        const { done, value } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

// A reader may stop early. Node waits for the rest of the body before it serves the next request of a connection,
// and cannot drop it while somebody seems to be reading.
function readChunks(req: IncomingMessage, res: ServerResponse): AsyncIterator<Uint8Array, undefined> {
  res.once('close', () => {
    if (!req.readableEnded) req.removeAllListeners('readable').resume()
  })
  return req[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>
}

function readOrigin({ headers, socket }: IncomingMessage): string {
  const scheme = 'encrypted' in socket ? 'https' : 'http'
  return `${scheme}://${headers.host ?? 'localhost'}`
}

// A client may send any text as its host: accept only hosts that round-trip through URL parsing.
function toUrl(path: string, origin: string): string {
  const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin
  return (isOrigin ? origin : 'http://localhost') + path
}
