import { createHmac, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import {
  ConfigurationError,
  type TrustedIssuer,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type TokenPolicy,
} from '../../packages/tokenlib/src/index.js'
import {
  createEnforcer,
  createInjector,
  type Dependency,
} from '../../packages/tokenlib/src/requests/dependencies.js'
import type { NodeRequest } from '../../packages/tokenlib/src/http/node-view.js'
import { nodeRequestReader } from '../../packages/tokenlib/src/http/request-source.js'
import { defineStore, type RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import type { RevocationKey } from '../../packages/tokenlib/src/revocation/revocation.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { createClock, NOW, SECRET } from '../helpers/manager.js'

/** A Node request with these headers, names and values in turn. */
function toRequest(...raw: readonly string[]): NodeRequest {
  const headers: Record<string, string> = {}
  // Of several headers Node keeps the first.
  for (let at = 0; at < raw.length; at += 2) headers[String(raw[at]).toLowerCase()] ??= String(raw[at + 1])
  return { method: 'GET', url: '/', headers, rawHeaders: raw }
}

const bearer = (token: string): NodeRequest => toRequest('Authorization', `Bearer ${token}`)

/** Whether a request passes immediately, and what its dependency decides. */
async function ask(dependency: Dependency<unknown>, request: NodeRequest) {
  const enforcer = createEnforcer([dependency], nodeRequestReader)
  const isFast = enforcer.passesNow(request)
  const outcome = await enforcer.enforce(request).then(
    () => 'ok',
    (error: unknown) => (error as { code: string }).code,
  )
  return { isFast, outcome }
}

interface Setting {
  readonly options?: TokenConfigOptions
  readonly store?: RevocationStore
  readonly clock?: ReturnType<typeof createClock>
}

/** A manager, and a way to make a token that its fast lane knows. */
function createLane({ options = {}, store, clock = createClock() }: Setting = {}) {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options })
  const tokens = new TokenManager({ config, clock, store })
  const learn = async (token: string): Promise<string> => {
    for (let times = 0; times < 2; times++) await tokens.verify(token, { type: 'any' })
    return token
  }
  const create = (given?: object): Promise<string> => learn(tokens.createAccessToken({ uid: 'ada' }, given))
  return { tokens, clock, learn, create }
}

/** An issuer with keys that are known, the manager that makes its tokens, and a count of verifications. */
function createIssuer(clock: ReturnType<typeof createClock>) {
  const config = new TokenConfig({
    JWT_ALGORITHM: 'EdDSA',
    JWT_PRIVATE_KEY: generateKeyPairSync('ed25519').privateKey,
    JWT_ENCODE_ISSUER: 'https://id.example',
    JWT_ENCODE_AUDIENCE: 'api',
  })
  const maker = new TokenManager({ config, clock })
  const trusted = trustIssuer({
    issuer: 'https://id.example',
    audience: 'api',
    keys: maker.keys.jwks(),
    profile: 'tokenlib',
    subjectPrefix: '',
  })
  const verified = vi.fn()
  const issuer: TrustedIssuer = {
    ...trusted,
    connect(manager) {
      const source = trusted.connect(manager)
      const find: typeof source.keys.find = (...given) => {
        verified()
        return source.keys.find(...given)
      }
      return { ...source, keys: { ...source.keys, find } }
    },
  }
  return { issuer, maker, verified }
}

const PASSES = { isFast: true, outcome: 'ok' }
const slow = (outcome: string) => ({ isFast: false, outcome })

test('a header that was seen before passes immediately, and its payload is that of the recipe', async () => {
  const { tokens, create } = createLane()
  const request = bearer(await create())
  expect(await ask(tokens.accessTokenRequired, request)).toEqual(PASSES)
  const injector = createInjector({ payload: tokens.accessTokenRequired }, nodeRequestReader)
  expect(injector.resolveNow(request)).toEqual(await injector.resolve(request))
})

