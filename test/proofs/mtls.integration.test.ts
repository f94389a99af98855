import { createHash, X509Certificate } from 'node:crypto'
import { request as httpsRequest } from 'node:https'
import { createServer } from 'node:https'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { H3 } from 'h3'
import { toNodeHandler } from 'h3/node'
import { Hono } from 'hono'
import Koa from 'koa'
import selfsigned from 'selfsigned'
import { beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager, type TokenManagerOptions } from '../../packages/tokenlib/src/index.js'
import type { AnyClaims } from '../../packages/tokenlib/src/index.js'
import type { JsonClaims } from '../../packages/tokenlib/src/tokens/extra-claims.js'
import * as forExpress from '../../packages/tokenlib/src/frameworks/express.js'
import * as forFastify from '../../packages/tokenlib/src/frameworks/fastify.js'
import * as forH3 from '../../packages/tokenlib/src/frameworks/h3.js'
import * as forHono from '../../packages/tokenlib/src/frameworks/hono.js'
import * as forKoa from '../../packages/tokenlib/src/frameworks/koa.js'
import {
  createSessionRoutes,
  type MountableRoutes,
} from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { openToken, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { outcomeOf } from '../helpers/revocable.js'

type Options = Partial<TokenManagerOptions<JsonClaims, AnyClaims, unknown>>
interface Certificate {
  readonly pem: string
  readonly key: string
  readonly thumbprint: string
}

let client: Certificate
let thief: Certificate

async function createCertificate(name: string): Promise<Certificate> {
  const { cert, private: key } = await selfsigned.generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
  })
  const { raw } = new X509Certificate(cert)
  return { pem: cert, key, thumbprint: createHash('sha256').update(raw).digest('base64url') }
}

beforeAll(async () => {
  client = await createCertificate('client')
  thief = await createCertificate('thief')
})

function open(options: Options = { mtls: {} }) {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT })
  return new TokenManager({ config, store: createMemoryStore(), ...options })
}

/** A request as a TLS server of Node has it. */
function withCertificate(token: string | null, certificate: Certificate | null) {
  const raw = certificate === null ? undefined : new X509Certificate(certificate.pem).raw
  return {
    method: 'GET',
    url: '/',
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    socket: { getPeerCertificate: () => (raw === undefined ? {} : { raw }) },
  }
}

describe('a session that is bound to a client certificate', () => {
  test('passes with the certificate, and with no other', async () => {
    const tokens = open()
    const pair = await tokens.sessions.open({ uid: 'ada' }, { proofOf: withCertificate(null, client) })
    expect(pair.tokenType).toBe('bearer')
    const payload = await tokens.accessTokenRequired(withCertificate(pair.accessToken, client))
    expect(payload.cnf).toEqual({ 'x5t#S256': client.thumbprint })
    for (const [certificate, code] of [
      [null, 'PROOF_REQUIRED'],
      [thief, 'PROOF_INVALID'],
    ] as const) {
      const call = tokens.accessTokenRequired(withCertificate(pair.accessToken, certificate))
      expect(await outcomeOf(call)).toBe(code)
      const refresh = tokens.sessions.refresh(withCertificate(pair.refreshToken, certificate))
      expect(await outcomeOf(refresh)).toBe(code)
    }
    // Without a connection, nobody can tell.
    await expect(tokens.accessTokenRequired(withBearer(pair.accessToken))).rejects.toThrow(
      naming('TypeError', 'readCertificate'),
    )
    const { accessToken } = await tokens.sessions.refresh(withCertificate(pair.refreshToken, client))
    expect(await outcomeOf(tokens.accessTokenRequired(withCertificate(accessToken, client)))).toBe('ok')
    expect(await outcomeOf(tokens.accessTokenRequired(withCertificate(accessToken, thief)))).toBe(
      'PROOF_INVALID',
    )
  })

  test('is not opened without one', async () => {
    const tokens = open()
    const none = withCertificate(null, null)
    expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }, { proofOf: none }))).toBe('PROOF_REQUIRED')
  })

  test('is refused by a manager that checks none', async () => {
    const { accessToken } = await open().sessions.open(
      { uid: 'ada' },
      { proofOf: withCertificate(null, client) },
    )
    const other = open({})
    expect(await outcomeOf(other.accessTokenRequired(withCertificate(accessToken, client)))).toBe(
      'PROOF_REQUIRED',
    )
  })
})

test('the application says where a proxy passes the certificate on', async () => {
  const tokens = open({
    mtls: {
      readCertificate: (request) => {
        const header = request.header('ssl-client-cert')
        return header && decodeURIComponent(header)
      },
    },
  })
  const headers = { 'ssl-client-cert': encodeURIComponent(client.pem) }
  const login = new Request('http://localhost/login', { method: 'POST', headers })
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { proofOf: login })
  const call = (others: Record<string, string>) =>
    tokens.accessTokenRequired(
      new Request('http://localhost/', { headers: { authorization: `Bearer ${accessToken}`, ...others } }),
    )
  expect(await outcomeOf(call(headers))).toBe('ok')
  expect(await outcomeOf(call({ 'ssl-client-cert': encodeURIComponent(thief.pem) }))).toBe('PROOF_INVALID')
  expect(await outcomeOf(call({}))).toBe('PROOF_REQUIRED')
  await expect(call({ 'ssl-client-cert': 'nonsense' })).rejects.toThrow(
    naming('TypeError', 'readCertificate'),
  )
})

