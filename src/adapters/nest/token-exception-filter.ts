import { type ArgumentsHost, Catch, type ExceptionFilter, Inject, Optional } from '@nestjs/common'
import { isTokenError, type TokenError } from '../../errors.js'
import {
  assertErrorOptions,
  type ErrorResponse,
  type ErrorResponseOptions,
  toErrorResponse,
} from '../../http/error-response.js'
import { TokenManager } from '../../manager/token-manager.js'
import { type HttpResponse, sendAnswer } from './http-response.js'
import type { AnyManager } from './manager-token.js'

/** Opt-in: answers token errors as RFC 6750 says; all others stay with Nest and its other filters. */
export class TokenExceptionFilter implements ExceptionFilter<TokenError> {
  readonly #options: ErrorResponseOptions

  /** The container has no options to pass, but its manager, whose configuration counts where they have none. */
  constructor(options: ErrorResponseOptions = {}, tokens?: Partial<AnyManager>) {
    assertErrorOptions(options, 'new TokenExceptionFilter()')
    this.#options = tokens?.config === undefined ? options : { config: tokens.config, ...options }
  }

  catch(error: TokenError, host: ArgumentsHost): void {
    const answer = toErrorResponse(error, this.#options)
    const type = host.getType<string>()
    if (type === 'http') sendAnswer(host.switchToHttp().getResponse<HttpResponse>(), answer)
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
Inject(TokenManager)(TokenExceptionFilter, undefined, 1)

interface WsClient {
  /** Only a plain WebSocket has it. */
  readonly readyState?: number
  send(text: string): unknown
  emit(event: string, data: unknown): unknown
}

// The event and its shape are those of Nest's own exceptions.
function sendException(client: WsClient, { body }: ErrorResponse): void {
  const data = { status: 'error', ...body }
  if (client.readyState === undefined) client.emit('exception', data)
  else client.send(JSON.stringify({ event: 'exception', data }))
}
