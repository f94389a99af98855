import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type RevocationStore,
} from '../../packages/tokenlib/src/index.js'
import type { RevocationContext } from '../../packages/tokenlib/src/kit.js'
import { FOREVER } from '../../packages/tokenlib/src/kit.js'
import { enforceAll, injectAll } from '../helpers/dependencies.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, createManager, NOW, openToken, SECRET, withBearer } from '../helpers/manager.js'
import { createJsonRequest, createRequest } from '../helpers/requests.js'
import { createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'

const DAY = 86_400_000
const LEAST_RETENTION = 300_000

/** A manager on a store that notes the lifetimes it is told of. */
function createNoting(options: TokenConfigOptions = {}) {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const told: number[] = []
  const store: RevocationStore = {
    ...memory,
    prepare(needs) {
      told.push(needs.longestLifetime)
      return memory.prepare(needs)
    },
  }
  return { ...createRevocable(options, { clock, store }), told }
}

describe('what a store is told of the lifetimes of tokens', () => {
  test.each<[TokenConfigOptions, number]>([
    [{}, 20 * DAY + LEAST_RETENTION],
    [{ JWT_ACCESS_TOKEN_EXPIRES: '30d' }, 30 * DAY + LEAST_RETENTION],
    [{ JWT_DECODE_LEEWAY: '10m' }, 20 * DAY + 600_000],
    [{ JWT_ACCESS_TOKEN_EXPIRES: false }, FOREVER],
    [{ JWT_REFRESH_TOKEN_EXPIRES: false }, FOREVER],
  ])('%o: %d', async (options, longest) => {
    const { tokens, told } = createNoting(options)
    await tokens.ready()
    expect(told).toEqual([longest])
  })

  test.each([{ iat: NOW }, { exp: NOW + 60 }])(
    'a foreign token with %j alone may live for ever',
    async (dates) => {
      const { tokens, told } = createNoting()
      const input = [{ alg: 'HS256' }, { sub: 'u', type: 'access', ...dates }]
        .map((json) => Buffer.from(JSON.stringify(json)).toString('base64url'))
        .join('.')
      await tokens.verify(`${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`)
      expect(told).toEqual([FOREVER])
    },
  )

  test('a token that never expires', async () => {
    const { tokens, told } = createNoting()
    tokens.createAccessToken({ uid: 'u' }, { expiresIn: false })
    await tokens.ready()
    expect(told.at(-1)).toBe(FOREVER)
  })

  test('a manager without a store is ready', async () => {
    expect(await outcomeOf(createManager().tokens.ready())).toBe('ok')
  })
})

describe('where either type will do, a token must be where its own is looked for', () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies', 'json'] })
  const access = tokens.createAccessToken({ uid: 'u' })
  const refresh = tokens.createRefreshToken({ uid: 'u' })

  test.each<[string, () => Request, string]>([
    ['access in its cookie', () => createRequest({ cookies: { access_token_cookie: access } }), 'ok'],
    ['refresh in its cookie', () => createRequest({ cookies: { refresh_token_cookie: refresh } }), 'ok'],
    ['access in its member', () => createJsonRequest({ access_token: access }), 'ok'],
    ['refresh in its member', () => createJsonRequest({ refresh_token: refresh }), 'ok'],
    [
      'refresh in the other cookie',
      () => createRequest({ cookies: { access_token_cookie: refresh } }),
      'ACCESS_TOKEN_REQUIRED',
    ],
    [
      'access in the other cookie',
      () => createRequest({ cookies: { refresh_token_cookie: access } }),
      'REFRESH_TOKEN_REQUIRED',
    ],
    [
      'refresh in the other member',
      () => createJsonRequest({ access_token: refresh }),
      'ACCESS_TOKEN_REQUIRED',
    ],
    [
      'access in the other member',
      () => createJsonRequest({ refresh_token: access }),
      'REFRESH_TOKEN_REQUIRED',
    ],
  ])('%s', async (_what, request, outcome) => {
    expect(await outcomeOf(tokens.tokenRequired(request()))).toBe(outcome)
  })
})

