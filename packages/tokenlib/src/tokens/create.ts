import type { JsonValue } from '../encoding.js'
import { type OptionKinds, unchecked } from '../options.js'
import { type Duration, parseDuration, toEpochSeconds } from '../time.js'
import { assertExtraClaims, assertSerializable, type ClaimsSchema } from './extra-claims.js'
import { createId, createTimedId, type RandomBytes } from './ids.js'
import {
  type Confirmation,
  EMPTY_PROTOTYPE,
  isNonEmptyString,
  isStringOrList,
  readMissingClaim,
  RESERVED_CLAIMS,
  type TokenType,
} from './payload.js'
import { isScope, parseScopes } from './scopes.js'

/** The options of one token; each replaces the configured value for this token. */
export interface CreateTokenOptions {
  /**
   * Whether an access token is fresh: until it expires, or for a duration. Default `false`. Not for refresh tokens, which do
   * not prove a login.
   */
  readonly fresh?: boolean | Duration
  /** How long the token lives; `false` makes one that never expires. */
  readonly expiresIn?: Duration | false
  /** When the token expires, instead of `expiresIn`. */
  readonly expiresAt?: Date
  /** A list, or a space-separated text. */
  readonly scopes?: readonly string[] | string
  readonly audience?: string | readonly string[]
  readonly issuer?: string
  /** When the token becomes valid: a date, or a duration from now. */
  readonly notBefore?: Date | Duration
  /** Extra members of the JOSE header. */
  readonly headers?: { readonly [name: string]: JsonValue }
}

/** The options of a refresh token; `fresh` would have no effect. */
export type RefreshTokenOptions = Omit<CreateTokenOptions, 'fresh'>

/** The names of `CreateTokenOptions`; `createClaims` checks the values, since some do not come from a caller. */
export const TOKEN_OPTIONS: OptionKinds<CreateTokenOptions> = {
  fresh: unchecked(),
  expiresIn: unchecked(),
  expiresAt: unchecked(),
  scopes: unchecked(),
  audience: unchecked(),
  issuer: unchecked(),
  notBefore: unchecked(),
  headers: unchecked(),
}

/** What the application passes to make a token: the user's identifier, and extra claims. */
export interface ClaimsInput {
  readonly uid: string
  readonly [claim: string]: unknown
}

/** The `typ` of a header. */
export type TokenTyp = 'JWT' | 'at+jwt'

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
  /** The claims that the same manager demands of every token. */
  readonly requiredClaims: readonly string[]
  /** The `typ` of the header; `at+jwt` is an RFC 9068 access token. */
  readonly typ: TokenTyp
  /** With `at+jwt`: the client of a token that names none. */
  readonly clientId: string | null
}

/** What differs from one token to the next. */
export interface CreationContext {
  /** Epoch milliseconds. */
  readonly now: number
  /** When the token starts for revocations, `now` or a little later; epoch milliseconds. */
  readonly start: number
  readonly random: RandomBytes
  readonly session: SessionClaims | null
}

/** What every token of a session carries from the login on. */
export interface CarriedClaims {
  /** Left out, each token gets a CSRF value of its own. */
  readonly csrf?: string | undefined
  readonly remember?: boolean | undefined
  /** The key that every token of the session is bound to; a device key binds only refresh tokens. */
  readonly cnf?: Confirmation | undefined
}

/** The place of a refresh token in its session. */
export interface Lineage {
  readonly generation: number
  /** The `jti` of the token it was exchanged for; `ROOT` for the first. */
  readonly parent: string
  /** By the store's clock; epoch milliseconds. */
  readonly issuedAt: number
}

/** What the tokens of one session share. */
export interface SessionClaims extends CarriedClaims {
  readonly sid: string
  /** Of a session in a store: the place of its next refresh token. */
  readonly lineage?: Lineage
  /**
   * Of a session in a store: when a token made at `iat` expires, whose own options make it expire at `ownExpiry`. Epoch
   * seconds; `null` for never.
   */
  limitExpiry?(type: TokenType, iat: number, ownExpiry: number | null): number | null
}

