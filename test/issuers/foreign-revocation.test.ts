import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
  TokenConfig,
  TokenManager,
  type TokenPayload,
  type TrustedIssuer,
} from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { FOREVER, toRevocationKey, toStoredId } from '../../packages/tokenlib/src/revocation/revocation.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createForeign, createReceiver } from '../helpers/foreign.js'
import { createClock, NOW, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const A = createForeign('https://a.example', { kid: 'same' })
const B = createForeign('https://b.example', { kid: 'same', algorithm: 'EdDSA' })

// The same user, session, token and key at both issuers, and with us.
const IDS = { sub: 'ada', sid: 'session', jti: 'token' } as const
const TOKENS = {
  own: forge({
    key: SECRET,
    claims: { ...IDS, type: 'access', iat: NOW - 60, exp: NOW + 600 },
  }),
  a: A.sign(IDS),
  b: B.sign(IDS),
} as const

async function outcomes(tokens: TokenManager): Promise<string> {
  const answers = Object.entries(TOKENS).map(async ([name, token]) => {
    const outcome = await outcomeOf(tokens.verify(token))
    return outcome === 'ok' ? name : outcome === 'TOKEN_REVOKED' ? '-' : outcome
  })
  return (await Promise.all(answers)).join(' ')
}

type Revoke = (tokens: TokenManager) => Promise<unknown>
const payloadOf = (tokens: TokenManager, name: keyof typeof TOKENS) => tokens.verify(TOKENS[name])
const a = { issuer: A.issuer }
const own = { issuer: 'own' }

const CASES: readonly (readonly [name: string, left: string, revoke: Revoke])[] = [
  ['a token of A', 'own - b', async (tokens) => tokens.revoke.token(await payloadOf(tokens, 'a'))],
  ['a token of ours', '- a b', async (tokens) => tokens.revoke.token(await payloadOf(tokens, 'own'))],
  ['a token id of A', 'own - b', (tokens) => tokens.revoke.token({ jti: IDS.jti, exp: NOW + 600 }, a)],
  [
    'a token id with the iss of A',
    'own - b',
    (tokens) => tokens.revoke.token({ jti: IDS.jti, iss: A.issuer }),
  ],
  ['a token id with an unknown iss', '- a b', (tokens) => tokens.revoke.token({ jti: IDS.jti, iss: 'us' })],
  ['a token id of anybody', '- - -', (tokens) => tokens.revoke.token({ jti: IDS.jti })],
  ['a session of A', 'own - b', async (tokens) => tokens.revoke.session(await payloadOf(tokens, 'a'))],
  ['a session of ours', '- a b', async (tokens) => tokens.revoke.session(await payloadOf(tokens, 'own'))],
  ['a session id of A', 'own - b', (tokens) => tokens.revoke.session(IDS.sid, a)],
  ['a session id of ours', '- a b', (tokens) => tokens.revoke.session(IDS.sid, own)],
  ['a session id of anybody', '- - -', (tokens) => tokens.revoke.session(IDS.sid)],
  ['a logout at A', 'own - b', async (tokens) => tokens.logout(await payloadOf(tokens, 'a'))],
  ['a logout with us', '- a b', async (tokens) => tokens.logout(await payloadOf(tokens, 'own'))],
  ['a user of A', 'own - b', (tokens) => tokens.revoke.user(IDS.sub, a)],
  ['a user of ours', '- a b', (tokens) => tokens.revoke.user(IDS.sub, own)],
  ['a user of anybody', '- - -', (tokens) => tokens.revoke.user(IDS.sub)],
  ['a key of A', 'own - b', (tokens) => tokens.revoke.key('same', a)],
  ['a key of ours with that name', 'own a b', (tokens) => tokens.revoke.key('same')],
  ['our key', '- a b', (tokens) => tokens.revoke.key(tokens.keys.current as string)],
  ['everything of A', 'own - b', (tokens) => tokens.revoke.all(a)],
  ['everything of everybody', '- - -', (tokens) => tokens.revoke.all()],
]

describe('the same ids at two issuers and with us', () => {
  test.each(CASES)('%s: %s are left', async (_, left, revoke) => {
    const { tokens } = createReceiver([A.options(), B.options()])
    expect(await outcomes(tokens)).toBe('own a b')
    await revoke(tokens)
    expect(await outcomes(tokens)).toBe(left)
  })

  test('only our own tokens can be revoked as such, one at a time', async () => {
    const { tokens } = createReceiver([A.options()])
    await expect(tokens.revoke.all(own)).rejects.toThrow(TypeError)
  })

  test('the key of an issuer can be revoked by its thumbprint', async () => {
    const unnamed = createForeign('https://c.example', { kid: null })
    const { tokens } = createReceiver([unnamed.options()])
    const events: string[] = []
    tokens.on('revoked', ({ id }) => events.push(id))
    const token = unnamed.sign()
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    const { kid } = createReceiver([], {
      config: { JWT_ALGORITHM: 'ES256', JWT_SECRET_KEY: null, JWT_PRIVATE_KEY: unnamed.privateKey },
    }).tokens.keys.jwks().keys[0] as { kid: string }
    await tokens.revoke.key(kid, { issuer: unnamed.issuer })
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })
})

describe('the keys of a store', () => {
  const kind = fc.constantFrom('token', 'session', 'user', 'key')
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('', 'own', 'sha256:'))

  test('ids of two issuers and of ours are never the same', () => {
    fc.assert(
      fc.property(kind, text, text, text, text, (name, id, other, issuer, second) => {
        const foreign = toRevocationKey(name, id, issuer).id
        expect(foreign).toMatch(/^sha256:[\w-]{43}$/)
        expect(toRevocationKey(name, other, null).id).not.toBe(foreign)
        if (issuer !== second || id !== other) {
          expect(toRevocationKey(name, other, second).id).not.toBe(foreign)
        }
        // What a store has kept is no name for it.
        expect(toStoredId(foreign)).not.toBe(foreign)
        expect(toRevocationKey(name, foreign, issuer).id).not.toBe(foreign)
      }),
      { numRuns: 60 },
    )
  })

  test('moving a character from the issuer to the id makes another key', () => {
    expect(toRevocationKey('user', 'b', 'a')).not.toEqual(toRevocationKey('user', '', 'ab'))
    expect(toRevocationKey('user', 'b:c', 'a:')).not.toEqual(toRevocationKey('user', ':c', 'a:b'))
  })
})

