import { describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../packages/tokenlib/src/index.js'
import { trustIssuer } from '../packages/issuers/src/index.js'
import { auth0, cognito, entra, keycloak, okta } from '../packages/issuers/src/providers.js'
import { SECRET } from './helpers/manager.js'

const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const AUDIENCE = 'https://api.example'

describe('issuers as the providers write them into `iss`', () => {
  test.each([
    [auth0({ domain: 'example.eu.auth0.com', audience: AUDIENCE }), 'https://example.eu.auth0.com/'],
    [auth0({ domain: 'login.example.com', audience: AUDIENCE }), 'https://login.example.com/'],
    [
      cognito({ region: 'us-east-1', userPoolId: 'us-east-1_example', clientId: 'a' }),
      'https://cognito-idp.us-east-1.amazonaws.com/us-east-1_example',
    ],
    [
      cognito({ region: 'cn-north-1', userPoolId: 'cn-north-1_example', clientId: ['a', 'b'] }),
      'https://cognito-idp.cn-north-1.amazonaws.com.cn/cn-north-1_example',
    ],
    [
      cognito({ region: 'us-gov-west-1', userPoolId: 'us-gov-west-1_example', clientId: 'a' }),
      'https://cognito-idp.us-gov-west-1.amazonaws.com/us-gov-west-1_example',
    ],
    [entra({ tenantId: TENANT, audience: AUDIENCE }), `https://login.microsoftonline.com/${TENANT}/v2.0`],
    [entra({ tenantId: TENANT, audience: AUDIENCE, version: 1 }), `https://sts.windows.net/${TENANT}/`],
    [
      keycloak({ url: 'https://id.example.com', realm: 'shop', audience: AUDIENCE }),
      'https://id.example.com/realms/shop',
    ],
    [
      keycloak({ url: 'https://id.example.com:8443/auth/', realm: 'my.shop-2', audience: AUDIENCE }),
      'https://id.example.com:8443/auth/realms/my.shop-2',
    ],
    [okta({ domain: 'example.okta.com', audience: AUDIENCE }), 'https://example.okta.com/oauth2/default'],
    [
      okta({ domain: 'example.okta.com', audience: AUDIENCE, authorizationServer: 'aus9o8wz' }),
      'https://example.okta.com/oauth2/aus9o8wz',
    ],
  ])('%#', (provider, issuer) => {
    expect(provider.issuer).toBe(issuer)
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    expect(
      () => new TokenManager({ config, issuers: [trustIssuer({ ...provider.options, subjectPrefix: '' })] }),
    ).not.toThrow()
  })
})

const DOMAINS = [
  'https://example.auth0.com',
  'example.auth0.com/',
  'example.auth0.com/path',
  'user:password@example.auth0.com',
  'user@example.auth0.com',
  'example.auth0.com ',
  ' example.auth0.com',
  'exa mple.auth0.com',
  'example.auth0.com\n',
  'example.auth0.com?tenant=a',
  'example.auth0.com#a',
  'example.auth0.com\\a',
  'Example.auth0.com',
  'example..com',
  '-example.com',
  'localhost',
  '127.0.0.1',
  '',
  undefined,
  null,
  ['example.auth0.com'],
]

test.each([
  ['auth0', auth0],
  ['okta', okta],
])('%s refuses what is no domain', (_name, provider) => {
  for (const domain of DOMAINS) {
    const options = { domain: domain as string, audience: AUDIENCE }
    expect(() => provider(options), String(domain)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
    )
  }
})

const COGNITO = { region: 'eu-central-1', userPoolId: 'eu-central-1_example', clientId: 'a' }
const KEYCLOAK = { url: 'https://id.example.com', realm: 'shop', audience: AUDIENCE }

describe('refused when it is configured', () => {
  test.each<readonly [string, () => unknown]>([
    ['a tenant that stands for many', () => entra({ tenantId: 'common', audience: AUDIENCE })],
    ['organizations', () => entra({ tenantId: 'organizations', audience: AUDIENCE })],
    ['consumers', () => entra({ tenantId: 'consumers', audience: AUDIENCE })],
    ['a tenant by name', () => entra({ tenantId: 'example.onmicrosoft.com', audience: AUDIENCE })],
    ['a tenant in upper case', () => entra({ tenantId: TENANT.toUpperCase(), audience: AUDIENCE })],
    ['an unknown version', () => entra({ tenantId: TENANT, audience: AUDIENCE, version: 3 as 2 })],
    ['a region with a host', () => cognito({ ...COGNITO, region: 'eu-central-1.evil.example/' })],
    ['a pool of another region', () => cognito({ ...COGNITO, region: 'eu-west-1' })],
    ['a pool with a path', () => cognito({ ...COGNITO, userPoolId: 'eu-central-1_a/b' })],
    ['a realm with a path', () => keycloak({ ...KEYCLOAK, realm: 'shop/../master' })],
    ['a realm that is a step upwards', () => keycloak({ ...KEYCLOAK, realm: '..' })],
    ['no realm', () => keycloak({ ...KEYCLOAK, realm: '' })],
    ['a URL without a scheme', () => keycloak({ ...KEYCLOAK, url: 'id.example.com' })],
    ['a URL with credentials', () => keycloak({ ...KEYCLOAK, url: 'https://a:b@id.example.com' })],
    ['a URL with a query', () => keycloak({ ...KEYCLOAK, url: 'https://id.example.com?a' })],
    ['a URL with a space', () => keycloak({ ...KEYCLOAK, url: 'https://id.example.com/ a' })],
    ['a URL in upper case', () => keycloak({ ...KEYCLOAK, url: 'https://ID.example.com' })],
    ['a URL with its default port', () => keycloak({ ...KEYCLOAK, url: 'https://id.example.com:443' })],
    ['two slashes at the end', () => keycloak({ ...KEYCLOAK, url: 'https://id.example.com//' })],
    ['a URL of another scheme', () => keycloak({ ...KEYCLOAK, url: 'ftp://id.example.com' })],
    [
      'an authorization server with a path',
      () => okta({ domain: 'example.okta.com', audience: AUDIENCE, authorizationServer: 'a/b' }),
    ],
    [
      'an unknown subject',
      () => okta({ domain: 'example.okta.com', audience: AUDIENCE, subject: 'email' as 'uid' }),
    ],
    [
      'an unknown token profile',
      () => auth0({ domain: 'example.auth0.com', audience: AUDIENCE, tokenProfile: 'x' as 'auth0' }),
    ],
  ])('%s', (_title, call) => {
    expect(call).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }))
  })

  test('an address of the keys in remoteKeys, which would be ignored', () => {
    const remoteKeys = { jwksUri: 'https://other.example/keys' }
    expect(() => keycloak({ ...KEYCLOAK, remoteKeys: remoteKeys as object })).toThrow(TypeError)
  })

  test('remoteKeys that are not an object', () => {
    expect(() => keycloak({ ...KEYCLOAK, remoteKeys: null as never })).toThrow(TypeError)
  })
})

test('every option of what is returned can be replaced', () => {
  const changes = { audience: 'other', subjectPrefix: '', maxTokenAge: '1h' } as const
  const issuer = trustIssuer({ ...keycloak(KEYCLOAK).options, ...changes })
  expect(issuer.options).toMatchObject({ ...changes, issuer: 'https://id.example.com/realms/shop' })
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
  expect(() => new TokenManager({ config, issuers: [issuer] })).not.toThrow()
})

test.each([
  [auth0, 'auth0()'],
  [cognito, 'cognito()'],
  [entra, 'entra()'],
  [keycloak, 'keycloak()'],
  [okta, 'okta()'],
])('an option of remote keys is looked for in remoteKeys: %#', (create, name) => {
  for (const option of ['allowPrivateNetwork', 'timeout']) {
    expect(() => create({ [option]: true } as never)).toThrow(
      `Unknown option "${option}" of ${name}; did you mean "remoteKeys"?`,
    )
  }
})
