import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AddressedView } from '../request/fetch-view.js'
import { rememberView } from '../request/view.js'
import { assertImplicitRefresh, type RefreshingManager, refreshImplicitly } from './implicit-refresh.js'
import { isBelow, type MountableRoutes } from './mountable-routes.js'

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

/** A Fetch request with the content of a Node one. Its body is read from the Node request only when it is asked for. */
export function toFetchRequest(req: IncomingMessage, facts: NodeRequestFacts): Request {
  const { method = 'GET', rawHeaders } = req
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    // RFC 9113 §8.3: what begins with a colon is no header.
    if (!name.startsWith(':')) headers.append(name, rawHeaders[at + 1] as string)
  }
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const init = hasBody ? { body: toBody(req, facts.body), duplex: 'half' } : {}
  const url = toUrl(facts.url, facts.origin ?? readOrigin(req))
  const request = new Request(url, { method, headers, ...init } as RequestInit)
  rememberView(request, () => new AddressedView(request, facts.ip ?? null))
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

/** Adds `Set-Cookie` values to whatever a Node response will be: error handlers drop the headers that are set before them. */
export function keepCookies(res: ServerResponse, cookies: readonly string[]): void {
  const writeHead = res.writeHead.bind(res) as (status: number, ...rest: unknown[]) => ServerResponse
  const writeWithCookies = (status: number, ...rest: unknown[]): ServerResponse => {
    const given = rest.at(-1)
    const isGiven = typeof given === 'object' && given !== null
    // As Node does with headers that are given here, when others were set before.
    if (isGiven) for (const [name, value] of toPairs(given)) res.setHeader(name, value)
    res.appendHeader('set-cookie', cookies)
    return writeHead(status, ...(isGiven ? rest.slice(0, -1) : rest))
  }
  Object.assign(res, { writeHead: writeWithCookies })
}

// An object of headers, or the flat list of names and values that Node also takes.
function toPairs(headers: object): [string, string | readonly string[]][] {
  if (!Array.isArray(headers)) return Object.entries(headers) as [string, string | readonly string[]][]
  const flat = headers.flat() as string[]
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : []))
}

/** Middleware of Node servers that refreshes implicitly. */
export function createNodeRefresh(
  tokens: RefreshingManager,
): (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => Promise<void> {
  assertImplicitRefresh(tokens)
  return async (req, res, next) => {
    try {
      const refreshed = await refreshImplicitly(tokens, req)
      if (refreshed !== null) keepCookies(res, refreshed.cookies)
    } catch (error) {
      return next(error)
    }
    next()
  }
}

/** The body of a Fetch response as Node frameworks send one. */
export function toNodeBody({ body }: Response): Readable | null {
  return body === null ? null : Readable.fromWeb(body)
}

/** Middleware of Node servers that answers what is below the path of the routes, and passes on the rest. */
export function createNodeMount<Req extends IncomingMessage>(
  routes: MountableRoutes,
  readFacts: (req: Req) => NodeRequestFacts,
): (req: Req, res: ServerResponse, next: (error?: unknown) => void) => Promise<void> {
  return async (req, res, next) => {
    const facts = readFacts(req)
    if (!isBelow(routes, facts.url)) return next()
    try {
      const response = await routes.handle(toFetchRequest(req, facts))
      if (response !== null) return await sendFetchResponse(response, res)
    } catch (error) {
      return next(error)
    }
    next()
  }
}

function toBody(req: IncomingMessage, parsed: unknown): string | Uint8Array | ReadableStream<Uint8Array> {
  if (parsed === undefined || !req.readableDidRead) return toStream(req)
  return typeof parsed === 'string' || parsed instanceof Uint8Array ? parsed : JSON.stringify(parsed)
}

// Pulls, and not before it must: a request that is passed on keeps its body.
function toStream(req: IncomingMessage): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array, undefined> | undefined
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        chunks ??= req[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>
        const { done, value } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
}

function readOrigin({ headers, socket }: IncomingMessage): string {
  const scheme = 'encrypted' in socket ? 'https' : 'http'
  return `${scheme}://${headers.host ?? 'localhost'}`
}

// A client may send any text as its host.
function toUrl(path: string, origin: string): string {
  const url = path.startsWith('/') ? origin + path : path
  return URL.canParse(url) ? url : `http://localhost${path.startsWith('/') ? path : '/'}`
}
