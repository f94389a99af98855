import { createHash } from 'node:crypto'
import { ConfigurationError, type Duration, type TokenPayload, type TrustedIssuer } from 'tokenlib'
import type { Algorithm } from 'tokenlib/kit'
import {
  ALGORITHMS,
  assertOptions,
  type ClaimRules,
  type CompactJws,
  isNonEmptyString,
  type IssuerSource,
  type OptionNames,
  parseDuration,
  readEnd,
  readTokenStart,
  type SourceContext,
} from 'tokenlib/kit'
import { type KeySource, parseKeySource } from './keys/key-source.js'
import {
  assertMapping,
  AT_JWT_CLAIMS,
  type ClaimMapping,
  type IssuerProfile,
  isTextOrList,
  NOT_IN_OTHER_TOKENS,
  toIssuerPayload,
} from './profile.js'

/** An issuer whose tokens a manager accepts. */
export interface IssuerOptions {
  /** The exact `iss` of its tokens; a trailing slash matters. */
  readonly issuer: string
  /** Who its tokens must be for: this application, as the issuer names it. If you pass a list, one match is enough. */
  readonly audience: string | readonly string[]
  /** Where its keys come from. Default: the metadata at `/.well-known/openid-configuration` below the issuer. */
  readonly keys?: KeySource | undefined
  /** The allowed algorithms. Default: every public-key algorithm except RS384, RS512, PS384 and PS512. */
  readonly algorithms?: readonly Algorithm[] | undefined
  /** How to recognise its access tokens. Default `oidc-access`. */
  readonly profile?: IssuerProfile | undefined
  /** Maps its claims to ours. */
  readonly mapping?: ClaimMapping | undefined
  /**
   * Prepended to every `sub`, because users of two issuers may have the same `sub`. Required if a manager accepts tokens from
   * more than one source; `''` if all sources have the same users.
   */
  readonly subjectPrefix?: string | undefined
  /** Claims that every token must have, in addition to `exp`, `iat` and `sub`. */
  readonly requiredClaims?: readonly string[] | undefined
  /** The maximum time after `iat` that a token is accepted. Revocations of users are kept this long. Default `24h`. */
  readonly maxTokenAge?: Duration | undefined
  /**
   * The longest time that a session of the issuer can last, with all refreshes. Revocations of its sessions are kept this
   * long. Default `400d`.
   */
  readonly sessionLifetime?: Duration | undefined
  /** The clock difference tolerated in its tokens. Default: `JWT_DECODE_LEEWAY`. */
  readonly leeway?: Duration | undefined
  /** How long after `auth_time` a token counts as fresh. If left out, no token is fresh. */
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

/** An issuer from `trustIssuer()`, or from the function of a provider. */
export interface ConfiguredIssuer extends TrustedIssuer {
  /** Its options. To change one: `trustIssuer({ ...keycloak({ … }).options, algorithms: ['ES256'] })`. */
  readonly options: IssuerOptions
}

/**
 * Accepts the tokens of an issuer. Throws `TypeError` or `ConfigurationError` for invalid options. Sends no requests.
 *
 * @example
 * const issuer = trustIssuer({ issuer: 'https://id.example', audience: 'https://api.example' })
 * const tokens = new TokenManager({ config, issuers: [issuer] })
 */
export function trustIssuer(given: IssuerOptions): ConfiguredIssuer {
  assertIssuerOptions(given)
  const options = copyOptions(given)
  const { issuer, profile = 'oidc-access', subjectPrefix = '' } = options
  const owner = `issuer ${issuer}`
  const mapping = structuredClone(options.mapping ?? {})
  const createKeys = parseKeySource(options.keys, {
    issuer,
    algorithms: [...(options.algorithms ?? DEFAULT_ALGORITHMS)],
  })
  const maxAge = toSeconds(owner, 'maxTokenAge', options.maxTokenAge ?? '24h')
  const sessionLifetime = toSeconds(owner, 'sessionLifetime', options.sessionLifetime ?? '400d') * 1000
  const leeway = options.leeway === undefined ? null : toSeconds(owner, 'leeway', options.leeway)
  const freshFor = options.freshFor === undefined ? null : toSeconds(owner, 'freshFor', options.freshFor)
  const audience = [options.audience].flat()
  const extraClaims = [...(options.requiredClaims ?? [])]
  const required = ['exp', 'iat', ...(profile === 'at+jwt' ? AT_JWT_CLAIMS : []), ...extraClaims]

  const trusted: ConfiguredIssuer = {
    issuer,
    subjectPrefix: options.subjectPrefix,
    options,
    connect({ emit, identityClaim, ...manager }: SourceContext): IssuerSource {
      assertRequirable(issuer, profile, extraClaims, identityClaim)
      const rules: ClaimRules = {
        leeway: leeway ?? manager.leeway,
        issuers: [issuer],
        audience,
        requiredClaims: [...new Set(required)],
        maxAge,
      }
      const profileRules = { profile, mapping, subjectPrefix, identityClaim, freshFor }
      return {
        issuer,
        names: [issuer],
        isWithoutIss: false,
        profile,
        keys: createKeys(emit),
        exclusiveKeys: [],
        rules,
        subjectPrefix,
        sendsEvents: true,
        allowsHighS: true,
        // An issuer that uses this library may revoke in the same store.
        revokedBy: profile === 'tokenlib' ? [issuer, null] : [issuer],
        sessionLifetime,
        ...createLife(rules, profile === 'tokenlib'),
        toPayload({ jws, header, claims }) {
          // If tokens must have an id, do not create one.
          const toId = required.includes('jti') ? null : () => toTokenId(jws)
          const payload = toIssuerPayload(claims, header, profileRules, toId)
          const { sub } = claims
          const names = [payload.sub.slice(subjectPrefix.length), ...(isNonEmptyString(sub) ? [sub] : [])]
          return { payload, subjects: [...new Set(names)] }
        },
      }
    },
  }
  // The options may contain a password for the keys: a hidden getter is not logged, not even with `showHidden`.
  return Object.defineProperty(trusted, 'options', { get: () => options, enumerable: false })
}

// A copy, because the application may change its own object. Inherited options are copied too: none may get lost.
function copyOptions(given: IssuerOptions): IssuerOptions {
  const names = Object.keys(ISSUER_OPTIONS) as (keyof IssuerOptions)[]
  const known = names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]])
  return Object.freeze(Object.fromEntries(known) as IssuerOptions)
}

