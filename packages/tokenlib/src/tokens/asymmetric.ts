import { createPrivateKey, createPublicKey, type JsonWebKey, KeyObject } from 'node:crypto'
import { ConfigurationError } from '../errors.js'
import { ALGORITHMS } from './algorithms.js'
import { type Algorithm, isJwk, KEY_FORMS, type KeyMaterial, type NodeKey } from './jose.js'

/** Where the passphrase of an encrypted private key comes from. */
export interface Passphrase {
  /** The name of its field, for error messages. */
  readonly field: string
  readonly text: string | null
}

/** The private key, or `ConfigurationError`. */
export function importPrivateKey(field: string, material: KeyMaterial, passphrase: Passphrase): NodeKey {
  if (!isEncrypted(material)) {
    if (passphrase.text !== null) {
      throw new ConfigurationError(`${passphrase.field} is set, but ${field} is not an encrypted key in PEM`)
    }
    return importKey(field, material, 'private')
  }
  if (passphrase.text === null) {
    throw new ConfigurationError(`${field} is an encrypted key: set ${passphrase.field}`)
  }
  try {
    return createPrivateKey({ key: toPem(field, material), passphrase: passphrase.text })
  } catch {
    throw new ConfigurationError(`${field} cannot be decrypted with ${passphrase.field}`)
  }
}

// RFC 7468 §11 (PKCS #8), or the headers of the older format (RFC 1421 §4.6.1.1).
function isEncrypted(material: KeyMaterial): boolean {
  return (
    typeof material === 'string' &&
    /-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(material)
  )
}

/** The public key, or `ConfigurationError`. Refuses a private key instead of converting it. */
export function importPublicKey(field: string, material: KeyMaterial): NodeKey {
  return importKey(field, material, 'public')
}

/** The public part of a private key: from its JWK, unverified, or else derived by Node. */
export function readPublicPart(field: string, material: KeyMaterial, key: NodeKey): NodeKey {
  if (!isJwk(material)) return detach(createPublicKey(key as KeyObject))
  try {
    return createPublicKey({ key: material as JsonWebKey, format: 'jwk' })
  } catch {
    throw cannotImport(field, material)
  }
}

function importKey(field: string, material: KeyMaterial, type: 'private' | 'public'): KeyObject {
  if (material instanceof KeyObject) {
    if (material.type !== type) {
      throw new ConfigurationError(`${field} must be a ${type} key, not a ${material.type} one`)
    }
    try {
      return detach(material)
    } catch {
      throw cannotImport(field, material)
    }
  }
  const source = isJwk(material) ? material : toPem(field, material)
  const isPrivate = isJwk(source) ? 'd' in source : source.includes('PRIVATE KEY-----')
  if (type === 'public' && isPrivate)
    throw new ConfigurationError(`${field} must be a public key, not a private one`)
  const input = isJwk(source) ? { key: source as JsonWebKey, format: 'jwk' as const } : source
  let key: KeyObject
  try {
    key = type === 'private' ? createPrivateKey(input) : createPublicKey(input)
  } catch {
    throw cannotImport(field, source)
  }
  if (!keepsPssParameters(source, key)) throw cannotImport(field, source)
  return key
}

// Deno drops the parameters of an RSASSA-PSS key, and so would give it another `kid` than Node does.
function keepsPssParameters(source: unknown, key: KeyObject): boolean {
  const hasParameters = readPssParameters(source)
  if (hasParameters === null) return true
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  return hasPssParameters(publicKey.export({ format: 'der', type: 'spki' })) === hasParameters
}

// Without a cause: its message may quote members of a JWK.
function cannotImport(field: string, source: KeyMaterial): ConfigurationError {
  const isPss =
    source instanceof KeyObject ? source.asymmetricKeyType === 'rsa-pss' : readPssParameters(source) !== null
  return new ConfigurationError(
    isPss
      ? `${field} is an RSASSA-PSS key, which this runtime cannot import: use an RSA key, which PS256 takes as well`
      : `${field} is not a key that this runtime can import`,
  )
}

// RFC 4055 §1.2: id-RSASSA-PSS, as the algorithm of a key and not of a signature on it.
const PSS_IDENTIFIER = Buffer.of(6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 10)
const ALGORITHM_END = 32
const SEQUENCE = 0x30

// Whether PEM text is an RSASSA-PSS key with parameters; `null` for other keys.
function readPssParameters(source: unknown): boolean | null {
  const [, base64] = /-----BEGIN (?:PUBLIC|PRIVATE) KEY-----([^-]*)-----END/.exec(String(source)) ?? []
  return base64 === undefined ? null : hasPssParameters(Buffer.from(base64, 'base64'))
}

