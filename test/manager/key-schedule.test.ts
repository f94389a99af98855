import { createPublicKey, createSign, generateKeyPairSync, sign as signNow } from 'node:crypto'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type OwnKey, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createEmptyRing, toJwkSet } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { resolveKeys } from '../../packages/tokenlib/src/config/config.js'
import { createKeyPair, keyPairFor } from '../helpers/keys.js'
import { createClock, createManager, NOW, openToken, SECRET, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { createKeyManager, inSeconds } from '../helpers/own-keys.js'
import { outcomeOf } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const ada = { uid: 'ada' }
const createKey = (kid: string) => ({ kid, algorithm: 'ES256' as const, ...createKeyPair('ES256') })
const [a, b, c] = [createKey('a'), createKey('b'), createKey('c')]

// A signs until 100, B until 200, then C; each retires when the last of its tokens has expired.
const SCHEDULE: readonly OwnKey[] = [
  { ...a, retireAt: inSeconds(200) },
  { ...b, notBefore: inSeconds(100), retireAt: inSeconds(300) },
  { ...c, notBefore: inSeconds(200) },
]

describe('new tokens take the newest key that has started', () => {
  test('by the clock, without a restart', () => {
    const { tokens, clock } = createKeyManager(SCHEDULE)
    const start = clock.seconds
    const kids = [0, 99.999, 100, 199.999, 200, 10_000].map((seconds) => {
      clock.seconds = start + seconds
      const { kid } = openToken(tokens.createAccessToken(ada)).header
      expect(tokens.keys.current).toBe(kid)
      return kid
    })
    expect(kids).toEqual(['a', 'a', 'b', 'b', 'c', 'c'])
  })

  test('in whatever order they are listed, the first among equals', () => {
    expect(createKeyManager(SCHEDULE.toReversed()).tokens.keys.current).toBe('a')
    expect(createKeyManager([b, a]).tokens.keys.current).toBe('b')
    const same = { notBefore: inSeconds(-1) }
    expect(createKeyManager([c, { ...b, ...same }, { ...a, ...same }]).tokens.keys.current).toBe('b')
  })

  test('an error says which key comes next and when, or that none does', async () => {
    const { tokens, clock } = createKeyManager(
      [
        { ...a, retireAt: inSeconds(50) },
        { ...c, notBefore: inSeconds(90) },
        { ...b, notBefore: inSeconds(80), retireAt: inSeconds(5000) },
      ],
      { fields: { JWT_REFRESH_TOKEN_EXPIRES: false } },
    )
    clock.seconds += 60
    expect(() => tokens.createAccessToken(ada)).toThrow(
      naming('ConfigurationError', '"b"', inSeconds(80).toISOString()),
    )
    await expect(tokens.sessions.open(ada)).rejects.toThrow(naming('ConfigurationError', '"b"'))
    expect(tokens.keys.current).toBeNull()
    const ending = createKeyManager([{ ...a, retireAt: inSeconds(50) }])
    ending.clock.seconds += 50
    expect(() => ending.tokens.createAccessToken(ada)).toThrow(
      naming('ConfigurationError', 'retired', 'keys.set()'),
    )
  })
})

describe('tokens are accepted', () => {
  test('of a key that starts later: another process may be ahead', async () => {
    const list = [a, { ...b, notBefore: inSeconds(2) }]
    const fields = { JWT_DECODE_LEEWAY: 5 }
    const ahead = createKeyManager(list, { fields, clock: createClock(NOW + 3) })
    const token = ahead.tokens.createAccessToken(ada)
    expect(openToken(token).header['kid']).toBe('b')
    const { tokens } = createKeyManager(list, { fields })
    expect(tokens.keys.current).toBe('a')
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  })

  test('until the key retires, and not a moment longer', async () => {
    const fields = { JWT_DECODE_LEEWAY: 0, JWT_ACCESS_TOKEN_EXPIRES: 100 }
    const { tokens, clock } = createKeyManager([{ ...a, retireAt: inSeconds(40) }], { fields })
    const token = tokens.createAccessToken(ada)
    clock.seconds += 39.999
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    clock.seconds += 0.001
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_SIGNATURE_INVALID')
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(
      expect.objectContaining({ code: 'TOKEN_SIGNATURE_INVALID' }),
    )
  })

  test('of a remembered token too', async () => {
    const { tokens, clock } = createKeyManager([{ ...a, retireAt: inSeconds(40) }])
    const request = () => withBearer(token)
    const token = tokens.createAccessToken(ada)
    // The third time it is remembered, and takes the fast lane.
    for (let time = 0; time < 4; time++) {
      expect(await outcomeOf(tokens.accessTokenRequired(request()))).toBe('ok')
    }
    clock.seconds += 40
    expect(await outcomeOf(tokens.accessTokenRequired(request()))).toBe('TOKEN_SIGNATURE_INVALID')
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_SIGNATURE_INVALID')
  })
})

describe('attacks', () => {
  const { privateKey: keyA } = a
  const forge = (header: object, key: typeof keyA) => {
    const { clock, tokens } = createKeyManager(SCHEDULE)
    const [, payload] = tokens.createAccessToken(ada).split('.')
    const input = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`
    const signature = signNow('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
    const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const s = BigInt(`0x${signature.toString('hex', 32)}`)
    const low = s > n / 2n ? (n - s).toString(16).padStart(64, '0') : signature.toString('hex', 32)
    const token = `${input}.${Buffer.from(signature.toString('hex', 0, 32) + low, 'hex').toString('base64url')}`
    return { tokens, clock, token }
  }

  test('the forged tokens below are good where they say the truth', async () => {
    const { tokens, token } = forge({ alg: 'ES256', typ: 'JWT', kid: 'a' }, keyA)
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  })

  test('a token that is signed with a retired key, new or old, with or without its kid', async () => {
    for (const header of [{ alg: 'ES256', kid: 'a' }, { alg: 'ES256' }]) {
      const { tokens, clock, token } = forge(header, keyA)
      expect(await outcomeOf(tokens.verify(token))).toBe('ok')
      clock.seconds += 200
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_SIGNATURE_INVALID')
    }
  })

  test('a token with the kid of one key, signed by another', async () => {
    const { tokens, token } = forge({ alg: 'ES256', typ: 'JWT', kid: 'b' }, keyA)
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_SIGNATURE_INVALID')
  })

  test('the algorithm of one key with the kid of another', async () => {
    const rsa = keyPairFor('RS256')
    const { tokens } = createKeyManager([
      a,
      { algorithm: 'PS256', kid: 'p', ...rsa, notBefore: inSeconds(5) },
    ])
    const [, payload] = tokens.createAccessToken(ada).split('.')
    for (const [header, code] of [
      [{ alg: 'ES256', kid: 'p' }, 'TOKEN_SIGNATURE_INVALID'],
      [{ alg: 'PS256', kid: 'a' }, 'TOKEN_SIGNATURE_INVALID'],
      // The key exists, but not for that algorithm.
      [{ alg: 'RS256', kid: 'p' }, 'TOKEN_INVALID'],
      [{ alg: 'HS256', kid: 'a' }, 'TOKEN_INVALID'],
    ] as const) {
      const input = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`
      const signature = createSign('sha256').update(input).sign(rsa.privateKey, 'base64url')
      expect(await outcomeOf(tokens.verify(`${input}.${signature}`))).toBe(code)
    }
  })
})

