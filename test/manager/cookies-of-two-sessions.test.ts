import { describe, expect, test } from 'vitest'
import {
  refreshImplicitly,
  type TokenConfigOptions,
  TokenManager,
  type TokenPair,
} from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createForeign, createReceiver } from '../helpers/foreign.js'
import { csrfOf } from '../helpers/requests.js'
import { advance, createRevocable, outcomeOf } from '../helpers/revocable.js'

// A subdomain can set cookies for the whole domain. If it plants a token of its own session next to the cookie that the
// visitor has left, the visitor must not end up in the session of the attacker.

const COOKIES = {
  JWT_TOKEN_LOCATION: ['headers', 'cookies'],
  JWT_ACCESS_TOKEN_EXPIRES: '5m',
  JWT_REFRESH_TOKEN_EXPIRES: '1d',
} as const satisfies TokenConfigOptions

const PARTNER = createForeign('https://partner.example')

async function openTwo(config: TokenConfigOptions = {}) {
  const { tokens, clock } = createRevocable({ ...COOKIES, ...config })
  const ada = await tokens.sessions.open({ uid: 'ada' })
  const mallory = await tokens.sessions.open({ uid: 'mallory' })
  return { tokens, clock, ada, mallory }
}

/** A request with an access cookie and refresh cookies. */
function send(access: string | null, refresh: readonly string[], init: RequestInit = {}): Request {
  const cookies = [
    ...(access === null ? [] : [`access_token_cookie=${access}`]),
    ...refresh.map((token) => `refresh_token_cookie=${token}`),
  ]
  return new Request('https://app.example/auth/refresh', {
    ...init,
    headers: { ...(init.headers as Record<string, string>), cookie: cookies.join('; ') },
  })
}

const nameOf = ({ sub }: { readonly sub: string }): string => sub

describe('an access token', () => {
  test('is refused next to the refresh token of another session, whichever of them is planted', async () => {
    const { tokens, ada, mallory } = await openTwo()
    for (const request of [
      send(mallory.accessToken, [ada.refreshToken]),
      send(ada.accessToken, [mallory.refreshToken]),
      send(mallory.accessToken, [mallory.refreshToken, ada.refreshToken]),
      send(
        mallory.accessToken,
        Array.from({ length: 9 }, (_, at) => `${mallory.refreshToken}${at}`),
      ),
    ]) {
      expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('SESSION_MISMATCH')
      expect(await outcomeOf(tokens.accessTokenOptional(request))).toBe('SESSION_MISMATCH')
      expect(await outcomeOf(tokens.require({ type: 'any' })(request))).toBe('SESSION_MISMATCH')
    }
    expect((await tokens.sessions.list('ada')).length + (await tokens.sessions.list('mallory')).length).toBe(
      2,
    )
  })

  test('passes next to any refresh token of its own session', async () => {
    const { tokens, clock, ada } = await openTwo()
    const next = await advance({ tokens, clock }, ada.refreshToken)
    for (const refresh of [ada.refreshToken, next.refreshToken]) {
      expect(await tokens.accessTokenRequired(send(ada.accessToken, [refresh])).then(nameOf)).toBe('ada')
    }
  })

  test('passes next to what cannot be compared', async () => {
    const { tokens, clock, ada } = await openTwo()
    const single = tokens.createAccessToken({ uid: 'ada' })
    const expired = (await createRevocable(COOKIES, { clock }).tokens.sessions.open({ uid: 'old' }))
      .refreshToken
    expect(await tokens.accessTokenRequired(send(single, [ada.refreshToken])).then(nameOf)).toBe('ada')
    expect(await tokens.accessTokenRequired(send(ada.accessToken, ['of-another-app'])).then(nameOf)).toBe(
      'ada',
    )
    const bearer = { headers: { authorization: `Bearer ${ada.accessToken}` } }
    expect(await tokens.accessTokenRequired(send(null, [expired], bearer)).then(nameOf)).toBe('ada')
  })

  test('passes next to a refresh cookie without a session or with an access token, and next to eight of its own', async () => {
    const { tokens, ada, mallory } = await openTwo()
    for (const refresh of [
      [tokens.createRefreshToken({ uid: 'mallory' })],
      [mallory.accessToken],
      Array.from({ length: 8 }, () => ada.refreshToken),
      [ada.refreshToken, ...Array.from({ length: 7 }, (_, at) => `of-another-app-${at}`)],
    ]) {
      expect(await outcomeOf(tokens.accessTokenRequired(send(ada.accessToken, refresh)))).toBe('ok')
    }
  })

  test('passes next to the expired refresh token of an older session', async () => {
    const { tokens, clock, mallory } = await openTwo()
    clock.seconds += 86_401
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const request = send(accessToken, [mallory.refreshToken])
    expect(await tokens.accessTokenRequired(request).then(nameOf)).toBe('ada')
  })

  test('of another issuer is not compared with a refresh token of ours', async () => {
    const { tokens } = createReceiver([PARTNER.options()], { config: COOKIES })
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const accessToken = PARTNER.sign({ sid: 'of-the-partner' })
    const dependency = tokens.require({ csrf: false })
    expect(await dependency(send(accessToken, [refreshToken])).then(nameOf)).toBe('ada')
  })

  test('is not accepted if the comparison fails', async () => {
    const validate = (value: unknown) => {
      if ((value as { breaks?: boolean }).breaks === true) throw new RangeError('a fault of the schema')
      return { value: value as object }
    }
    const { tokens, clock } = createRevocable(COOKIES)
    const claims = { '~standard': { version: 1, vendor: 'test', validate } } as const
    const strict = new TokenManager({ config: tokens.config, clock, claims })
    const ada = await tokens.sessions.open({ uid: 'ada' })
    const mallory = await tokens.sessions.open({ uid: 'mallory', breaks: true })
    await expect(strict.accessTokenRequired(send(ada.accessToken, [mallory.refreshToken]))).rejects.toThrow(
      RangeError,
    )
  })

  test('is compared with nothing if refresh tokens are not read from cookies', async () => {
    const { tokens, ada, mallory } = await openTwo({ JWT_REFRESH_TOKEN_LOCATION: 'headers' })
    const request = send(ada.accessToken, [mallory.refreshToken])
    expect(await tokens.accessTokenRequired(request).then(nameOf)).toBe('ada')
  })
})

