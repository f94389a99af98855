import type { KeyObject } from 'node:crypto'
import { isRocaModulus } from './roca.js'
import { isSmallOrder } from './small-order.js'

/** The signature algorithms this library knows (RFC 7518 §3.1, RFC 8037, RFC 9864). `none` is not one. */
export type Algorithm =
  | 'HS256'
  | 'HS384'
  | 'HS512'
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512'
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'EdDSA'
  | 'Ed25519'

/** How an algorithm signs, and which keys it takes. */
export type AlgorithmSpec =
  | { readonly family: 'hmac'; readonly hash: string; readonly minSecretBytes: number }
  | { readonly family: 'rsa' | 'rsa-pss'; readonly hash: string }
  | {
      readonly family: 'ecdsa'
      readonly hash: string
      readonly curve: string
      /** Bytes of r, and of s. */
      readonly size: number
      /** The order of the curve's group (SEC 2). */
      readonly order: bigint
      /** Half of the order: the largest s that counts. */
      readonly highestS: Buffer
    }
  | { readonly family: 'eddsa' }

const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const P384_ORDER =
  0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n
const P521_ORDER =
  0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n

/** Every algorithm, by the exact name its header carries. */
export const ALGORITHMS: Readonly<Record<Algorithm, AlgorithmSpec>> = {
  // RFC 7518 §3.2: a key of the same size as the hash output or larger must be used.
  HS256: { family: 'hmac', hash: 'sha256', minSecretBytes: 32 },
  HS384: { family: 'hmac', hash: 'sha384', minSecretBytes: 48 },
  HS512: { family: 'hmac', hash: 'sha512', minSecretBytes: 64 },
  RS256: { family: 'rsa', hash: 'sha256' },
  RS384: { family: 'rsa', hash: 'sha384' },
  RS512: { family: 'rsa', hash: 'sha512' },
  PS256: { family: 'rsa-pss', hash: 'sha256' },
  PS384: { family: 'rsa-pss', hash: 'sha384' },
  PS512: { family: 'rsa-pss', hash: 'sha512' },
  ES256: ecdsa('sha256', 'prime256v1', 32, P256_ORDER),
  ES384: ecdsa('sha384', 'secp384r1', 48, P384_ORDER),
  ES512: ecdsa('sha512', 'secp521r1', 66, P521_ORDER),
  EdDSA: { family: 'eddsa' },
  Ed25519: { family: 'eddsa' },
}

function ecdsa(hash: string, curve: string, size: number, order: bigint): AlgorithmSpec {
  return { family: 'ecdsa', hash, curve, size, order, highestS: toInteger(order >> 1n, size) }
}

/** A number in so many bytes, the highest first. */
export function toInteger(value: bigint, size: number): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * size, '0'), 'hex')
}

/** Why a key cannot serve an algorithm, or `null` when it can. */
export function readKeyMismatch(algorithm: Algorithm, key: KeyObject): string | null {
  const spec = ALGORITHMS[algorithm]
  const details = key.asymmetricKeyDetails
  switch (spec.family) {
    case 'hmac':
      return key.type === 'secret' ? null : 'needs a secret'
    case 'rsa':
    case 'rsa-pss': {
      const isPssKey = key.asymmetricKeyType === 'rsa-pss'
      if (key.asymmetricKeyType !== 'rsa' && !(isPssKey && spec.family === 'rsa-pss'))
        return 'needs an RSA key'
      // RFC 7518 §3.3 and §3.5: 2048 bits or larger. An exponent of 1 makes every text its own signature.
      if ((details?.modulusLength ?? 0) < 2048) return 'needs an RSA key of at least 2048 bits'
      if ((details?.publicExponent ?? 0n) < 3n) return 'needs an RSA public exponent of at least 3'
      if (isRocaModulus(readModulus(key))) {
        return 'needs an RSA key without the ROCA weakness (CVE-2017-15361)'
      }
      return isPssKey && !isPssFor(spec.hash, key) ? `needs an RSA-PSS key made for ${spec.hash}` : null
    }
    case 'ecdsa':
      return details?.namedCurve === spec.curve ? null : `needs an EC key on curve ${spec.curve}`
    case 'eddsa':
      if (key.asymmetricKeyType !== 'ed25519') return 'needs an Ed25519 key'
      return isSmallOrder(key.export({ format: 'der', type: 'spki' }).subarray(-32))
        ? 'needs an Ed25519 key of full order'
        : null
  }
}

// At the end of the DER form: the modulus, then the exponent with its two bytes of type and length. Node writes no JWK
// of an RSA-PSS key.
function readModulus(key: KeyObject): Buffer {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const end = -3 - Math.floor(publicExponent.toString(2).length / 8)
  return key.export({ format: 'der', type: 'spki' }).subarray(end - Math.ceil(modulusLength / 8), end)
}

// A key without parameters takes any; one with parameters takes only those.
function isPssFor(hash: string, key: KeyObject): boolean {
  const { hashAlgorithm = hash, mgf1HashAlgorithm = hash, saltLength = 0 } = key.asymmetricKeyDetails ?? {}
  return hashAlgorithm === hash && mgf1HashAlgorithm === hash && saltLength <= Number(hash.slice(3)) / 8
}
