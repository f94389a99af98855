import { describe, expect, test, vi } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createIntrospectionRoute } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, createManager, NOW, SECRET } from '../helpers/manager.js'
import { advance, createRevocable } from '../helpers/revocable.js'
import { client, createForm, send } from './oauth-fixture.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const INACTIVE = [200, { active: false }]

test('an active access token has the members of RFC 7662, and no other claim', async () => {
  const { tokens } = createRevocable({
    JWT_ENCODE_ISSUER: 'https://id.example',
    JWT_ENCODE_AUDIENCE: 'https://api.example',
  })
  const routes = createIntrospectionRoute(tokens, { client })
  const token = tokens.createAccessToken({ uid: 'ada', role: 'reader' }, { scopes: ['read', 'write'] })
  const { jti } = internalsOf(tokens).verifyWithoutRevocation(token)
  expect(await send(routes, { token, token_type_hint: 'refresh_token' })).toEqual([
    200,
    {
      active: true,
      scope: 'read write',
      token_type: 'Bearer',
      sub: 'ada',
      exp: NOW + 900,
      iat: NOW,
      nbf: NOW,
      aud: 'https://api.example',
      iss: 'https://id.example',
      jti,
    },
  ])
})

test('further claims are told if they are named; the CSRF value is never', async () => {
  const { tokens } = createRevocable({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
  const routes = createIntrospectionRoute(tokens, { client, claims: ['role', 'sid', 'absent'] })
  const pair = await tokens.sessions.open({ uid: 'ada', role: 'reader', client_id: 'web', plan: 'gold' })
  const { sid, csrf } = internalsOf(tokens).verifyWithoutRevocation(pair.accessToken)
  expect(csrf).toBeTypeOf('string')
  const [, body] = await send(routes, { token: pair.accessToken })
  expect(body).toMatchObject({ active: true, role: 'reader', sid, client_id: 'web' })
  for (const name of ['csrf', 'plan', 'absent']) expect(body).not.toHaveProperty(name)
})

test('a response is never kept', async () => {
  const { tokens } = createRevocable()
  const routes = createIntrospectionRoute(tokens, { client })
  const response = await routes.handle(createForm('/oauth/introspect', { token: 'x' }))
  expect(response?.headers.get('cache-control')).toBe('no-store')
})

describe('whatever is wrong with a token, the response has no reason', () => {
  const clock = createClock()
  const { tokens } = createRevocable({ JWT_DECODE_ISSUER: 'us', JWT_ENCODE_ISSUER: 'us' }, { clock })
  const routes = createIntrospectionRoute(tokens, { client, refreshTokens: true })
  const uid = { uid: 'ada' }
  const good = tokens.createAccessToken(uid)

  test.each<[string, () => string | Promise<string>]>([
    ['no token', () => 'x'],
    ['a changed signature', () => `${good.slice(0, -4)}AAAA`],
    ['no signature', () => `${good.split('.', 2).join('.')}.`],
    ['expired', () => tokens.createAccessToken(uid, { expiresAt: new Date((NOW - 1) * 1000) })],
    ['not valid yet', () => tokens.createAccessToken(uid, { notBefore: new Date((NOW + 60) * 1000) })],
    ['of another key', () => createManager({ JWT_SECRET_KEY: `${SECRET}!` }).tokens.createAccessToken(uid)],
    ['of another issuer', () => createManager({}).tokens.createAccessToken(uid)],
    ['too long', () => 'a'.repeat(50_000)],
    [
      'revoked',
      async () => {
        const token = tokens.createAccessToken(uid)
        await tokens.revoke.token(internalsOf(tokens).verifyWithoutRevocation(token))
        return token
      },
    ],
    [
      'logged out',
      async () => {
        const { accessToken, refreshToken } = await tokens.sessions.open(uid)
        await tokens.logout(await tokens.verify(accessToken))
        return refreshToken
      },
    ],
  ])('%s', async (_name, create) => {
    expect((await send(routes, { token: good }))[1]).toMatchObject({ active: true })
    expect(await send(routes, { token: await create() })).toEqual(INACTIVE)
  })
})

describe('refresh tokens', () => {
  test('are inactive unless they are asked for', async () => {
    const { tokens } = createRevocable()
    const { refreshToken: token } = await tokens.sessions.open({ uid: 'ada' })
    expect(await send(createIntrospectionRoute(tokens, { client }), { token })).toEqual(INACTIVE)
    const routes = createIntrospectionRoute(tokens, { client, refreshTokens: true })
    const [, body] = await send(routes, { token })
    expect(body).toMatchObject({ active: true, sub: 'ada' })
    expect(body).not.toHaveProperty('token_type')
  })

  test('are active until a successor is used, and then inactive without an alarm', async () => {
    const { tokens, clock } = createRevocable()
    const routes = createIntrospectionRoute(tokens, { client, refreshTokens: true })
    const { refreshToken: token } = await tokens.sessions.open({ uid: 'ada' })
    const next = await advance({ tokens, clock }, token)
    expect((await send(routes, { token }))[1]).toMatchObject({ active: true })
    expect((await send(routes, { token: next.refreshToken }))[1]).toMatchObject({ active: true })
    await advance({ tokens, clock }, next.refreshToken)
    // A refresh with it would be superseded now, and end the session later.
    for (const seconds of [0, 60]) {
      clock.seconds += seconds
      expect(await send(routes, { token })).toEqual(INACTIVE)
    }
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })
})

test('a client only sees the tokens that it may see', async () => {
  const { tokens } = createRevocable()
  const isAllowed = vi.fn(
    (payload: { aud?: unknown }, { audience }: { audience: string }) => payload.aud === audience,
  )
  const routes = createIntrospectionRoute(tokens, { client, isAllowed })
  const token = tokens.createAccessToken({ uid: 'ada' }, { audience: 'https://orders.example' })
  expect((await send(routes, { token }))[1]).toMatchObject({ active: true })
  const other = { authorization: null }
  const form = { token, client_id: 'billing:eu', client_secret: 'pass+word%:' }
  expect(await send(routes, form, other)).toEqual(INACTIVE)
  expect(isAllowed).toHaveBeenCalledTimes(2)
  const odd = createIntrospectionRoute(tokens, { client, isAllowed: (() => 'yes') as never })
  await expect(send(odd, { token })).rejects.toThrow(TypeError)
})

describe('a store that is gone leaves open whether a token is good', () => {
  test.each(['lookup', 'get'] as const)('%s', async (method) => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const pair = await createRevocable({}, { clock, store }).tokens.sessions.open({ uid: 'ada' })
    const fails = async (): Promise<never> => Promise.reject(new Error('ECONNREFUSED'))
    const broken = {
      ...store,
      isRevokedNow: undefined,
      ...(method === 'lookup' && { lookup: fails }),
      sessions: { ...store.sessions!, ...(method === 'get' && { get: fails }) },
    }
    const { tokens } = createRevocable({}, { clock, store: broken as never })
    const routes = createIntrospectionRoute(tokens, { client, refreshTokens: true })
    const response = await routes.handle(createForm(routes.path, { token: pair.refreshToken }))
    expect(response?.status).toBe(503)
    expect(response?.headers.get('retry-after')).toBe('1')
    expect(await response?.json()).toMatchObject({ code: 'REVOCATION_UNAVAILABLE' })
  })
})

test('a manager without a store says what the token itself says', async () => {
  const { tokens } = createManager()
  const routes = createIntrospectionRoute(tokens, { client })
  expect((await send(routes, { token: tokens.createAccessToken({ uid: 'ada' }) }))[1]).toMatchObject({
    active: true,
  })
})

test('a dependency of a manager authenticates clients by their own access tokens', async () => {
  const { tokens } = createRevocable()
  const routes = createIntrospectionRoute(tokens, { client: tokens.require({ scopes: ['introspect'] }) })
  const token = tokens.createAccessToken({ uid: 'ada' })
  const bearer = (scopes: string[]): string =>
    `Bearer ${tokens.createAccessToken({ uid: 'api' }, { scopes })}`
  expect((await send(routes, { token }, { authorization: bearer(['introspect']) }))[1]).toMatchObject({
    active: true,
  })
  expect(await send(routes, { token }, { authorization: bearer(['read']) })).toMatchObject([
    403,
    { code: 'INSUFFICIENT_SCOPE' },
  ])
  expect(await send(routes, { token }, { authorization: null })).toMatchObject([
    401,
    { code: 'TOKEN_MISSING' },
  ])
})

describe('options that would leave the endpoint open or say too much', () => {
  const { tokens } = createManager()
  test.each<[string, object]>([
    ['no client', {}],
    ['no function', { client: 'orders' }],
    ['the CSRF value', { client, claims: ['csrf'] }],
    ['a member of the endpoint', { client, claims: ['active'] }],
    ['no list', { client, claims: 'role' }],
    ['no path', { client, path: 'oauth' }],
    ['no flag', { client, refreshTokens: 1 }],
    ['no hook', { client, isAllowed: true }],
  ])('%s', (_name, options) => {
    expect(() => createIntrospectionRoute(tokens, options as never)).toThrow(TypeError)
  })

  test.each([null, false, 0, '', new Error('no')])(
    'a dependency that returns %s lets nobody in',
    async (value) => {
      const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
      const routes = createIntrospectionRoute(new TokenManager({ config }), { client: () => value as never })
      await expect(send(routes, { token: 'x' })).rejects.toThrow(TypeError)
    },
  )
})
