import { createSecretKey } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { describe, expect, test } from 'vitest'
import { ConfigurationError, type TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import {
  importPrivateKey as importWith,
  importPublicKey,
} from '../../packages/tokenlib/src/tokens/asymmetric.js'
import { importSecret } from '../../packages/tokenlib/src/tokens/secret.js'
import { deriveKid, isJwk, type KeyMaterial, parseJwkText } from '../../packages/tokenlib/src/tokens/jose.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const oct = { kty: 'oct', k: Buffer.from(SECRET).toString('base64url') }
const { privateKey, publicKey } = keyPairFor('ES256')
const privateJwk = privateKey.export({ format: 'jwk' })
const publicJwk = publicKey.export({ format: 'jwk' })

const importPrivateKey = (field: string, material: KeyMaterial) =>
  importWith(field, material, { field: 'PASSPHRASE', text: null })

const build = (options: TokenConfigOptions) => createManager(options).tokens
const es256 = (options: TokenConfigOptions) => build({ JWT_ALGORITHM: 'ES256', ...options })

describe('what is a JWK', () => {
  test.each([
    [{ kty: 'oct' }, true],
    [{ kty: 7 }, false],
    [{}, false],
    [null, false],
    [undefined, false],
    ['{"kty":"oct"}', false],
    [Object.assign(() => 1, { kty: 'oct' }), false],
  ])('%j: %s', (value, expected) => {
    expect(isJwk(value)).toBe(expected)
  })
})

describe('the text of a JWK', () => {
  test('is read with white space around it', () => {
    expect(parseJwkText(` \n\t${JSON.stringify(oct)}\n`)).toEqual(oct)
  })

  test.each(['{"kty":', '{"a":1}', '{}', '{not json', '[{"kty":"oct"}]', 'null', ''])(
    '%j is none, and stays a text',
    (text) => {
      expect(parseJwkText(text)).toBe(text)
    },
  )

  test.each([7, null, oct, Buffer.from('{')])('a value of another type stays what it is: %j', (value) => {
    expect(parseJwkText(value)).toBe(value)
  })

  test('is a text: bytes that spell one stay bytes', () => {
    const bytes = Buffer.from(JSON.stringify(oct))
    expect(parseJwkText(bytes)).toBe(bytes)
  })

  test('a secret may look like JSON without being a JWK', () => {
    for (const secret of ['{"a":"0123456789abcdefghijklmnop"}', '{0123456789abcdefghijklmnopqrstuvwxyz']) {
      const tokens = build({ JWT_SECRET_KEY: secret })
      const bytes = build({ JWT_SECRET_KEY: Buffer.from(secret) })
      expect(internalsOf(bytes).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'u' })).sub).toBe('u')
    }
  })
})

describe('a secret in a JWK', () => {
  test.each([{ ...oct, kty: 'EC' }, { k: oct.k }, { ...oct, k: 7 }, { ...oct, k: `${oct.k}==` }])(
    'is of type "oct", and has its bytes in "k": not %j',
    (material) => {
      expect(() => importSecret('SECRET', material as never, 'HS256', false)).toThrow(
        new ConfigurationError('SECRET must be a string, bytes, a JWK of type "oct" or a secret KeyObject'),
      )
    },
  )
})

