import { type JsonValue, readJsonMembers } from '../encoding.js'
import {
  TokenAudienceError,
  TokenDecodeError,
  TokenExpiredError,
  TokenIssuerError,
  TokenNotYetValidError,
} from '../errors.js'
import { type Clock, systemClock } from '../time.js'
import { parseScopes } from './scopes.js'

/** What a token is for: calling routes, or getting new tokens. */
export type TokenType = 'access' | 'refresh'

/** The claims this library sets and reads; those marked optional are present only if the token carries them. */
export interface StandardClaims {
  /** The unique identifier passed as `uid` at creation. */
  readonly sub: string
  readonly type: TokenType
  /** The id of this one token. */
  readonly jti?: string
  /** Epoch seconds. */
  readonly iat?: number
  /** Epoch seconds. */
  readonly nbf?: number
  /** Epoch seconds; a token without it never expires. */
  readonly exp?: number
  readonly iss?: string
  readonly aud?: string | readonly string[]
  /** `true`, `false`, or the epoch second until which the token counts as fresh. */
  readonly fresh?: boolean | number
  /** The CSRF value bound to the token. Not enumerable, so that it stays out of logs and responses. */
  readonly csrf?: string
  readonly scopes?: readonly string[]
  /** The id of the session the token belongs to. */
  readonly sid?: string
  /** The generation of this refresh token: one more than its parent's, 1 for the first of a session. */
  readonly gen?: number
  /** The `jti` of the refresh token that this one was exchanged for; empty for the first of a session. */
  readonly par?: string
  /** When this refresh token was created, by the store's clock; epoch milliseconds. */
  readonly sat?: number
  /** Whether cookies of the session outlive the browser session; without it, the configuration decides. */
  readonly remember?: boolean
  /** The key that the token is bound to: only who has that key can use the token. */
  readonly cnf?: Confirmation
}

/** The key of a bound token (RFC 7800 §3.1). */
export type Confirmation = {
  /** The thumbprint of a DPoP key (RFC 9449 §6.1). */
  readonly jkt?: string
  /** The SHA-256 of a client certificate (RFC 8705 §3.1). */
  readonly 'x5t#S256'?: string
  /** The key of a device (RFC 7800 §3.2), which refreshes a session of the session routes. Only refresh tokens have it. */
  readonly jwk?: PublicJwk
}

/** A public key as a JWK, with the members that make it up and no others. */
export type PublicJwk = Readonly<Record<string, string>>

/** Extra claims of a manager without a schema. */
export type AnyClaims = { readonly [claim: string]: JsonValue | undefined }

/** The claims of a valid token, read as properties of one frozen object. */
export type TokenPayload<Extra = AnyClaims> = StandardClaims & Readonly<Extra>

/** The claims of `Payload` that are not standard ones. */
export type ExtraClaims<Payload> = {
  [Name in keyof Payload as Name extends keyof StandardClaims ? never : Name]: Payload[Name]
}

/** Whether a value is a string with something in it. */
export const isNonEmptyString = (value: unknown): value is string => isString(value) && value !== ''

/** Whether a value is a string, or a list of strings. */
export const isStringOrList = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isString) : isString(value)

const isString = (value: unknown): value is string => typeof value === 'string'
// JSON.parse turns a number that is too large into Infinity; a token with such an `exp` would never expire.
const isNumericDate = (value: unknown): boolean => Number.isFinite(value)

// Every standard claim is here, or this does not compile.
const STANDARD_CLAIMS: Readonly<Record<keyof StandardClaims, true>> = {
  sub: true,
  type: true,
  jti: true,
  iat: true,
  nbf: true,
  exp: true,
  iss: true,
  aud: true,
  fresh: true,
  csrf: true,
  scopes: true,
  sid: true,
  gen: true,
  par: true,
  sat: true,
  remember: true,
  cnf: true,
}

/** The names that cannot be extra claims. */
export const RESERVED_CLAIMS: ReadonlySet<string> = new Set(Object.keys(STANDARD_CLAIMS))

/**
 * The prototype of claims: without members, so that an absent claim reads as `undefined`, whatever its name. V8 makes
 * objects with no prototype at all fifty times slower.
 */
export const EMPTY_PROTOTYPE: object = Object.freeze(Object.create(null) as object)

/** The claims in a verified text (`null` if it is not UTF-8), to be copied, or `TokenDecodeError`. */
export function parseClaims(text: string | null): Readonly<Record<string, unknown>> {
  const claims = text === null ? null : readJsonMembers(text)
  if (claims === null) throw new TokenDecodeError('Token claims must be a JSON object')
  return claims
}

