import { generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  type OwnKey,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { createKeyPair, keyPairFor } from '../helpers/keys.js'
import { createClock, openToken, SECRET } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { createKeyManager, inSeconds } from '../helpers/own-keys.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const { privateKey, publicKey } = keyPairFor('ES256')
const other = createKeyPair('ES256')
const rsa = keyPairFor('RS256')
const sign = () => new Uint8Array(64)
const encrypted = privateKey
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'correct' })
  .toString()
const legacy = privateKey
  .export({ type: 'sec1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'correct' })
  .toString()
const ES256 = { algorithm: 'ES256' } as const
const good: OwnKey = { ...ES256, kid: 'a', privateKey }

const build = (keys: unknown, fields?: TokenConfigOptions) =>
  createKeyManager(keys as OwnKey[], fields && { fields }).tokens

describe('a bad list is a ConfigurationError that names the key', () => {
  test.each<[what: string, keys: unknown, named: readonly string[]]>([
    ['no list', {}, ['keys must be a list']],
    ['an empty list', [], ['keys must be a list']],
    ['no algorithm', [{ privateKey }], ['keys[0].algorithm']],
    ['an unknown algorithm', [good, { privateKey, algorithm: 'none' }], ['keys[1].algorithm']],
    ['a name of Object.prototype', [{ privateKey, algorithm: 'toString' }], ['keys[0].algorithm']],
    ['no material', [ES256], ['keys[0]', 'privateKey']],
    ['a secret for a key pair', [{ ...ES256, secret: SECRET }], ['keys[0].secret']],
    ['no secret', [{ algorithm: 'HS256' }], ['keys[0]', 'HS256', 'secret']],
    [
      'a private key for a secret',
      [{ algorithm: 'HS256', secret: SECRET, privateKey }],
      ['keys[0].privateKey', 'HS256'],
    ],
    [
      'a public key for a secret',
      [{ algorithm: 'HS256', secret: SECRET, publicKey }],
      ['keys[0].publicKey', 'HS256'],
    ],
    [
      'a passphrase for a secret',
      [{ algorithm: 'HS256', secret: SECRET, passphrase: 'x' }],
      ['keys[0].passphrase', 'HS256'],
    ],
    ['a weak secret', [{ algorithm: 'HS256', secret: 'short' }], ['keys[0].secret']],
    ['a signer of a secret', [{ algorithm: 'HS256', secret: SECRET, sign }], ['keys[0].sign']],
    ['a signer without a public key', [{ ...ES256, sign }], ['keys[0]', 'publicKey']],
    ['a signer next to a private key', [{ ...good, sign }], ['keys[0].sign']],
    ['a signer that is no function', [{ ...ES256, publicKey, sign: {} }], ['keys[0].sign']],
    ['the public key of another', [{ ...good, publicKey: other.publicKey }], ['keys[0].publicKey']],
    ['a private key as a public one', [{ ...ES256, publicKey: privateKey }], ['keys[0].publicKey']],
    ['a public key as a private one', [{ ...ES256, privateKey: publicKey }], ['keys[0].privateKey']],
    ['a key for another algorithm', [{ ...ES256, privateKey: rsa.privateKey }], ['keys[0]', 'ES256']],
    [
      'a JWK for another algorithm',
      [{ algorithm: 'RS256', publicKey: { ...rsa.publicKey.export({ format: 'jwk' }), alg: 'PS256' } }],
      ['keys[0].publicKey', 'alg'],
    ],
    ['a kid that is empty', [{ ...good, kid: '' }], ['keys[0].kid']],
    ['a kid that is too long', [{ ...good, kid: 'k'.repeat(129) }], ['keys[0].kid']],
    ['a kid that is no text', [{ ...good, kid: 7 }], ['keys[0].kid']],
    ['a list of kids', [{ ...good, kid: ['a'] }], ['keys[0].kid']],
    ['no kid, said by null', [{ ...good, kid: null }], ['keys[0].kid']],
    [
      'a public JWK that does not verify',
      [{ ...ES256, publicKey: { ...publicKey.export({ format: 'jwk' }), key_ops: ['sign'] } }],
      ['keys[0].publicKey', 'verify'],
    ],
    [
      'a kid twice',
      [
        good,
        { ...ES256, kid: 'b', privateKey: other.privateKey },
        { ...ES256, kid: 'a', publicKey: other.publicKey },
      ],
      ['keys[0]', 'keys[2]', '"a"'],
    ],
    [
      'a kid twice, of two algorithms',
      [good, { algorithm: 'RS256', kid: 'a', publicKey: rsa.publicKey }],
      ['"a"'],
    ],
    [
      'a key twice',
      [
        { ...ES256, privateKey },
        { ...ES256, publicKey },
      ],
      ['keys[0]', 'keys[1]'],
    ],
    ['secrets next to key pairs', [good, { algorithm: 'HS256', secret: SECRET }], ['HMAC']],
    ['a passphrase for a key that is not encrypted', [{ ...good, passphrase: 'x' }], ['keys[0].passphrase']],
    [
      'a passphrase without a private key',
      [{ ...ES256, publicKey, passphrase: 'x' }],
      ['keys[0].passphrase', 'privateKey'],
    ],
    [
      'no passphrase',
      [{ ...ES256, privateKey: encrypted }],
      ['keys[0].privateKey', 'set keys[0].passphrase'],
    ],
    [
      'a wrong passphrase',
      [{ ...ES256, privateKey: encrypted, passphrase: 'wrong' }],
      ['keys[0].passphrase'],
    ],
    ['an empty passphrase', [{ ...ES256, privateKey: encrypted, passphrase: '' }], ['keys[0].passphrase']],
    ['a notBefore that is no Date', [{ ...good, notBefore: 1_767_225_600 }], ['keys[0].notBefore']],
    ['a retireAt that is no valid Date', [{ ...good, retireAt: new Date('soon') }], ['keys[0].retireAt']],
    [
      'a retireAt before the notBefore',
      [{ ...good, notBefore: inSeconds(-5), retireAt: inSeconds(-6) }],
      ['keys[0].retireAt'],
    ],
    ['all retired', [{ ...good, retireAt: inSeconds(0) }], ['retired']],
    ['none that signs yet', [{ ...good, notBefore: inSeconds(1) }], ['"a"', inSeconds(1).toISOString()]],
    ['only verifying ones, all retired', [{ ...ES256, publicKey, retireAt: inSeconds(-1) }], ['retired']],
  ])('%s', (_what, keys, named) => {
    expect(() => build(keys)).toThrow(naming('ConfigurationError', ...named))
  })

  test('an unknown member is a TypeError', () => {
    expect(() => build([{ ...good, retiredAt: inSeconds(9) }])).toThrow(
      naming('TypeError', 'retiredAt', 'retireAt'),
    )
    expect(() => build([null])).toThrow(naming('TypeError', 'keys[0]'))
  })

  test.each([
    ['JWT_SECRET_KEY', SECRET],
    ['JWT_PREVIOUS_SECRET_KEY', SECRET],
    ['JWT_PRIVATE_KEY', privateKey],
    ['JWT_PRIVATE_KEY_PASSPHRASE', 'x'],
    ['JWT_PUBLIC_KEY', publicKey],
    ['JWT_PREVIOUS_PUBLIC_KEY', publicKey],
    ['JWT_DECODE_ALGORITHMS', ['ES256']],
  ])('%s in the configuration next to a list', (field, value) => {
    expect(() => build([good], { [field]: value })).toThrow(naming('ConfigurationError', field, 'keys'))
  })

  test.each(['0s', -1, 'soon', '2h', null])('a signTimeout of %s', (signTimeout) => {
    const config = new TokenConfig()
    expect(() => new TokenManager({ config, keys: [good], signTimeout: signTimeout as string })).toThrow(
      naming('ConfigurationError', 'signTimeout'),
    )
  })

  test('a signTimeout without a list', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    expect(() => new TokenManager({ config, signTimeout: '1s' })).toThrow(
      naming('ConfigurationError', 'signTimeout'),
    )
  })
})

describe('a key retires after the last token that it signs has expired', () => {
  const next: OwnKey = { ...ES256, kid: 'b', privateKey: other.privateKey, notBefore: inSeconds(10) }
  const third = createKeyPair('ES256')

  test('the earliest moment is the start of its successor and the longest lifetime', () => {
    expect(() => build([{ ...good, retireAt: inSeconds(109.999) }, next])).toThrow(
      naming('ConfigurationError', '"a"', inSeconds(109.999).toISOString(), inSeconds(110).toISOString()),
    )
    expect(() => build([{ ...good, retireAt: inSeconds(110) }, next])).not.toThrow()
  })

  test('and the leeway', () => {
    const keys = [{ ...good, retireAt: inSeconds(110) }, next]
    expect(() => build(keys, { JWT_DECODE_LEEWAY: 1 })).toThrow(
      naming('ConfigurationError', inSeconds(111).toISOString()),
    )
  })

  test('of an old key that only verifies as well', () => {
    const keys = [
      { ...ES256, kid: 'a', publicKey, retireAt: inSeconds(20) },
      { ...next, notBefore: inSeconds(-1) },
    ]
    expect(() => build(keys)).toThrow(naming('ConfigurationError', inSeconds(99).toISOString()))
  })

  test('not where tokens never expire, nor before there is a successor, nor where nothing is signed', () => {
    const retiring = { ...good, retireAt: inSeconds(20) }
    const HUNDRED_YEARS = { JWT_REFRESH_TOKEN_EXPIRES: '36500d' }
    expect(() => build([retiring, next], { JWT_REFRESH_TOKEN_EXPIRES: false })).not.toThrow()
    expect(() => build([retiring])).not.toThrow()
    expect(() => build([retiring], HUNDRED_YEARS)).not.toThrow()
    expect(() =>
      build([
        { ...ES256, kid: 'a', publicKey, retireAt: inSeconds(20) },
        { ...ES256, publicKey: other.publicKey, notBefore: inSeconds(10) },
      ]),
    ).not.toThrow()
  })

  test('not of a key that is retired already: nothing can be saved any more', () => {
    for (const seconds of [-1, 0]) {
      const retired = { ...good, retireAt: inSeconds(seconds) }
      expect(() => build([retired, { ...next, notBefore: inSeconds(-2) }])).not.toThrow()
    }
  })

  test('a key that starts when the old one has retired is not its successor', () => {
    const retiring = { ...good, retireAt: inSeconds(20) }
    for (const seconds of [20, 30]) {
      expect(() => build([retiring, { ...next, notBefore: inSeconds(seconds) }])).not.toThrow()
    }
  })

  test('nor is one that only verifies, for a key that signs here', () => {
    const { privateKey: _, ...verifying } = { ...next, publicKey: other.publicKey }
    expect(() => build([{ ...good, retireAt: inSeconds(20) }, verifying])).not.toThrow()
  })

  test('not of a key that never signs, because another one is always before it', () => {
    const from = { notBefore: inSeconds(-10) }
    const unused = { ...ES256, kid: 'c', privateKey: third.privateKey, ...from, retireAt: inSeconds(20) }
    expect(() => build([{ ...good, ...from }, unused, next])).not.toThrow()
    expect(() => build([unused, { ...good, ...from }, next])).toThrow(naming('ConfigurationError', '"c"'))
  })

  test('a moment that no Date can have is not written as one', () => {
    const last = new Date(8.64e15)
    const keys = [{ ...good, retireAt: last }, next]
    expect(() => build(keys, { JWT_REFRESH_TOKEN_EXPIRES: '100000000d' })).toThrow(
      naming('ConfigurationError', '"a"', last.toISOString(), 'no date'),
    )
  })

  test('a successor that retires first brings the old key back', () => {
    const keys = [
      { ...good, retireAt: inSeconds(300) },
      { ...next, retireAt: inSeconds(150) },
    ]
    expect(() => build(keys)).toThrow(
      naming('ConfigurationError', '"a"', inSeconds(300).toISOString(), 'successor'),
    )
    const last = { ...ES256, kid: 'c', privateKey: third.privateKey, notBefore: inSeconds(40) }
    expect(() => build([...keys, last])).not.toThrow()
  })
})

describe('the forms of a key', () => {
  const KID = createKeyManager([{ ...ES256, privateKey }]).tokens.keys.current

  test.each<[what: string, key: OwnKey]>([
    ['PEM', { ...ES256, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }],
    ['encrypted PKCS #8', { ...ES256, privateKey: encrypted, passphrase: 'correct' }],
    [
      'encrypted PKCS #8 in one line',
      { ...ES256, privateKey: encrypted.replaceAll('\n', '\\n'), passphrase: 'correct' },
    ],
    ['encrypted PEM of the older format', { ...ES256, privateKey: legacy, passphrase: 'correct' }],
    ['a JWK', { ...ES256, privateKey: { ...privateKey.export({ format: 'jwk' }) } }],
    ['the text of a JWK', { ...ES256, privateKey: JSON.stringify(privateKey.export({ format: 'jwk' })) }],
    ['both halves', { ...ES256, privateKey, publicKey }],
    [
      'both halves as JWKs, each with its operation',
      {
        ...ES256,
        privateKey: { ...privateKey.export({ format: 'jwk' }), key_ops: ['sign'] },
        publicKey: { ...publicKey.export({ format: 'jwk' }), key_ops: ['verify'] },
      },
    ],
  ])('%s', async (_form, key) => {
    const { tokens } = createKeyManager([key])
    expect(tokens.keys.current).toBe(KID)
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(openToken(token).header).toMatchObject({ alg: 'ES256', kid: KID })
    expect(await tokens.verify(token)).toMatchObject({ sub: 'ada' })
  })

  test('a secret signs and verifies, and so does the JWK of one', async () => {
    const k = Buffer.from(SECRET).toString('base64url')
    const one = createKeyManager([{ algorithm: 'HS256', secret: SECRET, kid: 'mine' }]).tokens
    const two = createKeyManager([{ algorithm: 'HS256', secret: { kty: 'oct', k, kid: 'mine' } }]).tokens
    expect(await two.verify(one.createAccessToken({ uid: 'ada' }))).toMatchObject({ sub: 'ada' })
  })

  test('an own kid wins over that of the JWK', () => {
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'of the JWK' }
    expect(build([{ ...ES256, privateKey: jwk }]).keys.current).toBe('of the JWK')
    expect(build([{ ...ES256, privateKey: jwk, kid: 'mine' }]).keys.current).toBe('mine')
  })

  test('a list of public keys only verifies', async () => {
    const { tokens } = createKeyManager([{ ...ES256, publicKey }])
    expect(tokens.keys.current).toBeNull()
    expect(() => tokens.createAccessToken({ uid: 'ada' })).toThrow(
      naming('ConfigurationError', 'only verify'),
    )
    await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toThrow(
      naming('ConfigurationError', 'only verify'),
    )
    const token = build([good]).createAccessToken({ uid: 'ada' })
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_SIGNATURE_INVALID' })
    expect(await build([{ ...ES256, publicKey, kid: 'a' }]).verify(token)).toMatchObject({ sub: 'ada' })
  })
})

