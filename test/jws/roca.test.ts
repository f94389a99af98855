import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isRocaModulus } from '../../packages/tokenlib/src/tokens/asymmetric.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'

const toBytes = (value: bigint): Buffer => {
  const hex = value.toString(16)
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
}

// The mark of the broken generator is that a modulus is a power of 65537 modulo many small primes; this one is a power
// outright, of 2,065 bits.
const MARKED = 65_537n ** 129n

describe('an RSA key of the generator that can be factored (CVE-2017-15361)', () => {
  test('is refused by every RSA algorithm', () => {
    const key = { kty: 'RSA', n: toBytes(MARKED).toString('base64url'), e: 'AQAB' }
    for (const JWT_ALGORITHM of ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const) {
      const build = () => createManager({ JWT_ALGORITHM, JWT_PUBLIC_KEY: key })
      expect(build).toThrow(naming('ConfigurationError', 'CVE-2017-15361'))
    }
  })

  test('is known by every one of the primes', () => {
    expect(isRocaModulus(toBytes(MARKED))).toBe(true)
    // For each prime, the smallest number that is no power of 65537 modulo it.
    for (const prime of [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]) {
      const powers = new Set(
        Array.from({ length: prime }, (_, exponent) => 65_537n ** BigInt(exponent) % BigInt(prime)),
      )
      const others = Array.from({ length: prime }, (_, residue) => BigInt(residue)).filter(
        (value) => !powers.has(value),
      )
      expect(others.length).toBeGreaterThan(0)
      // One step of the product of all other primes changes the residue of this one alone.
      const step = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]
        .filter((other) => other !== prime)
        .reduce((product, other) => product * BigInt(other), 1n)
      let moved = MARKED
      while (powers.has(moved % BigInt(prime))) moved += step
      expect(isRocaModulus(toBytes(moved))).toBe(false)
    }
  })

  test('is not seen in keys of other generators', () => {
    const { n } = keyPairFor('RS256').publicKey.export({ format: 'jwk' })
    expect(isRocaModulus(Buffer.from(n ?? '', 'base64url'))).toBe(false)
    for (let round = 0; round < 200; round++) expect(isRocaModulus(randomBytes(256))).toBe(false)
  })
})
