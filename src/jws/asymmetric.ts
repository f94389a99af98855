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

/** The public part of a private key: what its JWK says, or else what Node derives. They may not belong together. */
export function readPublicPart(field: string, material: KeyMaterial, key: KeyObject): KeyObject {
  if (!isJwk(material)) return createPublicKey(key)
  try {
    return createPublicKey({ key: material as JsonWebKey, format: 'jwk' })
  } catch {
    throw new ConfigurationError(`${field} is not a key that Node can read`)
  }
}

function importKey(field: string, material: KeyMaterial, type: 'private' | 'public'): KeyObject {
  if (material instanceof KeyObject) {
    if (material.type === type) return material
    throw new ConfigurationError(`${field} must be a ${type} key, not a ${material.type} one`)
  }
  const source = isJwk(material) ? material : toPem(field, material)
  const isPrivate = isJwk(source) ? 'd' in source : source.includes('PRIVATE KEY-----')
  if (type === 'public' && isPrivate) throw new ConfigurationError(`${field} holds a private key`)
  const input = isJwk(source) ? { key: source as JsonWebKey, format: 'jwk' as const } : source
  try {
    return type === 'private' ? createPrivateKey(input) : createPublicKey(input)
  } catch {
    // Without a cause: its message may quote members of a JWK.
    throw new ConfigurationError(`${field} is not a key that Node can read`)
  }
}

// RFC 7468 §2: a label, base64 text and the label again. The headers of an encrypted block have hyphens (RFC 1421 §4.6):
// such a block does not match, and stays as it is.
const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g

// Variables and secret stores put a PEM file into one line: without its line ends, with spaces in their place, or with
// the two characters `\n`. Node reads none of these.
function toPem(field: string, material: unknown): string {
  if (typeof material !== 'string' || !material.includes('-----BEGIN ')) {
    throw new ConfigurationError(`${field} must be ${KEY_FORMS}`)
  }
  return material.replaceAll(PEM_BLOCK, (_, label: string, body: string) => {
    const base64 = body.replaceAll(/\\[nr]|\s/g, '')
    const lines = base64.replaceAll(/.{1,64}/g, '$&\n')
    return `\n-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`
  })
}
