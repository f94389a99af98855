import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import * as elysia from '../packages/tokenlib/src/frameworks/elysia.js'
import * as express from '../packages/tokenlib/src/frameworks/express.js'
import * as fastify from '../packages/tokenlib/src/frameworks/fastify.js'
import * as fetchAdapter from '../packages/tokenlib/src/frameworks/fetch.js'
import * as h3 from '../packages/tokenlib/src/frameworks/h3.js'
import * as hono from '../packages/tokenlib/src/frameworks/hono.js'
import * as koa from '../packages/tokenlib/src/frameworks/koa.js'
import * as nest from '../packages/tokenlib/src/frameworks/nest/index.js'
import {
  acceptUpgrade,
  chooseManager,
  MissingTokenError,
  protectSocketIo,
  TokenConfig,
  TokenManager,
  toErrorResponse,
} from '../packages/tokenlib/src/index.js'
import {
  clientCredentials,
  createBackChannelLogout,
  createEventReceiver,
  createGlobalTokenRevocation,
  createIntrospectionRoute,
  createMetadataRoutes,
  createRevocationRoute,
  introspect,
  type IssuerOptions,
  type LegacyIssuerOptions,
  trustIssuer,
  trustLegacyIssuer,
} from '../packages/issuers/src/index.js'
import { type KeySource, parseKeySource } from '../packages/issuers/src/keys/key-source.js'
import { createConsole } from '../packages/console/src/index.js'
import { instrument } from '../packages/tokenlib/src/opentelemetry.js'
import { auth0, cognito, entra, keycloak, okta } from '../packages/issuers/src/providers.js'
import { createSessionRoutes } from '../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../packages/tokenlib/src/stores/replica.js'
import { createMysqlStore, migrationSql as mysqlMigrationSql } from '../packages/tokenlib/src/stores/mysql.js'
import { createPostgresStore, migrationSql } from '../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../packages/tokenlib/src/stores/redis.js'
import {
  createDurableObjectStore,
  TokenStoreObject,
} from '../packages/tokenlib/src/stores/durable-objects.js'
import { createSqliteStore } from '../packages/tokenlib/src/stores/sqlite.js'
import { createTestTokens } from '../packages/tokenlib/src/testing/test-tokens.js'
import { opaqueOptions } from './helpers/introspection.js'
import { SECRET, withBearer } from './helpers/manager.js'
import { naming } from './helpers/naming.js'
import { createRevocable } from './helpers/revocable.js'
import { internalsOf } from '../packages/tokenlib/src/sessions/internals.js'

const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
const { tokens } = createRevocable()
const uid = { uid: 'ada' }
const payload = { sub: 'ada', sid: 's', jti: 'j' }
const request = new Request('http://localhost/')
const METADATA = { config, keys: { jwks: () => ({ keys: [{ kty: 'OKP' }] }) } }

const createKeys = (source: KeySource): unknown =>
  parseKeySource(source, { issuer: 'https://id.example/', algorithms: ['RS256'] })

const withIssuer = (issuer: object) => trustIssuer(issuer as IssuerOptions)