// Throws `TypeError` or `ConfigurationError` for invalid options.
function assertIssuerOptions(options: IssuerOptions): void {
  const name = (options as Partial<IssuerOptions> | null)?.issuer
  const owner = isNonEmptyString(name) ? `issuer ${name}` : 'trustIssuer()'
  assertOptions(owner, options, ISSUER_OPTIONS, MEANT_OPTIONS)
  const { issuer, audience, algorithms, profile, mapping, subjectPrefix, requiredClaims } = options
  if (!isNonEmptyString(issuer)) {
    throw new ConfigurationError('An issuer needs `issuer`, the exact text of "iss" in its tokens')
  }
  const fail = (problem: string): never => {
    throw new ConfigurationError(`Issuer ${issuer}: ${problem}`)
  }
  // Without it, tokens that the issuer made for another application would be accepted (RFC 8725 §3.9).
  if (!isTextOrList(audience)) fail('audience must be a non-empty string, or a list of at least one')
  if (algorithms !== undefined && !isAlgorithmList(algorithms)) {
    fail('algorithms must be a list of at least one public-key algorithm')
  }
  if (profile !== undefined && !PROFILES.includes(profile)) {
    fail(
      `profile must be one of ${PROFILES.join(', ')}; for tokens of your previous application, use trustLegacyIssuer()`,
    )
  }
  if (subjectPrefix !== undefined && typeof subjectPrefix !== 'string') fail('subjectPrefix must be a string')
  if (
    requiredClaims !== undefined &&
    !(Array.isArray(requiredClaims) && requiredClaims.every(isNonEmptyString))
  ) {
    fail('requiredClaims must be a list of claim names')
  }
  if (mapping !== undefined) assertMapping(owner, mapping, fail)
  if (profile === 'tokenlib') assertTokenlib(options, fail)
}

// Its tokens already have our claims, so the option would have no effect, and a requirement would be silently ignored.
function assertTokenlib({ mapping = {}, freshFor }: IssuerOptions, fail: (problem: string) => never): void {
  const name = Object.entries(mapping).find(([key, value]) => key !== 'sub' && value !== undefined)?.[0]
  if (name !== undefined) fail(`profile 'tokenlib' has no mapping.${name}`)
  if (freshFor !== undefined) fail("profile 'tokenlib' has no freshFor: its tokens say how fresh they are")
}

// A public key must never be used as a secret.
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

// Requiring a claim that every payload has would have no effect.
function assertRequirable(
  issuer: string,
  profile: IssuerProfile,
  requiredClaims: readonly string[],
  identityClaim: string,
): void {
  const made = [...(profile === 'tokenlib' ? [] : NOT_IN_OTHER_TOKENS), identityClaim]
  const name = requiredClaims.find((claim) => claim !== 'sub' && made.includes(claim))
  if (name === undefined) return
  throw new ConfigurationError(
    `Issuer ${issuer}: requiredClaims cannot have "${name}", which is not read from its tokens`,
  )
}

// For revocations, the minimum that an issuer's clock may be ahead of ours, in seconds, even if its leeway is smaller. A
// token from the near future is refused now, but is valid later.
const MIN_LEAD = 5

/**
 * When the tokens of an issuer start and end.
 *
 * We know nothing about their sessions, so a token starts when it was issued. The issuer's clock may be ahead, and `iat` is
 * in whole seconds: a token issued just after its user was revoked may count as revoked, but one issued before never counts
 * as new. `hasOurIds`: the ids of an issuer that uses this library contain the start of the session.
 */
export function createLife(
  rules: ClaimRules,
  hasOurIds = false,
): Pick<IssuerSource, 'lifeOf' | 'longestLifetime'> {
  const { leeway, maxAge } = rules
  const lead = Math.max(leeway, MIN_LEAD)
  const readStart = (payload: TokenPayload): number => {
    if (hasOurIds) return readTokenStart(payload) - lead * 1000
    return payload.iat === undefined ? 0 : (Math.floor(payload.iat) - lead) * 1000
  }
  return {
    // The last moment at which a token is not too old, whatever its expiry.
    longestLifetime: ((maxAge ?? 0) + leeway + lead + 1) * 1000,
    lifeOf(payload) {
      // An `exp` thousands of years ahead must not make a store keep entries that long: the age of a token is limited.
      const end = readEnd(payload, rules)
      return { start: readStart(payload), end: end === null ? null : end * 1000 }
    },
  }
}

/** Creates an id for a token without one, from what was signed: a token may have several valid signatures. */
export function toTokenId({ signingInput }: CompactJws): string {
  return createHash('sha256').update(signingInput).digest('base64url')
}
