import { constants, createHmac, sign, timingSafeEqual, verify } from 'node:crypto'
import { ALGORITHMS, type AlgorithmSpec } from './algorithms.js'
import type { BoundKey } from './key-ring.js'

type EcdsaSpec = Extract<AlgorithmSpec, { family: 'ecdsa' }>

/** The signature of `input` by a key, in the form RFC 7518 §3 gives it; ECDSA signatures are low-s. */
export function createSignature(bound: BoundKey, input: string): Buffer {
  const spec = ALGORITHMS[bound.algorithm]
  switch (spec.family) {
    case 'hmac':
      return createHmac(spec.hash, bound.key).update(input).digest()
    case 'rsa':
      return sign(spec.hash, Buffer.from(input), bound.key)
    case 'rsa-pss':
      return sign(spec.hash, Buffer.from(input), { key: bound.key, ...PSS })
    case 'ecdsa':
      return toLowS(sign(spec.hash, Buffer.from(input), { key: bound.key, ...P1363 }), spec)
    case 'eddsa':
      return sign(null, Buffer.from(input), bound.key)
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

/** Whether `signature` is the one signature of `input` that a key's algorithm accepts. */
export function isSignature(bound: BoundKey, input: string, signature: Uint8Array): boolean {
  const spec = ALGORITHMS[bound.algorithm]
  switch (spec.family) {
    case 'hmac': {
      const expected = createHmac(spec.hash, bound.key).update(input).digest()
      return signature.length === expected.length && timingSafeEqual(signature, expected)
    }
    case 'rsa':
      return verify(spec.hash, Buffer.from(input), bound.key, signature)
    case 'rsa-pss':
      return verify(spec.hash, Buffer.from(input), { key: bound.key, ...PSS }, signature)
    case 'ecdsa':
      return (
        isLowS(signature, spec) &&
        verify(spec.hash, Buffer.from(input), { key: bound.key, ...P1363 }, signature)
      )
    case 'eddsa':
      return verify(null, Buffer.from(input), bound.key, signature)
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
function isLowS(signature: Uint8Array, spec: EcdsaSpec): boolean {
  return signature.length === 2 * spec.size && toInteger(signature.subarray(spec.size)) <= spec.order >> 1n
}

function toLowS(signature: Buffer, spec: EcdsaSpec): Buffer {
  if (isLowS(signature, spec)) return signature
  const s = spec.order - toInteger(signature.subarray(spec.size))
  signature.set(Buffer.from(s.toString(16).padStart(2 * spec.size, '0'), 'hex'), spec.size)
  return signature
}

function toInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`)
}
