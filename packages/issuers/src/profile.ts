import { ConfigurationError, type TokenPayload } from 'tokenlib'
import { TokenDecodeError } from 'tokenlib/errors'
import {
  invalidClaim,
  isAccessTokenHeader,
  type JwsHeader,
  oneOrMore,
  type OptionKinds,
  parseOptions,
  required,
  text,
  toTokenPayload,
  unchecked,
} from 'tokenlib/kit'

/**
 * How to recognise the access tokens of an issuer: `oidc-access` for identity providers, `at+jwt` for tokens that follow
 * RFC 9068, `tokenlib` for another application that uses this library.
 */
export type IssuerProfile = 'oidc-access' | 'at+jwt' | 'tokenlib'

/** Maps the claims of an issuer's tokens to ours. */
export interface ClaimMapping {
  /** The id of the user. Default `sub`. */
  readonly sub?: string
  /** The id of the session. Default `sid`. */
  readonly sid?: string
  /** The id of the token. Default `jti`. */
  readonly jti?: string
  /** Who the token is for. Default `aud`. */
  readonly aud?: string
  /** The scopes, as a list or a string with spaces: the first of these claims that a token has. Default `permissions`, `scp`, `scope`. */
  readonly scopes?: string | readonly string[]
  /** What distinguishes an access token from the issuer's other tokens: a claim, and its value in access tokens. */
  readonly access?: { readonly claim: string; readonly value: string }
}

const MAPPING_OPTIONS: OptionKinds<ClaimMapping> = {
  sub: text,
  sid: text,
  jti: text,
  aud: text,
  scopes: oneOrMore(text),
  access: unchecked(),
}
const ACCESS_OPTIONS: OptionKinds<NonNullable<ClaimMapping['access']>> = {
  claim: required(text),
  value: required(text),
}
const MEANT_CLAIMS = { audience: 'aud', scope: 'scopes', type: 'access' }

/**
 * A checked copy of the options of an issuer, mapping included. Every error names the issuer: `TypeError` for an unknown
 * name, `ConfigurationError` for a wrong value.
 */
export function parseIssuerOptions<
  Options extends { readonly issuer: string; readonly mapping?: ClaimMapping | undefined },
>(
  given: Options,
  kinds: OptionKinds<Options>,
  meant: Readonly<Record<string, string>>,
): Omit<Options, 'mapping'> & { readonly mapping: ClaimMapping } {
  const name = (given as Partial<Options> | null)?.issuer
  const owner = text.isValid(name) ? `issuer ${name}` : 'an issuer'
  const failAt =
    (path: string) =>
    (problem: string): Error =>
      new ConfigurationError(`${owner}: ${path}${problem}`)
  const options = parseOptions(owner, given, kinds, meant, failAt(''))
  if (options.mapping === undefined) return { ...options, mapping: {} }
  const mapping = parseOptions(
    `mapping of ${owner}`,
    options.mapping,
    MAPPING_OPTIONS,
    MEANT_CLAIMS,
    failAt('mapping.'),
  )
  if (mapping.access === undefined) return { ...options, mapping }
  const access = parseOptions(
    `mapping.access of ${owner}`,
    mapping.access,
    ACCESS_OPTIONS,
    {},
    failAt('mapping.access.'),
  )
  return { ...options, mapping: { ...mapping, access } }
}

/** The rules that turn the claims of an issuer's tokens into a payload. */
export interface ProfileRules {
  readonly profile: IssuerProfile
  readonly mapping: ClaimMapping
  /** Prepended to every `sub`, so that users of two issuers never have the same id. */
  readonly subjectPrefix: string
  /** The claim that names the user in our own tokens. Here too, it always equals `sub`. */
  readonly identityClaim: string
  /** Seconds after `auth_time` for which a token counts as fresh; `null` for never. */
  readonly freshFor: number | null
}

/** The claims that RFC 9068 §2.2 requires in addition to `iss`, `sub` and `aud`. */
export const AT_JWT_CLAIMS: readonly string[] = ['exp', 'iat', 'jti', 'client_id']

/**
 * Turns verified claims of an issuer into a payload, or throws `TokenDecodeError`. `toId` creates an id for a token without
 * one, so that it can be revoked individually.
 */
