import {
  hasDuplicateMembers,
  readBase64url,
  readBase64urlText,
  readJsonObject,
  toBase64url,
} from '../encoding.js'
import { TokenDecodeError, TokenSignatureError } from '../errors.js'
import { type BoundKey, createSignature, isSignature, signatureSize } from './algorithms.js'
import { type JwsHeader, MAX_KID_LENGTH } from './jose.js'
import { EMPTY_PROTOTYPE, parseClaims, type StandardClaims, toPayload } from './payload.js'

/** The segments of a compact JWS (RFC 7515 §7.1), not decoded. */
export interface CompactJws {
  readonly header: string
  readonly payload: string
  readonly signature: string
  /** Header and payload, as they were signed. */
  readonly signingInput: string
}

/** The longest encoded header that is accepted; real ones have less than a quarter of it. */
export const MAX_HEADER_LENGTH = 2048

/** The default for the longest accepted token. */
export const DEFAULT_MAX_TOKEN_LENGTH = 8192

/**
 * Header members that no token may have: extensions we do not understand (RFC 7515 §4.1.11), other encodings (RFC 7797,
 * RFC 7516), nesting, and keys inside the token or linked from it. None of them is safe to ignore.
 */
export const UNSUPPORTED_MEMBERS: readonly string[] = [
  'crit',
  'b64',
  'zip',
  'enc',
  'cty',
  'jku',
  'jwk',
  'x5u',
  'x5c',
]

/** The segments of a compact JWS of at most `maxLength` characters, or `TokenDecodeError`. */
export function parseCompact(token: unknown, maxLength: number): CompactJws {
  if (typeof token !== 'string') throw new TokenDecodeError('Token is not a string')
  if (token.length > maxLength) throw new TokenDecodeError(`Token is longer than ${maxLength} characters`)
  // Not split(), which would take seconds for megabytes of dots.
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  if (first < 1 || second <= first + 1 || second === token.length - 1 || token.includes('.', second + 1)) {
    throw new TokenDecodeError('Token does not have three segments: it is not a signed JWT')
  }
  return {
    header: token.slice(0, first),
    payload: token.slice(first + 1, second),
    signature: token.slice(second + 1),
    signingInput: token.slice(0, second),
  }
}

/** The text of a payload, `null` if it is not UTF-8, or `TokenDecodeError` if it is not canonical base64url. */
export function decodePayload({ payload }: CompactJws): string | null {
  const text = readBase64urlText(payload)
  if (text === null) assertCanonical(payload)
  return text
}

/** The key that made the signature of a JWS, or `TokenSignatureError`. */
export function findSigner(keys: readonly BoundKey[], { signingInput, signature }: CompactJws): BoundKey {
  for (const key of keys) if (isSignature(key, signingInput, signature)) return key
  assertCanonical(signature)
  throw new TokenSignatureError()
}

function assertCanonical(segment: string): void {
  if (readBase64url(segment) === null) throw new TokenDecodeError('Token is not canonical base64url')
}

function decodeHeader(encoded: string): Record<string, unknown> {
  if (encoded.length > MAX_HEADER_LENGTH) {
    throw new TokenDecodeError(`Token header is longer than ${MAX_HEADER_LENGTH} characters`)
  }
  const text = readBase64urlText(encoded)
  const header = text === null ? null : readJsonObject(text)
  if (text === null || header === null || hasDuplicateMembers(text)) {
    throw new TokenDecodeError('Token header is malformed')
  }
  return header
}

/**
 * The header in base64url, or `TokenDecodeError`; a `typ` must be one of `types`, in short form, but may be left out.
 * `allowed` is a member that only this kind of JWT may have.
 */
export function parseHeader(encoded: string, types: readonly string[], allowed?: 'jwk'): JwsHeader {
  const header = decodeHeader(encoded)
  for (const name of UNSUPPORTED_MEMBERS) {
    if (name !== allowed && Object.hasOwn(header, name))
      throw new TokenDecodeError(`Unsupported "${name}" header`)
  }
  const { alg, kid, typ } = header
  if (typeof alg !== 'string') throw new TokenDecodeError('Token header has no "alg"')
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > MAX_KID_LENGTH)) {
    throw new TokenDecodeError('Token header has a malformed "kid"')
  }
  if (typ !== undefined && (typeof typ !== 'string' || !types.includes(toShortType(typ)))) {
    throw new TokenDecodeError('Unexpected "typ" header')
  }
  return header as JwsHeader
}

/** The `typ` of our tokens. RFC 8725 §3.11: a JWT of another kind, signed with the same key, is not accepted. */
export const TOKEN_TYPES: readonly string[] = ['jwt', 'at+jwt']

/** Whether a header says that its token is an access token (RFC 9068 §2.1). */
export function isAccessTokenHeader({ typ }: JwsHeader): boolean {
  return typeof typ === 'string' && toShortType(typ) === 'at+jwt'
}

/** A `typ` in its shortest form: RFC 7515 §4.1.9 lets it be written in any case, and without "application/". */
export function toShortType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '')
}

// Set by the key, or changing how the rest of the token is read.
const RESERVED_MEMBERS = new Set(['alg', 'typ', 'kid', 'x5t', 'x5t#S256', ...UNSUPPORTED_MEMBERS])

/** The compact JWS (RFC 7515 §7.1) of a signing input. */
export function signCompact(key: BoundKey, input: string): string {
  return `${input}.${createSignature(key, input)}`
}

/** The length of the compact JWS of a signing input, without signing it. */
export function measureCompact(key: BoundKey, input: string): number {
  return input.length + 1 + Math.ceil((signatureSize(key) * 4) / 3)
}

/** The header of a key's tokens in base64url; `extra` are additional members. */
export function encodeHeader(
  key: BoundKey,
  typ: string,
  extra: Readonly<Record<string, unknown>> = {},
): string {
  for (const name of Object.keys(extra)) {
    if (RESERVED_MEMBERS.has(name)) throw new TypeError(`The header member "${name}" is reserved`)
  }
  const header = { alg: key.algorithm, typ, kid: key.kid, ...extra }
  const encodedHeader = toBase64url(JSON.stringify(header))
  if (encodedHeader.length > MAX_HEADER_LENGTH)
    throw new TypeError(`The token header is longer than ${MAX_HEADER_LENGTH} characters`)
  return encodedHeader
}

/** What anybody may have written into a token. Nothing of it is verified. */
export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>
  readonly payload: UnverifiedClaims
}

/** Claims of unknown types: the compiler takes them neither for a payload nor for a part of one. */
export type UnverifiedClaims = Readonly<Record<string, unknown>> & {
  readonly [Name in keyof StandardClaims]?: unknown
}

/**
 * The header and the claims of a JWT whose signature is NOT verified, for logs and tools; `TokenDecodeError` if it is not
 * a compact signed JWT or too large. Never use them to decide what a request may do: anybody can write such a token.
 */
export function decodeWithoutVerifying(token: string): DecodedToken {
  const jws = parseCompact(token, DEFAULT_MAX_TOKEN_LENGTH)
  const header = decodeHeader(jws.header)
  if (typeof header['alg'] !== 'string') throw new TokenDecodeError('Token header has no "alg"')
  assertCanonical(jws.signature)
  const claims = parseClaims(decodePayload(jws))
  // Hides the CSRF value, as in a verified payload.
  const payload = toPayload({ __proto__: EMPTY_PROTOTYPE, ...claims }) as UnverifiedClaims
  return Object.freeze({ header: Object.freeze({ __proto__: EMPTY_PROTOTYPE, ...header }), payload })
}
