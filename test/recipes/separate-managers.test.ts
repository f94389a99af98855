import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  chooseManager,
  TokenConfig,
  TokenIssuerError,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { createIntrospectionRoute, createRevocationRoute } from '../../packages/issuers/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { PATIENT, withBearer } from '../helpers/manager.js'

// What docs/recipes says of tenants, API keys and services: a token of one manager opens nothing at another, in whatever
// way it arrives, and ends nothing there.
const create = (fields = {}) =>
  new TokenManager({
    config: new TokenConfig({
      JWT_SECRET_KEY: randomBytes(32),
      JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'],
      ...PATIENT,
      ...fields,
    }),
    store: createMemoryStore(),
  })
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const machines = new TokenManager({
  config: new TokenConfig({
    JWT_ENCODE_ISSUER: 'https://id.internal',
    JWT_ENCODE_AUDIENCE: 'https://api.example',
  }),
  keys: [{ kid: '2026-11', algorithm: 'ES256', privateKey }],
  store: createMemoryStore(),
})

const here = create()
const victim = await here.sessions.open({ uid: 'ada' }, { scopes: ['notes:*'], access: { fresh: true } })
const others = {
  'another tenant': await create().sessions.open(
    { uid: 'ada' },
    { scopes: ['notes:*'], access: { fresh: true } },
  ),
  'API keys': {
    accessToken: create({ JWT_ACCESS_TOKEN_EXPIRES: '365d' }).createAccessToken(
      { uid: 'ada' },
      { scopes: ['notes:*'], fresh: true },
    ),
    refreshToken: create().createRefreshToken({ uid: 'ada' }),
  },
  services: await machines.sessions.open({ uid: 'ada' }, { scopes: ['notes:*'], access: { fresh: true } }),
}

const isRefused = async (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    (error: { readonly code?: string }) => /^TOKEN_(?:SIGNATURE_)?INVALID$/.test(error.code ?? ''),
  )
const origin = 'https://app.example'

describe.each(Object.entries(others))('a token of %s', (_name, { accessToken, refreshToken }) => {
  test.each([
    ['header', withBearer],
    [
      'cookie',
      (token: string) => new Request(origin, { headers: { cookie: `access_token_cookie=${token}` } }),
    ],
    ['query', (token: string) => new Request(`${origin}/?token=${token}`)],
    [
      'body',
      (token: string) =>
        new Request(origin, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ [here.config.JWT_JSON_KEY]: token }),
        }),
    ],
  ] as const)('is refused in the %s, by every dependency', async (_place, toRequest) => {
    const chosen = chooseManager(() => here)
    for (const demand of [
      here.accessTokenRequired,
      here.tokenRequired,
      here.accessTokenOptional,
      here.freshTokenRequired,
      here.require({ scopes: ['notes:read'] }),
      chosen.accessTokenRequired,
      chosen.require({ scopes: ['notes:read'] }),
    ]) {
      expect(await isRefused(demand(toRequest(accessToken)))).toBe(true)
    }
  })

  test('is refused by verify, refresh and a handshake', async () => {
    expect(await isRefused(here.verify(accessToken))).toBe(true)
    expect(await isRefused(here.verify(refreshToken, { type: 'refresh' }))).toBe(true)
    expect(await isRefused(here.sessions.refresh(refreshToken))).toBe(true)
    expect(await isRefused(here.sessions.refresh(accessToken))).toBe(true)
    expect(await isRefused(here.sockets.authenticate(withBearer(accessToken)))).toBe(true)
  })

  test('is refused by every session route, and ends no session', async () => {
    const routes = createSessionRoutes(here, { logIn: () => ({ uid: 'ada' }) })
    const [own] = await here.sessions.list('ada')
    for (const [method, path, token] of [
      ['POST', 'refresh', refreshToken],
      ['POST', 'step-up', refreshToken],
      ['POST', 'logout-everywhere', accessToken],
      ['GET', 'session', accessToken],
      ['GET', 'sessions', accessToken],
      ['DELETE', 'sessions', accessToken],
      ['DELETE', `sessions/${own?.id}`, accessToken],
    ] as const) {
      const request = new Request(`${origin}/auth/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(method === 'POST' && { body: '{}' }),
      })
      expect((await routes.handle(request))?.status, `${method} ${path}`).toBe(401)
    }
    await routes.handle(
      new Request(`${origin}/auth/logout`, {
        method: 'POST',
        headers: { authorization: `Bearer ${accessToken}` },
      }),
    )
    expect(await here.sessions.list('ada')).toHaveLength(1)
    expect((await here.verify(victim.accessToken)).sub).toBe('ada')
  })

  test('is inactive at the introspection, and revokes nothing', async () => {
    const client = () => ({ id: 'anybody' })
    const form = (path: string) =>
      new Request(`${origin}${path}`, { method: 'POST', body: new URLSearchParams({ token: accessToken }) })
    const answer = await createIntrospectionRoute(here, { client }).handle(form('/oauth/introspect'))
    expect(await answer?.json()).toEqual({ active: false })
    await createRevocationRoute(here, { client }).handle(form('/oauth/revoke'))
    expect((await here.verify(victim.accessToken)).sub).toBe('ada')
  })
})

test('the honest token passes in each of these ways', async () => {
  const routes = createSessionRoutes(here, { logIn: () => ({ uid: 'ada' }) })
  const { accessToken } = victim
  expect((await here.accessTokenRequired(withBearer(accessToken))).sub).toBe('ada')
  expect((await here.accessTokenRequired(new Request(`${origin}/?token=${accessToken}`))).sub).toBe('ada')
  const cookie = { cookie: `access_token_cookie=${accessToken}` }
  expect((await here.accessTokenRequired(new Request(origin, { headers: cookie }))).sub).toBe('ada')
  const session = new Request(`${origin}/auth/session`, {
    headers: { authorization: `Bearer ${accessToken}` },
  })
  expect((await routes.handle(session))?.status).toBe(200)
})

test('a session of one tenant cannot be refreshed at another that shares keys and store, if a dependency says so', async () => {
  const shared = create()
  const routes = createSessionRoutes(shared, {
    logIn: () => ({ uid: 'north/ada', tenant: 'north' }),
  })
  const assertTenant = async (request: Request): Promise<void> => {
    const { tenant } = await shared.refreshTokenRequired(request)
    if (tenant !== new URL(request.url).host.replace(/\.example$/, '')) throw new TokenIssuerError()
  }
  const { refreshToken } = await shared.sessions.open({ uid: 'north/ada', tenant: 'north' })
  const refresh = async (host: string): Promise<Response> => {
    const request = new Request(`https://${host}/auth/refresh`, {
      method: 'POST',
      headers: { authorization: `Bearer ${refreshToken}` },
    })
    await assertTenant(request)
    return routes.refresh(request)
  }
  await expect(refresh('south.example')).rejects.toMatchObject({ code: 'TOKEN_ISSUER_INVALID' })
  // The attempt has neither used the token up nor ended the session.
  expect((await refresh('north.example')).status).toBe(200)
})
