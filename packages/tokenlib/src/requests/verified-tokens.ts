import { readForeignStart, readTokenStart, toForeignLead } from '../tokens/ids.js'
import {
  assertClaims,
  assertUnbound,
  type ClaimRules,
  parseClaims,
  readEnd,
  type TokenPayload,
} from '../tokens/payload.js'
import { applySchema } from '../tokens/extra-claims.js'
import { MAX_JSON_DEPTH } from '../json.js'
import { isTokenError, TokenDecodeError, TokenIssuerError } from '../errors.js'
import type { Issuer } from '../issuers/issuer.js'
import {
  assertOwnSubject,
  type ForeignJwt,
  loadCertainKeys,
  readForeignJwt,
  readUnverifiedJwt,
  type UnverifiedJwt,
} from '../issuers/issuers.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { createJwsVerifier, isAccessTokenHeader, type VerifiedJws } from '../tokens/compact.js'
import type { JwsHeader } from '../tokens/jose.js'
import { FOREVER } from '../revocation/revocation.js'
import type { RevocableToken } from '../revocation/connect-store.js'
import { createRecentTokens, createSightings } from './recent-tokens.js'
import type { Settings } from '../config/settings.js'

/** A token whose spelling, signature and claim types held. */
export interface VerifiedToken extends RevocableToken {
  readonly header: JwsHeader
  /** The claims as they were signed, before a schema made others of them. */
  readonly claims: TokenPayload
  readonly source: TokenSource
  /** The key that made its signature. */
  readonly signer: BoundKey
}

/** Whose tokens they are: our own, or those of one issuer. */
export interface TokenSource {
  /** `null` for our own. */
  readonly issuer: string | null
  readonly rules: ClaimRules
  /** The same, but expired tokens pass. */
  readonly lenientRules: ClaimRules
  /** Whether a key that made a signature earlier is still good at `now`, in epoch milliseconds. */
  isTrusted(key: BoundKey, now: number): boolean
}

/** Runs the standard JWT checks on a token. */
export interface TokenVerifier {
  /** Throws `TokenDecodeError` unless all checks hold at `now`, in epoch ms. `isLoaded`: a missing key is not looked for. */
  verify(token: string, now: number, allowExpired?: boolean, isLoaded?: boolean): VerifiedToken
  /** Whether the keys for a token have to be loaded before it can be verified. */
  needsKeys(token: string, now: number): boolean
  /** Loads the keys for a token, or rejects with `KeysUnavailableError`. */
  loadKeys(token: string): Promise<void>
  /** The same if they are needed, for a caller that may not retry. `lookups` are those of its request so far. */
  loadCertainKeys(token: string, now: number, lookups?: Set<string>): Promise<void>
  /** Throws a `TokenDecodeError` unless spelling, signature and claim types hold; time, issuer and audience are not checked. */
  open(token: string, now: number, isLoaded?: boolean): VerifiedToken
  /** The remembered token of a header value, or `undefined`. Time, issuer and audience have to be checked again. */
  recall(header: string): VerifiedToken | undefined
}

/**
 * A verifier that remembers tokens it has verified, by their exact text.
 *
 * Only what can never change is remembered: that spelling, signature, claim types and schema held, and the frozen
 * claims. Time, issuer and audience are checked on every call, a refusal is never kept, and everything else (type,
 * freshness, scopes, revocation) is checked by others, every time.
 */
