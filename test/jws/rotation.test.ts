import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigurationError, TokenExpiredError } from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError, TokenSignatureError } from '../../packages/tokenlib/src/errors.js'
import { createKeyPair, keyPairFor } from '../helpers/keys.js'
import { createClock, createManager, NOW, openToken, SECRET } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const OLD = 'the-secret-of-last-year-which-is-long-enough-for-every-algorithm-too'
const OTHER = 'a-secret-nobody-configured-which-is-long-enough-for-all-algorithms'
const sign = (secret: string, clock = createClock()) =>
  createManager({ JWT_SECRET_KEY: secret }, clock).tokens

/** A token of another library: no kid. */
function foreign(secret: string, exp = NOW + 60): string {
  const input = [{ alg: 'HS256' }, { sub: 'u', type: 'access', exp }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

describe('rotating a secret', () => {
  const { tokens } = createManager({ JWT_PREVIOUS_SECRET_KEY: OLD })

  test('the previous secret verifies, with a kid and without', () => {
    expect(internalsOf(tokens).verifyWithoutRevocation(sign(OLD).createAccessToken({ uid: 'u' })).sub).toBe(
      'u',
    )
    expect(internalsOf(tokens).verifyWithoutRevocation(foreign(OLD)).sub).toBe('u')
    expect(internalsOf(tokens).verifyWithoutRevocation(foreign(SECRET)).sub).toBe('u')
  })

  test('new tokens are signed with the current one', () => {
    const token = tokens.createAccessToken({ uid: 'u' })
    expect(internalsOf(sign(SECRET)).verifyWithoutRevocation(token).sub).toBe('u')
    expect(() => internalsOf(sign(OLD)).verifyWithoutRevocation(token)).toThrow(TokenSignatureError)
  })

  test('an unknown secret is refused, and without a previous one there is no fallback', () => {
    expect(() =>
      internalsOf(tokens).verifyWithoutRevocation(sign(OTHER).createAccessToken({ uid: 'u' })),
    ).toThrow(TokenSignatureError)
    expect(() => internalsOf(tokens).verifyWithoutRevocation(foreign(OTHER))).toThrow(TokenSignatureError)
    expect(() => internalsOf(sign(SECRET)).verifyWithoutRevocation(foreign(OLD))).toThrow(TokenSignatureError)
  })

  test('an expired token of the current secret is expired, not badly signed', () => {
    expect(() => internalsOf(tokens).verifyWithoutRevocation(foreign(SECRET, NOW - 1))).toThrow(
      TokenExpiredError,
    )
    expect(() => internalsOf(tokens).verifyWithoutRevocation(foreign(OLD, NOW - 1))).toThrow(
      TokenExpiredError,
    )
  })
})

test('the previous public key verifies, also of another algorithm in the list', () => {
  const old = keyPairFor('RS256')
  const signer = createManager({ JWT_ALGORITHM: 'RS256', JWT_PRIVATE_KEY: old.privateKey }).tokens
  const options = {
    JWT_PRIVATE_KEY: createKeyPair('ES256').privateKey,
    JWT_PREVIOUS_PUBLIC_KEY: old.publicKey,
  }
  const { tokens } = createManager({ JWT_ALGORITHM: 'ES256', JWT_DECODE_ALGORITHMS: ['RS256'], ...options })
  expect(internalsOf(tokens).verifyWithoutRevocation(signer.createAccessToken({ uid: 'u' })).sub).toBe('u')
  expect(openToken(tokens.createAccessToken({ uid: 'u' })).header['alg']).toBe('ES256')
  expect(() => createManager({ JWT_ALGORITHM: 'ES256', ...options })).toThrow(ConfigurationError)
})

describe('accepted algorithms', () => {
  test('another algorithm of the same secret is refused', () => {
    const token = createManager({ JWT_ALGORITHM: 'HS512' }).tokens.createAccessToken({ uid: 'u' })
    expect(() => internalsOf(createManager().tokens).verifyWithoutRevocation(token)).toThrow(TokenDecodeError)
    const { privateKey } = keyPairFor('RS256')
    const rs = createManager({
      JWT_ALGORITHM: 'RS256',
      JWT_PRIVATE_KEY: privateKey,
    }).tokens.createAccessToken({ uid: 'u' })
    const es = createManager({
      JWT_ALGORITHM: 'ES256',
      JWT_PRIVATE_KEY: keyPairFor('ES256').privateKey,
    }).tokens
    expect(() => internalsOf(es).verifyWithoutRevocation(rs)).toThrow(TokenDecodeError)
  })

  test('an unknown algorithm is a configuration error', () => {
    for (const name of ['none', 'None', 'HS1', 'hs256', '', 'toString', 256]) {
      expect(() => createManager({ JWT_ALGORITHM: name as never })).toThrow(ConfigurationError)
      expect(() => createManager({ JWT_DECODE_ALGORITHMS: [name as never] })).toThrow(ConfigurationError)
    }
  })

  test('all of the list verify, and the encoding one without being listed', () => {
    const { tokens } = createManager({ JWT_ALGORITHM: 'HS512', JWT_DECODE_ALGORITHMS: ['HS256'] })
    expect(
      internalsOf(tokens).verifyWithoutRevocation(createManager().tokens.createAccessToken({ uid: 'u' })).sub,
    ).toBe('u')
    expect(internalsOf(tokens).verifyWithoutRevocation(tokens.createAccessToken({ uid: 'u' })).sub).toBe('u')
    expect(openToken(tokens.createAccessToken({ uid: 'u' })).header['alg']).toBe('HS512')
  })

  test('secrets and public keys do not mix in one manager (CVE-2021-46743)', () => {
    expect(() =>
      createManager({ JWT_DECODE_ALGORITHMS: ['RS256'], JWT_PUBLIC_KEY: keyPairFor('RS256').publicKey }),
    ).toThrow(ConfigurationError)
  })

  test('RS256 and PS256 of one key can both be accepted, an algorithm without a key cannot', () => {
    const { privateKey } = keyPairFor('RS256')
    const ps = createManager({
      JWT_ALGORITHM: 'PS256',
      JWT_PRIVATE_KEY: privateKey,
    }).tokens.createAccessToken({ uid: 'u' })
    const { tokens } = createManager({
      JWT_ALGORITHM: 'RS256',
      JWT_DECODE_ALGORITHMS: ['PS256'],
      JWT_PRIVATE_KEY: privateKey,
    })
    expect(internalsOf(tokens).verifyWithoutRevocation(ps).sub).toBe('u')
    expect(() =>
      createManager({
        JWT_ALGORITHM: 'RS256',
        JWT_DECODE_ALGORITHMS: ['ES256'],
        JWT_PRIVATE_KEY: privateKey,
      }),
    ).toThrow(ConfigurationError)
  })
})
