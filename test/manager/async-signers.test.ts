import { constants, sign as signNow } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type OwnKey,
  type SignFunction,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { type Kms, type KmsBehaviour, startKms } from '../helpers/kms.js'
import { keyPairFor } from '../helpers/keys.js'
import { createClock, openToken } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { RSA_2050 } from '../helpers/rsa-2050.js'
import { createKeyManager } from '../helpers/own-keys.js'
import { advance, outcomeOf, toPair } from '../helpers/revocable.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const ada = { uid: 'ada' }
const CURVES = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521', RS256: 'rsa' } as const
type Served = keyof typeof CURVES
const services = new Map<Served, Kms>()

beforeAll(async () => {
  for (const name of Object.keys(CURVES) as Served[]) services.set(name, await startKms(CURVES[name]))
})
afterAll(async () => {
  for (const kms of services.values()) await kms.close()
})

const serve = (algorithm: Served, behaviour: KmsBehaviour): Kms => {
  const kms = services.get(algorithm) as Kms
  kms.behave(behaviour)
  return kms
}

const createServed = (options: { algorithm?: Served; signTimeout?: string } = {}) => {
  const { algorithm = 'ES256', signTimeout } = options
  const kms = serve(algorithm, 'der')
  const clock = createClock()
  const keys: OwnKey[] = [{ algorithm, kid: 'kms', publicKey: kms.publicKey, sign: kms.sign }]
  const store = createMemoryStore({ clock })
  return { kms, ...createKeyManager(keys, { clock, store, ...(signTimeout && { signTimeout }) }) }
}

describe.each(Object.keys(CURVES) as Served[])('%s by a key service', (algorithm) => {
  test.each(['der', 'raw'] as const)('signatures as %s make tokens', async (form) => {
    const { tokens, kms } = createServed({ algorithm })
    kms.behave(form)
    // Half of the ECDSA signatures have a high s, and some numbers are shorter than the others.
    for (let round = 0; round < 8; round++) {
      const token = await internalsOf(tokens).createToken('access', ada)
      expect(openToken(token).header).toMatchObject({ alg: algorithm, kid: 'kms' })
      expect(await tokens.verify(token)).toMatchObject({ sub: 'ada', type: 'access' })
    }
    const refresh = await internalsOf(tokens).createToken('refresh', ada)
    expect(await tokens.verify(refresh, { type: 'refresh' })).toMatchObject({ type: 'refresh' })
  })

  test.each(['fail', 'wrong key', 'garbage', 'short', 'text', 'nothing'] as const)(
    'a signer with the behaviour "%s" makes none',
    async (behaviour) => {
      const { tokens, kms } = createServed({ algorithm })
      const issued: unknown[] = []
      tokens.on('issued', (event) => issued.push(event))
      kms.behave(behaviour)
      await expect(internalsOf(tokens).createToken('access', ada)).rejects.toMatchObject({
        code: 'KEYS_UNAVAILABLE',
      })
      expect(await outcomeOf(tokens.sessions.open(ada))).toBe('KEYS_UNAVAILABLE')
      expect(issued).toEqual([])
      kms.behave('der')
      expect(await outcomeOf(tokens.sessions.open(ada))).toBe('ok')
      expect(issued).toHaveLength(2)
    },
  )
})

test('a signer that does not answer is given up at its deadline, and told so', async () => {
  const { tokens, kms } = createServed({ signTimeout: '20ms' })
  kms.behave('hang')
  const before = kms.aborted()
  expect(await outcomeOf(internalsOf(tokens).createToken('access', ada))).toBe('KEYS_UNAVAILABLE')
  expect(kms.aborted()).toBe(before + 1)
})

