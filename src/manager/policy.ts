import { hasScopes, isScope, type StandardClaims, type TokenType } from '../claims/payload.js'
import {
  AccessTokenRequiredError,
  FreshTokenRequiredError,
  InsufficientScopeError,
  RefreshTokenRequiredError,
} from '../errors.js'
import { assertOptions, type OptionNames } from '../options.js'
import { TOKEN_LOCATIONS, type TokenLocation } from '../request/request-token.js'

/** What a route asks of a token. */
export interface TokenPolicy {
  /** Default `access`. */
  readonly type?: TokenType | 'any'
  /** Whether the token must be fresh. */
  readonly fresh?: boolean
  /** Every one of these is needed; at least one. */
  readonly scopes?: readonly string[]
  /** Where to look, instead of the configured locations. */
  readonly locations?: TokenLocation | readonly TokenLocation[]
  /** `false` leaves the CSRF check out for this route. */
  readonly csrf?: boolean
  /** Whether a request without a token passes, with `null`. A bad token never does. */
  readonly optional?: boolean
  /** Leaves the revocation check out for this route. */
  readonly skipRevocation?: boolean
}

/**
 * A checked copy of a policy, or `TypeError`: a misspelled demand must not open a route.
 *
 * `names` are the fields that `owner` takes.
 */
export function parsePolicy<Policy extends TokenPolicy>(
  policy: Policy,
  owner = 'require()',
  names: Partial<OptionNames<TokenPolicy>> = POLICY_NAMES,
): Policy {
  assertOptions(owner, policy, names)
  for (const name of Object.keys(policy) as (keyof TokenPolicy)[]) {
    const field = POLICY_FIELDS[name]
    if (policy[name] !== undefined && !field.isValid(policy[name])) {
      throw new TypeError(`${name} must be ${field.expected}`)
    }
  }
  // Lists are copied too: the application may still hold, and change, its own.
  return {
    ...policy,
    ...(policy.scopes && { scopes: [...policy.scopes] }),
    ...(policy.locations && { locations: [policy.locations].flat() }),
  }
}

/** The fields of a policy for a token that did not come from a request. */
export const TOKEN_POLICY_NAMES = { type: true, fresh: true, scopes: true, skipRevocation: true } as const

/** Which token of a request is read. */
export interface ReadTokenOptions extends Pick<TokenPolicy, 'locations'> {
  /** Default `access`. */
  readonly type?: TokenType
}

/** The options of `getTokenFromRequest`, checked. */
export function parseReadOptions(options: ReadTokenOptions): ReadTokenOptions {
  if ((options?.type as unknown) === 'any') throw new TypeError('type must be access or refresh')
  return parsePolicy(options, 'getTokenFromRequest()', { type: true, locations: true })
}

interface PolicyField {
  isValid(value: unknown): boolean
  readonly expected: string
}

const flag: PolicyField = { isValid: (value) => typeof value === 'boolean', expected: 'true or false' }

const isLocation = (value: unknown): boolean => (TOKEN_LOCATIONS as readonly unknown[]).includes(value)

const POLICY_FIELDS: Readonly<Record<keyof TokenPolicy, PolicyField>> = {
  type: {
    isValid: (value) => value === 'access' || value === 'refresh' || value === 'any',
    expected: 'access, refresh or any',
  },
  fresh: flag,
  scopes: {
    // An empty list would demand nothing.
    isValid: (value) => Array.isArray(value) && value.length > 0 && value.every(isScope),
    expected: 'a list of at least one scope, each a non-empty string without spaces',
  },
  locations: {
    isValid: (value) => (Array.isArray(value) ? value.every(isLocation) : isLocation(value)),
    expected: `one or more of ${TOKEN_LOCATIONS.join(', ')}`,
  },
  csrf: flag,
  optional: flag,
  skipRevocation: flag,
}

const POLICY_NAMES = Object.fromEntries(
  Object.keys(POLICY_FIELDS).map((name) => [name, true]),
) as OptionNames<TokenPolicy>

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
