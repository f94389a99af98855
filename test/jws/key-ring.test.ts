import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint } from 'jose'
import { describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../packages/tokenlib/src/index.js'
import { TokenSignatureError } from '../../packages/tokenlib/src/errors.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/kit.js'
import { ALL_ALGORITHMS, createKeyPair, keyPairFor } from '../helpers/keys.js'
import { createManager, openToken, SECRET } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { naming } from '../helpers/naming.js'

const jwk = (key: KeyObject, extra: object = {}): Jwk => ({
  ...(key.export({ format: 'jwk' }) as Jwk),
  ...extra,
})
const pem = (key: KeyObject): string =>
  key.export({ format: 'pem', type: key.type === 'private' ? 'pkcs8' : 'spki' }).toString()
const asymmetric = ALL_ALGORITHMS.filter((algorithm) => !algorithm.startsWith('HS'))

describe('forms of a key', () => {
  test.each(asymmetric)(
    '%s takes PEM, JWK, JWK text and KeyObject, and each verifies what the others sign',
    (algorithm) => {
      const { privateKey, publicKey } = keyPairFor(algorithm)
      const forms = [
        [privateKey, publicKey],
        [pem(privateKey), pem(publicKey)],
        [jwk(privateKey), jwk(publicKey)],
        [JSON.stringify(jwk(privateKey)), JSON.stringify(jwk(publicKey))],
      ] as const
      const managers = forms.map(
        ([JWT_PRIVATE_KEY, JWT_PUBLIC_KEY]) =>
          createManager({ JWT_ALGORITHM: algorithm, JWT_PRIVATE_KEY, JWT_PUBLIC_KEY }).tokens,
      )
      for (const signer of managers) {
        for (const verifier of managers) {
          expect(
            internalsOf(verifier).verifyWithoutRevocation(signer.createAccessToken({ uid: 'u' })).sub,
          ).toBe('u')
        }
      }
    },
  )

  test('a secret is a text, its bytes, a KeyObject or a JWK', () => {
    const forms = [
      SECRET,
      Buffer.from(SECRET),
      new Uint8Array(Buffer.from(SECRET)),
      createSecretKey(Buffer.from(SECRET)),
      { kty: 'oct', k: Buffer.from(SECRET).toString('base64url') },
      JSON.stringify({ kty: 'oct', k: Buffer.from(SECRET).toString('base64url') }),
    ]
    const managers = forms.map((JWT_SECRET_KEY) => createManager({ JWT_SECRET_KEY }).tokens)
    for (const verifier of managers) {
      expect(
        internalsOf(verifier).verifyWithoutRevocation(
          (managers[0] as typeof verifier).createAccessToken({ uid: 'u' }),
        ).sub,
      ).toBe('u')
    }
  })

  test('a manager with a public key alone verifies and cannot create', () => {
    const { privateKey, publicKey } = keyPairFor('ES256')
    const signer = createManager({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: privateKey }).tokens
    const verifier = createManager({ JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: publicKey }).tokens
    expect(internalsOf(verifier).verifyWithoutRevocation(signer.createAccessToken({ uid: 'u' })).sub).toBe(
      'u',
    )
    expect(() => verifier.createAccessToken({ uid: 'u' })).toThrow(ConfigurationError)
  })

  test('an RSA-PSS key works for its own hash only', () => {
    const key = generateKeyPairSync('rsa-pss', {
      modulusLength: 2048,
      hashAlgorithm: 'sha256',
      mgf1HashAlgorithm: 'sha256',
      saltLength: 32 as never,
    })
    const { tokens } = createManager({ JWT_ALGORITHM: 'PS256', JWT_PRIVATE_KEY: key.privateKey })
    expect(internalsOf(tokens).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'u' })).sub).toBe('u')
    expect(() => createManager({ JWT_ALGORITHM: 'PS512', JWT_PRIVATE_KEY: key.privateKey })).toThrow(
      ConfigurationError,
    )
    expect(() => createManager({ JWT_ALGORITHM: 'RS256', JWT_PRIVATE_KEY: key.privateKey })).toThrow(
      ConfigurationError,
    )
  })
})

