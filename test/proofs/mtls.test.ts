import { createHash, X509Certificate } from 'node:crypto'
import { request as httpsRequest } from 'node:https'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import selfsigned from 'selfsigned'
import { beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager, type TokenManagerOptions } from '../../packages/tokenlib/src/index.js'
import type { AnyClaims } from '../../packages/tokenlib/src/index.js'
import type { JsonClaims } from '../../packages/tokenlib/src/tokens/extra-claims.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { PATIENT, SECRET, withBearer } from '../helpers/manager.js'
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
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(pair.accessToken)))).toBe('PROOF_REQUIRED')
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

test('a TLS server of Node knows the certificate of its client', async () => {
  const tokens = open()
  const own = await createCertificate('localhost')
  const server = createServer(
    { cert: own.pem, key: own.key, requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      const answer = request.url === '/login' ? logIn(request) : tokens.accessTokenRequired(request)
      answer.then(
        (value) => response.end(JSON.stringify(value)),
        (error: unknown) => response.end(JSON.stringify(error)),
      )
    },
  )
  const logIn = (request: Parameters<typeof tokens.accessTokenRequired>[0]) =>
    tokens.sessions.open({ uid: 'ada' }, { proofOf: request })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ask = (path: string, certificate: Certificate, token?: string) =>
    new Promise<Record<string, string>>((resolve, reject) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      const tls = {
        cert: certificate.pem,
        key: certificate.key,
        rejectUnauthorized: false,
        agent: false as const,
      }
      httpsRequest({ host: '127.0.0.1', port, path, headers, ...tls }, (response) => {
        let body = ''
        response.on('data', (chunk) => (body += chunk)).on('end', () => resolve(JSON.parse(body) as never))
      })
        .on('error', reject)
        .end()
    })
  try {
    const { accessToken } = await ask('/login', client)
    expect(await ask('/', client, accessToken)).toMatchObject({ sub: 'ada' })
    expect(await ask('/', thief, accessToken)).toMatchObject({ code: 'PROOF_INVALID' })
  } finally {
    server.close()
  }
})