describe('a refresh', () => {
  const post = (pairs: { access: TokenPair; refresh: TokenPair }): Request =>
    send(pairs.access.accessToken, [pairs.refresh.refreshToken], {
      method: 'POST',
      headers: { 'x-csrf-token': csrfOf(pairs.refresh.refreshToken) },
    })

  test('is refused next to the access token of another session, expired or not, and uses nothing up', async () => {
    const { tokens, clock, ada, mallory } = await openTwo()
    for (const seconds of [0, 301]) {
      clock.seconds += seconds
      for (const [access, refresh] of [
        [mallory, ada],
        [ada, mallory],
      ] as const) {
        expect(await outcomeOf(tokens.sessions.refresh(post({ access, refresh })))).toBe('SESSION_MISMATCH')
        expect(await outcomeOf(tokens.refreshTokenRequired(post({ access, refresh })))).toBe(
          'SESSION_MISMATCH',
        )
      }
    }
    expect(await outcomeOf(tokens.sessions.refresh(post({ access: ada, refresh: ada })))).toBe('ok')
  })

  test('is not compared with the access token of another issuer', async () => {
    const { tokens } = createReceiver([PARTNER.options()], { config: COOKIES })
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const request = send(PARTNER.sign({ sid: 'of-the-partner' }), [refreshToken], {
      method: 'POST',
      headers: { 'x-csrf-token': csrfOf(refreshToken) },
    })
    expect(await outcomeOf(tokens.sessions.refresh(request))).toBe('ok')
  })

  test('with the token in a header is not compared with a cookie', async () => {
    const { tokens, ada, mallory } = await openTwo()
    const bearer = { headers: { authorization: `Bearer ${ada.refreshToken}` } }
    const request = send(mallory.accessToken, [], bearer)
    expect(await outcomeOf(tokens.refreshTokenRequired(request))).toBe('ok')
  })

  test('the session route answers 401, and sets and deletes no cookie', async () => {
    const { tokens, ada, mallory } = await openTwo()
    const routes = createSessionRoutes(tokens, { logIn: () => ({ uid: 'ada' }) })
    for (const [access, refresh] of [
      [mallory, ada],
      [ada, mallory],
    ] as const) {
      const response = await routes.refresh(post({ access, refresh }))
      expect([response.status, await response.json()]).toEqual([
        401,
        expect.objectContaining({ code: 'SESSION_MISMATCH' }),
      ])
      expect(response.headers.getSetCookie()).toEqual([])
    }
  })

  test('a login replaces both cookies, and ends both sessions', async () => {
    const { tokens, ada, mallory } = await openTwo()
    const routes = createSessionRoutes(tokens, { logIn: () => ({ uid: 'ada' }) })
    const response = await routes.login(
      send(mallory.accessToken, [ada.refreshToken], {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      }),
    )
    expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 3])
    expect((await tokens.sessions.list('mallory')).length).toBe(0)
    expect((await tokens.sessions.list('ada')).length).toBe(1)
  })

  test('a logout with the CSRF value of one of them ends neither', async () => {
    const { tokens, ada, mallory } = await openTwo()
    const request = post({ access: mallory, refresh: ada })
    expect(await outcomeOf(tokens.logout(request))).toBe('CSRF_MISMATCH')
    expect((await tokens.sessions.list('ada')).length + (await tokens.sessions.list('mallory')).length).toBe(
      2,
    )
  })
})

describe('an implicit refresh', () => {
  test.each(['valid', 'expired'])(
    'does not happen next to the %s access token of another session',
    async (state) => {
      const { tokens, clock, ada, mallory } = await openTwo()
      if (state === 'expired') clock.seconds += 301
      for (const [access, refresh] of [
        [mallory, ada],
        [ada, mallory],
      ] as const) {
        const request = send(access.accessToken, [refresh.refreshToken])
        expect(await refreshImplicitly(tokens, request)).toBeNull()
        expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe(
          state === 'expired' ? 'TOKEN_EXPIRED' : 'SESSION_MISMATCH',
        )
      }
      expect((await tokens.sessions.list('ada'))[0]?.lastUsedAt).toEqual(
        (await tokens.sessions.list('ada'))[0]?.createdAt,
      )
    },
  )

  test('happens next to the expired access token of its own session', async () => {
    const { tokens, clock, ada } = await openTwo()
    clock.seconds += 301
    const request = send(ada.accessToken, [ada.refreshToken])
    expect(await refreshImplicitly(tokens, request)).not.toBeNull()
    expect(await tokens.accessTokenRequired(request).then(nameOf)).toBe('ada')
  })
})
