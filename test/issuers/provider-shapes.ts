import type { ConfiguredIssuer } from '../../packages/issuers/src/index.js'
import {
  auth0,
  cognito,
  entra,
  keycloak,
  okta,
  type ProviderOptions,
} from '../../packages/issuers/src/providers.js'
import { NOW } from '../helpers/manager.js'

/** A JWT as a provider makes it: its header without `kid`, and its claims. */
export interface Shape {
  readonly title: string
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** A token that passes, and the claims of its payload that are compared. */
export interface AcceptedShape extends Shape {
  readonly payload: Readonly<Record<string, unknown>>
}

/** A JWT of the same provider, signed with the same keys, that is no access token for this application. */
export interface RefusedShape extends Shape {
  readonly code: string
}

/** What a provider publishes and signs. */
export interface ProviderShapes {
  readonly provider: string
  readonly create: (options: ProviderOptions) => ConfiguredIssuer
  readonly issuer: string
  readonly jwksUri: string
  /** Members of the keys that it publishes, in addition to those of the key itself. */
  readonly jwk: Readonly<Record<string, unknown>>
  readonly accepted: readonly AcceptedShape[]
  readonly refused: readonly RefusedShape[]
}

const TIMES = { iat: NOW, exp: NOW + 3600 }
const LOGOUT_EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }
const without = (claims: Readonly<Record<string, unknown>>, ...names: readonly string[]) =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name)))

const RS256 = { alg: 'RS256', typ: 'JWT' }

// https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles
const AUTH0_ISSUER = 'https://example.eu.auth0.com/'
const AUTH0_ACCESS = {
  iss: AUTH0_ISSUER,
  sub: 'auth0|6553da60a54af58e29493993',
  aud: ['https://api.example', 'https://example.eu.auth0.com/userinfo'],
  ...TIMES,
  scope: 'openid profile read:notes',
  azp: 'K1AUPhZq8mRi0Q0pjhkfu1D7y6KjDQja',
  permissions: ['read:notes', 'write:notes'],
}
const AUTH0_STANDARD = {
  ...without(AUTH0_ACCESS, 'azp'),
  client_id: 'K1AUPhZq8mRi0Q0pjhkfu1D7y6KjDQja',
  jti: '73WakrfVbNJBaAmhQtEeDv',
}
const AUTH0_ID = {
  iss: AUTH0_ISSUER,
  sub: AUTH0_ACCESS.sub,
  aud: 'K1AUPhZq8mRi0Q0pjhkfu1D7y6KjDQja',
  ...TIMES,
  nickname: 'ada',
  email: 'ada@example.com',
  sid: 'shVQDSmaKwPPWSa1xTjbSmTuWWkHRjrb',
}
const AUTH0_LOGOUT = {
  iss: AUTH0_ISSUER,
  sub: AUTH0_ACCESS.sub,
  aud: 'K1AUPhZq8mRi0Q0pjhkfu1D7y6KjDQja',
  iat: NOW,
  exp: NOW + 120,
  jti: 'b1a3c0a8-8dd5-4b87-9f1b-0a4c5b4ee0ed',
  sid: 'shVQDSmaKwPPWSa1xTjbSmTuWWkHRjrb',
  events: LOGOUT_EVENTS,
}
const AUTH0_REFUSED: readonly RefusedShape[] = [
  {
    title: 'ID token with a nonce',
    header: RS256,
    claims: { ...AUTH0_ID, nonce: 'n-0S6' },
    code: 'TOKEN_INVALID',
  },
  { title: 'ID token without a nonce', header: RS256, claims: AUTH0_ID, code: 'TOKEN_AUDIENCE_INVALID' },
  {
    title: 'ID token of a client with the name of the API',
    header: RS256,
    claims: { ...AUTH0_ID, aud: 'https://api.example' },
    code: 'TOKEN_INVALID',
  },
  {
    title: 'logout token',
    header: { ...RS256, typ: 'logout+jwt' },
    claims: AUTH0_LOGOUT,
    code: 'TOKEN_INVALID',
  },
  {
    title: 'token for the Management API',
    header: RS256,
    claims: { ...AUTH0_ACCESS, aud: 'https://example.eu.auth0.com/api/v2/' },
    code: 'TOKEN_AUDIENCE_INVALID',
  },
  {
    title: 'token of another tenant',
    header: RS256,
    claims: { ...AUTH0_ACCESS, iss: 'https://other.eu.auth0.com/' },
    code: 'TOKEN_ISSUER_INVALID',
  },
  {
    title: 'token whose issuer has no slash at the end',
    header: RS256,
    claims: { ...AUTH0_ACCESS, iss: 'https://example.eu.auth0.com' },
    code: 'TOKEN_ISSUER_INVALID',
  },
]

