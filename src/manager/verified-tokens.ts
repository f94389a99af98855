import { parseClaims, type TokenPayload } from '../claims/payload.js'
import { applySchema } from '../claims/schema.js'
import { assertClaims } from '../claims/validate.js'
import { type JwsHeader, verifyCompact } from '../jws/verify.js'
import { createRecentMap } from './recent-map.js'
import type { Settings } from './settings.js'

/** A token whose spelling, signature, claim types and schema held. */
export interface VerifiedToken {
  readonly header: JwsHeader
  readonly payload: TokenPayload
}

/** Runs the standard JWT checks on a token. */
export interface TokenVerifier {
  /** Throws a `TokenDecodeError` unless every standard check holds at `now`, in epoch milliseconds. */
  verify(token: string, now: number, allowExpired?: boolean): VerifiedToken
}

/**
 * A verifier that remembers tokens it has verified, by their exact text.
 *
 * Only what can never change is remembered. Time is checked on every call, a refusal is never kept, and
 * everything else (type, freshness, scopes, revocation) is checked by others, every time.
 */
export function createVerifier(settings: Settings): TokenVerifier {
  const { claims: rules, identityClaim, keys, maxTokenLength, schema, verifiedCacheSize } = settings
  const remembered = verifiedCacheSize === 0 ? null : createRecentMap<VerifiedToken>(verifiedCacheSize)

  return {
    verify(token, now, allowExpired = false) {
      const seconds = now / 1000
      const accepted = allowExpired ? { ...rules, allowExpired } : rules
      const known = remembered?.get(token)
      if (known !== undefined) {
        assertClaims(known.payload, accepted, seconds)
        return known
      }
      const jws = verifyCompact(keys, token, maxTokenLength)
      const claims = parseClaims(jws.payload, identityClaim)
      assertClaims(claims, accepted, seconds)
      const payload = schema === null ? claims : applySchema(schema, claims, identityClaim)
      const verified: VerifiedToken = { header: jws.header, payload }
      remembered?.set(token, verified)
      return verified
    },
  }
}
