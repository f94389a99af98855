import { PassThrough } from 'node:stream'
import { dpop } from '../../packages/client/src/dpop.js'
import { createTokenClient, TokenClientError } from '../../packages/client/src/index.js'
import { WsAdapter } from '@nestjs/platform-ws'
import { DatabaseSync } from '@photostructure/sqlite'
import { Redis } from 'ioredis'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import * as nest from '../../packages/tokenlib/src/frameworks/nest/index.js'
import * as tokenlib from '../../packages/tokenlib/src/index.js'
import {
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type RevocationStore,
} from '../../packages/tokenlib/src/index.js'
import * as errors from '../../packages/tokenlib/src/errors.js'
import { FetchView, type ImplicitRefresh, NodeView, RefusedRequest } from '../../packages/tokenlib/src/kit.js'
import { keycloak } from '../../packages/issuers/src/providers.js'
import { createConsole } from '../../packages/console/src/index.js'
import {
  clientCredentials,
  createBackChannelLogout,
  createEventReceiver,
  createGlobalTokenRevocation,
  createIntrospectionRoute,
  createMetadataRoutes,
  createRevocationRoute,
  introspect,
  trustLegacyIssuer,
} from '../../packages/issuers/src/index.js'
import { describeSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createMysqlStore, inspectMysql } from '../../packages/tokenlib/src/stores/mysql.js'
import { createPostgresStore, inspectPostgres } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore, inspectRedis } from '../../packages/tokenlib/src/stores/redis.js'
import {
  createDurableObjectStore,
  type TokenStoreNamespace,
  TokenStoreObject,
} from '../../packages/tokenlib/src/stores/durable-objects.js'
import { createSqliteStore, inspectSqlite } from '../../packages/tokenlib/src/stores/sqlite.js'
import { createTestTokens } from '../../packages/tokenlib/src/testing/test-tokens.js'
import { keyPairFor } from '../helpers/keys.js'
import { createClock, SECRET, withBearer } from '../helpers/manager.js'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { privateKeyTexts, type SecretText, secretsOfConfig } from './secret-texts.js'

/** Objects that hold tokens, keys and passwords, and what they hold. */
export interface PublicObjects {
  /** By the export that they are instances of, or that makes them; types that nothing exports stand for themselves. */
  readonly objects: Readonly<Record<string, readonly object[]>>
  readonly secrets: readonly SecretText[]
  /** What an application asks for in order to send it: nothing is hidden in there. */
  readonly answers: Readonly<Record<string, readonly object[]>>
  /** What some stores were made with; it belongs to the application. */
  readonly clients: readonly object[]
  close(): Promise<void>
}

const PASSWORD = 'Zq8vN2xWc5Rt7Yb1'
const PASSPHRASE = 'Hc4mKz9sLd2fPw7q'
const header = { alg: 'HS256' }
// No binding of Cloudflare: nothing is called here.
const NAMESPACE: TokenStoreNamespace = {
  idFromName: (name) => ({ name }),
  get: () => ({ fetch: () => Promise.reject(new Error('There is no object')) }),
}

