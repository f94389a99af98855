import { createHash } from 'node:crypto'
import { type ClaimRules, isNonEmptyString, type TokenPayload } from '../claims/payload.js'
import { readBase64urlText } from '../encoding.js'
import { ConfigurationError, KeysUnavailableError, TokenSignatureError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { ALGORITHMS, type BoundKey } from '../jws/algorithms.js'
import { readJsonObject } from '../json.js'
import { type CompactJws, findSigner, parseCompact, parseHeader, TOKEN_TYPE } from '../jws/compact.js'
import type { Algorithm, JwsHeader } from '../jws/jose.js'
import { assertOptions, type OptionNames } from '../options.js'
import { type Duration, parseDuration } from '../time.js'
import type { IssuerKeys } from './issuer-keys.js'
import { createIssuerKeys, type KeySource } from './key-source.js'
import { AT_JWT_CLAIMS, type ClaimMapping, type IssuerProfile, toForeignPayload } from './profile.js'

/** An issuer whose tokens a manager accepts beside its own. */
export interface IssuerOptions {
  /** The exact text of `iss` in its tokens; a slash at the end counts. */
  readonly issuer: string
  /** Whom its tokens must be for: this application, as the issuer names it. One of several is enough. */
  readonly audience: string | readonly string[]
  /** Where its keys come from. Default: the metadata at `/.well-known/openid-configuration` below the issuer. */
  readonly keys?: KeySource | undefined
  /** What its tokens may be signed with. Default: every public-key algorithm but RS384, RS512, PS384 and PS512. */
  readonly algorithms?: readonly Algorithm[] | undefined
  /** What its tokens look like. Default `oidc-access`. */
  readonly profile?: IssuerProfile | undefined
  /** Which of its claims have the meaning of ours. */
  readonly mapping?: ClaimMapping | undefined
  /**
   * Stands before every `sub`: the users of two issuers may have the same. Required as soon as a manager accepts tokens
   * from more than one source; `''` says that all of them mean the same users.
   */
  readonly subjectPrefix?: string | undefined
  /** Claims that every token must have, beside `exp`, `iat` and `sub`. */
  readonly requiredClaims?: readonly string[] | undefined
  /** How long after `iat` a token is accepted at most; revocations of users are kept as long. Default `24h`. */
  readonly maxTokenAge?: Duration | undefined
  /** The clock difference tolerated in its tokens. Default: that of the configuration. */
  readonly leeway?: Duration | undefined
  /** How long after `auth_time` a token counts as fresh. Left out, none does. */
  readonly freshFor?: Duration | undefined
}

const ISSUER_OPTIONS: OptionNames<IssuerOptions> = {
  issuer: true,
  audience: true,
  keys: true,
  algorithms: true,
  profile: true,
  mapping: true,
  subjectPrefix: true,
  requiredClaims: true,
  maxTokenAge: true,
  leeway: true,
  freshFor: true,
}
const MEANT_OPTIONS = { iss: 'issuer', aud: 'audience', jwksUri: 'keys', jwks: 'keys', discovery: 'keys' }

/** An issuer, ready to verify. */
export interface Issuer {
  readonly issuer: string
  readonly rules: ClaimRules
  readonly keys: IssuerKeys
  /** How a `sub` of this issuer appears in a payload. */
  toSubject(sub: string): string
  /** The header of one of its tokens, or `TokenDecodeError`. */
  readHeader(jws: CompactJws): JwsHeader
  /** Verifies the signature, and makes a payload of the claims; `KeysUnavailableError` if the keys are not loaded. */
  open(jws: CompactJws, claims: Readonly<Record<string, unknown>>): OpenedForeignToken
}

/** A genuine token of an issuer; time and audience are not checked. */
export interface OpenedForeignToken {
  readonly header: JwsHeader
  readonly payload: TokenPayload
  readonly signer: BoundKey
}

/** What every issuer of a manager is made with. */
export interface IssuerContext {
  readonly emit: TokenEmitter['emit']
  /** Seconds. */
  readonly leeway: number
  /** Every `subjectPrefix` that is not empty. */
  readonly prefixes: readonly string[]
}

const DEFAULT_ALGORITHMS: readonly Algorithm[] = [
  'RS256',
  'PS256',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const PROFILES: readonly IssuerProfile[] = ['oidc-access', 'at+jwt', 'tokenlib']

/** An issuer of these options, or `ConfigurationError`; sends nothing. */
export function createIssuer(options: IssuerOptions, { emit, leeway, prefixes }: IssuerContext): Issuer {
  assertIssuerOptions(options)
  const { issuer, profile = 'oidc-access', subjectPrefix = '' } = options
  // Copies: the application may still hold, and change, its own.
  const algorithms = [...(options.algorithms ?? DEFAULT_ALGORITHMS)]
  const mapping = structuredClone(options.mapping ?? {})
  const owner = `issuer ${issuer}`
  const keys = createIssuerKeys(options.keys, { issuer, algorithms, emit })
  const freshFor = options.freshFor === undefined ? null : toSeconds(owner, 'freshFor', options.freshFor)
  const othersPrefixes = prefixes.filter((prefix) => prefix !== subjectPrefix)
  const profileRules = { profile, mapping, subjectPrefix, othersPrefixes, freshFor }
  const required = [
    'exp',
    'iat',
    ...(profile === 'at+jwt' ? AT_JWT_CLAIMS : []),
    ...(options.requiredClaims ?? []),
  ]
  // Tokens of one key have the same header: the last one that was valid is not parsed again.
  let last: { readonly encoded: string; readonly header: JwsHeader } | null = null

  const readHeader = ({ header: encoded }: CompactJws): JwsHeader =>
    last?.encoded === encoded ? last.header : parseHeader(encoded, TOKEN_TYPE)

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
    toSubject: (sub) => subjectPrefix + sub,
    readHeader,
    open(jws, claims) {
      const header = readHeader(jws)
      const signer = findSigner(requireKeys(keys, header), jws)
      last = { encoded: jws.header, header }
      // A token that has to have an id is not given one.
      const toId = required.includes('jti') ? null : () => toTokenId(jws)
      return { header, payload: toForeignPayload(claims, header, profileRules, toId), signer }
    },
  }
}

// Of what was signed, and not of the signature: of that, a token may have several.
function toTokenId({ signingInput }: CompactJws): string {
  return createHash('sha256').update(signingInput).digest('base64url')
}

/** The keys for a header, or `TokenSignatureError` for none, or `KeysUnavailableError` if they are not loaded. */
export function requireKeys(keys: IssuerKeys, header: JwsHeader): readonly BoundKey[] {
  const found = keys.find(header)
  if (found === null) {
    throw new KeysUnavailableError(
      new Error('The keys of the issuer are not loaded: await tokens.ready() first'),
    )
  }
  if (found.length === 0) throw new TokenSignatureError('Token was signed with an unknown key')
  return found
}

function toSeconds(owner: string, name: string, duration: Duration): number {
  try {
    return parseDuration(duration)
  } catch (error) {
    throw new ConfigurationError(`${name} of ${owner}: ${(error as Error).message}`)
  }
}

function assertIssuerOptions(options: IssuerOptions): void {
  const name = (options as Partial<IssuerOptions> | null)?.issuer
  const owner = isNonEmptyString(name) ? `issuer ${name}` : 'issuers[]'
  assertOptions(owner, options, ISSUER_OPTIONS, MEANT_OPTIONS)
  const { issuer, audience, algorithms, profile, mapping, subjectPrefix, requiredClaims } = options
  if (!isNonEmptyString(issuer)) {
    throw new ConfigurationError('An issuer needs `issuer`, the exact text of "iss" in its tokens')
  }
  const fail = (problem: string): never => {
    throw new ConfigurationError(`Issuer ${issuer}: ${problem}`)
  }
  // Without it, a token that the issuer made for another application would be accepted (RFC 8725 §3.9).
  if (!isTextOrList(audience)) fail('audience must be a non-empty string, or a list of at least one')
  if (algorithms !== undefined && !isAlgorithmList(algorithms)) {
    fail('algorithms must be a list of at least one public-key algorithm')
  }
  if (profile !== undefined && !PROFILES.includes(profile))
    fail(`profile must be one of ${PROFILES.join(', ')}`)
  if (subjectPrefix !== undefined && typeof subjectPrefix !== 'string') fail('subjectPrefix must be a string')
  if (
    requiredClaims !== undefined &&
    !(Array.isArray(requiredClaims) && requiredClaims.every(isNonEmptyString))
  ) {
    fail('requiredClaims must be a list of claim names')
  }
  // In policies and revocations, it stands for our own tokens.
  if (issuer === 'own') fail("issuer must not be 'own', which is the name of our own tokens")
  if (mapping !== undefined) assertMapping(owner, mapping, fail)
  if (profile === 'tokenlib') assertTokenlib(options, fail)
}

// Its tokens have our claims already. An option without effect may be a demand that is not met.
function assertTokenlib({ mapping = {}, freshFor }: IssuerOptions, fail: (problem: string) => never): void {
  const name = Object.entries(mapping).find(([key, value]) => key !== 'sub' && value !== undefined)?.[0]
  if (name !== undefined) fail(`profile 'tokenlib' has no mapping.${name}`)
  if (freshFor !== undefined) fail("profile 'tokenlib' has no freshFor: its tokens say how fresh they are")
}

const MAPPING_NAMES: OptionNames<ClaimMapping> = {
  sub: true,
  sid: true,
  jti: true,
  aud: true,
  scopes: true,
  access: true,
}

function assertMapping(owner: string, mapping: ClaimMapping, fail: (problem: string) => never): void {
  assertOptions(`mapping of ${owner}`, mapping, MAPPING_NAMES, {
    audience: 'aud',
    scope: 'scopes',
    type: 'access',
  })
  for (const name of ['sub', 'sid', 'jti', 'aud'] as const) {
    if (mapping[name] !== undefined && !isNonEmptyString(mapping[name]))
      fail(`mapping.${name} must be the name of a claim`)
  }
  if (mapping.scopes !== undefined && !isTextOrList(mapping.scopes)) {
    fail('mapping.scopes must be the name of a claim, or a list of names')
  }
  const { access } = mapping
  if (access === undefined) return
  assertOptions(`mapping.access of ${owner}`, access, { claim: true, value: true })
  if (!isNonEmptyString(access.claim) || !isNonEmptyString(access.value)) {
    fail('mapping.access must be { claim, value }')
  }
}

function isTextOrList(value: unknown): boolean {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.length > 0 && list.every(isNonEmptyString)
}

// A public key must never be taken for a secret.
function isAlgorithmList(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((name: Algorithm) => Object.hasOwn(ALGORITHMS, name) && ALGORITHMS[name].family !== 'hmac')
  )
}

