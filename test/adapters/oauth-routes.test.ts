import { node as elysiaNode } from '@elysiajs/node'
import { Elysia } from 'elysia'
import express from 'express'
import Fastify from 'fastify'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serveFetch, serveNode } from '../../examples/server.js'
import { mount as mountElysia } from '../../packages/tokenlib/src/frameworks/elysia.js'
import { mount as mountExpress } from '../../packages/tokenlib/src/frameworks/express.js'
import { mount as mountFastify } from '../../packages/tokenlib/src/frameworks/fastify.js'
import type { MountableRoutes } from '../../packages/tokenlib/src/routes/router.js'
import {
  createIntrospectionRoute,
  createMetadataRoutes,
  createRevocationRoute,
} from '../../packages/issuers/src/index.js'
import { createRevocable } from '../helpers/revocable.js'
import { basic, client } from '../routes/oauth-fixture.js'
import { MOUNTS } from './mounted.js'

const ISSUER = 'https://id.example/tenant'
const KEYS = { keys: [{ kty: 'OKP', crv: 'Ed25519', x: 'AAAA', kid: 'a' }] }

function createMetadata(issuer = ISSUER): MountableRoutes {
  const { config } = createRevocable().tokens
  const server = { response_types_supported: ['none'] }
  const resource = { resource: 'https://id.example/api' }
  return createMetadataRoutes({ config, keys: { jwks: () => KEYS } }, { issuer, server, resource })
}

const postForm = (
  url: string,
  form: Record<string, string> | string,
  headers: object = {},
  isBasic = true,
): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: {
      ...(isBasic && { authorization: basic() }),
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    body: new URLSearchParams(form).toString(),
  })

// Over real HTTP in every framework: that routes are mounted well is for mount.test.ts to show.
describe.each(Object.entries(MOUNTS))('in %s', (_name, start) => {
  const run = async (routes: MountableRoutes): Promise<string> => {
    const app = await start(routes)
    onTestFinished(() => app.close())
    return app.url
  }

  test('keys and metadata are published', async () => {
    const url = await run(createMetadata())
    for (const [path, expected] of [
      ['jwks.json/tenant', KEYS],
      ['oauth-authorization-server/tenant', { issuer: ISSUER }],
      ['oauth-protected-resource/api', { authorization_servers: [ISSUER] }],
    ] as const) {
      const response = await fetch(`${url}/.well-known/${path}`)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      expect(await response.json()).toMatchObject(expected)
      const head = await fetch(`${url}/.well-known/${path}`, { method: 'HEAD' })
      expect([head.status, await head.text()]).toEqual([200, ''])
    }
    const wrong = await fetch(`${url}/.well-known/jwks.json/tenant`, { method: 'POST', body: 'x' })
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    expect((await fetch(`${url}/.well-known/security.txt`)).status).toBe(404)
  })

  test('tokens are introspected', async () => {
    const { tokens } = createRevocable()
    const url = await run(createIntrospectionRoute(tokens, { client }))
    const token = tokens.createAccessToken({ uid: 'ada' })
    const active = await postForm(`${url}/oauth/introspect`, { token })
    expect(await active.json()).toMatchObject({ active: true, sub: 'ada' })
    const byForm = { token: 'x', client_id: 'orders', client_secret: 'secret of orders' }
    const inactive = await postForm(`${url}/oauth/introspect`, byForm, {}, false)
    expect(await inactive.json()).toEqual({ active: false })
    const stranger = await postForm(
      `${url}/oauth/introspect`,
      { token },
      { authorization: basic('orders', 'no') },
    )
    expect([stranger.status, stranger.headers.get('www-authenticate')]).toEqual([
      401,
      'Basic realm="oauth", charset="UTF-8"',
    ])
    expect((await postForm(`${url}/oauth/introspect`, 'token=a&token=b')).status).toBe(400)
    expect((await fetch(`${url}/oauth/introspect`)).status).toBe(405)
  })

  test('tokens are revoked, with where the request came from', async () => {
    const { tokens } = createRevocable()
    const url = await run(createRevocationRoute(tokens, { client }))
    const events: object[] = []
    tokens.on('loggedOut', (event) => events.push(event))
    const { refreshToken: token } = await tokens.sessions.open({ uid: 'ada' })
    const response = await postForm(`${url}/oauth/revoke`, { token }, { 'user-agent': 'Test/1' })
    expect([response.status, await response.text()]).toEqual([200, ''])
    const ip = expect.stringMatching(/^(?:127\.0\.0\.1|192\.0\.2\.1)$/) as string
    expect(events).toMatchObject([{ sub: 'ada', userAgent: 'Test/1', ip }])
    await expect(tokens.verify(token, { type: 'refresh' })).rejects.toMatchObject({
      code: 'TOKEN_REVOKED',
    })
  })
})

