import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions, TokenEvents } from '../../src/index.js'
import { withBearer } from '../helpers/manager.js'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'

async function logIn(options: TokenConfigOptions = {}) {
  const { tokens, clock, store } = createRevocable({ JWT_TOKEN_LOCATION: ['cookies', 'headers'], ...options })
  const pair = await tokens.createTokenPair({ uid: 'ada' })
  const loggedOut: TokenEvents['loggedOut'][] = []
  tokens.on('loggedOut', (event) => loggedOut.push(event))
  const post = (cookies: Record<string, string>, csrf?: string) =>
    createRequest({
      method: 'POST',
      cookies,
      headers: { 'user-agent': 'Test/1', ...(csrf !== undefined && { 'x-csrf-token': csrf }) },
    })
  const csrf = csrfOf(pair.accessToken)
  const access = { access_token_cookie: pair.accessToken }
  const refresh = { refresh_token_cookie: pair.refreshToken }
  const isOver = async () => (await outcomeOf(tokens.refresh(pair.refreshToken))) === 'TOKEN_REVOKED'
  return { tokens, clock, store, pair, post, csrf, access, refresh, loggedOut, isOver }
}

describe('whatever token of the session is there ends it', () => {
  test('both cookies, once', async () => {
    const { tokens, post, csrf, access, refresh, loggedOut, isOver } = await logIn()
    expect((await tokens.logoutRequest(post({ ...access, ...refresh }, csrf)))?.sub).toBe('ada')
    expect(loggedOut).toMatchObject([{ sub: 'ada', ip: null, userAgent: 'Test/1', actor: null }])
    expect(await isOver()).toBe(true)
  })

  test('the access cookie alone, long after it has expired', async () => {
    const { tokens, clock, post, csrf, access, isOver } = await logIn()
    clock.seconds += 86_400
    expect((await tokens.logoutRequest(post(access, csrf)))?.type).toBe('access')
    expect(await isOver()).toBe(true)
  })

  test('the refresh cookie alone', async () => {
    const { tokens, post, csrf, refresh, isOver } = await logIn()
    expect((await tokens.logoutRequest(post(refresh, csrf)))?.type).toBe('refresh')
    expect(await isOver()).toBe(true)
  })

  test('a used refresh token, without an alarm: the session ends either way', async () => {
    const { tokens, post, csrf, refresh, pair } = await logIn({ JWT_REFRESH_GRACE: 0 })
    const next = await tokens.refresh(pair.refreshToken)
    await tokens.logoutRequest(post(refresh, csrf))
    expect(await outcomeOf(tokens.verifyToken(next.accessToken))).toBe('TOKEN_REVOKED')
  })

  test.each(['accessToken', 'refreshToken'] as const)('the %s in a header', async (name) => {
    const { tokens, pair, loggedOut, isOver } = await logIn()
    expect((await tokens.logoutRequest(withBearer(pair[name])))?.sub).toBe('ada')
    expect(loggedOut).toHaveLength(1)
    expect(await isOver()).toBe(true)
  })

  test('a token of no session', async () => {
    const { tokens } = await logIn()
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect((await tokens.logoutRequest(withBearer(token)))?.sub).toBe('ada')
    expect(await outcomeOf(tokens.verifyToken(token))).toBe('TOKEN_REVOKED')
  })

  test('a bad access cookie beside a good refresh cookie', async () => {
    const { tokens, post, csrf, refresh, isOver } = await logIn()
    await tokens.logoutRequest(post({ access_token_cookie: 'not-a-token', ...refresh }, csrf))
    expect(await isOver()).toBe(true)
  })
})

describe('a log-out that has nothing left to do resolves, so that the cookies can be deleted', () => {
  test('again, after the session is over', async () => {
    const { tokens, post, csrf, access } = await logIn()
    await tokens.logoutRequest(post(access, csrf))
    expect((await tokens.logoutRequest(post(access, csrf)))?.sub).toBe('ada')
  })

  test('no token, a forged one, one of another manager, two cookies of one name', async () => {
    const { tokens, post, access } = await logIn()
    const forged = `${access.access_token_cookie.slice(0, -4)}AAAA`
    const twice = createRequest({
      method: 'POST',
      headers: { cookie: `access_token_cookie=a; access_token_cookie=b` },
    })
    expect(await tokens.logoutRequest(post({}))).toBeNull()
    expect(await tokens.logoutRequest(post({ access_token_cookie: forged }))).toBeNull()
    expect(await tokens.logoutRequest(twice)).toBeNull()
  })
})

describe('nobody else can log a user out', () => {
  test('a cookie without its CSRF value, or with another one, is refused, also when it has expired', async () => {
    const { tokens, clock, post, access, refresh, loggedOut, isOver } = await logIn()
    clock.seconds += 3600
    expect(await outcomeOf(tokens.logoutRequest(post({ ...access, ...refresh })))).toBe('CSRF_MISSING')
    expect(await outcomeOf(tokens.logoutRequest(post({ ...access, ...refresh }, 'guess')))).toBe(
      'CSRF_MISMATCH',
    )
    expect(loggedOut).toEqual([])
    expect(await isOver()).toBe(false)
  })

  test('a token in the cookie of the other type does not count', async () => {
    const { tokens, post, csrf, pair, isOver } = await logIn()
    expect(await tokens.logoutRequest(post({ access_token_cookie: pair.refreshToken }, csrf))).toBeNull()
    expect(await isOver()).toBe(false)
  })
})

test('a store that is gone is not a log-out', async () => {
  const { tokens, store, post, csrf, access, loggedOut } = await logIn()
  await store.close()
  expect(await outcomeOf(tokens.logoutRequest(post(access, csrf)))).toBe('REVOCATION_UNAVAILABLE')
  expect(loggedOut).toEqual([])
})
