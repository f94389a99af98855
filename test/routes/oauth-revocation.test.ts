import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { createRevocationRoute } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, createManager, NOW, openToken, SECRET } from '../helpers/manager.js'
import { advance, createRevocable, outcomeOf } from '../helpers/revocable.js'
import { client, createForm, send } from './oauth-fixture.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const DONE = [200, null]

test.each(['accessToken', 'refreshToken'] as const)('the %s of a session ends the session', async (name) => {
  const { tokens } = createRevocable()
  const routes = createRevocationRoute(tokens, { client, actor: ({ id }) => id })
  const pair = await tokens.sessions.open({ uid: 'ada' })
  const other = await tokens.sessions.open({ uid: 'ada' })
  const events: object[] = []
  tokens.on('loggedOut', (event) => events.push(event))
  expect(await send(routes, { token: pair[name] }, { 'user-agent': 'Test/1' })).toEqual(DONE)
  expect(events).toMatchObject([{ sub: 'ada', userAgent: 'Test/1', actor: 'orders' }])
  expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(other.accessToken))).toBe('ok')
  // RFC 7009 §2.2: a second time, too.
  expect(await send(routes, { token: pair[name] })).toEqual(DONE)
})

test('with session: false an access token is revoked alone, and a refresh token with its session', async () => {
  const { tokens, clock } = createRevocable()
  const routes = createRevocationRoute(tokens, { client, session: false })
  const pair = await tokens.sessions.open({ uid: 'ada' })
  await send(routes, { token: pair.accessToken })
  expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('TOKEN_REVOKED')
  const next = await advance({ tokens, clock }, pair.refreshToken)
  await send(routes, { token: next.refreshToken })
  expect(await outcomeOf(tokens.verify(next.accessToken))).toBe('TOKEN_REVOKED')
})

test('tokens of no session are revoked by themselves', async () => {
  const { tokens } = createRevocable()
  const routes = createRevocationRoute(tokens, { client })
  const token = tokens.createRefreshToken({ uid: 'ada' })
  expect(await send(routes, { token })).toEqual(DONE)
  expect(await outcomeOf(tokens.verify(token, { type: 'refresh' }))).toBe('TOKEN_REVOKED')
})

describe('what no route would accept still ends its session', () => {
  test('an expired access token', async () => {
    const { tokens, clock } = createRevocable()
    const routes = createRevocationRoute(tokens, { client })
    const pair = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds += 3600
    expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('TOKEN_EXPIRED')
    expect(await send(routes, { token: pair.accessToken })).toEqual(DONE)
    expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('TOKEN_REVOKED')
  })

  test('a token that is not valid yet, and one for another audience', async () => {
    const { tokens, clock } = createRevocable({ JWT_DECODE_AUDIENCE: 'a' })
    const routes = createRevocationRoute(tokens, { client })
    const notBefore = new Date((NOW + 60) * 1000)
    const later = tokens.createAccessToken({ uid: 'ada' }, { notBefore, audience: 'a' })
    expect(await send(routes, { token: later })).toEqual(DONE)
    clock.seconds += 120
    expect(await outcomeOf(tokens.verify(later))).toBe('TOKEN_REVOKED')
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' }, { audience: 'b' })
    const { sid = '' } = (await internalsOf(tokens).readRevocableToken(refreshToken)) ?? {}
    expect(await tokens.sessions.get(sid)).not.toBe(null)
    expect(await send(routes, { token: refreshToken })).toEqual(DONE)
    expect(await tokens.sessions.get(sid)).toBe(null)
  })
})

test.each([
  ['no token', 'x'],
  [
    'a token of another key',
    createManager({ JWT_SECRET_KEY: `${SECRET}!` }).tokens.createAccessToken({ uid: 'ada' }),
  ],
  ['a text that is too long', 'a'.repeat(50_000)],
])('%s is answered like a revoked token, and nothing is revoked', async (_name, token) => {
  const { tokens } = createRevocable()
  const events: object[] = []
  tokens.on('revoked', (event) => events.push(event))
  expect(await send(createRevocationRoute(tokens, { client }), { token })).toEqual(DONE)
  expect(events).toEqual([])
})

test('a token without an id is refused: it cannot be revoked', async () => {
  const { tokens } = createRevocable()
  const { header, claims } = openToken(tokens.createAccessToken({ uid: 'ada' }))
  const { jti: _jti, ...others } = claims
  const token = await new SignJWT(others)
    .setProtectedHeader({ alg: 'HS256', ...header })
    .sign(new TextEncoder().encode(SECRET))
  expect(internalsOf(tokens).verifyWithoutRevocation(token).jti).toBe(undefined)
  const routes = createRevocationRoute(tokens, { client })
  expect(await send(routes, { token })).toMatchObject([400, { error: 'unsupported_token_type' }])
})

test('a token of another client is refused and stays good (RFC 7009 §2.1)', async () => {
  const { tokens } = createRevocable()
  const routes = createRevocationRoute(tokens, {
    client,
    isAllowed: (payload, { id }) => payload['client_id'] === id,
  })
  const { accessToken: token } = await tokens.sessions.open({ uid: 'ada', client_id: 'orders' })
  const form = { token, client_id: 'billing:eu', client_secret: 'pass+word%:' }
  expect(await send(routes, form, { authorization: null })).toMatchObject([400, { error: 'invalid_grant' }])
  expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  expect(await send(routes, { token })).toEqual(DONE)
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
})

test('a store that is gone is no success: the client must try again', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const { accessToken: token } = await createRevocable({}, { clock, store }).tokens.sessions.open({
    uid: 'ada',
  })
  const revoke = async (): Promise<never> => Promise.reject(new Error('ECONNREFUSED'))
  const { tokens } = createRevocable({}, { clock, store: { ...store, revoke } })
  const routes = createRevocationRoute(tokens, { client })
  const response = await routes.handle(createForm(routes.path, { token }))
  expect([response?.status, response?.headers.get('retry-after')]).toEqual([503, '1'])
})

test('an endpoint that could not revoke, or that anybody could use, cannot be made', () => {
  expect(() => createRevocationRoute(createManager().tokens, { client })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
  )
  const { tokens } = createRevocable()
  for (const options of [
    {},
    { client: null },
    { client, session: 'no' },
    { client, actor: 'x' },
    { client, path: '/oauth/' },
  ]) {
    expect(() => createRevocationRoute(tokens, options as never)).toThrow(TypeError)
  }
})
