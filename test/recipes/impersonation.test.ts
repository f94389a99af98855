import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  chooseManager,
  decodeWithoutVerifying,
  TokenConfig,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createFrozenClock } from '../../packages/tokenlib/src/testing/test-tokens.js'
import { openToken, PATIENT, withBearer } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

// docs/recipes/impersonation.md: two managers with a key each and one store.
const clock = createFrozenClock()
const store = createMemoryStore({ clock })
const create = (fields = {}) => new TokenConfig({ JWT_SECRET_KEY: randomBytes(32), ...PATIENT, ...fields })
const users = new TokenManager({ config: create(), store, clock })
const impersonations = new TokenManager({
  config: create({ JWT_ACCESS_TOKEN_EXPIRES: '10m' }),
  store,
  claims: z.object({ act: z.object({ sub: z.string(), sid: z.string() }) }),
  clock,
})
impersonations.setCallbackTokenBlocklist(async (_token, { payload }) => {
  const { sid, sub } = payload.act
  return (await users.sessions.get(sid, sub)) === null
})
const viewer = chooseManager<typeof users | typeof impersonations>(async (request) => {
  const token = (await users.getTokenFromRequest(request))?.token ?? ''
  const kid = token === '' ? undefined : decodeWithoutVerifying(token).header.kid
  return kid === impersonations.keys.current ? impersonations : users
})

/** A member of staff with a session, and a token with which they act for ada. */
async function impersonate() {
  const grace = await users.sessions.open({ uid: 'grace' }, { scopes: ['users:impersonate', 'admin:*'] })
  const { sid = '' } = internalsOf(users).verifyWithoutRevocation(grace.accessToken)
  const token = impersonations.createAccessToken(
    { uid: 'ada', act: { sub: 'grace', sid } },
    { scopes: ['notes:read'] },
  )
  return { grace, sid, token }
}
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'passed',
    (error: { readonly code?: string }) => error.code ?? 'no code',
  )

test('a token of an impersonation is refused by every dependency of users', async () => {
  const { token } = await impersonate()
  const demands = {
    access: users.accessTokenRequired,
    any: users.tokenRequired,
    optional: users.accessTokenOptional,
    refresh: users.refreshTokenRequired,
    fresh: users.freshTokenRequired,
    scopes: users.require({ scopes: ['notes:read'] }),
    upgrade: (request: Request) => users.sockets.authenticate(request),
  }
  for (const [name, demand] of Object.entries(demands)) {
    expect(await codeOf(demand(withBearer(token))), name).toBe('TOKEN_SIGNATURE_INVALID')
  }
  expect(await codeOf(users.sessions.refresh(token))).toBe('TOKEN_SIGNATURE_INVALID')
  expect(await codeOf(viewer.require({ scopes: ['notes:read'] })(withBearer(token)))).toBe('passed')
})

test('a token of an impersonation is refused by every session route, and ends no session', async () => {
  const ada = await users.sessions.open({ uid: 'ada' })
  const { token } = await impersonate()
  const routes = createSessionRoutes(users, { logIn: () => ({ uid: 'ada' }) })
  const [own] = await users.sessions.list('ada')
  const requests = [
    ['POST', 'refresh'],
    ['POST', 'logout-everywhere'],
    ['GET', 'session'],
    ['GET', 'sessions'],
    ['DELETE', 'sessions'],
    ['DELETE', `sessions/${own?.id}`],
    ['POST', 'step-up'],
  ] as const
  for (const [method, path] of requests) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = method === 'POST' ? { body: '{}' } : {}
    const response = await routes.handle(
      new Request(`https://app.example/auth/${path}`, { method, headers, ...body }),
    )
    expect(response?.status, `${method} ${path}`).toBe(401)
  }
  // A logout with a foreign token is 204, and must not end a session of the user it names.
  await routes.handle(new Request('https://app.example/auth/logout', withLogout(token)))
  expect(await codeOf(users.verify(ada.accessToken))).toBe('passed')
})

const withLogout = (token: string) => ({ method: 'POST', headers: { authorization: `Bearer ${token}` } })

test('neither the scopes of the actor nor those of the user reach the token', async () => {
  const { token } = await impersonate()
  for (const scope of ['admin:users', 'users:impersonate', 'notes:write']) {
    expect(await codeOf(viewer.require({ scopes: [scope] })(withBearer(token)))).toBe('INSUFFICIENT_SCOPE')
  }
  expect(await codeOf(viewer.freshTokenRequired(withBearer(token)))).toBe('FRESH_TOKEN_REQUIRED')
})

test('a header that names the other key, and changed claims, are refused', async () => {
  const { token, grace } = await impersonate()
  const [, payload, signature] = token.split('.')
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const asUsers = `${encode({ ...openToken(token).header, kid: users.keys.current })}.${payload}.${signature}`
  const withoutActor = { ...openToken(token).claims, act: undefined }
  const forged = `${token.split('.')[0]}.${encode(withoutActor)}.${signature}`
  const [, own, ownSignature] = grace.accessToken.split('.')
  const asImpersonation = `${token.split('.')[0]}.${own}.${ownSignature}`
  for (const attempt of [asUsers, forged, asImpersonation]) {
    expect(await codeOf(viewer.accessTokenRequired(withBearer(attempt)))).toBe('TOKEN_SIGNATURE_INVALID')
  }
  for (const malformed of ['not a token', 'a.b.c']) {
    expect(await codeOf(viewer.accessTokenRequired(withBearer(malformed)))).toBe('TOKEN_INVALID')
  }
})

test('it ends by itself, with the session of the actor, with the actor, and with the user', async () => {
  const read = (token: string) => codeOf(viewer.accessTokenRequired(withBearer(token)))
  const byTime = await impersonate()
  expect(await read(byTime.token)).toBe('passed')
  clock.advance('10m')
  expect(await read(byTime.token)).toBe('TOKEN_EXPIRED')

  const bySession = await impersonate()
  const byAnother = await impersonate()
  await users.revoke.session(bySession.sid)
  expect(await read(bySession.token)).toBe('TOKEN_REVOKED')
  expect(await read(byAnother.token)).toBe('passed')
  await users.revoke.user('grace')
  expect(await read(byAnother.token)).toBe('TOKEN_REVOKED')

  clock.advance('1s')
  const byUser = await impersonate()
  expect(await read(byUser.token)).toBe('passed')
  await users.revoke.user('ada')
  expect(await read(byUser.token)).toBe('TOKEN_REVOKED')
})
