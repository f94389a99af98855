import { calculateJwkThumbprint, type JWK } from 'jose'
import { describe, expect, test } from 'vitest'
import { dpop, type DpopKeyOptions } from '../../packages/client/src/dpop.js'
import { createTokenClient, type TokenProof } from '../../packages/client/src/index.js'
import { hash, openProofServer, ORIGIN, refuse } from './open-proof-server.js'
import { ADA, unavailable } from './open-server.js'

const NOTES = `${ORIGIN}/notes`
const NONCE = { 'dpop-nonce': 'n1' }
const CHALLENGE = { ...NONCE, 'www-authenticate': 'DPoP error="use_dpop_nonce"' }

const askForNonce = (): Response => refuse('PROOF_NONCE_REQUIRED', NONCE)

describe('a proof', () => {
  test('names the request and its token, and has a public key only', async () => {
    const clock = (): number => 1_700_000_000_900
    const { client, seen } = openProofServer({ clock })
    await client.logIn(ADA)
    await client.fetch(`${NOTES}?a=b#c`, { method: 'POST', body: 'milk' })
    expect(seen[0]).toMatchObject({ route: 'POST /auth/login', authorization: null })
    const [login, note] = seen.map(({ payload }) => payload)
    expect(login).toEqual({
      jti: expect.stringMatching(/^[\w-]{22}$/),
      htm: 'POST',
      htu: `${ORIGIN}/auth/login`,
      iat: 1_700_000_000,
    })
    expect(seen[1]?.authorization).toBe('DPoP access.1')
    expect(note).toMatchObject({ htm: 'POST', htu: NOTES, ath: hash('access.1') })
    expect(note?.jti).not.toBe(login?.jti)
    expect(seen[0]?.header).toEqual({
      typ: 'dpop+jwt',
      alg: 'ES256',
      jwk: { kty: 'EC', crv: 'P-256', x: expect.any(String), y: expect.any(String) },
    })
    expect(seen[1]?.header).toEqual(seen[0]?.header)
  })

  test('goes with the refresh token too, and a logout', async () => {
    const { client, seen, events, plan } = openProofServer()
    await client.logIn(ADA)
    plan('GET /notes', () => refuse('TOKEN_EXPIRED'))
    expect((await client.fetch(NOTES)).status).toBe(200)
    await client.logOut()
    expect(seen.map(({ route, authorization }) => [route, authorization])).toEqual([
      ['POST /auth/login', null],
      ['GET /notes', 'DPoP access.1'],
      ['POST /auth/refresh', 'DPoP refresh.1'],
      ['GET /notes', 'DPoP access.2'],
      ['POST /auth/logout', 'DPoP refresh.2'],
    ])
    expect(new Set(seen.map(({ payload }) => payload.jti)).size).toBe(5)
    expect(events).toEqual(['loggedIn', 'refreshed', 'loggedOut'])
  })

  test('has no hash of a token in a cookie', async () => {
    const { createClient, seen } = openProofServer()
    const { client } = createClient({ transport: 'cookies', readCookie: () => 'csrf' })
    await client.logIn(ADA)
    expect(seen[0]?.payload).not.toHaveProperty('ath')
  })

  test('is new for every attempt during an outage', async () => {
    const { client, seen, plan } = openProofServer()
    await client.logIn(ADA)
    plan('GET /notes', unavailable())
    expect((await client.fetch(NOTES)).status).toBe(200)
    expect(new Set(seen.map(({ payload }) => payload.jti)).size).toBe(3)
  })

  test.each([
    ['another origin', 'https://evil.example/', {}],
    ['an Authorization of its own', NOTES, { authorization: 'Basic YTpi' }],
  ])('is not part of a request with %s', async (_kind, url, headers) => {
    const sent: Request[] = []
    const fetch = async (input: string | URL | Request): Promise<Response> => {
      sent.push(new Request(input))
      return new Response()
    }
    const client = createTokenClient({ path: `${ORIGIN}/auth`, proof: dpop(), fetch })
    await client.fetch(url, { headers })
    expect(sent[0]?.headers.get('dpop')).toBeNull()
    expect(sent[0]?.redirect).toBe('follow')
  })

  test('stays with its origin: a redirect outside a browser is returned, even of a GET', async () => {
    const redirects: string[] = []
    const fetch = async (input: string | URL | Request): Promise<Response> => {
      redirects.push(new Request(input).redirect)
      return new Response()
    }
    const client = createTokenClient({ path: `${ORIGIN}/auth`, proof: dpop(), fetch })
    await client.fetch(NOTES)
    await client.fetch(NOTES, { redirect: 'error' })
    expect(redirects).toEqual(['manual', 'error'])
  })
})

