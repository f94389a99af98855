import { createHmac, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Algorithm, ConfigurationError, type TokenConfigOptions } from '../../src/index.js'
import { readKeyMismatch } from '../../src/jws/asymmetric.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager, openToken, SECRET } from '../helpers/manager.js'

const encode = (text: string | Buffer) => Buffer.from(text).toString('base64url')

/** A token with any header, signed with the secret all the same. */
function forge(header: object | string, claims: string | Buffer = '{"sub":"u","type":"access"}'): string {
  const input = `${encode(typeof header === 'string' ? header : JSON.stringify(header))}.${encode(claims)}`
  return `${input}.${sign(input)}`
}

const sign = (input: string): string => createHmac('sha256', SECRET).update(input).digest('base64url')

describe('a token that is refused says what is wrong with it', () => {
  const { tokens } = createManager({ JWT_MAX_TOKEN_LENGTH: 5000 })
  const [header, claims, signature] = forge({ alg: 'HS256' }).split('.')
  const malformed = 'Token header is malformed'
  const segments = 'Token does not have three segments'

  test.each<[unknown, string]>([
    [7, 'Token is not a string'],
    ['x'.repeat(5001), 'Token is longer than 5000 characters'],
    ['', segments],
    ['abc', segments],
    [`${header}.${claims}`, segments],
    [`.${claims}.${signature}`, segments],
    [`${header}..${signature}`, segments],
    [`${header}.${claims}.`, segments],
    [`${header}.${claims}.${signature}.`, segments],
    [`${header}.${claims}.${signature}.x`, segments],
    [forge({ alg: 'HS256', pad: 'x'.repeat(2000) }), 'Token header is longer than 2048 characters'],
    [`e30=.${claims}.${signature}`, malformed],
    [forge('[]'), malformed],
    [forge('{"alg":"HS256","alg":"HS256"}'), malformed],
    [forge({}), 'Token header has no "alg"'],
    [forge({ alg: 7 }), 'Token header has no "alg"'],
    [forge({ alg: 'HS256', kid: 7 }), 'Token header has a malformed "kid"'],
    [forge({ alg: 'HS256', kid: 'k'.repeat(129) }), 'Token header has a malformed "kid"'],
    [forge({ alg: 'HS256', typ: 'logout+jwt' }), 'Unexpected "typ" header'],
    [forge({ alg: 'HS256', typ: 7 }), 'Unexpected "typ" header'],
    [forge({ alg: 'HS384' }), 'Token algorithm is not allowed'],
    [forge({ alg: 'HS256', kid: 'k'.repeat(128) }), 'Token was signed with an unknown key'],
    [`${header}.${claims}=.${sign(`${header}.${claims}=`)}`, 'Token is not canonical base64url'],
    [`${header}.${claims}=.${signature}`, 'Token signature is invalid'],
    [`${header}.${claims}.${signature}=`, 'Token is not canonical base64url'],
    [forge({ alg: 'HS256' }, Buffer.from([0x22, 0xff, 0x22])), 'Token claims must be a JSON object'],
    [`${header}.${claims}.${encode('x'.repeat(32))}`, 'Token signature is invalid'],
    [`${header}.${claims}.${encode('x')}`, 'Token signature is invalid'],
    ...['crit', 'b64', 'zip', 'enc', 'cty', 'jku', 'jwk', 'x5u', 'x5c'].map((name): [string, string] => [
      forge({ alg: 'HS256', [name]: null }),
      `Unsupported "${name}" header`,
    ]),
  ])('%.60s', (token, message) => {
    expect(() => tokens.verifyTokenWithoutRevocation(token as string)).toThrow(
      expect.objectContaining({ message, isTokenError: true }),
    )
  })

  test.each(['JWT', 'jwt', 'at+jwt', 'application/at+jwt', 'application/JWT'])('typ %s is ours', (typ) => {
    expect(tokens.verifyTokenWithoutRevocation(forge({ alg: 'HS256', typ })).sub).toBe('u')
  })

  test('the longest token and header that are allowed pass', () => {
    const exact = createManager({ JWT_MAX_TOKEN_LENGTH: forge({ alg: 'HS256' }).length }).tokens
    expect(exact.verifyTokenWithoutRevocation(forge({ alg: 'HS256' })).sub).toBe('u')
    // 1536 bytes are 2048 characters of base64url.
    const pad = 'x'.repeat(1536 - JSON.stringify({ alg: 'HS256', pad: '' }).length)
    expect(tokens.verifyTokenWithoutRevocation(forge({ alg: 'HS256', pad })).sub).toBe('u')
    expect(() => tokens.verifyTokenWithoutRevocation(forge({ alg: 'HS256', pad: `${pad}x` }))).toThrow(
      'Token header is longer than 2048 characters',
    )
  })
})

