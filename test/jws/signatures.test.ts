import {
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
} from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { TokenSignatureError } from '../../packages/tokenlib/src/errors.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import {
  ALGORITHMS,
  type BoundKey,
  createSignature,
  type EcdsaSpec,
  isSignature,
  readLowerSpelling,
} from '../../packages/tokenlib/src/tokens/algorithms.js'
import { readKeyMismatch } from '../../packages/tokenlib/src/tokens/asymmetric.js'
import { toBase64url } from '../../packages/tokenlib/src/encoding.js'
import { createKeyRing, type KeySources } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { encodeHeader, measureCompact, signCompact } from '../../packages/tokenlib/src/tokens/compact.js'
import { ALL_ALGORITHMS, keyPairFor } from '../helpers/keys.js'
import { createManager, NOW, SECRET } from '../helpers/manager.js'
import { verifyJws } from '../helpers/verify-jws.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const ECDSA = ['ES256', 'ES384', 'ES512'] as const

const ringFor = (algorithm: Algorithm, sources: Partial<KeySources> = {}) =>
  createKeyRing({
    JWT_ALGORITHM: algorithm,
    JWT_DECODE_ALGORITHMS: [],
    JWT_SECRET_KEY: SECRET,
    JWT_PREVIOUS_SECRET_KEY: null,
    JWT_PRIVATE_KEY: algorithm.startsWith('HS') ? null : keyPairFor(algorithm).privateKey,
    JWT_PRIVATE_KEY_PASSPHRASE: null,
    JWT_PUBLIC_KEY: null,
    JWT_PREVIOUS_PUBLIC_KEY: null,
    JWT_ALLOW_WEAK_SECRET: false,
    ...sources,
  })
const keyFor = (algorithm: Algorithm) => ringFor(algorithm).signingKey(0) as BoundKey

describe.each(ALL_ALGORITHMS)('%s', (algorithm) => {
  const ring = ringFor(algorithm)
  const signing = ring.signingKey(0) as BoundKey
  const input = `${encodeHeader(signing, 'JWT')}.${toBase64url('{"sub":"u"}')}`

  test('the length of a token is known before it is signed', () => {
    expect(measureCompact(signing, input)).toBe(signCompact(signing, input).length)
  })

  test('a signature of any other length is refused, and breaks nothing', () => {
    const signature = Buffer.from(createSignature(signing, input), 'base64url')
    const zeros = Buffer.alloc(200)
    const others = [1, 2, 31, 32, 48, 63, signature.length / 2, signature.length - 1].map((length) =>
      signature.subarray(0, length),
    )
    for (const other of [...others, Buffer.concat([signature, zeros.subarray(0, 1)])]) {
      if (other.length === signature.length) continue
      expect(() => verifyJws(ring, `${input}.${other.toString('base64url')}`)).toThrow(TokenSignatureError)
    }
  })
})

test.each(ALL_ALGORITHMS)('%s: a signature in another spelling is refused', (algorithm) => {
  const ring = ringFor(algorithm)
  const signing = ring.signingKey(0) as BoundKey
  const token = signCompact(signing, `${encodeHeader(signing, 'JWT')}.${toBase64url('{"sub":"u"}')}`)
  expect(verifyJws(ring, token)).toBe('{"sub":"u"}')
  for (const spelling of [`${token}=`, `${token}\n`, `${token}*`]) {
    expect(() => verifyJws(ring, spelling)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }))
  }
})

describe.each(ECDSA)('the two signatures that every %s token has', (algorithm) => {
  const key = keyFor(algorithm)
  const bound = ringFor(algorithm).verifying[0] as BoundKey

  test('ours is always the one with the low s, and holds', () => {
    // Half of those that Node makes are of the other kind; one in eight of ours starts with a zero digit.
    for (let round = 0; round < 24; round++) {
      const input = `${algorithm} ${round}`
      const signature = Buffer.from(createSignature(key, input), 'base64url')
      expect(isSignature(bound, input, signature.toString('base64url'))).toBe(true)
      // All three orders start with ones: the upper half of the numbers has the highest bit set.
      const highest = signature[signature.length / 2] as number
      expect(highest).toBeLessThan(algorithm === 'ES512' ? 0x01 : 0x80)
    }
  })
})

