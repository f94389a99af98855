import { createHash, createPublicKey, createSecretKey, KeyObject, X509Certificate } from 'node:crypto'
import { readBase64url } from '../encoding.js'
import { ConfigurationError } from '../errors.js'
import { ALGORITHMS } from './algorithms.js'
import { type Algorithm, isJwk, type NodeKey, SECRET_FORMS, type SecretMaterial } from './jose.js'
import { FINGERPRINT_BYTES, PUBLISHED_SECRETS } from './published-secrets.js'

/** The secret as a key, or `ConfigurationError` when it is not a secret or too weak for the algorithm. */
export function importSecret(
  field: string,
  material: SecretMaterial,
  algorithm: Algorithm,
  allowWeak: boolean,
): NodeKey {
  const bytes = toBytes(field, material)
  if (bytes.length === 0) throw new ConfigurationError(`${field} is empty`)
  const weakness = allowWeak ? null : readSecretWeakness(bytes, algorithm)
  if (weakness !== null) {
    const minimum = minSecretBytes(algorithm)
    throw new ConfigurationError(
      `${field} ${weakness.reason}; ${algorithm} needs ${minimum} random bytes (RFC 7518 section 3.2): ` +
        `node -e "console.log(require('node:crypto').randomBytes(${minimum}).toString('base64url'))"`,
    )
  }
  if (looksLikeKey(bytes)) {
    throw new ConfigurationError(
      `${field} is an asymmetric key, not a secret; use JWT_PRIVATE_KEY or JWT_PUBLIC_KEY for it`,
    )
  }
  return createSecretKey(bytes)
}

function minSecretBytes(algorithm: Algorithm): number {
  const spec = ALGORITHMS[algorithm]
  return spec.family === 'hmac' ? spec.minSecretBytes : 0
}

/** Why a secret can be guessed. */
export interface SecretWeakness {
  readonly reason: string
  /** In bytes, without what adds no entropy: of a part that is repeated, only one counts. */
  readonly length: number
  /** Whether an attacker need not even search: it is published, or repeats a few characters. */
  readonly isKnown: boolean
}

// Random bytes, and random digits of this length, practically always have more.
const MIN_DISTINCT_BYTES = 6

/** Why a secret of an algorithm can be guessed, or `null`. */
export function readSecretWeakness(given: Uint8Array, algorithm: Algorithm): SecretWeakness | null {
  const secret = Buffer.from(given)
  // White space around a text adds no entropy, nor do zeros behind it: HMAC pads keys with them (RFC 2104 §2).
  const text = secret.toString().replace(/\0+$/, '').trim()
  // Bytes that are not text may begin or end like that by chance.
  const bytes = /^[ -~]*$/.test(text) ? Buffer.from(text) : secret
  const unit = readUnit(bytes)
  const { length } = unit
  const isKnown = new Set(secret).size < MIN_DISTINCT_BYTES
  const minimum = minSecretBytes(algorithm)
  if (isPublished(text, secret) || isPublished(unit.toString(), unit)) {
    return { reason: 'is on a published list of secrets', length, isKnown: true }
  }
  if (bytes.length < minimum) return { reason: `is too short: it has ${bytes.length} bytes`, length, isKnown }
  if (length < minimum) {
    return { reason: `repeats the same ${length === 1 ? 'byte' : `${length} bytes`}`, length, isKnown }
  }
  return isKnown ? { reason: 'repeats a few characters', length, isKnown } : null
}

// The shortest part that a secret is a repetition of, the last one perhaps incomplete; or else the secret itself. Random
// bytes are one only by a chance of less than 1 in 2^100, and random digits of 1 in 10^16.
function readUnit(bytes: Buffer): Buffer {
  for (let size = 1; size * 2 <= bytes.length; size++) {
    if (bytes.subarray(size).equals(bytes.subarray(0, -size))) return bytes.subarray(0, size)
  }
  return bytes
}

// Compares the text, and every text that decodes to the same bytes.
function isPublished(text: string, secret: Buffer): boolean {
  const hex = secret.toString('hex')
  return [text, hex, hex.toUpperCase(), secret.toString('base64'), secret.toString('base64url')].some(
    isListed,
  )
}

let fingerprints: Set<number> | undefined

function isListed(spelling: string): boolean {
  if (fingerprints === undefined) {
    fingerprints = new Set()
    const list = Buffer.from(PUBLISHED_SECRETS, 'base64')
    for (let at = 0; at < list.length; at += FINGERPRINT_BYTES) {
      fingerprints.add(list.readUIntBE(at, FINGERPRINT_BYTES))
    }
  }
  const digest = createHash('sha256').update(spelling).digest()
  return fingerprints.has(digest.readUIntBE(0, FINGERPRINT_BYTES))
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

// Only the second defence: recognising keys by their look has failed in many libraries. The first is that secrets and
// keys are different fields, and each algorithm reads one of them.
function looksLikeKey(bytes: Buffer): boolean {
  const text = resolveEscapes(bytes.toString('latin1'))
  // Also encoded: the body of a PEM file without its first and last line, or a whole file in a variable.
  return [bytes, Buffer.from(text, 'base64'), Buffer.from(text, 'hex')].some(holdsKey)
}

function holdsKey(bytes: Buffer): boolean {
  const text = resolveEscapes(bytes.toString('latin1'))
  return (
    text.includes('-----BEGIN') ||
    SSH_KEY.test(text) ||
    ASYMMETRIC_JWK.test(text) ||
    (bytes[0] === DER_SEQUENCE && holdsDer(bytes))
  )
}

function holdsDer(bytes: Buffer): boolean {
  return (
    DER_TYPES.some((type) => canParse(() => createPublicKey({ key: bytes, format: 'der', type }))) ||
    canParse(() => new X509Certificate(bytes))
  )
}

// JSON may write any character as \uXXXX, and JSON within JSON has more backslashes.
function resolveEscapes(text: string): string {
  return text
    .replace(/\\[nr]/g, '')
    .replace(/\\u00(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll('\\', '')
}

const SSH_KEY = /(?:^|\s)(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-\w+) /
const ASYMMETRIC_JWK = /"kty"\s*:\s*"(?:RSA|EC|OKP)"/
// Every key and certificate starts with it. To parse anything else takes longer than the rest of a secret's import.
const DER_SEQUENCE = 0x30
const DER_TYPES = ['spki', 'pkcs1'] as const

function canParse(parse: () => unknown): boolean {
  try {
    parse()
    return true
  } catch {
    return false
  }
}