/** The issuers of a manager by the text of `iss`. */
export type Issuers = ReadonlyMap<string, Issuer>

/** The issuers of a manager, or `ConfigurationError`; `own` says whether it has tokens of its own, and what `iss` they have. */
export function createIssuers(
  list: readonly IssuerOptions[],
  context: Omit<IssuerContext, 'prefixes'>,
  own: { readonly hasKeys: boolean; readonly issuers: readonly string[] },
): Issuers {
  if (!Array.isArray(list)) throw new ConfigurationError('issuers must be a list')
  const issuers = new Map<string, Issuer>()
  const prefixes = (list as readonly (Partial<IssuerOptions> | null)[])
    .map((options) => options?.subjectPrefix)
    .filter(isNonEmptyString)
  for (const options of list as readonly IssuerOptions[]) {
    const issuer = createIssuer(options, { ...context, prefixes })
    if (issuers.has(issuer.issuer)) throw new ConfigurationError(`Issuer ${issuer.issuer} is listed twice`)
    if (own.issuers.includes(issuer.issuer)) {
      throw new ConfigurationError(`Issuer ${issuer.issuer} is also the issuer of this manager's own tokens`)
    }
    issuers.set(issuer.issuer, issuer)
  }
  assertPrefixes(list, own.hasKeys)
  return issuers
}

