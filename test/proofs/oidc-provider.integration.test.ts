import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import {
  type AuthorizationServer,
  CLIENT_SECRET,
  createSigningKey,
  RESOURCE,
  SERVICE_CLIENT,
  startAuthorizationServer,
} from '../issuers/authorization-server.js'

const CLIENT: oauth.Client = { client_id: SERVICE_CLIENT }

let server: AuthorizationServer
beforeAll(async () => void (server = await startAuthorizationServer([createSigningKey('first')])))
afterAll(() => server.stop())

/** A token for a key, got as `oauth4webapi` gets it. */
async function requestToken(handle: oauth.DPoPHandle): Promise<string> {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(server.issuer)
  const discovered = await oauth.discoveryRequest(issuer, insecure)
  const metadata = await oauth.processDiscoveryResponse(issuer, discovered)
  const send = () =>
    oauth.clientCredentialsGrantRequest(
      metadata,
      CLIENT,
      oauth.ClientSecretPost(CLIENT_SECRET),
      { resource: RESOURCE, scope: 'notes:read' },
      { DPoP: handle, ...insecure },
    )
  const process = async () => oauth.processClientCredentialsResponse(metadata, CLIENT, await send())
  const { access_token: token } = await process().catch((error: unknown) => {
    if (oauth.isDPoPNonceError(error)) return process()
    throw error
  })
  return token
}

/** The request that `oauth4webapi` sends to a resource. */
async function createRequest(token: string, handle: oauth.DPoPHandle): Promise<Request> {
  let sent: Request | null = null
  await oauth.protectedResourceRequest(
    token,
    'GET',
    new URL(`${RESOURCE}/notes?of=ada`),
    undefined,
    undefined,
    {
      DPoP: handle,
      [oauth.customFetch]: async (url, { method, headers }) => {
        sent = new Request(url, { method, headers })
        return new Response()
      },
    },
  )
  if (sent === null) throw new Error('Nothing was sent')
  return sent
}

test('tokens that oidc-provider binds to a key pass with the proofs of oauth4webapi, and in no other way', async () => {
  const tokens = new TokenManager({
    config: new TokenConfig(),
    store: createMemoryStore(),
    dpop: { publicUrl: RESOURCE },
    issuers: [
      trustIssuer({
        issuer: server.issuer,
        audience: RESOURCE,
        profile: 'at+jwt',
        keys: {
          discovery: `${server.issuer}/.well-known/openid-configuration`,
          allowPrivateNetwork: true,
        },
      }),
    ],
  })
  const handle = oauth.DPoP(CLIENT, await oauth.generateKeyPair('ES256'))
  const thief = oauth.DPoP(CLIENT, await oauth.generateKeyPair('ES256'))
  // Every other signature of the server has the higher s.
  for (let round = 0; round < 12; round++) {
    const token = await requestToken(handle)
    const request = await createRequest(token, handle)
    const payload = await tokens.require({ proof: 'dpop', scopes: ['notes:read'] })(request)
    expect(payload.cnf).toEqual({ jkt: await handle.calculateThumbprint() })
    expect(await outcomeOf(tokens.accessTokenRequired(new Request(request)))).toBe('PROOF_REUSED')
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('PROOF_REQUIRED')
    const stolen = await createRequest(token, thief)
    expect(await outcomeOf(tokens.accessTokenRequired(stolen))).toBe('PROOF_INVALID')
  }
})