// Each names the unknown option, and the one that was meant.
const CALLS: readonly (readonly [
  owner: string,
  given: string,
  meant: string,
  call: (given: never) => unknown,
])[] = [
  ['new TokenManager', 'stor', 'store', (given) => new TokenManager({ config, ...(given as object) })],
  ['new TokenManager', 'revocation', 'store', (given) => new TokenManager({ config, ...(given as object) })],
  [
    'the keys of issuer "https://id.example/"',
    'jwksUrl',
    'jwksUri',
    (given) => createKeys({ jwksUri: 'https://id.example/jwks', ...(given as object) }),
  ],
  [
    'the keys of issuer "https://id.example/"',
    'coolDown',
    'cooldown',
    (given) => createKeys({ discovery: 'https://id.example/d', ...(given as object) }),
  ],
  [
    'the keys of issuer "https://id.example/"',
    'key',
    'keys',
    (given) => createKeys({ keys: [], ...(given as object) }),
  ],
  [
    'issuer https://opaque.example',
    'cacheSecs',
    'cacheSeconds',
    (given) => introspect({ ...opaqueOptions(), ...(given as object) }),
  ],
  ['createAccessToken', 'expiresin', 'expiresIn', (given) => tokens.createAccessToken(uid, given)],
  ['createAccessToken', 'iss', 'issuer', (given) => tokens.createAccessToken(uid, given)],
  ['createRefreshToken', 'audiance', 'audience', (given) => tokens.createRefreshToken(uid, given)],
  [
    'createToken of the kit',
    'expiresin',
    'expiresIn',
    (given) => internalsOf(tokens).createToken('access', uid, given),
  ],
  [
    'createToken of the kit',
    'audiance',
    'audience',
    (given) => internalsOf(tokens).createToken('refresh', uid, given),
  ],
  [
    'keys',
    'privatKey',
    'privateKey',
    (given) => new TokenManager({ config: new TokenConfig(), keys: [given] }),
  ],
  [
    'keys.set',
    'retiredAt',
    'retireAt',
    (given) => {
      const keys = [{ algorithm: 'HS256', secret: SECRET } as const]
      new TokenManager({ config: new TokenConfig(), keys }).keys.set([given])
    },
  ],
  ['sessions.open', 'acces', 'access', (given) => tokens.sessions.open(uid, given)],
  ['sessions.open', 'maxSession', 'maxSessions', (given) => tokens.sessions.open(uid, given)],
  ['sessions.open access', 'scope', 'scopes', (given) => tokens.sessions.open(uid, { access: given })],
  [
    'sessions.open refresh',
    'expireAt',
    'expiresAt',
    (given) => tokens.sessions.open(uid, { refresh: given }),
  ],
  ['refresh', 'acces', 'access', (given) => tokens.sessions.refresh('a.b.c', given)],
  ['require', 'scope', 'scopes', (given) => tokens.require(given)],
  ['require', 'withHeaders', 'withHeader', (given) => tokens.require(given)],
  ['verify', 'header', 'withHeader', (given) => tokens.verify('a.b.c', given)],
  ['chooseManager require', 'scope', 'scopes', (given) => chooseManager(() => tokens).require(given)],
  [
    'chooseManager getTokenFromRequest',
    'location',
    'locations',
    (given) => chooseManager(() => tokens).getTokenFromRequest(request, given),
  ],
  ['require', 'anyscopes', 'anyScope', (given) => tokens.require(given)],
  ['getTokenFromRequest', 'location', 'locations', (given) => tokens.getTokenFromRequest(request, given)],
  ['verify', 'skipRevokation', 'skipRevocation', (given) => tokens.verify('a.b.c', given)],
  ['verify', 'skipRevokation', 'skipRevocation', (given) => tokens.verify('a.b.c', given)],
  [
    'verifyWithoutRevocation of the kit',
    'allowExpire',
    'allowExpired',
    (given) => internalsOf(tokens).verifyWithoutRevocation('a.b.c', given),
  ],
  ['sockets.authenticate', 'origin', 'origins', (given) => tokens.sockets.authenticate(request, given)],
  [
    'sockets.authenticate',
    'location',
    'skipRevocation',
    (given) => tokens.sockets.authenticate(request, given),
  ],
  ['sockets.authenticate', 'untill', 'until', (given) => tokens.sockets.authenticate(request, given)],
  ['acceptUpgrade', 'origin', 'origins', (given) => acceptUpgrade(tokens, request, new PassThrough(), given)],
  [
    'closeWhenInvalid',
    'each',
    'every',
    async (given) => {
      const upgrade = await tokens.sockets.authenticate(withBearer(tokens.createAccessToken(uid)))
      return tokens.sockets.closeWhenInvalid({ close() {}, addEventListener() {} }, upgrade, given)
    },
  ],
  ['revoke.token', 'actr', 'actor', (given) => tokens.revoke.token(payload, given)],
  ['revoke.session', 'reqest', 'request', (given) => tokens.revoke.session('s', given)],
  ['revoke.user', 'useragent', 'userAgent', (given) => tokens.revoke.user('ada', given)],
  ['revoke.key', 'IP', 'ip', (given) => tokens.revoke.key('k', given)],
  ['revoke.all', 'req', 'request', (given) => tokens.revoke.all(given)],
  ['sessions.endOthers', 'actors', 'actor', (given) => tokens.sessions.endOthers(payload, given)],
  ['logout', 'useragnt', 'userAgent', (given) => tokens.logout(payload, given)],
  ['logout of a request', 'actors', 'actor', (given) => tokens.logout(request, given)],
  ['sessions.list', 'limits', 'limit', (given) => tokens.sessions.list('ada', given)],
  ['replicate', 'bounds', 'bound', (given) => replicate(createMemoryStore(), given)],
  ['createMemoryStore', 'allowProduction', 'allowInProduction', (given) => createMemoryStore(given)],
  ['createSqliteStore', 'onwarn', 'onWarning', (given) => createSqliteStore({} as never, given)],
  [
    'createDurableObjectStore',
    'locationhint',
    'locationHint',
    (given) => createDurableObjectStore({} as never, given),
  ],
  ['TokenStoreObject', 'clok', 'clock', (given) => new TokenStoreObject({} as never, {}, given)],
  ['createRedisStore', 'nameSpace', 'namespace', (given) => createRedisStore({} as never, given)],
  ['createPostgresStore', 'schemas', 'schema', (given) => createPostgresStore({} as never, given)],
  ['createMysqlStore', 'databse', 'database', (given) => createMysqlStore({} as never, given)],
  ['migrationSql of MySQL', 'pre', 'prefix', (given) => mysqlMigrationSql(given)],
  ['migrationSql', 'pre', 'prefix', (given) => migrationSql(given)],
  ['toErrorResponse', 'mesages', 'messages', (given) => toErrorResponse(new MissingTokenError(), given)],
  ['handleErrors of Elysia', 'mesages', 'messages', (given) => elysia.handleErrors(given)],
  ['handleErrors of Express', 'mesages', 'messages', (given) => express.handleErrors(given)],
  ['handleErrors of Fastify', 'mesages', 'messages', (given) => fastify.handleErrors(given)],
  ['handleErrors of Fetch', 'mesages', 'messages', (given) => fetchAdapter.handleErrors(given)],
  ['handleErrors of h3', 'mesages', 'messages', (given) => h3.handleErrors(given)],
  ['handleErrors of Hono', 'mesages', 'messages', (given) => hono.handleErrors(given)],
  ['handleErrors of Koa', 'mesages', 'messages', (given) => koa.handleErrors(given)],
  ['TokenExceptionFilter of Nest', 'mesages', 'messages', (given) => new nest.TokenExceptionFilter(given)],
  ['messages', 'TOKEN_EXPIERD', 'TOKEN_EXPIRED', (given) => hono.handleErrors({ messages: given })],
  [
    'describeSecurity of Fastify',
    'everyroute',
    'everyRoute',
    (given) => fastify.describeSecurity({ addHook: () => undefined }, config, given),
  ],
  [
    'TokenModule.forRoot',
    'subjectgetter',
    'subjectGetter',
    (given) => nest.TokenModule.forRoot({ config, ...(given as object) }),
  ],
  [
    'TokenModule.forRoot',
    'revocation',
    'tokens',
    (given) => nest.TokenModule.forRoot({ tokens, ...(given as object) }),
  ],
  [
    'TokenModule.forRootAsync',
    'useFactry',
    'useFactory',
    (given) => nest.TokenModule.forRootAsync({ useFactory: () => ({ config }), ...(given as object) }),
  ],
  [
    'SessionModule.forRoot',
    'controler',
    'controller',
    (given) => nest.SessionModule.forRoot({ logIn: () => null, ...(given as object) }),
  ],
  [
    'SessionModule.forRoot',
    'login',
    'logIn',
    (given) => nest.SessionModule.forRoot({ logIn: () => null, ...(given as object) }),
  ],
  [
    'SessionModule.forRootAsync',
    'useFactry',
    'useFactory',
    (given) =>
      nest.SessionModule.forRootAsync({ useFactory: () => ({ logIn: () => null }), ...(given as object) }),
  ],
  ['protectSocketIo', 'origin', 'origins', (given) => protectSocketIo({} as never, tokens, given)],
  ['protectSockets of Nest', 'origin', 'origins', (given) => nest.protectSockets({} as never, tokens, given)],
  [
    'createSessionRoutes',
    'login',
    'logIn',
    (given) => createSessionRoutes(tokens, { logIn: () => null, ...(given as object) }),
  ],
  [
    'createSessionRoutes',
    'describeUsers',
    'describeUser',
    (given) => createSessionRoutes(tokens, { logIn: () => null, ...(given as object) }),
  ],
  [
    'remember of createSessionRoutes',
    'remember',
    'remembered',
    (given) => createSessionRoutes(tokens, { logIn: () => null, remember: given }),
  ],
  ['revoke.user', 'notes', 'note', (given) => tokens.revoke.user('ada', given)],
  [
    'createConsole',
    'alow',
    'allow',
    (given) => createConsole(tokens, { allow: () => 'grace', ...(given as object) }),
  ],
  [
    'createIntrospectionRoute',
    'claim',
    'claims',
    (given) => createIntrospectionRoute(tokens, { client: () => 'api', ...(given as object) }),
  ],
  [
    'createIntrospectionRoute',
    'authenticate',
    'client',
    (given) => createIntrospectionRoute(tokens, { client: () => 'api', ...(given as object) }),
  ],
  [
    'createRevocationRoute',
    'sessions',
    'session',
    (given) => createRevocationRoute(tokens, { client: () => 'api', ...(given as object) }),
  ],
  ['clientCredentials', 'verfy', 'verify', (given) => clientCredentials(given)],
  [
    'issuers',
    'aud',
    'audience',
    (given) => withIssuer({ issuer: 'https://id.example', ...(given as object) }),
  ],
  [
    'issuers',
    'jwksUri',
    'keys',
    (given) => withIssuer({ issuer: 'https://id.example', ...(given as object) }),
  ],
  [
    'trustLegacyIssuer',
    'secretOrKey',
    'secret',
    (given) => trustLegacyIssuer({ ...(given as LegacyIssuerOptions), issuer: 'before' }),
  ],
  [
    'trustLegacyIssuer',
    'acceptUntl',
    'acceptUntil',
    (given) => trustLegacyIssuer({ ...(given as LegacyIssuerOptions), issuer: 'before' }),
  ],
  [
    'mapping of issuers',
    'scope',
    'scopes',
    (given) => withIssuer({ issuer: 'https://id.example', audience: 'a', mapping: given }),
  ],
  [
    'keys of issuers',
    'cooldwn',
    'cooldown',
    (given) =>
      withIssuer({
        issuer: 'https://id.example',
        audience: 'a',
        keys: { jwksUri: 'https://id.example/keys', ...(given as object) },
      }),
  ],
  ['verifyIssuedJwt', 'audiance', 'audience', (given) => internalsOf(tokens).verifyIssuedJwt('a.b.c', given)],
  ['auth0', 'domein', 'domain', (given) => auth0(given)],
  ['cognito', 'audience', 'clientId', (given) => cognito(given)],
  ['entra', 'tenant', 'tenantId', (given) => entra(given)],
  ['keycloak', 'relm', 'realm', (given) => keycloak(given)],
  ['okta', 'authorisationServer', 'authorizationServer', (given) => okta(given)],
  ['createMetadataRoutes', 'isuer', 'issuer', (given) => createMetadataRoutes(METADATA, given)],
  [
    'server of createMetadataRoutes',
    'token_endpiont',
    'token_endpoint',
    (given) => createMetadataRoutes(METADATA, { issuer: 'https://id.example', server: given }),
  ],
  [
    'resource of createMetadataRoutes',
    'resource_names',
    'resource_name',
    (given) => createMetadataRoutes(METADATA, { resource: given }),
  ],
  [
    'instrument',
    'includeSubjects',
    'includeSubject',
    (given) => instrument(new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) }), given)(),
  ],
  [
    'createBackChannelLogout',
    'client_id',
    'clientId',
    (given) => createBackChannelLogout(tokens, { clientId: 'app', ...(given as object) }),
  ],
  [
    'createEventReceiver',
    'authorisation',
    'authorization',
    (given) => createEventReceiver(tokens, { audience: 'https://api.example', ...(given as object) }),
  ],
  [
    'createGlobalTokenRevocation',
    'toSubjects',
    'toSubject',
    (given) => createGlobalTokenRevocation(tokens, { audience: 'https://api.example', ...(given as object) }),
  ],
  ['mintToken', 'expire', 'expired', (given) => createTestTokens().mintToken(uid, given)],
]