describe('watermarks of users of an issuer', () => {
  const open = (options = {}) => createReceiver([A.options(options)])
  const at = (iat: number, exp = iat + 600) => A.sign({ iat, exp, jti: `${iat}` })

  test('a token of the five seconds after the revocation counts as revoked, a later one does not', async () => {
    for (const leeway of [0, 3, 5]) {
      const { tokens, clock } = open({ leeway })
      clock.seconds = NOW + 0.5
      await tokens.revoke.user('ada', { issuer: A.issuer })
      clock.seconds = NOW + 10
      for (const iat of [NOW - 1, NOW, NOW + 0.9, NOW + 1, NOW + 5, NOW + 5.9]) {
        expect(await outcomeOf(tokens.verify(at(iat))), `${iat - NOW}`).toBe('TOKEN_REVOKED')
      }
      expect(await outcomeOf(tokens.verify(at(NOW + 6)))).toBe('ok')
    }
  })

  test('a token of an issuer whose clock is ahead, which is not valid yet, does not outlive the revocation', async () => {
    const { tokens, clock } = open()
    const token = at(NOW + 2)
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_NOT_YET_VALID')
    clock.seconds += 1
    await tokens.revoke.user('ada')
    clock.seconds += 2
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('the clock of the issuer may be ahead by the leeway', async () => {
    const { tokens, clock } = open({ leeway: 30 })
    // Made before the revocation, by a clock that is 30 seconds ahead.
    const early = at(NOW + 30)
    expect(await outcomeOf(tokens.verify(early))).toBe('ok')
    await tokens.revoke.all({ issuer: A.issuer })
    clock.seconds += 40
    expect(await outcomeOf(tokens.verify(early))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(at(NOW + 31)))).toBe('ok')
  })

  test('an id that looks like one of ours says nothing about the start', async () => {
    const { tokens } = open({ profile: 'tokenlib' })
    const other = createReceiver([]).tokens
    const { sid, jti } = internalsOf(other).verifyWithoutRevocation(
      (await other.sessions.open({ uid: 'x' })).accessToken,
    )
    const token = A.sign({ sid, jti, type: 'access', iat: NOW - 60 })
    await tokens.revoke.user('ada', { issuer: A.issuer })
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })
})

describe('how long a revocation is kept', () => {
  const LIVES = [
    { name: 'as configured by default', options: {}, age: 86_400, leeway: 0 },
    { name: 'a short age', options: { maxTokenAge: '5m' }, age: 300, leeway: 0 },
    { name: 'a long age', options: { maxTokenAge: '90d' }, age: 7_776_000, leeway: 0 },
    { name: 'a large leeway', options: { maxTokenAge: '1h', leeway: '10m' }, age: 3600, leeway: 600 },
    { name: 'a leeway beyond the age', options: { maxTokenAge: '1m', leeway: '2h' }, age: 60, leeway: 7200 },
  ] as const
  // Our own tokens are gone long before.
  const config = {
    JWT_ACCESS_TOKEN_EXPIRES: '1m',
    JWT_REFRESH_TOKEN_EXPIRES: '2m',
    JWT_REFRESH_IDLE_EXPIRES: '2m',
  } as const
  const ENDLESS = 4_000_000_000

  const REVOCATIONS: readonly (readonly [string, (tokens: TokenManager) => Promise<unknown>])[] = [
    ['the user', (tokens) => tokens.revoke.user('ada', a)],
    ['the issuer', (tokens) => tokens.revoke.all(a)],
    ['everything', (tokens) => tokens.revoke.all()],
    ['the session', (tokens) => tokens.revoke.session('session', a)],
    ['the token', (tokens) => tokens.revoke.token({ jti: 'token', exp: ENDLESS, iss: A.issuer })],
  ]

  describe.each(LIVES)('$name', ({ options, age, leeway }) => {
    test.each(REVOCATIONS)('%s: until no token that it covers can verify', async (_, revoke) => {
      const { tokens, clock, store } = createReceiver([A.options(options)], { config })
      clock.seconds = NOW + 0.5
      // The newest that is covered, made by a clock that is ahead, with an exp in a hundred years.
      const iat = NOW + 0.999 + leeway
      const newest = A.sign({ ...IDS, iat, exp: ENDLESS })
      await revoke(tokens)
      const outcomeAt = async (seconds: number, token: string): Promise<string> => {
        clock.seconds = seconds
        // Every call sweeps a part of what has ended.
        for (let call = 0; call < 64; call++) {
          await store.revoke([{ kind: 'token', id: `x${seconds}${call}`, notBefore: FOREVER, until: 1 }])
        }
        return outcomeOf(tokens.verify(token))
      }
      const end = iat + age + leeway
      // Seen for the first time just before its end: nothing has told the store about it.
      expect(await outcomeAt(end - 0.001, newest)).toBe('TOKEN_REVOKED')
      expect(await outcomeAt(end, newest)).toBe('TOKEN_EXPIRED')
    })
  })

  test.each([
    { name: 'by default', options: {}, days: 400 },
    { name: 'as configured', options: { sessionLifetime: '30d' }, days: 30 },
  ])('a session, $name: for as long as the issuer may make tokens for it', async ({ options, days }) => {
    const WAYS: readonly ((tokens: TokenManager, payload: TokenPayload) => Promise<unknown>)[] = [
      (tokens) => tokens.revoke.session('session', a),
      (tokens) => tokens.revoke.session('session'),
      (tokens, payload) => tokens.logout(payload),
    ]
    for (const revoke of WAYS) {
      const { tokens, clock, store } = createReceiver([A.options(options)], { config })
      const sign = (jti: string) => A.sign({ ...IDS, jti, iat: clock.seconds - 10, exp: clock.seconds + 600 })
      await revoke(tokens, await tokens.verify(sign('first')))
      for (const [seconds, outcome] of [
        [NOW + 2 * 86_400, 'TOKEN_REVOKED'],
        [NOW + days * 86_400, 'TOKEN_REVOKED'],
        // Five minutes for the clocks of processes.
        [NOW + days * 86_400 + 301, 'ok'],
      ] as const) {
        clock.seconds = seconds
        await store.prune?.(1000)
        expect(await outcomeOf(tokens.verify(sign(`at-${seconds}`)))).toBe(outcome)
      }
    }
  })

  test('an exp in a hundred years does not make the store keep everything for as long', async () => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const announced: number[] = []
    const { prepare } = store
    store.prepare = async (needs) => {
      announced.push(needs.longestLifetime)
      return prepare.call(store, needs)
    }
    const { tokens } = createReceiver([A.options()], { clock, store, config })
    await tokens.ready()
    expect(await outcomeOf(tokens.verify(A.sign({ exp: ENDLESS })))).toBe('ok')
    expect(await outcomeOf(tokens.verify(A.sign({ exp: 1e300, iat: NOW - 0.5 })))).toBe('ok')
    expect(await outcomeOf(tokens.verify(A.sign({ exp: ENDLESS, iat: NOW - 86_399 })))).toBe('ok')
    // A day, a second for whole seconds, five for the clock of the issuer, and what the clocks of processes may differ.
    expect(announced).toEqual([(86_400 + 1 + 5 + 300) * 1000])
  })

  test('a process without the issuer keeps a watermark of everybody for as long', async () => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const plain = createReceiver([], { clock, store, config }).tokens
    await plain.revoke.all()
    // Only now the store learns of tokens that live longer.
    const { tokens } = createReceiver([A.options()], { clock, store, config })
    await tokens.ready()
    const token = A.sign({ iat: NOW - 1, exp: ENDLESS })
    for (const seconds of [NOW + 1, NOW + 3600, NOW - 1 + 86_399]) {
      clock.seconds = seconds
      expect(await outcomeOf(tokens.verify(token)), `${seconds - NOW} s`).toBe('TOKEN_REVOKED')
    }
  })
})

