import { TokenAudienceError, TokenExpiredError, TokenIssuerError, TokenNotYetValidError } from '../errors.js'
import type { StandardClaims } from './payload.js'

/** What a token's claims are held against. */
export interface ClaimRules {
  /** Seconds of clock difference forgiven in `exp`, `nbf` and `iat`. */
  readonly leeway: number
  readonly issuer: string | null
  /** A token for any of these passes; empty means the audience is not checked. */
  readonly audience: readonly string[]
  readonly allowExpired?: boolean
}

/** Whether `assertClaims` holds. */
export function isCurrent(claims: StandardClaims, rules: ClaimRules, now: number): boolean {
  const { exp, nbf, iat, iss, aud } = claims
  if (exp !== undefined && now >= exp + rules.leeway && rules.allowExpired !== true) return false
  if (nbf !== undefined && now < nbf - rules.leeway) return false
  if (iat !== undefined && now < iat - rules.leeway) return false
  if (rules.issuer !== null && iss !== rules.issuer) return false
  return rules.audience.length === 0 || isForAudience(aud, rules.audience)
}

/** Throws unless `exp`, `nbf`, `iat`, `iss` and `aud` hold at `now`, in epoch seconds (fractions allowed). */
export function assertClaims(claims: StandardClaims, rules: ClaimRules, now: number): void {
  const { exp, nbf, iat, iss, aud } = claims
  // RFC 7519 §4.1.4: not accepted on or after `exp`.
  if (exp !== undefined && now >= exp + rules.leeway && rules.allowExpired !== true) {
    throw new TokenExpiredError(exp)
  }
  if (nbf !== undefined && now < nbf - rules.leeway) throw new TokenNotYetValidError(nbf)
  if (iat !== undefined && now < iat - rules.leeway) throw new TokenNotYetValidError(iat)
  if (rules.issuer !== null && iss !== rules.issuer) throw new TokenIssuerError()
  if (rules.audience.length > 0 && !isForAudience(aud, rules.audience)) throw new TokenAudienceError()
}

function isForAudience(aud: string | readonly string[] | undefined, accepted: readonly string[]): boolean {
  if (aud === undefined) return false
  return typeof aud === 'string' ? accepted.includes(aud) : aud.some((name) => accepted.includes(name))
}
