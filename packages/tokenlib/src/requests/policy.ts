import type { StandardClaims, TokenPayload, TokenType } from '../tokens/payload.js'
import { hasScopes, isScope } from '../tokens/scopes.js'
import {
  AccessTokenRequiredError,
  FreshTokenRequiredError,
  InsufficientScopeError,
  RefreshTokenRequiredError,
  TokenIssuerError,
} from '../errors.js'
import type { JwsHeader } from '../tokens/jose.js'
import { OWN } from '../tokens/token-sources.js'
import {
  choice,
  duration,
  flag,
  type Kind,
  kindOf,
  listOf,
  oneOrMore,
  type OptionKinds,
  ownFlag,
  parseOptions,
  text,
} from '../options.js'
import {
  type PerType,
  type RequestToken,
  TOKEN_LOCATIONS,
  type TokenLocation,
  type TokenPlace,
  toPlaces,
} from '../http/read-token.js'
import { requestKind, type RequestSource } from '../http/request-source.js'
import type { ProofKind } from '../proofs/proofs.js'
import type { Position } from '../revocation/store.js'
import { type Duration, parseDuration } from '../time.js'

/** What a route demands of a token. */
export interface TokenPolicy {
  /** Default `access`. */
  readonly type?: TokenType | 'any'
  /** Whether the token must be fresh; with a duration, from a login that is at most this old. */
  readonly fresh?: boolean | Duration
  /** Every one of these is needed; at least one. */
  readonly scopes?: readonly string[]
  /** At least one of these is needed, in addition to all of `scopes`. */
  readonly anyScope?: readonly string[]
  /** Whose tokens are accepted: `own`, or the `issuer` of one or more of the manager's issuers. Default: all of them. */
  readonly issuer?: string | readonly string[]
  /** Where to look, instead of the configured locations. */
  readonly locations?: TokenLocation | readonly TokenLocation[]
  /** `false` leaves the CSRF check out for this route. */
  readonly csrf?: boolean
  /** Whether a request without a token passes, with `null`. An invalid token never does. */
  readonly optional?: boolean
  /** Leaves the revocation check out for this route. */
  readonly skipRevocation?: boolean
  /**
   * Rejects tokens that are not bound to a key: `dpop` for the key of a client, `mtls` for a client certificate. A token that
   * is bound always needs its proof.
   */
  readonly proof?: ProofKind
}

/** Asks for the header of the token along with its payload. */
export interface WithHeader {
  readonly withHeader: true
}

/** A verified payload and the JOSE header of its token, frozen. */
export interface TokenWithHeader<Payload = TokenPayload> {
  readonly payload: Payload
  readonly header: JwsHeader
}

/** What a dependency gives for a token, depending on `withHeader`. */
export type PolicyValue<Payload> = Payload | TokenWithHeader<Payload>

/** The fields of a policy for `require`, including those that change the type of the value. */
export interface RequirePolicy extends TokenPolicy {
  readonly withHeader?: boolean
}

/** What a dependency of a policy gives for a verified token: its payload, or that and its header. */
export function toPolicyValue<Payload>(
  { payload, header }: TokenWithHeader<Payload>,
  policy: RequirePolicy,
): PolicyValue<Payload> {
  return policy.withHeader === true ? Object.freeze({ payload, header }) : payload
}

/** A policy that was checked. Its lists are lists: `includes` of a text would find a part of it. */
export interface ParsedPolicy extends Omit<RequirePolicy & VerifyOptions, 'issuer' | 'locations'> {
  readonly issuer?: readonly string[]
  readonly locations?: readonly TokenLocation[]
}

type PolicyKinds = OptionKinds<RequirePolicy & VerifyOptions>

/** A checked copy of a policy. Throws `TypeError` for unknown names: a misspelled requirement must not open a route. */
export function parsePolicy(
  given: RequirePolicy & VerifyOptions,
  owner = 'require()',
  kinds: Readonly<Partial<PolicyKinds>> = POLICY_KINDS,
): ParsedPolicy {
  const { issuer, locations, ...others } = parseOptions(owner, given, kinds as PolicyKinds)
  return {
    ...others,
    ...(issuer !== undefined && { issuer: [issuer].flat() }),
    ...(locations && { locations: [locations].flat() }),
  }
}

