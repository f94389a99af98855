import { isNonEmptyString } from '../tokens/payload.js'
import { ConfigurationError } from '../errors.js'
import { ALGORITHMS } from '../tokens/algorithms.js'
import type { Algorithm } from '../tokens/jose.js'
import { assertOptions, type OptionNames } from '../options.js'
import { type Duration, parseDuration } from '../time.js'
import type { KeySource } from './key-source.js'
import type { ClaimMapping, IssuerProfile } from './profile.js'

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
  /**
   * How long a session of the issuer can last at most, with all its refreshes; revocations of its sessions are kept as long.
   * Default `400d`.
   */
  readonly sessionLifetime?: Duration | undefined
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
  sessionLifetime: true,
  leeway: true,
  freshFor: true,
}
const MEANT_OPTIONS = {
  iss: 'issuer',
  aud: 'audience',
  jwksUri: 'keys',
  jwks: 'keys',
  discovery: 'keys',
  remoteKeys: 'keys',
  allowPrivateNetwork: 'keys',
  scope: 'mapping',
  scopes: 'mapping',
  permissions: 'mapping',
  access: 'mapping',
  sub: 'mapping',
  sid: 'mapping',
  jti: 'mapping',
}

/** What tokens of an issuer may be signed with unless it says so. */
export const DEFAULT_ALGORITHMS: readonly Algorithm[] = [
  'RS256',
  'PS256',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const PROFILES: readonly IssuerProfile[] = ['oidc-access', 'at+jwt', 'tokenlib']

/** Throws `TypeError` or `ConfigurationError` for options that no issuer can be made of. */
export function assertIssuerOptions(options: IssuerOptions): void {
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

/** Throws `TypeError`, or what `fail` throws, for a mapping that names no claims. */
export function assertMapping(owner: string, mapping: ClaimMapping, fail: (problem: string) => never): void {
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

/** Whether a value is a non-empty text, or a list of at least one. */
export function isTextOrList(value: unknown): boolean {
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

/** A duration of an issuer in seconds, or `ConfigurationError`. */
export function toSeconds(owner: string, name: string, duration: Duration): number {
  try {
    return parseDuration(duration)
  } catch (error) {
    throw new ConfigurationError(`${name} of ${owner}: ${(error as Error).message}`)
  }
}

/**
 * Throws `ConfigurationError` unless it is certain that a user of one issuer is never taken for a user of another who has
 * the same `sub`.
 */
export function assertPrefixes(list: readonly IssuerOptions[], hasOwnTokens: boolean): void {
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
