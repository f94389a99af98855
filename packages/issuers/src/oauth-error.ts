import { RefusedRequest } from 'tokenlib/kit'

/** The error codes of these endpoints: RFC 6749 §5.2 and RFC 7009 §2.2.1. */
export type OAuthErrorCode = 'invalid_client' | 'invalid_grant' | 'invalid_request' | 'unsupported_token_type'

/** A request that lacks a parameter, repeats one or is otherwise malformed. */
export function invalidRequest(message: string): RefusedRequest {
  return new RefusedRequest(400, 'invalid_request', message)
}

// The specifications have one code for all of these.
const ROUTER_CODES: ReadonlySet<string> = new Set([
  'MEDIA_TYPE_UNSUPPORTED',
  'METHOD_NOT_ALLOWED',
  'REQUEST_INVALID',
  'REQUEST_TOO_LARGE',
])

/** The error code of a refusal, including refusals by the router. */
export function toOAuthCode({ code }: RefusedRequest): string {
  return ROUTER_CODES.has(code) ? 'invalid_request' : code
}

/** The body of a refusal (RFC 6749 §5.2). */
export function toOAuthBody(refusal: RefusedRequest): object {
  return { error: toOAuthCode(refusal), error_description: refusal.message }
}
