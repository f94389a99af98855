import type { AnyClaims } from '../../claims/payload.js'
import { isTokenError } from '../../errors.js'
import { toFetchErrorResponse } from '../../http/error-response.js'
import type { JsonClaims } from '../../manager/manager-options.js'
import type { TokenManager } from '../../manager/token-manager.js'
import { toRequestView } from '../../request/request-source.js'
import type { SessionRoutesOptions } from './options.js'
import { RefusedRequest } from './refused-request.js'

/** What every route works with; the types of claims end at `createSessionRoutes`. */
export interface RouteParts {
  readonly tokens: TokenManager
  /** The access token of a session in our store: users of other issuers are not ours, whatever their `sub`. */
  readonly accessTokenRequired: TokenManager['accessTokenRequired']
  readonly options: SessionRoutesOptions<JsonClaims, AnyClaims>
}

/** Where a request comes from, for the store and for events. */
export function readOrigin(
  { options }: RouteParts,
  request: Request,
): { readonly request: Request; readonly ip?: string } {
  const ip: unknown = options.readIp?.(request) ?? null
  if (ip !== null && typeof ip !== 'string')
    throw new TypeError('readIp must return a string, null or undefined')
  return ip === null ? { request } : { request, ip }
}

/** The address of the client, or `null` where it is not known. */
export function readIp(parts: RouteParts, request: Request): string | null {
  return readOrigin(parts, request).ip ?? toRequestView(request).ip ?? null
}

/** The answer to an error of a request; any other error is thrown on. */
export function toErrorAnswer({ tokens }: RouteParts, error: unknown): Response {
  if (error instanceof RefusedRequest) return error.toResponse(tokens)
  if (isTokenError(error))
    return toFetchErrorResponse(error, { config: tokens.config, formatError: tokens.formatError })
  throw error
}
