import * as oauth from 'oauth4webapi'
import { expect, test } from 'vitest'
import type { MountableRoutes } from '../../packages/tokenlib/src/routes/router.js'
import {
  createIntrospectionRoute,
  createMetadataRoutes,
  createRevocationRoute,
} from '../../packages/issuers/src/index.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { client } from './oauth-fixture.js'

const KEYS = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: 'a' }] }

/** A `fetch` that calls routes, and answers 404 for what is none of theirs. */
function createFetch(...all: readonly MountableRoutes[]) {
  return async (url: string, init: object): Promise<Response> => {
    const request = new Request(url, init)
    for (const routes of all) {
      const response = await routes.handle(request)
      if (response !== null) return response
    }
    return new Response(null, { status: 404 })
  }
}

function createServer(issuer: string) {
  const { tokens } = createRevocable({
    JWT_ENCODE_ISSUER: issuer,
    JWT_ENCODE_AUDIENCE: 'https://api.example',
  })
  const server = {
    response_types_supported: ['none'],
    introspection_endpoint: 'https://id.example/oauth/introspect',
    revocation_endpoint: 'https://id.example/oauth/revoke',
  }
  const resource = { resource: 'https://api.example/v1', scopes_supported: ['read'] }
  const metadata = createMetadataRoutes(
    { config: tokens.config, keys: { jwks: () => KEYS } },
    { issuer, server, resource },
  )
  const send = createFetch(
    metadata,
    createIntrospectionRoute(tokens, { client, refreshTokens: true }),
    createRevocationRoute(tokens, { client }),
  )
  return { tokens, options: { [oauth.customFetch]: send } }
}

async function discover(issuer: string, options: object): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer)
  return oauth.processDiscoveryResponse(
    url,
    await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...options }),
  )
}

test.each(['', '/tenant'])(
  'oauth4webapi discovers https://id.example%s, introspects a token and revokes it',
  async (path) => {
    const issuer = `https://id.example${path}`
    const { tokens, options } = createServer(issuer)
    const server = await discover(issuer, options)
    expect(server).toMatchObject({ issuer, jwks_uri: `https://id.example/.well-known/jwks.json${path}` })
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' }, { scopes: ['read'] })

    for (const [id, authentication] of [
      ['orders', oauth.ClientSecretBasic('secret of orders')],
      ['billing:eu', oauth.ClientSecretBasic('pass+word%:')],
      ['orders', oauth.ClientSecretPost('secret of orders')],
    ] as const) {
      const caller = { client_id: id }
      const introspect = async (token: string): Promise<oauth.IntrospectionResponse> => {
        const response = await oauth.introspectionRequest(server, caller, authentication, token, options)
        return oauth.processIntrospectionResponse(server, caller, response)
      }
      expect(await introspect(accessToken)).toMatchObject({
        active: true,
        sub: 'ada',
        scope: 'read',
        iss: issuer,
      })
      expect(await introspect('x')).toEqual({ active: false })
    }

    const caller = { client_id: 'orders' }
    const right = oauth.ClientSecretPost('secret of orders')
    const revoke = async (authentication: oauth.ClientAuth): Promise<void> =>
      oauth.processRevocationResponse(
        await oauth.revocationRequest(server, caller, authentication, refreshToken, options),
      )
    await expect(revoke(oauth.ClientSecretBasic('wrong'))).rejects.toThrow()
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
    await revoke(right)
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
  },
)

test('oauth4webapi discovers a protected resource', async () => {
  const { options } = createServer('https://id.example')
  const url = new URL('https://api.example/v1')
  const found = await oauth.processResourceDiscoveryResponse(
    url,
    await oauth.resourceDiscoveryRequest(url, options),
  )
  expect(found).toMatchObject({ resource: url.href, authorization_servers: ['https://id.example'] })
})