describe('what a signer is given and what it may return', () => {
  const { privateKey, publicKey } = keyPairFor('ES256')
  const build = (sign: SignFunction) =>
    createKeyManager([{ algorithm: 'ES256', kid: 'kms', publicKey, sign }]).tokens
  const signRaw = (input: Uint8Array) =>
    signNow('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' })

  test('the signing input, the kid, the algorithm and a signal', async () => {
    const calls: unknown[] = []
    const tokens = build((input, context) => {
      calls.push([Buffer.from(input).toString(), { ...context }])
      return signRaw(input)
    })
    const token = await internalsOf(tokens).createToken('access', ada)
    expect(calls).toEqual([
      [
        token.slice(0, token.lastIndexOf('.')),
        { kid: 'kms', algorithm: 'ES256', signal: expect.any(AbortSignal) as AbortSignal },
      ],
    ])
  })

  test('bytes, an ArrayBuffer, or a promise of them', async () => {
    const FORMS: SignFunction[] = [
      (input) => new Uint8Array(signRaw(input)),
      (input) => Uint8Array.from(signRaw(input)).buffer,
      (input) => Promise.resolve(signRaw(input)),
    ]
    for (const sign of FORMS)
      expect(await outcomeOf(internalsOf(build(sign)).createToken('access', ada))).toBe('ok')
  })

  test('no list of numbers, and no text', async () => {
    const FORMS = [
      (input: Uint8Array) => [...signRaw(input)],
      (input: Uint8Array) => signRaw(input).toString('base64url'),
    ] as unknown as SignFunction[]
    for (const sign of FORMS) {
      expect(await outcomeOf(internalsOf(build(sign)).createToken('access', ada))).toBe('KEYS_UNAVAILABLE')
    }
  })

  test('an error that is thrown immediately is the cause', async () => {
    const cause = new Error('no credentials')
    const tokens = build(() => {
      throw cause
    })
    await expect(internalsOf(tokens).createToken('access', ada)).rejects.toMatchObject({
      code: 'KEYS_UNAVAILABLE',
      cause,
    })
  })

  test.each(['RS256', 'PS256'] as const)('%s as a number, without leading zeros', async (algorithm) => {
    const rsa = RSA_2050
    const shortened: Uint8Array[] = []
    const sign: SignFunction = (input) => {
      const padding =
        algorithm === 'PS256' ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : {}
      const signature = signNow('sha256', input, { key: rsa.privateKey, ...padding })
      if (signature[0] !== 0) return signature
      shortened.push(signature.subarray(1))
      return signature.subarray(1)
    }
    const { tokens } = createKeyManager([{ algorithm, kid: 'kms', publicKey: rsa.publicKey, sign }])
    let token = ''
    for (let at = 0; shortened.length === 0; at++) {
      token = await internalsOf(tokens).createToken('access', { uid: 'ada', serial: at })
    }
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  })

  const n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
  test.each<[what: string, signature: Uint8Array]>([
    ['nothing', new Uint8Array()],
    ['zeros', new Uint8Array(64)],
    ['an s above the order', Buffer.from(`${'11'.repeat(32)}${(n + 5n).toString(16)}`, 'hex')],
    ['DER that ends early', Buffer.from('3044022001', 'hex')],
    ['DER with more behind it', Buffer.from('3006020101020101ff', 'hex')],
    [
      'DER with a number that is too long',
      Buffer.from(`3046022200${'22'.repeat(33)}0220${'33'.repeat(32)}`, 'hex'),
    ],
    ['DER of indefinite length', Buffer.from('30800201010201010000', 'hex')],
    ['a sequence of one number', Buffer.from('3003020101', 'hex')],
    ['a megabyte', new Uint8Array(1_000_000)],
  ])('%s is no signature, and breaks nothing', async (_what, signature) => {
    const tokens = build(() => signature)
    expect(await outcomeOf(internalsOf(tokens).createToken('access', ada))).toBe('KEYS_UNAVAILABLE')
  })
})

describe('the synchronous methods', () => {
  test('name those that wait', () => {
    const { tokens } = createServed()
    expect(() => tokens.createAccessToken(ada)).toThrow(
      naming('ConfigurationError', '"kms"', 'sessions.open()'),
    )
    expect(() => tokens.createRefreshToken(ada)).toThrow(
      naming('ConfigurationError', '"kms"', 'sessions.open()'),
    )
  })

  test('have an asynchronous twin in the kit for every key, with the same checks', async () => {
    const { privateKey } = keyPairFor('ES256')
    const { tokens } = createKeyManager([{ algorithm: 'ES256', privateKey }])
    const token = await internalsOf(tokens).createToken('access', ada, { scopes: ['read'] })
    expect(await tokens.verify(token)).toMatchObject({ scopes: ['read'] })
    await expect(internalsOf(tokens).createToken('access', ada, { expiresin: 5 } as never)).rejects.toThrow(
      naming('TypeError', 'createToken()', 'expiresIn'),
    )
    await expect(internalsOf(tokens).createToken('refresh', { uid: '' })).rejects.toThrow(
      naming('TypeError', 'uid'),
    )
  })
})