// https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-access-token.html
const COGNITO_ISSUER = 'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI'
const COGNITO_ACCESS = {
  sub: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
  'cognito:groups': ['editors'],
  iss: COGNITO_ISSUER,
  version: 2,
  client_id: 'xxxxxxxxxxxxexample',
  origin_jti: 'bbbbbbbb-bbbb-cccc-dddd-eeeeeeeeeeee',
  event_id: '64f513be-32db-42b0-b78e-b02127b4f463',
  token_use: 'access',
  scope: 'openid notes/read',
  auth_time: NOW - 60,
  ...TIMES,
  jti: 'cccccccc-bbbb-cccc-dddd-eeeeeeeeeeee',
  username: 'ada',
}
const COGNITO_ID = {
  ...without(COGNITO_ACCESS, 'client_id', 'scope', 'version', 'username'),
  aud: 'xxxxxxxxxxxxexample',
  token_use: 'id',
  'cognito:username': 'ada',
  email: 'ada@example.com',
}
// Cognito has no `typ`.
const COGNITO_HEADER = { alg: 'RS256' }

// https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference
const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const OTHER_TENANT = '11111111-86f1-41af-91ab-2d7cd011db47'
const API = '6e74172b-be56-4843-9ff4-e66a39bb12e3'
const ENTRA_ISSUER = `https://login.microsoftonline.com/${TENANT}/v2.0`
const ENTRA_ACCESS = {
  aud: API,
  iss: ENTRA_ISSUER,
  ...TIMES,
  nbf: NOW,
  aio: 'AXQAi/8IAAAAtAaZLo3ChMif6KOnttRB7eBq4/DccQzjcJGxPYy/C3jDaNGxXd6wNIIVGRghNRnwJ1lOcAnNZcjvkoyrFxCttv33140RioOFJ4bCCGVuoCag1uOTT22222gHwLPYQ/uf79QX+0KIijdrmp69RctzmQ==',
  azp: '11b1bbf7-aaaa-4bbb-8ccc-123456789012',
  azpacr: '0',
  name: 'Ada Lovelace',
  oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
  preferred_username: 'ada@example.com',
  rh: 'I',
  scp: 'Notes.Read Notes.Write',
  sid: '00225a2c-8f6b-0f6d-9a2c-6f1a3d2b1c00',
  sub: 'HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ',
  tid: TENANT,
  uti: 'fqiBqXLPj0eQa82S-IYFAA',
  ver: '2.0',
}
const ENTRA_APPLICATION = {
  ...without(ENTRA_ACCESS, 'scp', 'name', 'preferred_username', 'sid'),
  azpacr: '1',
  oid: '5f0c3a1e-7d55-4b7a-a9c0-0d2f5f7c9b11',
  sub: '5f0c3a1e-7d55-4b7a-a9c0-0d2f5f7c9b11',
  roles: ['Notes.Read.All'],
}
// An application that is its own API: the audience is the same.
const ENTRA_ID = { ...without(ENTRA_ACCESS, 'azp', 'azpacr', 'scp'), roles: ['Notes.Read.All'] }
const ENTRA_V1_ISSUER = `https://sts.windows.net/${TENANT}/`
const ENTRA_V1 = {
  ...without(ENTRA_ACCESS, 'azp', 'azpacr', 'preferred_username'),
  aud: `api://${API}`,
  iss: ENTRA_V1_ISSUER,
  acr: '1',
  amr: ['pwd', 'mfa'],
  appid: ENTRA_ACCESS.azp,
  appidacr: '0',
  upn: 'ada@example.com',
  ver: '1.0',
}

