import {
  constants,
  createHmac,
  createSign,
  createVerify,
  type KeyObject,
  sign,
  type SigningOptions,
  verify,
} from 'node:crypto'
import { isEqualConstantTime, readBase64url, toBase64url } from '../encoding.js'
import type { FastMacCheck } from './hmac-sha256.js'
import type { Algorithm, NodeKey } from './jose.js'
import { IS_WORKERD } from '../runtime.js'

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
      /** Half of the order: the largest s that is accepted. */
      readonly highestS: Uint8Array
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

// A number as big-endian bytes.
function toInteger(value: bigint, size: number): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * size, '0'), 'hex')
}

/** Whether an algorithm signs with a secret. */
export function isHmac(algorithm: Algorithm): boolean {
  return ALGORITHMS[algorithm].family === 'hmac'
}

/** A key bound to the one algorithm it may be used with (RFC 8725 §3.1). */
export interface BoundKey {
  readonly algorithm: Algorithm
  readonly kid: string
  /** The `kid`, and the one derived from the key if that differs. */
  readonly ids: readonly string[]
  readonly key: NodeKey
  /** Accepts most MACs of an HS256 key, faster than `node:crypto`, which decides about the others. */
  readonly fastMac?: FastMacCheck | null
}

/** How an ECDSA algorithm signs. */
export type EcdsaSpec = Extract<AlgorithmSpec, { family: 'ecdsa' }>
type PublicKeySpec = Exclude<AlgorithmSpec, { family: 'hmac' }>

/** The signature of `input` by a key (RFC 7518 §3) in base64url; ECDSA signatures are low-s. */
export function createSignature({ algorithm, key }: BoundKey, input: string): string {
  const spec = ALGORITHMS[algorithm]
  const keyObject = key as KeyObject
  return spec.family === 'hmac'
    ? createMac(spec.hash, keyObject, input)
    : toBase64url(signWith(spec, keyObject, input))
}

// As text: faster in Node than a buffer.
function createMac(hash: string, key: KeyObject, input: string): string {
  return createHmac(hash, key).update(input).digest('base64url')
}

function signWith(spec: PublicKeySpec, key: KeyObject, input: string): Buffer {
  const bytes = Buffer.from(input)
  switch (spec.family) {
    case 'rsa':
      return sign(spec.hash, bytes, key)
    case 'rsa-pss':
      return signWithOptions(spec.hash, bytes, key, PSS)
    case 'ecdsa':
      return toLowS(signWithOptions(spec.hash, bytes, key, P1363), spec)
    case 'eddsa':
      return sign(null, bytes, key)
  }
}

/** How many bytes the signatures of a key have. */
export function signatureSize({ algorithm, key }: BoundKey): number {
  const spec = ALGORITHMS[algorithm]
  switch (spec.family) {
    case 'hmac':
      return spec.minSecretBytes
    case 'rsa':
    case 'rsa-pss':
      return Math.ceil((key.asymmetricKeyDetails?.modulusLength ?? 0) / 8)
    case 'ecdsa':
      return 2 * spec.size
    case 'eddsa':
      return 64
  }
}

/** Whether a text is a signature of `input` by a key, in canonical base64url. */
export function isSignature(boundKey: BoundKey, input: string, encoded: string): boolean {
  const { algorithm, key } = boundKey
  const spec = ALGORITHMS[algorithm]
  const keyObject = key as KeyObject
  if (spec.family === 'hmac') {
    if (boundKey.fastMac?.(input, encoded) === true) return true
    return isEqualConstantTime(createMac(spec.hash, keyObject, input), encoded)
  }
  const signature = readBase64url(encoded)
  // RFC 8017 §8.1.2: OpenSSL also accepts a PSS signature without its leading zeros, which is a second spelling of the token.
  if (signature?.length !== signatureSize(boundKey)) return false
  return verifyWith(spec, keyObject, input, signature)
}

