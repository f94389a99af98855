import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isUrlEncoded } from '../http/body.js'
import { readReplacedCookies } from '../http/read-token.js'
import { setRequestIp } from '../http/view.js'
import { isBelow, type MountableRoutes } from '../routes/mountable-routes.js'

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
    // RFC 9113 §8.3: what begins with a colon is no header.
    if (!name.startsWith(':')) headers.append(name, rawHeaders[at + 1] as string)
  }
  const replaced = readReplacedCookies(req)
  if (replaced !== null) headers.set('cookie', replaced)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const init = hasBody ? { body: toBody(req, res, facts.body), duplex: 'half' } : {}
  const url = toUrl(facts.url, facts.origin ?? readOrigin(req))
  const request = new Request(url, { method, headers, ...init } as RequestInit)
  setRequestIp(request, facts.ip)
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

/** The body of a Fetch response as Node frameworks send one. */
export function toNodeBody({ body }: Response): Readable | null {
  return body === null ? null : Readable.fromWeb(body)
}

// Others are none of a browser's, and no Fetch request can have some of them.
const METHODS = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE)$/

/**
 * Whether a request is for mounted routes. Its path must be as a URL parser writes it: of `/auth/x/../login` the routers
 * and limiters of the application have seen another path than the routes would.
 */
export function isMounted(routes: MountableRoutes, method: string | undefined, url: string): boolean {
  if (!isBelow(routes, url) || !METHODS.test(method ?? '')) return false
  return new URL(url, 'http://localhost').pathname === url.split('?', 1)[0]
}

/** Middleware of Node servers that answers what is below the path of the routes, and passes on the rest. */
export function createNodeMount<Req extends IncomingMessage>(
  routes: MountableRoutes,
  readFacts: (req: Req) => NodeRequestFacts,
): (req: Req, res: ServerResponse, next: (error?: unknown) => void) => Promise<void> {
  return async (req, res, next) => {
    try {
      const facts = readFacts(req)
      if (!isMounted(routes, req.method, facts.url)) return next()
      const response = await routes.handle(toFetchRequest(req, res, facts))
      if (response !== null) return await sendFetchResponse(response, res)
    } catch (error) {
      return next(error)
    }
    next()
  }
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

// Whoever has read enough stops. Node waits for the rest of the body before it serves the next request of a connection,
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

// A client may send any text as its host: only an origin that stays as it is, is one.
function toUrl(path: string, origin: string): string {
  const isOrigin = URL.canParse(origin) && new URL(origin).origin === origin
  return (isOrigin ? origin : 'http://localhost') + path
}
