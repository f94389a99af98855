import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { openToken } from './manager.js'

/** Whatever a Fetch request takes as its body. */
export type RequestBody = NonNullable<RequestInit['body']>

/** What a test may say about a Fetch request. */
export interface RequestOptions {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly cookies?: Readonly<Record<string, string>>
  readonly body?: RequestBody
}

/** A Fetch request to localhost. */
export function createRequest(options: RequestOptions = {}): Request {
  const { method = 'GET', path = '/', cookies = {}, body } = options
  const headers = new Headers(options.headers)
  const pairs = Object.entries(cookies).map(([name, value]) => `${name}=${value}`)
  if (pairs.length > 0) headers.set('cookie', pairs.join('; '))
  return new Request(`http://localhost${path}`, { method, headers, ...(body !== undefined && { body }) })
}

/** A POST of a JSON text or value. */
export function createJsonRequest(body: unknown, contentType = 'application/json'): Request {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return createRequest({ method: 'POST', headers: { 'content-type': contentType }, body: text })
}

/** The CSRF value signed into a token. */
export function csrfOf(token: string): string {
  return openToken(token).claims['csrf'] as string
}

/** A Node request as a server hands it to a route; body parsers add `body`. */
export type ReceivedRequest = IncomingMessage & { body?: unknown }

/** The text of an HTTP/1.1 request, its headers exactly as given. */
export function toHttpText(
  start: string,
  headers: readonly (readonly [name: string, value: string])[],
  body = '',
): string {
  const lines = [['Host', 'localhost'], ...headers].map(([name, value]) => `${name}: ${value}`)
  return [`${start} HTTP/1.1`, ...lines, '', body].join('\r\n')
}

/** Sends an HTTP text over a socket to a real server, and runs `handle` on the request that arrives. */
export async function receive<Value>(
  text: string,
  handle: (request: ReceivedRequest) => Value | Promise<Value>,
): Promise<Value> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    const arrival = once(server, 'request') as Promise<[ReceivedRequest, ServerResponse]>
    socket.write(text)
    const [request] = await arrival
    return await handle(request)
  } finally {
    socket.destroy()
    server.close()
    server.closeAllConnections()
  }
}

/** What a route finds of a body: what a parser left, or else the stream's text. */
export async function readBodyAsRoute(request: ReceivedRequest): Promise<unknown> {
  if (request.body !== undefined) return request.body
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
