import { serve } from '@hono/node-server'
import express from 'express'
import Fastify from 'fastify'
import { Hono } from 'hono'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as forExpress from '../../packages/tokenlib/src/frameworks/express.js'
import * as forFastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as forHono from '../../packages/tokenlib/src/frameworks/hono.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { introspect, type IntrospectOptions } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import {
  API_CLIENT,
  type AuthorizationServer,
  CLIENT_SECRET,
  createSigningKey,
  RESOURCE,
  SERVICE_CLIENT,
  startAuthorizationServer,
  WEB_CLIENT,
} from './authorization-server.js'

let server: AuthorizationServer
beforeAll(async () => {
  server = await startAuthorizationServer([createSigningKey('first')], undefined, {
    issueRefreshToken: async () => true,
    features: {
      introspection: { enabled: true, allowedPolicy: async () => true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'notes:read notes:write',
          audience: RESOURCE,
          accessTokenFormat: 'opaque',
          accessTokenTTL: 3600,
        }),
      },
    },
  })
})
afterAll(() => server.stop())

function createManager(options: Partial<IntrospectOptions> = {}): TokenManager {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
    store: createMemoryStore(),
    issuers: [
      introspect({
        issuer: server.issuer,
        endpoint: `${server.issuer}/token/introspection`,
        authentication: { method: 'client_secret_basic', clientId: API_CLIENT, clientSecret: CLIENT_SECRET },
        audience: RESOURCE,
        subjectPrefix: 'op:',
        allowPrivateNetwork: true,
        ...options,
      }),
    ],
  })
}

async function revokeAtProvider(token: string): Promise<void> {
  const body = new URLSearchParams({ token, client_id: WEB_CLIENT, client_secret: CLIENT_SECRET })
  const response = await fetch(`${server.issuer}/token/revocation`, { method: 'POST', body })
  expect(response.status).toBe(200)
}

describe('opaque tokens of oidc-provider', () => {
  test('a token of a user passes, with both ways to authenticate', async () => {
    const { accessToken } = await server.logIn('ada')
    expect(accessToken).not.toContain('.')
    const post = { method: 'client_secret_post', clientId: WEB_CLIENT, clientSecret: CLIENT_SECRET } as const
    for (const options of [{}, { authentication: post }]) {
      const payload = await createManager(options).accessTokenRequired(withBearer(accessToken))
      expect(payload).toMatchObject({
        iss: server.issuer,
        sub: 'op:ada',
        aud: RESOURCE,
        client_id: WEB_CLIENT,
        scopes: ['notes:read'],
      })
    }
  })

  test('the refresh token, the ID token and a token without a user do not', async () => {
    const { refreshToken, idToken } = await server.logIn('ada')
    const tokens = createManager()
    for (const token of [refreshToken ?? '', idToken, await server.createServiceToken(), 'a-guess']) {
      expect(token).not.toBe('')
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_INVALID')
    }
  })

  test('clients have no sub: they are users if the mapping says so', async () => {
    const token = await server.createServiceToken()
    expect((await createManager({ mapping: { sub: 'client_id' } }).verify(token)).sub).toBe(
      `op:${SERVICE_CLIENT}`,
    )
  })

  test('wrong credentials of the API are an outage, and not the fault of the user', async () => {
    const { accessToken } = await server.logIn('ada')
    const wrong = { method: 'client_secret_basic', clientId: API_CLIENT, clientSecret: 'wrong' } as const
    expect(await outcomeOf(createManager({ authentication: wrong }).verify(accessToken))).toBe(
      'KEYS_UNAVAILABLE',
    )
  })

  test('a token that is revoked at the provider is refused with the next request', async () => {
    const { accessToken } = await server.logIn('ada')
    const tokens = createManager()
    await tokens.verify(accessToken)
    await revokeAtProvider(accessToken)
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_INVALID')
  })

  test('a user who is revoked here is refused, and comes back with a new token', async () => {
    const { accessToken } = await server.logIn('grace')
    const tokens = createManager({ cacheSeconds: 60 })
    await tokens.verify(accessToken)
    await tokens.revoke.user('op:grace')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
  })
})

describe('routes take opaque and own tokens alike', () => {
  type Started = { readonly origin: string; stop(): Promise<void> | void }
  const originOf = (address: unknown): string => `http://127.0.0.1:${(address as AddressInfo).port}`

  const FRAMEWORKS: Readonly<Record<string, (tokens: TokenManager) => Promise<Started>>> = {
    async hono(tokens) {
      const app = new Hono()
      app.get('/me', forHono.inject({ payload: tokens.accessTokenRequired }), (c) =>
        c.json(c.var.payload.sub),
      )
      app.onError(forHono.handleErrors())
      const running = serve({
        fetch: app.fetch,
        port: 0,
        hostname: '127.0.0.1',
        overrideGlobalObjects: false,
      })
      await new Promise<void>((resolve) => void running.once('listening', resolve))
      return { origin: originOf(running.address()), stop: () => void running.close() }
    },
    async express(tokens) {
      const app = express()
      app.get(
        '/me',
        forExpress.inject({ payload: tokens.accessTokenRequired }, ({ payload }, _request, response) => {
          response.json(payload.sub)
        }),
      )
      app.use(forExpress.handleErrors())
      const running = app.listen(0, '127.0.0.1')
      await new Promise<void>((resolve) => void running.once('listening', resolve))
      return { origin: originOf(running.address()), stop: () => void running.close() }
    },
    async fastify(tokens) {
      const app = Fastify()
      app.setErrorHandler(forFastify.handleErrors())
      app.get(
        '/me',
        forFastify.inject({ payload: tokens.accessTokenRequired }, ({ payload }) =>
          JSON.stringify(payload.sub),
        ),
      )
      await app.listen({ port: 0, host: '127.0.0.1' })
      return { origin: originOf(app.server.address()), stop: () => app.close() }
    },
  }

  test.each(Object.keys(FRAMEWORKS))('in %s', async (name) => {
    const { accessToken } = await server.logIn('ada')
    const tokens = createManager()
    const app = await (FRAMEWORKS[name] as (typeof FRAMEWORKS)[string])(tokens)
    const call = async (token: string) => {
      const response = await fetch(`${app.origin}/me`, { headers: { authorization: `Bearer ${token}` } })
      return [response.status, response.status === 200 ? await response.json() : null]
    }
    try {
      expect(await call(accessToken)).toEqual([200, 'op:ada'])
      expect(await call(tokens.createAccessToken({ uid: 'ada' }))).toEqual([200, 'ada'])
      expect(await call('a-guess')).toEqual([401, null])
      await tokens.revoke.user('op:ada')
      expect(await call(accessToken)).toEqual([401, null])
      expect(await call(tokens.createAccessToken({ uid: 'ada' }))).toEqual([200, 'ada'])
    } finally {
      await app.stop()
    }
  })
})
