import { copyText, readCode } from '../encoding.js'
import { isTokenError, KeysUnavailableError, TokenIssuerError } from '../errors.js'
import type { Settings } from '../config/settings.js'
import type { RevocableToken } from '../revocation/revocation.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { decodePayload, parseCompact, parseHeader, TOKEN_TYPES } from '../tokens/compact.js'
import { applySchema, hasOnlyImmutable } from '../tokens/extra-claims.js'
import type { JwsHeader } from '../tokens/jose.js'
import { assertClaims, parseClaims, type TokenPayload } from '../tokens/payload.js'
import { findSourceSigner, type KeyLoader, type TokenSource } from '../tokens/token-source.js'
import { parseUnverifiedJwt, type UnverifiedJwt } from '../tokens/token-sources.js'

/** A token whose spelling, signature and claim types held. */
export interface VerifiedToken extends RevocableToken {
  readonly header: JwsHeader
  /** The claims as they were signed, before a schema made others of them. */
  readonly claims: TokenPayload
  readonly source: TokenSource
  /** The key that made its signature. */
  readonly signer: BoundKey
}

/** Runs the standard JWT checks on a token. Whether it is bound to a key, and revocation, are for the caller to check. */
export interface TokenVerifier {
  /** Throws `TokenDecodeError` unless all checks hold at `now`, in epoch ms. `isLoaded`: a missing key is not looked for. */
  verify(token: string, now: number, allowExpired?: boolean, isLoaded?: boolean): VerifiedToken
  /**
   * The token of a header value, if it is remembered or can be verified synchronously. The caller must check time, issuer
   * and audience. After `null`, call `verify`, which decides.
   */
  verifyHeader(header: string, now: number): VerifiedToken | null
  /** Loads the keys for a token, or rejects with `KeysUnavailableError`. */
  loadKeys(token: string): Promise<void>
  /** The same if they are needed, for a caller that may not retry. `lookups` are those of its request so far. */
  loadCertainKeys(token: string, now: number, lookups?: Set<string>): Promise<void>
  /** Throws a `TokenDecodeError` unless spelling, signature and claim types hold; time, issuer and audience are not checked. */
  open(token: string, now: number, isLoaded: boolean): VerifiedToken
}

/**
 * A verifier that remembers tokens it has verified, by their exact text.
 *
 * It remembers only what never changes: the frozen claims of a genuine token. Everything else is checked every time: time,
 * issuer and audience here, and type, freshness, scopes and revocation by the caller.
 */
