import {
  createPrivateKey,
  createSign,
  generateKeyPairSync,
  type JsonWebKey,
  type RSAPSSKeyPairKeyObjectOptions,
} from 'node:crypto'
import { expect, test } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { ALL_ALGORITHMS, createKeyPair, keyPairFor } from '../helpers/keys.js'

const ASYMMETRIC = ALL_ALGORITHMS.filter((algorithm) => !algorithm.startsWith('HS'))
const build = (JWT_ALGORITHM: Algorithm, key: unknown): TokenManager =>
  new TokenManager({ config: new TokenConfig({ JWT_ALGORITHM, JWT_PRIVATE_KEY: key as never }) })

const toJwk = (algorithm: Algorithm): JsonWebKey => keyPairFor(algorithm).privateKey.export({ format: 'jwk' })
const others = new Map<string, JsonWebKey>()

/** The key pair of an algorithm with the private part of another. */
function mix(algorithm: Algorithm): JsonWebKey {
  const kind = /^[RP]S/.test(algorithm) ? 'RSA' : algorithm
  const other = others.get(kind) ?? createKeyPair(algorithm).privateKey.export({ format: 'jwk' })
  others.set(kind, other)
  const { d, p, q, dp, dq, qi } = other
  const secret = kind === 'RSA' ? { d, p, q, dp, dq, qi } : { d }
  return { ...toJwk(algorithm), ...secret } as JsonWebKey
}

test.each(ASYMMETRIC)(
  '%s: a JWK whose private part belongs to another public part is refused',
  (algorithm) => {
    expect(build(algorithm, toJwk(algorithm)).createAccessToken({ uid: 'ada' })).toBeTypeOf('string')
    expect(() => build(algorithm, mix(algorithm))).toThrow(ConfigurationError)
    expect(() => build(algorithm, JSON.stringify(mix(algorithm)))).toThrow(ConfigurationError)
  },
)

test.each(['ES256', 'ES384', 'ES512', 'RS256', 'PS256'] as const)(
  '%s: so is a KeyObject or PEM text of such a pair',
  (algorithm) => {
    const key = createPrivateKey({ key: mix(algorithm), format: 'jwk' })
    expect(() => build(algorithm, key)).toThrow(ConfigurationError)
    const pem = key.export({ format: 'pem', type: 'pkcs8' }).toString()
    expect(() => build(algorithm, pem)).toThrow(ConfigurationError)
  },
)

test.each([
  ['without parameters', {}],
  ['with parameters', { hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha256', saltLength: 32 }],
])('an RSA-PSS key %s is taken, as a KeyObject and as PEM text', (_kind, parameters) => {
  const options = { modulusLength: 2048, ...parameters } as unknown as RSAPSSKeyPairKeyObjectOptions
  const { privateKey } = generateKeyPairSync('rsa-pss', options)
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const [first, second] = [build('PS256', privateKey), build('PS256', pem)]
  expect(first.keys.current).toBe(second.keys.current)
  expect(second.createAccessToken({ uid: 'ada' })).toBeTypeOf('string')
})

test('a private key that cannot sign is refused', () => {
  const broken = { ...toJwk('RS256'), p: 'AA' }
  expect(() => createSign('sha256').update('x').sign({ key: broken, format: 'jwk' })).toThrow()
  expect(() => build('RS256', broken)).toThrow(
    new ConfigurationError('JWT_PRIVATE_KEY has a public part that does not belong to its private part'),
  )
})

test.each(['', 'AAAA'])('an Ed25519 JWK with the public part "%s" is refused', (x) => {
  expect(() => build('Ed25519', { ...toJwk('Ed25519'), x })).toThrow(
    new ConfigurationError('JWT_PRIVATE_KEY is not a key that this runtime can import'),
  )
})
