import { isNonEmptyString, type StandardClaims, type TokenType } from '../claims/payload.js'
import { hasScopes } from '../claims/read-payload.js'
import {
  AccessTokenRequiredError,
  FreshTokenRequiredError,
  InsufficientScopeError,
  RefreshTokenRequiredError,
} from '../errors.js'
import { TOKEN_LOCATIONS, type TokenLocation } from '../request/request-token.js'

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

/** A checked copy of a policy, or `TypeError`: a misspelled demand must not open a route. */
export function parsePolicy(policy: TokenPolicy): TokenPolicy {
  for (const [name, value] of Object.entries(policy)) {
    const isValid = Object.hasOwn(POLICY_MEMBERS, name) && POLICY_MEMBERS[name as keyof TokenPolicy](value)
    if (!isValid && value !== undefined) throw new TypeError(`Not a token policy: ${name}`)
  }
  // Lists are copied too: the application may still hold, and change, its own.
  return {
    ...policy,
    ...(policy.scopes && { scopes: [...policy.scopes] }),
    ...(policy.locations && { locations: [...policy.locations] }),
  }
}

const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
const isListOf = (value: unknown, isItem: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.every(isItem)

const POLICY_MEMBERS: Readonly<Record<keyof TokenPolicy, (value: unknown) => boolean>> = {
  type: (value) => value === 'access' || value === 'refresh' || value === 'any',
  fresh: isBoolean,
  scopes: (value) => isListOf(value, isNonEmptyString),
  locations: (value) =>
    isListOf(value, (location) => (TOKEN_LOCATIONS as readonly unknown[]).includes(location)),
  csrf: isBoolean,
  optional: isBoolean,
  skipRevocation: isBoolean,
}

/** Throws unless the token is of the type the policy asks for. */
export function assertType(claims: StandardClaims, { type = 'access' }: TokenPolicy): void {
  if (type === 'any' || claims.type === type) return
  throw type === 'access'
    ? new AccessTokenRequiredError(claims.type)
    : new RefreshTokenRequiredError(claims.type)
}

/** Throws unless the token is as fresh, at `now` in epoch milliseconds, as the policy asks for. */
export function assertFresh(claims: StandardClaims, { fresh = false }: TokenPolicy, now: number): void {
  if (!fresh || claims.fresh === true) return
  if (typeof claims.fresh === 'number' && now / 1000 < claims.fresh) return
  throw new FreshTokenRequiredError()
}

/** Throws unless the token carries every scope the policy asks for. */
export function assertScopes(claims: StandardClaims, { scopes }: TokenPolicy): void {
  if (scopes !== undefined && !hasScopes(claims, ...scopes))
    throw new InsufficientScopeError(scopes, claims.scopes)
}
