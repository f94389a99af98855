import { describe, expect, test } from 'vitest'
import type { RequestSource, TokenConfigOptions, TokenEvents } from '../../packages/tokenlib/src/index.js'
import { createForeign, createReceiver } from '../helpers/foreign.js'
import { createManager, createTimedClock, NOW, openToken, SECRET, withBearer } from '../helpers/manager.js'
import { createJsonRequest, createRequest, csrfOf } from '../helpers/requests.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { signClaims } from '../helpers/sign-claims.js'

async function logIn(options: TokenConfigOptions = {}) {
  const { tokens, clock, store } = createRevocable({ JWT_TOKEN_LOCATION: ['cookies', 'headers'], ...options })
  const pair = await tokens.sessions.open({ uid: 'ada' })
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
  const isOver = async () => (await outcomeOf(tokens.sessions.refresh(pair.refreshToken))) === 'TOKEN_REVOKED'
  return { tokens, clock, store, pair, post, csrf, access, refresh, loggedOut, isOver }
}

describe('whatever token of the session is there ends it', () => {
  test('both cookies, once', async () => {
    const { tokens, post, csrf, access, refresh, loggedOut, isOver } = await logIn()
    expect((await tokens.logout(post({ ...access, ...refresh }, csrf)))?.sub).toBe('ada')
    expect(loggedOut).toMatchObject([{ sub: 'ada', ip: null, userAgent: 'Test/1', actor: null }])
    expect(await isOver()).toBe(true)
  })

  test('the access cookie alone, long after it has expired', async () => {
    const { tokens, clock, post, csrf, access, isOver } = await logIn()
    clock.seconds += 86_400
    expect((await tokens.logout(post(access, csrf)))?.type).toBe('access')
    expect(await isOver()).toBe(true)
  })

  test('the refresh cookie alone', async () => {
    const { tokens, post, csrf, refresh, isOver } = await logIn()
    expect((await tokens.logout(post(refresh, csrf)))?.type).toBe('refresh')
    expect(await isOver()).toBe(true)
  })

  test('a used refresh token, without an alarm: the session ends either way', async () => {
    const { tokens, post, csrf, refresh, pair } = await logIn({ JWT_REFRESH_GRACE: 0 })
    const next = await tokens.sessions.refresh(pair.refreshToken)
    await tokens.logout(post(refresh, csrf))
    expect(await outcomeOf(tokens.verify(next.accessToken))).toBe('TOKEN_REVOKED')
  })

  test.each(['accessToken', 'refreshToken'] as const)('the %s in a header', async (name) => {
    const { tokens, pair, loggedOut, isOver } = await logIn()
    expect((await tokens.logout(withBearer(pair[name])))?.sub).toBe('ada')
    expect(loggedOut).toHaveLength(1)
    expect(await isOver()).toBe(true)
  })

  test('a token of no session', async () => {
    const { tokens } = await logIn()
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect((await tokens.logout(withBearer(token)))?.sub).toBe('ada')
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('a refresh token in the header where only access tokens are expected', async () => {
    const { tokens, pair, isOver } = await logIn({
      JWT_TOKEN_LOCATION: ['headers'],
      JWT_REFRESH_TOKEN_LOCATION: ['cookies'],
    })
    expect((await tokens.logout(withBearer(pair.refreshToken)))?.type).toBe('refresh')
    expect(await isOver()).toBe(true)
  })

  test('two tokens of no session, both of them', async () => {
    const { tokens } = await logIn()
    const [one, other] = [tokens.createAccessToken({ uid: 'ada' }), tokens.createAccessToken({ uid: 'ada' })]
    const headers = { authorization: `Bearer ${one}`, 'x-csrf-token': csrfOf(other) }
    await tokens.logout(createRequest({ method: 'POST', cookies: { access_token_cookie: other }, headers }))
    for (const token of [one, other]) expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('a cookie whose CSRF value is in a field of a form', async () => {
    const { tokens, csrf, access, isOver } = await logIn({ JWT_CSRF_CHECK_FORM: true })
    const post = (fields: Record<string, string>) =>
      createRequest({ method: 'POST', cookies: access, body: new URLSearchParams(fields) })
    expect(await outcomeOf(tokens.logout(post({})))).toBe('CSRF_MISSING')
    expect((await tokens.logout(post({ csrf_token: csrf })))?.sub).toBe('ada')
    expect(await isOver()).toBe(true)
  })

  test('a cookie of a page of a listed origin', async () => {
    const { tokens, csrf, access, isOver } = await logIn({ JWT_CSRF_ORIGINS: ['https://app.example'] })
    const from = (origin: string) =>
      createRequest({ method: 'POST', cookies: access, headers: { origin, 'x-csrf-token': csrf } })
    expect(await outcomeOf(tokens.logout(from('https://evil.example')))).toBe('CSRF_MISMATCH')
    expect((await tokens.logout(from('https://app.example')))?.sub).toBe('ada')
    expect(await isOver()).toBe(true)
  })

  test('the cookies in a view, which has the names of headers in lower case', async () => {
    const { tokens, csrf, access, isOver } = await logIn()
    const headers: Record<string, string> = {
      cookie: `access_token_cookie=${access.access_token_cookie}`,
      'x-csrf-token': csrf,
    }
    const view = {
      method: 'POST',
      url: '/',
      header: (name: string) => headers[name] ?? null,
      body: async () => undefined,
    }
    expect((await tokens.logout(view))?.sub).toBe('ada')
    expect(await isOver()).toBe(true)
  })

  test('a bad access cookie next to a good refresh cookie', async () => {
    const { tokens, post, csrf, refresh, isOver } = await logIn()
    await tokens.logout(post({ access_token_cookie: 'not-a-token', ...refresh }, csrf))
    expect(await isOver()).toBe(true)
  })
})

describe('what stands next to the token does not hide it', () => {
  const cookieHeader = (cookies: Record<string, string>) =>
    Object.entries(cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join('; ')

  test('a header that is no token', async () => {
    const { tokens, access, refresh, csrf, isOver } = await logIn()
    const headers = { authorization: 'Bearer garbage', 'x-csrf-token': csrf }
    await tokens.logout(createRequest({ method: 'POST', cookies: { ...access, ...refresh }, headers }))
    expect(await isOver()).toBe(true)
  })

  test('cookies of the same names that somebody else has set', async () => {
    const { tokens, access, csrf, isOver } = await logIn()
    const cookie = `access_token_cookie=tossed; ${cookieHeader(access)}`
    await tokens.logout(createRequest({ method: 'POST', headers: { cookie, 'x-csrf-token': csrf } }))
    expect(await isOver()).toBe(true)
  })

  test('so many of them that each would cost time', async () => {
    const { tokens, access, csrf } = await logIn()
    const others = Array.from({ length: 8 }, (_, at) => `access_token_cookie=${at}`).join('; ')
    const cookie = `${others}; ${cookieHeader(access)}`
    const request = createRequest({ method: 'POST', headers: { cookie, 'x-csrf-token': csrf } })
    expect(await tokens.logout(request)).toBeNull()
  })

  test('a token of another user in the header: both end', async () => {
    const { tokens, access, csrf, loggedOut, isOver } = await logIn()
    const { accessToken } = await tokens.sessions.open({ uid: 'grace' })
    const headers = { authorization: `Bearer ${accessToken}`, 'x-csrf-token': csrf }
    await tokens.logout(createRequest({ method: 'POST', cookies: access, headers }))
    expect(loggedOut.map(({ sub }) => sub).toSorted()).toEqual(['ada', 'grace'])
    expect(await isOver()).toBe(true)
  })

  test('a body whose members are no texts', async () => {
    const { tokens, access, csrf, isOver } = await logIn({ JWT_TOKEN_LOCATION: ['json', 'cookies'] })
    const request = createRequest({
      method: 'POST',
      cookies: access,
      headers: { 'content-type': 'application/json', 'x-csrf-token': csrf },
      body: JSON.stringify({ access_token: 1, refresh_token: [] }),
    })
    await tokens.logout(request)
    expect(await isOver()).toBe(true)
  })

  test('a token that is not valid yet, or for another audience, is logged out all the same', async () => {
    const { tokens, store, clock } = await logIn()
    const early = tokens.createAccessToken({ uid: 'ada' }, { notBefore: '5m' })
    await tokens.logout(withBearer(early))
    clock.seconds += 400
    expect(await outcomeOf(tokens.verify(early))).toBe('TOKEN_REVOKED')
    const strict = createRevocable({ JWT_DECODE_AUDIENCE: 'new' }, { clock, store }).tokens
    const old = await tokens.sessions.open({ uid: 'ada' }, { audience: 'old' })
    expect((await strict.logout(withBearer(old.accessToken)))?.sub).toBe('ada')
    expect(await outcomeOf(tokens.sessions.refresh(old.refreshToken))).toBe('TOKEN_REVOKED')
  })
})

describe('a logout that has nothing left to do resolves, so that the cookies can be deleted', () => {
  test('again, after the session is over', async () => {
    const { tokens, post, csrf, access } = await logIn()
    await tokens.logout(post(access, csrf))
    expect((await tokens.logout(post(access, csrf)))?.sub).toBe('ada')
  })

  test('no token, a forged one, one of another manager, two cookies of one name', async () => {
    const { tokens, post, access } = await logIn()
    const forged = `${access.access_token_cookie.slice(0, -4)}AAAA`
    const foreign = createManager({ JWT_SECRET_KEY: `${SECRET}!` }).tokens.createAccessToken({ uid: 'ada' })
    const twice = createRequest({
      method: 'POST',
      headers: { cookie: `access_token_cookie=a; access_token_cookie=b` },
    })
    expect(await tokens.logout(post({}))).toBeNull()
    expect(await tokens.logout(post({ access_token_cookie: forged }))).toBeNull()
    expect(await tokens.logout(withBearer(foreign))).toBeNull()
    expect(await tokens.logout(twice)).toBeNull()
  })
})

describe('nobody else can log a user out', () => {
  test('a cookie without its CSRF value, or with another one, is refused, also when it has expired', async () => {
    const { tokens, clock, post, access, refresh, loggedOut, isOver } = await logIn()
    clock.seconds += 3600
    expect(await outcomeOf(tokens.logout(post({ ...access, ...refresh })))).toBe('CSRF_MISSING')
    expect(await outcomeOf(tokens.logout(post({ ...access, ...refresh }, 'guess')))).toBe('CSRF_MISMATCH')
    expect(loggedOut).toEqual([])
    expect(await isOver()).toBe(false)
  })

  test('a link needs the CSRF value as well: the method does not matter', async () => {
    const { tokens, access, isOver } = await logIn()
    expect(await outcomeOf(tokens.logout(createRequest({ cookies: access })))).toBe('CSRF_MISSING')
    expect(await isOver()).toBe(false)
  })

  test('a request of another site that brings no cookies would still delete them', async () => {
    const { tokens } = await logIn()
    const from = (headers: Record<string, string>) => createRequest({ method: 'POST', headers })
    expect(await outcomeOf(tokens.logout(from({ 'sec-fetch-site': 'cross-site' })))).toBe('CSRF_MISMATCH')
    expect(await outcomeOf(tokens.logout(from({ 'sec-fetch-site': 'same-origin' })))).toBe('ok')
    const listed = createRevocable({
      JWT_TOKEN_LOCATION: 'cookies',
      JWT_CSRF_ORIGINS: ['https://app.example'],
    }).tokens
    expect(await outcomeOf(listed.logout(from({ origin: 'https://evil.example' })))).toBe('CSRF_MISMATCH')
    expect(await outcomeOf(listed.logout(from({ origin: 'https://app.example' })))).toBe('ok')
    expect(await outcomeOf(listed.logout(from({})))).toBe('ok')
    const bearer = createRevocable({ JWT_TOKEN_LOCATION: 'headers' }).tokens
    expect(await outcomeOf(bearer.logout(from({ 'sec-fetch-site': 'cross-site' })))).toBe('ok')
  })

  test('a request without tokens: pages of the same site and programs may, wherever cookies are used', async () => {
    const from = (headers: Record<string, string>) => createRequest({ method: 'POST', headers })
    for (const locations of [
      { JWT_TOKEN_LOCATION: ['cookies'], JWT_REFRESH_TOKEN_LOCATION: ['headers'] },
      { JWT_TOKEN_LOCATION: ['headers'], JWT_REFRESH_TOKEN_LOCATION: ['cookies'] },
    ] as const) {
      const { tokens } = await logIn(locations)
      expect(await outcomeOf(tokens.logout(from({ 'sec-fetch-site': 'cross-site' })))).toBe('CSRF_MISMATCH')
      expect(await outcomeOf(tokens.logout(from({ 'sec-fetch-site': 'same-site' })))).toBe('ok')
      expect(await outcomeOf(tokens.logout(from({ origin: 'https://www.example' })))).toBe('ok')
    }
  })

  test('a link of another site with a token in the query is refused, a bearer token is not', async () => {
    const { tokens, pair, isOver } = await logIn({ JWT_TOKEN_LOCATION: ['query', 'cookies', 'headers'] })
    const headers = { 'sec-fetch-site': 'cross-site' }
    const path = `/?token=${pair.accessToken}`
    expect(await outcomeOf(tokens.logout(createRequest({ path, headers })))).toBe('CSRF_MISMATCH')
    expect(await isOver()).toBe(false)
    const authorization = `Bearer ${pair.accessToken}`
    expect(await outcomeOf(tokens.logout(createRequest({ headers: { ...headers, authorization } })))).toBe(
      'ok',
    )
    expect(await isOver()).toBe(true)
  })

  test('a token of the session in the query does not replace the CSRF value of its cookie', async () => {
    const { tokens, pair, access, isOver } = await logIn({ JWT_TOKEN_LOCATION: ['query', 'cookies'] })
    const request = createRequest({ path: `/?token=${pair.accessToken}`, cookies: access })
    expect(await outcomeOf(tokens.logout(request))).toBe('CSRF_MISSING')
    expect(await isOver()).toBe(false)
  })

  test('a token under the name of the other type in a body does not count', async () => {
    const { tokens, pair, isOver } = await logIn({ JWT_TOKEN_LOCATION: ['json'] })
    const { accessToken, refreshToken } = pair
    const swapped = createJsonRequest({ access_token: refreshToken, refresh_token: accessToken })
    expect(await tokens.logout(swapped)).toBeNull()
    expect(await isOver()).toBe(false)
    expect((await tokens.logout(createJsonRequest({ access_token: accessToken })))?.sub).toBe('ada')
    expect(await isOver()).toBe(true)
  })

  test("an attacker's own token in the query does not speak for the victim's cookies", async () => {
    const { tokens, access, isOver } = await logIn({ JWT_TOKEN_LOCATION: ['query', 'cookies'] })
    const path = `/?token=${tokens.createAccessToken({ uid: 'mallory' })}`
    expect(await outcomeOf(tokens.logout(createRequest({ method: 'POST', path, cookies: access })))).toBe(
      'CSRF_MISSING',
    )
    expect(await isOver()).toBe(false)
  })

  test('a refusal is told to those who listen', async () => {
    const { tokens, post, access } = await logIn()
    const rejected: TokenEvents['rejected'][] = []
    tokens.on('rejected', (event) => rejected.push(event))
    await outcomeOf(tokens.logout(post(access)))
    expect(rejected).toMatchObject([{ code: 'CSRF_MISSING', sub: 'ada', userAgent: 'Test/1' }])
  })

  test('the cookies of two sessions need the CSRF values of both', async () => {
    const { tokens, pair, refresh, isOver } = await logIn()
    const access = await tokens.sessions.open({ uid: 'grace' })
    const mixed = { ...refresh, access_token_cookie: access.accessToken }
    const request = (csrf: string) =>
      createRequest({ method: 'POST', cookies: mixed, headers: { 'x-csrf-token': csrf } })
    expect(await outcomeOf(tokens.logout(request(csrfOf(pair.refreshToken))))).toBe('CSRF_MISMATCH')
    expect(await isOver()).toBe(false)
  })

  test('the CSRF value of one cookie of a session is enough for the other', async () => {
    const { tokens, post, csrf, pair, refresh, isOver } = await logIn()
    // As of a version that gave each token its own value.
    const access = signClaims({ ...openToken(pair.accessToken).claims, csrf: 'own' })
    expect((await tokens.logout(post({ access_token_cookie: access, ...refresh }, csrf)))?.sub).toBe('ada')
    expect(await isOver()).toBe(true)
  })

  test('tokens of no session that have no id do not speak for each other', async () => {
    const { tokens, loggedOut } = await logIn()
    const sign = (sub: string) => signClaims({ sub, type: 'access', csrf: sub, exp: NOW + 60 })
    const cookie = `access_token_cookie=${sign('ada')}; access_token_cookie=${sign('mallory')}`
    const headers = { cookie, 'x-csrf-token': 'mallory' }
    expect(await outcomeOf(tokens.logout(createRequest({ method: 'POST', headers })))).toBe('CSRF_MISMATCH')
    expect(loggedOut).toEqual([])
  })

  test('a token in the cookie of the other type does not count', async () => {
    const { tokens, post, csrf, pair, isOver } = await logIn()
    expect(await tokens.logout(post({ access_token_cookie: pair.refreshToken }, csrf))).toBeNull()
    expect(await isOver()).toBe(false)
  })
})

test('a body that cannot be read is not a logout', async () => {
  const { tokens } = await logIn({ JWT_TOKEN_LOCATION: ['json'] })
  const view = {
    method: 'POST',
    url: '/',
    header: (name: string) => (name === 'content-type' ? 'application/json' : null),
    body: () => Promise.reject(new Error('socket hang up')),
  }
  await expect(tokens.logout(view)).rejects.toThrow('socket hang up')
})

describe('a token of an issuer', () => {
  const issuer = createForeign('https://idp.example')
  const withEndpoint = (fetch: () => Promise<Response>) =>
    issuer.options({ keys: { jwksUri: 'https://idp.example/keys', fetch } })

  test('whose key is not published is nothing to log out', async () => {
    const { tokens } = createReceiver([withEndpoint(async () => Response.json({ keys: [issuer.jwk] }))])
    const forged = createForeign('https://idp.example', { kid: 'key-2' }).sign()
    expect(await tokens.logout(withBearer(forged))).toBeNull()
  })

  test('whose keys cannot be loaded is an outage, and those who listen know the client', async () => {
    const clock = createTimedClock()
    const { tokens } = createReceiver([withEndpoint(() => Promise.reject(new Error('offline')))], { clock })
    const rejected: TokenEvents['rejected'][] = []
    tokens.on('rejected', (event) => rejected.push(event))
    const headers = { authorization: `Bearer ${issuer.sign()}`, 'user-agent': 'Test/1' }
    const loggingOut = clock.runUntil(tokens.logout(createRequest({ headers })))
    expect(await outcomeOf(loggingOut)).toBe('KEYS_UNAVAILABLE')
    expect(rejected).toMatchObject([{ code: 'KEYS_UNAVAILABLE', userAgent: 'Test/1' }])
  })
})

test('a store that is gone is not a logout', async () => {
  const { tokens, store, post, csrf, access, loggedOut } = await logIn()
  await store.close()
  expect(await outcomeOf(tokens.logout(post(access, csrf)))).toBe('REVOCATION_UNAVAILABLE')
  expect(loggedOut).toEqual([])
})

describe('a request is told apart from a payload', () => {
  test.each<[kind: string, toRequest: (headers: Record<string, string>) => RequestSource]>([
    ['a Fetch request', (headers) => new Request('http://localhost/', { method: 'POST', headers })],
    ['a Node request', (headers) => ({ method: 'POST', url: '/', headers })],
    [
      'a view',
      (headers) => ({
        method: 'POST',
        url: '/',
        header: (name: string) => headers[name] ?? null,
        body: async () => undefined,
      }),
    ],
  ])('%s with properties that other middleware has set', async (kind, toRequest) => {
    const { tokens, isOver } = await logIn()
    const victim = await tokens.verify((await tokens.sessions.open({ uid: 'grace' })).accessToken)
    const { sid, jti, sub } = victim
    // What a cookie says, for example: nothing about it is verified.
    const request = Object.assign(toRequest({}), { sid, jti, sub })
    expect(await tokens.logout(request)).toBeNull()
    // A Node request is a plain object: only if it is not frozen, it is known by its method and URL.
    if (kind !== 'a Node request') expect(await tokens.logout(Object.freeze(request))).toBeNull()
    expect(await tokens.sessions.get(sid as string)).not.toBeNull()
    expect(await isOver()).toBe(false)
  })

  test.each([
    { headers: { 'x-a': 'b' }, header: 'c' },
    { headers: { 'x-a': 'b' }, method: 'POST', url: '/' },
  ])('a verified payload with the claims %o', async (claims) => {
    const { tokens } = await logIn()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada', ...claims })
    expect(await tokens.logout(await tokens.verify(accessToken))).toHaveProperty('position')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
  })

  test.each([
    { method: 'POST', url: '/' },
    { headers: { 'x-a': 'b' }, method: 'POST' },
    { headers: { 'x-a': 'b' }, url: '/' },
  ])('a payload that the application has copied, with the claims %o', async (claims) => {
    const { tokens } = await logIn()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada', ...claims })
    const payload = { ...(await tokens.verify(accessToken)) }
    expect(await tokens.logout(payload)).toHaveProperty('position')
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
  })

  test('an object with nothing but headers is a request', async () => {
    const { tokens, pair, isOver } = await logIn()
    const request = { headers: { authorization: `Bearer ${pair.accessToken}` } }
    expect(await tokens.logout(request)).toMatchObject({ sub: 'ada' })
    expect(await isOver()).toBe(true)
  })

  test('a payload without an id and with such a claim is refused, like any other without one', async () => {
    const { tokens } = await logIn()
    const payload = { sub: 'ada', type: 'access', headers: {} }
    await expect(tokens.logout(payload as never)).rejects.toThrow(TypeError)
  })
})
