import { describe, expect, test } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import {
  createMetadataRoutes,
  type MetadataOptions,
  type MetadataTokens,
} from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { SECRET } from '../helpers/manager.js'

const ISSUER = 'https://id.example'
const KEYS = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: 'a', use: 'sig', alg: 'EdDSA' }] }
const server = { response_types_supported: ['none'], token_endpoint: `${ISSUER}/token` }

const withKeys: MetadataTokens = {
  config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
  keys: { jwks: () => KEYS },
}
const withSecret: MetadataTokens = {
  config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
  keys: {
    jwks: () => {
      throw new ConfigurationError('The keys are secrets')
    },
  },
}

async function get(tokens: MetadataTokens, options: MetadataOptions, path: string, method = 'GET') {
  const request = new Request(`https://id.example/.well-known/${path}`, { method })
  return createMetadataRoutes(tokens, options).handle(request)
}

test('the public keys, for everybody, for five minutes', async () => {
  const response = await get(withKeys, {}, 'jwks.json')
  expect(await response?.json()).toEqual(KEYS)
  expect(Object.fromEntries(response?.headers ?? [])).toEqual({
    'content-type': 'application/json',
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
  })
  const longer = await get(withKeys, { maxAge: '1h' }, 'jwks.json')
  expect(longer?.headers.get('cache-control')).toBe('public, max-age=3600')
})

test('the keys are those of the moment', async () => {
  let keys = KEYS.keys
  const routes = createMetadataRoutes({ ...withKeys, keys: { jwks: () => ({ keys }) } }, {})
  const read = async () =>
    (await routes.handle(new Request('https://id.example/.well-known/jwks.json')))?.json()
  expect(await read()).toEqual(KEYS)
  keys = [...keys, { ...KEYS.keys[0]!, kid: 'b' }]
  expect(await read()).toEqual({ keys })
})

test('the metadata of an authorization server', async () => {
  const response = await get(withKeys, { issuer: ISSUER, server }, 'oauth-authorization-server')
  expect(await response?.json()).toEqual({
    issuer: ISSUER,
    jwks_uri: `${ISSUER}/.well-known/jwks.json`,
    ...server,
  })
})

test.each([
  ['https://id.example', ''],
  ['https://id.example/', ''],
  ['https://id.example/tenant', '/tenant'],
  ['https://id.example/a/b/', '/a/b'],
])('the metadata of %s is at its well-known path (RFC 8414 §3.1)', async (issuer, path) => {
  const options = { issuer, server }
  const response = await get(withKeys, options, `oauth-authorization-server${path}`)
  expect(await response?.json()).toMatchObject({
    issuer,
    jwks_uri: `${ISSUER}/.well-known/jwks.json${path}`,
  })
  expect(await (await get(withKeys, options, `jwks.json${path}`))?.json()).toEqual(KEYS)
  expect(await get(withKeys, options, `oauth-authorization-server${path}/x`)).toBe(null)
})

test.each([
  ['https://api.example', ''],
  ['https://api.example/', ''],
  ['https://api.example/v1/orders', '/v1/orders'],
])('the metadata of the resource %s is at its well-known path (RFC 9728 §3.1)', async (resource, path) => {
  const scopes = ['read']
  const options = { issuer: ISSUER, resource: { resource, scopes_supported: scopes } }
  const response = await get(withSecret, options, `oauth-protected-resource${path}`)
  expect(await response?.json()).toEqual({
    resource,
    authorization_servers: [ISSUER],
    scopes_supported: scopes,
  })
})

test('a resource server publishes the issuers that it trusts, and no issuer of its own', async () => {
  const resource = {
    resource: 'https://api.example',
    authorization_servers: ['https://keycloak.example/realms/a'],
  }
  expect(await (await get(withSecret, { resource }, 'oauth-protected-resource'))?.json()).toEqual(resource)
})

describe('secrets are not published', () => {
  test('by default there is no key set, and the metadata names none', async () => {
    const options = { issuer: ISSUER, server }
    expect(await get(withSecret, options, 'jwks.json')).toBe(null)
    const response = await get(withSecret, options, 'oauth-authorization-server')
    expect(await response?.json()).toEqual({ issuer: ISSUER, ...server })
  })

  test('a key set that is asked for is a mistake, and so are routes without anything', () => {
    for (const options of [{ jwks: true, issuer: ISSUER, server }, {}, { issuer: ISSUER }]) {
      expect(() => createMetadataRoutes(withSecret, options)).toThrow(ConfigurationError)
    }
    expect(() => createMetadataRoutes(withKeys, { jwks: false })).toThrow(ConfigurationError)
  })
})

test('HEAD, other methods, pre-flights, and other files of the application', async () => {
  const head = await get(withKeys, {}, 'jwks.json', 'HEAD')
  expect([head?.status, await head?.text()]).toEqual([200, ''])
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const response = await get(withKeys, {}, 'jwks.json', method)
    expect([response?.status, response?.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  }
  expect(await get(withKeys, {}, 'jwks.json', 'OPTIONS')).toBe(null)
  for (const path of [
    'security.txt',
    'openid-configuration',
    'jwks.json/',
    'oauth-authorization-server',
    '',
  ]) {
    expect(await get(withKeys, {}, path)).toBe(null)
  }
})

test('an issuer that is not that of the tokens is a mistake', () => {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_ENCODE_ISSUER: ISSUER })
  const tokens = { ...withKeys, config }
  expect(createMetadataRoutes(tokens, { issuer: ISSUER, server }).path).toBe('/.well-known')
  expect(() => createMetadataRoutes(tokens, { issuer: `${ISSUER}/`, server })).toThrow(ConfigurationError)
})

