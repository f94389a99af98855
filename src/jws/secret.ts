import { createPublicKey, createSecretKey, KeyObject, X509Certificate } from 'node:crypto'
import { readBase64url } from '../encoding.js'
import { ConfigurationError } from '../errors.js'
import { ALGORITHMS, type Algorithm } from './algorithms.js'
import { isJwk, type Jwk } from './jwk.js'
import { readWeakness } from './weak-secret.js'

/** A signing secret: a text (its UTF-8 bytes count), bytes, an `oct` JWK or a secret `KeyObject`. */
export type SecretMaterial = string | Uint8Array | Jwk | KeyObject

/** What a secret may be, for whoever gave something else. */
export const SECRET_FORMS = 'a string, bytes, a JWK of type "oct" or a secret KeyObject'

/** The secret as a key, or `ConfigurationError` when it is no secret or too weak for the algorithm. */
export function importSecret(
  field: string,
  material: SecretMaterial,
  algorithm: Algorithm,
  allowWeak: boolean,
): KeyObject {
  const bytes = toBytes(field, material)
  if (bytes.length === 0) throw new ConfigurationError(`${field} is empty`)
  if (!allowWeak) assertStrong(field, bytes, algorithm)
  if (looksLikeKey(bytes)) {
    throw new ConfigurationError(
      `${field} holds a key, not a secret; it belongs in JWT_PRIVATE_KEY or JWT_PUBLIC_KEY`,
    )
  }
  return createSecretKey(bytes)
}

function assertStrong(field: string, bytes: Buffer, algorithm: Algorithm): void {
  const spec = ALGORITHMS[algorithm]
  const minimum = spec.family === 'hmac' ? spec.minSecretBytes : 0
  const weakness = readWeakness(bytes, minimum)
  if (weakness === null) return
  throw new ConfigurationError(
    `${field} ${weakness}; ${algorithm} needs ${minimum} random ones (RFC 7518 section 3.2): ` +
      `node -e "console.log(require('node:crypto').randomBytes(${minimum}).toString('base64url'))"`,
  )
}

function toBytes(field: string, material: SecretMaterial): Buffer {
  if (typeof material === 'string') return Buffer.from(material, 'utf8')
  if (material instanceof Uint8Array) return Buffer.from(material)
  if (material instanceof KeyObject && material.type === 'secret') return material.export()
  if (isJwk(material) && material.kty === 'oct' && typeof material['k'] === 'string') {
    const bytes = readBase64url(material['k'])
    if (bytes !== null) return bytes
  }
  throw new ConfigurationError(`${field} must be ${SECRET_FORMS}`)
}

// A second line of defence only. The first is that secrets and keys are different fields, and each algorithm
// reads one of them: recognising keys by their look has failed in library after library.
function looksLikeKey(bytes: Buffer): boolean {
  const text = resolveEscapes(bytes.toString('latin1'))
  // Encoded too: the body of a PEM file without its first and last line, or a whole file made fit for a variable.
  return [bytes, Buffer.from(text, 'base64'), Buffer.from(text, 'hex')].some(holdsKey)
}

function holdsKey(bytes: Buffer): boolean {
  const text = resolveEscapes(bytes.toString('latin1'))
  return (
    text.includes('-----BEGIN') ||
    SSH_KEY.test(text) ||
    ASYMMETRIC_JWK.test(text) ||
    DER_TYPES.some((type) => canParse(() => createPublicKey({ key: bytes, format: 'der', type }))) ||
    canParse(() => new X509Certificate(bytes))
  )
}

// JSON may spell any character by its number, and text within text has more backslashes.
function resolveEscapes(text: string): string {
  return text
    .replace(/\\[nr]/g, '')
    .replace(/\\u00(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll('\\', '')
}

const SSH_KEY = /(?:^|\s)(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+) /
const ASYMMETRIC_JWK = /"kty"\s*:\s*"(?:RSA|EC|OKP)"/
const DER_TYPES = ['spki', 'pkcs1'] as const

function canParse(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch {
    return false
  }
}
