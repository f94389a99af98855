import {
  type CarriedClaims,
  type ClaimsInput,
  type CreateTokenOptions,
  createClaims,
  type RefreshTokenOptions,
  type SessionClaims,
  TOKEN_OPTIONS,
  toExpiry,
} from '../tokens/create.js'
import { assertSerializable } from '../tokens/extra-claims.js'
import { createId, createTimedId, type RandomBytes } from '../tokens/ids.js'
import type { TokenType } from '../tokens/payload.js'
import { isJsonObject, isWithinJsonLimits, toBase64url } from '../encoding.js'
import { ConfigurationError } from '../errors.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { encodeHeader, measureCompact, signCompact } from '../tokens/compact.js'
import { type SigningKey, signCompactAsync } from '../tokens/external-signer.js'
import { assertOptions } from '../options.js'
import { FOREVER } from '../revocation/revocation.js'
import type { Authenticator } from '../requests/authenticate.js'
import { toEpochSeconds } from '../time.js'

/** Options for both tokens of a pair; those under `access` and `refresh` win for that one. */
export interface PairTokenOptions extends CreateTokenOptions {
  readonly access?: CreateTokenOptions
  readonly refresh?: RefreshTokenOptions
}

/** What a refresh returns. */
export interface RefreshedTokens {
  readonly accessToken: string
  /** `null` if the client should keep the refresh token it sent. */
  readonly refreshToken: string | null
  /** The scheme of the access token: `DPoP` if it is bound to a key of the client. */
  readonly tokenType: 'bearer' | 'DPoP'
}

/** An access and a refresh token of one login; both carry the same `sid`. */
export interface TokenPair extends RefreshedTokens {
  readonly refreshToken: string
}

/** Creates tokens. Everything async works with every key, and rejects with `KeysUnavailableError` if a signer fails. */
export interface TokenMaker {
  /** Throws `ConfigurationError` if the key signs asynchronously. */
  createToken(
    type: TokenType,
    input: ClaimsInput,
    options?: CreateTokenOptions,
    session?: SessionClaims | null,
  ): string
  createTokenAsync(type: TokenType, input: ClaimsInput, options?: CreateTokenOptions): Promise<string>
  /** Both tokens of a session; without a CSRF value in it, they share a new one. */
  signPair(input: ClaimsInput, options: PairTokenOptions, session: SessionClaims): Promise<TokenPair>
  /** The same without a refresh token. */
  signAccess(input: ClaimsInput, options: PairTokenOptions, session: SessionClaims): Promise<RefreshedTokens>
  /** Rejects if the signer failed last time and fails again; with `length`, unless it can sign a text of this length now. */
  assertSignerAvailable(length?: number): Promise<void>
  /** Starts a session that no store keeps. */
  startSession(): SessionClaims
  /**
   * Throws if no pair can be created from the claims and options. Returns when its session would end, in epoch seconds or
   * `null` for never, and the length of the longest text that has to be signed.
   */
  planPair(
    input: ClaimsInput,
    options: PairTokenOptions,
    carried: CarriedClaims,
  ): { readonly endsAt: number | null; readonly inputLength: number }
}

/** The parts that a maker needs. */
export interface TokenMakerParts extends Pick<Authenticator, 'settings' | 'store' | 'now' | 'emit'> {
  readonly random: RandomBytes
}