test('a user whose id is another claim is revoked by that id, and by the sub of the issuer', async () => {
  const mapping = { sub: 'oid' }
  for (const id of ['a:user-1', 'a:pairwise-1']) {
    const { tokens } = createReceiver([A.options({ mapping, subjectPrefix: 'a:' })])
    const token = A.sign({ sub: 'pairwise-1', oid: 'user-1' })
    expect(await tokens.verify(token)).toMatchObject({ sub: 'a:user-1' })
    await tokens.revoke.user(id, a)
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(A.sign({ sub: 'pairwise-2', oid: 'user-2' })))).toBe('ok')
  }
})

test.each(['', 'a:'])('a user of an issuer with the prefix "%s" is written once', async (subjectPrefix) => {
  const { tokens, store } = createReceiver([A.options({ subjectPrefix })])
  const revoke = vi.spyOn(store, 'revoke')
  await tokens.revoke.user('ada', a)
  const key = toRevocationKey('user', 'ada', A.issuer)
  expect(revoke.mock.calls.map(([entries]) => entries)).toEqual([[expect.objectContaining(key)]])
})

test('no user of ours can have an id that begins with the prefix of an issuer', async () => {
  const { tokens } = createReceiver([A.options({ subjectPrefix: 'a:' }), B.options()])
  expect(() => tokens.createAccessToken({ uid: 'a:ada' })).toThrow(TypeError)
  await expect(tokens.sessions.open({ uid: 'a:' })).rejects.toThrow(TypeError)
  expect(tokens.createAccessToken({ uid: 'ada' })).toBeTypeOf('string')
})