test.each<[string, (token: string) => NodeRequest, string]>([
  ['no header', () => toRequest(), 'TOKEN_MISSING'],
  ['garbage', () => toRequest('Authorization', 'Bearer x'), 'TOKEN_INVALID'],
])('%s takes the recipe', async (_what, toGiven, outcome) => {
  const { tokens } = createLane()
  const token = tokens.createAccessToken({ uid: 'ada' })
  expect(await ask(tokens.accessTokenRequired, toGiven(token))).toEqual(slow(outcome))
})

describe('a token that was never seen', () => {
  test('is verified immediately, and passes', async () => {
    const { tokens } = createLane()
    const request = bearer(tokens.createAccessToken({ uid: 'ada' }))
    expect(await ask(tokens.accessTokenRequired, request)).toEqual(PASSES)
  })

  test.each<[string, object, (token: string) => string, string]>([
    ['forged', {}, (token) => `${token.slice(0, -3)}AAA`, 'TOKEN_SIGNATURE_INVALID'],
    ['expired', { expiresIn: 10 }, (token) => token, 'TOKEN_EXPIRED'],
    ['without the scope', {}, (token) => token, 'INSUFFICIENT_SCOPE'],
    ['revoked', { scopes: ['read'] }, (token) => token, 'TOKEN_REVOKED'],
  ])('is verified once, and refused by the recipe, if it is %s', async (_what, given, change, outcome) => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const { issuer, maker, verified } = createIssuer(clock)
    const config = new TokenConfig({ JWT_SECRET_KEY: `${SECRET}-of-another-manager` })
    const tokens = new TokenManager({ config, clock, store, issuers: [issuer] })
    const token = change(maker.createAccessToken({ uid: 'ada' }, given))
    await tokens.revoke.user('ada')
    clock.seconds += 30
    const rejected = vi.fn()
    tokens.on('rejected', rejected)
    expect(await ask(tokens.require({ scopes: ['read'] }), bearer(token))).toEqual(slow(outcome))
    expect(verified).toHaveBeenCalledTimes(1)
    expect(rejected).toHaveBeenCalledTimes(1)
  })

  test('is left to the recipe if a schema has to be called, which happens once', async () => {
    const validate = vi.fn((value: unknown) => ({ value: value as object }))
    const claims = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const tokens = new TokenManager({ config, clock: createClock(), claims })
    const token = tokens.createAccessToken({ uid: 'ada' })
    validate.mockClear()
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('ok'))
    expect(validate).toHaveBeenCalledTimes(1)
  })

  test('passes immediately when a schema has accepted it, if what that makes cannot change', async () => {
    const validate = (value: unknown) => ({ value: value as object })
    const claims = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const tokens = new TokenManager({ config, clock: createClock(), claims })
    const token = tokens.createAccessToken({ uid: 'ada' })
    for (const isFast of [false, false, true]) {
      expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual({ isFast, outcome: 'ok' })
    }
  })

  test('is not refused later, or where an expired one will do, for what the fast lane saw', async () => {
    const { tokens, clock } = createLane()
    const enforcer = createEnforcer([tokens.accessTokenRequired], nodeRequestReader)
    const token = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 60 })
    clock.seconds = NOW - 1
    expect(enforcer.passesNow(bearer(token))).toBe(false)
    clock.seconds = NOW
    expect((await tokens.verify(token)).sub).toBe('ada')
    clock.seconds = NOW + 60
    expect(enforcer.passesNow(bearer(token))).toBe(false)
    expect(internalsOf(tokens).verifyWithoutRevocation(token, { allowExpired: true }).sub).toBe('ada')
  })

  test('is verified again after the keys were replaced', async () => {
    const clock = createClock()
    const config = new TokenConfig({})
    const create = (secret: string) =>
      new TokenManager({ config, clock, keys: [{ kid: secret.slice(0, 3), algorithm: 'HS256', secret }] })
    const tokens = create(SECRET)
    const other = `new-${SECRET}`
    const request = () => bearer(create(other).createAccessToken({ uid: 'ada' }))
    expect(await ask(tokens.accessTokenRequired, request())).toEqual(slow('TOKEN_SIGNATURE_INVALID'))
    tokens.keys.set([{ kid: 'new', algorithm: 'HS256', secret: other }])
    expect(await ask(tokens.accessTokenRequired, request())).toEqual(PASSES)
  })
})

