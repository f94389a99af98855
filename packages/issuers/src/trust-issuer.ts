import { createHash } from 'node:crypto'
import { ConfigurationError, type Duration, type TokenPayload, type TrustedIssuer } from 'tokenlib'
import {
  type Algorithm,
  ALGORITHMS,
  anyText,
  choice,
  type ClaimRules,
  type CompactJws,
  duration,
  isHmac,
  type IssuerSource,
  kindOf,
  listOf,
  oneOrMore,
  type OptionKinds,
  parseDuration,
  readEnd,
  readTokenStart,
  required,
  type SourceContext,
  text,
  unchecked,
} from 'tokenlib/kit'
import { type KeySource, parseKeySource } from './keys/key-source.js'
import {
  AT_JWT_CLAIMS,
  type ClaimMapping,
  type IssuerProfile,
  NOT_IN_OTHER_TOKENS,
  parseIssuerOptions,
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

// A public key must never be used as a secret.
const PUBLIC_KEY_ALGORITHMS = (Object.keys(ALGORITHMS) as Algorithm[]).filter((name) => !isHmac(name))
const PROFILES = ['oidc-access', 'at+jwt', 'tokenlib'] as const

/** What `IssuerOptions` accept. */
export const ISSUER_OPTIONS: OptionKinds<IssuerOptions> = {
  issuer: required(text),
  // Without it, tokens that the issuer made for another application would be accepted (RFC 8725 §3.9).
  audience: required(oneOrMore(text)),
  keys: unchecked(),
  algorithms: listOf(choice(PUBLIC_KEY_ALGORITHMS)),
  profile: kindOf(
    `one of ${PROFILES.join(', ')}; for tokens of your previous application, use trustLegacyIssuer()`,
    choice(PROFILES).isValid,
  ),
  mapping: unchecked(),
  subjectPrefix: anyText,
  requiredClaims: listOf(text, 0),
  maxTokenAge: duration(),
  sessionLifetime: duration(),
  leeway: duration(),
  freshFor: duration(),
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
  const options: IssuerOptions = parseIssuerOptions(given, ISSUER_OPTIONS, MEANT_OPTIONS)
  const { issuer, profile = 'oidc-access', subjectPrefix = '', requiredClaims = [] } = options
  if (profile === 'tokenlib') assertTokenlib(options)
  // Copies, because a caller may change lists and objects in `options` of the result.
  const mapping = structuredClone(options.mapping ?? {})
  const algorithms = [...(options.algorithms ?? DEFAULT_ALGORITHMS)]
  const createKeys = parseKeySource(options.keys, { issuer, algorithms })
  const maxAge = parseDuration(options.maxTokenAge ?? '24h')
  const sessionLifetime = parseDuration(options.sessionLifetime ?? '400d') * 1000
  const freshFor = options.freshFor === undefined ? null : parseDuration(options.freshFor)
  const audience = [options.audience].flat()
  const needed = ['exp', 'iat', ...(profile === 'at+jwt' ? AT_JWT_CLAIMS : []), ...requiredClaims]
  // If tokens must have an id, do not create one.
  const hasIds = needed.includes('jti')

  const trusted: ConfiguredIssuer = {
    issuer,
    subjectPrefix: options.subjectPrefix,
    options: Object.freeze(options),
    connect({ emit, scheduler, identityClaim, ...manager }: SourceContext): IssuerSource {
      assertRequirable(issuer, profile, needed, identityClaim)
      const rules: ClaimRules = {
        leeway: options.leeway === undefined ? manager.leeway : parseDuration(options.leeway),
        issuers: [issuer],
        audience,
        requiredClaims: [...new Set(needed)],
        maxAge,
      }
      const profileRules = { profile, mapping, subjectPrefix, identityClaim, freshFor }
      return {
        issuer,
        names: [issuer],
        isWithoutIss: false,
        profile,
        keys: createKeys({ emit, scheduler }),
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
          const toId = hasIds ? null : () => toTokenId(jws)
          const payload = toIssuerPayload(claims, header, profileRules, toId)
          const user = payload.sub.slice(subjectPrefix.length)
          const { sub } = claims
          return { payload, subjects: text.isValid(sub) && sub !== user ? [user, sub] : [user] }
        },
      }
    },
  }
  // The options may contain a password for the keys: a hidden getter is not logged, not even with `showHidden`.
  return Object.defineProperty(trusted, 'options', { get: () => options, enumerable: false })
}

// Its tokens already have our claims, so the option would have no effect, and a requirement would be silently ignored.
function assertTokenlib({ issuer, mapping = {}, freshFor }: IssuerOptions): void {
  const mapped = Object.keys(mapping).find((name) => name !== 'sub')
  if (mapped === undefined && freshFor === undefined) return
  const ignored = mapped === undefined ? 'freshFor' : `mapping.${mapped}`
  throw new ConfigurationError(`Issuer ${issuer}: profile 'tokenlib' has no ${ignored}`)
}

// Requiring a claim that every payload has would have no effect.
function assertRequirable(
  issuer: string,
  profile: IssuerProfile,
  needed: readonly string[],
  identityClaim: string,
): void {
  const made = [...(profile === 'tokenlib' ? [] : NOT_IN_OTHER_TOKENS), identityClaim]
  const name = needed.find((claim) => claim !== 'sub' && made.includes(claim))
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
