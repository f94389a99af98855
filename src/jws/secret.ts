import { createPublicKey, createSecretKey, KeyObject, X509Certificate } from 'node:crypto'
import { readBase64url } from '../encoding.js'
import { ConfigurationError } from '../errors.js'
import { ALGORITHMS, type Algorithm } from './algorithms.js'
import { isJwk, type Jwk } from './jwk.js'

/** A signing secret: a text (its UTF-8 bytes count), bytes, an `oct` JWK or a secret `KeyObject`. */
export type SecretMaterial = string | Uint8Array | Jwk | KeyObject

/** The secret as a key, or `ConfigurationError` when it is no secret or too weak for the algorithm. */
export function importSecret(
  field: string,
  material: SecretMaterial,
  algorithm: Algorithm,
  allowWeak: boolean,
): KeyObject {
  const bytes = toBytes(field, material)
  if (bytes.length === 0) throw new ConfigurationError(`${field} is empty`)
  if (looksLikeKey(bytes)) {
    throw new ConfigurationError(
      `${field} holds a public or private key, which must not be used as an HMAC secret; ` +
        'put it in JWT_PRIVATE_KEY or JWT_PUBLIC_KEY and choose an asymmetric JWT_ALGORITHM',
    )
  }
  const spec = ALGORITHMS[algorithm]
  const minimum = spec.family === 'hmac' ? spec.minSecretBytes : 0
  if (bytes.length < minimum && !allowWeak) {
    throw new ConfigurationError(
      `${field} has ${bytes.length} bytes; ${algorithm} needs at least ${minimum} (RFC 7518 section 3.2). Make one with: ` +
        `node -e "console.log(require('node:crypto').randomBytes(${minimum}).toString('base64url'))"`,
    )
  }
  return createSecretKey(bytes)
}

function toBytes(field: string, material: SecretMaterial): Buffer {
  if (typeof material === 'string') return Buffer.from(material, 'utf8')
  if (material instanceof Uint8Array) return Buffer.from(material)
  if (material instanceof KeyObject && material.type === 'secret') return material.export()
  if (isJwk(material) && material.kty === 'oct' && typeof material['k'] === 'string') {
    const bytes = readBase64url(material['k'])
    if (bytes !== null) return bytes
  }
  throw new ConfigurationError(`${field} must be a string, bytes, a JWK of type "oct" or a secret KeyObject`)
}

// A second line of defence only. The first is that secrets and keys are different fields, and each algorithm
// reads one of them: recognising keys by their look has failed in library after library.
function looksLikeKey(bytes: Buffer): boolean {
  const text = bytes.toString('latin1')
  if (text.includes('-----BEGIN ') || /(?:^|\s)(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+) /.test(text))
    return true
  if (/"kty"\s*:\s*"(?:RSA|EC|OKP)"/.test(text)) return true
  return canParse(() => createPublicKey({ key: bytes, format: 'der', type: 'spki' })) || isCertificate(bytes)
}

function isCertificate(bytes: Buffer): boolean {
  return canParse(() => new X509Certificate(bytes))
}

function canParse(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch {
    return false
  }
}
