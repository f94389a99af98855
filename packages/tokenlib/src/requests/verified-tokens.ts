import { applySchema } from '../tokens/extra-claims.js'
import { copyText } from '../encoding.js'
import { MAX_JSON_DEPTH } from '../encoding.js'
import { isTokenError, KeysUnavailableError, TokenIssuerError } from '../errors.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { type CompactJws, decodePayload, parseCompact, parseHeader, TOKEN_TYPES } from '../tokens/compact.js'
import type { JwsHeader } from '../tokens/jose.js'
import {
  assertClaims,
  assertUnbound,
  type ClaimRules,
  parseClaims,
  type TokenPayload,
} from '../tokens/payload.js'
import type { KeyLoader, TokenSource } from '../tokens/token-source.js'
import { findSourceSigner, parseUnverifiedJwt, type UnverifiedJwt } from '../tokens/token-sources.js'
import type { RevocableToken } from '../revocation/revocation.js'
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
  const { identityClaim, sources, maxTokenLength, schema, verifiedCacheSize } = settings
  const hasIssuers = sources.issuers.size > 0
  const memos = new Map([sources.own, ...sources.issuers.values()].map((each) => [each, createMemo(each)]))
  const memoOf = (source: TokenSource): SourceMemo => memos.get(source) as SourceMemo
  const { headerType } = settings.reading
  const remembered = createRecentTokens<VerifiedToken>(
    verifiedCacheSize,
    headerType === '' ? '' : `${headerType} `,
  )
  const hasComeBefore = verifiedCacheSize === 0 ? null : createSightings(verifiedCacheSize)

  // The source is chosen by the exact text of an unverified `iss`. Only its keys are tried then, and only its rules count.
  // What was read to look for keys is not read again to verify the token.
  let lastRead: { readonly token: string; readonly jwt: UnverifiedJwt } | null = null
  const readOnce = (token: string): UnverifiedJwt => {
    // Where there is one source, nothing is read before the signature holds.
    if (!hasIssuers) return { jws: parseCompact(token, maxTokenLength), claims: null }
    const jwt = lastRead?.token === token ? lastRead.jwt : parseUnverifiedJwt(token, maxTokenLength)
    lastRead = { token, jwt }
    return jwt
  }

  // What has to be loaded before a token can be verified, or `null`.
  const findLoading = (token: string): KeyLoading | null => {
    if (!hasIssuers) return null
    const jwt = readOnce(token)
    const source = sources.find(jwt)
    const { loader } = source.keys
    return loader === null
      ? null
      : { source, loader, jws: jwt.jws, header: readHeader(memoOf(source), jwt.jws) }
  }

  // What is too long to be a token is not looked up.
  const recallToken = (token: string, now: number): VerifiedToken | undefined => {
    const isShort = typeof token === 'string' && token.length <= maxTokenLength
    const found = isShort ? remembered.get(token) : undefined
    return found?.source.keys.isTrusted(found.signer, now) === true ? found : undefined
  }

  const open: TokenVerifier['open'] = (token, now, isLoaded = false) => {
    const jwt = readOnce(token)
    lastRead = null
    const { jws } = jwt
    const source = sources.find(jwt)
    const { header, signer } = verifySignature(jwt, source, now, isLoaded)
    const claims = jwt.claims ?? parseClaims(decodePayload(jws))
    const { payload, subjects } = source.toPayload({ jws, header, claims })
    sources.assertSubject(source, payload.sub)
    return { header, payload, claims: payload, subjects, kids: signer.ids, source, signer }
  }

  const verifySignature = (
    { jws, claims }: UnverifiedJwt,
    source: TokenSource,
    now: number,
    isLoaded: boolean,
  ): Pick<VerifiedToken, 'header' | 'signer'> => {
    const memo = memoOf(source)
    try {
      const header = readHeader(memo, jws)
      const signer = findSourceSigner(source, header, jws, { now, isLoaded })
      if (memo.last?.header !== header) memo.last = { encoded: copyText(jws.header), header }
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

  return {
    open,
    needsKeys(token, now) {
      if (!hasIssuers || recallToken(token, now) !== undefined) return false
      const loading = findLoading(token)
      return loading !== null && loading.source.keys.find(loading.header) === null
    },
    async loadCertainKeys(token, now, lookups = new Set()) {
      const loading = recallToken(token, now) === undefined ? findLoading(token) : null
      if (loading !== null) await loadCertainKeys(loading, lookups)
    },
    async loadKeys(token) {
      const loading = findLoading(token)
      await loading?.loader.load(loading.header)
    },
    recall(header) {
      const known = remembered.getByHeader(header)
      return known !== undefined && isFinal(known) ? known : undefined
    },
    verify(token, now, allowExpired = false, isLoaded = false) {
      const known = recallToken(token, now)
      const opened = known ?? open(token, now, isLoaded)
      const { source } = opened
      assertClaims(opened.claims, allowExpired ? memoOf(source).lenientRules : source.rules, now / 1000)
      // Before the token is remembered: the fast lane must never see a bound one.
      assertUnbound(opened.claims)
      const verified =
        schema === null || (known !== undefined && isFinal(known))
          ? opened
          : { ...opened, payload: applySchema(schema, opened.claims, identityClaim) }
      if (known === undefined && hasComeBefore?.(token) === true) {
        const kept = schema === null || hasOnly(verified.payload, isImmutable) ? verified : opened
        kept.lookup = null
        remembered.set(token, kept)
      }
      return verified
    },
  }
}

interface SourceMemo {
  /** The rules of the source, but expired tokens pass. */
  readonly lenientRules: ClaimRules
  /** The last header of a token whose signature held. */
  last: { readonly encoded: string; readonly header: JwsHeader } | null
}

function createMemo({ rules }: TokenSource): SourceMemo {
  return { lenientRules: { ...rules, allowExpired: true }, last: null }
}

// Tokens of one key have the same header: the last one that was valid is not parsed again.
function readHeader({ last }: SourceMemo, { header: encoded }: CompactJws): JwsHeader {
  return last?.encoded === encoded ? last.header : parseHeader(encoded, TOKEN_TYPES)
}

interface KeyLoading {
  readonly source: TokenSource
  readonly loader: KeyLoader
  readonly jws: CompactJws
  readonly header: JwsHeader
}

// A browser sends one token, or two. Others in the same request, such as cookies that somebody else has set, are guesses.
const MAX_LOOKUPS = 4

// `lookups` has the headers that the same request has looked up: after a few of them, no further key is looked up for it.
async function loadCertainKeys(
  { source, loader, jws, header }: KeyLoading,
  lookups: Set<string>,
): Promise<void> {
  if ((source.keys.find(header, true) ?? []).length > 0) return
  lookups.add(jws.header)
  if (lookups.size > MAX_LOOKUPS) {
    const cause = new Error('The request has too many tokens whose keys are unknown')
    throw new KeysUnavailableError(cause, undefined, source.issuer)
  }
  await loader.load(header, true)
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
