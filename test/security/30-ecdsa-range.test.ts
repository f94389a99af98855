import { sign } from 'node:crypto'
import { attack, describeAttacks, type Lab } from './harness/attack.js'
import { toBytes, toInteger } from './harness/broken-rsa.js'
import { CLAIMS, encode, flipS, keyPairOf } from './harness/forge.js'
import { forgeAs, openAs } from './harness/keys-for.js'

const SIZES = { ES256: 32, ES384: 48, ES512: 66 } as const
type EcdsaAlgorithm = keyof typeof SIZES
const ALGORITHMS = Object.keys(SIZES) as EcdsaAlgorithm[]

/** The order of the group: the s that belongs to no s at all. */
const orderOf = (algorithm: EcdsaAlgorithm): bigint =>
  toInteger(flipS(Buffer.alloc(2 * SIZES[algorithm]), algorithm).subarray(SIZES[algorithm]))

/** Tries what `create` makes of an honest signature, its r and its s. */
async function trySignatures(
  lab: Lab,
  algorithms: readonly EcdsaAlgorithm[],
  create: (r: Buffer, s: Buffer, algorithm: EcdsaAlgorithm) => readonly (Uint8Array | string)[],
): Promise<void> {
  for (const algorithm of algorithms) {
    const verifier = await openAs(lab, algorithm)
    const honest = Buffer.from(forgeAs(algorithm).split('.')[2] ?? '', 'base64url')
    const half = SIZES[algorithm]
    for (const signature of create(honest.subarray(0, half), honest.subarray(half), algorithm)) {
      await verifier.refuses(forgeAs(algorithm, { signature }))
    }
  }
}

describeAttacks('ECDSA signatures out of range (CVE-2022-21449, RFC 7518 §3.4)', () => {
  attack('zero, and the other edges of the range', (lab) =>
    trySignatures(lab, ALGORITHMS, (r, s, algorithm) => {
      const order = orderOf(algorithm)
      const size = SIZES[algorithm]
      const edges = [0n, 1n, 2n, order - 1n, order, order + 1n].map((value) => toBytes(value, size))
      const values = [...edges, Buffer.alloc(size, 0xff)]
      return values.flatMap((value) => [
        ...values.map((other) => Buffer.concat([value, other])),
        Buffer.concat([value, s]),
        Buffer.concat([r, value]),
      ])
    }),
  )

  attack('r and s with the order added to them', (lab) =>
    // Only the bytes of P-521 have room for it.
    trySignatures(lab, ['ES512'], (r, s, algorithm) => {
      const larger = (value: Buffer) => toBytes(toInteger(value) + orderOf(algorithm), SIZES[algorithm])
      return [
        Buffer.concat([larger(r), s]),
        Buffer.concat([r, larger(s)]),
        Buffer.concat([larger(r), larger(s)]),
      ]
    }),
  )

  attack('DER in place of r and s side by side', async (lab) => {
    for (const algorithm of ALGORITHMS) {
      const verifier = await openAs(lab, algorithm)
      const input = `${encode({ alg: algorithm, typ: 'JWT' })}.${encode(CLAIMS)}`
      const key = keyPairOf(algorithm).privateKey
      // Many of these, as half of them have a high s.
      for (let round = 0; round < 8; round++) {
        await verifier.refuses(
          `${input}.${encode(sign(`sha${algorithm.slice(2)}`, Buffer.from(input), key))}`,
        )
      }
      // Zero and zero: the signature that proved everything to Java.
      await verifier.refuses(`${input}.MAYCAQACAQA`)
    }
  })

  attack('r and s in more or fewer bytes', (lab) =>
    trySignatures(lab, ALGORITHMS, (r, s) => {
      const zero = Buffer.alloc(1)
      return [
        Buffer.concat([zero, r, zero, s]),
        Buffer.concat([zero, r, s]),
        Buffer.concat([r, s, zero]),
        Buffer.concat([r, zero, s]),
        Buffer.concat([Buffer.alloc(66 - r.length + 1), r, Buffer.alloc(66 - s.length + 1), s]),
        Buffer.concat([r.subarray(1), s.subarray(1)]),
        Buffer.concat([r, s.subarray(0, -1)]),
        Buffer.concat([r, s, r, s]),
        r,
        s,
      ]
    }),
  )

  attack('s and r the wrong way round, or one of another token', (lab) =>
    trySignatures(lab, ALGORITHMS, (r, s, algorithm) => {
      const other = Buffer.from(
        forgeAs(algorithm, { claims: { ...CLAIMS, sub: 'grace' } }).split('.')[2] ?? '',
        'base64url',
      )
      const half = SIZES[algorithm]
      return [
        Buffer.concat([s, r]),
        Buffer.concat([r.toReversed(), s.toReversed()]),
        Buffer.concat([r, other.subarray(half)]),
        Buffer.concat([other.subarray(0, half), s]),
        other,
      ]
    }),
  )
})
