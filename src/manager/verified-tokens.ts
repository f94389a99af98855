import { assertClaims, parseClaims, type TokenPayload } from '../claims/payload.js'
import { applySchema } from '../claims/extra-claims.js'
import { MAX_JSON_DEPTH } from '../encoding.js'
import { createJwsVerifier, type JwsHeader } from '../jws/compact.js'
import type { RevocableToken } from '../revocation/check.js'
import { createRecentMap } from './recent-map.js'
import type { Settings } from './settings.js'

/** A token whose spelling, signature and claim types held. */
export interface VerifiedToken extends RevocableToken {
  readonly header: JwsHeader
  /** The claims as they were signed, before a schema made others of them. */
  readonly claims: TokenPayload
}

/** Runs the standard JWT checks on a token. */
export interface TokenVerifier {
  /** Throws a `TokenDecodeError` unless every standard check holds at `now`, in epoch milliseconds. */
  verify(token: string, now: number, allowExpired?: boolean): VerifiedToken
  /** Throws a `TokenDecodeError` unless spelling, signature and claim types hold; time, issuer and audience are not checked. */
  open(token: string): VerifiedToken
}

/**
 * A verifier that remembers tokens it has verified, by their exact text.
 *
 * Only what can never change is remembered: that spelling, signature, claim types and schema held, and the frozen
 * claims. Time, issuer and audience are checked on every call, a refusal is never kept, and everything else (type,
 * freshness, scopes, revocation) is checked by others, every time.
 */
export function createVerifier(settings: Settings): TokenVerifier {
  const { claims: rules, identityClaim, keys, maxTokenLength, schema } = settings
  const verifyJws = createJwsVerifier(keys, maxTokenLength)
  const lenient = { ...rules, allowExpired: true }
  const remembered =
    settings.verifiedCacheSize === 0 ? null : createRecentMap<VerifiedToken>(settings.verifiedCacheSize)

  const open = (token: string): VerifiedToken => {
    const { header, payload: text, kids } = verifyJws(token)
    const payload = parseClaims(text, identityClaim)
    return { header, payload, claims: payload, kids }
  }

  return {
    open,
    verify(token, now, allowExpired = false) {
      // What is too long to be a token is not looked up either.
      const isShort = typeof token === 'string' && token.length <= maxTokenLength
      const known = isShort ? remembered?.get(token) : undefined
      const opened = known ?? open(token)
      assertClaims(opened.claims, allowExpired ? lenient : rules, now / 1000)
      // Once more where a schema has built what can change (a Date, a list): then each check gets its own.
      const isDone = schema === null || (known !== undefined && known.payload !== known.claims)
      const verified = isDone
        ? opened
        : { ...opened, payload: applySchema(schema, opened.claims, identityClaim) }
      if (known === undefined) {
        remembered?.set(token, isDone || hasOnly(verified.payload, isImmutable) ? verified : opened)
      }
      return verified
    },
  }
}

// Plain data, frozen to the bottom. A frozen Date or Map still changes, and so does what a getter returns.
function isImmutable(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'function'
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain = prototype === null || prototype === Object.prototype || prototype === Array.prototype
  const isFrozen = isPlain && Object.isFrozen(value) && depth < MAX_JSON_DEPTH
  return isFrozen && hasOnly(value, (member) => isImmutable(member, depth + 1))
}

function hasOnly(value: object, test: (member: unknown) => boolean): boolean {
  return Reflect.ownKeys(value).every((name) => {
    const property = { ...Object.getOwnPropertyDescriptor(value, name) }
    return 'value' in property && test(property.value)
  })
}