// https://www.keycloak.org/docs/latest/server_admin/, the tokens of version 26.
const KEYCLOAK_ISSUER = 'https://id.example.com/realms/shop'
const KEYCLOAK_ACCESS = {
  ...TIMES,
  exp: NOW + 300,
  auth_time: NOW - 10,
  jti: 'onrtac:5c3e2a0f-9f0b-4a0f-a8a9-2b2d1a5b8f10',
  iss: KEYCLOAK_ISSUER,
  aud: ['notes-api', 'account'],
  sub: 'f7c0b1e8-6f5d-4c0e-9a43-0a2f6f3c7d21',
  typ: 'Bearer',
  azp: 'notes-web',
  sid: '0d3c6c6e-58b5-4b0c-8f57-9b7a6e0c3b55',
  acr: '1',
  'allowed-origins': ['https://notes.example.com'],
  realm_access: { roles: ['offline_access', 'uma_authorization'] },
  resource_access: { account: { roles: ['manage-account'] } },
  scope: 'openid profile notes:read',
  preferred_username: 'ada',
}
const KEYCLOAK_ID = {
  ...without(KEYCLOAK_ACCESS, 'realm_access', 'resource_access', 'scope', 'allowed-origins'),
  aud: 'notes-web',
  typ: 'ID',
  at_hash: 'MV8-gkQ6Zk2FIPGJvM3wNA',
}
const KEYCLOAK_REFRESH = { ...KEYCLOAK_ACCESS, aud: KEYCLOAK_ISSUER, typ: 'Refresh', exp: NOW + 1800 }

// https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/
const OKTA_ISSUER = 'https://example.okta.com/oauth2/default'
const OKTA_ACCESS = {
  ver: 1,
  jti: 'AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE',
  iss: OKTA_ISSUER,
  aud: 'api://default',
  sub: 'ada@example.com',
  ...TIMES,
  cid: '0oabskvc6442nkvQO0h7',
  uid: '00ujmkLgagxeRrAg20g3',
  scp: ['openid', 'notes:read'],
  auth_time: NOW - 30,
}
const OKTA_ID = {
  ...without(OKTA_ACCESS, 'cid', 'uid', 'scp'),
  sub: OKTA_ACCESS.uid,
  aud: OKTA_ACCESS.cid,
  jti: 'ID.4eAWJOCMB3SX8XewDfVR',
  amr: ['pwd'],
  idp: '00ok1u7AsAkrwdZL3z0g3',
  at_hash: 'preview_at_hash',
}
// Okta has no `typ`.
const OKTA_HEADER = { alg: 'RS256' }