describe('no authority is remembered', () => {
  test('expiry, to the second', async () => {
    const { tokens, clock, create } = createLane()
    const request = bearer(await create({ expiresIn: 60 }))
    clock.seconds = NOW + 59.999
    expect(await ask(tokens.accessTokenRequired, request)).toEqual(PASSES)
    clock.seconds = NOW + 60
    expect(
      await ask(tokens.accessTokenRequired, bearer(request.headers['authorization']!.slice(7) as string)),
    ).toEqual(slow('TOKEN_EXPIRED'))
  })

  test('not-before, and a clock that was set back', async () => {
    const { tokens, clock, create } = createLane()
    const token = await create()
    clock.seconds = NOW - 1
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('TOKEN_NOT_YET_VALID'))
    clock.seconds = NOW
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(PASSES)
  })

  test('the type', async () => {
    const { tokens, create, learn } = createLane()
    const access = await create()
    const refresh = await learn(tokens.createRefreshToken({ uid: 'ada' }))
    expect(await ask(tokens.refreshTokenRequired, bearer(access))).toEqual(slow('REFRESH_TOKEN_REQUIRED'))
    expect(await ask(tokens.accessTokenRequired, bearer(refresh))).toEqual(slow('ACCESS_TOKEN_REQUIRED'))
    expect(await ask(tokens.tokenRequired, bearer(access))).toEqual(PASSES)
    // A refresh token has to be presented to its session.
    expect(await ask(tokens.tokenRequired, bearer(refresh))).toEqual(slow('ok'))
    expect(await ask(tokens.refreshTokenRequired, bearer(refresh))).toEqual(slow('ok'))
  })

  test('freshness, also one that ends', async () => {
    const { tokens, clock, create } = createLane()
    expect(await ask(tokens.freshTokenRequired, bearer(await create()))).toEqual(slow('FRESH_TOKEN_REQUIRED'))
    expect(await ask(tokens.freshTokenRequired, bearer(await create({ fresh: true })))).toEqual(PASSES)
    const soon = await create({ fresh: '5m' })
    expect(await ask(tokens.freshTokenRequired, bearer(soon))).toEqual(PASSES)
    clock.seconds = NOW + 300
    expect(await ask(tokens.freshTokenRequired, bearer(soon))).toEqual(slow('FRESH_TOKEN_REQUIRED'))
  })

  test('scopes', async () => {
    const { tokens, create } = createLane()
    const token = await create({ scopes: ['read'] })
    expect(await ask(tokens.require({ scopes: ['read'] }), bearer(token))).toEqual(PASSES)
    expect(await ask(tokens.require({ scopes: ['read', 'write'] }), bearer(token))).toEqual(
      slow('INSUFFICIENT_SCOPE'),
    )
    expect(await ask(tokens.require({ anyScope: ['write', 'read'] }), bearer(token))).toEqual(PASSES)
    expect(await ask(tokens.require({ anyScope: ['write', 'admin'] }), bearer(token))).toEqual(
      slow('INSUFFICIENT_SCOPE'),
    )
  })

  test('issuer and audience: what one manager knows, another one does not', async () => {
    const { create } = createLane()
    const token = await create()
    for (const [options, code] of [
      [{ JWT_DECODE_ISSUER: 'https://id.example' }, 'TOKEN_ISSUER_INVALID'],
      [{ JWT_DECODE_AUDIENCE: 'api' }, 'TOKEN_AUDIENCE_INVALID'],
    ] as const) {
      const { tokens } = createLane({ options })
      for (let times = 0; times < 3; times++) {
        expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow(code))
      }
    }
  })

  test('the age, to the second', async () => {
    const { tokens, clock, create } = createLane({ options: { JWT_MAX_TOKEN_AGE: '1h' } })
    const token = await create({ expiresIn: false })
    clock.seconds = NOW + 3599.999
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(PASSES)
    clock.seconds = NOW + 3600
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('TOKEN_EXPIRED'))
  })

  test('required claims: what one manager knows, another one refuses', async () => {
    const token = await createLane().create()
    const { tokens, learn } = createLane({ options: { JWT_REQUIRED_CLAIMS: 'tenant' } })
    for (let times = 0; times < 3; times++) {
      expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('TOKEN_INVALID'))
    }
    const own = await learn(tokens.createAccessToken({ uid: 'ada', tenant: 'a' }))
    expect(await ask(tokens.accessTokenRequired, bearer(own))).toEqual(PASSES)
  })

  test('the key: a manager with another secret refuses', async () => {
    const { create } = createLane()
    const token = await create()
    const other = createLane({ options: { JWT_SECRET_KEY: `${SECRET}-of-another-manager` } })
    expect(await ask(other.tokens.accessTokenRequired, bearer(token))).toEqual(
      slow('TOKEN_SIGNATURE_INVALID'),
    )
  })

  test.each<[string, (tokens: TokenManager, token: string) => Promise<unknown>]>([
    ['the token', async (tokens, token) => tokens.revoke.token(await tokens.verify(token))],
    ['its session', async (tokens, token) => tokens.revoke.session(await tokens.verify(token))],
    ['its user', (tokens) => tokens.revoke.user('ada')],
    ['its key', (tokens) => tokens.revoke.key(tokens.keys.current as string)],
    ['everybody', (tokens) => tokens.revoke.all()],
  ])('revocation in the store: %s', async (_what, revoke) => {
    const clock = createClock()
    const { tokens, learn } = createLane({ clock, store: createMemoryStore({ clock }) })
    const token = await learn((await tokens.sessions.open({ uid: 'ada' })).accessToken)
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(PASSES)
    await revoke(tokens, token)
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('TOKEN_REVOKED'))
  })

  test('revocation by the callback, which is asked for every request, once', async () => {
    const { tokens, create } = createLane()
    const token = await create()
    let asked = 0
    tokens.setCallbackTokenBlocklist(() => ++asked > 2)
    for (const outcome of ['ok', 'ok', 'TOKEN_REVOKED']) {
      expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow(outcome))
    }
    expect(asked).toBe(3)
    tokens.setCallbackTokenBlocklist(() => false)
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('ok'))
  })

  test('skipRevocation leaves out the store and the callback, and false leaves out neither', async () => {
    const clock = createClock()
    const { tokens, create } = createLane({ clock, store: createMemoryStore({ clock }) })
    const token = await create()
    const skip = tokens.require({ skipRevocation: true })
    const check = tokens.require({ skipRevocation: false })
    expect(await ask(check, bearer(token))).toEqual(PASSES)
    await tokens.revoke.user('ada')
    expect(await ask(check, bearer(token))).toEqual(slow('TOKEN_REVOKED'))
    expect(await ask(skip, bearer(token))).toEqual(PASSES)
    tokens.setCallbackTokenBlocklist(() => true)
    expect(await ask(skip, bearer(token))).toEqual(PASSES)
  })

  test('a store that is gone: a closed one refuses, whatever it said before', async () => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const { tokens, create } = createLane({ clock, store })
    const token = await create()
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(PASSES)
    await store.close()
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('REVOCATION_UNAVAILABLE'))
  })
})

