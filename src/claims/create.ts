import type { OptionNames } from '../options.js'
import { type Duration, parseDuration, toEpochSeconds } from '../time.js'
import { createId, createTimedId, type RandomBytes } from './ids.js'
import {
  isNonEmptyString,
  isScope,
  isStringOrList,
  parseScopes,
  RESERVED_CLAIMS,
  type TokenType,
} from './payload.js'
import { assertExtraClaims, type ClaimsSchema } from './schema.js'
import { assertSerializable, type JsonValue } from './serializable.js'

/** What one token may be given beside its claims; each option replaces the configured value for this token. */
export interface CreateTokenOptions {
  /** Access tokens only, since a refresh token proves no log-in: fresh for good, or for a while. Default `false`. */
  readonly fresh?: boolean | Duration
  /** How long the token lives; `false` makes one that never expires. */
  readonly expiresIn?: Duration | false
  /** When the token expires, instead of `expiresIn`. */
  readonly expiresAt?: Date
  /** A list, or a space-separated text. */
  readonly scopes?: readonly string[] | string
  readonly audience?: string | readonly string[]
  readonly issuer?: string
  /** When the token becomes valid: a moment, or how long from now. */
  readonly notBefore?: Date | Duration
  /** Extra members of the JOSE header. */
  readonly headers?: { readonly [name: string]: JsonValue }
}

/** What a refresh token may be given; `fresh` would have no effect. */
export type RefreshTokenOptions = Omit<CreateTokenOptions, 'fresh'>

/** The names of `CreateTokenOptions`. */
export const TOKEN_OPTIONS: OptionNames<CreateTokenOptions> = {
  fresh: true,
  expiresIn: true,
  expiresAt: true,
  scopes: true,
  audience: true,
  issuer: true,
  notBefore: true,
  headers: true,
}

/** The user identifier and the extra claims of a new token. */
export interface GivenClaims {
  readonly uid: string
  readonly [claim: string]: unknown
}

/** What every token of one type gets from the configuration. */
export interface CreationRules {
  readonly identityClaim: string
  /** Seconds, or `false` for never. */
  readonly expires: number | false
  readonly issuer: string | null
  readonly audience: string | readonly string[] | null
  readonly encodeNbf: boolean
  readonly csrf: boolean
  readonly schema: ClaimsSchema | null
}

/** What differs from one token to the next. */
export interface CreationContext {
  /** Epoch milliseconds. */
  readonly now: number
  /** When the token counts as begun, `now` or a little later; epoch milliseconds. */
  readonly start: number
  readonly random: RandomBytes
  readonly session: SessionClaims | null
}

/** What the tokens of one session share. */
export interface SessionClaims {
  readonly sid: string
  /** The CSRF value of every token of the session; left out, each token gets its own. */
  readonly csrf?: string
  /** Refresh tokens only, and only where sessions are kept. */
  readonly generation?: number
  /** Of a kept session: when a token of it expires that was made at `iat` and would live until `own`; see `toExpiry`. */
  limitExpiry?(type: TokenType, iat: number, own: number | null): number | null
}

/** The claims of a new token, or `TypeError` for a bad `uid`, a reserved name or a value JSON cannot carry. */
export function createClaims(
  type: TokenType,
  given: GivenClaims,
  options: CreateTokenOptions,
  rules: CreationRules,
  context: CreationContext,
): Record<string, unknown> {
  const { uid, ...extras } = assertGiven(given)
  assertExtras(extras, rules.identityClaim)
  if (rules.schema !== null) assertExtraClaims(rules.schema, extras)

  const iat = toEpochSeconds(context.now)
  const { session } = context
  const own = toExpiry(iat, options, rules.expires)
  const exp = session?.limitExpiry === undefined ? own : session.limitExpiry(type, iat, own)
  const audience = options.audience === undefined ? rules.audience : assertAudience(options.audience)
  const claims: Record<string, unknown> = {
    [rules.identityClaim]: uid,
    type,
    jti: createTimedId(context.start, context.random),
    iat,
  }
  const nbf = options.notBefore === undefined ? null : toNotBefore(iat, options.notBefore, own)
  const issuer = options.issuer === undefined ? rules.issuer : assertIssuer(options.issuer)
  if (nbf !== null || rules.encodeNbf) claims['nbf'] = nbf ?? iat
  if (exp !== null) claims['exp'] = exp
  if (issuer !== null) claims['iss'] = issuer
  if (audience !== null) claims['aud'] = audience
  if (type === 'access') claims['fresh'] = toFreshness(iat, options.fresh)
  if (rules.csrf) claims['csrf'] = session?.csrf ?? createId(context.random)
  if (options.scopes !== undefined) claims['scopes'] = toScopes(options.scopes)
  if (session !== null) claims['sid'] = session.sid
  if (type === 'refresh' && session?.generation !== undefined) claims['gen'] = session.generation
  return { ...claims, ...extras }
}