describe('a nonce', () => {
  test('that a login needs is sent immediately, and with every later request', async () => {
    const { client, seen, events, plan, routes } = openProofServer()
    plan('POST /auth/login', askForNonce)
    await client.logIn(ADA)
    await client.fetch(NOTES)
    expect(routes()).toEqual(['POST /auth/login', 'POST /auth/login', 'GET /notes'])
    expect(seen.map(({ payload }) => payload.nonce)).toEqual([undefined, 'n1', 'n1'])
    expect(events).toEqual(['loggedIn'])
  })

  test('of any answer replaces the one before, for its origin only', async () => {
    const { createClient, seen, plan } = openProofServer()
    const { client } = createClient({ origins: ['https://other.example'] })
    plan('GET /notes', () => new Response(null, { headers: { 'dpop-nonce': 'n2' } }))
    for (const origin of [ORIGIN, ORIGIN, 'https://other.example']) await client.fetch(`${origin}/notes`)
    expect(seen.map(({ payload }) => payload.nonce)).toEqual([undefined, 'n2', undefined])
  })

  test('is read from a challenge, and the body is sent again', async () => {
    const { client, plan } = openProofServer()
    await client.logIn(ADA)
    plan('POST /notes', () => new Response('no', { status: 401, headers: CHALLENGE }))
    const response = await client.fetch(NOTES, { method: 'POST', body: 'milk' })
    expect(await response.json()).toEqual({ body: 'milk' })
  })

  test.each([
    ['a server that asks again', askForNonce, 2],
    ['a challenge without a code', () => new Response(null, { status: 401, headers: CHALLENGE }), 2],
    ['a nonce that the page cannot read', () => refuse('PROOF_NONCE_REQUIRED'), 1],
  ])('%s gets no refresh, and nobody is logged out', async (_kind, answer, count) => {
    const { client, events, plan, routes } = openProofServer()
    await client.logIn(ADA)
    plan('GET /notes', answer, answer)
    expect((await client.fetch(NOTES)).status).toBe(401)
    expect(routes(1)).toEqual(Array.from({ length: count }, () => 'GET /notes'))
    expect(events).toEqual(['loggedIn'])
  })

  test('is not sent with a stream again, and the next request has it', async () => {
    const { client, seen, events, plan } = openProofServer()
    await client.logIn(ADA)
    plan('POST /notes', askForNonce)
    const body = new Blob(['streamed']).stream()
    expect((await client.fetch(NOTES, { method: 'POST', body, duplex: 'half' })).status).toBe(401)
    expect((await client.fetch(NOTES)).status).toBe(200)
    expect(seen.map(({ payload }) => payload.nonce)).toEqual([undefined, undefined, 'n1'])
    expect(events).toEqual(['loggedIn'])
  })

  test('that a refresh is refused for keeps the session', async () => {
    const { client, events, plan } = openProofServer()
    await client.logIn(ADA)
    plan('GET /notes', () => refuse('TOKEN_EXPIRED'))
    plan('POST /auth/refresh', askForNonce, askForNonce)
    await expect(client.fetch(NOTES)).rejects.toMatchObject({ code: 'PROOF_NONCE_REQUIRED' })
    expect(events).toEqual(['loggedIn', 'offline'])
    expect((await client.fetch(NOTES)).status).toBe(200)
  })
})