describe('a store around another one', () => {
  test.each<[string, (store: RevocationStore) => Partial<RevocationStore>, string]>([
    ['replaces `lookup`', () => ({ lookup: async (keys) => keys.map(() => NOW * 2000) }), 'TOKEN_REVOKED'],
    ['has no `isRevokedNow`', () => ({ isRevokedNow: undefined as never }), 'ok'],
    ['has another `isRevokedNow`', () => ({ isRevokedNow: () => false }), 'ok'],
  ])('that %s is asked by `lookup`', async (_what, change, outcome) => {
    const clock = createClock()
    const memory = createMemoryStore({ clock })
    const { tokens, learn } = createLane({ clock, store: { ...memory, ...change(memory) } })
    const token = tokens.createAccessToken({ uid: 'ada' })
    await learn(token).catch(() => undefined)
    await learn(token).catch(() => undefined)
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow(outcome))
  })
})

test('a store that is defined around another one, with a `lookup` of its own, is asked by that one', async () => {
  const clock = createClock()
  const lookup: RevocationStore['lookup'] = async (keys) => keys.map(() => NOW * 2000)
  const store = defineStore({ ...createMemoryStore({ clock }), lookup })
  const { tokens, learn } = createLane({ clock, store })
  const token = tokens.createAccessToken({ uid: 'ada' })
  for (let times = 0; times < 2; times++) await learn(token).catch(() => undefined)
  expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('TOKEN_REVOKED'))
})

