import type { ServerResponse } from 'node:http'
import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Optional } from '@nestjs/common'
import { isTokenError, type TokenError } from '../../errors.js'
import {
  assertErrorOptions,
  type ErrorResponse,
  type ErrorResponseOptions,
  toErrorResponse,
} from '../../requests/error-response.js'
import { readInternals } from '../../sessions/internals.js'
import { type AnyManager, InjectTokenManager, type PlatformResponse, toNode } from './context.js'

/** Express' response, Node's own, or Fastify's reply. */
export type CookieTarget =
  | { appendHeader(name: string, value: readonly string[]): unknown }
  | { header(name: string, value: string[]): unknown }

/** Adds `Set-Cookie` values to a response, and keeps the ones it has. */
export function sendCookies(response: CookieTarget, cookies: readonly string[]): void {
  if ('appendHeader' in response) response.appendHeader('set-cookie', cookies)
  else response.header('set-cookie', [...cookies])
}

/** Opt-in: answers token errors as RFC 6750 says; all others stay with Nest and its other filters. */
export class TokenExceptionFilter implements ExceptionFilter<TokenError> {
  readonly #options: ErrorResponseOptions

  /** The container passes no options, but its manager: what they leave out comes from there. */
  constructor(options: ErrorResponseOptions = {}, tokens?: Partial<AnyManager>) {
    assertErrorOptions(options, 'new TokenExceptionFilter()')
    const internals = readInternals(tokens)
    this.#options = {
      ...(internals && { config: internals.config, formatError: internals.formatError }),
      ...options,
    }
  }

  catch(error: TokenError, host: ArgumentsHost): void {
    const answer = toErrorResponse(error, this.#options)
    const type = host.getType<string>()
    if (type === 'http') sendAnswer(host.switchToHttp().getResponse<PlatformResponse>(), answer)
    else if (type === 'ws') sendException(host.switchToWs().getClient<WsClient>(), answer)
    // GraphQL shows the `extensions` of whatever a resolver throws.
    else throw Object.assign(new Error(error.message, { cause: error }), { extensions: answer.body })
  }
}
// Nest asks with `instanceof`, which would miss the errors of another copy of this package; the brand does not.
function Branded(): void {}
Object.defineProperty(Branded, Symbol.hasInstance, { value: isTokenError })
Catch(Branded)(TokenExceptionFilter)
Optional()(TokenExceptionFilter, undefined, 0)
Inject(Symbol('no options'))(TokenExceptionFilter, undefined, 0)
Optional()(TokenExceptionFilter, undefined, 1)
InjectTokenManager()(TokenExceptionFilter, undefined, 1)

interface WsClient {
  /** Only a plain WebSocket has it. */
  readonly readyState?: number
  send(text: string): unknown
  emit(event: string, data: unknown): unknown
}

// Nest's own exceptions have this event and shape.
function sendException(client: WsClient, { body }: ErrorResponse): void {
  const data = { status: 'error', ...body }
  if (client.readyState === undefined) client.emit('exception', data)
  else client.send(JSON.stringify({ event: 'exception', data }))
}

// A response that has begun is only ended.
function sendAnswer(response: PlatformResponse, { status, headers, body }: ErrorResponse): void {
  const raw = toNode<ServerResponse>(response)
  const fields = { ...headers, 'content-type': 'application/json; charset=utf-8' }
  // Bytes, so that neither Express' settings for JSON nor a serializer of Fastify changes them.
  const bytes = Buffer.from(JSON.stringify(body))
  if (raw.headersSent) raw.end()
  // Node's own response, which middleware on Fastify gets.
  else if (!('send' in response)) raw.writeHead(status, fields).end(bytes)
  else {
    response.status(status)
    for (const [name, value] of Object.entries(fields)) response.header(name, value)
    response.send(bytes)
  }
}
