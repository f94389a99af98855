import { beforeAll, describe, expect, test } from 'vitest'
import { TokenManager } from '../../packages/tokenlib/src/index.js'
import { refreshImplicitly } from '../../packages/tokenlib/src/sessions/implicit-refresh.js'
import {
  createSessionRoutes,
  describeSessionRoutes,
} from '../../packages/tokenlib/src/routes/session-routes.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { createDpopClient, PUBLIC_URL } from '../helpers/dpop.js'
import { createKeyPair } from '../helpers/keys.js'
import { openToken } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { createBoundRoutes, createDevice, type Device, readChallenge } from './device-fixture.js'
import { COOKIES, createRoutes, logIn, outcome } from './routes.js'

let device: Device
beforeAll(async () => void (device = await createDevice()))

const cookiesOf = (response: Response) => parseSetCookies(response.headers.getSetCookie())

describe('the flow of the draft', () => {
  test('a login offers a registration, which binds the refresh token and gives instructions', async () => {
    const { createBrowser } = createBoundRoutes()
    const browser = createBrowser()
    const login = await browser.logIn()
    expect(readChallenge(login).path).toBe('/auth/device/register')
    const answer = await browser.register(device, login)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    const { access_token_cookie: access, refresh_token_cookie: refresh } = cookiesOf(answer)
    const { sid } = openToken(access?.value ?? '').claims
    expect(await answer.json()).toEqual({
      session_identifier: sid,
      refresh_url: '/auth/device/refresh',
      scope: { include_site: false },
      credentials: [
        { type: 'cookie', name: 'access_token_cookie', attributes: 'Path=/; HttpOnly; SameSite=Lax' },
      ],
    })
    const { kty, crv, x, y } = device.jwk
    expect(openToken(refresh?.value ?? '').claims['cnf']).toEqual({ jwk: { kty, crv, x, y } })
    expect(openToken(access?.value ?? '').claims['cnf']).toBeUndefined()
  })

  test('a refresh gets a challenge, and with its signature new cookies, again and again', async () => {
    const { createBrowser, clock } = createBoundRoutes()
    const browser = createBrowser()
    const session = await browser.bind(device)
    for (let round = 0; round < 3; round++) {
      clock.seconds += 900
      expect(await outcome(await browser.send('GET /auth/session'))).toEqual([401, 'TOKEN_EXPIRED'])
      const answer = await browser.refresh(device, session)
      expect(answer.status).toBe(200)
      expect(cookiesOf(answer)).toHaveProperty('refresh_token_cookie')
      expect(await answer.json()).toEqual(session)
      expect((await browser.send('GET /auth/session')).status).toBe(200)
    }
  })

  test('a young refresh token stays as it is, and stays bound', async () => {
    const { createBrowser, clock } = createBoundRoutes()
    const browser = createBrowser()
    const session = await browser.bind(device)
    clock.seconds += 1
    const answer = await browser.refresh(device, session)
    expect(Object.keys(cookiesOf(answer))).toEqual(['access_token_cookie', 'csrf_access_token'])
    clock.seconds += 900
    expect((await browser.refresh(device, session)).status).toBe(200)
  })

  test('an RSA key is as good', async () => {
    const { createBrowser, clock } = createBoundRoutes()
    const browser = createBrowser()
    const rsa = await createDevice('RS256')
    const session = await browser.bind(rsa)
    clock.seconds += 900
    expect((await browser.refresh(rsa, session)).status).toBe(200)
  })

  test('challenges are signed with whatever key the tokens are', async () => {
    const { privateKey, publicKey } = createKeyPair('ES256')
    const keys = { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: privateKey, JWT_PUBLIC_KEY: publicKey } as const
    const { createBrowser, clock } = createBoundRoutes({ JWT_SECRET_KEY: null, ...keys })
    const browser = createBrowser()
    const session = await browser.bind(device)
    clock.seconds += 900
    expect((await browser.refresh(device, session)).status).toBe(200)
  })

  test('headers are strings of structured fields, as the draft says, or bare, as in Chromium', async () => {
    const { createBrowser } = createBoundRoutes()
    const browser = createBrowser()
    const { session_identifier: id } = await browser.bind(device)
    const headers = { 'sec-secure-session-id': `"${id}";v=1` }
    const asked = await browser.call('/auth/device/refresh', headers)
    expect(readChallenge(asked).id).toBe(id)
    const proof = await device.prove(readChallenge(asked).challenge)
    const signed = { ...headers, 'secure-session-response': `"${proof}"` }
    expect((await browser.call('/auth/device/refresh', signed)).status).toBe(200)
  })

  test.each<[name: string, fresh: boolean | string, seconds: number, expected: unknown]>([
    ['stays fresh if it is', true, 50, true],
    ['stays fresh for as long as it would have been', '40s', 30, 10],
    ['stays not fresh', false, 0, false],
    ['does not become fresh after that time', '40s', 40, false],
    ['does not become fresh if it is expired', true, 60, false],
  ])('the access token %s', async (_name, fresh, seconds, expected) => {
    const describeUser = () => ({ access: { fresh } })
    const { createBrowser, clock } = createBoundRoutes({ JWT_ACCESS_TOKEN_EXPIRES: 60 }, { describeUser })
    const browser = createBrowser()
    const login = await browser.logIn()
    clock.seconds += seconds
    const { access_token_cookie: access } = cookiesOf(await browser.register(device, login))
    const { fresh: found } = openToken(access?.value ?? '').claims
    expect(typeof found === 'number' ? found - clock.seconds : found).toBe(expected)
  })

  test('the access cookie ends before its token, also in a session that ends with the browser', async () => {
    const { createBrowser } = createBoundRoutes()
    const browser = createBrowser()
    const answer = await browser.register(device, await browser.logIn('ada', { remember: false }))
    const { access_token_cookie: access, refresh_token_cookie: refresh } = cookiesOf(answer)
    expect(access?.attributes['max-age']).toBe('890')
    expect(refresh?.attributes['max-age']).toBeUndefined()
  })
})