/** A maker for one configuration. */
export function createTokenMaker({ settings, store, now, emit, random }: TokenMakerParts): TokenMaker {
  const { creation, keys, maxTokenLength } = settings
  const toStart = (at: number): number => store?.revoker.startToken(at) ?? at
  // The encoded header is the same for every token of a type and key, unless it has extra headers.
  const last: { [Type in TokenType]?: { readonly key: BoundKey; readonly header: string } } = {}

  const toHeader = (type: TokenType, key: BoundKey, headers: CreateTokenOptions['headers']): string => {
    const { typ } = creation[type]
    if (headers === undefined) {
      const known = last[type]
      if (known?.key === key) return known.header
      const header = encodeHeader(key, typ)
      last[type] = { key, header }
      return header
    }
    if (!isJsonObject(headers)) throw new TypeError('headers must be an object')
    for (const [name, value] of Object.entries(headers)) assertSerializable(name, value)
    return encodeHeader(key, typ, headers)
  }

  // Our users must not be mistaken for users of an issuer.
  const assertOwnSubject = (uid: string): void => {
    for (const { issuer, subjectPrefix } of settings.sources.issuers.values()) {
      if (subjectPrefix !== '' && uid.startsWith(subjectPrefix)) {
        throw new TypeError(
          `uid begins with ${JSON.stringify(subjectPrefix)}, the subjectPrefix of issuer ${issuer}`,
        )
      }
    }
  }

  // The claims of a token and what to sign. Throws if the token would be too large for our own verifier.
  const prepare = (
    type: TokenType,
    input: ClaimsInput,
    options: CreateTokenOptions,
    session: SessionClaims | null,
  ): UnsignedToken => {
    const at = now()
    const start = session === null ? toStart(at) : at
    const claims = createClaims(type, input, options, creation[type], { now: at, start, random, session })
    if (settings.sources.issuers.has(claims['iss'] as string)) {
      throw new TypeError(
        'issuer is one of the issuers of this manager: only that issuer can create such a token',
      )
    }
    assertOwnSubject(input.uid)
    const text = JSON.stringify(claims)
    if (!isWithinJsonLimits(text)) throw new TypeError('The claims have too many members')
    const key = keys.signingKey(at)
    if (key === null) throw new ConfigurationError(keys.explainMissingKey(at))
    const signingInput = `${toHeader(type, key, options.headers)}.${toBase64url(text)}`
    const length = measureCompact(key, signingInput)
    if (length <= maxTokenLength) return { type, sub: input.uid, session, key, claims, signingInput }
    throw new TypeError(
      `The token would have ${length} characters; JWT_MAX_TOKEN_LENGTH allows ${maxTokenLength}`,
    )
  }

  const preparePair = (
    input: ClaimsInput,
    { access, refresh, ...shared }: PairTokenOptions,
    opened: SessionClaims,
  ): readonly [UnsignedToken, UnsignedToken] => {
    const session = { ...opened, csrf: opened.csrf ?? createId(random) }
    return [
      prepare('access', input, mergeOptions(shared, access), session),
      prepare('refresh', input, mergeOptions(shared, refresh), session),
    ]
  }

  // Called once a token is signed, before the caller gets it.
  const report = ({ type, sub, session, claims }: UnsignedToken): void => {
    const { jti, exp: expiresAt = null } = claims as { jti: string; exp?: number }
    if (session?.limitExpiry === undefined) store?.expect(expiresAt)
    emit('issued', () => ({ type, sub, jti, sid: session?.sid ?? null, expiresAt }))
  }

  const signOne = async (token: UnsignedToken): Promise<string> => {
    const signed = await sign(token)
    report(token)
    return signed
  }

  return {
    createToken(type, input, options = {}, session = null) {
      assertOptions(
        type === 'access' ? 'createAccessToken()' : 'createRefreshToken()',
        options,
        TOKEN_OPTIONS,
      )
      const token = prepare(type, input, options, session)
      const { key, signingInput } = token
      if (key.external !== null) {
        throw new ConfigurationError(
          `The key ${JSON.stringify(key.kid)} signs asynchronously: use sessions.open(), which waits for it`,
        )
      }
      const signed = signCompact(key, signingInput)
      report(token)
      return signed
    },
    async createTokenAsync(type, input, options = {}) {
      assertOptions('createToken()', options, TOKEN_OPTIONS)
      return signOne(prepare(type, input, options, null))
    },
    startSession: () => ({ sid: createTimedId(toStart(now()), random) }),
    async signPair(input, options, session) {
      const [access, refresh] = preparePair(input, options, session)
      const [accessToken, refreshToken] = await Promise.all([sign(access), sign(refresh)])
      report(access)
      report(refresh)
      return { accessToken, refreshToken, tokenType: toTokenType(session) }
    },
    async signAccess(input, { access, refresh: _refresh, ...shared }, session) {
      const accessToken = await signOne(prepare('access', input, mergeOptions(shared, access), session))
      return { accessToken, refreshToken: null, tokenType: toTokenType(session) }
    },
    async assertSignerAvailable(length) {
      const signer = keys.signingKey(now())?.external
      await (length === undefined ? signer?.assertAvailable() : signer?.probe(length))
    },
    planPair(input, options, carried) {
      const { access = {}, refresh = {}, ...shared } = options
      assertOptions('access', access, TOKEN_OPTIONS)
      assertOptions('refresh', refresh, TOKEN_OPTIONS)
      // The longest possible session claims, so that what passes here can also be created.
      const session = { sid: createTimedId(now(), random), lineage: LONGEST_LINEAGE, ...carried }
      const pair = preparePair(input, options, session)
      return {
        endsAt: toExpiry(toEpochSeconds(now()), mergeOptions(shared, refresh), creation.refresh.expires),
        inputLength: Math.max(...pair.map(({ signingInput }) => signingInput.length)),
      }
    },
  }
}

function toTokenType({ cnf }: SessionClaims): RefreshedTokens['tokenType'] {
  return cnf?.jkt === undefined ? 'bearer' : 'DPoP'
}

interface UnsignedToken {
  readonly type: TokenType
  readonly sub: string
  readonly session: SessionClaims | null
  readonly key: SigningKey
  readonly claims: Record<string, unknown>
  readonly signingInput: string
}

function sign({ key, signingInput }: UnsignedToken): Promise<string> {
  return signCompactAsync(key, signingInput)
}

const LONGEST_LINEAGE = { generation: Number.MAX_SAFE_INTEGER, parent: 'x'.repeat(22), issuedAt: FOREVER }

/** Merges a token's own options over the shared ones. Its own expiry replaces the shared one, in either form. */
export function mergeOptions(shared: CreateTokenOptions, own: CreateTokenOptions = {}): CreateTokenOptions {
  const { expiresIn: _in, expiresAt: _at, ...rest } = shared
  const hasOwnExpiry = own.expiresIn !== undefined || own.expiresAt !== undefined
  return hasOwnExpiry ? { ...rest, ...own } : { ...shared, ...own }
}
