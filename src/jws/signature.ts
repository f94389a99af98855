import { constants, createHmac, type KeyObject, sign, verify } from 'node:crypto'
import { isEqualConstantTime, readBase64url, toBase64url } from '../encoding.js'
import { ALGORITHMS, type AlgorithmSpec, toInteger } from './algorithms.js'
import type { BoundKey } from './key-ring.js'

type EcdsaSpec = Extract<AlgorithmSpec, { family: 'ecdsa' }>
type PublicKeySpec = Exclude<AlgorithmSpec, { family: 'hmac' }>

/** The signature of `input` by a key, in the form RFC 7518 §3 gives it, in base64url; ECDSA signatures are low-s. */
export function createSignature({ algorithm, key }: BoundKey, input: string): string {
  const spec = ALGORITHMS[algorithm]
  return spec.family === 'hmac' ? createMac(spec.hash, key, input) : toBase64url(signWith(spec, key, input))
}

// As text, which Node makes faster than a buffer.
function createMac(hash: string, key: KeyObject, input: string): string {
  return createHmac(hash, key).update(input).digest('base64url')
}

function signWith(spec: PublicKeySpec, key: KeyObject, input: string): Buffer {
  const bytes = Buffer.from(input)
  switch (spec.family) {
    case 'rsa':
      return sign(spec.hash, bytes, key)
    case 'rsa-pss':
      return sign(spec.hash, bytes, { key, ...PSS })
    case 'ecdsa':
      return toLowS(sign(spec.hash, bytes, { key, ...P1363 }), spec)
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

/** Whether a text in base64url is the one signature of `input` that a key's algorithm accepts, in its one spelling. */
export function isSignature({ algorithm, key }: BoundKey, input: string, encoded: string): boolean {
  const spec = ALGORITHMS[algorithm]
  if (spec.family === 'hmac') {
    return isEqualConstantTime(createMac(spec.hash, key, input), encoded)
  }
  const signature = readBase64url(encoded)
  return signature !== null && verifyWith(spec, key, Buffer.from(input), signature)
}

function verifyWith(spec: PublicKeySpec, key: KeyObject, input: Buffer, signature: Buffer): boolean {
  switch (spec.family) {
    case 'rsa':
      return verify(spec.hash, input, key, signature)
    case 'rsa-pss':
      return verify(spec.hash, input, { key, ...PSS }, signature)
    case 'ecdsa':
      return isLowS(signature, spec) && verify(spec.hash, input, { key, ...P1363 }, signature)
    case 'eddsa':
      return verify(null, input, key, signature)
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
// Only the lower half of s counts here.
function isLowS(bytes: Buffer, { size, highestS }: EcdsaSpec): boolean {
  return bytes.length === 2 * size && highestS.compare(bytes, size) >= 0
}

function toLowS(signature: Buffer, spec: EcdsaSpec): Buffer {
  if (isLowS(signature, spec)) return signature
  const s = BigInt(`0x${signature.toString('hex', spec.size)}`)
  signature.set(toInteger(spec.order - s, spec.size), spec.size)
  return signature
}