/** A policy with the places that it looks in; made once, so that no request has to. */
export interface CompiledPolicy extends ParsedPolicy {
  readonly locationsOf: PerType<readonly TokenLocation[]>
  readonly places: readonly TokenPlace[]
  /** All scopes of the policy, for the challenge. */
  readonly routeScopes: readonly string[]
  /** Whether the caller presents a refresh token to its session itself, by rotating it. */
  readonly isRotation?: boolean
  /** Whether a token is checked without using it: a used refresh token is rejected, but its session continues. */
  readonly isInspection?: boolean
  /** Replaces the check of the key that a token is bound to. Returns what uses the proof up. */
  readonly checkProof?: (claims: TokenPayload) => () => Promise<void>
}

/** A parsed policy, compiled; `configured` are the locations for policies that name none. */
export function compilePolicy(
  policy: ParsedPolicy,
  configured: PerType<readonly TokenLocation[]>,
): CompiledPolicy {
  const { type = 'access' } = policy
  const own = policy.locations
  const locationsOf = own ? { access: own, refresh: own } : configured
  const types: readonly TokenType[] = type === 'any' ? ['access', 'refresh'] : [type]
  return {
    ...policy,
    locationsOf,
    places: toPlaces(types, locationsOf),
    routeScopes: toRouteScopes(policy),
  }
}

/** The scopes that give access to what a policy guards. */
export function toRouteScopes({
  scopes = [],
  anyScope = [],
}: Pick<TokenPolicy, 'scopes' | 'anyScope'>): readonly string[] {
  return [...new Set([...scopes, ...anyScope])]
}

/** What can be demanded of a token that did not come from a request. */
type TokenDemands = Omit<TokenPolicy, 'locations' | 'csrf' | 'optional'>

/** What a token that did not come from a request must satisfy. */
export interface VerifyOptions extends TokenDemands {
  /** The `position` of a revocation that the answer must include, wherever it was made. */
  readonly atLeast?: Position | undefined
  /** The request that proves the key of a bound token, if the token itself came another way. */
  readonly proofOf?: RequestSource | undefined
}

/** Which token of a request is read. */
export interface ReadTokenOptions extends Pick<TokenPolicy, 'locations'> {
  /** Default `access`. */
  readonly type?: TokenType
}

/** The options of `getTokenFromRequest`, checked. */
export function parseReadOptions(options: ReadTokenOptions): ReadTokenOptions & ParsedPolicy {
  const parsed = parsePolicy(options, 'getTokenFromRequest()', READ_KINDS)
  return { ...parsed, type: options.type ?? 'access' }
}

const scopeList: Kind<readonly string[]> = {
  // An empty list would demand nothing.
  ...listOf(kindOf<string>('a scope', isScope)),
  expected: 'a list of at least one scope, each a non-empty string without spaces',
}
const age = duration('a duration', (seconds) => seconds > 0)

/** The fields of a policy for a token that did not come from a request. */
export const TOKEN_POLICY_NAMES: OptionKinds<TokenDemands> = {
  type: choice(['access', 'refresh', 'any']),
  fresh: kindOf('true, false or a duration', (value) => flag.isValid(value) || age.isValid(value)),
  scopes: scopeList,
  anyScope: scopeList,
  issuer: { ...oneOrMore(text), expected: "'own', an issuer or a list of these" },
  skipRevocation: ownFlag,
  proof: choice(['dpop', 'mtls']),
}

/** `VerifyOptions`, and `withHeader`. */
export const VERIFY_OPTIONS: OptionKinds<VerifyOptions & Pick<RequirePolicy, 'withHeader'>> = {
  ...TOKEN_POLICY_NAMES,
  withHeader: flag,
  atLeast: text,
  proofOf: requestKind,
}