function verifyWith(spec: PublicKeySpec, key: KeyObject, input: string, signature: Buffer): boolean {
  switch (spec.family) {
    case 'rsa':
      // Not `verify`, which is slower and needs the input as bytes.
      return createVerify(spec.hash).update(input).verify(key, signature)
    case 'rsa-pss':
      return verifyWithOptions(spec.hash, Buffer.from(input), key, PSS, signature)
    case 'ecdsa':
      return (
        isLowS(signature, spec) && verifyWithOptions(spec.hash, Buffer.from(input), key, P1363, signature)
      )
    case 'eddsa':
      return verify(null, Buffer.from(input), key, signature)
  }
}

// RFC 7518 §3.5: the salt is as long as the hash.
const PSS = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
} as const
// RFC 7518 §3.4: r and s side by side, not DER.
const P1363 = { dsaEncoding: 'ieee-p1363' } as const

// For every valid (r, s) the pair (r, n - s) is valid too: a second spelling of the token that anyone can make.
// Only the lower half of s is accepted.
function isLowS(bytes: Buffer, { size, highestS }: EcdsaSpec): boolean {
  return bytes.length === 2 * size && Buffer.compare(bytes.subarray(size), highestS) <= 0
}

/** The other spelling of an ECDSA signature whose s is the higher one, or `null` for any other text. */
export function readLowerSpelling(algorithm: string, encoded: string): string | null {
  const found = readEcdsa(algorithm, encoded)
  return found === null || isLowS(found.signature, found.spec) ? null : readOtherSpelling(found)
}

/** The other spelling of an ECDSA signature whose s is the lower one, or `null` for any other text. */
export function readHigherSpelling(algorithm: string, encoded: string): string | null {
  const found = readEcdsa(algorithm, encoded)
  return found !== null && isLowS(found.signature, found.spec) ? readOtherSpelling(found) : null
}

interface EcdsaSignature {
  readonly signature: Buffer
  readonly spec: EcdsaSpec
}

function readEcdsa(algorithm: string, encoded: string): EcdsaSignature | null {
  const spec = Object.hasOwn(ALGORITHMS, algorithm) ? ALGORITHMS[algorithm as Algorithm] : null
  if (spec?.family !== 'ecdsa') return null
  const signature = readBase64url(encoded)
  return signature?.length === 2 * spec.size ? { signature, spec } : null
}

// An s outside of the group is not a signature and has no other spelling.
function readOtherSpelling({ signature, spec }: EcdsaSignature): string | null {
  const s = BigInt(`0x${signature.toString('hex', spec.size)}`)
  return s < spec.order ? toBase64url(negateS(signature, spec)) : null
}

/** The low-s form of an ECDSA signature of the right length whose s is below the order; changes the bytes it is given. */
export function toLowS(signature: Buffer, spec: EcdsaSpec): Buffer {
  return isLowS(signature, spec) ? signature : negateS(signature, spec)
}

function negateS(signature: Buffer, { size, order }: EcdsaSpec): Buffer {
  const s = BigInt(`0x${signature.toString('hex', size)}`)
  signature.set(toInteger(order - s, size), size)
  return signature
}

// Cloudflare's workerd takes no KeyObject together with options. Its `sign` and `verify` take PEM text, but ignore
// `padding`: a PKCS #1 v1.5 signature would pass for RSA-PSS. `createSign` and `createVerify` get it right.

/** Makes a signature that needs options besides the key. */
export function signWithOptions(
  hash: string,
  input: Buffer,
  key: KeyObject,
  options: SigningOptions,
  isWorkerd: boolean = IS_WORKERD,
): Buffer {
  if (!isWorkerd) return sign(hash, input, { key, ...options })
  return createSign(hash)
    .update(input)
    .sign({ key: toPem(key), ...options })
}

/** Whether a signature that needs options besides the key is valid. */
export function verifyWithOptions(
  hash: string,
  input: Buffer,
  key: KeyObject,
  options: SigningOptions,
  signature: Buffer,
  isWorkerd: boolean = IS_WORKERD,
): boolean {
  if (!isWorkerd) return verify(hash, input, { key, ...options }, signature)
  return createVerify(hash)
    .update(input)
    .verify({ key: toPem(key), ...options }, signature)
}

const pemByKey = new WeakMap<KeyObject, string>()

function toPem(key: KeyObject): string {
  const known = pemByKey.get(key)
  if (known !== undefined) return known
  const pem = key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }).toString()
  pemByKey.set(key, pem)
  return pem
}