export function toIssuerPayload(
  claims: Readonly<Record<string, unknown>>,
  header: JwsHeader,
  rules: ProfileRules,
  toId: (() => string) | null,
): TokenPayload {
  const { profile, mapping, subjectPrefix } = rules
  const subject = mapping.sub ?? 'sub'
  const user = claims[subject]
  if (!text.isValid(user)) throw invalidClaim(subject)
  const sub = subjectPrefix + user
  if (profile === 'tokenlib') {
    // Only its issuer may use a refresh token.
    if (claims['type'] !== 'access') throw new TokenDecodeError('Token is not an access token')
    const jti = claims['jti'] === undefined ? toId?.() : claims['jti']
    const ids = jti === undefined ? { sub } : { sub, jti }
    return toTokenPayload({ ...claims, ...ids, [rules.identityClaim]: sub }, 'sub')
  }
  if (profile === 'at+jwt') {
    // RFC 9068 §4: the only `typ` of these tokens; without it, a token could be an ID token.
    if (!isAccessTokenHeader(header)) {
      throw new TokenDecodeError('Token is not an access token: its "typ" header must be "at+jwt"')
    }
    if (!text.isValid(claims['client_id'])) throw invalidClaim('client_id')
  }
  assertAccessToken(claims, mapping.access)
  const draft = copyOthers(claims)
  draft['sub'] = sub
  // The application may look up users by this claim, so the issuer must not set it to one of our users.
  draft[rules.identityClaim] = sub
  draft['type'] = 'access'
  setClaim(draft, 'sid', claims[mapping.sid ?? 'sid'])
  setClaim(draft, 'jti', claims[mapping.jti ?? 'jti'] ?? toId?.())
  setClaim(draft, 'aud', claims[mapping.aud ?? 'aud'])
  setClaim(draft, 'scopes', readScopes(claims, mapping.scopes))
  setClaim(draft, 'fresh', readFreshness(claims['auth_time'], rules.freshFor))
  return toTokenPayload(draft, 'sub')
}

// Claims that have a special meaning only in our own tokens.
const OWN_CLAIMS = new Set([
  'type',
  'fresh',
  'csrf',
  'scopes',
  'sid',
  'gen',
  'par',
  'sat',
  'remember',
  'jti',
  'aud',
])

/** Payload claims that are not read from a token, unless its issuer uses this library. */
export const NOT_IN_OTHER_TOKENS: readonly string[] = [
  'type',
  'fresh',
  'csrf',
  'gen',
  'par',
  'sat',
  'remember',
]

// Claims have an empty prototype, as in the core.
const EMPTY_PROTOTYPE: object = Object.freeze(Object.create(null) as object)

/** The claims without a special meaning in our tokens. */
export function copyOthers(claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // Without the `Object.prototype` setter, `__proto__` is a claim like any other.
  const others: Record<string, unknown> = { __proto__: EMPTY_PROTOTYPE }
  for (const name of Object.keys(claims)) if (!OWN_CLAIMS.has(name)) others[name] = claims[name]
  return others
}

/** Sets a claim if it has a value. */
export function setClaim(draft: Record<string, unknown>, name: string, value: unknown): void {
  if (value !== undefined && value !== null) draft[name] = value
}

/**
 * Throws for a token that is not an access token: an issuer signs its ID, refresh and logout tokens with the same keys.
 *
 * Issuers that follow RFC 9068 mark access tokens in the header. Cognito and Ory have `token_use`, and Keycloak a claim `typ`. An ID
 * token has claims that bind it to a login (OpenID Connect Core §2), and a logout or event token has `events`.
 */
function assertAccessToken(
  claims: Readonly<Record<string, unknown>>,
  declared: ClaimMapping['access'],
): void {
  const { token_use: use = 'access' } = claims
  const typ = readKind(claims)
  const kind = declared?.claim === 'typ' ? typ : claims[declared?.claim ?? '']
  const isDeclared = declared === undefined || kind === declared.value
  const isExplicit =
    declared !== undefined || Object.hasOwn(claims, 'token_use') || Object.hasOwn(claims, 'typ')
  const isOther =
    NOT_IN_ACCESS_TOKENS.some((name) => Object.hasOwn(claims, name)) ||
    // Keycloak up to 24 puts the login's nonce into access tokens too, and marks them as access tokens.
    (Object.hasOwn(claims, 'nonce') && !isExplicit)
  const isForAccess = use === 'access' || use === 'access_token'
  if (isDeclared && !isOther && isForAccess && (typ === undefined || typ === 'Bearer')) return
  throw new TokenDecodeError('Token is not an access token')
}

// Keycloak writes "DPoP" into an access token that is bound to a key. Its `cnf` is why it is not a bearer token.
function readKind({ typ, cnf }: Readonly<Record<string, unknown>>): unknown {
  return typ === 'DPoP' && cnf !== undefined ? 'Bearer' : typ
}

const NOT_IN_ACCESS_TOKENS = ['at_hash', 'c_hash', 's_hash', 'events']

const SCOPE_CLAIMS: readonly string[] = ['permissions', 'scp', 'scope']

/** The scopes from the first of the claims that exists: a list, or a string with spaces. */
export function readScopes(
  claims: Readonly<Record<string, unknown>>,
  names: string | readonly string[] = SCOPE_CLAIMS,
): unknown {
  for (const name of typeof names === 'string' ? [names] : names) {
    const scopes = claims[name]
    if (scopes === undefined || scopes === null) continue
    const isList = Array.isArray(scopes) && scopes.every((scope) => typeof scope === 'string')
    if (!isList && typeof scopes !== 'string') throw invalidClaim(name)
    return scopes
  }
  return undefined
}

function readFreshness(authTime: unknown, freshFor: number | null): number | undefined {
  if (freshFor === null || authTime === undefined) return undefined
  if (typeof authTime !== 'number' || !Number.isFinite(authTime)) throw invalidClaim('auth_time')
  return authTime + freshFor
}