const POLICY_KINDS: OptionKinds<RequirePolicy> = {
  ...TOKEN_POLICY_NAMES,
  withHeader: flag,
  // An empty list looks nowhere: no token is found.
  locations: oneOrMore(choice(TOKEN_LOCATIONS), 0),
  csrf: ownFlag,
  optional: ownFlag,
}

const READ_KINDS = { type: choice(['access', 'refresh']), locations: POLICY_KINDS.locations }

/** Whether a token has the type, the freshness and the scopes that the policy demands, at `now` in epoch milliseconds. */
export function satisfies(claims: StandardClaims, policy: ParsedPolicy, now: number): boolean {
  return hasType(claims, policy) && isFresh(claims, policy, now) && hasPolicyScopes(claims, policy)
}

/** Whether a token of this issuer, `null` for our own, is accepted by the policy. */
export function isFrom(issuer: string | null, policy: ParsedPolicy): boolean {
  return policy.issuer === undefined || policy.issuer.includes(issuer ?? OWN)
}

/** Throws unless a token of this issuer, `null` for our own, is accepted by the policy. */
export function assertIssuer(issuer: string | null, policy: ParsedPolicy): void {
  if (!isFrom(issuer, policy)) throw new TokenIssuerError()
}

/** Throws unless a token has the type that the policy demands. */
export function assertType(claims: StandardClaims, policy: ParsedPolicy): void {
  if (!hasType(claims, policy)) throw wrongType(claims.type)
}

/** Throws unless the token is as fresh, at `now` in epoch milliseconds, as the policy demands. */
export function assertFresh(claims: StandardClaims, policy: ParsedPolicy, now: number): void {
  if (!isFresh(claims, policy, now)) throw new FreshTokenRequiredError()
}

/** Throws unless the token carries the scopes that the policy demands. */
export function assertScopes(claims: StandardClaims, policy: ParsedPolicy): void {
  if (hasPolicyScopes(claims, policy)) return
  throw new InsufficientScopeError(policy.scopes ?? [], claims.scopes, policy.anyScope)
}

/** Throws unless a token is where its own type is looked for; for policies that take either type. */
export function assertPlace(
  type: TokenType,
  found: RequestToken,
  locations: PerType<readonly TokenLocation[]>,
): void {
  const isNamed = found.location === 'cookies' || found.location === 'json'
  const isInPlace = isNamed ? found.type === type : locations[type].includes(found.location)
  if (!isInPlace) throw wrongType(type)
}

function hasType(claims: StandardClaims, { type = 'access' }: ParsedPolicy): boolean {
  return type === 'any' || claims.type === type
}

function hasPolicyScopes(claims: StandardClaims, { scopes, anyScope }: ParsedPolicy): boolean {
  return (
    (scopes === undefined || hasScopes(claims, ...scopes)) &&
    (anyScope === undefined || anyScope.some((scope) => hasScopes(claims, scope)))
  )
}

// The error names the type that was sent: the other one is required.
function wrongType(type: TokenType): AccessTokenRequiredError | RefreshTokenRequiredError {
  return type === 'refresh' ? new AccessTokenRequiredError(type) : new RefreshTokenRequiredError(type)
}

// The claims are those that were signed: a schema may leave out `auth_time`.
function isFresh(claims: StandardClaims, policy: ParsedPolicy, now: number): boolean {
  if (!demandsFresh(policy)) return true
  const { fresh } = claims
  if (fresh !== true && !(typeof fresh === 'number' && now / 1000 < fresh)) return false
  return policy.fresh === true || now / 1000 - readLoginTime(claims) < parseDuration(policy.fresh as Duration)
}

/** Whether a policy demands a fresh token. */
export function demandsFresh({ fresh }: ParsedPolicy): boolean {
  return fresh !== undefined && fresh !== false
}

// We create fresh tokens at the login. Other issuers may create them later: `auth_time` is the time of the login.
function readLoginTime(claims: StandardClaims & { readonly auth_time?: unknown }): number {
  const { iat = 0, auth_time: authTime } = claims
  return typeof authTime === 'number' ? Math.min(authTime, iat) : iat
}