describe('keys.set', () => {
  test('replaces every key at once', async () => {
    const { tokens } = createKeyManager([a])
    const old = tokens.createAccessToken(ada)
    tokens.keys.set([{ ...b, notBefore: inSeconds(-1) }, a])
    expect(tokens.keys.current).toBe('b')
    expect(await outcomeOf(tokens.verify(old))).toBe('ok')
    tokens.keys.set([b])
    expect(await outcomeOf(tokens.verify(old))).toBe('TOKEN_SIGNATURE_INVALID')
  })

  test('a list without a key that signs changes nothing, unless there was none before', () => {
    const { tokens } = createKeyManager([a])
    const { privateKey: _, ...verifying } = b
    expect(() => tokens.keys.set([verifying])).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
    )
    expect(tokens.keys.current).toBe('a')
    const { tokens: reader } = createKeyManager([verifying])
    reader.keys.set([verifying])
    expect(reader.keys.current).toBeNull()
  })

  test('the header that was verified last does not outlive it', async () => {
    const { tokens } = createKeyManager([a])
    const one = tokens.createAccessToken(ada)
    const two = tokens.createAccessToken(ada)
    expect(await outcomeOf(tokens.verify(one))).toBe('ok')
    // The same kid, another key.
    tokens.keys.set([{ ...b, kid: 'a' }])
    expect(await outcomeOf(tokens.verify(two))).toBe('TOKEN_SIGNATURE_INVALID')
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken(ada)))).toBe('ok')
  })

  test('nor does a remembered token', async () => {
    const { tokens } = createKeyManager([a])
    const token = tokens.createAccessToken(ada)
    for (let time = 0; time < 4; time++) await tokens.accessTokenRequired(withBearer(token))
    tokens.keys.set([b])
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('TOKEN_SIGNATURE_INVALID')
    tokens.keys.set([b, a])
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
  })

  test('a key that stays in the list still vouches for remembered tokens', async () => {
    let checks = 0
    const claims = z.looseObject({}).refine(() => ++checks > 0)
    const { publicKey, privateKey } = createKeyPair('ES256')
    const signing: OwnKey = { algorithm: 'ES256', kid: 'kept', privateKey }
    const tokens = new TokenManager({ config: new TokenConfig(), keys: [signing], claims })
    const token = tokens.createAccessToken(ada)
    for (let time = 0; time < 4; time++) await tokens.verify(token)
    checks = 0
    // A copy of the key, as from a file that is read again; other dates and keys make no difference.
    const copy = createPublicKey(publicKey.export({ format: 'pem', type: 'spki' }))
    tokens.keys.set([b, { algorithm: 'ES256', kid: 'kept', publicKey: copy, notBefore: inSeconds(-1) }])
    await tokens.verify(token)
    expect(checks).toBe(0)
    tokens.keys.set([b, { ...signing, kid: 'other' }])
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_SIGNATURE_INVALID')
  })

  test('a key that gets another kid loses the old one', async () => {
    const { tokens } = createKeyManager([a])
    const old = tokens.createAccessToken(ada)
    tokens.keys.set([{ ...a, kid: 'renamed' }])
    expect(tokens.keys.jwks().keys.map(({ kid }) => kid)).toEqual(['renamed'])
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken(ada)))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old))).toBe('TOKEN_SIGNATURE_INVALID')
  })

  test('a key that gets another algorithm is no longer used with the old one', async () => {
    const rsa = { kid: 'rsa', ...keyPairFor('RS256') }
    const { tokens } = createKeyManager([{ ...rsa, algorithm: 'RS256' }])
    const old = tokens.createAccessToken(ada)
    tokens.keys.set([{ ...rsa, algorithm: 'PS256' }])
    expect(tokens.keys.jwks().keys.map(({ alg }) => alg)).toEqual(['PS256'])
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken(ada)))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old))).toBe('TOKEN_INVALID')
  })

  test('a bad list changes nothing', async () => {
    const { tokens, clock } = createKeyManager([a])
    const token = tokens.createAccessToken(ada)
    const before = tokens.keys.jwks()
    const BAD = [
      [],
      [b, b],
      [{ ...b, retireAt: new Date(clock()) }],
      [b, { algorithm: 'HS256', secret: SECRET }],
    ]
    for (const list of BAD) {
      expect(() => tokens.keys.set(list as OwnKey[])).toThrow(
        expect.objectContaining({ name: 'ConfigurationError' }),
      )
    }
    expect(() => tokens.keys.set([{ ...b, kdi: 'b' } as never])).toThrow(TypeError)
    expect(tokens.keys.jwks()).toEqual(before)
    expect(tokens.keys.current).toBe('a')
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  })

  test('what becomes of the list afterwards changes nothing', () => {
    const list = [{ ...a }]
    const { tokens } = createKeyManager(list)
    list.length = 0
    const retireAt = inSeconds(500)
    tokens.keys.set([{ ...a, retireAt }])
    retireAt.setTime(0)
    expect(tokens.keys.current).toBe('a')
  })

  test('needs the option', () => {
    const { tokens } = createManager()
    expect(() => tokens.keys.set([a])).toThrow(naming('ConfigurationError', 'keys.set()', 'keys'))
  })
})