/** One or more of everything public. */
export async function createPublicObjects(): Promise<PublicObjects> {
  const configs = createConfigs()
  const [config] = configs
  const clock = createClock()
  const [redis, pool, database] = createClients()
  const mysql = createPool(`mysql://ada:${PASSWORD}@127.0.0.1:1/tokens`)
  const stores: Record<string, RevocationStore> = {
    createMemoryStore: createMemoryStore({ clock }),
    createSqliteStore: createSqliteStore(database),
    createDurableObjectStore: createDurableObjectStore(NAMESPACE),
    createRedisStore: createRedisStore(redis),
    createMysqlStore: createMysqlStore(mysql),
    createPostgresStore: createPostgresStore(pool),
    replicate: replicate(createMemoryStore({ clock })),
  }
  const revocation = stores['createMemoryStore'] as RevocationStore
  const tokens = new TokenManager({ config, clock, store: revocation })
  const managers = [tokens, ...configs.map((each) => new TokenManager({ config: each, clock }))]
  const remoteKeys = { headers: { authorization: `Basic ${PASSWORD}` } }
  const issuer = keycloak({ url: 'https://id.example', realm: 'shop', audience: 'api', remoteKeys })
  const receiving = new TokenManager({ config: new TokenConfig(), issuers: [issuer], store: revocation })
  managers.push(receiving)
  for (const store of Object.values(stores)) managers.push(new TokenManager({ config, store }))
  const keys = createKeys()
  managers.push(new TokenManager({ config: new TokenConfig(), keys }))

  const pair = await tokens.sessions.open({ uid: 'ada' }, { scopes: ['read'] })
  const csrf = csrfOf(pair.accessToken)
  const request = createRequest({
    method: 'POST',
    headers: { 'x-csrf-token': csrf },
    cookies: { access_token_cookie: pair.accessToken },
  })
  const payload = await tokens.accessTokenRequired(request)
  const found = (await tokens.getTokenFromRequest(request)) as object
  const testing = createTestTokens()
  const minted = testing.mintToken({ uid: 'ada' }, { revoked: true })
  const refreshed = (await tokenlib.refreshImplicitly(
    tokens,
    createRequest({ cookies: { refresh_token_cookie: pair.refreshToken } }),
  )) as ImplicitRefresh
  const client = clientCredentials({ verify: (id, secret) => (secret === PASSWORD ? id : null) })
  const guards = Object.entries(nest).filter(([name]) => name.endsWith('Guard'))

  return {
    objects: {
      createTokenClient: [createTokenClient({ path: 'https://app.example/auth' })],
      dpop: [dpop()],
      TokenClientError: [new TokenClientError('UNAVAILABLE', 'refresh', { status: 503 })],
      TokenConfig: configs,
      TokenManager: [...managers, tokens.accessTokenRequired, tokens.require({ type: 'any' })],
      chooseManager: [tokenlib.chooseManager(() => tokens)],
      FetchView: [new FetchView(request)],
      TokenStoreObject: [
        new TokenStoreObject({ id: 'an id', storage: { sql: {}, transactionSync: () => {} } } as never),
      ],
      NodeView: [new NodeView({ headers: { cookie: request.headers.get('cookie') ?? '' } })],
      RequestToken: [found, new tokenlib.RequestToken(pair.accessToken, 'access', 'cookies', csrf)],
      TokenPayload: [payload, tokenlib.extraClaims(payload)],
      decodeWithoutVerifying: [tokenlib.decodeWithoutVerifying(pair.accessToken)],
      AuthenticatedUpgrade: [await tokens.sockets.authenticate(withBearer(pair.accessToken))],
      acceptUpgrade: [
        (await tokenlib.acceptUpgrade(tokens, withBearer(pair.accessToken), new PassThrough())) as object,
      ],
      SessionInfo: await tokens.sessions.list('ada'),
      ...Object.fromEntries(Object.entries(stores).map(([name, store]) => [name, [store]])),
      securitySchemes: configs.map(tokenlib.securitySchemes),
      securityRequirements: configs.map((each) => tokenlib.securityRequirements(each, 'POST')),
      createConsole: [createConsole(tokens, { allow: tokens.accessTokenRequired, store: revocation })],
      createIntrospectionRoute: [createIntrospectionRoute(tokens, { client })],
      createRevocationRoute: [createRevocationRoute(tokens, { client })],
      createMetadataRoutes: [
        createMetadataRoutes(
          { config, keys: { jwks: () => ({ keys: [] }) } },
          { resource: { resource: 'https://api.example' } },
        ),
      ],
      clientCredentials: [client],
      trustIssuer: [issuer],
      introspect: [
        introspect({
          issuer: 'https://opaque.example',
          endpoint: 'https://opaque.example/introspect',
          authentication: { method: 'client_secret_post', clientId: 'api', clientSecret: SECRET },
          allowAnyAudience: true,
        }),
      ],
      trustLegacyIssuer: [
        trustLegacyIssuer({
          issuer: 'before',
          audience: 'api',
          secret: SECRET,
          maxTokenAge: '1h',
          acceptUntil: '2099-01-31',
        }),
      ],
      inspectRedis: [inspectRedis(redis)],
      inspectPostgres: [inspectPostgres(pool)],
      inspectMysql: [inspectMysql(mysql)],
      inspectSqlite: [inspectSqlite('package.json')],
      RefusedRequest: [new RefusedRequest(400, 'BODY_INVALID', 'The body is no JSON')],
      createBackChannelLogout: [createBackChannelLogout(receiving, { clientId: 'app' })],
      createEventReceiver: [createEventReceiver(receiving, { audience: 'https://api.example' })],
      createGlobalTokenRevocation: [
        createGlobalTokenRevocation(receiving, { audience: 'https://api.example' }),
      ],
      unsetCookies: [tokenlib.unsetCookies(tokens)],
      createTestTokens: [testing, testing.tokens],
      ...Object.fromEntries(
        guards.map(([name, Guard]) => [name, [Reflect.construct(Guard, [tokens]) as object]]),
      ),
      TokenHealthIndicator: [new nest.TokenHealthIndicator(tokens)],
      describeSessionRoutes: [describeSessionRoutes(tokens)],
      protectSockets: [nest.protectSockets(new WsAdapter(), tokens)],
      TokenExceptionFilter: [new nest.TokenExceptionFilter({ config })],
      TokenModule: [
        nest.TokenModule.forRoot({ config }),
        nest.TokenModule.forRoot({ tokens, name: 'other' }),
      ],
      SessionModule: [nest.SessionModule.forRoot({ logIn: () => null })],
      SessionController: [new nest.SessionController()],
      ...createErrors(payload),
    },
    secrets: [
      ...configs.flatMap(secretsOfConfig),
      ...secretsOfConfig(testing.tokens.config),
      ...keys.flatMap(({ privateKey }) => privateKeyTexts('privateKey', privateKey)),
      { kind: 'a passphrase', text: PASSPHRASE },
      ...[pair.accessToken, pair.refreshToken, minted].map((text) => ({ kind: 'a token', text })),
      ...cookieValues(refreshed.headers.flatMap(([name, value]) => (name === 'set-cookie' ? value : []))).map(
        (text) => ({ kind: 'a value of a cookie', text }),
      ),
      { kind: 'a CSRF value', text: csrf },
      { kind: 'a password', text: PASSWORD },
    ],
    answers: {
      'sessions.open': [pair],
      setCookies: [tokenlib.setCookies(tokens, pair)],
      setAccessCookies: [tokenlib.setAccessCookies(tokens, pair.accessToken)],
      setRefreshCookies: [tokenlib.setRefreshCookies(tokens, pair.refreshToken)],
      refreshImplicitly: [refreshed],
      authHeaders: [testing.authHeaders(minted)],
    },
    clients: [redis],
    async close() {
      redis.disconnect()
      database.close()
      await pool.end()
    },
  }
}

