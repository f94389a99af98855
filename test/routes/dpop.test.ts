import { beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { DpopOptions } from '../../packages/tokenlib/src/proofs/dpop.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { createDpopClient, type ProofFacts, PUBLIC_URL } from '../helpers/dpop.js'
import { createClock, openToken, PATIENT, SECRET } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

let client: Awaited<ReturnType<typeof createDpopClient>>

beforeAll(async () => {
  client = await createDpopClient()
})

function open(dpop: Partial<DpopOptions> = {}, config: TokenConfigOptions = {}) {
  const clock = createClock()
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...config }),
    clock,
    store: createMemoryStore({ clock }),
    dpop: { publicUrl: PUBLIC_URL, ...dpop },
  })
  let attempts = 0
  const logIn = () => {
    attempts++
    return { uid: 'ada' }
  }
  const routes = createSessionRoutes(tokens, { logIn })
  /** Calls a route with a proof, or without if `facts` is `null`. */
  const call = async (
    route: string,
    { token = null, facts = {}, headers = {} }: Call = {},
  ): Promise<{ status: number; headers: Headers; body: Readonly<Record<string, unknown>> }> => {
    const [method = '', path = ''] = route.split(' ')
    const url = `${PUBLIC_URL}/auth/${path}`
    const proof = facts && (await client.prove({ method, url, ...(token !== null && { token }), ...facts }))
    const request = new Request(url, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(proof !== null && { dpop: proof }),
        ...(token !== null && { authorization: `${proof === null ? 'Bearer' : 'DPoP'} ${token}` }),
        ...headers,
      },
      ...(method === 'POST' && { body: '{"name":"ada","password":"secret"}' }),
    })
    const response = (await routes.handle(request)) as Response
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: JSON.parse(text || '{}') as Record<string, unknown>,
    }
  }
  return { tokens, call, attempts: () => attempts }
}

interface Call {
  readonly token?: string | null
  readonly facts?: ProofFacts | null
  readonly headers?: Record<string, string>
}

describe('a login with a proof', () => {
  test('opens a session that is bound to its key, up to the logout', async () => {
    const { call } = open()
    const login = await call('POST login')
    expect(login.status).toBe(200)
    const { accessToken, refreshToken } = login.body as { accessToken: string; refreshToken: string }
    expect(openToken(accessToken).claims['cnf']).toEqual({ jkt: client.jkt })

    expect((await call('GET session', { token: accessToken })).status).toBe(200)
    expect((await call('GET session', { token: accessToken, facts: null })).body).toMatchObject({
      code: 'PROOF_REQUIRED',
    })
    const refreshed = await call('POST refresh', { token: refreshToken })
    expect(refreshed.status).toBe(200)
    expect((await call('POST refresh', { token: refreshToken, facts: null })).body).toMatchObject({
      code: 'PROOF_REQUIRED',
    })
    expect((await call('POST step-up', { token: refreshToken })).status).toBe(200)
    expect((await call('GET sessions', { token: accessToken })).status).toBe(200)
    expect((await call('POST logout', { token: refreshToken })).status).toBe(204)
    expect((await call('GET session', { token: accessToken })).body).toMatchObject({ code: 'TOKEN_REVOKED' })
  })

  test('that is invalid opens none, and is told why', async () => {
    const { tokens, call } = open()
    const login = await call('POST login', { facts: { url: `${PUBLIC_URL}/auth/refresh` } })
    expect(login.status).toBe(401)
    expect(login.body).toMatchObject({ code: 'PROOF_INVALID' })
    expect(login.headers.get('www-authenticate')).toMatch(/^DPoP .*error="invalid_dpop_proof"/)
    expect(await tokens.sessions.list('ada')).toEqual([])
  })

  test('and a nonce gets a new one with every pair', async () => {
    const { call, attempts } = open({ nonceSecret: 'a-secret-for-nonces-of-at-least-32-bytes' })
    const refused = await call('POST login')
    expect(attempts()).toBe(0)
    expect(refused.body).toMatchObject({ code: 'PROOF_NONCE_REQUIRED' })
    const nonce = refused.headers.get('dpop-nonce')
    const login = await call('POST login', { facts: { claims: { nonce } } })
    expect(login.status).toBe(200)
    expect(login.headers.get('dpop-nonce')).toMatch(/^[\w-]{30}$/)
  })
})

describe('a login without a proof', () => {
  test('opens a session of bearer tokens', async () => {
    const { tokens, call } = open()
    const { accessToken } = (await call('POST login', { facts: null })).body as { accessToken: string }
    expect(openToken(accessToken).claims['cnf']).toBeUndefined()
    const request = new Request(`${PUBLIC_URL}/`, { headers: { authorization: `Bearer ${accessToken}` } })
    expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('ok')
  })

  test('is refused where proofs are required', async () => {
    const { tokens, call } = open({ required: true })
    expect(await call('POST login', { facts: null })).toMatchObject({
      status: 401,
      body: { code: 'PROOF_REQUIRED' },
    })
    expect(await tokens.sessions.list('ada')).toEqual([])
    expect((await call('POST login')).status).toBe(200)
  })
})

test('tokens in cookies need a proof, which does not have to name them', async () => {
  const { call } = open({}, { JWT_TOKEN_LOCATION: 'cookies' })
  const login = await call('POST login')
  expect(login.status).toBe(200)
  const cookies = parseSetCookies(login.headers.getSetCookie())
  const cookie = Object.values(cookies).map(({ name, value }) => `${name}=${value}`)
  const headers = { cookie: cookie.join('; '), 'x-csrf-token': cookies['csrf_access_token']?.value ?? '' }
  expect((await call('GET session', { headers })).status).toBe(200)
  expect((await call('POST refresh', { headers })).status).toBe(200)
  expect((await call('POST refresh', { headers, facts: null })).body).toMatchObject({
    code: 'PROOF_REQUIRED',
  })
  const stranger = await createDpopClient()
  const facts = { claims: {} }
  const theirs = await stranger.prove({ method: 'POST', url: `${PUBLIC_URL}/auth/refresh`, ...facts })
  const stolen = await call('POST refresh', { facts: null, headers: { ...headers, dpop: theirs } })
  expect(stolen.body).toMatchObject({ code: 'PROOF_INVALID' })
  const forAnother = await call('POST refresh', { headers, facts: { token: 'another' } })
  expect(forAnother.body).toMatchObject({ code: 'PROOF_INVALID' })
})