describe('a bound refresh token without its device', () => {
  async function steal() {
    const fixture = createBoundRoutes()
    const browser = fixture.createBrowser()
    const session = await browser.bind(device)
    const token = /refresh_token_cookie=([^;]*)/.exec(browser.jar.headers('/').cookie ?? '')?.[1] ?? ''
    return { ...fixture, browser, session, token }
  }

  test('is refused by every other way to use it, and the session goes on', async () => {
    const { tokens, clock, browser, session, token } = await steal()
    clock.seconds += 900
    const bearer = new Request('http://localhost/', { headers: { authorization: `Bearer ${token}` } })
    expect(await outcomeOf(tokens.sessions.refresh(token))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.sessions.refresh(bearer))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.refreshTokenRequired(bearer))).toBe('PROOF_REQUIRED')
    expect(await outcomeOf(tokens.verify(token, { type: 'refresh' }))).toBe('PROOF_REQUIRED')
    const alone = { headers: { cookie: `refresh_token_cookie=${token}` } }
    expect(await outcome(await browser.send('POST /auth/refresh', alone))).toEqual([401, 'PROOF_REQUIRED'])
    const body = { name: 'ada', password: 'secret' }
    expect(await outcome(await browser.send('POST /auth/step-up', { body }))).toEqual([401, 'PROOF_REQUIRED'])
    expect(await refreshImplicitly(tokens, browser.request())).toBeNull()
    expect((await browser.refresh(device, session)).status).toBe(200)
  })

  test('may ask for the session of a valid access token, as the client of a page does', async () => {
    const { browser, clock } = await steal()
    clock.seconds += 100
    const answer = await browser.send('POST /auth/refresh')
    expect(answer.status).toBe(200)
    expect(answer.headers.getSetCookie()).toEqual([])
    expect(await answer.json()).toEqual({
      session: expect.objectContaining({ accessExpiresIn: 800 }) as object,
    })
    expect(await outcome(await browser.send('POST /auth/refresh', { csrf: null }))).toEqual([
      401,
      'CSRF_MISSING',
    ])
    clock.seconds += 900
    expect((await browser.send('POST /auth/refresh')).status).toBe(401)
  })

  test('logs out, and its session is replaced by the next login', async () => {
    const { tokens, browser, session, clock } = await steal()
    expect((await browser.send('POST /auth/logout')).status).toBe(204)
    expect((await browser.refresh(device, session)).status).toBe(401)
    await browser.bind(device)
    clock.seconds += 900
    // As in a browser, where the access cookie is gone.
    browser.jar.store(['access_token_cookie=; Path=/; Max-Age=0'])
    await browser.logIn()
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
  })
})