test('an `isRevokedNow` that is no function is a mistake', () => {
  const create = () => defineStore({ ...createMemoryStore(), isRevokedNow: true as never })
  expect(create).toThrow(ConfigurationError)
})

test('`isRevokedNow` is called as a method of its store', async () => {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const store = defineStore({
    ...memory,
    isRevokedNow(this: RevocationStore) {
      return this.prune !== memory.prune
    },
  })
  const { tokens, create } = createLane({ clock, store })
  expect(await ask(tokens.accessTokenRequired, bearer(await create()))).toEqual(PASSES)
})

test('an `isRevokedNow` that answers neither `true` nor `false` says nothing', async () => {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const lookup: RevocationStore['lookup'] = async (keys) => keys.map(() => NOW * 2000)
  const store = defineStore({ ...memory, lookup, isRevokedNow: () => undefined as never })
  const { tokens, learn } = createLane({ clock, store })
  const token = tokens.createAccessToken({ uid: 'ada' })
  for (let times = 0; times < 2; times++) await learn(token).catch(() => undefined)
  expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('TOKEN_REVOKED'))
})

test('an `isRevokedNow` that uses up its list of keys misses no revocation', async () => {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const isRevokedNow = memory.isRevokedNow as NonNullable<RevocationStore['isRevokedNow']>
  const store = defineStore({
    ...memory,
    lookup: (keys) => memory.lookup(keys),
    isRevokedNow(keys, start) {
      const left = keys as RevocationKey[]
      for (let key = left.pop(); key !== undefined; key = left.pop()) {
        if (isRevokedNow([key], start)) return true
      }
      return false
    },
  })
  const { tokens, create } = createLane({ clock, store })
  const token = await create()
  await ask(tokens.accessTokenRequired, bearer(token))
  await tokens.revoke.user('ada')
  expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('TOKEN_REVOKED'))
})

test('a store whose `lookup` is replaced while it is used is asked by the new one', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const { tokens, create } = createLane({ clock, store })
  const token = await create()
  expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(PASSES)
  Object.assign(store, {
    lookup: async (keys: readonly unknown[]) => keys.map(() => NOW * 2000),
  })
  expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('TOKEN_REVOKED'))
})

