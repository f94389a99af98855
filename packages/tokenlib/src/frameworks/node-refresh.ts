import type { ServerResponse } from 'node:http'
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { toRequestView } from '../http/request-source.js'
import { createImplicitRefresh, type RefreshingManager } from '../sessions/implicit-refresh.js'
import type { RequestView } from '../http/view.js'
import { createMiddleware, type NodeMiddleware } from './node-bridge.js'
import { type ImplicitRefresh, isCacheLifetime, selectCookies } from '../http/refreshed-response.js'

/** What `implicitRefresh` of an adapter for Node does; `res` is `undefined` where another server runs the adapter. */
export function createNodeRefresh(
  tokens: RefreshingManager,
): (view: RequestView, res: ServerResponse | undefined) => Promise<ImplicitRefresh | null> {
  const refresh = createImplicitRefresh(tokens)
  return async (view, res) => {
    const refreshed = await refresh(view)
    if (refreshed !== null && res !== undefined) keepRefreshed(res, refreshed)
    return refreshed
  }
}

/**
 * Middleware that refreshes the session of a request whose access cookie has expired, and sends the new cookies with the
 * response.
 */
export function implicitRefresh(tokens: RefreshingManager): NodeMiddleware {
  const refresh = createNodeRefresh(tokens)
  return createMiddleware(async (req, res) => {
    await refresh(toRequestView(req), res)
    return false
  })
}

// At the moment the response is sent: error handlers drop the headers that are set before them, and some responses are
// written without the framework.
function keepRefreshed(res: ServerResponse, refreshed: ImplicitRefresh): void {
  const { stream } = res as { readonly stream?: ServerHttp2Stream }
  if (typeof stream?.respond === 'function') keepInStream(stream, refreshed)
  else keepInResponse(res, refreshed)
}

type HeaderValue = string | number | string[]

function keepInResponse(res: ServerResponse, refreshed: ImplicitRefresh): void {
  const writeHead = res.writeHead.bind(res) as (status: number, ...rest: unknown[]) => ServerResponse
  const writeRefreshed = (status: number, ...rest: unknown[]): ServerResponse => {
    const reason = rest.filter((argument) => typeof argument === 'string')
    const given = rest.find((argument) => typeof argument === 'object' && argument !== null)
    // As Node does with headers that are given here, when others were set before.
    for (const [name, values] of groupByName(given ?? {})) res.setHeader(name, values)
    const own = [res.getHeader('set-cookie') ?? []].flat().map(String)
    for (const name of res.getHeaderNames().filter(isCacheLifetime)) res.removeHeader(name)
    for (const [name, value] of Object.entries(toRecord(refreshed, own))) res.setHeader(name, value)
    return writeHead(status, ...reason)
  }
  Object.assign(res, { writeHead: writeRefreshed })
}

// Node takes an object, a list of names and values in turn, or a list of pairs. In lists, a name may occur more than once.
function groupByName(headers: object): Iterable<[string, HeaderValue]> {
  if (!Array.isArray(headers)) return Object.entries(headers) as [string, HeaderValue][]
  const list = headers as unknown[]
  const pairs = Array.isArray(list[0])
    ? (list as [string, HeaderValue][])
    : list.flatMap((name, at) => (at % 2 === 0 ? [[name, list[at + 1]] as [string, HeaderValue]] : []))
  const groups = new Map<string, [string, HeaderValue]>()
  for (const [name, value] of pairs) {
    const key = name.toLowerCase()
    const [, before] = groups.get(key) ?? []
    groups.set(key, [name, before === undefined ? value : ([before, value].flat() as string[])])
  }
  return groups.values()
}

// The response of an HTTP/2 request calls the stream, and so may the application.
function keepInStream(stream: ServerHttp2Stream, refreshed: ImplicitRefresh): void {
  const respond = stream.respond.bind(stream)
  const respondWithFD = stream.respondWithFD.bind(stream)
  const respondWithFile = stream.respondWithFile.bind(stream)
  Object.assign(stream, {
    respond: (headers?: object, options?: StreamOptions) => respond(toRefreshed(headers, refreshed), options),
    respondWithFD: (file: number, headers?: object, options?: FileOptions) =>
      respondWithFD(file, toRefreshed(headers, refreshed), refreshLast(options, refreshed)),
    respondWithFile: (path: string, headers?: object, options?: FileOptions) =>
      respondWithFile(path, toRefreshed(headers, refreshed), refreshLast(options, refreshed)),
  })
}

type StreamOptions = Parameters<ServerHttp2Stream['respond']>[1]
type FileOptions = NonNullable<Parameters<ServerHttp2Stream['respondWithFile']>[2]>

// This hook may change the headers.
function refreshLast(options: FileOptions | undefined, refreshed: ImplicitRefresh): FileOptions | undefined {
  const { statCheck } = options ?? {}
  if (statCheck === undefined) return options
  return {
    ...options,
    statCheck(stats, headers, statOptions) {
      const answer: unknown = statCheck.call(this, stats, headers, statOptions)
      applyInPlace(headers, refreshed)
      return answer as undefined
    },
  }
}

function toRefreshed(headers: object | undefined, refreshed: ImplicitRefresh): OutgoingHttpHeaders {
  // Newer versions of Node also take a list here.
  const copy: OutgoingHttpHeaders = Array.isArray(headers)
    ? Object.fromEntries(groupByName(headers))
    : { ...headers }
  applyInPlace(copy, refreshed)
  return copy
}

function applyInPlace(headers: OutgoingHttpHeaders, refreshed: ImplicitRefresh): void {
  const own: string[] = []
  for (const name of Object.keys(headers)) {
    const isCookie = name.toLowerCase() === 'set-cookie'
    if (isCookie) own.push(...[headers[name] ?? []].flat().map(String))
    if (isCookie || name.toLowerCase() === 'cache-control' || isCacheLifetime(name)) delete headers[name]
  }
  Object.assign(headers, toRecord(refreshed, own))
}

function toRecord(refreshed: ImplicitRefresh, own: readonly string[]): Record<string, string | string[]> {
  const others = refreshed.headers.filter(([name]) => name !== 'set-cookie')
  return { ...Object.fromEntries(others), 'set-cookie': [...own, ...selectCookies(refreshed, own)] }
}
