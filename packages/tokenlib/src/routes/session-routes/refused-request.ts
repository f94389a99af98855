import { formatBody } from '../../requests/error-response.js'
import type { TokenManager } from '../../manager.js'

/** The `code` of every answer of these routes that is not about a token. */
export type SessionRouteErrorCode =
  | 'CREDENTIALS_INVALID'
  | 'MEDIA_TYPE_UNSUPPORTED'
  | 'METHOD_NOT_ALLOWED'
  | 'RATE_LIMITED'
  | 'REQUEST_INVALID'
  | 'REQUEST_TOO_LARGE'
  | 'SESSION_NOT_FOUND'

/** Thrown inside of the routes for a request that is refused for another reason than its token; never leaves them. */
export class RefusedRequest extends Error {
  readonly status: number
  readonly code: SessionRouteErrorCode
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: SessionRouteErrorCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }

  /** The answer: a body like that of token errors, and no challenge, because no token would help. */
  toResponse({ config, formatError }: Pick<TokenManager, 'config' | 'formatError'>): Response {
    const { status, headers, code, message } = this
    const body = { [config.JWT_ERROR_MESSAGE_KEY]: message, code }
    return Response.json(formatBody(formatError, { status, code, message, body, error: null }), {
      status,
      headers: { 'cache-control': 'no-store', ...headers },
    })
  }
}
