import { isTokenError } from '../../errors.js'
import { toFetchErrorResponse } from '../../requests/error-response.js'
import type { JsonClaims } from '../../tokens/extra-claims.js'
import type { TokenManager } from '../../manager.js'
import type { SessionRoutesOptions } from './options.js'
import { RefusedRequest } from './refused-request.js'

/** What every route works with; the types of claims end at `createSessionRoutes`. */
export interface RouteParts {
  readonly tokens: TokenManager
  /** The access token of a session in our store: users of other issuers are not ours, whatever their `sub`. */
  readonly accessTokenRequired: TokenManager['accessTokenRequired']
  readonly options: SessionRoutesOptions<JsonClaims>
}

/** The answer to an error of a request; any other error is thrown on. */
export function toErrorAnswer({ tokens }: RouteParts, error: unknown): Response {
  if (error instanceof RefusedRequest) return error.toResponse(tokens)
  if (isTokenError(error))
    return toFetchErrorResponse(error, { config: tokens.config, formatError: tokens.formatError })
  throw error
}
