import { copyText } from '../encoding.js'
import { isTokenError, KeysUnavailableError, TokenIssuerError } from '../errors.js'
import type { Settings } from '../config/settings.js'
import type { RevocableToken } from '../revocation/revocation.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { decodePayload, parseCompact, parseHeader, TOKEN_TYPES } from '../tokens/compact.js'
import { applySchema, hasOnlyImmutable } from '../tokens/extra-claims.js'
import type { JwsHeader } from '../tokens/jose.js'
import { assertClaims, parseClaims, type TokenPayload } from '../tokens/payload.js'
import {
  findSourceSigner,
  type KeyLoader,
  type OpaqueSource,
  type OpenedToken,
  type TokenSource,
} from '../tokens/token-source.js'
import { parseUnverifiedJwt, type UnverifiedJwt } from '../tokens/token-sources.js'
import { createRecentTokens, createSightings } from './recent-tokens.js'

/** A token whose spelling, signature and claim types held. */
export interface VerifiedToken extends RevocableToken {
  readonly header: JwsHeader
  /** The claims as they were signed, before a schema transformed them. */
  readonly claims: TokenPayload
  readonly source: TokenSource
  /** The key that made its signature; `null` for an opaque token, which has none. */
  readonly signer: BoundKey | null
}

/** What was loaded for a token: its keys (`true`), or what its issuer says about an opaque token. */
export type Loaded = OpenedToken | true

