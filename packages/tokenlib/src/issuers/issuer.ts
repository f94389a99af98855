import { createHash } from 'node:crypto'
import { type ClaimRules, isNonEmptyString, type TokenPayload } from '../tokens/payload.js'
import { ConfigurationError, KeysUnavailableError, TokenSignatureError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { type CompactJws, findSigner, parseHeader, TOKEN_TYPES } from '../tokens/compact.js'
import type { JwsHeader } from '../tokens/jose.js'
import type { IssuerKeys } from './issuer-keys.js'
import { assertIssuerOptions, DEFAULT_ALGORITHMS, type IssuerOptions, toSeconds } from './issuer-options.js'
import { createIssuerKeys } from './key-source.js'
import { AT_JWT_CLAIMS, type IssuerProfile, NOT_IN_FOREIGN_TOKENS, toForeignPayload } from './profile.js'

/** An issuer, ready to verify. */
export interface Issuer {
  readonly issuer: string
  readonly rules: ClaimRules
  readonly keys: IssuerKeys
  readonly profile: IssuerProfile | 'legacy'
  /** Whether its tokens have no `iss`; `issuer` is only a name then. */
  readonly isWithoutIss: boolean
  readonly subjectPrefix: string
  /** How long revocations of its sessions are kept, in seconds. */
  readonly sessionLifetime: number
  /** How a `sub` of this issuer appears in a payload. */
  toSubject(sub: string): string
  /** The header of one of its tokens, or `TokenDecodeError`. */
  readHeader(jws: CompactJws): JwsHeader
  /**
   * Verifies the signature, and makes a payload of the claims; `KeysUnavailableError` if the keys are not loaded. With
   * `isLoaded`, the caller has loaded them: a key that is missing then is unknown.
   */
  open(jws: CompactJws, claims: Readonly<Record<string, unknown>>, isLoaded: boolean): OpenedForeignToken
}

/** A genuine token of an issuer; time and audience are not checked. */
export interface OpenedForeignToken {
  readonly header: JwsHeader
  readonly payload: TokenPayload
  /** The names that the issuer has for the user: that of the payload, without its prefix, and its `sub`. */
  readonly subjects: readonly string[]
  readonly signer: BoundKey
}

/** What every issuer of a manager is made with. */
export interface IssuerContext {
  readonly emit: TokenEmitter['emit']
  /** Seconds. */
  readonly leeway: number
  /** Every `subjectPrefix` that is not empty. */
  readonly prefixes: readonly string[]
  /** The claim that names the user in our own tokens. */
  readonly identityClaim: string
}

/** One issuer, or `ConfigurationError`. Sends nothing. */
export function createIssuer(options: IssuerOptions, context: IssuerContext): Issuer {
  const { emit, leeway, prefixes, identityClaim } = context
  assertIssuerOptions(options)
  const { issuer, profile = 'oidc-access', subjectPrefix = '' } = options
  // Copies: the application may still hold, and change, its own.
  const algorithms = [...(options.algorithms ?? DEFAULT_ALGORITHMS)]
  const mapping = structuredClone(options.mapping ?? {})
  const owner = `issuer ${issuer}`
  const keys = createIssuerKeys(options.keys, { issuer, algorithms, emit })
  const freshFor = options.freshFor === undefined ? null : toSeconds(owner, 'freshFor', options.freshFor)
  const othersPrefixes = prefixes.filter((prefix) => prefix !== subjectPrefix)
  const profileRules = { profile, mapping, subjectPrefix, othersPrefixes, identityClaim, freshFor }
  assertRequirable(options, identityClaim)
  const required = [
    'exp',
    'iat',
    ...(profile === 'at+jwt' ? AT_JWT_CLAIMS : []),
    ...(options.requiredClaims ?? []),
  ]
  // Tokens of one key have the same header: the last one that was valid is not parsed again.
  let last: { readonly encoded: string; readonly header: JwsHeader } | null = null

  const readHeader = ({ header: encoded }: CompactJws): JwsHeader =>
    last?.encoded === encoded ? last.header : parseHeader(encoded, TOKEN_TYPES)

  return {
    issuer,
    keys,
    rules: {
      leeway: options.leeway === undefined ? leeway : toSeconds(owner, 'leeway', options.leeway),
      issuers: [issuer],
      audience: [options.audience].flat(),
      requiredClaims: [...new Set(required)],
      maxAge: toSeconds(owner, 'maxTokenAge', options.maxTokenAge ?? '24h'),
    },
    profile,
    isWithoutIss: false,
    subjectPrefix,
    sessionLifetime: toSeconds(owner, 'sessionLifetime', options.sessionLifetime ?? '400d'),
    toSubject: (sub) => subjectPrefix + sub,
    readHeader,
    open(jws, claims, isLoaded) {
      const header = readHeader(jws)
      const signer = findSigner(requireKeys(keys, header, issuer, isLoaded), jws)
      last = { encoded: jws.header, header }
      // A token that has to have an id is not given one.
      const toId = required.includes('jti') ? null : () => toTokenId(jws)
      const payload = toForeignPayload(claims, header, profileRules, toId)
      const { sub } = claims
      const names = [payload.sub.slice(subjectPrefix.length), ...(isNonEmptyString(sub) ? [sub] : [])]
      return { header, payload, subjects: [...new Set(names)], signer }
    },
  }
}

// A claim that every payload has would be a demand that every token meets.
function assertRequirable(
  { issuer, profile, requiredClaims = [] }: IssuerOptions,
  identityClaim: string,
): void {
  const made = [...(profile === 'tokenlib' ? [] : NOT_IN_FOREIGN_TOKENS), identityClaim]
  const name = requiredClaims.find((claim) => claim !== 'sub' && made.includes(claim))
  if (name === undefined) return
  throw new ConfigurationError(
    `Issuer ${issuer}: requiredClaims cannot have "${name}", which is not read from its tokens`,
  )
}

/** The id of a token that has none: of what was signed, and not of the signature, of which a token may have several. */
export function toTokenId({ signingInput }: CompactJws): string {
  return createHash('sha256').update(signingInput).digest('base64url')
}

/** The keys for a header, or `TokenSignatureError` for none, or `KeysUnavailableError` if they are not loaded. */
export function requireKeys(
  keys: IssuerKeys,
  header: JwsHeader,
  issuer: string,
  isLoaded: boolean,
): readonly BoundKey[] {
  const found = keys.find(header, isLoaded)
  if (found === null) {
    // For the next call, and for ready(): a caller that cannot wait would never get a new key otherwise.
    keys.prepare(header)
    throw new KeysUnavailableError(
      new Error('The keys of the issuer are not loaded: await tokens.ready() first'),
      undefined,
      issuer,
    )
  }
  if (found.length === 0) throw new TokenSignatureError('Token was signed with an unknown key')
  return found
}