function assertGiven(given: GivenClaims): GivenClaims {
  if (typeof given !== 'object' || given === null) throw new TypeError('Claims must be an object with a uid')
  if (!isNonEmptyString(given.uid)) throw new TypeError('uid must be a non-empty string')
  return given
}

function assertExtras(extras: Readonly<Record<string, unknown>>, identityClaim: string): void {
  if (Object.getOwnPropertySymbols(extras).length > 0) throw new TypeError('A symbol cannot name a claim')
  for (const name of Object.keys(extras)) {
    if (RESERVED_CLAIMS.has(name) || name === identityClaim) {
      throw new TypeError(`"${name}" is a reserved claim and cannot be given as an extra one`)
    }
    assertSerializable(name, extras[name])
  }
}

/** When a token made now would expire, in epoch seconds, or `null` for never. */
export function toExpiry(
  iat: number,
  options: CreateTokenOptions,
  configured: number | false,
): number | null {
  const { expiresIn, expiresAt } = options
  if (expiresAt === undefined) {
    if (expiresIn === undefined) return configured === false ? null : iat + configured
    return expiresIn === false ? null : iat + toWholeSeconds('expiresIn', expiresIn)
  }
  if (expiresIn !== undefined) throw new TypeError('Give expiresIn or expiresAt, not both')
  if (!(expiresAt instanceof Date) || Number.isNaN(expiresAt.getTime())) {
    throw new TypeError('expiresAt must be a valid Date')
  }
  return toEpochSeconds(expiresAt.getTime())
}

// Against the token's own expiry: that of its session is known only when it is too late to refuse.
function toNotBefore(iat: number, notBefore: Date | Duration, exp: number | null): number {
  const isMoment = notBefore instanceof Date
  const nbf = isMoment ? toEpochSeconds(notBefore.getTime()) : iat + toWholeSeconds('notBefore', notBefore)
  if (Number.isNaN(nbf)) throw new TypeError('notBefore must be a valid Date or a duration')
  if (exp !== null && nbf >= exp)
    throw new TypeError('notBefore must be earlier than the expiry of the token')
  return nbf
}

function toFreshness(iat: number, fresh: boolean | Duration = false): boolean | number {
  return typeof fresh === 'boolean' ? fresh : iat + toWholeSeconds('fresh', fresh)
}

function toWholeSeconds(option: string, duration: Duration): number {
  let seconds: number
  try {
    seconds = parseDuration(duration)
  } catch (cause) {
    throw new TypeError(`${option}: ${(cause as Error).message}`, { cause })
  }
  if (!Number.isSafeInteger(seconds) || seconds < 1) {
    throw new TypeError(`${option} must be a whole number of seconds, at least 1`)
  }
  return seconds
}

function toScopes(scopes: readonly string[] | string): readonly string[] {
  const list: readonly unknown[] = typeof scopes === 'string' ? parseScopes(scopes) : scopes
  if (!Array.isArray(list) || !list.every(isScope)) {
    throw new TypeError('scopes must be a list of non-empty strings without spaces')
  }
  return list
}

function assertIssuer(issuer: string): string {
  if (!isNonEmptyString(issuer)) throw new TypeError('issuer must be a non-empty string')
  return issuer
}

function assertAudience(audience: string | readonly string[]): string | readonly string[] {
  if (!isStringOrList(audience)) throw new TypeError('audience must be a string or a list of strings')
  return audience
}