function cookieValues(setCookies: readonly string[]): string[] {
  return setCookies.map((cookie) => cookie.slice(cookie.indexOf('=') + 1).split(';', 1)[0] as string)
}

// One by itself, and one that is encrypted.
function createKeys(): tokenlib.OwnKey[] {
  const { privateKey } = keyPairFor('ES384')
  const encryption = { cipher: 'aes-256-cbc', passphrase: PASSPHRASE } as const
  const encrypted = keyPairFor('EdDSA').privateKey.export({ format: 'pem', type: 'pkcs8', ...encryption })
  return [
    { algorithm: 'ES384', privateKey: { ...privateKey.export({ format: 'jwk' }) } },
    { algorithm: 'EdDSA', privateKey: encrypted.toString(), passphrase: PASSPHRASE },
  ]
}

function createConfigs(): [TokenConfig, ...TokenConfig[]] {
  const { privateKey } = keyPairFor('ES256')
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const keys = [privateKey, pem, { ...privateKey.export({ format: 'jwk' }) }]
  const bytes = Buffer.from(SECRET)
  return [
    new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_TOKEN_LOCATION: ['cookies', 'headers'] }),
    new TokenConfig({ JWT_SECRET_KEY: bytes, JWT_PREVIOUS_SECRET_KEY: `${SECRET}!` }),
    new TokenConfig({ JWT_SECRET_KEY: { kty: 'oct', k: bytes.toString('base64url') } }),
    ...keys.map((key) => new TokenConfig({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: key })),
    new TokenConfig({
      JWT_ALGORITHM: 'ES256',
      JWT_PRIVATE_KEY: privateKey
        .export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: PASSPHRASE })
        .toString(),
      JWT_PRIVATE_KEY_PASSPHRASE: PASSPHRASE,
    }),
  ]
}

// They have passwords, and are never asked to connect.
function createClients(): [Redis, pg.Pool, InstanceType<typeof DatabaseSync>] {
  return [
    new Redis(`redis://:${PASSWORD}@127.0.0.1:1`, { lazyConnect: true }).on('error', () => undefined),
    new pg.Pool({ connectionString: `postgres://ada:${PASSWORD}@127.0.0.1:1/tokens` }),
    new DatabaseSync(':memory:'),
  ]
}

