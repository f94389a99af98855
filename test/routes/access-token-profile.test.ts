import { generateKeyPairSync } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { createMetadataRoutes } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { openToken, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { outcomeOf, toPair } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'

// RFC 9068: access tokens that the resource servers of others can verify.
const ISSUER = 'https://id.example'
const AUDIENCE = 'https://api.example'
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const PROFILE = {
  JWT_ALGORITHM: 'ES256',
  JWT_PRIVATE_KEY: privateKey,
  JWT_ENCODE_ISSUER: ISSUER,
  JWT_ENCODE_AUDIENCE: AUDIENCE,
  JWT_DECODE_AUDIENCE: AUDIENCE,
  JWT_ACCESS_TOKEN_TYP: 'at+jwt',
} as const satisfies TokenConfigOptions

function open(options: TokenConfigOptions = {}) {
  const config = new TokenConfig({ ...PROFILE, ...options })
  // The clock of the system, by which oauth4webapi goes.
  const tokens = new TokenManager({ config, store: createMemoryStore() })
  const metadata = createMetadataRoutes(tokens, {
    issuer: ISSUER,
    server: { response_types_supported: ['none'] },
  })
  const http = {
    [oauth.customFetch]: async (url: string, init: object) =>
      (await metadata.handle(new Request(url, init))) ?? new Response(null, { status: 404 }),
  }
  const validate = async (token: string): Promise<oauth.JWTAccessTokenClaims> => {
    const issuer = new URL(ISSUER)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http })
    const server = await oauth.processDiscoveryResponse(issuer, found)
    return oauth.validateJwtAccessToken(server, withBearer(token), AUDIENCE, http)
  }
  return { tokens, validate }
}