/** The payload of claims in the form of our own tokens, standard claims of the right types, or `TokenDecodeError`. */
export function toTokenPayload(
  claims: Readonly<Record<string, unknown>>,
  identityClaim: string,
): TokenPayload {
  const draft: Record<string, unknown> = { __proto__: EMPTY_PROTOTYPE, ...claims }
  const mistyped = readMistypedClaim(draft)
  if (mistyped !== null) throw invalidClaim(mistyped)
  const { [identityClaim]: sub, type, scopes } = draft
  if (!isNonEmptyString(sub)) throw invalidClaim(identityClaim)
  if (type === undefined) throw invalidClaim('type')
  draft['sub'] = sub
  if (typeof scopes === 'string') draft['scopes'] = Object.freeze(parseScopes(scopes))
  return toPayload(draft)
}

/**
 * The first standard claim that is there and has the wrong type, or `null`. One line for each claim: a loop over a table
 * of names takes three times as long.
 */
export function readMistypedClaim(claims: Readonly<Record<string, unknown>>): keyof StandardClaims | null {
  const { sub, type, jti, iat, nbf, exp, iss, aud, fresh, csrf, scopes, sid, gen, par, sat, remember } =
    claims
  if (sub !== undefined && !isNonEmptyString(sub)) return 'sub'
  if (type !== undefined && type !== 'access' && type !== 'refresh') return 'type'
  if (jti !== undefined && !isNonEmptyString(jti)) return 'jti'
  if (iat !== undefined && !isNumericDate(iat)) return 'iat'
  if (nbf !== undefined && !isNumericDate(nbf)) return 'nbf'
  if (exp !== undefined && !isNumericDate(exp)) return 'exp'
  if (iss !== undefined && !isString(iss)) return 'iss'
  if (aud !== undefined && !isStringOrList(aud)) return 'aud'
  if (fresh !== undefined && typeof fresh !== 'boolean' && !isNumericDate(fresh)) return 'fresh'
  if (csrf !== undefined && !isNonEmptyString(csrf)) return 'csrf'
  if (scopes !== undefined && !isStringOrList(scopes)) return 'scopes'
  if (sid !== undefined && !isNonEmptyString(sid)) return 'sid'
  if (gen !== undefined && !(Number.isSafeInteger(gen) && (gen as number) >= 0)) return 'gen'
  if (par !== undefined && !isString(par)) return 'par'
  if (sat !== undefined && !isNumericDate(sat)) return 'sat'
  if (remember !== undefined && typeof remember !== 'boolean') return 'remember'
  return null
}

/** The payload of claims whose types were checked: the same object, frozen and with its CSRF value hidden. */
export function toPayload(claims: Record<string, unknown>): TokenPayload {
  if ('csrf' in claims) Object.defineProperty(claims, 'csrf', { enumerable: false })
  return Object.freeze(claims) as unknown as TokenPayload
}

/** The error for a claim that is missing or has the wrong type. */
export function invalidClaim(name: string): TokenDecodeError {
  return new TokenDecodeError(`Token claim "${name}" is missing or has the wrong type`)
}

/** What a manager requires of the claims of every token. */
export interface ClaimRules {
  /** Seconds of clock difference tolerated in `exp`, `nbf` and `iat`. */
  readonly leeway: number
  /** A token of any of these passes; empty means the issuer is not checked. */
  readonly issuers: readonly string[]
  /** A token for any of these passes; empty means the audience is not checked. */
  readonly audience: readonly string[]
  /** Claims that every token must have; one that is `null` counts as missing. */
  readonly requiredClaims: readonly string[]
  /** The most seconds since `iat`, which is required then; `null` for no limit. */
  readonly maxAge: number | null
  readonly allowExpired?: boolean
}

/**
 * Throws unless the age, `exp`, `nbf`, `iat`, `iss` and `aud` are valid at `now`, in epoch seconds (fractions allowed),
 * and every required claim is there.
 */
export function assertClaims(claims: StandardClaims, rules: ClaimRules, now: number): void {
  const invalid = readInvalidClaim(claims, rules, now)
  if (invalid === null) return
  if (invalid === 'exp') throw new TokenExpiredError(claims.exp as number)
  if (invalid === 'age') throw new TokenExpiredError((claims.iat as number) + (rules.maxAge as number))
  if (invalid === 'missing') {
    const required = rules.maxAge === null ? rules.requiredClaims : ['iat', ...rules.requiredClaims]
    throw new TokenDecodeError(`Token claim "${readMissingClaim(claims, required)}" is missing`)
  }
  if (invalid === 'nbf' || invalid === 'iat') throw new TokenNotYetValidError(claims[invalid] as number)
  if (invalid === 'iss') throw new TokenIssuerError()
  throw new TokenAudienceError()
}