describe('which key serves which algorithm (CVE-2022-23539)', () => {
  const KINDS: Record<string, KeyObject> = {
    rsa: keyPairFor('RS256').privateKey,
    'rsa-1024': generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey,
    p256: keyPairFor('ES256').privateKey,
    p384: keyPairFor('ES384').privateKey,
    p521: keyPairFor('ES512').privateKey,
    secp256k1: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey,
    ed25519: keyPairFor('EdDSA').privateKey,
    ed448: generateKeyPairSync('ed448').privateKey,
    x25519: generateKeyPairSync('x25519').privateKey,
    dsa: generateKeyPairSync('dsa', { modulusLength: 2048, divisorLength: 256 }).privateKey,
  }
  const FIT: Record<string, string> = {
    RS: 'rsa',
    PS: 'rsa',
    ES256: 'p256',
    ES384: 'p384',
    ES512: 'p521',
    Ed: 'ed25519',
  }

  test.each(asymmetric)('%s takes its kind of key, and no other', (algorithm) => {
    for (const [kind, key] of Object.entries(KINDS)) {
      const build = () => createManager({ JWT_ALGORITHM: algorithm, JWT_PRIVATE_KEY: key })
      const fits = (FIT[algorithm] ?? FIT[algorithm.slice(0, 2)]) === kind
      if (fits) expect(build, kind).not.toThrow()
      else expect(build, kind).toThrow(ConfigurationError)
    }
  })

  test('the right kind of key is required, and a secret never stands in', () => {
    expect(() => createManager({ JWT_SECRET_KEY: null })).toThrow(ConfigurationError)
    for (const algorithm of asymmetric)
      expect(() => createManager({ JWT_ALGORITHM: algorithm })).toThrow(ConfigurationError)
  })

  test('with HS256 key pair fields are not read', () => {
    const { tokens } = createManager({ JWT_PRIVATE_KEY: keyPairFor('RS256').privateKey })
    const token = tokens.createAccessToken({ uid: 'u' })
    expect(openToken(token).header['alg']).toBe('HS256')
    expect(internalsOf(createManager().tokens).verifyWithoutRevocation(token).sub).toBe('u')
  })

  test('the public key of another pair refuses, and cannot be configured next to the private one', () => {
    const signer = createManager({
      JWT_ALGORITHM: 'EdDSA',
      JWT_PRIVATE_KEY: keyPairFor('EdDSA').privateKey,
    }).tokens
    const other = createKeyPair('EdDSA').publicKey
    const verifier = createManager({ JWT_ALGORITHM: 'EdDSA', JWT_PUBLIC_KEY: other }).tokens
    expect(() =>
      internalsOf(verifier).verifyWithoutRevocation(signer.createAccessToken({ uid: 'u' })),
    ).toThrow(TokenSignatureError)
    expect(() =>
      createManager({
        JWT_ALGORITHM: 'EdDSA',
        JWT_PRIVATE_KEY: keyPairFor('EdDSA').privateKey,
        JWT_PUBLIC_KEY: other,
      }),
    ).toThrow(ConfigurationError)
  })

  test.each<[string, object]>([
    ['a private key as the public one', { JWT_PUBLIC_KEY: keyPairFor('ES256').privateKey }],
    ['a private PEM as the public one', { JWT_PUBLIC_KEY: pem(keyPairFor('ES256').privateKey) }],
    ['a private JWK as the public one', { JWT_PUBLIC_KEY: jwk(keyPairFor('ES256').privateKey) }],
    ['a public key as the private one', { JWT_PRIVATE_KEY: keyPairFor('ES256').publicKey }],
    ['text that is no key', { JWT_PRIVATE_KEY: 'hello' }],
    ['a broken PEM', { JWT_PRIVATE_KEY: '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----' }],
    ['broken JWK text', { JWT_PRIVATE_KEY: '{"kty":' }],
    ['a JWK off the curve', { JWT_PUBLIC_KEY: { kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' } }],
    ['a JWK for encryption', { JWT_PUBLIC_KEY: jwk(keyPairFor('ES256').publicKey, { use: 'enc' }) }],
    [
      'a JWK for another operation',
      { JWT_PUBLIC_KEY: jwk(keyPairFor('ES256').publicKey, { key_ops: ['deriveKey'] }) },
    ],
    ['a JWK for another algorithm', { JWT_PUBLIC_KEY: jwk(keyPairFor('ES256').publicKey, { alg: 'ES384' }) }],
    ['a JWK whose kid is no text', { JWT_PUBLIC_KEY: jwk(keyPairFor('ES256').publicKey, { kid: 5 }) }],
    ['a JWK whose kid is a list', { JWT_PUBLIC_KEY: jwk(keyPairFor('ES256').publicKey, { kid: ['a'] }) }],
    ['a JWK whose kid is null', { JWT_PUBLIC_KEY: jwk(keyPairFor('ES256').publicKey, { kid: null }) }],
  ])('%s is a configuration error whose text holds no key material', (_, keys) => {
    const build = () => createManager({ JWT_ALGORITHM: 'ES256', ...keys })
    expect(build).toThrow(ConfigurationError)
    const secret = jwk(keyPairFor('ES256').privateKey)['d'] as string
    expect(build).not.toThrow(secret)
  })
})

describe('weak and mistaken secrets', () => {
  test.each<[Algorithm, number]>([
    ['HS256', 32],
    ['HS384', 48],
    ['HS512', 64],
  ])('%s needs %d bytes', (algorithm, size) => {
    const build = (length: number, extra: object = {}) =>
      createManager({
        JWT_ALGORITHM: algorithm,
        // Letters of two bytes each.
        JWT_SECRET_KEY: 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßà'.slice(0, length / 2),
        ...extra,
      })
    expect(() => build(size)).not.toThrow()
    expect(() => build(size - 2)).toThrow(naming('ConfigurationError', 'JWT_SECRET_KEY'))
    expect(() => build(size - 2, { JWT_ALLOW_WEAK_SECRET: true })).not.toThrow()
    expect(() => build(0, { JWT_ALLOW_WEAK_SECRET: true })).toThrow(ConfigurationError)
  })

  const { publicKey } = keyPairFor('RS256')
  test.each<[string, string | Buffer]>([
    ['PEM', pem(publicKey)],
    ['PEM after white space', `\r\n\t ${pem(publicKey)}`],
    ['PEM after other text', `# comment\u200B${pem(publicKey)}`],
    ['PEM in base64', Buffer.from(pem(publicKey)).toString('base64')],
    ['the body of a PEM file', pem(publicKey).split('\n').slice(1, -2).join('')],
    ['PKCS #1 DER', publicKey.export({ format: 'der', type: 'pkcs1' })],
    ['SSH', `ssh-rsa ${'A'.repeat(64)} me@host`],
    ['JWK', JSON.stringify(jwk(publicKey))],
    ['JWKS, nested and pretty', JSON.stringify({ a: [{ keys: [jwk(publicKey)] }] }, null, 2)],
    ['DER', publicKey.export({ format: 'der', type: 'spki' })],
    ['DER of an EC key', keyPairFor('ES256').publicKey.export({ format: 'der', type: 'spki' })],
  ])(
    'a public key as %s is no secret (CVE-2022-29217, CVE-2026-107722, CVE-2026-107724, CVE-2026-85394)',
    (_, secret) => {
      expect(() => createManager({ JWT_SECRET_KEY: secret })).toThrow(ConfigurationError)
    },
  )

  test.each([7, true, {}, [], () => 1, { kty: 'RSA' }, { kty: 'oct' }, { kty: 'oct', k: 'not canonical=' }])(
    '%j is no secret',
    (secret) => {
      expect(() => createManager({ JWT_SECRET_KEY: secret as never })).toThrow(ConfigurationError)
    },
  )
})

describe('kid', () => {
  test('of an asymmetric key is its RFC 7638 thumbprint, of a JWK its own', async () => {
    const { privateKey, publicKey } = keyPairFor('ES256')
    const kid = (options: object) =>
      openToken(createManager({ JWT_ALGORITHM: 'ES256', ...options }).tokens.createAccessToken({ uid: 'u' }))
        .header['kid']
    expect(kid({ JWT_PRIVATE_KEY: privateKey })).toBe(
      await calculateJwkThumbprint(publicKey.export({ format: 'jwk' }) as never),
    )
    expect(kid({ JWT_PRIVATE_KEY: jwk(privateKey, { kid: 'mine' }) })).toBe('mine')
  })

  test('of a secret is stable and tells nothing that a hash of the secret would', () => {
    const kid = (secret: string, algorithm: Algorithm = 'HS256') =>
      openToken(
        createManager({ JWT_SECRET_KEY: secret, JWT_ALGORITHM: algorithm }).tokens.createAccessToken({
          uid: 'u',
        }),
      ).header['kid']
    expect(kid(SECRET)).toBe(kid(SECRET))
    expect(kid(SECRET)).not.toBe(kid(`${SECRET}!`))
    // One secret has one id, or revoking it would leave it valid for another algorithm.
    expect(kid(SECRET)).toBe(kid(SECRET, 'HS512'))
  })

  test('selects the key: an unknown one is refused although the signature would hold', () => {
    const named = (kid: string) => ({ kty: 'oct', k: Buffer.from(SECRET).toString('base64url'), kid })
    const token = createManager({ JWT_SECRET_KEY: named('a') }).tokens.createAccessToken({ uid: 'u' })
    expect(
      internalsOf(createManager({ JWT_SECRET_KEY: named('a') }).tokens).verifyWithoutRevocation(token).sub,
    ).toBe('u')
    expect(() =>
      internalsOf(createManager({ JWT_SECRET_KEY: named('b') }).tokens).verifyWithoutRevocation(token),
    ).toThrow(TokenSignatureError)
  })

  test('that names two different keys is a configuration error', () => {
    const named = (text: string) => ({ kty: 'oct', k: Buffer.from(text).toString('base64url'), kid: 'same' })
    expect(() =>
      createManager({ JWT_SECRET_KEY: named(SECRET), JWT_PREVIOUS_SECRET_KEY: named(`${SECRET}2`) }),
    ).toThrow(ConfigurationError)
    expect(() => createManager({ JWT_PREVIOUS_SECRET_KEY: SECRET })).not.toThrow()
  })
})