describe.each(ECDSA)('the lower spelling of an %s signature', (algorithm) => {
  const { size, order } = ALGORITHMS[algorithm] as EcdsaSpec
  const toSignature = (s: bigint): string =>
    Buffer.from('1'.repeat(2 * size) + s.toString(16).padStart(2 * size, '0'), 'hex').toString('base64url')

  test('has the other s', () => {
    for (const s of [1n, 2n, order >> 1n]) {
      expect(readLowerSpelling(algorithm, toSignature(order - s))).toBe(toSignature(s))
    }
  })

  test('is for a higher s within the group', () => {
    for (const s of [0n, 1n, order >> 1n, order, order + 1n]) {
      expect(readLowerSpelling(algorithm, toSignature(s))).toBeNull()
    }
  })

  test('is for a signature of the right length, in canonical base64url', () => {
    const bytes = Buffer.from(toSignature(order - 1n), 'base64url')
    const longer = Buffer.concat([bytes, bytes.subarray(0, 1)])
    for (const other of [bytes.subarray(0, -1), bytes.subarray(0, size), Buffer.alloc(0), longer]) {
      expect(readLowerSpelling(algorithm, other.toString('base64url'))).toBeNull()
    }
    expect(readLowerSpelling(algorithm, `${bytes.toString('base64url')}=`)).toBeNull()
  })
})

test('other algorithms have no lower spelling, whether they are known or not', () => {
  const high = Buffer.alloc(64, 0xf0).toString('base64url')
  expect(readLowerSpelling('ES256', high)).not.toBeNull()
  for (const algorithm of ['EdDSA', 'RS256', 'HS256', 'ES256K', 'ES', 'toString', '']) {
    expect(readLowerSpelling(algorithm, high)).toBeNull()
  }
})

test('the middle of the range of s counts as low', () => {
  // s = (n - 1) / 2, by a private key that is made for this one signature: d = (s k - z) / r modulo n.
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  const toBytes = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')
  const toInteger = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`)
  const inverse = (value: bigint): bigint => {
    let [result, base] = [1n, value]
    for (let exponent = order - 2n; exponent > 0n; exponent >>= 1n) {
      if (exponent & 1n) result = (result * base) % order
      base = (base * base) % order
    }
    return result
  }
  const pointOf = (scalar: bigint): Buffer => {
    const curve = createECDH('prime256v1')
    curve.setPrivateKey(toBytes(scalar))
    return curve.getPublicKey()
  }
  const input = `${encode({ alg: 'ES256' })}.${encode({ sub: 'u', type: 'access', exp: NOW + 60 })}`
  const z = toInteger(createHash('sha256').update(input).digest())
  const nonce = 123_456_789n
  const r = toInteger(pointOf(nonce).subarray(1, 33)) % order
  const middle = order >> 1n
  const keyWith = (s: bigint) => {
    const d = ((((s * nonce - z) * inverse(r)) % order) + order) % order
    const point = pointOf(d)
    const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'))
    return createPublicKey(
      createPrivateKey({
        key: { kty: 'EC', crv: 'P-256', x, y, d: toBytes(d).toString('base64url') } as never,
        format: 'jwk',
      }),
    )
  }
  const verify = (s: bigint) => {
    const { tokens } = createManager({ JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: keyWith(s) })
    const signature = Buffer.concat([toBytes(r), toBytes(s)]).toString('base64url')
    return internalsOf(tokens).verifyWithoutRevocation(`${input}.${signature}`)
  }
  expect(verify(middle).sub).toBe('u')
  expect(() => verify(middle + 1n)).toThrow(TokenSignatureError)
})

test('a signing input is a header of three members, a dot and the payload', () => {
  const key = keyFor('HS256')
  const input = `${encodeHeader(key, 'JWT', { tenant: 'a' })}.${toBase64url('{"sub":"ü"}')}`
  const [header = '', payload = ''] = input.split('.')
  expect(Buffer.from(header, 'base64url').toString()).toBe(
    `{"alg":"HS256","typ":"JWT","kid":"${key.kid}","tenant":"a"}`,
  )
  expect(Buffer.from(payload, 'base64url').toString()).toBe('{"sub":"ü"}')
  const mac = createHmac('sha256', SECRET).update(input).digest('base64url')
  expect(signCompact(key, input)).toBe(`${input}.${mac}`)
})

test('a header of one character is a malformed header, and not a missing one', () => {
  expect(() => verifyJws(ringFor('HS256'), 'a.b.c')).toThrow(
    expect.objectContaining({ code: 'TOKEN_INVALID' }),
  )
})

test('a secret serves HMAC, and no other algorithm', () => {
  const secret = createSecretKey(Buffer.from(SECRET))
  const isFit = (algorithm: Algorithm) => readKeyMismatch(algorithm, secret) === null
  expect(ALL_ALGORITHMS.filter(isFit)).toEqual(['HS256', 'HS384', 'HS512'])
})

test('a header may be as long as the longest that is read', () => {
  const key = keyFor('HS256')
  // 1536 bytes are 2048 characters of base64url.
  const pad = 'x'.repeat(1536 - JSON.stringify({ alg: 'HS256', typ: 'JWT', kid: key.kid, pad: '' }).length)
  expect(encodeHeader(key, 'JWT', { pad })).toHaveLength(2048)
  expect(() => encodeHeader(key, 'JWT', { pad: `${pad}x` })).toThrow(TypeError)
})