describe('CryptoKey', () => {
  const ALGORITHMS = [
    ['RS256', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
    ['PS384', { name: 'RSA-PSS', hash: 'SHA-384' }],
    ['ES256', { name: 'ECDSA', namedCurve: 'P-256' }],
    ['ES512', { name: 'ECDSA', namedCurve: 'P-521' }],
    ['EdDSA', { name: 'Ed25519' }],
    ['Ed25519', { name: 'Ed25519' }],
  ] as const
  const generate = (parameters: object): Promise<webcrypto.CryptoKeyPair> =>
    webcrypto.subtle.generateKey(parameters as never, false, ['sign', 'verify'])
  // Imported, because RSA keys are slow to make.
  const importPair = async (
    algorithm: Algorithm,
    parameters: object,
    isExtractable: boolean,
  ): Promise<webcrypto.CryptoKeyPair> => {
    const pair = keyPairFor(algorithm)
    const read = (key: KeyObject, isOpen: boolean, usage: 'sign' | 'verify') =>
      webcrypto.subtle.importKey(
        'jwk',
        key.export({ format: 'jwk' }) as webcrypto.JsonWebKey,
        parameters as never,
        isOpen,
        [usage],
      )
    return {
      privateKey: await read(pair.privateKey, isExtractable, 'sign'),
      publicKey: await read(pair.publicKey, true, 'verify'),
    }
  }

  test.each(ALGORITHMS)(
    '%s: one that can be extracted signs immediately, another one asynchronously',
    async (algorithm, parameters) => {
      const open = await importPair(algorithm, parameters, true)
      const { tokens } = createKeyManager([{ algorithm, privateKey: open.privateKey }])
      expect(await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).toMatchObject({ sub: 'ada' })

      const closed = await importPair(algorithm, parameters, false)
      const asynchronous = createKeyManager([{ algorithm, ...closed }]).tokens
      expect(() => asynchronous.createAccessToken({ uid: 'ada' })).toThrow(
        naming('ConfigurationError', 'sessions.open()'),
      )
      for (let round = 0; round < 4; round++) {
        const token = await internalsOf(asynchronous).createToken('access', { uid: 'ada' })
        expect(await asynchronous.verify(token)).toMatchObject({ sub: 'ada' })
      }
    },
  )

  test('is refused for another algorithm, type or usage, and without its public key', async () => {
    const pair = await generate({ name: 'ECDSA', namedCurve: 'P-256' })
    const jwk = await webcrypto.subtle.exportKey('jwk', pair.publicKey)
    const closedPublic = await webcrypto.subtle.importKey(
      'jwk',
      jwk,
      { name: 'ECDSA', namedCurve: 'P-256' },
      false,
      ['verify'],
    )
    const ecdh = await webcrypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, [
      'deriveBits',
    ])
    const REFUSED: [keys: object, ...named: string[]][] = [
      [{ ...ES256, privateKey: pair.privateKey }, 'keys[0].privateKey', 'publicKey'],
      [{ algorithm: 'ES384', ...pair }, 'keys[0].publicKey', 'ES384'],
      [
        { ...keyPairFor('ES384'), algorithm: 'ES384', privateKey: pair.privateKey },
        'keys[0].privateKey',
        'ES384',
      ],
      [{ algorithm: 'HS256', secret: pair.privateKey }, 'keys[0].secret'],
      [{ ...ES256, privateKey: pair.publicKey }, 'keys[0].privateKey', 'not a public'],
      [{ ...ES256, publicKey: pair.privateKey }, 'keys[0].publicKey', 'not a private'],
      [{ ...ES256, publicKey: closedPublic }, 'keys[0].publicKey', 'extracted'],
      [{ ...ES256, ...(ecdh as object) }, 'keys[0].publicKey', 'usages'],
      [{ ...ES256, ...pair, passphrase: 'x' }, 'keys[0].passphrase', 'PEM'],
    ]
    for (const [key, ...named] of REFUSED) {
      expect(() => build([key])).toThrow(naming('ConfigurationError', ...named))
    }
  })

  test.each<[what: string, wanted: Algorithm, given: Algorithm, parameters: object]>([
    ['scheme', 'PS256', 'RS256', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
    ['hash', 'RS512', 'RS256', { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
    ['curve', 'ES384', 'ES256', { name: 'ECDSA', namedCurve: 'P-256' }],
    ['kind', 'EdDSA', 'ES256', { name: 'ECDSA', namedCurve: 'P-256' }],
  ])(
    'of another %s is refused, also next to a public key that fits',
    async (_, wanted, given, parameters) => {
      for (const isExtractable of [true, false]) {
        const pair = await importPair(given, parameters, isExtractable)
        const key = {
          algorithm: wanted,
          privateKey: pair.privateKey,
          publicKey: keyPairFor(wanted).publicKey,
        }
        expect(() => build([key])).toThrow(naming('ConfigurationError', 'keys[0].privateKey', wanted))
      }
    },
  )

  test('of another library, which this runtime cannot import, is refused', () => {
    const foreign = {
      [Symbol.toStringTag]: 'CryptoKey',
      type: 'public',
      extractable: true,
      algorithm: { name: 'ECDSA', namedCurve: 'P-256' },
      usages: ['verify'],
    }
    expect(() => build([{ ...ES256, publicKey: foreign }])).toThrow(
      naming('ConfigurationError', 'keys[0].publicKey', 'CryptoKey'),
    )
  })

  test('that does not belong to the public key makes no token', async () => {
    const [one, two] = await Promise.all([1, 2].map(() => generate({ name: 'Ed25519' })))
    const keys = [{ algorithm: 'EdDSA', privateKey: one?.privateKey, publicKey: two?.publicKey }] as OwnKey[]
    await expect(internalsOf(build(keys)).createToken('access', { uid: 'ada' })).rejects.toMatchObject({
      code: 'KEYS_UNAVAILABLE',
    })
  })
})

describe('JWT_PRIVATE_KEY_PASSPHRASE', () => {
  const create = (fields: TokenConfigOptions) =>
    new TokenManager({ config: new TokenConfig({ JWT_ALGORITHM: 'ES256', ...fields }), clock: createClock() })

  test('decrypts the key of the configuration', () => {
    const tokens = create({ JWT_PRIVATE_KEY: encrypted, JWT_PRIVATE_KEY_PASSPHRASE: 'correct' })
    expect(tokens.keys.current).toBe(build([{ ...ES256, privateKey }]).keys.current)
  })

  test.each<[what: string, fields: TokenConfigOptions, ...named: string[]]>([
    ['is required', { JWT_PRIVATE_KEY: encrypted }, 'JWT_PRIVATE_KEY_PASSPHRASE'],
    ['must be right', { JWT_PRIVATE_KEY: encrypted, JWT_PRIVATE_KEY_PASSPHRASE: 'x' }, 'decrypted'],
    ['needs an encrypted key', { JWT_PRIVATE_KEY: privateKey, JWT_PRIVATE_KEY_PASSPHRASE: 'x' }, 'encrypted'],
    ['needs a key', { JWT_PUBLIC_KEY: publicKey, JWT_PRIVATE_KEY_PASSPHRASE: 'x' }, 'needs JWT_PRIVATE_KEY'],
  ])('%s', (_what, fields, ...named) => {
    expect(() => create(fields)).toThrow(naming('ConfigurationError', ...named))
  })
})

test('a key pair whose halves do not belong together is refused', () => {
  const { x, y } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const jwk = { ...privateKey.export({ format: 'jwk' }), x, y }
  expect(() => build([{ ...ES256, privateKey: jwk }])).toThrow(
    naming('ConfigurationError', 'keys[0].privateKey'),
  )
})