describe('jwks', () => {
  test('has the public parts of every key that is trusted or will be', () => {
    const { tokens, clock } = createKeyManager(SCHEDULE)
    const { keys } = tokens.keys.jwks()
    expect(keys.map(({ kid, kty, alg, use, crv }) => [kid, kty, alg, use, crv])).toEqual(
      ['a', 'b', 'c'].map((kid) => [kid, 'EC', 'ES256', 'sig', 'P-256']),
    )
    for (const key of keys)
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    expect(JSON.stringify(tokens.keys.jwks())).toBe(JSON.stringify(tokens.keys.jwks()))
    clock.seconds += 200
    expect(tokens.keys.jwks().keys.map(({ kid }) => kid)).toEqual(['b', 'c'])
  })

  test.each<[name: string, key: OwnKey, members: string[]]>([
    ['RS256', { algorithm: 'RS256', ...keyPairFor('RS256') }, ['n', 'e']],
    ['PS256', { algorithm: 'PS256', ...keyPairFor('PS256') }, ['n', 'e']],
    [
      'PS256 with an RSA-PSS key',
      { algorithm: 'PS256', ...generateKeyPairSync('rsa-pss', { modulusLength: 2048 }) },
      ['n', 'e'],
    ],
    [
      'PS384 with the exponent 3',
      { algorithm: 'PS384', ...generateKeyPairSync('rsa-pss', { modulusLength: 2048, publicExponent: 3 }) },
      ['n', 'e'],
    ],
    ['ES384', { algorithm: 'ES384', ...keyPairFor('ES384') }, ['crv', 'x', 'y']],
    ['EdDSA', { algorithm: 'EdDSA', ...keyPairFor('EdDSA') }, ['crv', 'x']],
  ])('%s: another library verifies with it', async (_name, key, members) => {
    const { tokens, clock } = createKeyManager([key])
    const set = tokens.keys.jwks()
    expect(Object.keys(set.keys[0] ?? {})).toEqual(['kty', 'kid', 'alg', 'use', ...members])
    const token = tokens.createAccessToken(ada)
    const verified = await jwtVerify(token, createLocalJWKSet(set as never), {
      currentDate: new Date(clock()),
    })
    expect(verified.payload.sub).toBe('ada')
  })

  test('has no secrets: that is an error', () => {
    const { tokens } = createKeyManager([{ algorithm: 'HS256', secret: SECRET }])
    expect(() => tokens.keys.jwks()).toThrow(naming('ConfigurationError', 'secret'))
    expect(() => createManager().tokens.keys.jwks()).toThrow(naming('ConfigurationError', 'secret'))
  })

  test('is empty once all keys are retired', () => {
    const { tokens, clock } = createKeyManager([{ ...a, retireAt: inSeconds(50) }])
    clock.seconds += 50
    expect(tokens.keys.jwks()).toEqual({ keys: [] })
  })

  test('is an error where there were never any keys', () => {
    expect(() => toJwkSet(createEmptyRing(), 0)).toThrow(naming('ConfigurationError', 'JWT_PRIVATE_KEY'))
  })

  test('has the keys of the configuration, the previous one included', () => {
    const { privateKey } = keyPairFor('ES256')
    const { tokens } = createManager({
      JWT_SECRET_KEY: null,
      JWT_ALGORITHM: 'ES256',
      JWT_PRIVATE_KEY: privateKey,
      JWT_PREVIOUS_PUBLIC_KEY: createKeyPair('ES256').publicKey,
    })
    expect(tokens.keys.jwks().keys).toHaveLength(2)
    expect(tokens.keys.jwks().keys[0]?.kid).toBe(tokens.keys.current)
    expect(JSON.stringify(tokens.keys.jwks())).not.toContain('"d"')
  })
})

