import { Hono } from 'hono'
import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { mount } from '../../packages/tokenlib/src/frameworks/hono.js'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMetadataRoutes } from '../../packages/issuers/src/index.js'
import { createKeyPair } from '../helpers/keys.js'
import { createClock, createManager, NOW } from '../helpers/manager.js'

const ISSUER = 'https://id.example'
const at = (seconds: number): Date => new Date(seconds * 1000)

test('jose verifies tokens with the published keys, before and after a rotation', async () => {
  const clock = createClock()
  const keys = [
    { kid: 'first', algorithm: 'ES256' as const, privateKey: createKeyPair('ES256').privateKey },
    {
      kid: 'second',
      algorithm: 'EdDSA' as const,
      privateKey: createKeyPair('EdDSA').privateKey,
      notBefore: at(NOW + 600),
    },
  ]
  const tokens = new TokenManager({ config: new TokenConfig({ JWT_ENCODE_ISSUER: ISSUER }), keys, clock })
  const routes = createMetadataRoutes(tokens, { issuer: ISSUER })
  let fetches = 0
  const keySet = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`), {
    cooldownDuration: 0,
    [customFetch]: async (url, { method, headers }) => {
      fetches++
      return (
        (await routes.handle(new Request(url, { method, headers }))) ?? new Response(null, { status: 404 })
      )
    },
  })
  const verify = async (token: string): Promise<string | undefined> => {
    const { protectedHeader } = await jwtVerify(token, keySet, {
      issuer: ISSUER,
      currentDate: at(clock.seconds),
    })
    return protectedHeader.kid
  }
  const before = tokens.createAccessToken({ uid: 'ada' })
  expect(await verify(before)).toBe('first')
  clock.seconds += 601
  expect(await verify(tokens.createAccessToken({ uid: 'ada' }))).toBe('second')
  expect(await verify(before)).toBe('first')
  // The key was in the set before it signed.
  expect(fetches).toBe(1)

  const third = { kid: 'third', algorithm: 'ES256' as const, privateKey: createKeyPair('ES256').privateKey }
  tokens.keys.set([...keys, { ...third, notBefore: at(clock.seconds) }])
  expect(await verify(tokens.createAccessToken({ uid: 'ada' }))).toBe('third')
  expect(fetches).toBe(2)
})

test('nothing private is published', async () => {
  const { privateKey } = createKeyPair('ES256')
  const config = new TokenConfig({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: privateKey })
  const routes = createMetadataRoutes(new TokenManager({ config }), {})
  const response = await routes.handle(new Request(`${ISSUER}/.well-known/jwks.json`))
  const set = (await response?.json()) as { keys: object[] } | undefined
  expect(set?.keys).toHaveLength(1)
  for (const name of ['d', 'p', 'q', 'k']) expect(set?.keys[0]).not.toHaveProperty(name)
})

test('a manager with a secret has no key set', async () => {
  const { tokens } = createManager()
  expect(() => createMetadataRoutes(tokens, { jwks: true })).toThrow(ConfigurationError)
  const resource = { resource: 'https://api.example' }
  const routes = createMetadataRoutes(tokens, { resource })
  expect(await routes.handle(new Request('https://api.example/.well-known/jwks.json'))).toBe(null)
})

test('the jwks_uri of each of two issuers on one host leads to its own keys', async () => {
  const create = (issuer: string) => {
    const { privateKey } = createKeyPair('EdDSA')
    const config = new TokenConfig({ JWT_ENCODE_ISSUER: issuer })
    const tokens = new TokenManager({ config, keys: [{ kid: 'k', algorithm: 'EdDSA', privateKey }] })
    const server = { response_types_supported: ['none'] }
    return { tokens, routes: createMetadataRoutes(tokens, { issuer, server }) }
  }
  const [one, two] = [create(`${ISSUER}/one`), create(`${ISSUER}/two`)]
  const app = new Hono().use(mount(one.routes)).use(mount(two.routes))
  for (const [path, own, other] of [
    ['one', one, two],
    ['two', two, one],
  ] as const) {
    const metadata = await app.request(`${ISSUER}/.well-known/oauth-authorization-server/${path}`)
    const { jwks_uri: uri } = (await metadata.json()) as { jwks_uri: string }
    const keySet = createRemoteJWKSet(new URL(uri), { [customFetch]: async (url) => app.request(url) })
    const { payload } = await jwtVerify(own.tokens.createAccessToken({ uid: 'ada' }), keySet)
    expect(payload.iss).toBe(`${ISSUER}/${path}`)
    await expect(jwtVerify(other.tokens.createAccessToken({ uid: 'ada' }), keySet)).rejects.toMatchObject({
      code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    })
  }
})