export function createVerifier(settings: Settings): TokenVerifier {
  const { identityClaim, sources, maxTokenLength, schema, verifiedCacheSize } = settings
  const { headerType } = settings.reading
  const prefix = headerType === '' ? '' : `${headerType} `
  const hasIssuers = sources.issuers.size > 0
  const remembered = createRecentTokens<VerifiedToken>(verifiedCacheSize, prefix)
  const hasComeBefore = verifiedCacheSize === 0 ? null : createSightings(verifiedCacheSize)

  // The source is chosen by the exact text of an unverified `iss`. Only its keys are tried then, and only its rules count.
  // What was read to look for keys is not read again to verify the token.
  let lastRead: { readonly token: string; readonly jwt: UnverifiedJwt } | null = null
  const readOnce = (token: string): UnverifiedJwt => {
    // Where there is one source, nothing is read before the signature holds.
    if (!hasIssuers) return { jws: parseCompact(token, maxTokenLength), claims: null }
    if (lastRead === null || lastRead.token !== token) {
      lastRead = { token, jwt: parseUnverifiedJwt(token, maxTokenLength) }
    }
    return lastRead.jwt
  }

  // Tokens of one key have the same header, so the last header with a valid signature is not parsed again.
  let lastHeader: { readonly encoded: string; readonly header: JwsHeader } | null = null
  const readHeader = (encoded: string): JwsHeader =>
    lastHeader?.encoded === encoded ? lastHeader.header : parseHeader(encoded, TOKEN_TYPES)

  // What has to be loaded before a token can be verified, or `null`.
  const findLoading = (token: string): KeyLoading | null => {
    if (!hasIssuers) return null
    const jwt = readOnce(token)
    const source = sources.find(jwt)
    const { loader } = source.keys
    const encoded = jwt.jws.header
    return loader === null ? null : { source, loader, encoded, header: readHeader(encoded) }
  }

  // What is too long to be a token is not looked up.
  const recall = (token: string, now: number): VerifiedToken | undefined => {
    const isShort = typeof token === 'string' && token.length <= maxTokenLength
    const found = isShort ? remembered.get(token) : undefined
    return found?.source.keys.isTrusted(found.signer, now) === true ? found : undefined
  }

  const open: TokenVerifier['open'] = (token, now, isLoaded) => {
    const jwt = readOnce(token)
    lastRead = null
    const source = hasIssuers ? sources.find(jwt) : sources.own
    const { header, signer } = verifySignature(jwt, source, now, isLoaded)
    const claims = jwt.claims ?? parseClaims(decodePayload(jwt.jws))
    const { payload, subjects } = source.toPayload({ jws: jwt.jws, header, claims })
    if (hasIssuers) sources.assertSubject(source, payload.sub)
    return { header, payload, claims: payload, subjects, kids: signer.ids, source, signer }
  }

  const verifySignature = (
    { jws, claims }: UnverifiedJwt,
    source: TokenSource,
    now: number,
    isLoaded: boolean,
  ): Pick<VerifiedToken, 'header' | 'signer'> => {
    try {
      const header = readHeader(jws.header)
      const signer = findSourceSigner(source, header, jws, { now, isLoaded })
      if (lastHeader?.header !== header) lastHeader = { encoded: copyText(jws.header), header }
      return { header, signer }
    } catch (error) {
      // A slash too many in the configured issuer, or the token of another tenant: "unknown key" would not lead there.
      const iss = claims?.['iss']
      const isOther = typeof iss === 'string' && !source.names.includes(iss)
      throw isOther && isTokenError(error) ? new TokenIssuerError() : error
    }
  }

  // What a schema builds anew (a Date, a list) could be changed by whoever gets it: then each check gets its own.
  const isFinal = ({ payload, claims }: VerifiedToken): boolean => schema === null || payload !== claims

  const verify: TokenVerifier['verify'] = (token, now, allowExpired = false, isLoaded = false) => {
    const known = takeAttempt(token, now, allowExpired) ?? recall(token, now)
    const opened = known ?? open(token, now, isLoaded)
    const { rules } = opened.source
    assertClaims(opened.claims, allowExpired ? { ...rules, allowExpired } : rules, now / 1000)
    const verified =
      schema === null || (known !== undefined && isFinal(known))
        ? opened
        : { ...opened, payload: applySchema(schema, opened.claims, identityClaim) }
    if (known === undefined && hasComeBefore?.(token) === true) {
      const kept = schema === null || hasOnlyImmutable(verified.payload) ? verified : opened
      kept.lookup = null
      remembered.set(token, kept)
    }
    return verified
  }

  // The result of `verifyHeader`, kept for `verify`: a request that does not pass the fast lane is not verified twice.
  let attempt: { token: string; now: number; verified: VerifiedToken | null; error: unknown } | null = null
  const takeAttempt = (token: string, now: number, allowExpired: boolean): VerifiedToken | undefined => {
    if (attempt === null || attempt.token !== token) return undefined
    const { verified, error, now: at } = attempt
    attempt = null
    if (verified !== null) return verified.source.keys.isTrusted(verified.signer, now) ? verified : undefined
    if (at === now && !allowExpired) throw error
    return undefined
  }

  return {
    verify,
    open,
    verifyHeader(header, now) {
      const known = remembered.getByHeader(header)
      if (known !== undefined) return isFinal(known) ? known : null
      // A schema is code of the application. The recipe calls it, once.
      const isShort = header.length <= prefix.length + maxTokenLength
      if (schema !== null || !isShort || !header.startsWith(prefix)) return null
      const token = header.slice(prefix.length)
      attempt = null
      try {
        if (findLoading(token) !== null) return null
        const verified = verify(token, now)
        attempt = { token, now, verified, error: null }
        return verified
      } catch (error) {
        attempt = { token, now, verified: null, error }
        return null
      }
    },
    async loadCertainKeys(token, now, lookups = new Set()) {
      const loading = recall(token, now) === undefined ? findLoading(token) : null
      if (loading !== null) await loadCertainKeys(loading, lookups)
    },
    async loadKeys(token) {
      const loading = findLoading(token)
      await loading?.loader.load(loading.header)
    },
  }
}

