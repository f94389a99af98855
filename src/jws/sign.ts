import { toBase64url } from '../encoding.js'
import { createSignature, signatureSize } from './signature.js'
import { MAX_HEADER_LENGTH, REFUSED_MEMBERS } from './verify.js'
import type { BoundKey } from './key-ring.js'

// What these say is decided by the key, or changes how the rest is read.
const RESERVED_MEMBERS = new Set(['alg', 'typ', 'kid', 'x5t', 'x5t#S256', ...REFUSED_MEMBERS])

/** A compact JWS (RFC 7515 §7.1) of a signing input. */
export function signCompact(key: BoundKey, input: string): string {
  return `${input}.${createSignature(key, input)}`
}

/** How long a compact JWS of a signing input will be, without making it. */
export function measureCompact(key: BoundKey, input: string): number {
  return input.length + 1 + Math.ceil((signatureSize(key) * 4) / 3)
}

/** The header of a key's tokens in base64url, as it is signed; `extra` are further members. */
export function encodeHeader(key: BoundKey, extra: Readonly<Record<string, unknown>> = {}): string {
  for (const name of Object.keys(extra)) {
    if (RESERVED_MEMBERS.has(name)) throw new TypeError(`The header member "${name}" cannot be given`)
  }
  const header = { alg: key.algorithm, typ: 'JWT', kid: key.kid, ...extra }
  const encodedHeader = toBase64url(JSON.stringify(header))
  if (encodedHeader.length > MAX_HEADER_LENGTH) throw new TypeError('The header members are too long')
  return encodedHeader
}
