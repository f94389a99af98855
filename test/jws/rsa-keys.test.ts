import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigurationError } from '../../packages/tokenlib/src/index.js'
import { TokenSignatureError } from '../../packages/tokenlib/src/errors.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { readKeyMismatch } from '../../packages/tokenlib/src/tokens/asymmetric.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager, NOW } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const RSA = ['RS256', 'PS256'] as const
const { n } = keyPairFor('RS256').publicKey.export({ format: 'jwk' })

/** A key pair for RSASSA-PSS alone; what is not given is not in its parameters. */
const createPssPair = (options: object = {}, modulusLength = 2048) =>
  generateKeyPairSync('rsa-pss', { modulusLength, ...options })

const sha256 = { hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha256' }
const plain = createPssPair()
const exact = createPssPair({ ...sha256, saltLength: 32 })
const long = createPssPair({ ...sha256, saltLength: 33 })
const mixed = createPssPair({ hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha512', saltLength: 20 })
const small = createPssPair({}, 1024)

// Of an RSASSA-PSS key without parameters; made with OpenSSL for this test, as was the digest of its key in DER.
const CERTIFICATE =
  'MIIDfTCCAjCgAwIBAgIUbisIeakO4xwTbMblzDsWFvWwAVwwQgYJKoZIhvcNAQEKMDWgDzANBglghkgBZQMEAgEFAKEcMBoGCSqGSIb3DQEBCDAN' +
  'BglghkgBZQMEAgEFAKIEAgIA3jAZMRcwFQYDVQQDDA5pc3N1ZXIuZXhhbXBsZTAgFw0yNjExMTgxMDQzMDVaGA8yMTI2MTAyNTEwNDMwNVowGTEX' +
  'MBUGA1UEAwwOaXNzdWVyLmV4YW1wbGUwggEgMAsGCSqGSIb3DQEBCgOCAQ8AMIIBCgKCAQEAuAJHTWPdkGNvQpnhABHA/zard7chzYTwlWPTkbkz' +
  '54qpdNq9xJNwfkG3evbO+0AFMSnEWygZWGBED94rquSAIomAewL510WjFL8gZwwzgmFEbNB7v2DRm/K1iWxZ3CuAKeR/9hcGRImCRjAtGLviqIyv' +
  'mt2k6vASCjkk+mcearUMug5A7j3A8d2s1VQrT8HlCRmjd+BXxsmTzYgVpOPPdohbqjwvmsmN3HXvlOBi7OsASEYbVBApmF4vkNCUHJxU965dHbGs' +
  'N4/8E/9fUAHJ/X7san3hqDZma9UaCrNWg2VwzC3jSa6RMHgDmyNvxBQ6Fhly0CrDuLGDXVU6guQ/bQIDAQABo1MwUTAdBgNVHQ4EFgQUbPZn6vKN' +
  '9H2X9tCpJGn19FClsHkwHwYDVR0jBBgwFoAUbPZn6vKN9H2X9tCpJGn19FClsHkwDwYDVR0TAQH/BAUwAwEB/zBCBgkqhkiG9w0BAQowNaAPMA0G' +
  'CWCGSAFlAwQCAQUAoRwwGgYJKoZIhvcNAQEIMA0GCWCGSAFlAwQCAQUAogQCAgDeA4IBAQCCLGKL7J/rUOk0JkN5uPbS/VoRIX1ThQAdeaois5O4' +
  'zgCDgowNo8S2IV3LV9/cWgUWLRCZ+9dQPMBnm8NjgEsQZh8nFjTi3ri9mLLkaARBsEa4PCfvu5sl+1IlBs/2lIjO8B4LyZncDVXrBCn/ZYd+IjkS' +
  'nUZd5YcUAP3eoZm2QjsSo3EOgz4nPk6BXoQ3uAE7/edqZxr4/bSRv52xBghN7l+hTUd/0VwCTSD/oGr7qr4SCVMHsHUUOSsLifOaeRNjSbS2Bnbr' +
  'hDgqL+/y5JEW5lcIUHOvSCfsBQIJkCF0asJX/OVA4Cz72K8IK6dvVgWKcVAL8uN+dFEeFCbePpmC'
const KEY_DIGEST = '41a9b4b749528c8ac89f5c57c95841ae3b1b8fbba7188f0f445780f3b1aff33b'

describe('the public exponent of an RSA key', () => {
  test.each(RSA)('of 1 or 2 is refused by %s: a signature could be made without the private key', (name) => {
    for (const e of ['AQ', 'Ag']) {
      expect(() => createManager({ JWT_ALGORITHM: name, JWT_PUBLIC_KEY: { kty: 'RSA', n, e } })).toThrow(
        new ConfigurationError(`JWT_PUBLIC_KEY: ${name} needs an RSA public exponent of at least 3`),
      )
    }
  })

  test.each(RSA)('of 3 is taken by %s', (name) => {
    const key = { kty: 'RSA', n, e: 'Aw' }
    expect(() => createManager({ JWT_ALGORITHM: name, JWT_PUBLIC_KEY: key })).not.toThrow()
  })
})

describe('a key made for RSASSA-PSS', () => {
  test('is found in a certificate', () => {
    const pem = `-----BEGIN CERTIFICATE-----\n${CERTIFICATE}\n-----END CERTIFICATE-----`
    const { tokens } = createManager({ JWT_ALGORITHM: 'PS256', JWT_PUBLIC_KEY: pem })
    expect(tokens.keys.jwks().keys[0]?.kid).toBe(Buffer.from(KEY_DIGEST, 'hex').toString('base64url'))
  })

  test.each<[string, Algorithm, { publicKey: KeyObject }, string | null]>([
    ['without parameters serves', 'PS256', plain, null],
    ['without parameters serves', 'PS384', plain, null],
    ['without parameters serves', 'PS512', plain, null],
    ['does not serve', 'RS256', plain, 'needs an RSA key'],
    ['for one hash serves', 'PS256', exact, null],
    ['for another hash does not serve', 'PS384', exact, 'needs an RSA-PSS key made for sha384'],
    ['for another hash does not serve', 'PS512', exact, 'needs an RSA-PSS key made for sha512'],
    ['for a longer salt than the hash does not serve', 'PS256', long, 'needs an RSA-PSS key made for sha256'],
    ['for two hashes does not serve', 'PS256', mixed, 'needs an RSA-PSS key made for sha256'],
    ['for two hashes does not serve', 'PS512', mixed, 'needs an RSA-PSS key made for sha512'],
    ['of 1024 bits does not serve', 'PS256', small, 'needs an RSA key of at least 2048 bits'],
  ])('%s %s', (_what, algorithm, { publicKey }, expected) => {
    expect(readKeyMismatch(algorithm, publicKey)).toBe(expected)
  })

  test('signs and verifies, and is named by the same id in both of its halves', () => {
    for (const { privateKey, publicKey } of [plain, exact]) {
      const signer = createManager({ JWT_ALGORITHM: 'PS256', JWT_PRIVATE_KEY: privateKey }).tokens
      const verifier = createManager({ JWT_ALGORITHM: 'PS256', JWT_PUBLIC_KEY: publicKey }).tokens
      expect(internalsOf(verifier).verifyWithoutRevocation(signer.createAccessToken({ uid: 'u' })).sub).toBe(
        'u',
      )
      expect(signer.keys.current).toMatch(/^[\w-]{43}$/)
    }
    const ids = [plain, exact].map(
      ({ privateKey }) =>
        createManager({ JWT_ALGORITHM: 'PS256', JWT_PRIVATE_KEY: privateKey }).tokens.keys.current,
    )
    expect(new Set(ids).size).toBe(2)
  })
})

test('RFC 7518 §3.5: a PSS signature whose salt is not as long as the hash is refused', () => {
  const { privateKey, publicKey } = keyPairFor('PS256')
  const { tokens } = createManager({ JWT_ALGORITHM: 'PS256', JWT_PUBLIC_KEY: publicKey })
  const input = [{ alg: 'PS256' }, { sub: 'u', type: 'access', exp: NOW + 60 }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signWithSalt = (saltLength: number) => {
    // 6 is RSA_PKCS1_PSS_PADDING.
    const signature = sign('sha256', Buffer.from(input), { key: privateKey, padding: 6, saltLength })
    return `${input}.${signature.toString('base64url')}`
  }
  expect(internalsOf(tokens).verifyWithoutRevocation(signWithSalt(32)).sub).toBe('u')
  for (const saltLength of [0, 20, 31, 33, 64, 222]) {
    expect(() => internalsOf(tokens).verifyWithoutRevocation(signWithSalt(saltLength))).toThrow(
      TokenSignatureError,
    )
  }
})

test('RFC 7518 §3.5: the salt of our PSS signatures is as long as the hash', () => {
  const { publicKey } = keyPairFor('PS256')
  for (const [algorithm, hash, saltLength] of [
    ['PS256', 'sha256', 32],
    ['PS384', 'sha384', 48],
    ['PS512', 'sha512', 64],
  ] as const) {
    const { tokens } = createManager({
      JWT_ALGORITHM: algorithm,
      JWT_PRIVATE_KEY: keyPairFor(algorithm).privateKey,
    })
    const token = tokens.createAccessToken({ uid: 'u' })
    const end = token.lastIndexOf('.')
    const signature = Buffer.from(token.slice(end + 1), 'base64url')
    const key = { key: publicKey, padding: 6, saltLength }
    expect(verify(hash, Buffer.from(token.slice(0, end)), key, signature)).toBe(true)
  }
})