describe('a manager without own keys', () => {
  const settingsOf = (config: TokenConfig, hasIssuers: boolean) => resolveKeys(config, {}, hasIssuers)

  test('is for managers of other issuers', () => {
    const config = new TokenConfig()
    expect(() => settingsOf(config, false)).toThrow(naming('ConfigurationError', 'JWT_SECRET_KEY'))
    const { keys } = settingsOf(config, true)
    expect(keys.verifying).toEqual([])
    expect(keys.signingKey(0)).toBeNull()
    expect(keys.explainMissingKey(0)).toContain('JWT_SECRET_KEY')
    expect(createEmptyRing().verifying).toEqual([])
  })

  test('has its keys where they are configured all the same', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    expect(settingsOf(config, true).keys.verifying).toHaveLength(1)
  })
})

test('a module that is loaded while there is no time can have a list that starts later', () => {
  let now = 0
  const keys = [{ ...a, notBefore: inSeconds(-10) }]
  const tokens = new TokenManager({ config: new TokenConfig(), keys, clock: () => now })
  now = createClock()()
  expect(tokens.keys.current).toBe('a')
})

test('a key that goes on under another kid verifies a token without one, once its old kid has retired', async () => {
  const { tokens, clock } = createKeyManager([
    { ...a, retireAt: inSeconds(200) },
    { ...a, kid: 'renamed', notBefore: inSeconds(100) },
  ])
  clock.seconds += 250
  const claims = { sub: 'ada', type: 'access', iat: NOW + 240, exp: NOW + 600, jti: 'token' }
  const token = forge({ algorithm: 'ES256', key: a.privateKey, claims })
  expect(await outcomeOf(tokens.verify(token))).toBe('ok')
})
