import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createForeign, createReceiver, flipToken } from '../helpers/foreign.js'
import { createClock, NOW, openToken, withBearer } from '../helpers/manager.js'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'

const A = createForeign('https://a.example')
const B = createForeign('https://b.example', { algorithm: 'EdDSA' })

/** A socket and what it was closed with. */
function createSocket() {
  const closed: unknown[] = []
  const close = (...given: unknown[]): void => void closed.push(given[0])
  return { readyState: 1, closed, close, addEventListener() {} }
}

describe('sockets', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('a handshake takes a token of an issuer in every place', async () => {
    const { tokens } = createReceiver([A.options()], {
      config: { JWT_TOKEN_LOCATION: ['headers', 'cookies', 'query'] },
    })
    const token = A.sign()
    const origin = 'https://app.example'
    const name = tokens.config.JWT_ACCESS_COOKIE_NAME
    const requests = [
      withBearer(token),
      createRequest({ path: `/?${tokens.config.JWT_QUERY_STRING_NAME}=${token}` }),
      createRequest({ headers: { 'sec-websocket-protocol': `bearer, ${token}` } }),
      createRequest({ headers: { origin }, cookies: { [name]: token } }),
    ]
    for (const request of requests) {
      const upgrade = await tokens.sockets.authenticate(request, { origins: [origin] })
      expect(upgrade.payload).toMatchObject({ iss: A.issuer, sub: 'ada' })
      expect(upgrade.token.token).toBe(token)
    }
  })

  test('the policy of a handshake names issuers', async () => {
    const { tokens } = createReceiver([A.options(), B.options()])
    const upgrade = (issuer: string) =>
      outcomeOf(tokens.sockets.authenticate(withBearer(A.sign()), { issuer }))
    expect(await upgrade(A.issuer)).toBe('ok')
    expect(await upgrade(B.issuer)).toBe('TOKEN_ISSUER_INVALID')
    expect(await upgrade('own')).toBe('TOKEN_ISSUER_INVALID')
  })

  test("until: 'session' is for our own sessions", async () => {
    const { tokens } = createReceiver([A.options()])
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const { sid } = openToken(accessToken).claims
    const until = 'session'
    expect(await outcomeOf(tokens.sockets.authenticate(withBearer(accessToken), { until }))).toBe('ok')
    // With the id of a session that is alive.
    const foreign = withBearer(A.sign({ sid }))
    expect(await outcomeOf(tokens.sockets.authenticate(foreign, { until }))).toBe('TOKEN_ISSUER_INVALID')
    const demands = { until, issuer: A.issuer } as const
    await expect(tokens.sockets.authenticate(withBearer(accessToken), demands)).rejects.toThrow(TypeError)
    expect(
      await outcomeOf(
        tokens.sockets.authenticate(withBearer(accessToken), { until, issuer: ['own', A.issuer] }),
      ),
    ).toBe('ok')
  })

  const watch = async (options = {}, claims = {}) => {
    const { tokens, clock } = createReceiver([A.options(options)])
    const upgrade = await tokens.sockets.authenticate(withBearer(A.sign(claims)))
    const socket = createSocket()
    const stop = tokens.sockets.closeWhenInvalid(socket, upgrade, { every: '1h' })
    const pass = async (seconds: number) => {
      clock.seconds += seconds
      await vi.advanceTimersByTimeAsync(seconds * 1000)
    }
    return { tokens, socket, stop, pass }
  }

  test('a socket is closed when its token expires, by the rules of its issuer', async () => {
    const { socket, pass } = await watch({ leeway: 30 })
    await pass(629)
    expect(socket.closed).toEqual([])
    await pass(1)
    expect(socket.closed).toEqual([4401])
  })

  test('a socket is closed when its token is too old', async () => {
    const { socket, pass } = await watch({ maxTokenAge: '5m' }, { exp: NOW + 9000 })
    await pass(239)
    expect(socket.closed).toEqual([])
    await pass(1)
    expect(socket.closed).toEqual([4401])
  })

  test('a socket is closed at the next look when its user is revoked', async () => {
    const { socket, pass, tokens } = await watch({}, { exp: NOW + 9000 })
    await tokens.revoke.user('ada', { issuer: A.issuer })
    await pass(3600)
    expect(socket.closed).toEqual([4401])
  })

  test('a socket whose keys cannot be had is watched all the same, and closed for a later attempt', async () => {
    let keys = [A.jwk]
    let isDown = false
    const fetch = () =>
      isDown ? Promise.reject(new Error('offline')) : Promise.resolve(Response.json({ keys }))
    const jwksUri = 'https://a.example/keys'
    const { tokens, clock } = createReceiver([
      A.options({ keys: { jwksUri, fetch, maxAge: '1s', maxStale: '1s' } }),
    ])
    const upgrade = await tokens.sockets.authenticate(withBearer(A.sign()))
    isDown = true
    keys = []
    vi.advanceTimersByTime(10_000)
    clock.seconds += 10
    const closed = new Promise<unknown>((resolve) => {
      const socket = { readyState: 1, close: (code: unknown) => resolve(code), addEventListener() {} }
      tokens.sockets.closeWhenInvalid(socket, upgrade, { every: '1m' })
    })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await closed).toBe(1013)
  })
})

test('a socket with a token of an issuer is closed immediately where there is a replica', async () => {
  const clock = createClock()
  const store = replicate(createMemoryStore({ clock }))
  const { tokens } = createReceiver([A.options()], { clock, store })
  onTestFinished(() => tokens.close())
  await tokens.ready()
  const upgrade = await tokens.sockets.authenticate(withBearer(A.sign({ sid: 's' })))
  const closed = new Promise<unknown>((resolve) => {
    const socket = { readyState: 1, close: (code: unknown) => resolve(code), addEventListener() {} }
    tokens.sockets.closeWhenInvalid(socket, upgrade, { every: '1h' })
  })
  await tokens.revoke.session('s', { issuer: A.issuer })
  expect(await closed).toBe(4401)
})