/** The claims of a new token, or `TypeError` for a bad `uid` or option, a reserved name or a value JSON cannot carry. */
export function createClaims(
  type: TokenType,
  input: ClaimsInput,
  options: CreateTokenOptions,
  rules: CreationRules,
  context: CreationContext,
): Record<string, unknown> {
  if (typeof input !== 'object' || input === null) throw new TypeError('Claims must be an object with a uid')
  const { uid } = input
  if (!isNonEmptyString(uid)) throw new TypeError('uid must be a non-empty string')
  const { now, start, random, session } = context
  const iat = toEpochSeconds(now)
  const ownExpiry = toExpiry(iat, options, rules.expires)
  const nbf = options.notBefore === undefined ? null : toNotBefore(iat, options.notBefore, ownExpiry)
  const exp = session?.limitExpiry === undefined ? ownExpiry : session.limitExpiry(type, iat, ownExpiry)
  const { issuer = rules.issuer, audience = rules.audience } = options
  if (options.issuer !== undefined && !isNonEmptyString(issuer)) {
    throw new TypeError('issuer must be a non-empty string')
  }
  if (options.audience !== undefined && !isStringOrList(audience)) {
    throw new TypeError('audience must be a string or a list of strings')
  }
  const claims: Record<string, unknown> = {
    // Without the setter of Object.prototype, `__proto__` is a claim like any other.
    __proto__: EMPTY_PROTOTYPE,
    [rules.identityClaim]: uid,
    type,
    jti: createTimedId(start, random),
    iat,
  }
  if (nbf !== null || rules.encodeNbf) claims['nbf'] = nbf ?? iat
  if (exp !== null) claims['exp'] = exp
  if (issuer !== null) claims['iss'] = issuer
  if (audience !== null) claims['aud'] = audience
  if (type === 'access') {
    const { fresh = false } = options
    claims['fresh'] = typeof fresh === 'boolean' ? fresh : iat + toWholeSeconds('fresh', fresh)
  }
  if (rules.csrf) claims['csrf'] = session?.csrf ?? createId(random)
  if (options.scopes !== undefined) claims['scopes'] = toScopes(options.scopes)
  if (session !== null) claims['sid'] = session.sid
  if (session?.remember !== undefined) claims['remember'] = session.remember
  // A browser proves the key of its device for a refresh, and for no other request.
  if (session?.cnf !== undefined && (type === 'refresh' || session.cnf.jwk === undefined))
    claims['cnf'] = session.cnf
  if (type === 'refresh' && session?.lineage !== undefined) {
    claims['gen'] = session.lineage.generation
    claims['par'] = session.lineage.parent
    claims['sat'] = session.lineage.issuedAt
  }
  addExtraClaims(claims, input, rules.identityClaim)
  if (rules.typ === 'at+jwt') {
    claims['client_id'] ??= rules.clientId
    assertProfile(claims)
  }
  assertRequired(claims, rules)
  if (rules.schema !== null) assertExtraClaims(rules.schema, claims, rules.identityClaim)
  return claims
}

// Better here than when the token comes back: this manager would refuse it. The payload has the identity claim as `sub`.
function assertRequired(claims: object, { requiredClaims, identityClaim }: CreationRules): void {
  if (requiredClaims.length === 0) return
  const missing = readMissingClaim({ ...claims, sub: identityClaim }, requiredClaims)
  if (missing === null) return
  throw new TypeError(`The token would have no claim "${missing}", which JWT_REQUIRED_CLAIMS demands`)
}

// RFC 9068 §2.2; a resource server would refuse the token. Its `sub`, `iat` and `jti` are always there, and a manager
// without an issuer and an audience cannot be built.
function assertProfile({ exp, aud, client_id: client }: Readonly<Record<string, unknown>>): void {
  const missing =
    (exp === undefined && 'exp') ||
    ((aud as string | readonly string[]).length === 0 && 'aud') ||
    (!isNonEmptyString(client) && 'client_id')
  if (missing === false) return
  const advice = missing === 'client_id' ? ': pass it as a claim, or set JWT_CLIENT_ID' : ''
  throw new TypeError(`An access token with typ at+jwt needs the claim "${missing}" (RFC 9068)${advice}`)
}

function addExtraClaims(claims: Record<string, unknown>, input: ClaimsInput, identityClaim: string): void {
  for (const name of Object.keys(input)) {
    if (name === 'uid') continue
    if (RESERVED_CLAIMS.has(name) || name === identityClaim) {
      throw new TypeError(`"${name}" is a reserved claim and cannot be used as an extra claim`)
    }
    // Read once: a getter could return another value than the one that was checked.
    const value = input[name]
    assertSerializable(name, value)
    claims[name] = value
  }
  for (const symbol of Object.getOwnPropertySymbols(input)) {
    if (Object.prototype.propertyIsEnumerable.call(input, symbol)) {
      throw new TypeError('Claim names must be strings; the claims have a symbol as a name')
    }
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
  if (expiresIn !== undefined) throw new TypeError('Pass expiresIn or expiresAt, not both')
  if (!(expiresAt instanceof Date) || Number.isNaN(expiresAt.getTime())) {
    throw new TypeError('expiresAt must be a valid Date')
  }
  return toEpochSeconds(expiresAt.getTime())
}

// Compared with the token's own expiry: the expiry of its session is known only once the session is in the store.
function toNotBefore(iat: number, notBefore: Date | Duration, exp: number | null): number {
  const isDate = notBefore instanceof Date
  const nbf = isDate ? toEpochSeconds(notBefore.getTime()) : iat + toWholeSeconds('notBefore', notBefore)
  if (Number.isNaN(nbf)) throw new TypeError('notBefore must be a valid Date or a duration')
  if (exp !== null && nbf >= exp)
    throw new TypeError('notBefore must be earlier than the expiry of the token')
  return nbf
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
