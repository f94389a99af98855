import type { ErrorResponse } from '../../http/error-response.js'

/** Express' response, Node's own, or Fastify's reply. */
export type CookieTarget =
  | { appendHeader(name: string, value: readonly string[]): unknown }
  | { header(name: string, value: string[]): unknown }

/** Adds `Set-Cookie` values to a response, beside those that are there. */
export function sendCookies(response: CookieTarget, cookies: readonly string[]): void {
  if ('appendHeader' in response) response.appendHeader('set-cookie', cookies)
  else response.header('set-cookie', [...cookies])
}

interface NodeResponse {
  readonly headersSent: boolean
  writeHead(status: number, headers: Readonly<Record<string, string>>): this
  end(bytes?: Buffer): unknown
}

/** What Express' response and Fastify's reply have in common. */
interface FrameworkResponse {
  status(status: number): unknown
  header(name: string, value: string): unknown
  send(bytes: Buffer): unknown
}

/** Express' response, Fastify's reply, or Node's own, which middleware on Fastify gets. */
export type HttpResponse =
  | (FrameworkResponse & NodeResponse)
  | (FrameworkResponse & { readonly raw: NodeResponse })
  | NodeResponse

/** Sends an error's answer; one that has begun is only ended. */
export function sendAnswer(response: HttpResponse, { status, headers, body }: ErrorResponse): void {
  const raw = 'raw' in response ? response.raw : response
  const fields = { ...headers, 'content-type': 'application/json; charset=utf-8' }
  // Bytes, so that neither Express' settings for JSON nor a serializer of Fastify changes them.
  const bytes = Buffer.from(JSON.stringify(body))
  if (raw.headersSent) raw.end()
  else if (!('send' in response)) raw.writeHead(status, fields).end(bytes)
  else {
    response.status(status)
    for (const [name, value] of Object.entries(fields)) response.header(name, value)
    response.send(bytes)
  }
}