describe('logout', () => {
  const config = { JWT_TOKEN_LOCATION: ['headers', 'cookies'] } as const

  test('ends the session of a token of an issuer, expired or not', async () => {
    const { tokens } = createReceiver([A.options()])
    const request = withBearer(A.sign({ sid: 's', exp: NOW - 9, iat: NOW - 90 }))
    expect(await tokens.logout(request)).toMatchObject({ iss: A.issuer, sid: 's' })
    expect(await outcomeOf(tokens.verify(A.sign({ sid: 's' })))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(A.sign({ sid: 't' })))).toBe('ok')
  })

  test('ends a token that has neither sid nor jti', async () => {
    const { tokens } = createReceiver([A.options()])
    const token = A.sign({ jti: undefined })
    await tokens.logout(withBearer(token))
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(flipToken(token, 'ES256')))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(A.sign({ jti: undefined, n: 2 })))).toBe('ok')
  })

  test('ends every session of a request, also where two issuers have given the same id', async () => {
    const { tokens } = createReceiver([A.options()], { config })
    const own = await tokens.sessions.open({ uid: 'ada' })
    const { sid } = openToken(own.accessToken).claims
    for (const claims of [{ sid }, { sid: undefined, jti: sid }]) {
      const token = A.sign(claims)
      const pair = await tokens.sessions.open({ uid: 'bob' })
      const request = createRequest({
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          [tokens.config.JWT_ACCESS_CSRF_HEADER_NAME]: csrfOf(own.accessToken),
        },
        cookies: { [tokens.config.JWT_ACCESS_COOKIE_NAME]: own.accessToken },
      })
      await tokens.logout(request)
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
      expect(await outcomeOf(tokens.verify(own.accessToken))).toBe('TOKEN_REVOKED')
      expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('ok')
    }
  })

  test('a token of an issuer in a cookie has no CSRF value, and ends nothing', async () => {
    const { tokens } = createReceiver([A.options()], { config })
    const name = tokens.config.JWT_ACCESS_COOKIE_NAME
    const header = { [tokens.config.JWT_ACCESS_CSRF_HEADER_NAME]: 'x' }
    const token = A.sign({ csrf: 'x', sid: 's' })
    const request = createRequest({ method: 'POST', headers: header, cookies: { [name]: token } })
    expect(await outcomeOf(tokens.logout(request))).toBe('CSRF_MISMATCH')
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    const open = createReceiver([A.options()], { config: { ...config, JWT_COOKIE_CSRF_PROTECT: false } })
    await open.tokens.logout(createRequest({ method: 'POST', cookies: { [name]: token } }))
    expect(await outcomeOf(open.tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('a token for another application ends nothing', async () => {
    const { tokens } = createReceiver([A.options()])
    const request = withBearer(A.sign({ sid: 's', aud: 'https://other.example' }))
    expect(await tokens.logout(request)).toBeNull()
    expect(await outcomeOf(tokens.verify(A.sign({ sid: 's' })))).toBe('ok')
  })

  test('keys that cannot be had keep no other session alive', async () => {
    const keys = { jwksUri: 'https://a.example/keys', fetch: () => Promise.reject(new Error('offline')) }
    const { tokens } = createReceiver([A.options({ keys })], { config })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const request = createRequest({
      method: 'POST',
      headers: {
        authorization: `Bearer ${A.sign()}`,
        [tokens.config.JWT_ACCESS_CSRF_HEADER_NAME]: csrfOf(accessToken),
      },
      cookies: { [tokens.config.JWT_ACCESS_COOKIE_NAME]: accessToken },
    })
    expect(await outcomeOf(tokens.logout(request))).toBe('KEYS_UNAVAILABLE')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
  })
})

describe('session routes', () => {
  test('serve no user of an issuer, whatever the sub and the sid', async () => {
    const { tokens } = createReceiver([A.options(), B.options({ profile: 'tokenlib' })])
    const routes = createSessionRoutes(tokens, { logIn: async () => null })
    const pair = await tokens.sessions.open({ uid: 'ada' })
    const { sid = '' } = await tokens.verify(pair.accessToken)
    for (const token of [A.sign({ sid }), B.sign({ sid, type: 'access' })]) {
      const request = (method: string, path: string) =>
        new Request(`http://localhost/auth/${path}`, {
          method,
          headers: { authorization: `Bearer ${token}` },
        })
      const calls = [
        routes.sessions(request('GET', 'sessions')),
        routes.session(request('GET', 'session')),
        routes.endSession(request('DELETE', `sessions/${sid}`), sid),
        routes.endOtherSessions(request('DELETE', 'sessions')),
        routes.logoutEverywhere(request('POST', 'logout-everywhere')),
        routes.refresh(request('POST', 'refresh')),
      ]
      for (const answer of await Promise.all(calls)) expect(answer.status).toBe(401)
      // A logout ends what the token belongs to, which is no session of ours.
      expect((await routes.logout(request('POST', 'logout'))).status).toBe(204)
      const payload = { sub: 'ada', sid, iss: B.issuer }
      await expect(tokens.sessions.endOthers(payload)).rejects.toThrow(TypeError)
    }
    expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('ok')
    expect(await tokens.sessions.list('ada')).toHaveLength(1)
    expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('ok')
  })
})