test('required refuses tokens that are not bound', async () => {
  const tokens = open({ mtls: { required: true } })
  const token = tokens.createAccessToken({ uid: 'ada' })
  expect(await outcomeOf(tokens.accessTokenRequired(withCertificate(token, client)))).toBe('PROOF_REQUIRED')
  const strict = open().require({ proof: 'mtls' })
  expect(await outcomeOf(strict(withCertificate(token, client)))).toBe('PROOF_REQUIRED')
})

test.each([
  [{ mtls: { readCertificate: true } }, 'readCertificate'],
  [{ mtls: { requred: true } }, 'requred'],
])('%j is a TypeError', (options, name) => {
  expect(() => open(options as never)).toThrow(naming('TypeError', name))
})

test('dpop and mtls cannot both be required', () => {
  const both = { mtls: { required: true }, dpop: { publicUrl: 'https://api.example', required: true } }
  expect(() => open(both)).toThrow(naming('ConfigurationError', 'dpop', 'mtls'))
})

describe('the session routes know the certificate of a TLS connection', () => {
  const MOUNTS = {
    Express: (routes: MountableRoutes) => express().use(forExpress.mount(routes)),
    Koa: (routes: MountableRoutes) => new Koa().use(forKoa.mount(routes)).callback(),
    Fastify: async (routes: MountableRoutes) => {
      let listener: RequestListener = () => {}
      const app = fastify({
        serverFactory(handler) {
          listener = handler
          return createHttpServer()
        },
      })
      await app.register(forFastify.mount(routes))
      await app.ready()
      return listener
    },
    Hono: (routes: MountableRoutes) =>
      getRequestListener(new Hono().use(forHono.mount(routes)).fetch, { overrideGlobalObjects: false }),
    h3: (routes: MountableRoutes) => toNodeHandler(new H3().use(forH3.mount(routes))),
  } as const

  test.each(Object.entries(MOUNTS))('in %s', async (_, mount) => {
    const tokens = open()
    const routes = createSessionRoutes(tokens, { logIn: () => ({ uid: 'ada' }) })
    const listener = (await mount(routes)) as RequestListener
    const { ask, close } = await serveTls(listener)
    try {
      const pair = await ask('POST /auth/login', client)
      expect(openToken(pair['accessToken'] as string).claims['cnf']).toEqual({
        'x5t#S256': client.thumbprint,
      })
      expect(await ask('GET /auth/session', client, pair['accessToken'])).toMatchObject({
        session: { sub: 'ada' },
      })
      expect(await ask('GET /auth/session', thief, pair['accessToken'])).toMatchObject({
        code: 'PROOF_INVALID',
      })
      expect(await ask('POST /auth/refresh', thief, pair['refreshToken'])).toMatchObject({
        code: 'PROOF_INVALID',
      })
      expect(await ask('POST /auth/refresh', client, pair['refreshToken'])).toMatchObject({
        tokenType: 'bearer',
      })
    } finally {
      close()
    }
  })
})

test('a TLS server of Node knows the certificate of its client', async () => {
  const tokens = open()
  const { ask, close } = await serveTls((request, response) => {
    const answer =
      request.url === '/login'
        ? tokens.sessions.open({ uid: 'ada' }, { proofOf: request })
        : tokens.accessTokenRequired(request)
    answer.then(
      (value) => response.end(JSON.stringify(value)),
      (error: unknown) => response.end(JSON.stringify(error)),
    )
  })
  try {
    const { accessToken } = await ask('POST /login', client)
    expect(await ask('GET /', client, accessToken)).toMatchObject({ sub: 'ada' })
    expect(await ask('GET /', thief, accessToken)).toMatchObject({ code: 'PROOF_INVALID' })
  } finally {
    close()
  }
})

/** A TLS server that asks for certificates, and requests with one. */
async function serveTls(listener: RequestListener) {
  const own = await createCertificate('localhost')
  const server = createServer(
    { cert: own.pem, key: own.key, requestCert: true, rejectUnauthorized: false },
    listener,
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ask = (route: string, certificate: Certificate, token?: string) =>
    new Promise<Record<string, string>>((resolve, reject) => {
      const [method, path] = route.split(' ')
      const headers = {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      }
      const tls = {
        cert: certificate.pem,
        key: certificate.key,
        rejectUnauthorized: false,
        agent: false as const,
      }
      httpsRequest({ host: '127.0.0.1', port, path, method, headers, ...tls }, (response) => {
        let body = ''
        response.on('data', (chunk) => (body += chunk)).on('end', () => resolve(JSON.parse(body) as never))
      })
        .on('error', reject)
        .end(method === 'POST' ? '{"name":"ada"}' : undefined)
    })
  return { ask, close: () => server.close() }
}
