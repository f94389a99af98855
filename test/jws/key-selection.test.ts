import { describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../packages/tokenlib/src/index.js'
import { TokenSignatureError } from '../../packages/tokenlib/src/errors.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { createKeyRing, type KeySources } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { createKeyPair, keyPairFor } from '../helpers/keys.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { NO_KEYS } from '../vectors/key-sources.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const OLD = 'the-secret-of-last-year-which-is-long-enough-for-every-algorithm-too'
const toJwk = (secret: string, extra: object = {}) => ({
  kty: 'oct',
  k: Buffer.from(secret).toString('base64url'),
  ...extra,
})
const rsa = keyPairFor('RS256')
const p256 = keyPairFor('ES256')
const other = createKeyPair('ES256')

const createRing = (algorithm: Algorithm, sources: Partial<KeySources>) =>
  createKeyRing({ ...NO_KEYS, JWT_ALGORITHM: algorithm, ...sources })

describe('the ids of a key', () => {
  test('are one where the key names itself, and two where its JWK names it', () => {
    const plain = createRing('HS256', { JWT_SECRET_KEY: SECRET }).signingKey(0)
    expect(plain?.ids).toEqual([plain?.kid])
    const named = createRing('HS256', { JWT_SECRET_KEY: toJwk(SECRET, { kid: 'mine' }) }).signingKey(0)
    expect(named?.kid).toBe('mine')
    // A key that leaked under one id is the same key under the other.
    expect(named?.ids).toEqual(['mine', plain?.kid])
  })

  test('of a public key are those of its private one', () => {
    const signing = createRing('ES256', { JWT_PRIVATE_KEY: p256.privateKey }).signingKey(0)
    const { verifying } = createRing('ES256', { JWT_PUBLIC_KEY: p256.publicKey })
    expect(verifying.map(({ ids }) => ids)).toEqual([signing?.ids])
  })

  test('follow the public JWK where both halves are given', () => {
    const publicKey = { ...p256.publicKey.export({ format: 'jwk' }), kid: 'mine' }
    expect(
      createRing('ES256', { JWT_PRIVATE_KEY: p256.privateKey, JWT_PUBLIC_KEY: publicKey }).signingKey(0)?.kid,
    ).toBe('mine')
  })
})

describe('the keys of a ring', () => {
  test('are the current ones of every algorithm, then the previous ones', () => {
    const { signingKey, verifying } = createRing('HS512', {
      JWT_DECODE_ALGORITHMS: ['HS256', 'HS512'],
      JWT_SECRET_KEY: toJwk(SECRET, { kid: 'new' }),
      JWT_PREVIOUS_SECRET_KEY: toJwk(OLD, { kid: 'old' }),
    })
    expect(signingKey(0)).toMatchObject({ algorithm: 'HS512', kid: 'new' })
    expect(verifying.map(({ algorithm, kid }) => [algorithm, kid])).toEqual([
      ['HS512', 'new'],
      ['HS256', 'new'],
      ['HS512', 'old'],
      ['HS256', 'old'],
    ])
  })

  test('of a public key are what each fits: the previous one may be for another algorithm', () => {
    const { signingKey, verifying } = createRing('ES256', {
      JWT_DECODE_ALGORITHMS: ['RS256', 'PS256'],
      JWT_PRIVATE_KEY: p256.privateKey,
      JWT_PREVIOUS_PUBLIC_KEY: rsa.publicKey,
    })
    expect(signingKey(0)?.algorithm).toBe('ES256')
    expect(signingKey(0)?.key.type).toBe('private')
    expect(verifying.map(({ algorithm, key }) => [algorithm, key.type])).toEqual([
      ['ES256', 'public'],
      ['RS256', 'public'],
      ['PS256', 'public'],
    ])
  })

  test('are one alone where one alone is given', () => {
    const { signingKey, verifying } = createRing('HS256', { JWT_SECRET_KEY: SECRET })
    expect(verifying.map((key) => ({ ...key, external: null }))).toEqual([signingKey(0)])
    expect(createRing('ES256', { JWT_PUBLIC_KEY: p256.publicKey }).verifying).toHaveLength(1)
  })

  test('hold none that signs where only a public key is given', () => {
    expect(createRing('ES256', { JWT_PUBLIC_KEY: p256.publicKey }).signingKey(0)).toBeNull()
  })

  test('of a JWK that names an algorithm serve that one alone', () => {
    const previousPublicKey = { ...rsa.publicKey.export({ format: 'jwk' }), alg: 'PS256' }
    const { verifying } = createRing('RS256', {
      JWT_DECODE_ALGORITHMS: ['PS256'],
      JWT_PUBLIC_KEY: rsa.publicKey,
      JWT_PREVIOUS_PUBLIC_KEY: previousPublicKey,
    })
    expect(verifying.map(({ algorithm }) => algorithm)).toEqual(['RS256', 'PS256', 'PS256'])
  })
})

describe('a ring that cannot work is refused', () => {
  test.each<[string, () => unknown, string]>([
    [
      'the current key fits only another algorithm of the list',
      () =>
        createRing('ES256', {
          JWT_DECODE_ALGORITHMS: ['RS256'],
          JWT_PUBLIC_KEY: rsa.publicKey,
          JWT_PREVIOUS_PUBLIC_KEY: p256.publicKey,
        }),
      'JWT_PUBLIC_KEY: ES256 needs an EC key on curve prime256v1',
    ],
    [
      'the current JWK names only another algorithm of the list',
      () =>
        createRing('RS256', {
          JWT_DECODE_ALGORITHMS: ['PS256'],
          JWT_PUBLIC_KEY: { ...rsa.publicKey.export({ format: 'jwk' }), alg: 'PS256' },
          JWT_PREVIOUS_PUBLIC_KEY: rsa.publicKey,
        }),
      'JWT_PUBLIC_KEY: RS256 is not the "alg" of the JWK',
    ],
    [
      'the previous key fits no algorithm of the list',
      () => createRing('ES256', { JWT_PUBLIC_KEY: p256.publicKey, JWT_PREVIOUS_PUBLIC_KEY: rsa.publicKey }),
      'JWT_PREVIOUS_PUBLIC_KEY: ES256 needs an EC key on curve prime256v1',
    ],
    [
      'the previous JWK is for encryption',
      () =>
        createRing('ES256', {
          JWT_PUBLIC_KEY: p256.publicKey,
          JWT_PREVIOUS_PUBLIC_KEY: { ...other.publicKey.export({ format: 'jwk' }), use: 'enc' },
        }),
      'JWT_PREVIOUS_PUBLIC_KEY is a JWK whose "use" is not "sig"',
    ],
    [
      'two public keys have one id',
      () =>
        createRing('ES256', {
          JWT_PUBLIC_KEY: { ...p256.publicKey.export({ format: 'jwk' }), kid: 'same' },
          JWT_PREVIOUS_PUBLIC_KEY: { ...other.publicKey.export({ format: 'jwk' }), kid: 'same' },
        }),
      'Two different keys have the same "kid"',
    ],
    [
      'a secret has 31 bytes',
      () => createRing('HS256', { JWT_SECRET_KEY: '0123456789abcdefghijklmnopqrstu' }),
      'JWT_SECRET_KEY is too short: it has 31 bytes; HS256 needs 32 random bytes (RFC 7518 section 3.2): ' +
        `node -e "console.log(require('node:crypto').randomBytes(32).toString('base64url'))"`,
    ],
    [
      'an Ed25519 key is of small order',
      () => createRing('EdDSA', { JWT_PUBLIC_KEY: { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) } }),
      'JWT_PUBLIC_KEY: EdDSA needs an Ed25519 key of full order',
    ],
    [
      'there is no secret',
      () => createRing('HS256', {}),
      'JWT_SECRET_KEY is required for HS256. A manager that signs with key pairs takes them in the option `keys`; ' +
        'one that only verifies tokens of others has the option `issuers`',
    ],
  ])('%s', (_what, create, message) => {
    expect(create).toThrow(new ConfigurationError(message))
  })
})