describe('a refused proof', () => {
  const at = Date.UTC(2026, 0, 1)
  const date = new Date(at + 600_000).toUTCString()

  test('is corrected if the clock of the machine is wrong', async () => {
    const { client, seen, plan } = openProofServer({ clock: () => at })
    plan('POST /auth/login', () => refuse('PROOF_INVALID', { ...NONCE, date }))
    await client.logIn(ADA)
    await client.fetch(NOTES)
    expect(seen.map(({ payload }) => (payload.iat ?? 0) - at / 1000)).toEqual([0, 600, 600])
  })

  test('may need a nonce and then the time', async () => {
    const { client, routes, plan } = openProofServer({ clock: () => at })
    plan('POST /auth/login', askForNonce, () => refuse('PROOF_INVALID', { date }))
    await client.logIn(ADA)
    expect(routes()).toHaveLength(3)
  })

  test.each([
    ['has no time', {}],
    ['has the time of this machine', { date: new Date(at + 2000).toUTCString() }],
    ['has no valid time', { date: 'now' }],
  ])('is final if the answer %s', async (_kind, headers) => {
    const { client, routes, plan } = openProofServer({ clock: () => at })
    plan('POST /auth/login', () => refuse('PROOF_INVALID', headers))
    await expect(client.logIn(ADA)).rejects.toMatchObject({ code: 'PROOF_INVALID' })
    expect(routes()).toHaveLength(1)
  })

  test.each(['PROOF_INVALID', 'PROOF_REQUIRED'])('with %s at a refresh ends the session', async (code) => {
    const { client, events, plan, routes } = openProofServer()
    await client.logIn(ADA)
    plan('GET /notes', () => refuse('TOKEN_EXPIRED'))
    plan('POST /auth/refresh', () => refuse(code))
    expect((await client.fetch(NOTES)).status).toBe(401)
    expect(routes(1)).toEqual(['GET /notes', 'POST /auth/refresh'])
    expect(events).toEqual(['loggedIn', 'loggedOut'])
  })

  test('that was seen before is replaced where that does no harm', async () => {
    const { client, events, plan, routes } = openProofServer()
    await client.logIn(ADA)
    const refuseOnce = (): Response => refuse('PROOF_REUSED')
    plan('GET /notes', refuseOnce, () => refuse('TOKEN_EXPIRED'))
    plan('POST /auth/refresh', refuseOnce)
    plan('POST /notes', refuseOnce)
    expect((await client.fetch(NOTES)).status).toBe(200)
    // The handler may have done its work.
    expect((await client.fetch(NOTES, { method: 'POST' })).status).toBe(401)
    const refreshed = ['POST /auth/refresh', 'POST /auth/refresh', 'GET /notes']
    expect(routes(1)).toEqual(['GET /notes', 'GET /notes', ...refreshed, 'POST /notes'])
    expect(events).toEqual(['loggedIn', 'refreshed'])
  })
})

test('a key that is not created in time does not keep a request from being aborted', async () => {
  const proof: TokenProof = () => new Promise(() => {})
  const { createClient } = openProofServer()
  const { client } = createClient({ proof })
  const controller = new AbortController()
  const sent = client.fetch(NOTES, { signal: controller.signal })
  controller.abort(new Error('left'))
  await expect(sent).rejects.toThrow('left')
})

test('clients without a database have a key each', async () => {
  const { createClient, seen } = openProofServer()
  for (const options of [{}, {}, { storage: 'memory', name: 'other' }] satisfies DpopKeyOptions[]) {
    const { client } = createClient({ proof: dpop(options) })
    await client.logIn(ADA)
  }
  const keys = await Promise.all(
    seen.map(({ header }) => calculateJwkThumbprint((header as { jwk: JWK }).jwk)),
  )
  expect(new Set(keys).size).toBe(3)
})

test.each([{ storage: 'cookies' }, { storage: null }, { name: '' }, { name: 1 }, { key: 'a' }])(
  'the options %j are a TypeError',
  (options) => {
    expect(() => dpop(options as DpopKeyOptions)).toThrow(TypeError)
  },
)

test.each(['bearer', 'cookies'] as const)('a socket with %s is a TypeError: it has no proof', (transport) => {
  const { createClient } = openProofServer()
  const { client } = createClient({ transport })
  expect(() => client.socket(`${ORIGIN}/live`)).toThrow(TypeError)
})