/** Runs the standard JWT checks on a token. The caller checks key binding and revocation. */
export interface TokenVerifier {
  /** Throws `TokenDecodeError` unless all checks hold at `now`, in epoch ms. With `loaded`, nothing else is looked for. */
  verify(token: string, now: number, allowExpired?: boolean, loaded?: Loaded | false): VerifiedToken
  /**
   * The token of a header value, if it is remembered or can be verified synchronously. The caller must check time, issuer
   * and audience. After `null`, call `verify`, which decides.
   */
  verifyHeader(header: string, now: number): VerifiedToken | null
  /** The source whose issuer must be asked about a token, or `null` if keys verify it. */
  findOpaque(token: string): OpaqueSource | null
  /** Loads the keys for a token, or asks its issuer. Rejects with `KeysUnavailableError` if that is not possible. */
  load(token: string): Promise<Loaded>
  /** Like `load`, if needed, for a caller that may not retry. `lookups` has the earlier lookups of the request. */
  loadForCertain(token: string, now: number, lookups?: Set<string>): Promise<Loaded>
  /** Throws a `TokenDecodeError` unless spelling, signature and claim types hold; time, issuer and audience are not checked. */
  open(token: string, now: number, loaded: Loaded | false): VerifiedToken
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
  // Remembers the last parsed token, so that the key lookup and the verification parse it once.
  let lastRead: { readonly token: string; readonly jwt: UnverifiedJwt } | null = null
  const readOnce = (token: string): UnverifiedJwt => {
    // With only one source, read no claims before the signature is verified.
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

  // What must be loaded before a token can be verified, or `null`.
  const findLoading = (token: string): KeyLoading | null => {
    if (!hasIssuers) return null
    const jwt = readOnce(token)
    const source = sources.find(jwt)
    const { loader } = source.keys
    const encoded = jwt.jws.header
    return loader === null ? null : { source, loader, encoded, header: readHeader(encoded) }
  }

  // Look up nothing that is too long to be a token.
  const recall = (token: string, now: number): VerifiedToken | undefined => {
    const isShort = typeof token === 'string' && token.length <= maxTokenLength
    const found = isShort ? remembered.get(token) : undefined
    return found !== undefined && isSignerTrusted(found, now) ? found : undefined
  }

  // Asked several times about one token.
  let lastFound: { readonly token: string; readonly source: OpaqueSource | null } | null = null
  const findOpaque = (token: string): OpaqueSource | null => {
    if (!hasIssuers) return null
    if (lastFound === null || lastFound.token !== token) {
      lastFound = { token, source: sources.findOpaque(token, maxTokenLength) }
    }
    return lastFound.source
  }

  const openOpaque = (token: string, source: OpaqueSource, loaded: Loaded | false): VerifiedToken => {
    const opened = typeof loaded === 'object' ? loaded : source.opaque.recall(token)
    if (opened === null) throw notAsked(source.issuer)
    const { payload, subjects } = opened
    sources.assertSubject(source, payload.sub)
    return { header: NO_HEADER, payload, claims: payload, subjects, kids: NO_KEYS, source, signer: null }
  }

  const open: TokenVerifier['open'] = (token, now, loaded) => {
    const opaque = findOpaque(token)
    if (opaque !== null) return openOpaque(token, opaque, loaded)
    const jwt = readOnce(token)
    lastRead = null
    const source = hasIssuers ? sources.find(jwt) : sources.own
    const { header, signer } = verifySignature(jwt, source, now, loaded !== false)
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
  ): { readonly header: JwsHeader; readonly signer: BoundKey } => {
    try {
      const header = readHeader(jws.header)
      const signer = findSourceSigner(source, header, jws, { now, isLoaded })
      if (lastHeader?.header !== header) lastHeader = { encoded: copyText(jws.header), header }
      return { header, signer }
    } catch (error) {
      // Perhaps the configured issuer has an extra slash, or the token is from another tenant: "unknown key" would mislead.
      const iss = claims?.['iss']
      const isOther = typeof iss === 'string' && !source.names.includes(iss)
      throw isOther && isTokenError(error) ? new TokenIssuerError() : error
    }
  }

  // Schema output may be mutable (a Date, a list), so don't share it between requests.
  const isFinal = ({ payload, claims }: VerifiedToken): boolean => schema === null || payload !== claims

  const verify: TokenVerifier['verify'] = (token, now, allowExpired = false, loaded = false) => {
    const known = takeAttempt(token, now, allowExpired) ?? recall(token, now)
    const opened = known ?? open(token, now, loaded)
    const { rules } = opened.source
    assertClaims(opened.claims, allowExpired ? { ...rules, allowExpired } : rules, now / 1000)
    const verified =
      schema === null || (known !== undefined && isFinal(known))
        ? opened
        : { ...opened, payload: applySchema(schema, opened.claims, identityClaim) }
    // An introspection answer is valid only briefly; its source decides how long.
    if (known === undefined && opened.signer !== null && hasComeBefore?.(token) === true) {
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
    if (verified !== null) return isSignerTrusted(verified, now) ? verified : undefined
    if (at === now && !allowExpired) throw error
    return undefined
  }

  return {
    verify,
    open,
    findOpaque,
    verifyHeader(header, now) {
      const known = remembered.getByHeader(header)
      if (known !== undefined) return isFinal(known) ? known : null
      // A schema is code of the application. The recipe calls it, once.
      const isShort = header.length <= prefix.length + maxTokenLength
      if (schema !== null || !isShort || !header.startsWith(prefix)) return null
      const token = header.slice(prefix.length)
      attempt = null
      try {
        if (findOpaque(token) !== null || findLoading(token) !== null) return null
        const verified = verify(token, now)
        attempt = { token, now, verified, error: null }
        return verified
      } catch (error) {
        attempt = { token, now, verified: null, error }
        return null
      }
    },
    async loadForCertain(token, now, lookups = new Set()) {
      const opaque = findOpaque(token)
      if (opaque !== null) {
        countLookup(lookups, token, opaque.issuer)
        return opaque.opaque.load(token, true)
      }
      const loading = recall(token, now) === undefined ? findLoading(token) : null
      if (loading !== null) await loadCertainKeys(loading, lookups)
      return true
    },
    async load(token) {
      const opaque = findOpaque(token)
      if (opaque !== null) return opaque.opaque.load(token)
      const loading = findLoading(token)
      await loading?.loader.load(loading.header)
      return true
    },
  }
}

// One object, like the list: what is remembered for the signers of tokens is found by it.
const NO_KEYS: readonly string[] = Object.freeze([])
const NO_HEADER: JwsHeader = Object.freeze({ alg: 'introspection' })

function notAsked(issuer: string): KeysUnavailableError {
  return new KeysUnavailableError(
    new Error('The issuer of an opaque token has to be asked, which takes a promise'),
    'Introspection unavailable',
    issuer,
  )
}

function isSignerTrusted({ source, signer }: VerifiedToken, now: number): boolean {
  return signer !== null && source.keys.isTrusted(signer, now)
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
  countLookup(lookups, encoded, source.issuer)
  await loader.load(header, true)
}

function countLookup(lookups: Set<string>, name: string, issuer: string | null): void {
  lookups.add(name)
  if (lookups.size <= MAX_LOOKUPS) return
  const cause = new Error('The request has too many tokens whose issuers have to be asked')
  throw new KeysUnavailableError(cause, undefined, issuer)
}
