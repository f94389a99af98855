import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../src/index.js'
import { SECRET, withBearer, openToken } from '../helpers/manager.js'
import {
  type AuthorizationServer,
  createSigningKey,
  RESOURCE,
  startAuthorizationServer,
  WEB_CLIENT,
} from './authorization-server.js'

let server: AuthorizationServer
beforeAll(async () => void (server = await startAuthorizationServer([createSigningKey('first')])))
afterAll(() => server.stop())

function createManager(options: { readonly cooldown?: string } = {}) {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    issuers: [
      {
        issuer: server.issuer,
        audience: RESOURCE,
        profile: 'at+jwt',
        subjectPrefix: 'op:',
        keys: {
          discovery: `${server.issuer}/.well-known/openid-configuration`,
          allowPrivateNetwork: true,
          ...(options as { cooldown?: '1s' }),
        },
      },
    ],
  })
}

describe('tokens of oidc-provider', () => {
  test('a token of a client passes, with its scopes', async () => {
    const token = await server.createServiceToken()
    expect(openToken(token).header).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: 'first' })
    const payload = await createManager().accessTokenRequired(withBearer(token))
    expect(payload).toMatchObject({
      iss: server.issuer,
      sub: 'op:service',
      aud: RESOURCE,
      type: 'access',
      scopes: ['notes:read'],
    })
  })

  test('a token of a user passes, and the ID token beside it does not', async () => {
    const { accessToken, idToken } = await server.logIn('ada')
    const tokens = createManager()
    expect(await tokens.verifyToken(accessToken)).toMatchObject({ sub: 'op:ada', client_id: WEB_CLIENT })
    await expect(tokens.verifyToken(idToken)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })
})