function hasPssParameters(der: Buffer): boolean | null {
  const at = der.subarray(0, ALGORITHM_END).indexOf(PSS_IDENTIFIER)
  return at < 0 ? null : der[at + PSS_IDENTIFIER.length] === SEQUENCE
}

/**
 * A copy of a key, through its DER form.
 *
 * In Node 20 a key from `generateKeyPairSync` shares a lock with the work that made it. When that work is collected as
 * garbage while the details or the JWK of the key are read, the thread waits for itself for ever. A copy has its own lock.
 */
function detach(key: KeyObject): KeyObject {
  return key.type === 'private'
    ? createPrivateKey({ key: key.export({ format: 'der', type: 'pkcs8' }), format: 'der', type: 'pkcs8' })
    : createPublicKey({ key: key.export({ format: 'der', type: 'spki' }), format: 'der', type: 'spki' })
}

// RFC 7468 §2: a label, base64 text and the label again. The headers of an encrypted block have hyphens (RFC 1421 §4.6):
// such a block does not match, and stays as it is.
const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g

// Environment variables and secret stores often hold a PEM file in one line: without its line ends, with spaces in their
// place, or with the two characters `\n`. Node reads none of these.
function toPem(field: string, material: unknown): string {
  if (typeof material !== 'string' || !material.includes('-----BEGIN ')) {
    throw new ConfigurationError(`${field} must be ${KEY_FORMS}`)
  }
  const pem = material.replaceAll(PEM_BLOCK, (_, label: string, body: string) => {
    const base64 = body.replaceAll(/\\[nr]|\s/g, '')
    const lines = base64.replaceAll(/.{1,64}/g, '$&\n')
    return `\n-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`
  })
  // Deno reads no private key with anything behind it, be it an empty line.
  return pem.slice(0, pem.lastIndexOf('-----') + 5)
}

/** Why a key cannot serve an algorithm, or `null` when it can. */
export function readKeyMismatch(algorithm: Algorithm, given: NodeKey): string | null {
  const key = given as KeyObject
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
      // RFC 7518 §3.3 and §3.5: 2048 bits or larger. With an exponent of 1 every text is its own signature.
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

/**
 * The modulus of an RSA or RSA-PSS key. The DER form ends with it, then the exponent with two bytes of type and length;
 * Node cannot export an RSA-PSS key as a JWK.
 */
export function readModulus(key: KeyObject): Buffer {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const end = -3 - Math.floor(publicExponent.toString(2).length / 8)
  return key.export({ format: 'der', type: 'spki' }).subarray(end - Math.ceil(modulusLength / 8), end)
}

// A key without parameters works with any hash; one with parameters only with those.
function isPssFor(hash: string, key: KeyObject): boolean {
  const { hashAlgorithm = hash, mgf1HashAlgorithm = hash, saltLength = 0 } = key.asymmetricKeyDetails ?? {}
  return hashAlgorithm === hash && mgf1HashAlgorithm === hash && saltLength <= Number(hash.slice(3)) / 8
}

// The primes up to 167 for which 65537 does not generate every residue.
const ROCA_PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]

/**
 * Whether an RSA modulus was made by the broken generator of Infineon's chips (ROCA, CVE-2017-15361).
 *
 * Its primes are powers of 65537 modulo a product of small primes, and so is the modulus, which can then be factored.
 * Other keys have this property once in two hundred million.
 */
export function isRocaModulus(bytes: Uint8Array): boolean {
  const modulus = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  return ROCA_PRIMES.every((prime) => isPower(Number(modulus % BigInt(prime)), prime))
}

function isPower(residue: number, prime: number): boolean {
  let power = 1
  do {
    if (power === residue) return true
    power = (power * 65_537) % prime
  } while (power !== 1)
  return false
}

const FIELD_PRIME = 2n ** 255n - 19n

/**
 * Whether an Ed25519 public key, in its 32 bytes (RFC 8032 §5.1.2), is a point whose order divides eight.
 *
 * Anyone can sign for such a key: the term of the equation that depends on the private key vanishes. These points have
 * y = 0 or y = ±1, or are halves of those with y = 0: then x² = -y², and the equation of the curve becomes the last
 * factor.
 */
export function isSmallOrder(bytes: Uint8Array): boolean {
  const integer = BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`)
  // The highest bit is the sign of x.
  const y = BigInt.asUintN(255, integer)
  const square = y * y
  return (
    (y * (square - 1n) * (121_665n * square * square - 243_332n * square + 121_666n)) % FIELD_PRIME === 0n
  )
}
