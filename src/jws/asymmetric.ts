import { createPrivateKey, createPublicKey, type JsonWebKey, KeyObject } from 'node:crypto'
import { ConfigurationError } from '../errors.js'
import { isJwk, type Jwk } from './jwk.js'

/** An asymmetric key: PEM text, a JWK (or its JSON text) or a `KeyObject`. */
export type KeyMaterial = string | Jwk | KeyObject

/** What an asymmetric key may be, for whoever gave something else. */
export const KEY_FORMS = 'PEM text, a JWK or a KeyObject'

/** The private key, or `ConfigurationError`. */
export function importPrivateKey(field: string, material: KeyMaterial): KeyObject {
  return importKey(field, material, 'private')
}

/** The public key, or `ConfigurationError`; a private key in its place is refused, not converted. */
export function importPublicKey(field: string, material: KeyMaterial): KeyObject {
  return importKey(field, material, 'public')
}

function importKey(field: string, material: KeyMaterial, type: 'private' | 'public'): KeyObject {
  if (material instanceof KeyObject) {
    if (material.type === type) return material
    throw new ConfigurationError(`${field} must be a ${type} key, not a ${material.type} one`)
  }
  const isPrivate = isJwk(material)
    ? 'd' in material
    : assertPem(field, material).includes('PRIVATE KEY-----')
  if (type === 'public' && isPrivate) throw new ConfigurationError(`${field} holds a private key`)
  const input = isJwk(material) ? { key: material as JsonWebKey, format: 'jwk' as const } : material
  try {
    return type === 'private' ? createPrivateKey(input) : createPublicKey(input)
  } catch {
    // Without a cause: its message may quote members of a JWK.
    throw new ConfigurationError(`${field} is not a key that Node can read`)
  }
}

function assertPem(field: string, material: unknown): string {
  if (typeof material === 'string' && material.includes('-----BEGIN ')) return material
  throw new ConfigurationError(`${field} must be ${KEY_FORMS}`)
}