test('a token of ours whose user has the prefix of an issuer is refused, wherever it was made', async () => {
  const clock = createClock()
  const token = createReceiver([], { clock }).tokens.createAccessToken({ uid: 'a:ada' })
  const { tokens } = createReceiver([A.options({ subjectPrefix: 'a:' })], { clock })
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_INVALID')
  expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(TokenDecodeError)
  expect(await outcomeOf(createReceiver([A.options()], { clock }).tokens.verify(token))).toBe('ok')
})

describe('a revocation that would concern nothing', () => {
  const DECODE = { JWT_DECODE_ISSUER: 'https://us.example', JWT_ENCODE_ISSUER: 'https://us.example' }

  test('is a mistake for a payload whose iss is neither ours nor that of an issuer', async () => {
    const { tokens } = createReceiver([A.options()], { config: DECODE })
    const foreign = { ...IDS, type: 'access', exp: NOW + 60, iss: B.issuer } as const
    for (const revoke of [
      () => tokens.revoke.token(foreign),
      () => tokens.revoke.session(foreign),
      () => tokens.logout(foreign),
    ]) {
      await expect(revoke()).rejects.toThrow(TypeError)
    }
    const own = await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
    expect(await outcomeOf(tokens.revoke.token(own))).toBe('ok')
    // Without JWT_DECODE_ISSUER, a token of ours may have any.
    const { tokens: open } = createReceiver([A.options()])
    const token = open.createAccessToken({ uid: 'ada' }, { issuer: 'https://tenant.example' })
    await open.revoke.token(await open.verify(token))
    expect(await outcomeOf(open.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('is not what readRevocableToken leads to', async () => {
    const { tokens } = createReceiver([A.options()], { config: DECODE })
    const token = tokens.createAccessToken({ uid: 'ada' }, { issuer: 'https://before.example' })
    expect(await internalsOf(tokens).readRevocableToken(token)).toBe(null)
    expect(await internalsOf(tokens).readRevocableToken(tokens.createAccessToken({ uid: 'ada' }))).not.toBe(
      null,
    )
    expect(await internalsOf(tokens).readRevocableToken(A.sign())).toMatchObject({ iss: A.issuer })
  })

  test('is a mistake for a key, where the manager has none of its own', async () => {
    const clock = createClock()
    const tokens = new TokenManager({
      config: new TokenConfig(),
      clock,
      store: createMemoryStore({ clock }),
      issuers: [A.trust()],
    })
    await expect(tokens.revoke.key('same')).rejects.toThrow(TypeError)
    await tokens.revoke.key('same', a)
    expect(await outcomeOf(tokens.verify(A.sign()))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.revoke.key('ours', { issuer: 'own' }))).toBe('ok')
  })
})

describe('an issuer that uses this library, with the same store', () => {
  const ISSUER = 'https://auth.example'
  const keys = createForeign(ISSUER)

  const share = () => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const config = new TokenConfig({ JWT_ENCODE_ISSUER: ISSUER, JWT_ENCODE_AUDIENCE: 'api' })
    const own = [{ kid: 'key-1', algorithm: 'ES256' as const, privateKey: keys.privateKey }]
    const service = new TokenManager({ config, keys: own, clock, store })
    const options = { audience: 'api', profile: 'tokenlib' as const, subjectPrefix: 'auth:' }
    const { tokens } = createReceiver([keys.options(options)], { clock, store })
    return { service, tokens, clock }
  }

  const ends: Readonly<Record<string, (service: TokenManager, token: string) => Promise<unknown>>> = {
    logout: async (service, token) => service.logout(await service.verify(token)),
    revokeToken: async (service, token) => service.revoke.token(await service.verify(token)),
    revokeUser: (service) => service.revoke.user('ada'),
    revokeKey: (service) => service.revoke.key('key-1'),
    revokeAll: (service) => service.revoke.all(),
  }

  test.each(Object.entries(ends))('%s there holds here', async (_, end) => {
    const { service, tokens } = share()
    const { accessToken } = await service.sessions.open({ uid: 'ada' })
    const { accessToken: other } = await service.sessions.open({ uid: 'grace' })
    expect(await tokens.verify(accessToken)).toMatchObject({ sub: 'auth:ada' })
    await end(service, accessToken)
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
    const isForAll = end === ends['revokeKey'] || end === ends['revokeAll']
    expect(await outcomeOf(tokens.verify(other))).toBe(isForAll ? 'TOKEN_REVOKED' : 'ok')
  })

  test('a session that is refreshed after the revocation of its user stays revoked', async () => {
    const { service, tokens, clock } = share()
    const first = await service.sessions.open({ uid: 'ada' })
    clock.seconds += 60
    await tokens.revoke.user('auth:ada', { issuer: ISSUER })
    clock.seconds += 60
    const next = await service.sessions.refresh(first.refreshToken)
    expect(await outcomeOf(tokens.verify(next.accessToken))).toBe('TOKEN_REVOKED')
    const again = await service.sessions.open({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(again.accessToken))).toBe('ok')
  })
})

describe('services with one store and different prefixes for an issuer', () => {
  const PREFIXES = ['', 'a:', 'sso|']
  const share = () => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    return PREFIXES.map((subjectPrefix) => createReceiver([A.options({ subjectPrefix })], { clock, store }))
  }

  test.each(PREFIXES)('a user revoked where the prefix is "%s" is revoked at all of them', async (prefix) => {
    const services = share()
    const { tokens } = services[PREFIXES.indexOf(prefix)] as (typeof services)[number]
    await tokens.revoke.user(internalsOf(tokens).toSubject(A.issuer, 'ada'), a)
    for (const service of services) {
      expect(await outcomeOf(service.tokens.verify(A.sign()))).toBe('TOKEN_REVOKED')
      expect(await outcomeOf(service.tokens.verify(A.sign({ sub: 'grace' })))).toBe('ok')
    }
  })
})

test('with an issuer, a user is named with its prefix or without; without one, with it', async () => {
  const issuers = [A.options({ subjectPrefix: 'a:' }), B.options({ subjectPrefix: 'b:' })]
  const outcomesAfter = async (revoke: Revoke) => {
    const { tokens } = createReceiver(issuers)
    await revoke(tokens)
    return outcomes(tokens)
  }
  expect(await outcomesAfter((tokens) => tokens.revoke.user('ada', a))).toBe('own - b')
  expect(await outcomesAfter((tokens) => tokens.revoke.user('a:ada', a))).toBe('own - b')
  expect(await outcomesAfter((tokens) => tokens.revoke.user('a:ada'))).toBe('own - b')
  expect(await outcomesAfter((tokens) => tokens.revoke.user('ada'))).toBe('- a b')
  expect(await outcomesAfter((tokens) => tokens.revoke.user('b:ada', a))).toBe('own a b')
  // The prefix alone is not the name of every user.
  expect(await outcomesAfter((tokens) => tokens.revoke.user('a:', a))).toBe('own a b')
})

test.each(['PEM', 'JWK'])(
  'a revoked key of a key function that answers with %s does not come back under another kid',
  async (kind) => {
    const a = createForeign('https://function.example/')
    const { kid: _kid, ...jwk } = a.jwk
    const pem = a.publicKey.export({ format: 'pem', type: 'spki' }).toString()
    const { tokens } = createReceiver([a.options({ keys: async () => (kind === 'PEM' ? pem : jwk) })])
    expect(await outcomeOf(tokens.verify(a.sign()))).toBe('ok')
    await tokens.revoke.key('key-1', { issuer: a.issuer })
    for (const name of ['key-1', 'key-2']) {
      expect(await outcomeOf(tokens.verify(a.sign({}, { kid: name })))).toBe('TOKEN_REVOKED')
    }
  },
)

test('a logout ignores a token that another copy of this package refuses', async () => {
  class OtherDecodeError extends Error {
    readonly isTokenError = true
    readonly code = 'TOKEN_INVALID'
  }
  // What @tokenlib/issuers is where it has an installation of its own, or was loaded as CommonJS.
  const trusted = A.trust()
  const issuer: TrustedIssuer = {
    ...trusted,
    connect: (manager) => ({
      ...trusted.connect(manager),
      toPayload() {
        throw new OtherDecodeError('Token claim "sub" is missing or has the wrong type')
      },
    }),
  }
  const { tokens } = createReceiver([issuer])
  expect(await outcomeOf(tokens.verify(TOKENS.a))).toBe('TOKEN_INVALID')
  expect(await tokens.logout(withBearer(TOKENS.a))).toBeNull()
})