describe('a reserved header member is named', () => {
  const { tokens } = createManager()
  const create = (headers: Record<string, string>) => tokens.createAccessToken({ uid: 'u' }, { headers })

  test.each(['alg', 'typ', 'kid', 'x5t', 'x5t#S256', 'crit', 'jwk'])('%s', (name) => {
    expect(() => create({ [name]: 'x' })).toThrow(new TypeError(`The header member "${name}" is reserved`))
  })

  test('others can, up to the length that is read', () => {
    const { header } = openToken(create({ tenant: 'a' }))
    expect(header).toEqual({ alg: 'HS256', typ: 'JWT', kid: tokens.keyId, tenant: 'a' })
    expect(() => create({ tenant: 'x'.repeat(1600) })).toThrow(
      new TypeError('The token header is longer than 2048 characters'),
    )
  })
})

describe('a key that does not fit says why', () => {
  const es256 = keyPairFor('ES256')
  const pem = es256.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const jwk = es256.publicKey.export({ format: 'jwk' })
  const oct = { kty: 'oct', k: Buffer.from(SECRET).toString('base64url') }
  const aSecret = 'JWT_SECRET_KEY must be a string, bytes, a JWK of type "oct" or a secret KeyObject'

  test.each<[string, TokenConfigOptions, string]>([
    ['no secret', { JWT_SECRET_KEY: null }, 'JWT_SECRET_KEY is required for HS256'],
    ['an empty secret', { JWT_SECRET_KEY: '' }, 'JWT_SECRET_KEY is empty'],
    ['a public key for a secret', { JWT_SECRET_KEY: es256.publicKey }, aSecret],
    ['a JWK of another type', { JWT_SECRET_KEY: { ...jwk } }, aSecret],
    ['a JWK without its secret', { JWT_SECRET_KEY: { kty: 'oct' } }, aSecret],
    ['a JWK in another spelling', { JWT_SECRET_KEY: { kty: 'oct', k: `${oct.k}=` } }, aSecret],
    [
      'a JWK for another algorithm',
      { JWT_SECRET_KEY: { ...oct, alg: 'HS512' } },
      'JWT_SECRET_KEY is a JWK whose "alg" is not HS256',
    ],
    [
      'a JWK for encryption',
      { JWT_SECRET_KEY: { ...oct, use: 'enc' } },
      'JWT_SECRET_KEY is a JWK whose "use" is not "sig"',
    ],
    [
      'a JWK that only verifies',
      { JWT_SECRET_KEY: { ...oct, key_ops: ['verify'] } },
      'JWT_SECRET_KEY is a JWK whose "key_ops" do not include "sign"',
    ],
    [
      'a previous JWK that only signs',
      { JWT_PREVIOUS_SECRET_KEY: { kty: 'oct', k: encode(`old ${SECRET}`), key_ops: ['sign'] } },
      'JWT_PREVIOUS_SECRET_KEY is a JWK whose "key_ops" do not include "verify"',
    ],
    ...['', 7, 'k'.repeat(129)].map((kid): [string, TokenConfigOptions, string] => [
      'a JWK with such a kid',
      { JWT_SECRET_KEY: { ...oct, kid: kid as string } },
      'JWT_SECRET_KEY is a JWK whose "kid" is not a string of 1 to 128 characters',
    ]),
    [
      'a kid of two keys',
      {
        JWT_SECRET_KEY: { ...oct, kid: 'k' },
        JWT_PREVIOUS_SECRET_KEY: { kty: 'oct', k: encode(`old ${SECRET}`), kid: 'k' },
      },
      'Two different keys have the same "kid"',
    ],
    [
      'a PEM for a secret',
      { JWT_SECRET_KEY: pem },
      'JWT_SECRET_KEY is an asymmetric key, not a secret; use JWT_PRIVATE_KEY or JWT_PUBLIC_KEY for it',
    ],
    [
      'both kinds',
      { JWT_DECODE_ALGORITHMS: ['ES256'] },
      'JWT_DECODE_ALGORITHMS mixes HMAC with public-key algorithms; build one manager for each',
    ],
    [
      'no key',
      { JWT_ALGORITHM: 'ES256' },
      'ES256 needs JWT_PRIVATE_KEY, or JWT_PUBLIC_KEY for a manager that only verifies',
    ],
    [
      'keys of two pairs',
      {
        JWT_ALGORITHM: 'ES256',
        JWT_PRIVATE_KEY: pem,
        JWT_PUBLIC_KEY: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey,
      },
      'JWT_PUBLIC_KEY does not belong to JWT_PRIVATE_KEY',
    ],
    [
      'an algorithm that nobody verifies',
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: pem, JWT_DECODE_ALGORITHMS: ['ES384'] },
      'JWT_DECODE_ALGORITHMS: no configured key can verify ES384',
    ],
    [
      'a JWK that names another algorithm',
      { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: { ...jwk, alg: 'ES384' } },
      'JWT_PUBLIC_KEY: ES256 is not the "alg" of the JWK',
    ],
    [
      'a private key for a public one',
      { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: pem },
      'JWT_PUBLIC_KEY must be a public key, not a private one',
    ],
    [
      'a private JWK for a public one',
      { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: es256.privateKey.export({ format: 'jwk' }) },
      'JWT_PUBLIC_KEY must be a public key, not a private one',
    ],
    [
      'a private KeyObject for a public one',
      { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: es256.privateKey },
      'JWT_PUBLIC_KEY must be a public key, not a private one',
    ],
    [
      'a public KeyObject for a private one',
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: es256.publicKey },
      'JWT_PRIVATE_KEY must be a private key, not a public one',
    ],
    [
      'a text that is no key',
      { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: 'secret' },
      'JWT_PUBLIC_KEY must be PEM text, a JWK or a KeyObject',
    ],
    [
      'a text that is no private key',
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: 'secret' },
      'JWT_PRIVATE_KEY must be PEM text, a JWK or a KeyObject',
    ],
  ])('%s', (_what, options, message) => {
    expect(() => createManager({ JWT_SECRET_KEY: SECRET, ...options })).toThrow(
      new ConfigurationError(message),
    )
  })

  test('a PEM that is no key', () => {
    const broken = '-----BEGIN PRIVATE KEY-----'
    expect(() => createManager({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: broken })).toThrow(
      /^JWT_PRIVATE_KEY is not a key that Node.js can import/,
    )
  })

  test.each<[Algorithm, Algorithm | 'x25519' | 'rsa 1024', string]>([
    ['RS256', 'ES256', 'needs an RSA key'],
    ['PS256', 'ES256', 'needs an RSA key'],
    ['ES256', 'ES384', 'needs an EC key on curve prime256v1'],
    ['ES384', 'Ed25519', 'needs an EC key on curve secp384r1'],
    ['ES512', 'ES256', 'needs an EC key on curve secp521r1'],
    ['EdDSA', 'ES256', 'needs an Ed25519 key'],
    ['Ed25519', 'x25519', 'needs an Ed25519 key'],
    ['HS256', 'ES256', 'needs a secret'],
    ['RS256', 'rsa 1024', 'needs an RSA key of at least 2048 bits'],
  ])('%s with a key for %s', (algorithm, other, expected) => {
    const { publicKey } =
      other === 'x25519'
        ? generateKeyPairSync('x25519')
        : other === 'rsa 1024'
          ? generateKeyPairSync('rsa', { modulusLength: 1024 })
          : keyPairFor(other)
    expect(readKeyMismatch(algorithm, publicKey)).toBe(expected)
  })
})
