import { createHmac, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { readKeyMismatch } from '../../packages/tokenlib/src/tokens/asymmetric.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager, openToken, SECRET } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const encode = (text: string | Buffer) => Buffer.from(text).toString('base64url')

/** A token with any header, signed with the secret all the same. */
function forge(header: object | string, claims: string | Buffer = '{"sub":"u","type":"access"}'): string {
  const input = `${encode(typeof header === 'string' ? header : JSON.stringify(header))}.${encode(claims)}`
  return `${input}.${sign(input)}`
}

const sign = (input: string): string => createHmac('sha256', SECRET).update(input).digest('base64url')

describe('a malformed or forged token is refused', () => {
  const { tokens } = createManager({ JWT_MAX_TOKEN_LENGTH: 5000 })
  const [header, claims, signature] = forge({ alg: 'HS256' }).split('.')

  test.each<[what: string, token: unknown]>([
    ['a number', 7],
    ['too long', 'x'.repeat(5001)],
    ['no text', ''],
    ['one segment', 'abc'],
    ['two segments', `${header}.${claims}`],
    ['an empty header', `.${claims}.${signature}`],
    ['empty claims', `${header}..${signature}`],
    ['an empty signature', `${header}.${claims}.`],
    ['an empty fourth segment', `${header}.${claims}.${signature}.`],
    ['four segments', `${header}.${claims}.${signature}.x`],
    ['a header that is too long', forge({ alg: 'HS256', pad: 'x'.repeat(2000) })],
    ['a padded header', `e30=.${claims}.${signature}`],
    ['a header that is a list', forge('[]')],
    ['a header member twice', forge('{"alg":"HS256","alg":"HS256"}')],
    ['no algorithm', forge({})],
    ['an algorithm that is no string', forge({ alg: 7 })],
    ['a kid that is no string', forge({ alg: 'HS256', kid: 7 })],
    ['a kid that is too long', forge({ alg: 'HS256', kid: 'k'.repeat(129) })],
    ['another typ', forge({ alg: 'HS256', typ: 'logout+jwt' })],
    ['a typ that is no string', forge({ alg: 'HS256', typ: 7 })],
    ['another algorithm', forge({ alg: 'HS384' })],
    ['padded claims, signed so', `${header}.${claims}=.${sign(`${header}.${claims}=`)}`],
    ['a padded signature', `${header}.${claims}.${signature}=`],
    ['claims that are not UTF-8', forge({ alg: 'HS256' }, Buffer.from([0x22, 0xff, 0x22]))],
    ...['crit', 'b64', 'zip', 'enc', 'cty', 'jku', 'jwk', 'x5u', 'x5c'].map((name): [string, string] => [
      `a header member ${name}`,
      forge({ alg: 'HS256', [name]: null }),
    ]),
  ])('%s', (_what, token) => {
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token as string)).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID', isTokenError: true }),
    )
  })

  test.each<[what: string, token: string]>([
    ['an unknown key', forge({ alg: 'HS256', kid: 'k'.repeat(128) })],
    ['padded claims', `${header}.${claims}=.${signature}`],
    ['another signature', `${header}.${claims}.${encode('x'.repeat(32))}`],
    ['a short signature', `${header}.${claims}.${encode('x')}`],
  ])('%s is a wrong signature', (_what, token) => {
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(
      expect.objectContaining({ code: 'TOKEN_SIGNATURE_INVALID' }),
    )
  })

  test.each(['JWT', 'jwt', 'at+jwt', 'application/at+jwt', 'application/JWT'])('typ %s is ours', (typ) => {
    expect(internalsOf(tokens).verifyWithoutRevocation(forge({ alg: 'HS256', typ })).sub).toBe('u')
  })

  test('the longest token and header that are allowed pass', () => {
    const exact = createManager({ JWT_MAX_TOKEN_LENGTH: forge({ alg: 'HS256' }).length }).tokens
    expect(internalsOf(exact).verifyWithoutRevocation(forge({ alg: 'HS256' })).sub).toBe('u')
    // 1536 bytes are 2048 characters of base64url.
    const pad = 'x'.repeat(1536 - JSON.stringify({ alg: 'HS256', pad: '' }).length)
    expect(internalsOf(tokens).verifyWithoutRevocation(forge({ alg: 'HS256', pad })).sub).toBe('u')
    expect(() =>
      internalsOf(tokens).verifyWithoutRevocation(forge({ alg: 'HS256', pad: `${pad}x` })),
    ).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }))
  })
})

describe('a reserved header member is named', () => {
  const { tokens } = createManager()
  const create = (headers: Record<string, string>) => tokens.createAccessToken({ uid: 'u' }, { headers })

  test.each(['alg', 'typ', 'kid', 'x5t', 'x5t#S256', 'crit', 'jwk'])('%s', (name) => {
    expect(() => create({ [name]: 'x' })).toThrow(naming('TypeError', `"${name}"`))
  })

  test('others can, up to the length that is read', () => {
    const { header } = openToken(create({ tenant: 'a' }))
    expect(header).toEqual({ alg: 'HS256', typ: 'JWT', kid: tokens.keys.current, tenant: 'a' })
    expect(() => create({ tenant: 'x'.repeat(1600) })).toThrow(naming('TypeError', 'header', '2048'))
  })
})