export function createVerifier(settings: Settings): TokenVerifier {
  const { identityClaim, issuers, keys, maxTokenLength, ownIssuers, schema, verifiedCacheSize } = settings
  const verifyJws = createJwsVerifier(keys, maxTokenLength)
  const own = toSource(null, settings.claims, (key, now) => keys.isTrusted(key, now))
  const sources = new Map([...issuers.values()].map((issuer) => [issuer, toForeignSource(issuer)]))
  const { headerType } = settings.reading
  const remembered = createRecentTokens<VerifiedToken>(
    verifiedCacheSize,
    headerType === '' ? '' : `${headerType} `,
  )
  const hasComeBefore = verifiedCacheSize === 0 ? null : createSightings(verifiedCacheSize)

  // The issuer is chosen by the exact text of an unverified `iss`. Only its keys are tried then, and only its rules count.
  // What was read to look for keys is not read again to verify the token.
  let lastRead: { readonly token: string; readonly jwt: UnverifiedJwt | null } | null = null
  const readOnce = (token: string): UnverifiedJwt | null => {
    if (issuers.size === 0) return null
    const jwt = lastRead?.token === token ? lastRead.jwt : readUnverifiedJwt(token, maxTokenLength)
    lastRead = { token, jwt }
    return jwt
  }
  const findForeign = (token: string): ForeignJwt | null => readForeignJwt(issuers, readOnce(token))

  // What is too long to be a token is not looked up.
  const recallToken = (token: string, now: number): VerifiedToken | undefined => {
    const isShort = typeof token === 'string' && token.length <= maxTokenLength
    const found = isShort ? remembered.get(token) : undefined
    return found?.source.isTrusted(found.signer, now) === true ? found : undefined
  }

  const open: TokenVerifier['open'] = (token, now, isLoaded = false) => {
    const jwt = readOnce(token)
    lastRead = null
    const foreign = readForeignJwt(issuers, jwt)
    if (foreign !== null) return openForeign(foreign, isLoaded)
    // The name of an issuer whose tokens have no `iss`.
    if (issuers.has(jwt?.claims['iss'] as string)) throw new TokenIssuerError()
    const { header, payload: text, signer } = openOwn(token, now, jwt?.claims['iss'])
    const payload = parseClaims(text, identityClaim)
    // We never issue such a token, but somebody else with the same key may have.
    if (payload.type !== 'access' && isAccessTokenHeader(header)) {
      throw new TokenDecodeError('Unexpected "typ" header: a refresh token must not have "at+jwt"')
    }
    assertOwnSubject(issuers, payload.sub)
    return { header, payload, claims: payload, kids: signer.ids, foreign: null, source: own, signer }
  }

  // A slash too many in the configured issuer, or the token of another tenant: "unknown key" would not lead there.
  const openOwn = (token: string, now: number, iss: unknown): VerifiedJws => {
    try {
      return verifyJws(token, now)
    } catch (error) {
      const isOther = typeof iss === 'string' && !ownIssuers.includes(iss)
      throw isOther && isTokenError(error) ? new TokenIssuerError() : error
    }
  }

  const openForeign = ({ issuer, jws, claims }: ForeignJwt, isLoaded: boolean): VerifiedToken => {
    const { header, payload, subjects, signer } = issuer.open(jws, claims, isLoaded)
    const lead = toForeignLead(issuer.rules.leeway)
    const usesTokenlib = issuer.profile === 'tokenlib'
    // The ids of an issuer that uses this library say when a session began, as ours do.
    const start = usesTokenlib ? readTokenStart(payload) - lead * 1000 : readForeignStart(payload, lead)
    const end = readEnd(payload, issuer.rules)
    const source = sources.get(issuer) as TokenSource
    // An `exp` of thousands of years must not make a store keep everything for as long: the age of a token is limited.
    const endMs = end === null ? FOREVER : end * 1000
    const foreign = { issuer: issuer.issuer, subjects, usesTokenlib, start, end: endMs }
    return { header, payload, claims: payload, kids: signer.ids, foreign, source, signer }
  }

  // What a schema builds anew (a Date, a list) could be changed by whoever gets it: then each check gets its own.
  const isFinal = ({ payload, claims }: VerifiedToken): boolean => schema === null || payload !== claims

  return {
    open,
    needsKeys(token, now) {
      if (issuers.size === 0 || recallToken(token, now) !== undefined) return false
      const foreign = findForeign(token)
      return foreign !== null && foreign.issuer.keys.find(foreign.issuer.readHeader(foreign.jws)) === null
    },
    async loadCertainKeys(token, now, lookups) {
      const foreign = recallToken(token, now) === undefined ? findForeign(token) : null
      if (foreign !== null) await loadCertainKeys(foreign, lookups)
    },
    async loadKeys(token) {
      const foreign = findForeign(token)
      if (foreign !== null) await foreign.issuer.keys.load(foreign.issuer.readHeader(foreign.jws))
    },
    recall(header) {
      const known = remembered.getByHeader(header)
      return known !== undefined && isFinal(known) ? known : undefined
    },
    verify(token, now, allowExpired = false, isLoaded = false) {
      const known = recallToken(token, now)
      const opened = known ?? open(token, now, isLoaded)
      const { rules, lenientRules } = opened.source
      assertClaims(opened.claims, allowExpired ? lenientRules : rules, now / 1000)
      // Before the token is remembered: the fast lane must never see a bound one.
      assertUnbound(opened.claims)
      const verified =
        schema === null || (known !== undefined && isFinal(known))
          ? opened
          : { ...opened, payload: applySchema(schema, opened.claims, identityClaim) }
      if (known === undefined && hasComeBefore?.(token) === true) {
        remembered.set(token, schema === null || hasOnly(verified.payload, isImmutable) ? verified : opened)
      }
      return verified
    },
  }
}

function toSource(
  issuer: string | null,
  rules: ClaimRules,
  isTrusted: TokenSource['isTrusted'],
): TokenSource {
  return { issuer, rules, lenientRules: { ...rules, allowExpired: true }, isTrusted }
}

function toForeignSource({ issuer, rules, keys }: Issuer): TokenSource {
  return toSource(issuer, rules, (key) => keys.isTrusted(key))
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
