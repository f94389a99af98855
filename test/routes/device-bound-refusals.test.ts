import { beforeAll, describe, expect, test } from 'vitest'
import { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import {
  createBoundRoutes,
  createDevice,
  type Device,
  type Instructions,
  type ProofFacts,
  readChallenge,
} from './device-fixture.js'
import { logIn, outcome } from './routes.js'

let device: Device
let other: Device
beforeAll(async () => {
  device = await createDevice()
  other = await createDevice()
})

const tokenOf = (browser: ReturnType<ReturnType<typeof createBoundRoutes>['createBrowser']>) =>
  /refresh_token_cookie=([^;]*)/.exec(browser.jar.headers('/')['cookie'] ?? '')?.[1] ?? ''

describe('a registration is refused, and the session goes on without a key,', () => {
  test.each<[name: string, facts: () => ProofFacts]>([
    ['with the typ of another kind of JWT', () => ({ header: { typ: 'dpop+jwt' } })],
    ['without a typ', () => ({ header: { typ: undefined } })],
    ['without a key', () => ({ header: { jwk: undefined } })],
    ['with an invalid key', () => ({ header: { jwk: 'key' } })],
    ['with a private key', () => ({ header: { jwk: { ...device.jwk, d: 'AAAA' } } })],
    ['with the key of somebody else', () => ({ header: { jwk: other.jwk } })],
    ['with a key for encryption', () => ({ header: { jwk: { ...device.jwk, use: 'enc' } } })],
    ['with a linked key', () => ({ header: { jku: 'https://evil.example' } })],
    ['if it is oversized', () => ({ claims: { padding: 'x'.repeat(4096) } })],
  ])('%s', async (_name, facts) => {
    const browser = createBoundRoutes().createBrowser()
    const answer = await browser.register(device, await browser.logIn(), facts())
    expect(await outcome(answer)).toEqual([401, 'PROOF_INVALID'])
    expect(answer.headers.getSetCookie()).toEqual([])
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
  })

  test.each<[name: string, challenge: (own: string, token: string) => unknown]>([
    ['of another type', () => 7],
    ['that is left out', () => undefined],
    ['that is none of ours', () => 'challenge'],
    ['that was changed', (own) => own.slice(0, -4) + (own.endsWith('AAAA') ? 'BBBB' : 'AAAA')],
    ['that is a token', (_own, token) => token],
    ['that is oversized', (own) => own + 'A'.repeat(2048)],
  ])('with a challenge %s', async (_name, create) => {
    const browser = createBoundRoutes().createBrowser()
    const login = await browser.logIn()
    const jti = create(readChallenge(login).challenge, tokenOf(browser))
    const answer = await browser.register(device, login, { claims: { jti } })
    expect(await outcome(answer)).toEqual([401, 'PROOF_NONCE_REQUIRED'])
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
  })

  test('with an expired challenge, or one for another session', async () => {
    const { createBrowser, clock } = createBoundRoutes()
    const [browser, stranger] = [createBrowser(), createBrowser()]
    const [login, foreign] = [await browser.logIn(), await stranger.logIn('eve')]
    const swapped = await browser.register(device, foreign)
    expect(await outcome(swapped)).toEqual([401, 'PROOF_NONCE_REQUIRED'])
    clock.seconds += 120
    expect(await outcome(await browser.register(device, login))).toEqual([401, 'PROOF_NONCE_REQUIRED'])
    expect((await browser.send('POST /auth/refresh')).status).toBe(200)
  })

  test('with another algorithm', async () => {
    const browser = createBoundRoutes().createBrowser()
    const answer = await browser.register(await createDevice('ES384'), await browser.logIn())
    expect(await outcome(answer)).toEqual([401, 'PROOF_INVALID'])
  })

  test.each<[name: string, headers: (proof: string) => Record<string, string>, code: string]>([
    ['without a proof', () => ({}), 'PROOF_REQUIRED'],
    ['with two', (proof) => ({ 'secure-session-response': `${proof}, ${proof}` }), 'PROOF_INVALID'],
    ['with an empty one', () => ({ 'secure-session-response': '' }), 'PROOF_INVALID'],
    ['with one that is no JWT', () => ({ 'secure-session-response': '"a.b"' }), 'PROOF_INVALID'],
  ])('%s', async (_name, headers, code) => {
    const browser = createBoundRoutes().createBrowser()
    const { challenge, path } = readChallenge(await browser.logIn())
    const answer = await browser.call(path, headers(await device.introduce(challenge)))
    expect(await outcome(answer)).toEqual([401, code])
  })

  test('after a refresh: only the first refresh token of a session can be bound', async () => {
    const { createBrowser, clock } = createBoundRoutes()
    const browser = createBrowser()
    const login = await browser.logIn()
    clock.seconds += 1
    await browser.send('POST /auth/refresh')
    expect(await outcome(await browser.register(device, login))).toEqual([401, 'PROOF_INVALID'])
  })

  test('a second time, with the new cookies and with the old ones', async () => {
    const browser = createBoundRoutes().createBrowser()
    const login = await browser.logIn()
    const cookie = browser.jar.headers('/auth')['cookie'] ?? ''
    await browser.register(device, login)
    expect(await outcome(await browser.register(other, login))).toEqual([401, 'PROOF_REQUIRED'])
    const proof = await other.introduce(readChallenge(login).challenge)
    const again = await browser.call('/auth/device/register', { cookie, 'secure-session-response': proof })
    expect(await outcome(again)).toEqual([401, 'PROOF_REUSED'])
  })
})

describe('a refresh', () => {
  async function open() {
    const fixture = createBoundRoutes()
    const browser = fixture.createBrowser()
    const session = await browser.bind(device)
    fixture.clock.seconds += 900
    const id = session.session_identifier
    const ask = (headers: Record<string, string> = {}) =>
      browser.call('/auth/device/refresh', { 'sec-secure-session-id': id, ...headers })
    const challenge = async () => readChallenge(await ask()).challenge
    const sign = async (text: string, key = device, facts: ProofFacts = {}) =>
      ask({ 'secure-session-response': await key.prove(text, facts) })
    return { ...fixture, browser, session, id, ask, challenge, sign }
  }

  test('with another key, or with one of its own choice, gets nothing', async () => {
    const { browser, session, challenge, sign } = await open()
    expect(await outcome(await sign(await challenge(), other))).toEqual([401, 'PROOF_INVALID'])
    const introduced = await sign(await challenge(), other, { header: { jwk: other.jwk } })
    expect(await outcome(introduced)).toEqual([401, 'PROOF_INVALID'])
    const rsa = await createDevice('RS256')
    expect(await outcome(await sign(await challenge(), rsa))).toEqual([401, 'PROOF_INVALID'])
    expect((await browser.refresh(device, session)).status).toBe(200)
  })

  test('with a challenge that is old, used, foreign or made up gets a new one', async () => {
    const { createBrowser, clock, id, challenge, sign } = await open()
    const [old, used] = [await challenge(), await challenge()]
    expect((await sign(used)).status).toBe(200)
    const stranger = createBrowser()
    const foreign = readChallenge(await stranger.logIn('eve')).challenge
    clock.seconds += 120
    for (const text of [old, foreign, 'challenge']) {
      const answer = await sign(text)
      expect(readChallenge(answer).id).toBe(id)
      expect(await outcome(answer)).toEqual([403, 'CHALLENGE_REQUIRED'])
    }
    const fresh = await challenge()
    expect((await sign(fresh)).status).toBe(200)
    const replayed = await sign(fresh)
    expect(await outcome(replayed.clone())).toEqual([403, 'CHALLENGE_REQUIRED'])
    expect((await sign(readChallenge(replayed).challenge)).status).toBe(200)
  })

  test('needs the header with the id of its session, which scripts cannot set', async () => {
    const { browser, ask } = await open()
    expect(await outcome(await browser.call('/auth/device/refresh', {}))).toEqual([401, 'PROOF_INVALID'])
    const headers = { 'sec-secure-session-id': 'another' }
    expect(await outcome(await ask(headers))).toEqual([401, 'PROOF_INVALID'])
  })

  test('with the cookies of another session, or without any, ends the session of the browser alone', async () => {
    const { createBrowser, browser, session, ask, challenge } = await open()
    const stranger = createBrowser()
    const theirs = await stranger.bind(other)
    const proof = await device.prove(await challenge())
    const swapped = await stranger.call('/auth/device/refresh', {
      'sec-secure-session-id': session.session_identifier,
      'secure-session-response': proof,
    })
    expect(await outcome(swapped)).toEqual([401, 'PROOF_INVALID'])
    expect(swapped.headers.getSetCookie()).toEqual([])
    expect(await outcome(await ask({ cookie: 'a=b' }))).toEqual([401, 'PROOF_REQUIRED'])
    expect((await stranger.refresh(other, theirs)).status).toBe(200)
    expect((await browser.refresh(device, session)).status).toBe(200)
  })

  test('with an unbound refresh token is refused', async () => {
    const { createBrowser, ask } = await open()
    const unbound = createBrowser()
    await unbound.logIn()
    const answer = await ask({ cookie: unbound.jar.headers('/auth')['cookie'] ?? '' })
    expect(await outcome(answer)).toEqual([401, 'PROOF_INVALID'])
  })

  test('of a session that is over says so', async () => {
    const { tokens, browser, session, id, clock } = await open()
    await tokens.revoke.session({ sid: id, sub: 'ada' })
    const revoked = await browser.refresh(device, session)
    expect(await outcome(revoked)).toEqual([401, 'TOKEN_REVOKED'])
    // A newer login may have set them.
    expect(revoked.headers.getSetCookie()).toEqual([])
    clock.seconds += 40 * 86_400
    expect(await outcome(await browser.refresh(device, session))).toEqual([401, 'TOKEN_EXPIRED'])
  })

  test('of a user who may no longer log in ends the session and deletes the cookies', async () => {
    let isGone = false
    const { createBrowser, clock } = createBoundRoutes({}, { describeUser: () => (isGone ? null : {}) })
    const browser = createBrowser()
    const session = await browser.bind(device)
    clock.seconds += 900
    isGone = true
    const answer = await browser.refresh(device, session)
    expect(await outcome(answer)).toEqual([401, 'SUBJECT_NOT_FOUND'])
    expect(answer.headers.getSetCookie()).toHaveLength(3)
  })
})

describe('a first refresh token that was stolen before it was bound', () => {
  async function steal() {
    const fixture = createBoundRoutes()
    const browser = fixture.createBrowser()
    const login = await browser.logIn()
    const stolen = tokenOf(browser)
    const session = (await (await browser.register(device, login)).json()) as Instructions
    return { ...fixture, browser, session, stolen }
  }

  test('is dead once the bound one was used, and raises the alarm', async () => {
    const { tokens, clock, browser, session, stolen } = await steal()
    clock.seconds += 900
    expect((await browser.refresh(device, session)).status).toBe(200)
    clock.seconds += 30
    await expect(tokens.sessions.refresh(stolen)).rejects.toMatchObject({ code: 'REFRESH_SUPERSEDED' })
    clock.seconds += 60
    await expect(tokens.sessions.refresh(stolen)).rejects.toMatchObject({ code: 'REFRESH_TOKEN_REUSED' })
    expect((await browser.refresh(device, session)).status).toBe(401)
  })

  test('works until then, and the next refresh of the device, after the grace, ends the session', async () => {
    const { tokens, clock, browser, session, stolen } = await steal()
    const { refreshToken } = await tokens.sessions.refresh(stolen)
    clock.seconds += 61
    await tokens.sessions.refresh(refreshToken ?? '')
    const early = await browser.refresh(device, session)
    expect([early.status, early.headers.get('retry-after')]).toEqual([503, '1'])
    clock.seconds += 839
    const answer = await browser.refresh(device, session)
    expect(await outcome(answer)).toEqual([401, 'REFRESH_TOKEN_REUSED'])
    expect(answer.headers.getSetCookie()).toHaveLength(3)
    expect(await tokens.sessions.list('ada')).toEqual([])
  })
})

describe('the store', () => {
  test('is down: 503, and nothing is lost', async () => {
    const { tokens, clock, store, createBrowser } = createBoundRoutes()
    let isDown = false
    const { spend } = store
    const failing = {
      ...store,
      spend: async (...given: Parameters<NonNullable<typeof spend>>) => {
        if (isDown) throw new Error('ECONNREFUSED')
        return spend?.(...given) ?? false
      },
    }
    const manager = new TokenManager({ config: tokens.config, clock, store: failing })
    const { handle } = createSessionRoutes(manager, { logIn, deviceBound: true })
    const browser = createBrowser(handle)
    const login = await browser.logIn()
    isDown = true
    expect(await outcome(await browser.register(device, login))).toEqual([503, 'REVOCATION_UNAVAILABLE'])
    isDown = false
    const session = (await (await browser.register(device, login)).json()) as Instructions
    clock.seconds += 900
    isDown = true
    const answer = await browser.refresh(device, session)
    expect(await outcome(answer)).toEqual([503, 'REVOCATION_UNAVAILABLE'])
    expect(answer.headers.getSetCookie()).toEqual([])
    isDown = false
    expect((await browser.refresh(device, session)).status).toBe(200)
  })

  test('cannot use ids up: a challenge can be signed again until it expires', async () => {
    const { tokens, clock, createBrowser } = createBoundRoutes()
    const { spend: _spend, ...store } = createMemoryStore({ clock })
    const manager = new TokenManager({ config: tokens.config, clock, store })
    const { handle } = createSessionRoutes(manager, { logIn, deviceBound: true })
    const browser = createBrowser(handle)
    const { session_identifier: id } = await browser.bind(device)
    clock.seconds += 900
    const headers = { 'sec-secure-session-id': id }
    const asked = await browser.call('/auth/device/refresh', headers)
    const proof = await device.prove(readChallenge(asked).challenge)
    for (const status of [200, 200]) {
      const signed = { ...headers, 'secure-session-response': proof }
      expect((await browser.call('/auth/device/refresh', signed)).status).toBe(status)
    }
  })
})
