import {
  copyText,
  hasDuplicateMembers,
  readBase64url,
  readBase64urlText,
  readJsonObject,
} from '../encoding.js'
import { TokenDecodeError, TokenSignatureError } from '../errors.js'
import { MAX_KID_LENGTH } from './jwk.js'
import type { BoundKey, KeyRing } from './key-ring.js'
import { isSignature } from './signature.js'

/** The JOSE header of a verified token. */
export interface JwsHeader {
  readonly alg: string
  readonly kid?: string
  readonly [member: string]: unknown
}

/** A JWS whose signature holds; what its payload says is not known at this layer. */
export interface VerifiedJws {
  readonly header: JwsHeader
  /** As text; `null` for what is no UTF-8. */
  readonly payload: string | null
  /** The ids of the key that made the signature: the one it is configured with, and the one it names itself by. */
  readonly kids: readonly string[]
}

/** The longest encoded header that is read; the largest real ones stay below a quarter of it. */
export const MAX_HEADER_LENGTH = 2048

/**
 * Header members that no token may have: extensions we do not understand (RFC 7515 §4.1.11), other encodings (RFC 7797,
 * RFC 7516), nesting, and keys that the token brings or points to itself. None has a meaning that is safe to ignore.
 */
export const REFUSED_MEMBERS: readonly string[] = [
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

/** Verifies a compact JWS in its one canonical spelling, or throws `TokenDecodeError` or `TokenSignatureError`. */
export type JwsVerifier = (token: string) => VerifiedJws

/** A header, and the keys that it chooses. */
interface OpenedHeader {
  readonly encoded: string
  readonly header: JwsHeader
  readonly keys: readonly BoundKey[]
}

/** A verifier for one set of keys. */
export function createJwsVerifier(ring: KeyRing, maxLength: number): JwsVerifier {
  // All tokens of a key have the same header: that of the last one that was genuine need not be opened again.
  let last: OpenedHeader | null = null

  return (token) => {
    const [first, second] = findDots(token, maxLength)
    const encoded = token.slice(0, first)
    const opened = last?.encoded === encoded ? last : openHeader(ring, encoded)
    const input = token.slice(0, second)
    const signature = token.slice(second + 1)
    const signer = opened.keys.find((key) => isSignature(key, input, signature))
    if (signer === undefined) {
      throw readBase64url(signature) === null ? notCanonical() : new TokenSignatureError()
    }
    last = opened
    // Not before: what nobody has signed is not worth looking into.
    const encodedPayload = token.slice(first + 1, second)
    const payload = readBase64urlText(encodedPayload)
    if (payload === null && readBase64url(encodedPayload) === null) throw notCanonical()
    return { header: opened.header, payload, kids: signer.ids }
  }
}

function notCanonical(): TokenDecodeError {
  return new TokenDecodeError('Token is not canonical base64url')
}

// Three indexOf calls: splitting megabytes of dots would cost seconds and hundreds of megabytes.
function findDots(token: string, maxLength: number): [first: number, second: number] {
  if (typeof token !== 'string') throw new TokenDecodeError('Token is not a string')
  if (token.length > maxLength) throw new TokenDecodeError(`Token is longer than ${maxLength} characters`)
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  if (first < 1 || second <= first + 1 || second === token.length - 1 || token.includes('.', second + 1)) {
    throw new TokenDecodeError('Token does not have three segments')
  }
  return [first, second]
}

function openHeader(ring: KeyRing, encoded: string): OpenedHeader {
  const header = parseHeader(encoded)
  return { encoded: copyText(encoded), header, keys: selectKeys(ring, header) }
}

function parseHeader(encoded: string): JwsHeader {
  if (encoded.length > MAX_HEADER_LENGTH) throw new TokenDecodeError('Token header is too long')
  const text = readBase64urlText(encoded)
  const header = text === null ? null : readJsonObject(text)
  if (text === null || header === null || hasDuplicateMembers(text)) {
    throw new TokenDecodeError('Token header is malformed')
  }
  for (const name of REFUSED_MEMBERS) {
    if (Object.hasOwn(header, name))
      throw new TokenDecodeError(`Token header member "${name}" is not accepted`)
  }
  const { alg, kid, typ } = header
  if (typeof alg !== 'string') throw new TokenDecodeError('Token header has no algorithm')
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > MAX_KID_LENGTH)) {
    throw new TokenDecodeError('Token header has a malformed "kid"')
  }
  if (typ !== undefined && (typeof typ !== 'string' || !TOKEN_TYPE.test(typ))) {
    throw new TokenDecodeError('Token header has the "typ" of another kind')
  }
  return header as JwsHeader
}

// RFC 8725 §3.11: a JWT of another kind, signed with the same key, is no token of ours. RFC 7515 §4.1.9 lets a media
// type be written in any case, and without "application/".
const TOKEN_TYPE = /^(?:application\/)?(?:at\+)?jwt$/i

// The header chooses among keys that are already bound; it can never choose how a key is used.
function selectKeys(ring: KeyRing, header: JwsHeader): readonly BoundKey[] {
  const allowed = ring.verifying.filter((key) => key.algorithm === header.alg)
  if (allowed.length === 0) throw new TokenDecodeError('Token algorithm is not allowed')
  if (header.kid === undefined) return allowed
  const named = allowed.filter((key) => key.kid === header.kid)
  if (named.length === 0) throw new TokenSignatureError('Token was signed with an unknown key')
  return named
}
