import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type BackChannelLogoutOptions,
  createBackChannelLogout,
  type SecurityEvent,
} from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createClock, NOW } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import {
  accessToken,
  API,
  CLIENT,
  createReceiving,
  forge,
  ID,
  LOGOUT,
  logoutClaims,
  logoutToken,
  OTHER,
  send,
  sendLogout,
  STRANGER,
} from './security-events-fixture.js'

function createLogout(options: Partial<BackChannelLogoutOptions> = {}) {
  const receiving = createReceiving()
  const routes = createBackChannelLogout(receiving.tokens, { clientId: CLIENT, ...options })
  const outcome = (token: string) => outcomeOf(receiving.tokens.verify(token))
  return { ...receiving, routes, outcome }
}

describe('a back-channel logout', () => {
  test('ends the session and every other token of the user, and nobody else’s', async () => {
    const { routes, outcome, revoked } = createLogout()
    const before = [
      accessToken(ID, 'ada', 'tablet'),
      accessToken(ID, 'ada'),
      accessToken(ID, 'grace', 'phone'),
      accessToken(OTHER, 'ada', 'tablet'),
    ]
    expect(await Promise.all(before.map(outcome))).toEqual(['ok', 'ok', 'ok', 'ok'])

    const { status, headers, body } = await sendLogout(routes, logoutToken())
    expect([status, body, headers.get('cache-control')]).toEqual([200, null, 'no-store'])
    expect(await Promise.all(before.map(outcome))).toEqual(['TOKEN_REVOKED', 'TOKEN_REVOKED', 'ok', 'ok'])
    expect(revoked.toSorted((one, other) => one.kind.localeCompare(other.kind))).toMatchObject([
      { kind: 'session', id: 'tablet', actor: ID.issuer, note: LOGOUT },
      { kind: 'user', id: 'id.example:ada', actor: ID.issuer, note: LOGOUT },
    ])
  })

  test.each<[revoke: 'session' | 'user', claims: object, kinds: string[]]>([
    ['session', {}, ['session']],
    ['user', {}, ['user']],
    // There is nothing else to revoke.
    ['session', { sid: undefined }, ['user']],
    ['user', { sub: undefined }, ['session']],
  ])('revoke: %s with %j', async (revoke, claims, kinds) => {
    const { routes, revoked } = createLogout({ revoke })
    expect((await sendLogout(routes, logoutToken(claims))).status).toBe(200)
    expect(revoked.map(({ kind }) => kind)).toEqual(kinds)
  })

  test.each([{ typ: undefined }, { typ: 'JWT' }])('providers from before logout+jwt: %j', async (header) => {
    const lenient = createLogout()
    expect((await sendLogout(lenient.routes, logoutToken({}, ID, header))).status).toBe(200)
    const strict = createLogout({ requireTyp: true })
    expect((await sendLogout(strict.routes, logoutToken({}, ID, header))).status).toBe(400)
    expect((await sendLogout(strict.routes, logoutToken())).status).toBe(200)
  })

  test('that is sent again is answered alike, and revokes nothing more', async () => {
    const { routes, revoked } = createLogout()
    const token = logoutToken()
    expect((await sendLogout(routes, token)).status).toBe(200)
    expect((await sendLogout(routes, token)).status).toBe(200)
    expect(revoked).toHaveLength(2)
  })

  test('that is sent again to a process whose replica has not heard of it leaves later logins alone', async () => {
    const shared = createMemoryStore({ clock: createClock() })
    const start = async () => {
      const store = replicate({ ...shared, watch: () => () => {} }, { bound: '1m' })
      const { tokens } = createReceiving({ store })
      onTestFinished(() => tokens.close())
      await tokens.ready()
      return {
        tokens,
        routes: createBackChannelLogout(tokens, { clientId: CLIENT, toUid: ({ sub }) => sub }),
      }
    }
    const [one, two] = await Promise.all([start(), start()])
    const token = logoutToken()
    expect((await sendLogout(one.routes, token)).status).toBe(200)
    const { accessToken: later } = await two.tokens.sessions.open({ uid: 'ada' })
    expect((await sendLogout(two.routes, token)).status).toBe(200)
    expect(await outcomeOf(two.tokens.verify(later))).toBe('ok')
  })

  test('without exp, it is good once and until it is too old', async () => {
    const { routes, revoked, clock } = createLogout()
    const token = logoutToken({ exp: undefined })
    expect((await sendLogout(routes, token)).status).toBe(200)
    clock.seconds = NOW + 3500
    expect((await sendLogout(routes, token)).status).toBe(200)
    expect(revoked).toHaveLength(2)
    clock.seconds = NOW + 3700
    expect((await sendLogout(routes, token)).status).toBe(400)
  })

  test('the application is told, and signs its own user out with toUid', async () => {
    const seen: SecurityEvent[] = []
    const { routes, tokens, outcome } = createLogout({
      toUid: ({ issuer, sub }) => (issuer === ID.issuer && sub === 'ada' ? 'user-7' : null),
      onLogout: (event) => seen.push(event),
    })
    const own = tokens.createAccessToken({ uid: 'user-7' })
    const others = tokens.createAccessToken({ uid: 'user-8' })
    expect((await sendLogout(routes, logoutToken())).status).toBe(200)
    expect(seen).toMatchObject([
      {
        issuer: ID.issuer,
        type: LOGOUT,
        sub: 'ada',
        sid: 'tablet',
        subject: null,
        details: {},
        revoked: true,
      },
    ])
    expect([await outcome(own), await outcome(others)]).toEqual(['TOKEN_REVOKED', 'ok'])
  })

  test.each(['onLogout', 'toUid'] as const)(
    '%s that throws fails the request, which can be repeated',
    async (name) => {
      let fails = true
      const { routes, revoked } = createLogout({
        [name]: () => {
          // The status of such an error would reach the provider as the verdict on its logout.
          if (fails) throw Object.assign(new Error('on purpose'), { status: 404 })
          return null
        },
      })
      const token = logoutToken()
      const error: unknown = await sendLogout(routes, token).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ cause: { message: 'on purpose' }, status: 500 })
      fails = false
      expect((await sendLogout(routes, token)).status).toBe(200)
      expect(revoked.length).toBeGreaterThanOrEqual(2)
    },
  )
})

