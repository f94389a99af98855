import type { StandardClaims } from '../tokens/payload.js'
import { type Duration, parseDuration } from '../time.js'

/** What a policy says about freshness. */
export interface FreshnessPolicy {
  /** Whether the token must be fresh; with a duration, from a login that is at most this old. */
  readonly fresh?: boolean | Duration
}

/** Whether a policy demands a fresh token. */
export function demandsFresh({ fresh = false }: FreshnessPolicy): boolean {
  return fresh !== false
}

/**
 * Whether a token is as fresh, at `now` in epoch milliseconds, as the policy demands.
 *
 * The claims are those that were signed: a schema may leave out `auth_time`.
 */
export function isFresh(claims: StandardClaims, policy: FreshnessPolicy, now: number): boolean {
  if (policy.fresh === undefined || policy.fresh === false) return true
  const { fresh } = claims
  if (fresh !== true && !(typeof fresh === 'number' && now / 1000 < fresh)) return false
  return policy.fresh === true || now / 1000 - readLoginTime(claims) < parseDuration(policy.fresh)
}

/** Whether a value can be the `fresh` of a policy. */
export function isFreshness(value: unknown): boolean {
  if (typeof value === 'boolean') return true
  try {
    return parseDuration(value as Duration) > 0
  } catch {
    return false
  }
}

// Our own fresh tokens are made at the login. Those of other issuers may be made later: `auth_time` has the login.
function readLoginTime(claims: StandardClaims & { readonly auth_time?: unknown }): number {
  const { iat = 0, auth_time: authTime } = claims
  return typeof authTime === 'number' ? Math.min(authTime, iat) : iat
}