test.each<[string, object]>([
  ['an issuer over HTTP', { issuer: 'http://id.example', server }],
  ['an issuer with a query', { issuer: 'https://id.example?a=1', server }],
  ['an issuer with a fragment', { issuer: 'https://id.example#a', server }],
  ['an issuer with a password', { issuer: 'https://a:b@id.example', server }],
  ['no issuer', { server }],
  ['an unknown member', { issuer: ISSUER, server: { ...server, token_endpiont: `${ISSUER}/token` } }],
  ['an invalid endpoint', { issuer: ISSUER, server: { ...server, token_endpoint: '/token' } }],
  ['an empty list', { issuer: ISSUER, server: { ...server, scopes_supported: [] } }],
  ['no response types', { issuer: ISSUER, server: { token_endpoint: `${ISSUER}/token` } }],
  ['a resource without its name', { resource: { scopes_supported: ['a'] } }],
  ['a resource with a fragment', { resource: { resource: 'https://api.example/#a' } }],
  ['an invalid server', { resource: { resource: 'https://api.example', authorization_servers: ['id'] } }],
  [
    'an invalid flag',
    { resource: { resource: 'https://api.example', dpop_bound_access_tokens_required: 1 } },
  ],
  ['an invalid age', { maxAge: 1.5 }],
  ['no flag', { jwks: 'yes' }],
])('%s is refused', (_name, options) => {
  expect(() => createMetadataRoutes(withKeys, options)).toThrow(TypeError)
})

test('what was checked is published, whatever becomes of the options', async () => {
  const scopes = ['read']
  const changing = { response_types_supported: ['none'], scopes_supported: scopes }
  const routes = createMetadataRoutes(withKeys, { issuer: ISSUER, server: changing })
  scopes.push('write')
  const response = await routes.handle(new Request(`${ISSUER}/.well-known/oauth-authorization-server`))
  expect(await response?.json()).toMatchObject({ scopes_supported: ['read'] })
})

describe('the metadata tell which proofs the manager checks', () => {
  const resource = { resource: 'https://api.example' }
  const publicUrl = 'https://api.example'
  const algorithms = ['ES256', 'EdDSA'] as const
  const read = async (
    proofs: Pick<ConstructorParameters<typeof TokenManager>[0], 'dpop' | 'mtls'>,
    options: MetadataOptions = { resource, issuer: ISSUER, server },
  ) => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const tokens = new TokenManager({ config, store: createMemoryStore(), ...proofs })
    const [ofResource, ofServer] = await Promise.all(
      ['oauth-protected-resource', 'oauth-authorization-server'].map(async (path) =>
        (await get(tokens, options, path))?.json(),
      ),
    )
    return { ofResource, ofServer } as Readonly<Record<string, unknown>>
  }
  const servers = { authorization_servers: [ISSUER] }

  test('none', async () => {
    expect(await read({})).toEqual({
      ofResource: { ...servers, ...resource },
      ofServer: { issuer: ISSUER, ...server },
    })
  })

  test('DPoP, and whether it is required (RFC 9449 §5.1, RFC 9728 §2)', async () => {
    const algs = { dpop_signing_alg_values_supported: algorithms }
    expect(await read({ dpop: { publicUrl, algorithms } })).toEqual({
      ofResource: { ...servers, ...algs, ...resource },
      ofServer: { issuer: ISSUER, ...algs, ...server },
    })
    expect(await read({ dpop: { publicUrl, algorithms, required: true } })).toEqual({
      ofResource: { ...servers, ...algs, dpop_bound_access_tokens_required: true, ...resource },
      ofServer: { issuer: ISSUER, ...algs, ...server },
    })
  })

  test('client certificates (RFC 8705 §3.3, RFC 9728 §2)', async () => {
    const bound = { tls_client_certificate_bound_access_tokens: true }
    for (const mtls of [{}, { required: true }]) {
      expect(await read({ mtls })).toEqual({
        ofResource: { ...servers, ...bound, ...resource },
        ofServer: { issuer: ISSUER, ...bound, ...server },
      })
    }
  })

  test('what the options say comes first', async () => {
    const own = {
      dpop_signing_alg_values_supported: ['ES256'],
      tls_client_certificate_bound_access_tokens: false,
    }
    const options = { issuer: ISSUER, server: { ...server, ...own }, resource: { ...resource, ...own } }
    expect(await read({ dpop: { publicUrl, algorithms }, mtls: {} }, options)).toMatchObject({
      ofResource: own,
      ofServer: own,
    })
  })
})

test('a server on this machine may use HTTP', async () => {
  const issuer = 'http://localhost:3000'
  expect((await get(withKeys, { issuer, server }, 'oauth-authorization-server'))?.status).toBe(200)
})
