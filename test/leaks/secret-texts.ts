import { createPrivateKey, type JsonWebKey, KeyObject } from 'node:crypto'
import type { TokenConfig } from '../../packages/tokenlib/src/index.js'

/** Something that must never be shown, in one of the ways it could be written. */
export interface SecretText {
  /** What it is and how it is written; never the secret itself. */
  readonly kind: string
  readonly text: string
  /** How many characters in a row give it away; left out, as many as a window has. */
  readonly fewest?: number
}

/**
 * How many hex digits give a secret away: 48 bits, as in eight characters of base64.
 *
 * Eight digits are 32 bits, and 26 where all of them are decimal. A private RSA key has about a hundred places with
 * eight decimal digits, and random claims show tens of thousands: once in fifty runs two of them are equal.
 */
export const HEX_WINDOW = 12

const SECRET_FIELDS = ['JWT_SECRET_KEY', 'JWT_PREVIOUS_SECRET_KEY'] as const
// A private key where a public one belongs is a mistake that is refused, and no less private.
const KEY_FIELDS = ['JWT_PRIVATE_KEY', 'JWT_PUBLIC_KEY', 'JWT_PREVIOUS_PUBLIC_KEY'] as const

/** Every secret and private key of a configuration, in all the ways it could be written. */
export function secretsOfConfig(config: TokenConfig): SecretText[] {
  return [
    ...SECRET_FIELDS.flatMap((field) => [
      ...secretTexts(field, config[field]),
      ...privateKeyTexts(field, config[field]),
    ]),
    ...KEY_FIELDS.flatMap((field) => privateKeyTexts(field, config[field])),
  ]
}

/** The CSRF value signed into a token; empty if it has none. */
export function csrfOfToken(token: string): string {
  const claims = Buffer.from(token.split('.', 2)[1] ?? '', 'base64url').toString()
  return /"csrf":"([^"\\]+)"/.exec(claims)?.[1] ?? ''
}

/** A signing secret in all the ways it could be written. */
export function secretTexts(field: string, material: unknown): SecretText[] {
  const jwk = readJwk(material)
  if (typeof jwk?.k === 'string') {
    return [{ kind: `${field}, its "k"`, text: jwk.k }, ...byteTexts(field, Buffer.from(jwk.k, 'base64url'))]
  }
  if (typeof material === 'string') {
    return [{ kind: `${field} as text`, text: material }, ...byteTexts(field, Buffer.from(material))]
  }
  if (material instanceof Uint8Array) return byteTexts(field, Buffer.from(material))
  if (material instanceof KeyObject && material.type === 'secret') return byteTexts(field, material.export())
  return []
}

/** A private key in all the ways it could be written; nothing for a public one. */
export function privateKeyTexts(field: string, material: unknown): SecretText[] {
  const jwk = readJwk(material)
  const given = [...jwkTexts(field, jwk), ...(typeof material === 'string' ? pemTexts(field, material) : [])]
  const key = readPrivateKey(material, jwk)
  if (key === null) return given
  return [
    ...given,
    ...pemTexts(field, key.export({ format: 'pem', type: 'pkcs8' }).toString()),
    ...byteTexts(field, key.export({ format: 'der', type: 'pkcs8' })),
    ...jwkTexts(field, exportJwk(key)),
  ]
}

// Lists of bytes are read as hex where they are shown.
function byteTexts(field: string, bytes: Buffer): SecretText[] {
  const hex = bytes.toString('hex')
  return [
    { kind: `${field} in UTF-8`, text: bytes.toString('utf8') },
    { kind: `${field} in Latin-1`, text: bytes.toString('latin1') },
    { kind: `${field} in base64`, text: bytes.toString('base64') },
    { kind: `${field} in base64url`, text: bytes.toString('base64url') },
    { kind: `${field} in hex`, text: hex, fewest: HEX_WINDOW },
    { kind: `${field} in upper-case hex`, text: hex.toUpperCase(), fewest: HEX_WINDOW },
  ]
}

// RFC 7518 §6.2.2 and §6.3.2, RFC 8037 §2: the private members.
function jwkTexts(field: string, jwk: JsonWebKey | null): SecretText[] {
  if (jwk === null) return []
  return (['d', 'p', 'q', 'dp', 'dq', 'qi'] as const).flatMap((member) => {
    const text: unknown = jwk[member]
    return typeof text === 'string' ? [{ kind: `${field}, its "${member}"`, text }] : []
  })
}

// The first and last line only say what it is.
function pemTexts(field: string, text: string): SecretText[] {
  if (!text.includes('PRIVATE KEY-----')) return []
  const lines = text
    .split(/\\n|\s+/)
    .filter((line) => line.length > 0 && !/^-|-$|^(?:RSA|EC|PRIVATE|ENCRYPTED)$/.test(line))
  return lines.map((line, at) => ({ kind: `${field}, line ${at + 1} of its PEM text`, text: line }))
}

function readJwk(material: unknown): JsonWebKey | null {
  if (typeof material === 'string' && material.trimStart().startsWith('{')) {
    try {
      return JSON.parse(material) as JsonWebKey
    } catch {
      return null
    }
  }
  const isObject = typeof material === 'object' && material !== null && 'kty' in material
  return isObject ? (material as JsonWebKey) : null
}

function exportJwk(key: KeyObject): JsonWebKey | null {
  try {
    return key.export({ format: 'jwk' })
  } catch {
    // Not every key has such a form: those of RSA-PSS and DSA have none.
    return null
  }
}

function readPrivateKey(material: unknown, jwk: JsonWebKey | null): KeyObject | null {
  if (material instanceof KeyObject) return material.type === 'private' ? material : null
  try {
    if (jwk !== null) return createPrivateKey({ key: jwk, format: 'jwk' })
    return typeof material === 'string' && material.includes('PRIVATE KEY-----')
      ? createPrivateKey(material)
      : null
  } catch {
    // What Node cannot read has no other form than its own text.
    return null
  }
}