// A user of one issuer must not be taken for a user of another who has the same `sub`.
function assertPrefixes(list: readonly IssuerOptions[], hasOwnTokens: boolean): void {
  for (const { issuer, subjectPrefix: prefix = '' } of list) {
    const shorter = list.find((other) => isBeginning(other.subjectPrefix ?? '', prefix))
    if (shorter === undefined) continue
    throw new ConfigurationError(
      `The subjectPrefix of issuer ${issuer} begins with that of issuer ${shorter.issuer}: two users may get the same sub`,
    )
  }
  if (list.length + (hasOwnTokens ? 1 : 0) < 2) return
  const undecided = list.find(({ subjectPrefix }) => subjectPrefix === undefined)
  if (undecided === undefined) return
  throw new ConfigurationError(
    `Issuer ${undecided.issuer} needs a subjectPrefix, because this manager accepts tokens of several issuers: two users ` +
      "may have the same sub. Use a prefix such as 'auth0:', or '' where every issuer means the same users",
  )
}

function isBeginning(prefix: string, other: string): boolean {
  return prefix !== '' && prefix !== other && other.startsWith(prefix)
}

/** A JWT that names one of the issuers; nothing about it is verified. */
export interface ForeignJwt {
  readonly issuer: Issuer
  readonly jws: CompactJws
  readonly claims: Readonly<Record<string, unknown>>
}

/** A JWT that names one of the issuers, or `null` for any other text. */
export function readForeignJwt(issuers: Issuers, token: string, maxLength: number): ForeignJwt | null {
  let jws: CompactJws
  try {
    jws = parseCompact(token, maxLength)
  } catch {
    return null
  }
  const text = readBase64urlText(jws.payload)
  const claims = text === null ? null : readJsonObject(text)
  const issuer = claims === null ? undefined : issuers.get(claims['iss'] as string)
  return claims === null || issuer === undefined ? null : { issuer, jws, claims }
}