describe('access tokens with the typ at+jwt', () => {
  test('are accepted by oauth4webapi, which finds our keys, and by us', async () => {
    const { tokens, validate } = open()
    const token = tokens.createAccessToken({ uid: 'ada', client_id: 'web' })
    expect(openToken(token).header).toMatchObject({ typ: 'at+jwt', alg: 'ES256' })
    expect(await validate(token)).toMatchObject({ iss: ISSUER, sub: 'ada', client_id: 'web', aud: AUDIENCE })
    expect(await tokens.accessTokenRequired(withBearer(token))).toMatchObject({
      sub: 'ada',
      client_id: 'web',
    })
  })

  test('are those of a session and of its refreshes; its refresh tokens are not access tokens for anybody', async () => {
    const { tokens, validate } = open({ JWT_REFRESH_GRACE: 0 })
    let pair = await tokens.sessions.open({ uid: 'ada', client_id: 'web' })
    for (let times = 0; times < 2; times++) {
      expect(await validate(pair.accessToken)).toMatchObject({ sub: 'ada', client_id: 'web' })
      expect(openToken(pair.refreshToken).header).toMatchObject({ typ: 'JWT' })
      await expect(validate(pair.refreshToken)).rejects.toThrow(oauth.OperationProcessingError)
      expect(await outcomeOf(tokens.verify(pair.refreshToken))).toBe('ACCESS_TOKEN_REQUIRED')
      expect(await outcomeOf(tokens.verify(pair.accessToken, { type: 'refresh' }))).toBe(
        'REFRESH_TOKEN_REQUIRED',
      )
      pair = toPair(await tokens.sessions.refresh(pair.refreshToken))
    }
  })

  test('have the client of the configuration, unless they have one of their own', async () => {
    const { tokens, validate } = open({ JWT_CLIENT_ID: 'app' })
    expect(await validate(tokens.createAccessToken({ uid: 'ada' }))).toMatchObject({ client_id: 'app' })
    expect(await validate(tokens.createAccessToken({ uid: 'ada', client_id: 'cli' }))).toMatchObject({
      client_id: 'cli',
    })
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    expect(await validate(accessToken)).toMatchObject({ client_id: 'app' })
    expect(openToken(refreshToken).claims).not.toHaveProperty('client_id')
  })

  test.each<[name: string, claims: object, options?: object]>([
    ['client_id', {}],
    ['client_id', { client_id: '' }],
    ['client_id', { client_id: 7 }],
    ['client_id', { client_id: null }],
    ['client_id', { client_id: ['web'] }],
    ['exp', { client_id: 'web' }, { expiresIn: false }],
    ['aud', { client_id: 'web' }, { audience: [] }],
    ['aud', { client_id: 'web' }, { audience: '' }],
  ])('cannot be created without a good %s: %j %j', (name, claims, options = {}) => {
    const { tokens } = open()
    const create = () => tokens.createAccessToken({ uid: 'ada', ...claims }, options)
    expect(create).toThrow(naming('TypeError', `"${name}"`, 'RFC 9068'))
    // Only for the client there is a field that the advice can name.
    if (name === 'client_id') expect(create).toThrow('JWT_CLIENT_ID')
    else expect(create).not.toThrow('JWT_CLIENT_ID')
    // Only access tokens are for resource servers.
    expect(() => tokens.createRefreshToken({ uid: 'ada', ...claims }, options)).not.toThrow()
  })

  test('a pair that cannot be created opens no session', async () => {
    const { tokens } = open()
    await expect(tokens.sessions.open({ uid: 'ada' })).rejects.toThrow(naming('TypeError', '"client_id"'))
    expect(await tokens.sessions.list('ada')).toEqual([])
  })

  test.each<[field: string, options: TokenConfigOptions]>([
    ['JWT_ENCODE_ISSUER', { JWT_ENCODE_ISSUER: null }],
    ['JWT_ENCODE_AUDIENCE', { JWT_ENCODE_AUDIENCE: null }],
    ['JWT_ACCESS_TOKEN_EXPIRES', { JWT_ACCESS_TOKEN_EXPIRES: false }],
    ['JWT_IDENTITY_CLAIM', { JWT_IDENTITY_CLAIM: 'user' }],
    ['JWT_CLIENT_ID', { JWT_CLIENT_ID: 'app', JWT_ACCESS_TOKEN_TYP: 'JWT' }],
  ])('need %s, which is said when the manager is built', (field, options) => {
    expect(() => open(options)).toThrow(naming('ConfigurationError', field, 'JWT_ACCESS_TOKEN_TYP'))
  })

  test.each(['at+JWT', 'jwt', 'application/at+jwt', '', 7, null])('JWT_ACCESS_TOKEN_TYP is not %j', (typ) => {
    expect(() => new TokenConfig({ JWT_ACCESS_TOKEN_TYP: typ as never })).toThrow(ConfigurationError)
  })

  test('the variable of the environment has the same values', () => {
    const { JWT_ACCESS_TOKEN_TYP: typ } = TokenConfig.fromEnv({}, { JWT_ACCESS_TOKEN_TYP: 'at+jwt' })
    expect(typ).toBe('at+jwt')
    expect(new TokenConfig({}).JWT_ACCESS_TOKEN_TYP).toBe('JWT')
  })
})

test('tokens of either typ are accepted on both sides of the change', async () => {
  const before = open({ JWT_ACCESS_TOKEN_TYP: 'JWT' }).tokens
  const after = open().tokens
  const old = before.createAccessToken({ uid: 'ada' })
  const young = after.createAccessToken({ uid: 'ada', client_id: 'web' })
  expect(openToken(old).header).toMatchObject({ typ: 'JWT' })
  for (const tokens of [before, after]) {
    for (const token of [old, young]) expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  }
})

test('a refresh token that says at+jwt is refused, no matter who has made it', async () => {
  const { tokens } = open()
  const { header, claims } = openToken(
    (await tokens.sessions.open({ uid: 'ada', client_id: 'web' })).refreshToken,
  )
  const sign = (typ: string) =>
    forge({ algorithm: 'ES256', key: privateKey, header: { ...header, typ }, claims })
  expect(await outcomeOf(tokens.verify(sign('JWT'), { type: 'refresh' }))).toBe('ok')
  for (const typ of ['at+jwt', 'AT+JWT', 'application/at+jwt']) {
    expect(await outcomeOf(tokens.verify(sign(typ), { type: 'refresh' }))).toBe('TOKEN_INVALID')
    expect(await outcomeOf(tokens.verify(sign(typ), { type: 'any' }))).toBe('TOKEN_INVALID')
    expect(await outcomeOf(tokens.sessions.refresh(sign(typ)))).toBe('TOKEN_INVALID')
  }
})