describe('an option that does not exist is refused, and the nearest one is named', () => {
  test('by every function', async () => {
    const wrong: string[] = []
    for (const [owner, given, meant, call] of CALLS) {
      const error = await errorOf(() => call({ [given]: undefined } as never))
      const isNamed = [given, meant].every((name) => error?.message.includes(`"${name}"`))
      if (!(error instanceof TypeError) || !isNamed) wrong.push(`${owner}: ${given}`)
    }
    expect(wrong).toEqual([])
  })

  test('a field of the configuration', () => {
    expect(() => new TokenConfig({ JWT_SECRETKEY: SECRET } as never)).toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION_INVALID',
        message: expect.stringMatching(/"JWT_SECRETKEY".*"JWT_SECRET_KEY"/) as string,
      }),
    )
  })

  test('an event', () => {
    expect(() => tokens.on('loggedin' as never, () => 0)).toThrow(/"loggedin".*"loggedIn"/)
  })
})

describe('a configuration in the place of the options is told from a misspelled option', () => {
  const REFUSED = [config, { JWT_HEADER_TYPE: 'JWT' }] as never[]

  test.each<[owner: string, call: (options: never) => unknown]>([
    ['new TokenManager()', (options) => new TokenManager(options)],
    ['toErrorResponse()', (options) => toErrorResponse(new MissingTokenError(), options)],
    ['new TokenExceptionFilter()', (options) => new nest.TokenExceptionFilter(options)],
  ])('%s', (owner, call) => {
    for (const options of REFUSED) {
      expect(() => call(options)).toThrow(naming('TypeError', 'TokenConfig', '{ config }', owner))
    }
  })

  test.each(Object.entries({ elysia, express, fastify, fetchAdapter, h3, hono, koa }))(
    'handleErrors() of %s',
    (_framework, { handleErrors }) => {
      for (const options of REFUSED) {
        expect(() => handleErrors(options)).toThrow(
          naming('TypeError', 'TokenConfig', '{ config }', 'handleErrors()'),
        )
      }
    },
  )

  test('an option of a call that takes no configuration is not', () => {
    expect(() => tokens.createAccessToken(uid, { JWT_ALGORITHM: 'HS256' } as never)).toThrow(
      naming('TypeError', 'Unknown option "JWT_ALGORITHM"'),
    )
  })
})

test('options that are no object are refused by every function', async () => {
  const calls = CALLS.filter(([, , , call]) => !String(call).includes('...'))
  expect(calls.length).toBeGreaterThan(50)
  const accepted: string[] = []
  for (const [owner, , , call] of calls) {
    for (const wrong of ['15m', 900, null, []]) {
      const error = await errorOf(() => call(wrong as never))
      if (!(error instanceof TypeError)) accepted.push(`${owner}: ${JSON.stringify(wrong)}`)
    }
  }
  expect(accepted).toEqual([])
})

test('getTokenFromRequest says which location does not exist', async () => {
  await expect(tokens.getTokenFromRequest(request, { locations: ['nowhere'] as never })).rejects.toThrow(
    /locations/,
  )
  await expect(tokens.getTokenFromRequest(request, { type: 'any' as never })).rejects.toThrow(TypeError)
})

async function errorOf(call: () => unknown): Promise<Error | null> {
  try {
    await call()
    return null
  } catch (error) {
    return error as Error
  }
}