describe('a pair', () => {
  test('has both signatures made at the same time', async () => {
    const { privateKey, publicKey } = keyPairFor('ES256')
    const waiting: (() => void)[] = []
    const sign: SignFunction = async (input) => {
      // Each answers once both were asked.
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
        if (waiting.length === 2) for (const each of waiting) each()
      })
      return signNow('sha256', input, privateKey)
    }
    const { tokens } = createKeyManager([{ algorithm: 'ES256', publicKey, sign }])
    const { accessToken, refreshToken } = await tokens.sessions.open(ada)
    expect(await tokens.verify(accessToken)).toMatchObject({ sub: 'ada' })
    expect(await tokens.verify(refreshToken, { type: 'refresh' })).toMatchObject({ sub: 'ada' })
  })

  test('whose signature fails leaves no session', async () => {
    const { tokens, kms } = createServed()
    kms.behave('fail')
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await outcomeOf(tokens.sessions.open(ada))).toBe('KEYS_UNAVAILABLE')
    }
    expect(await tokens.sessions.list('ada')).toHaveLength(0)
    kms.behave('der')
    expect(await outcomeOf(tokens.sessions.open(ada))).toBe('ok')
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })

  test('whose signature fails does not use up the limit of sessions', async () => {
    const { tokens, failFrom } = createFlapping()
    const limit = { maxSessions: 1, whenFull: 'refuse' } as const
    // The probe is answered, and the tokens are not.
    failFrom(1)
    expect(await outcomeOf(tokens.sessions.open(ada, limit))).toBe('KEYS_UNAVAILABLE')
    expect(await tokens.sessions.list('ada')).toHaveLength(0)
    failFrom(Number.POSITIVE_INFINITY)
    expect(await outcomeOf(tokens.sessions.open(ada, limit))).toBe('ok')
  })

  test('with a limit ends no other session while the signer fails, or refuses texts of its length', async () => {
    const { tokens, failFrom, refuseLongerThan } = createFlapping()
    const limit = { maxSessions: 1, whenFull: 'endOldest' } as const
    const { accessToken } = await tokens.sessions.open(ada, limit)
    failFrom(0)
    expect(await outcomeOf(tokens.sessions.open(ada, limit))).toBe('KEYS_UNAVAILABLE')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
    failFrom(Number.POSITIVE_INFINITY)
    refuseLongerThan(30)
    expect(await outcomeOf(tokens.sessions.open(ada, limit))).toBe('KEYS_UNAVAILABLE')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
    refuseLongerThan(Number.POSITIVE_INFINITY)
    expect(await outcomeOf(tokens.sessions.open(ada, limit))).toBe('ok')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
  })

  test('whose signature fails without a store rejects with the error of the signer', async () => {
    const { publicKey } = keyPairFor('ES256')
    const sign = () => Promise.reject(new Error('offline'))
    const { tokens } = createKeyManager([{ algorithm: 'ES256', publicKey, sign }])
    expect(await outcomeOf(tokens.sessions.open(ada))).toBe('KEYS_UNAVAILABLE')
  })

  test('whose signature and store both fail rejects with the error of the signer', async () => {
    const { tokens, store, failFrom } = createFlapping()
    failFrom(0)
    store.revoke = async () => {
      throw new Error('ECONNREFUSED')
    }
    expect(await outcomeOf(tokens.sessions.open(ada))).toBe('KEYS_UNAVAILABLE')
  })
})

/** Managers on one store and clock, whose signer fails after so many calls, or for texts that are too long. */
function createFlapping(fields: TokenConfigOptions = {}) {
  const { privateKey, publicKey } = keyPairFor('ES256')
  const clock = createClock()
  const store = createMemoryStore({ clock })
  let left = Number.POSITIVE_INFINITY
  let longest = Number.POSITIVE_INFINITY
  const asked: string[] = []
  const sign: SignFunction = (input) => {
    asked.push(Buffer.from(input).toString())
    if (left-- <= 0 || input.length > longest) throw new Error('ThrottlingException')
    return signNow('sha256', input, privateKey)
  }
  const keys: OwnKey[] = [{ algorithm: 'ES256', kid: 'kms', publicKey, sign }]
  const create = () =>
    createKeyManager(keys, {
      clock,
      store,
      fields: { JWT_REFRESH_TOKEN_EXPIRES: '1h', ...fields },
    }).tokens
  return {
    tokens: create(),
    other: create(),
    clock,
    store,
    asked,
    failFrom: (calls: number) => void (left = calls),
    refuseLongerThan: (length: number) => void (longest = length),
  }
}