describe('a key that does not fit is named', () => {
  const es256 = keyPairFor('ES256')
  const pem = es256.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const jwk = es256.publicKey.export({ format: 'jwk' })
  const oct = { kty: 'oct', k: Buffer.from(SECRET).toString('base64url') }
  const aSecret = ['JWT_SECRET_KEY']

  test.each<[what: string, options: TokenConfigOptions, named: string[]]>([
    ['no secret', { JWT_SECRET_KEY: null }, ['JWT_SECRET_KEY', 'HS256']],
    ['an empty secret', { JWT_SECRET_KEY: '' }, ['JWT_SECRET_KEY']],
    ['a public key for a secret', { JWT_SECRET_KEY: es256.publicKey }, aSecret],
    ['a JWK of another type', { JWT_SECRET_KEY: { ...jwk } }, aSecret],
    ['a JWK without its secret', { JWT_SECRET_KEY: { kty: 'oct' } }, aSecret],
    ['a JWK in another spelling', { JWT_SECRET_KEY: { kty: 'oct', k: `${oct.k}=` } }, aSecret],
    [
      'a JWK for another algorithm',
      { JWT_SECRET_KEY: { ...oct, alg: 'HS512' } },
      ['JWT_SECRET_KEY', 'HS256'],
    ],
    [
      'a JWK for encryption',
      { JWT_SECRET_KEY: { ...oct, use: 'enc' } },
      ['JWT_SECRET_KEY', '"use"', '"sig"'],
    ],
    [
      'a JWK that only verifies',
      { JWT_SECRET_KEY: { ...oct, key_ops: ['verify'] } },
      ['JWT_SECRET_KEY', '"key_ops"', '"sign"'],
    ],
    [
      'a previous JWK that only signs',
      { JWT_PREVIOUS_SECRET_KEY: { kty: 'oct', k: encode(`old ${SECRET}`), key_ops: ['sign'] } },
      ['JWT_PREVIOUS_SECRET_KEY', '"key_ops"', '"verify"'],
    ],
    ...['', 7, 'k'.repeat(129)].map((kid): [string, TokenConfigOptions, string[]] => [
      'a JWK with such a kid',
      { JWT_SECRET_KEY: { ...oct, kid: kid as string } },
      ['JWT_SECRET_KEY', '"kid"'],
    ]),
    [
      'a kid of two keys',
      {
        JWT_SECRET_KEY: { ...oct, kid: 'k' },
        JWT_PREVIOUS_SECRET_KEY: { kty: 'oct', k: encode(`old ${SECRET}`), kid: 'k' },
      },
      ['"kid"'],
    ],
    ['a PEM for a secret', { JWT_SECRET_KEY: pem }, ['JWT_SECRET_KEY', 'JWT_PRIVATE_KEY', 'JWT_PUBLIC_KEY']],
    ['both kinds', { JWT_DECODE_ALGORITHMS: ['ES256'] }, ['JWT_DECODE_ALGORITHMS']],
    ['no key', { JWT_ALGORITHM: 'ES256' }, ['ES256', 'JWT_PRIVATE_KEY', 'JWT_PUBLIC_KEY']],
    [
      'keys of two pairs',
      {
        JWT_ALGORITHM: 'ES256',
        JWT_PRIVATE_KEY: pem,
        JWT_PUBLIC_KEY: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey,
      },
      ['JWT_PUBLIC_KEY', 'JWT_PRIVATE_KEY'],
    ],
    [
      'an algorithm that nobody verifies',
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: pem, JWT_DECODE_ALGORITHMS: ['ES384'] },
      ['JWT_DECODE_ALGORITHMS', 'ES384'],
    ],
    [
      'a JWK that names another algorithm',
      { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: { ...jwk, alg: 'ES384' } },
      ['JWT_PUBLIC_KEY', 'ES256'],
    ],
    ['a private key for a public one', { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: pem }, ['JWT_PUBLIC_KEY']],
    [
      'a private JWK for a public one',
      { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: es256.privateKey.export({ format: 'jwk' }) },
      ['JWT_PUBLIC_KEY'],
    ],
    [
      'a private KeyObject for a public one',
      { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: es256.privateKey },
      ['JWT_PUBLIC_KEY'],
    ],
    [
      'a public KeyObject for a private one',
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: es256.publicKey },
      ['JWT_PRIVATE_KEY'],
    ],
    ['a text that is no key', { JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: 'secret' }, ['JWT_PUBLIC_KEY']],
    [
      'a text that is no private key',
      { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: 'secret' },
      ['JWT_PRIVATE_KEY'],
    ],
  ])('%s', (_what, options, named) => {
    const build = () => createManager({ JWT_SECRET_KEY: SECRET, ...options })
    expect(build).toThrow(naming('ConfigurationError', ...named))
  })

  test('a PEM that is no key', () => {
    const broken = '-----BEGIN PRIVATE KEY-----'
    expect(() => createManager({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: broken })).toThrow(
      naming('ConfigurationError', 'JWT_PRIVATE_KEY'),
    )
  })

  test.each<[Algorithm, Algorithm | 'x25519' | 'rsa 1024', mismatch: string]>([
    ['RS256', 'ES256', 'needs an RSA key'],
    ['PS256', 'ES256', 'needs an RSA key'],
    ['ES256', 'ES384', 'needs an EC key on curve prime256v1'],
    ['ES384', 'Ed25519', 'needs an EC key on curve secp384r1'],
    ['ES512', 'ES256', 'needs an EC key on curve secp521r1'],
    ['EdDSA', 'ES256', 'needs an Ed25519 key'],
    ['Ed25519', 'x25519', 'needs an Ed25519 key'],
    ['HS256', 'ES256', 'needs a secret'],
    ['RS256', 'rsa 1024', 'needs an RSA key of at least 2048 bits'],
  ])('%s with a key for %s', (algorithm, other, mismatch) => {
    const { publicKey } =
      other === 'x25519'
        ? generateKeyPairSync('x25519')
        : other === 'rsa 1024'
          ? generateKeyPairSync('rsa', { modulusLength: 1024 })
          : keyPairFor(other)
    expect(readKeyMismatch(algorithm, publicKey)).toBe(mismatch)
  })
})