describe('what is no logout token of a known provider is refused, and revokes nothing', () => {
  const pem = ID.pair.publicKey.export({ format: 'pem', type: 'spki' }) as string
  const refused: readonly [name: string, token: () => string][] = [
    [
      'the key of another provider',
      () => STRANGER.sign({ ...logoutClaims(), iss: ID.issuer }, { typ: 'logout+jwt' }),
    ],
    ['the key of another provider that is known', () => OTHER.sign({ ...logoutClaims(), iss: ID.issuer })],
    ['an unknown issuer', () => logoutToken({}, STRANGER)],
    ['the audience of another client', () => logoutToken({ aud: 'another-app' })],
    ['the audience of the API', () => logoutToken({ aud: API })],
    ['no audience', () => logoutToken({ aud: undefined })],
    ['an ID token', () => ID.sign({ aud: CLIENT, sub: 'ada', exp: NOW + 60, jti: 'id' }, { typ: 'JWT' })],
    ['an access token', () => accessToken(ID, 'ada')],
    ['an access token with the audience of the client', () => logoutToken({}, ID, { typ: 'at+jwt' })],
    ['a security event token', () => logoutToken({}, ID, { typ: 'secevent+jwt' })],
    ['a nonce', () => logoutToken({ nonce: 'n' })],
    ['a nonce that is null', () => logoutToken({ nonce: null })],
    ['no events', () => logoutToken({ events: undefined })],
    ['events that are a text', () => logoutToken({ events: LOGOUT })],
    ['events that are a list', () => logoutToken({ events: [LOGOUT] })],
    ['another event', () => logoutToken({ events: { 'https://example.com/event': {} } })],
    ['an event that is no object', () => logoutToken({ events: { [LOGOUT]: true } })],
    ['an event that is null', () => logoutToken({ events: { [LOGOUT]: null } })],
    ['neither sub nor sid', () => logoutToken({ sub: undefined, sid: undefined })],
    ['a sub that is no text', () => logoutToken({ sub: 7 })],
    ['an empty sid', () => logoutToken({ sid: '' })],
    ['no jti', () => logoutToken({ jti: undefined })],
    ['a jti that is no text', () => logoutToken({ jti: 7 })],
    ['no iat', () => logoutToken({ iat: undefined })],
    ['an iat in the future', () => logoutToken({ iat: NOW + 3600, exp: NOW + 7200 })],
    ['an exp in the past', () => logoutToken({ exp: NOW - 3600 })],
    ['the algorithm none', () => forge(logoutClaims(), { alg: 'none' }, null)],
    ['the public key as a secret', () => forge(logoutClaims(), { alg: 'HS256' }, pem)],
    ['no JWT', () => 'logout'],
  ]

  test.each(refused)('%s', async (_name, create) => {
    const { routes, revoked } = createLogout()
    const { status, body, headers } = await sendLogout(routes, create())
    expect(status).toBe(400)
    expect(body).toEqual({ error: 'invalid_request', error_description: expect.any(String) as string })
    expect(headers.get('cache-control')).toBe('no-store')
    expect(revoked).toEqual([])
  })

  test('an issuer that is known, but not for this route', async () => {
    const { routes, revoked } = createLogout({ issuer: ID.issuer })
    expect((await sendLogout(routes, logoutToken({}, OTHER))).status).toBe(400)
    expect(revoked).toEqual([])
    expect((await sendLogout(routes, logoutToken({}, ID))).status).toBe(200)
  })

  test.each<[name: string, status: number, init: () => RequestInit]>([
    ['no body', 400, () => ({})],
    [
      'JSON',
      400,
      () => ({
        headers: { 'content-type': 'application/json' },
        body: `{"logout_token":"${logoutToken()}"}`,
      }),
    ],
    ['a text', 400, () => ({ body: `logout_token=${logoutToken()}` })],
    [
      'multipart',
      400,
      () => {
        const form = new FormData()
        form.set('logout_token', logoutToken())
        return { body: form }
      },
    ],
    ['another field', 400, () => ({ body: new URLSearchParams({ token: logoutToken() }) })],
    [
      'two logout tokens',
      400,
      () => ({
        body: new URLSearchParams([
          ['logout_token', logoutToken()],
          ['logout_token', logoutToken()],
        ]),
      }),
    ],
    ['a megabyte', 413, () => ({ body: new URLSearchParams({ logout_token: 'a'.repeat(2 ** 20) }) })],
    ['GET', 405, () => ({ method: 'GET' })],
    ['HEAD', 405, () => ({ method: 'HEAD' })],
    ['PUT', 405, () => ({ method: 'PUT', body: new URLSearchParams({ logout_token: logoutToken() }) })],
  ])('%s: %i', async (_name, status, init) => {
    const { routes, revoked } = createLogout()
    const answer = await send(routes, init())
    expect(answer.status).toBe(status)
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'POST' : null)
    expect(revoked).toEqual([])
  })

  test('a body without a length is read up to its limit', async () => {
    const { routes } = createLogout()
    let pulled = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1
        controller.enqueue(new Uint8Array(16 * 1024).fill(97))
      },
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expect((await send(routes, { headers, body })).status).toBe(413)
    expect(pulled).toBeLessThan(10)
  })

  test('pre-flights and other paths are not answered', async () => {
    const { routes } = createLogout()
    const ask = (path: string, method: string) => routes.handle(new Request(`${API}${path}`, { method }))
    expect(await ask('/backchannel-logout', 'OPTIONS')).toBeNull()
    expect(await ask('/backchannel-logout/', 'POST')).toBeNull()
    expect(await ask('/other', 'POST')).toBeNull()
  })
})