describe('after a failure of the signer', () => {
  test('a login tries the signer first, until it works again', async () => {
    const { tokens, asked, failFrom } = createFlapping()
    const countCalls = async (expected: string): Promise<number> => {
      asked.length = 0
      expect(await outcomeOf(tokens.sessions.open(ada))).toBe(expected)
      return asked.length
    }
    failFrom(0)
    expect(await countCalls('KEYS_UNAVAILABLE')).toBe(2)
    expect(await countCalls('KEYS_UNAVAILABLE')).toBe(1)
    // Nothing that somebody could make a token of.
    expect(asked[0]).not.toContain('.')
    failFrom(Number.POSITIVE_INFINITY)
    expect(await countCalls('ok')).toBe(3)
    expect(await countCalls('ok')).toBe(2)
  })

  test('logins at the same time share one attempt, and a later one makes another', async () => {
    const { tokens, asked, failFrom } = createFlapping()
    failFrom(0)
    await outcomeOf(tokens.sessions.open(ada))
    for (const round of [1, 2]) {
      asked.length = 0
      const outcomes = await Promise.all([1, 2, 3].map(() => outcomeOf(tokens.sessions.open(ada))))
      expect(outcomes).toEqual(['KEYS_UNAVAILABLE', 'KEYS_UNAVAILABLE', 'KEYS_UNAVAILABLE'])
      expect(asked, `round ${round}`).toHaveLength(1)
    }
  })

  test('the manager is degraded until the signer works again', async () => {
    const { tokens, failFrom } = createFlapping()
    failFrom(0)
    await outcomeOf(tokens.sessions.open(ada))
    expect(await tokens.health()).toMatchObject({ status: 'degraded', canWrite: false })
    failFrom(Number.POSITIVE_INFINITY)
    expect(await tokens.health()).toMatchObject({ status: 'up', canWrite: true })
  })
})

describe('a refresh with a signer that may fail', () => {
  test.each([0, 30])('can be repeated %s seconds later, as after a failure of the store', async (seconds) => {
    const { tokens, kms, clock } = createServed()
    const { refreshToken } = await tokens.sessions.open(ada)
    clock.seconds += 60
    kms.behave('fail')
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('KEYS_UNAVAILABLE')
    clock.seconds += seconds
    kms.behave('der')
    const pair = toPair(await tokens.sessions.refresh(refreshToken))
    expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('ok')
    expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('ok')
  })

  test.each([
    ['with a grace', {}],
    ['without a grace', { JWT_REFRESH_GRACE: 0 }],
    ['with an idle time', { JWT_REFRESH_IDLE_EXPIRES: '10m' }],
  ] as const)('leaves the token valid for every process, %s', async (_what, fields) => {
    for (const failing of [0, 1]) {
      for (const at of ['tokens', 'other'] as const) {
        const managers = createFlapping(fields)
        const { tokens, clock } = managers
        const { refreshToken } = await tokens.sessions.open(ada)
        clock.seconds += 120
        managers.failFrom(failing)
        expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('KEYS_UNAVAILABLE')
        clock.seconds += 120
        managers.failFrom(Number.POSITIVE_INFINITY)
        const pair = toPair(await managers[at].sessions.refresh(refreshToken))
        clock.seconds += 120
        expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('ok')
        // Its successor was used now.
        clock.seconds += 60
        expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
      }
    }
  })

  test('takes two signatures, or one if the refresh token stays as it is', async () => {
    const { tokens, other, asked, clock } = createFlapping()
    const first = await tokens.sessions.open(ada)
    clock.seconds += 60
    for (const manager of [tokens, other]) {
      asked.length = 0
      const pair = toPair(await manager.sessions.refresh(first.refreshToken))
      expect(asked).toHaveLength(2)
      expect(openToken(pair.refreshToken).claims['gen']).toBe(2)
      asked.length = 0
      expect(await manager.sessions.refresh(pair.refreshToken)).toHaveProperty('refreshToken', null)
      expect(asked).toHaveLength(1)
    }
  })

  test('is no way for a used token: that one ends the session without a signature', async () => {
    const { tokens, clock, asked, failFrom } = createFlapping()
    const { refreshToken } = await tokens.sessions.open(ada)
    const next = await advance({ tokens, clock }, refreshToken)
    await advance({ tokens, clock }, next.refreshToken)
    clock.seconds += 60
    asked.length = 0
    failFrom(0)
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REFRESH_TOKEN_REUSED')
    expect(asked).toEqual([])
    expect(await tokens.sessions.list(ada.uid)).toEqual([])
  })

  test('reports the refusal, and issues nothing', async () => {
    const { tokens, kms } = createServed()
    const { refreshToken } = await tokens.sessions.open(ada)
    const codes: string[] = []
    tokens.on('rejected', ({ code }) => codes.push(code))
    tokens.on('issued', () => codes.push('issued'))
    kms.behave('wrong key')
    await outcomeOf(tokens.sessions.refresh(refreshToken))
    expect(codes).toEqual(['KEYS_UNAVAILABLE'])
  })
})

test('the claims of a token have the types of the schema', async () => {
  const { privateKey } = keyPairFor('ES256')
  const tokens = new TokenManager({
    config: new TokenConfig(),
    keys: [{ algorithm: 'ES256', privateKey }],
    claims: z.object({ role: z.string() }),
  })
  const token = await internalsOf(tokens).createToken('access', { uid: 'ada', role: 'admin' })
  const { role } = await tokens.verify(token)
  expectTypeOf(role).toEqualTypeOf<string>()
  expect(role).toBe('admin')
})
