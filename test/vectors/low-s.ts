import { ALGORITHMS } from '../../packages/tokenlib/src/tokens/algorithms.js'
import type { Algorithm } from '../../packages/tokenlib/src/tokens/jose.js'

// For every ECDSA signature (r, s) the pair (r, n - s) is one too. This library takes the lower s only, so that a
// token has one spelling; what it refuses for that reason it must accept as the other half of the pair.

/** The twin (r, n - s) of a signature whose s is in the upper half, or `null` for any other signature. */
export function readLowTwin(algorithm: Algorithm, signature: Uint8Array): Buffer | null {
  const spec = ALGORITHMS[algorithm]
  if (spec.family !== 'ecdsa' || signature.length !== 2 * spec.size) return null
  const bytes = Buffer.from(signature)
  const s = BigInt(`0x${bytes.toString('hex', spec.size)}`)
  if (2n * s <= spec.order || s >= spec.order) return null
  const low = (spec.order - s).toString(16).padStart(2 * spec.size, '0')
  return Buffer.concat([bytes.subarray(0, spec.size), Buffer.from(low, 'hex')])
}

/** The compact token with the lower s, or `null` when its s is not in the upper half. */
export function readLowTwinToken(algorithm: Algorithm, token: string): string | null {
  const dot = token.lastIndexOf('.')
  const twin = readLowTwin(algorithm, Buffer.from(token.slice(dot + 1), 'base64url'))
  return twin === null ? null : `${token.slice(0, dot)}.${twin.toString('base64url')}`
}
