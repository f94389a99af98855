import { readJsonObject } from '../encoding.js'
import { TokenDecodeError } from '../errors.js'
import type { JsonValue } from './serializable.js'

/** What a token is for: calling routes, or getting new tokens. */
export type TokenType = 'access' | 'refresh'

/** The claims this library sets and reads; those marked optional are present only if the token carries them. */
export interface StandardClaims {
  /** The unique identifier given as `uid` at creation. */
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
  /** The id of the log-in the token belongs to. */
  readonly sid?: string
  /** How often the session had been refreshed when this refresh token was made. */
  readonly gen?: number
}

/** Extra claims of a manager without a schema. */
export type AnyClaims = { readonly [claim: string]: JsonValue | undefined }

/** The claims of a valid token, read as properties of one frozen object. */
export type TokenPayload<Extra = AnyClaims> = StandardClaims & Readonly<Extra>

/** Whether a value is a string with something in it. */
export const isNonEmptyString = (value: unknown): value is string => isString(value) && value !== ''

/** Whether a value is a scope (RFC 6749 §3.3): a string with something in it, and no spaces. */
export const isScope = (value: unknown): value is string => isNonEmptyString(value) && !value.includes(' ')

/** Whether a value is a string, or a list of strings. */
export const isStringOrList = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isString) : isString(value)

const isString = (value: unknown): value is string => typeof value === 'string'
// JSON spells an overlong number as Infinity; a date that is not finite would never expire.
const isNumericDate = (value: unknown): boolean => Number.isFinite(value)

// Every standard claim is here, or this does not compile.
const CLAIM_TYPES: Readonly<Record<keyof StandardClaims, (value: unknown) => boolean>> = {
  sub: isNonEmptyString,
  type: (value) => value === 'access' || value === 'refresh',
  jti: isNonEmptyString,
  iat: isNumericDate,
  nbf: isNumericDate,
  exp: isNumericDate,
  iss: isString,
  aud: isStringOrList,
  fresh: (value) => typeof value === 'boolean' || isNumericDate(value),
  csrf: isNonEmptyString,
  scopes: isStringOrList,
  sid: isNonEmptyString,
  gen: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
}
const CLAIM_CHECKS = Object.entries(CLAIM_TYPES)

/** The names that cannot be extra claims. */
export const RESERVED_CLAIMS: ReadonlySet<string> = new Set(Object.keys(CLAIM_TYPES))

/** The claims set in a verified text (`null` is none), its standard claims of the right types, or `TokenDecodeError`. */
export function parseClaims(text: string | null, identityClaim: string): TokenPayload {
  const claims = text === null ? null : readJsonObject(text)
  if (claims === null) throw new TokenDecodeError('Token claims are not a JSON object')
  const draft = toDraft(claims)
  for (const [name, isValid] of CLAIM_CHECKS) {
    const value = draft[name]
    if (value !== undefined && !isValid(value)) throw invalidClaim(name)
  }
  const { [identityClaim]: sub, type, scopes } = draft
  if (!isNonEmptyString(sub)) throw invalidClaim(identityClaim)
  if (type === undefined) throw invalidClaim('type')
  draft['sub'] = sub
  if (typeof scopes === 'string') draft['scopes'] = Object.freeze(parseScopes(scopes))
  return closeDraft(draft)
}

/** One frozen payload out of two sets of claims, the second winning. */
export function toPayload(claims: object, others: object): TokenPayload {
  return closeDraft(toDraft(claims, others))
}

function toDraft(claims: object, others?: object): Record<string, unknown> {
  return { __proto__: NO_CLAIMS, ...claims, ...others }
}

function closeDraft(draft: Record<string, unknown>): TokenPayload {
  if ('csrf' in draft) Object.defineProperty(draft, 'csrf', { enumerable: false })
  return Object.freeze(draft) as unknown as TokenPayload
}

// A claim that is absent reads as undefined, whatever it is called. An object with no prototype at all would say the
// same, fifty times slower.
const NO_CLAIMS: object = Object.freeze(Object.create(null) as object)

/** The scopes in a space-separated text (RFC 6749 §3.3). */
export function parseScopes(text: string): string[] {
  return text.split(' ').filter((scope) => scope !== '')
}

function invalidClaim(name: string): TokenDecodeError {
  return new TokenDecodeError(`Token claim "${name}" is missing or of the wrong type`)
}
