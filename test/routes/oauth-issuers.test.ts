import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import {
  createIntrospectionRoute,
  createRevocationRoute,
  type IssuerOptions,
  trustIssuer,
} from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createForeign, createReceiver } from '../helpers/foreign.js'
import { createTimedClock, NOW, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { client, send } from './oauth-fixture.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const ISSUER = 'https://keycloak.example/realms/a'
const { privateKey, publicKey } = await generateKeyPair('ES256')
const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256' }

// A new one each time: half of the signatures have a high s.
async function createForeignToken(): Promise<string> {
  return new SignJWT({ sub: 'ada', sid: 'login-1', scope: 'read', jti: `j${Math.random()}` })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setIssuer(ISSUER)
    .setAudience('https://api.example')
    .setIssuedAt(NOW - 10)
    .setExpirationTime(NOW + 300)
    .sign(privateKey)
}

function createRoutes(keys: IssuerOptions['keys']) {
  const clock = createTimedClock()
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    clock,
    store: createMemoryStore({ clock }),
    issuers: [
      trustIssuer({
        issuer: ISSUER,
        audience: 'https://api.example',
        subjectPrefix: 'kc:',
        ...(keys && { keys }),
      }),
    ],
  })
  const introspection = createIntrospectionRoute(tokens, { client })
  const revocation = createRevocationRoute(tokens, { client })
  const sendTo: typeof send = (...given) => clock.runUntil(send(...given))
  return { tokens, introspection, revocation, send: sendTo }
}

test('tokens of other issuers are introspected and revoked, the keys being loaded first', async () => {
  for (let count = 0; count < 8; count++) {
    const { introspection, revocation, send } = createRoutes(() => jwk)
    const token = await createForeignToken()
    const [, body] = await send(introspection, { token })
    expect(body).toMatchObject({ active: true, iss: ISSUER, sub: 'kc:ada', scope: 'read' })
    expect(await send(revocation, { token })).toEqual([200, null])
    expect(await send(introspection, { token })).toEqual([200, { active: false }])
  }
})

test('a token of another issuer is revoked before anybody has used it', async () => {
  const { introspection, revocation, send } = createRoutes(() => jwk)
  const token = await createForeignToken()
  expect(await send(revocation, { token })).toEqual([200, null])
  expect(await send(introspection, { token })).toEqual([200, { active: false }])
})

test('keys that cannot be loaded leave open whether a token is good, and whether it was revoked', async () => {
  const { introspection, revocation, send } = createRoutes(() => Promise.reject(new Error('ECONNREFUSED')))
  const token = await createForeignToken()
  for (const routes of [introspection, revocation]) {
    expect(await send(routes, { token })).toMatchObject([503, { code: 'KEYS_UNAVAILABLE' }])
  }
})

const A = createForeign('https://a.example')

test.each([
  ['a token that is not valid yet', { nbf: NOW + 60 }],
  ['a token that was issued by a clock ahead of ours', { iat: NOW + 60 }],
  ['a token that is not valid yet, of a session', { nbf: NOW + 60, sid: 'login-1' }],
])('%s is revoked, and stays so when it becomes valid', async (_case, claims) => {
  const { tokens, clock } = createReceiver([A.options()])
  const token = A.sign(claims)
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_NOT_YET_VALID')
  expect(await send(createRevocationRoute(tokens, { client }), { token })).toEqual([200, null])
  clock.seconds += 120
  expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  expect(await outcomeOf(tokens.verify(A.sign({ jti: 'other' })))).toBe('ok')
})

test('a token of an issuer for another application is not revoked', async () => {
  const { tokens } = createReceiver([A.options()])
  const token = A.sign({ aud: 'https://other.example', nbf: NOW + 60 })
  expect(await internalsOf(tokens).readRevocableToken(token)).toBe(null)
})

test('a scope with a space in it is not told as two scopes', async () => {
  const { tokens } = createReceiver([A.options()])
  const introspection = createIntrospectionRoute(tokens, { client })
  const scopeOf = async (permissions: readonly string[]): Promise<unknown> =>
    (await send(introspection, { token: A.sign({ permissions }) }))[1]?.['scope']
  expect(await scopeOf(['read admin', 'write'])).toBe('write')
  expect(await scopeOf(['read\tadmin', 'a\nb', 'c d'])).toBe(undefined)
})