describe('what a JWK says it is for', () => {
  test.each<[string, () => unknown]>([
    ['a secret that signs', () => build({ JWT_SECRET_KEY: { ...oct, key_ops: ['sign'] } })],
    [
      'a previous secret that verifies',
      () =>
        build({
          JWT_SECRET_KEY: 'another-secret-that-is-long-enough',
          JWT_PREVIOUS_SECRET_KEY: { ...oct, key_ops: ['verify'] },
        }),
    ],
    ['a secret for signatures', () => build({ JWT_SECRET_KEY: { ...oct, use: 'sig', alg: 'HS256' } })],
    ['a private key that signs', () => es256({ JWT_PRIVATE_KEY: { ...privateJwk, key_ops: ['sign'] } })],
    ['a public key that verifies', () => es256({ JWT_PUBLIC_KEY: { ...publicJwk, key_ops: ['verify'] } })],
  ])('is heard: %s', (_what, create) => {
    expect(create).not.toThrow()
  })

  test.each<[string, TokenConfigOptions, string]>([
    [
      'a private key that does not sign',
      { JWT_PRIVATE_KEY: { ...privateJwk, key_ops: ['verify'] } },
      'JWT_PRIVATE_KEY is a JWK whose "key_ops" do not include "sign"',
    ],
    [
      'a private key for encryption',
      { JWT_PRIVATE_KEY: { ...privateJwk, use: 'enc' } },
      'JWT_PRIVATE_KEY is a JWK whose "use" is not "sig"',
    ],
    [
      'a private key for another algorithm',
      { JWT_PRIVATE_KEY: { ...privateJwk, alg: 'ES384' } },
      'JWT_PRIVATE_KEY is a JWK whose "alg" is not ES256',
    ],
    [
      'a private key for another algorithm, next to its public one',
      { JWT_PRIVATE_KEY: { ...privateJwk, alg: 'ES384' }, JWT_PUBLIC_KEY: publicKey },
      'JWT_PRIVATE_KEY is a JWK whose "alg" is not ES256',
    ],
    [
      'a public key that does not verify',
      { JWT_PUBLIC_KEY: { ...publicJwk, key_ops: ['sign'] } },
      'JWT_PUBLIC_KEY is a JWK whose "key_ops" do not include "verify"',
    ],
    [
      'a public key whose operations are a text',
      { JWT_PUBLIC_KEY: { ...publicJwk, key_ops: 'verify' as never } },
      'JWT_PUBLIC_KEY is a JWK whose "key_ops" do not include "verify"',
    ],
  ])('is refused: %s', (_what, options, message) => {
    expect(() => es256(options)).toThrow(new ConfigurationError(message))
  })
})

describe('the id of a key', () => {
  test('of a secret is the same in every version: tokens and revocations carry it', () => {
    // The first twelve bytes of HMAC-SHA-256 over "tokenlib kid", made with another tool.
    expect(build({ JWT_SECRET_KEY: SECRET }).keys.current).toBe('ZylNvhTlA_mNKOPm')
    expect(deriveKid(createSecretKey(Buffer.from(SECRET)))).toBe('ZylNvhTlA_mNKOPm')
  })

  test.each<Algorithm>(['RS256', 'ES256', 'ES384', 'Ed25519'])(
    'of a key for %s is its RFC 7638 thumbprint',
    async (algorithm) => {
      const pair = keyPairFor(algorithm)
      expect(deriveKid(pair.publicKey)).toBe(
        await calculateJwkThumbprint(pair.publicKey.export({ format: 'jwk' }) as never),
      )
    },
  )

  test('may have 1 to 128 characters in a JWK', () => {
    for (const kid of ['k', 'k'.repeat(128)]) {
      expect(build({ JWT_SECRET_KEY: { ...oct, kid } }).keys.current).toBe(kid)
    }
  })
})

describe('a key that cannot be read', () => {
  test.each<[string, () => unknown]>([
    ['PEM of a private key', () => importPrivateKey('KEY', '-----BEGIN PRIVATE KEY-----')],
    ['PEM of a public key', () => importPublicKey('KEY', '-----BEGIN PUBLIC KEY-----')],
    ['a private JWK', () => importPrivateKey('KEY', { ...privateJwk, x: 'AAAA' })],
    ['a public JWK', () => importPublicKey('KEY', { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' })],
    ['a public JWK for a private one', () => importPrivateKey('KEY', { ...publicJwk })],
  ])(
    'says which field it is, without the reason that Node gives, which may quote the key: %s',
    (_what, read) => {
      expect(read).toThrow(
        expect.objectContaining({
          name: 'ConfigurationError',
          message: expect.stringContaining('KEY ') as string,
        }),
      )
    },
  )

  const encrypted = Buffer.from('-----BEGIN ENCRYPTED PRIVATE KEY-----')

  test.each([7, null, undefined, {}, true, 'text', encrypted])(
    '%j is no key at all, and is told the forms',
    (material) => {
      for (const read of [importPrivateKey, importPublicKey]) {
        expect(() => read('KEY', material as never)).toThrow(
          naming('ConfigurationError', 'KEY', 'PEM', 'JWK'),
        )
      }
    },
  )
})