describe('one id', () => {
  test('may name one key twice', () => {
    const secret = toJwk(SECRET, { kid: 'same' })
    expect(() =>
      createRing('HS256', { JWT_SECRET_KEY: secret, JWT_PREVIOUS_SECRET_KEY: { ...secret } }),
    ).not.toThrow()
  })

  test('may name two keys of different algorithms, and each verifies its own', () => {
    const current = { ...p256.privateKey.export({ format: 'jwk' }), kid: 'same' }
    const previous = { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'same' }
    const { tokens } = createManager({
      JWT_ALGORITHM: 'ES256',
      JWT_DECODE_ALGORITHMS: ['RS256'],
      JWT_PRIVATE_KEY: current,
      JWT_PREVIOUS_PUBLIC_KEY: previous,
    })
    const old = createManager({
      JWT_ALGORITHM: 'RS256',
      JWT_PRIVATE_KEY: { ...rsa.privateKey.export({ format: 'jwk' }), kid: 'same' },
    }).tokens
    for (const issuer of [tokens, old]) {
      expect(internalsOf(tokens).verifyWithoutRevocation(issuer.createAccessToken({ uid: 'u' })).sub).toBe(
        'u',
      )
    }
  })

  test('keeps the token of another key out', () => {
    const sign = (secret: string) => createManager({ JWT_SECRET_KEY: toJwk(secret, { kid: 'same' }) }).tokens
    const token = sign(OLD).createAccessToken({ uid: 'u' })
    expect(() => internalsOf(sign(SECRET)).verifyWithoutRevocation(token)).toThrow(TokenSignatureError)
  })
})