/** Whether `assertClaims` would pass; allocates nothing. */
export function isCurrent(claims: StandardClaims, rules: ClaimRules, now: number): boolean {
  return readInvalidClaim(claims, rules, now) === null
}

// The first claim that is not valid at `now`, or `null`. `missing` stands for one that is required.
function readInvalidClaim(
  claims: StandardClaims,
  rules: ClaimRules,
  now: number,
): 'exp' | 'age' | 'nbf' | 'iat' | 'iss' | 'aud' | 'missing' | null {
  const { exp, nbf, iat } = claims
  const { leeway, maxAge } = rules
  // RFC 7519 §4.1.4: not accepted on or after `exp`.
  if (exp !== undefined && now >= exp + leeway && rules.allowExpired !== true) return 'exp'
  if (maxAge !== null) {
    if (iat === undefined) return 'missing'
    if (now >= iat + maxAge + leeway && rules.allowExpired !== true) return 'age'
  }
  if (nbf !== undefined && now < nbf - leeway) return 'nbf'
  if (iat !== undefined && now < iat - leeway) return 'iat'
  if (rules.issuers.length > 0 && (claims.iss === undefined || !rules.issuers.includes(claims.iss)))
    return 'iss'
  if (rules.audience.length > 0 && !isForAudience(claims.aud, rules.audience)) return 'aud'
  return rules.requiredClaims.length > 0 && readMissingClaim(claims, rules.requiredClaims) !== null
    ? 'missing'
    : null
}

/** The first of the names that the claims do not have, or have as `null`; `null` if none is missing. */
export function readMissingClaim(claims: object, required: readonly string[]): string | null {
  // By index: an iterator would be allocated.
  for (let at = 0; at < required.length; at++) {
    const name = required[at] as string
    const value = (claims as Readonly<Record<string, unknown>>)[name]
    if (value === undefined || value === null || !Object.hasOwn(claims, name)) return name
  }
  return null
}

/** The second from which on a token is expired or too old, `null` for never; epoch seconds. */
export function readEnd({ exp, iat }: StandardClaims, { leeway, maxAge }: ClaimRules): number | null {
  const oldest = maxAge === null || iat === undefined ? Number.POSITIVE_INFINITY : iat + maxAge
  const end = Math.min(exp ?? Number.POSITIVE_INFINITY, oldest) + leeway
  return end === Number.POSITIVE_INFINITY ? null : end
}

function isForAudience(aud: string | readonly string[] | undefined, accepted: readonly string[]): boolean {
  if (aud === undefined) return false
  if (typeof aud === 'string') return accepted.includes(aud)
  // By index: a callback or an iterator would be allocated.
  for (let at = 0; at < aud.length; at++) if (accepted.includes(aud[at] as string)) return true
  return false
}

/** When the token expires, or `null` if it never does. */
export function expiresAt(payload: Pick<TokenPayload, 'exp'>): Date | null {
  return payload.exp === undefined ? null : new Date(payload.exp * 1000)
}

/** When the token was made, or `null` if it has no `iat`. */
export function issuedAt(payload: Pick<TokenPayload, 'iat'>): Date | null {
  return payload.iat === undefined ? null : new Date(payload.iat * 1000)
}

/** Seconds until the token expires, negative once it has, or `null` if it never does. */
export function timeUntilExpiry(payload: Pick<TokenPayload, 'exp'>, now: Clock = systemClock): number | null {
  return payload.exp === undefined ? null : payload.exp - now() / 1000
}

/** Seconds since the token was made, or `null` if it has no `iat`. */
export function timeSinceIssued(payload: Pick<TokenPayload, 'iat'>, now: Clock = systemClock): number | null {
  return payload.iat === undefined ? null : now() / 1000 - payload.iat
}

/** A new object with only the claims that are not standard ones. */
export function extraClaims<Payload extends object>(payload: Payload): ExtraClaims<Payload> {
  const extras = Object.create(null) as Record<string, unknown>
  for (const [name, value] of Object.entries(payload)) {
    if (!RESERVED_CLAIMS.has(name)) extras[name] = value
  }
  return extras as ExtraClaims<Payload>
}