describe('what the header looks like', () => {
  test.each<[string, (token: string) => NodeRequest, string]>([
    [
      'comes twice',
      (token) => toRequest('Authorization', `Bearer ${token}`, 'authorization', 'Bearer x'),
      'TOKEN_INVALID',
    ],
    [
      'comes twice, the same',
      (token) => toRequest('Authorization', `Bearer ${token}`, 'AUTHORIZATION', `Bearer ${token}`),
      'TOKEN_INVALID',
    ],
    ['has another case', (token) => toRequest('Authorization', `bearer ${token}`), 'ok'],
    ['has two spaces', (token) => toRequest('Authorization', `Bearer  ${token}`), 'ok'],
    ['has another scheme', (token) => toRequest('Authorization', `Basic ${token}`), 'TOKEN_MISSING'],
    ['is the token alone', (token) => toRequest('Authorization', token), 'TOKEN_MISSING'],
    [
      'has a second credential',
      (token) => toRequest('Authorization', `Bearer ${token}, Bearer ${token}`),
      'TOKEN_INVALID',
    ],
    ['has another name', (token) => toRequest('X-Authorization', `Bearer ${token}`), 'TOKEN_MISSING'],
    [
      'is inherited by the headers',
      (token) => ({
        ...bearer(token),
        headers: Object.create(bearer(token).headers) as NodeRequest['headers'],
      }),
      'TOKEN_MISSING',
    ],
    [
      'comes without the names as received',
      (token) => ({ ...bearer(token), rawHeaders: undefined as never }),
      'ok',
    ],
  ])('one that %s takes the recipe', async (_what, toGiven, outcome) => {
    const { tokens, create } = createLane()
    expect(await ask(tokens.accessTokenRequired, toGiven(await create()))).toEqual(slow(outcome))
  })

  test('another header of the same length does not matter', async () => {
    const { tokens, create } = createLane()
    const request = toRequest('Cache-Control', 'no-cache', 'Authorization', `Bearer ${await create()}`)
    expect(await ask(tokens.accessTokenRequired, request)).toEqual(PASSES)
  })

  test('one changed character is another header', async () => {
    const { tokens, create } = createLane()
    const header = `Bearer ${await create()}`
    const enforcer = createEnforcer([tokens.accessTokenRequired], nodeRequestReader)
    expect(enforcer.passesNow(toRequest('Authorization', header))).toBe(true)
    for (let at = 0; at < header.length; at++) {
      const changed = `${header.slice(0, at)}${header[at] === 'A' ? 'B' : 'A'}${header.slice(at + 1)}`
      expect(enforcer.passesNow(toRequest('Authorization', changed)), String(at)).toBe(false)
    }
  })

  test('a name and a scheme of one’s own', async () => {
    const { tokens, create } = createLane({ options: { JWT_HEADER_NAME: 'X-Token', JWT_HEADER_TYPE: '' } })
    const token = await create()
    expect(await ask(tokens.accessTokenRequired, toRequest('X-Token', token))).toEqual(PASSES)
    expect(await ask(tokens.accessTokenRequired, toRequest('X-Token', `Bearer ${token}`))).toEqual(
      slow('TOKEN_INVALID'),
    )
  })
})

