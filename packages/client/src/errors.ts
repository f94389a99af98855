import { FINAL_CODE } from './limits.js'
import { readJson, readRetryAfter } from './responses.js'

/** What `code` can be: one of these, or the code of the server's answer. */
export type TokenClientErrorCode =
  | 'ANSWER_INVALID'
  | 'COOKIES_MISSING'
  | 'CREDENTIALS_INVALID'
  | 'RATE_LIMITED'
  | 'SESSION_CHANGED'
  | 'SESSION_DATA_TOO_LARGE'
  | 'SESSION_LIMIT_REACHED'
  | 'SESSION_NOT_FOUND'
  | 'SOCKET_NOT_OPEN'
  | 'STORAGE_FAILED'
  | 'UNAVAILABLE'
  | (string & {})

/** A call of the client failed; `code` is for programs, and no text contains a token. */
export class TokenClientError extends Error {
  override readonly name = 'TokenClientError'
  declare readonly code: TokenClientErrorCode
  /** The status of the answer, if there was one. */
  declare readonly status?: number
  /** The seconds to wait before the next attempt, if the server named them. */
  declare readonly retryAfter?: number
  /** The JSON of the answer, for an application that handles the login response itself. */
  declare readonly body?: unknown

  constructor(code: TokenClientErrorCode, action: string, answer?: object) {
    super(`${action}: ${code}`)
    Object.assign(this, answer, { code })
  }
}

/** The JSON of an answer that has the `expected` member, or of a 204 where none is expected; throws for any other. */
export async function parseAnswer<Answer extends { readonly code?: unknown }>(
  action: string,
  response: Response,
  expected?: keyof Answer,
): Promise<Answer> {
  const answer = await readJson<Answer>(response)
  const isExpected = expected ? response.ok && (answer[expected] ?? null) !== null : response.status === 204
  if (!isExpected) throw toClientError(action, response, answer)
  return answer
}

/** The error for an unsuccessful response; a failure on the server's side is `UNAVAILABLE`. */
function toClientError(
  action: string,
  response: Response,
  body: { readonly code?: unknown },
): TokenClientError {
  const { status } = response
  const code = typeof body.code === 'string' ? body.code : 'ANSWER_INVALID'
  return new TokenClientError(status >= 500 ? 'UNAVAILABLE' : code, `${action} answered ${status}`, {
    status,
    body,
    retryAfter: readRetryAfter(response) || undefined,
  })
}

/** Turns whatever a failed call has thrown into a client error. */
export function toUnavailable(action: string, cause: unknown): TokenClientError {
  return cause instanceof TokenClientError ? cause : new TokenClientError('UNAVAILABLE', action, { cause })
}

/** Whether the server reports that the session is over. A 401 without a code comes from a proxy. */
export function isRefusal(error: unknown): boolean {
  const { status, code } = error as TokenClientError
  return status === 401 && !FINAL_CODE.test(code)
}