function createErrors(payload: tokenlib.TokenPayload): Record<string, readonly Error[]> {
  return {
    TokenError: [new errors.MissingTokenError()],
    AccessTokenRequiredError: [new errors.AccessTokenRequiredError(payload.type)],
    ClaimsValidationError: [new errors.ClaimsValidationError([])],
    ConfigurationError: createConfigurationErrors(),
    CsrfError: [new errors.CsrfError()],
    FreshTokenRequiredError: [new errors.FreshTokenRequiredError()],
    InsufficientScopeError: [new errors.InsufficientScopeError(['write'], payload.scopes)],
    MissingCsrfTokenError: [new errors.MissingCsrfTokenError()],
    MissingTokenError: [new errors.MissingTokenError()],
    RefreshTokenRequiredError: [new errors.RefreshTokenRequiredError(payload.type)],
    RefreshSupersededError: [new errors.RefreshSupersededError()],
    RefreshTokenReusedError: [new errors.RefreshTokenReusedError(payload, header)],
    RevocationUnavailableError: [new errors.RevocationUnavailableError(new Error('no answer'))],
    KeysUnavailableError: [new errors.KeysUnavailableError(new Error('no answer'))],
    RevokedTokenError: [new errors.RevokedTokenError(payload, header)],
    SessionMismatchError: [new errors.SessionMismatchError()],
    SessionLimitError: [new errors.SessionLimitError(3)],
    SessionDataError: [new errors.SessionDataError('SESSION_DATA_TOO_LARGE', 'data has 2,049 bytes')],
    ProofRequiredError: [new errors.ProofRequiredError()],
    InvalidProofError: [new errors.InvalidProofError('DPoP proof is too old')],
    ReusedProofError: [new errors.ReusedProofError()],
    ProofNonceRequiredError: [new errors.ProofNonceRequiredError()],
    SubjectNotFoundError: [new errors.SubjectNotFoundError()],
    TokenAudienceError: [new errors.TokenAudienceError()],
    TokenDecodeError: [new errors.TokenDecodeError('Token is not a string')],
    TokenExpiredError: [new errors.TokenExpiredError(payload.exp ?? 0)],
    TokenIssuerError: [new errors.TokenIssuerError()],
    TokenNotYetValidError: [new errors.TokenNotYetValidError(payload.exp ?? 0)],
    TokenSignatureError: [new errors.TokenSignatureError()],
    TokenTypeError: [new errors.TokenTypeError('access', payload.type)],
  }
}

// Keys that are refused, for as many reasons as there are.
function createConfigurationErrors(): Error[] {
  const { privateKey } = keyPairFor('ES256')
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  const jwk = { ...privateKey.export({ format: 'jwk' }) }
  const asymmetric = (options: TokenConfigOptions): TokenConfigOptions => ({
    JWT_ALGORITHM: 'ES256',
    ...options,
  })
  const refused: readonly TokenConfigOptions[] = [
    { JWT_SECRET_KEY: SECRET.slice(0, 31) },
    { JWT_SECRET_KEY: { kty: 'oct', k: `${SECRET}!` } },
    { JWT_SECRET_KEY: { kty: 'oct', use: 'enc', k: Buffer.from(SECRET).toString('base64url') } },
    { JWT_SECRET_KEY: pem },
    { JWT_SECRET_KEY: privateKey },
    { JWT_SECRET_KEY: SECRET, JWT_PREVIOUS_SECRET_KEY: SECRET.slice(0, 8) },
    asymmetric({ JWT_PRIVATE_KEY: SECRET }),
    asymmetric({ JWT_PRIVATE_KEY: pem.slice(0, -60) }),
    asymmetric({ JWT_PRIVATE_KEY: pem.replace('PRIVATE', 'EC PRIVATE') }),
    asymmetric({ JWT_PRIVATE_KEY: JSON.stringify(jwk).slice(0, -1) }),
    asymmetric({ JWT_PRIVATE_KEY: { ...jwk, x: undefined } }),
    asymmetric({ JWT_PRIVATE_KEY: { ...jwk, y: jwk['d'] } }),
    asymmetric({ JWT_PRIVATE_KEY: { ...jwk, use: 'enc' } }),
    asymmetric({ JWT_PUBLIC_KEY: pem }),
    asymmetric({ JWT_PUBLIC_KEY: jwk }),
    { JWT_ALGORITHM: 'ES384', JWT_PRIVATE_KEY: pem },
  ]
  return refused.map((options) => {
    try {
      new TokenManager({ config: new TokenConfig(options) })
    } catch (error) {
      return error as Error
    }
    throw new TypeError('A key that should be refused was taken')
  })
}
