/** The error codes of these endpoints: RFC 6749 §5.2 and RFC 7009 §2.2.1. */
export type OAuthErrorCode = 'invalid_client' | 'invalid_grant' | 'invalid_request' | 'unsupported_token_type'

/** Thrown inside of the routes for a request that is refused for another reason than its token; never leaves them. */
export class OAuthError extends Error {
  readonly status: number
  readonly error: OAuthErrorCode
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    error: OAuthErrorCode,
    description: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(description)
    this.status = status
    this.error = error
    this.headers = headers
  }

  /** The response of RFC 6749 §5.2. */
  toResponse(): Response {
    const { status, headers, error, message } = this
    return Response.json(
      { error, error_description: message },
      { status, headers: { 'cache-control': 'no-store', ...headers } },
    )
  }
}

/** A request that lacks a parameter, repeats one or is otherwise malformed. */
export function invalidRequest(description: string, status = 400): OAuthError {
  return new OAuthError(status, 'invalid_request', description)
}
