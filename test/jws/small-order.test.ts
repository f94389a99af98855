import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../packages/tokenlib/src/index.js'
import { isSmallOrder } from '../../packages/tokenlib/src/tokens/asymmetric.js'
import { createManager } from '../helpers/manager.js'

const FIELD_PRIME = 2n ** 255n - 19n

const encode = (y: bigint, isNegative = false): Buffer => {
  const bytes = Buffer.from(Buffer.from(y.toString(16).padStart(64, '0'), 'hex').toReversed())
  if (isNegative) bytes[31] = (bytes[31] ?? 0) | 0x80
  return bytes
}

// The y of all points whose order divides eight, as others have published them; two can also be written unreduced.
const ORDER_EIGHT = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n
const SMALL = [
  0n,
  1n,
  FIELD_PRIME - 1n,
  FIELD_PRIME,
  FIELD_PRIME + 1n,
  ORDER_EIGHT,
  FIELD_PRIME - ORDER_EIGHT,
]

describe('an Ed25519 key with which anyone can sign (small order)', () => {
  test.each(
    SMALL.flatMap((y) => [encode(y), encode(y, true)]).map(
      (bytes) => [bytes.toString('hex'), bytes] as const,
    ),
  )('%s is refused', (_, bytes) => {
    expect(isSmallOrder(bytes)).toBe(true)
    const JWT_PUBLIC_KEY = { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }
    for (const JWT_ALGORITHM of ['EdDSA', 'Ed25519'] as const) {
      expect(() => createManager({ JWT_ALGORITHM, JWT_PUBLIC_KEY })).toThrow(ConfigurationError)
    }
  })

  test('its neighbours are not of small order, and no made key is', () => {
    for (const y of [2n, 3n, FIELD_PRIME - 2n, FIELD_PRIME + 2n, ORDER_EIGHT + 1n, ORDER_EIGHT - 1n]) {
      expect(isSmallOrder(encode(y))).toBe(false)
    }
    for (let round = 0; round < 50; round++) {
      const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
      expect(isSmallOrder(Buffer.from(x, 'base64url'))).toBe(false)
    }
  })
})
