import type { TokenPayload, TokenType } from '../claims/payload.js'
import { hasScopes } from '../claims/read-payload.js'
import {
  AccessTokenRequiredError,
  FreshTokenRequiredError,
  InsufficientScopeError,
  RefreshTokenRequiredError,
} from '../errors.js'
import type { TokenLocation } from '../request/request-token.js'

/** What a route asks of a token. */
export interface TokenPolicy {
  /** Default `access`. */
  readonly type?: TokenType | 'any'
  /** Whether the token must be fresh. */
  readonly fresh?: boolean
  /** Every one of these is needed. */
  readonly scopes?: readonly string[]
  /** Where to look, instead of the configured locations. */
  readonly locations?: readonly TokenLocation[]
  /** `false` leaves the CSRF check out for this route. */
  readonly csrf?: boolean
  /** Whether a request without a token passes, with `null`. A bad token never does. */
  readonly optional?: boolean
  /** Leaves the revocation check out for this route. */
  readonly skipRevocation?: boolean
}

/** A copy that stays as it is, whatever becomes of the object the application wrote it in. */
export function copyPolicy(policy: TokenPolicy): TokenPolicy {
  return {
    ...policy,
    ...(policy.scopes && { scopes: [...policy.scopes] }),
    ...(policy.locations && { locations: [...policy.locations] }),
  }
}

/** Throws unless the token is of the type the policy asks for. */
export function assertType(payload: TokenPayload, { type = 'access' }: TokenPolicy): void {
  if (type === 'any' || payload.type === type) return
  throw type === 'access'
    ? new AccessTokenRequiredError(payload.type)
    : new RefreshTokenRequiredError(payload.type)
}

/** Throws unless the token is as fresh, at `now` in epoch milliseconds, as the policy asks for. */
export function assertFresh(payload: TokenPayload, { fresh = false }: TokenPolicy, now: number): void {
  if (!fresh || payload.fresh === true) return
  if (typeof payload.fresh === 'number' && now / 1000 < payload.fresh) return
  throw new FreshTokenRequiredError()
}

/** Throws unless the token carries every scope the policy asks for. */
export function assertScopes(payload: TokenPayload, { scopes = [] }: TokenPolicy): void {
  if (!hasScopes(payload, ...scopes)) throw new InsufficientScopeError(scopes, payload.scopes)
}