describe('other files below /.well-known stay with a wildcard route of the application', () => {
  const check = async (url: string): Promise<void> => {
    for (const path of ['security.txt', 'acme-challenge/x', 'oauth-authorization-server']) {
      expect(await (await fetch(`${url}/.well-known/${path}`)).text()).toBe('own')
    }
    expect(await (await fetch(`${url}/.well-known/jwks.json/tenant`)).json()).toEqual(KEYS)
  }

  test('Fastify', async () => {
    const app = Fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    await app.register(mountFastify(createMetadata()))
    app.get('/*', async () => 'own')
    await check(await app.listen({ port: 0, host: '127.0.0.1' }))
  })

  test('Elysia', async () => {
    const app = new Elysia({ adapter: elysiaNode() })
      .use(mountElysia(createMetadata()))
      .get('/*', () => 'own')
    const server = await serveFetch((request) => app.handle(request), 0)
    onTestFinished(() => server.close())
    await check(server.url)
  })

  test('Express', async () => {
    const app = express()
    app.use(mountExpress(createMetadata()))
    app.get('/*path', (_req, res) => void res.send('own'))
    const server = await serveNode(app, 0)
    onTestFinished(() => server.close())
    await check(server.url)
  })
})

test('Express: a form that a parser with nested fields has read is the same form', async () => {
  const { tokens } = createRevocable()
  const app = express()
  app.use(express.urlencoded({ extended: true }))
  app.use(mountExpress(createIntrospectionRoute(tokens, { client })))
  const server = await serveNode(app, 0)
  onTestFinished(() => server.close())
  const url = `${server.url}/oauth/introspect`
  const token = tokens.createAccessToken({ uid: 'ada' })
  expect(await (await postForm(url, { token, 'x[y]': 'Zoë & co' })).json()).toMatchObject({ active: true })
  for (const body of [`token=${token}&token=${token}`, `token[a]=${token}`, 'x=1&x=2&token=a']) {
    expect((await postForm(url, body)).status).toBe(400)
  }
})

describe.each(['a:b', 'a%20b/*', 'a,b', '(a)+b;c=d@e'])('the path of https://id.example/%s', (path) => {
  const issuer = `https://id.example/${path}`

  test('is no pattern of a router', async () => {
    for (const name of ['Fastify', 'Elysia'] as const) {
      const app = await MOUNTS[name]!(createMetadata(issuer))
      onTestFinished(() => app.close())
      const wellKnown = `${app.url}/.well-known/oauth-authorization-server`
      expect(await (await fetch(`${wellKnown}/${path}`)).json()).toMatchObject({ issuer })
      expect((await fetch(`${wellKnown}/axb`)).status).toBe(404)
    }
  })

  test('leaves other files below /.well-known to a wildcard route of the application', async () => {
    const fastify = Fastify()
    await fastify.register(mountFastify(createMetadata(issuer)))
    fastify.get('/*', async () => 'own')
    expect((await fastify.inject('/.well-known/security.txt')).body).toBe('own')
    const elysia = new Elysia().use(mountElysia(createMetadata(issuer))).get('/*', () => 'own')
    const response = await elysia.handle(new Request('http://localhost/.well-known/security.txt'))
    expect(await response.text()).toBe('own')
  })
})

test('two issuers with such paths are mounted in one application', async () => {
  const issuers = ['https://id.example/a,b', 'https://id.example/c,d']
  const fastify = Fastify()
  const elysia = new Elysia()
  for (const issuer of issuers) {
    const { config } = createRevocable().tokens
    const server = { response_types_supported: ['none'] }
    const routes = createMetadataRoutes({ config, keys: { jwks: () => KEYS } }, { issuer, server })
    await fastify.register(mountFastify(routes))
    elysia.use(mountElysia(routes))
  }
  for (const issuer of issuers) {
    const path = `/.well-known/oauth-authorization-server${new URL(issuer).pathname}`
    expect((await fastify.inject(path)).json()).toMatchObject({ issuer })
    expect(await (await elysia.handle(new Request(`http://localhost${path}`))).json()).toMatchObject({
      issuer,
    })
  }
})