interface KeyLoading {
  readonly source: TokenSource
  readonly loader: KeyLoader
  readonly encoded: string
  readonly header: JwsHeader
}

// A browser sends one token, or two. Others in the same request, such as cookies that somebody else has set, are guesses.
const MAX_LOOKUPS = 4

// `lookups` has the headers that the same request has looked up: after a few of them, no further key is looked up for it.
async function loadCertainKeys(
  { source, loader, encoded, header }: KeyLoading,
  lookups: Set<string>,
): Promise<void> {
  if ((source.keys.find(header, true) ?? []).length > 0) return
  lookups.add(encoded)
  if (lookups.size > MAX_LOOKUPS) {
    const cause = new Error('The request has too many tokens whose keys are unknown')
    throw new KeysUnavailableError(cause, undefined, source.issuer)
  }
  await loader.load(header, true)
}

/** Values by token. The least recently used ones are dropped first. */
export interface RecentTokens<Value> {
  get(token: string): Value | undefined
  /** By the whole value of the header that brings the token: its scheme, a space and the token. */
  getByHeader(header: string): Value | undefined
  set(token: string, value: Value): void
}

/**
 * A bounded map in two generations, each of half the size. Entries that are used move to the young generation. When it is
 * full, it becomes the old one, and the previous old one is dropped. `prefix` precedes a token in its header.
 *
 * An entry is found by a few characters at the end, which a token and its header share, and then compared in full: to
 * hash a whole token takes longer than all else. The end of a signature that held is as good as random. A forged token
 * with the same end finds nothing, and of two genuine ones the younger takes the place.
 */
export function createRecentTokens<Value>(size: number, prefix: string): RecentTokens<Value> {
  type Entry = { readonly token: string; readonly header: string; readonly value: Value }
  const half = Math.max(1, Math.floor(size / 2))
  let young = new Map<number, Entry>()
  let old = new Map<number, Entry>()

  const add = (key: number, entry: Entry): void => {
    if (young.size >= half && !young.has(key)) {
      old = size > 1 ? young : new Map<number, Entry>()
      young = new Map()
    }
    young.set(key, entry)
  }

  const find = (text: string, isHeader: boolean): Value | undefined => {
    const key = toKey(text)
    const recent = young.get(key)
    const entry = recent ?? old.get(key)
    if (entry === undefined || text !== (isHeader ? entry.header : entry.token)) return undefined
    if (recent === undefined && old.delete(key)) add(key, entry)
    return entry.value
  }

  return {
    get: (token) => find(token, false),
    getByHeader: (header) => find(header, true),
    set(token, value) {
      // Flat copies: a token is a part of a header, with cookies one of kilobytes, and a flat text compares fastest.
      add(toKey(token), { token: copyText(token), header: copyText(prefix + token), value })
    },
  }
}

// A word of 32 bits for each token, so that hardly any two share a bit; but no more than four mebibytes, however many
// tokens are to be remembered: that number may be meant as "no limit".
const MAX_WORDS = 2 ** 20

// Returns a function that tells whether a token was verified recently. It may return `true` for a new token.
// Remembering costs more than verifying, so only a token that comes a second time is remembered.
function createSightings(size: number): (token: string) => boolean {
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
    readCode(text, end) ^
    (readCode(text, end - 1) << 7) ^
    (readCode(text, end - 2) << 14) ^
    (readCode(text, end - 3) << 21)
  )
}