test('a handshake may ask for a refresh token, and needs no CSRF value, whatever the methods', async () => {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['cookies'], JWT_CSRF_METHODS: ['GET'] })
  const origin = 'https://app.example'
  const request = createRequest({
    headers: { origin },
    cookies: { refresh_token_cookie: tokens.createRefreshToken({ uid: 'u' }), access_token_cookie: 'x' },
  })
  const { token } = await tokens.sockets.authenticate(request, { type: 'refresh', origins: [origin] })
  expect([token.type, token.location]).toEqual(['refresh', 'cookies'])
})

test('the callback hears where the token was found', async () => {
  const { tokens } = createManager()
  const seen: RevocationContext['location'][] = []
  tokens.setCallbackTokenBlocklist((_token, { location }) => seen.push(location) === 0)
  const token = tokens.createAccessToken({ uid: 'u' })
  await tokens.accessTokenRequired(withBearer(token))
  await tokens.verify(token)
  expect(seen).toEqual(['headers', null])
})

test('options of the access token stay with it at a refresh', async () => {
  const { tokens, clock } = createRevocable()
  const { refreshToken } = await tokens.sessions.open({ uid: 'u' })
  clock.seconds += 60
  const next = toPair(await tokens.sessions.refresh(refreshToken, { access: { scopes: ['a'] } }))
  expect(openToken(next.accessToken).claims).toMatchObject({ scopes: ['a'] })
  expect(openToken(next.refreshToken).claims).not.toHaveProperty('scopes')
})

test('a pair is made only if it can be refreshed as often as there are numbers', async () => {
  const pair = await createRevocable().tokens.sessions.open({ uid: 'u' })
  const limit = Math.max(pair.accessToken.length, pair.refreshToken.length)
  const { tokens } = createRevocable({ JWT_MAX_TOKEN_LENGTH: limit })
  await expect(tokens.sessions.open({ uid: 'u' })).rejects.toThrow(/JWT_MAX_TOKEN_LENGTH/)
  expect(await tokens.sessions.list('u')).toEqual([])
  // Fifteen more digits of the generation, three of the time, and a parent of 22 characters; 54 in base64url.
  const wider = createRevocable({ JWT_MAX_TOKEN_LENGTH: limit + 54 }).tokens
  expect(await outcomeOf(wider.sessions.open({ uid: 'u' }))).toBe('ok')
})

test('a fault of the program is nobody’s refusal', async () => {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
  const tokens = new TokenManager({ config, clock: () => Number.NaN })
  const rejected: unknown[] = []
  tokens.on('rejected', (event) => rejected.push(event))
  await expect(tokens.verify('a.b.c')).rejects.toThrow(TypeError)
  expect(rejected).toEqual([])
})

test('what is allowed is let through', async () => {
  expect(() => enforceAll([() => 1, () => 2])).not.toThrow()
  expect(await injectAll({ one: () => 1 })(new Request('http://localhost/'))).toEqual({ one: 1 })
  expect(() => createManager({ JWT_COOKIE_SECURE: false })).not.toThrow()
  expect(TokenConfig.fromEnv({}, { JWT_ENCODE_AUDIENCE: '7' }).JWT_ENCODE_AUDIENCE).toBe('7')
})

test('what is not allowed is told', async () => {
  expect(() => TokenConfig.fromEnv({}, { JWT_ACCESS_TOKEN_EXPIRES: ' 0 ' })).toThrow(ConfigurationError)
  const { store } = createRevocable()
  const { sessions: _sessions, ...unkept } = store
  await expect(
    createRevocable({}, { store: unkept }).tokens.sessions.endOthers({ sub: 'u', sid: 's' }),
  ).rejects.toThrow(/sessions\.endOthers.*sessions/)
})

test('what is no text is no token, and the longest one is remembered like any other', async () => {
  const { length } = createManager().tokens.createAccessToken({ uid: 'u' })
  const { tokens } = createManager({ JWT_MAX_TOKEN_LENGTH: length })
  for (const token of [undefined, null, 7, {}] as never[]) {
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_INVALID')
  }
  const token = tokens.createAccessToken({ uid: 'u' })
  expect(token).toHaveLength(length)
  await tokens.verify(token)
  expect(await tokens.verify(token)).toBe(await tokens.verify(token))
})
