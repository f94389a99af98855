import { readForeignStart, readTokenStart, toForeignLead } from '../claims/ids.js'
import { assertClaims, type ClaimRules, parseClaims, readEnd, type TokenPayload } from '../claims/payload.js'
import { applySchema } from '../claims/extra-claims.js'
import { copyText } from '../encoding.js'
import { MAX_JSON_DEPTH } from '../json.js'
import { isTokenError, TokenIssuerError } from '../errors.js'
import type { Issuer } from '../issuers/issuer.js'
import {
  assertOwnSubject,
  type ForeignJwt,
  loadCertainKeys,
  readForeignJwt,
  readUnverifiedJwt,
  type UnverifiedJwt,
} from '../issuers/issuers.js'
import type { BoundKey } from '../jws/algorithms.js'
import { createJwsVerifier, type VerifiedJws } from '../jws/compact.js'
import type { JwsHeader } from '../jws/jose.js'
import { FOREVER } from '../revocation/revocation.js'
import type { RevocableToken } from '../sessions/connect-store.js'
import type { Settings } from './settings.js'

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
  /** The same if they are needed, for a caller who is not asked twice. `lookups` are those of its request so far. */
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

/** Values by token, at most a fixed number of them; those not used for long are forgotten first. */
export interface RecentTokens<Value> {
  get(token: string): Value | undefined
  /** By the whole value of the header that brings the token: its scheme, a space and the token. */
  getByHeader(header: string): Value | undefined
  set(token: string, value: Value): void
}

interface Entry<Value> {
  readonly token: string
  readonly header: string
  readonly value: Value
}

/**
 * A bounded map in two generations, each of half the size; `prefix` stands before a token in its header.
 *
 * What is used moves to the young one; when that is full it becomes the old one, and the old one is dropped whole.
 * So a hit costs one look-up and moves nothing, and nothing is ever scanned or timed.
 *
 * An entry is found by a few characters at the end, which a token and its header share, and then compared in full: to
 * hash a whole token takes longer than all else. The end of a signature that held is as good as random. A forged token
 * with the same end finds nothing, and of two genuine ones the younger takes the place.
 */
export function createRecentTokens<Value>(size: number, prefix: string): RecentTokens<Value> {
  const half = Math.max(1, Math.floor(size / 2))
  let young = new Map<number, Entry<Value>>()
  let old = new Map<number, Entry<Value>>()

  const add = (key: number, entry: Entry<Value>): void => {
    if (young.size >= half && !young.has(key)) {
      old = size > 1 ? young : new Map<number, Entry<Value>>()
      young = new Map()
    }
    young.set(key, entry)
  }

  const find = (text: string, name: 'token' | 'header'): Value | undefined => {
    const key = toKey(text)
    const recent = young.get(key)
    if (recent !== undefined) return recent[name] === text ? recent.value : undefined
    const known = old.get(key)
    if (known?.[name] !== text) return undefined
    old.delete(key)
    add(key, known)
    return known.value
  }

  return {
    get: (token) => find(token, 'token'),
    getByHeader: (header) => find(header, 'header'),
    set(token, value) {
      // Flat copies: a token is a part of a header, with cookies one of kilobytes, and a flat text compares fastest.
      add(toKey(token), { token: copyText(token), header: copyText(prefix + token), value })
    },
  }
}

// A word of 32 bits for each token, so that hardly any two share a bit; but no more than four mebibytes, however many
// tokens are to be remembered: that number may be meant as "no limit".
const MAX_WORDS = 2 ** 20

/**
 * A function that says whether a token was verified before, recently; it is sometimes `true` for a token that was not.
 *
 * To remember a token costs more than to verify it, so only a token that comes a second time is remembered. One that is
 * never sent again costs a single bit, and does not displace one that is. The bits are kept in two generations, like
 * the tokens: a token that comes again after its bit was dropped counts as new.
 */
export function createSightings(size: number): (token: string) => boolean {
  const half = Math.min(MAX_WORDS, Math.max(1, Math.floor(size / 2)))
  const words = 2 ** Math.ceil(Math.log2(half))
  let young = new Int32Array(words)
  let old = new Int32Array(words)
  let count = 0
  return (token) => {
    const hash = Math.imul(toKey(token), 0x9e3779b1)
    const word = (hash >>> 5) & (words - 1)
    const bit = 1 << (hash & 31)
    if ((((young[word] as number) | (old[word] as number)) & bit) !== 0) return true
    if (count === half) {
      ;[young, old] = [old.fill(0), young]
      count = 0
    }
    young[word] = (young[word] as number) | bit
    count++
    return false
  }
}

// 28 bits. Not the last character, of which two or four bits are always zero.
function toKey(text: string): number {
  const end = text.length - 2
  return (
    text.charCodeAt(end) ^
    (text.charCodeAt(end - 1) << 7) ^
    (text.charCodeAt(end - 2) << 14) ^
    (text.charCodeAt(end - 3) << 21)
  )
}