describe('policies', () => {
  test.each<[string, TokenConfigOptions, TokenPolicy, boolean]>([
    ['the header is the first place', { JWT_TOKEN_LOCATION: ['headers', 'cookies'] }, {}, true],
    ['cookies come first', { JWT_TOKEN_LOCATION: ['cookies', 'headers'] }, {}, false],
    ['the route reads cookies only', {}, { locations: 'cookies' }, false],
    ['the route reads the query first', {}, { locations: ['query', 'headers'] }, false],
    ['optional', {}, { optional: true }, true],
    ['without revocation', {}, { skipRevocation: true }, true],
    [
      'refresh tokens are looked for elsewhere',
      { JWT_REFRESH_TOKEN_LOCATION: 'cookies' },
      { type: 'any' },
      true,
    ],
    [
      'access tokens are looked for elsewhere',
      { JWT_TOKEN_LOCATION: 'cookies', JWT_REFRESH_TOKEN_LOCATION: 'headers' },
      { type: 'any' },
      false,
    ],
  ])('%s', async (_what, options, policy, isFast) => {
    const { tokens, create } = createLane({ options })
    const token = await create()
    const enforcer = createEnforcer([tokens.require(policy)], nodeRequestReader)
    expect(enforcer.passesNow(bearer(token))).toBe(isFast)
  })

  test('a cookie next to the header is checked first where it is the first place, CSRF value and all', async () => {
    const { tokens, create } = createLane({ options: { JWT_TOKEN_LOCATION: ['cookies', 'headers'] } })
    const token = await create()
    const request = {
      ...toRequest('Authorization', `Bearer ${token}`, 'Cookie', `access_token_cookie=${token}`),
      method: 'POST',
    }
    expect(await ask(tokens.accessTokenRequired, request)).toEqual(slow('CSRF_MISSING'))
  })

  test('a dependency of the application next to ours makes both wait', async () => {
    const { tokens, create } = createLane()
    const enforcer = createEnforcer([tokens.accessTokenRequired, () => 'value'], nodeRequestReader)
    expect(enforcer.passesNow(bearer(await create()))).toBe(false)
  })

  test('a payload that a schema makes again is made by the recipe, for each request', async () => {
    const claims = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ value: { at: new Date(0) } }) },
    } as const
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      clock: createClock(),
      claims,
    })
    const input = [{ alg: 'HS256' }, { sub: 'ada', type: 'access', exp: NOW + 60 }]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    const token = `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
    for (let times = 0; times < 3; times++) await tokens.verify(token)
    expect(await ask(tokens.accessTokenRequired, bearer(token))).toEqual(slow('ok'))
  })

  test.each([1, 2 ** 31, Number.MAX_SAFE_INTEGER])('a cache of size %s has one', async (size) => {
    const { tokens, create } = createLane({ options: { JWT_VERIFIED_CACHE_SIZE: size } })
    expect(await ask(tokens.accessTokenRequired, bearer(await create()))).toEqual(PASSES)
  })

  test('a cache of size 0 has one that verifies every time', async () => {
    const { tokens, create } = createLane({ options: { JWT_VERIFIED_CACHE_SIZE: 0 } })
    expect(await ask(tokens.accessTokenRequired, bearer(await create()))).toEqual(PASSES)
  })
})

test('it never throws: what is wrong with the clock or the request is for the recipe to say', async () => {
  const clock = createClock()
  const { tokens, create } = createLane({ clock })
  const request = bearer(await create())
  const enforcer = createEnforcer([tokens.accessTokenRequired], nodeRequestReader)
  clock.seconds = Number.NaN
  expect(enforcer.passesNow(request)).toBe(false)
  await expect(enforcer.enforce(request)).rejects.toThrow(TypeError)
  expect(enforcer.passesNow({} as never)).toBe(false)
  expect(
    createInjector({ a: tokens.accessTokenRequired }, nodeRequestReader).resolveNow({} as never),
  ).toBeNull()
})

test.each<[string, number]>([
  ['GET', 0],
  ['HEAD', 0],
  ['POST', 1],
  ['DELETE', 1],
  ['QUERY', 1],
  ['', 1],
])('a %s request that passes immediately has its view created %i times', async (method, count) => {
  const { tokens, create } = createLane()
  const request = { ...bearer(await create()), method }
  const dependency = tokens.accessTokenRequired
  const toView = vi.fn(nodeRequestReader.toView)
  const reader = { ...nodeRequestReader, readMethod: (given: typeof request) => given.method, toView }
  expect(createEnforcer([dependency, dependency], reader).passesNow(request)).toBe(true)
  expect(toView).toHaveBeenCalledTimes(count)
  expect(createInjector({ a: dependency, b: dependency }, reader).resolveNow(request)).not.toBeNull()
  expect(toView).toHaveBeenCalledTimes(2 * count)
})

test('a reader that names no method creates no view for what passes immediately', async () => {
  const { tokens, create } = createLane()
  const toView = vi.fn(nodeRequestReader.toView)
  const enforcer = createEnforcer([tokens.accessTokenRequired], { ...nodeRequestReader, toView })
  expect(enforcer.passesNow({ ...bearer(await create()), method: 'POST' })).toBe(true)
  expect(toView).not.toHaveBeenCalled()
})

test('a view that cannot be created: the request does not pass immediately, and is refused', async () => {
  const { tokens, create } = createLane()
  const request = { ...bearer(await create()), method: 'POST' }
  const reader = {
    ...nodeRequestReader,
    readMethod: () => 'POST',
    toView: () => {
      throw new TypeError('No view')
    },
  }
  const enforcer = createEnforcer([tokens.accessTokenRequired], reader)
  expect(enforcer.passesNow(request)).toBe(false)
  await expect(enforcer.enforce(request)).rejects.toThrow(TypeError)
})

test('a refusal is reported once, by the recipe', async () => {
  const { tokens, clock, create } = createLane()
  const token = await create({ expiresIn: 60 })
  const rejected: string[] = []
  tokens.on('rejected', ({ code }) => rejected.push(code))
  await ask(tokens.accessTokenRequired, bearer(token))
  clock.seconds = NOW + 60
  await ask(tokens.accessTokenRequired, bearer(token))
  expect(rejected).toEqual(['TOKEN_EXPIRED'])
})
