import { parseClaims, type TokenPayload } from '../claims/payload.js'
import { applySchema } from '../claims/schema.js'
import { readTokenStart } from '../claims/token-start.js'
import { assertClaims } from '../claims/validate.js'
import { type JwsHeader, verifyCompact } from '../jws/verify.js'
import { createRecentMap } from './recent-map.js'
import type { Settings } from './settings.js'

/** A token whose spelling, signature and claim types held. */
export interface VerifiedToken {
  readonly header: JwsHeader
  readonly payload: TokenPayload
  /** The claims as they were signed, before a schema made others of them. */
  readonly claims: TokenPayload
  /** The ids of the key that verified it. */
  readonly kids: readonly string[]
  /** When its session began; epoch milliseconds. */
  readonly start: number
}

/** Runs the standard JWT checks on a token. */
export interface TokenVerifier {
  /** Throws a `TokenDecodeError` unless every standard check holds at `now`, in epoch milliseconds. */
  verify(token: string, now: number, allowExpired?: boolean): VerifiedToken
}

/**
 * A verifier that remembers tokens it has verified, by their exact text.
 *
 * Only what can never change is remembered: that spelling, signature and claim types held, and the frozen claims.
 * Time and schema are checked on every call, a refusal is never kept, and everything else (type, freshness, scopes,
 * revocation) is checked by others, every time.
 */
export function createVerifier(settings: Settings): TokenVerifier {
  const { claims: rules, identityClaim, keys, maxTokenLength, schema, verifiedCacheSize } = settings
  const remembered = verifiedCacheSize === 0 ? null : createRecentMap<VerifiedToken>(verifiedCacheSize)

  const open = (token: string): VerifiedToken => {
    const jws = verifyCompact(keys, token, maxTokenLength)
    const payload = parseClaims(jws.payload, identityClaim)
    return { header: jws.header, payload, claims: payload, kids: jws.kids, start: readTokenStart(payload) }
  }

  return {
    verify(token, now, allowExpired = false) {
      // What is too long to be a token is not looked up either.
      const isShort = typeof token === 'string' && token.length <= maxTokenLength
      const known = isShort ? remembered?.get(token) : undefined
      const verified = known ?? open(token)
      assertClaims(verified.payload, allowExpired ? { ...rules, allowExpired } : rules, now / 1000)
      if (known === undefined) remembered?.set(token, verified)
      // A schema may build what cannot be frozen (a Date, a Set): each check gets its own.
      return schema === null
        ? verified
        : { ...verified, payload: applySchema(schema, verified.payload, identityClaim) }
    },
  }
}