/** All five, in the forms that an API gets them. */
export const PROVIDERS: readonly ProviderShapes[] = [
  {
    provider: 'Auth0',
    create: (options) =>
      auth0({ domain: 'example.eu.auth0.com', audience: 'https://api.example', ...options }),
    issuer: AUTH0_ISSUER,
    jwksUri: 'https://example.eu.auth0.com/.well-known/jwks.json',
    jwk: { use: 'sig', alg: 'RS256' },
    accepted: [
      {
        title: 'token of a user',
        header: RS256,
        claims: AUTH0_ACCESS,
        payload: {
          sub: AUTH0_ACCESS.sub,
          scopes: ['openid', 'profile', 'read:notes'],
          aud: AUTH0_ACCESS.aud,
          sid: undefined,
        },
      },
      {
        title: 'token of a machine',
        header: RS256,
        claims: {
          ...AUTH0_ACCESS,
          sub: 'awZfdIir8YFdGZWkvCejDoUb7SjTDicx@clients',
          gty: 'client-credentials',
        },
        payload: { sub: 'awZfdIir8YFdGZWkvCejDoUb7SjTDicx@clients' },
      },
    ],
    refused: AUTH0_REFUSED,
  },
  {
    provider: 'Auth0 with the profile of RFC 9068 and permissions',
    create: (options) =>
      auth0({
        domain: 'example.eu.auth0.com',
        audience: 'https://api.example',
        tokenProfile: 'rfc9068',
        scopes: 'permissions',
        ...options,
      }),
    issuer: AUTH0_ISSUER,
    jwksUri: 'https://example.eu.auth0.com/.well-known/jwks.json',
    jwk: { use: 'sig', alg: 'RS256' },
    accepted: [
      {
        title: 'token of a user',
        header: { ...RS256, typ: 'at+jwt' },
        claims: AUTH0_STANDARD,
        payload: { sub: AUTH0_ACCESS.sub, scopes: ['read:notes', 'write:notes'], jti: AUTH0_STANDARD.jti },
      },
    ],
    refused: [
      // None of them has the `typ` of this profile.
      ...AUTH0_REFUSED.map((shape) => ({
        ...shape,
        code: shape.code === 'TOKEN_ISSUER_INVALID' ? shape.code : 'TOKEN_INVALID',
      })),
      {
        title: 'token of this profile for the Management API',
        header: { ...RS256, typ: 'at+jwt' },
        claims: { ...AUTH0_STANDARD, aud: 'https://example.eu.auth0.com/api/v2/' },
        code: 'TOKEN_AUDIENCE_INVALID',
      },
      { title: 'token of the other profile', header: RS256, claims: AUTH0_ACCESS, code: 'TOKEN_INVALID' },
    ],
  },
  {
    provider: 'Cognito',
    create: (options) =>
      cognito({
        region: 'eu-central-1',
        userPoolId: 'eu-central-1_AbCdEfGhI',
        clientId: 'xxxxxxxxxxxxexample',
        ...options,
      }),
    issuer: COGNITO_ISSUER,
    jwksUri: `${COGNITO_ISSUER}/.well-known/jwks.json`,
    jwk: { use: 'sig', alg: 'RS256' },
    accepted: [
      {
        title: 'token of a user',
        header: COGNITO_HEADER,
        claims: COGNITO_ACCESS,
        payload: {
          sub: COGNITO_ACCESS.sub,
          scopes: ['openid', 'notes/read'],
          aud: 'xxxxxxxxxxxxexample',
          sid: COGNITO_ACCESS.origin_jti,
          jti: COGNITO_ACCESS.jti,
        },
      },
    ],
    refused: [
      { title: 'ID token', header: COGNITO_HEADER, claims: COGNITO_ID, code: 'TOKEN_INVALID' },
      {
        title: 'ID token with a client_id',
        header: COGNITO_HEADER,
        claims: { ...COGNITO_ID, client_id: 'xxxxxxxxxxxxexample' },
        code: 'TOKEN_INVALID',
      },
      {
        title: 'token without token_use',
        header: COGNITO_HEADER,
        claims: without(COGNITO_ACCESS, 'token_use'),
        code: 'TOKEN_INVALID',
      },
      {
        title: 'token of another app client',
        header: COGNITO_HEADER,
        claims: { ...COGNITO_ACCESS, client_id: 'another', aud: 'xxxxxxxxxxxxexample' },
        code: 'TOKEN_AUDIENCE_INVALID',
      },
      {
        title: 'token of another user pool',
        header: COGNITO_HEADER,
        claims: { ...COGNITO_ACCESS, iss: `${COGNITO_ISSUER}2` },
        code: 'TOKEN_ISSUER_INVALID',
      },
    ],
  },
  {
    provider: 'Entra',
    create: (options) => entra({ tenantId: TENANT, audience: API, ...options }),
    issuer: ENTRA_ISSUER,
    jwksUri: `https://login.microsoftonline.com/${TENANT}/discovery/v2.0/keys`,
    // Without `alg`, and with members that are not for verifying.
    jwk: { use: 'sig', x5t: 'aaaa', x5c: ['MII'], issuer: ENTRA_ISSUER },
    accepted: [
      {
        title: 'token of a user',
        header: RS256,
        claims: ENTRA_ACCESS,
        payload: {
          sub: ENTRA_ACCESS.oid,
          scopes: ['Notes.Read', 'Notes.Write'],
          aud: API,
          sid: ENTRA_ACCESS.sid,
          jti: ENTRA_ACCESS.uti,
        },
      },
      {
        title: 'token of a user with app roles, which are no scopes',
        header: RS256,
        claims: { ...ENTRA_ACCESS, roles: ['Notes.Admin'] },
        payload: { scopes: ['Notes.Read', 'Notes.Write'], roles: ['Notes.Admin'] },
      },
      {
        title: 'token of an application',
        header: RS256,
        claims: ENTRA_APPLICATION,
        payload: { sub: ENTRA_APPLICATION.oid, scopes: ['Notes.Read.All'], sid: undefined },
      },
    ],
    refused: [
      {
        title: 'ID token with a nonce',
        header: RS256,
        claims: { ...ENTRA_ID, nonce: '678910' },
        code: 'TOKEN_INVALID',
      },
      { title: 'ID token for the same registration', header: RS256, claims: ENTRA_ID, code: 'TOKEN_INVALID' },
      {
        title: 'token for Microsoft Graph',
        header: RS256,
        claims: { ...ENTRA_ACCESS, aud: '00000003-0000-0000-c000-000000000000' },
        code: 'TOKEN_AUDIENCE_INVALID',
      },
      {
        title: 'token of another tenant',
        header: RS256,
        claims: {
          ...ENTRA_ACCESS,
          iss: `https://login.microsoftonline.com/${OTHER_TENANT}/v2.0`,
          tid: OTHER_TENANT,
        },
        code: 'TOKEN_ISSUER_INVALID',
      },
      {
        title: 'token of version 1.0',
        header: RS256,
        claims: { ...ENTRA_V1, aud: API },
        code: 'TOKEN_ISSUER_INVALID',
      },
    ],
  },
  {
    provider: 'Entra, version 1.0',
    create: (options) => entra({ tenantId: TENANT, audience: `api://${API}`, version: 1, ...options }),
    issuer: ENTRA_V1_ISSUER,
    jwksUri: `https://login.microsoftonline.com/${TENANT}/discovery/keys`,
    jwk: { use: 'sig', x5t: 'aaaa', x5c: ['MII'] },
    accepted: [
      {
        title: 'token of a user',
        header: { ...RS256, x5t: 'aaaa' },
        claims: ENTRA_V1,
        payload: { sub: ENTRA_ACCESS.oid, scopes: ['Notes.Read', 'Notes.Write'], jti: ENTRA_ACCESS.uti },
      },
    ],
    refused: [
      {
        title: 'ID token for the same registration',
        header: RS256,
        claims: without(ENTRA_V1, 'appid', 'appidacr', 'scp'),
        code: 'TOKEN_INVALID',
      },
      {
        title: 'token of another tenant',
        header: RS256,
        claims: { ...ENTRA_V1, iss: `https://sts.windows.net/${OTHER_TENANT}/` },
        code: 'TOKEN_ISSUER_INVALID',
      },
      {
        title: 'token for Graph',
        header: RS256,
        claims: { ...ENTRA_V1, aud: 'https://graph.microsoft.com' },
        code: 'TOKEN_AUDIENCE_INVALID',
      },
    ],
  },
  {
    provider: 'Keycloak',
    create: (options) =>
      keycloak({ url: 'https://id.example.com/', realm: 'shop', audience: 'notes-api', ...options }),
    issuer: KEYCLOAK_ISSUER,
    jwksUri: `${KEYCLOAK_ISSUER}/protocol/openid-connect/certs`,
    jwk: { use: 'sig', alg: 'RS256', x5c: ['MII'], 'x5t#S256': 'aaaa' },
    accepted: [
      {
        title: 'token of a user',
        header: RS256,
        claims: KEYCLOAK_ACCESS,
        payload: {
          sub: KEYCLOAK_ACCESS.sub,
          scopes: ['openid', 'profile', 'notes:read'],
          aud: ['notes-api', 'account'],
          sid: KEYCLOAK_ACCESS.sid,
          jti: KEYCLOAK_ACCESS.jti,
          realm_access: { roles: ['offline_access', 'uma_authorization'] },
        },
      },
      {
        title: 'token with the header type of RFC 9068',
        header: { ...RS256, typ: 'at+jwt' },
        claims: KEYCLOAK_ACCESS,
        payload: { sub: KEYCLOAK_ACCESS.sub },
      },
    ],
    refused: [
      { title: 'ID token', header: RS256, claims: KEYCLOAK_ID, code: 'TOKEN_INVALID' },
      {
        title: 'ID token for the API, without hashes',
        header: RS256,
        claims: { ...without(KEYCLOAK_ID, 'at_hash'), aud: 'notes-api' },
        code: 'TOKEN_INVALID',
      },
      { title: 'refresh token', header: RS256, claims: KEYCLOAK_REFRESH, code: 'TOKEN_INVALID' },
      {
        title: 'offline token',
        header: RS256,
        claims: { ...without(KEYCLOAK_REFRESH, 'exp'), typ: 'Offline', aud: 'notes-api' },
        code: 'TOKEN_INVALID',
      },
      {
        title: 'logout token',
        header: { ...RS256, typ: 'logout+jwt' },
        claims: { ...KEYCLOAK_ID, typ: 'Logout', events: LOGOUT_EVENTS },
        code: 'TOKEN_INVALID',
      },
      {
        title: 'logout token of older versions, whose header says JWT',
        header: RS256,
        claims: { ...KEYCLOAK_ACCESS, typ: 'Logout', events: LOGOUT_EVENTS },
        code: 'TOKEN_INVALID',
      },
      {
        title: 'token bound to a DPoP key, which a bearer cannot prove',
        header: RS256,
        claims: { ...KEYCLOAK_ACCESS, typ: 'DPoP', cnf: { jkt: 'aaaa' } },
        code: 'PROOF_REQUIRED',
      },
      {
        title: 'token without typ',
        header: RS256,
        claims: without(KEYCLOAK_ACCESS, 'typ'),
        code: 'TOKEN_INVALID',
      },
      {
        title: 'token without an audience mapper',
        header: RS256,
        claims: { ...KEYCLOAK_ACCESS, aud: 'account' },
        code: 'TOKEN_AUDIENCE_INVALID',
      },
      {
        title: 'token of another realm',
        header: RS256,
        claims: { ...KEYCLOAK_ACCESS, iss: 'https://id.example.com/realms/master' },
        code: 'TOKEN_ISSUER_INVALID',
      },
    ],
  },
  {
    provider: 'Okta',
    create: (options) => okta({ domain: 'example.okta.com', audience: 'api://default', ...options }),
    issuer: OKTA_ISSUER,
    jwksUri: `${OKTA_ISSUER}/v1/keys`,
    jwk: { use: 'sig', alg: 'RS256' },
    accepted: [
      {
        title: 'token of a user',
        header: OKTA_HEADER,
        claims: OKTA_ACCESS,
        payload: {
          sub: OKTA_ACCESS.uid,
          scopes: ['openid', 'notes:read'],
          aud: 'api://default',
          jti: OKTA_ACCESS.jti,
          sid: undefined,
        },
      },
    ],
    refused: [
      { title: 'ID token', header: OKTA_HEADER, claims: OKTA_ID, code: 'TOKEN_INVALID' },
      {
        title: 'ID token with the audience of the API',
        header: OKTA_HEADER,
        claims: { ...without(OKTA_ID, 'at_hash'), aud: 'api://default', uid: OKTA_ACCESS.uid },
        code: 'TOKEN_INVALID',
      },
      {
        title: 'token of the organisation',
        header: OKTA_HEADER,
        claims: { ...OKTA_ACCESS, iss: 'https://example.okta.com', aud: 'https://example.okta.com' },
        code: 'TOKEN_ISSUER_INVALID',
      },
      {
        title: 'token of another authorization server',
        header: OKTA_HEADER,
        claims: { ...OKTA_ACCESS, iss: 'https://example.okta.com/oauth2/aus9o8wzkhckw9TLa0h7z' },
        code: 'TOKEN_ISSUER_INVALID',
      },
      {
        title: 'token for another API',
        header: OKTA_HEADER,
        claims: { ...OKTA_ACCESS, aud: 'api://other' },
        code: 'TOKEN_AUDIENCE_INVALID',
      },
    ],
  },
]