describe('the option', () => {
  const invalid = expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error

  test.each([
    ['tokens in headers', { JWT_TOKEN_LOCATION: 'headers' }],
    ['access tokens in headers', { JWT_TOKEN_LOCATION: 'headers', JWT_REFRESH_TOKEN_LOCATION: 'cookies' }],
    ['access tokens that never expire', { JWT_ACCESS_TOKEN_EXPIRES: false }],
  ] as const)('needs cookies that end: %s', (_name, config) => {
    expect(() => createBoundRoutes(config)).toThrow(invalid)
  })

  test('is true or false', () => {
    expect(() => createRoutes(COOKIES, { deviceBound: 'yes' as never })).toThrow(TypeError)
  })

  test('without it, there are no such routes and no such header', async () => {
    const browser = createRoutes().createBrowser()
    const login = await browser.logIn()
    expect(login.headers.has('secure-session-registration')).toBe(false)
    expect((await browser.send('POST /auth/device/register')).status).toBe(599)
    expect((await browser.send('POST /auth/device/refresh')).status).toBe(599)
  })

  test('a login with bearer tokens or with a key of its own is offered nothing', async () => {
    const browser = createBoundRoutes().createBrowser()
    const bearer = await browser.logIn('ada', { transport: 'bearer' })
    expect(bearer.headers.has('secure-session-registration')).toBe(false)

    const { tokens, clock, store } = createRevocable(COOKIES)
    const dpop = { publicUrl: PUBLIC_URL }
    const proving = new TokenManager({ config: tokens.config, clock, store, dpop })
    const { login } = createSessionRoutes(proving, { logIn, deviceBound: true })
    const client = await createDpopClient()
    const url = `${PUBLIC_URL}/auth/login`
    const { headers } = await client.request(null, { method: 'POST', url })
    headers.set('content-type', 'application/json')
    const body = JSON.stringify({ name: 'ada', password: 'secret' })
    const answer = await login(new Request(url, { method: 'POST', headers, body }))
    expect(answer.status).toBe(200)
    expect(answer.headers.has('secure-session-registration')).toBe(false)
  })

  test.each(['register', 'refresh'])('%s takes POST, and leaves pre-flight requests alone', async (route) => {
    const browser = createBoundRoutes().createBrowser()
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const answer = await browser.send(`${method} /auth/device/${route}`)
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    }
    expect((await browser.send(`OPTIONS /auth/device/${route}`)).status).toBe(599)
  })

  test('adds both routes to the description', () => {
    const { tokens } = createBoundRoutes()
    const plain = Object.keys(describeSessionRoutes(tokens).paths)
    const { paths } = describeSessionRoutes(tokens, { deviceBound: true })
    expect(Object.keys(paths)).toEqual([...plain, '/auth/device/register', '/auth/device/refresh'])
    const { security, responses } = paths['/auth/device/refresh']?.['post'] ?? {}
    expect(security).toEqual([{ refreshCookieAuth: [] }])
    expect(Object.keys(responses ?? {})).toEqual(['200', '401', '403', '503'])
  })
})
