import { createPrivateKey, createPublicKey, type JsonWebKey, KeyObject } from 'node:crypto'
import { ConfigurationError } from '../errors.js'
import { isJwk, type Jwk } from './jwk.js'

/** An asymmetric key: PEM text, a JWK (or its JSON text) or a `KeyObject`. */
export type KeyMaterial = string | Jwk | KeyObject

/** The private key, or `ConfigurationError`. */
export function importPrivateKey(field: string, material: KeyMaterial): KeyObject {
  if (material instanceof KeyObject) return assertType(field, material, 'private')
  if (isJwk(material))
    return parseKey(field, () => createPrivateKey({ key: material as JsonWebKey, format: 'jwk' }))
  const pem = assertPem(field, material)
  return parseKey(field, () => createPrivateKey(pem))
}

/** The public key, or `ConfigurationError`; a private key in its place is refused, not converted. */
export function importPublicKey(field: string, material: KeyMaterial): KeyObject {
  if (material instanceof KeyObject) return assertType(field, material, 'public')
  if (isJwk(material)) {
    if ('d' in material) throw new ConfigurationError(`${field} holds a private key`)
    return parseKey(field, () => createPublicKey({ key: material as JsonWebKey, format: 'jwk' }))
  }
  const pem = assertPem(field, material)
  if (pem.includes('PRIVATE KEY-----')) throw new ConfigurationError(`${field} holds a private key`)
  return parseKey(field, () => createPublicKey(pem))
}

function assertType(field: string, key: KeyObject, type: 'private' | 'public'): KeyObject {
  if (key.type !== type) throw new ConfigurationError(`${field} must be a ${type} key, not a ${key.type} one`)
  return key
}

function assertPem(field: string, material: unknown): string {
  if (typeof material === 'string' && material.includes('-----BEGIN ')) return material
  throw new ConfigurationError(`${field} must be PEM text, a JWK or a KeyObject`)
}

function parseKey(field: string, parse: () => KeyObject): KeyObject {
  try {
    return parse()
  } catch {
    // Without a cause: its message may quote members of a JWK.
    throw new ConfigurationError(`${field} is not a key that Node can read`)
  }
}
