import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, createManager, NOW, openToken, SECRET, withBearer } from '../helpers/manager.js'
import { advance, createRevocable, outcomeOf, toPair, settled } from '../helpers/revocable.js'

const claimsOf = (token: string) => openToken(token).claims

test('a pair of a kept session carries its id, and the refresh token its place in the session', async () => {
  const { tokens } = createRevocable()
  const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada', age: 36 })
  const [access, refresh] = [claimsOf(accessToken), claimsOf(refreshToken)]
  expect(access['sid']).toBe(refresh['sid'])
  for (const name of ['gen', 'par', 'sat']) expect(access).not.toHaveProperty(name)
  expect(refresh).toMatchObject({ gen: 1, par: '', sat: NOW * 1000 })
})

test('refresh after the grace gives a pair of the next generation, with the claims of the old one', async () => {
  const { tokens, clock } = createRevocable()
  const options = { scopes: ['read'], audience: 'api' }
  const first = await tokens.sessions.open(
    { uid: 'ada', age: 36, tags: ['x'] },
    { ...options, access: { fresh: true } },
  )
  const second = await advance({ tokens, clock }, first.refreshToken)
  const payload = await tokens.verify(second.accessToken)
  expect(payload).toMatchObject({ sub: 'ada', age: 36, tags: ['x'], aud: 'api', fresh: false, iat: NOW + 60 })
  expect(payload.scopes).toEqual(['read'])
  const { sid, jti } = claimsOf(first.refreshToken)
  expect(claimsOf(second.refreshToken)).toMatchObject({ gen: 2, par: jti, sat: (NOW + 60) * 1000, sid })
  expect(second.tokenType).toBe('bearer')
})

test('a refresh keeps the issuer that the pair was given', async () => {
  const { tokens, clock } = createRevocable({ JWT_ENCODE_ISSUER: 'me' })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' }, { issuer: 'other' })
  const pair = await advance({ tokens, clock }, refreshToken)
  expect([pair.accessToken, pair.refreshToken].map((token) => claimsOf(token)['iss'])).toEqual([
    'other',
    'other',
  ])
})

test('refresh takes a request, and looks for the token where refresh tokens are', async () => {
  const { tokens } = createRevocable({
    JWT_TOKEN_LOCATION: ['headers'],
    JWT_REFRESH_TOKEN_LOCATION: ['json'],
  })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  const request = (body: object) =>
    new Request('http://localhost/refresh', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  expect(await outcomeOf(tokens.sessions.refresh(withBearer(refreshToken)))).toBe('TOKEN_MISSING')
  expect(await outcomeOf(tokens.sessions.refresh(request({ refresh_token: refreshToken })))).toBe('ok')
})

test('refresh may change the access token', async () => {
  const { tokens } = createRevocable({ JWT_REFRESH_GRACE: 0 })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada', role: 'admin' })
  const pair = toPair(
    await tokens.sessions.refresh(refreshToken, { access: { expiresIn: '1m', scopes: ['less'] } }),
  )
  const payload = await tokens.verify(pair.accessToken)
  expect(payload).toMatchObject({ sub: 'ada', role: 'admin', exp: NOW + 60 })
  expect(payload.scopes).toEqual(['less'])
  expect(claimsOf(pair.refreshToken)).toMatchObject({ exp: NOW + 20 * 86_400 })
  expect(claimsOf(pair.refreshToken)).not.toHaveProperty('scopes')
  const wrong = { access: { expiresIn: '0s' } }
  expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken, wrong))).toMatch(/TypeError/)
  // What the program got wrong has cost the session nothing.
  expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('ok')
})

test('a schema sees what was signed, not what it made of it', async () => {
  const clock = createClock()
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_IDENTITY_CLAIM: 'user' }),
    claims: z.object({ born: z.string().transform((text) => new Date(text)) }),
    store: createMemoryStore({ clock }),
    clock,
  })
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada', born: '1815-12-10' })
  const pair = await tokens.sessions.refresh(refreshToken)
  expect((await tokens.verify(pair.accessToken)).born).toEqual(new Date('1815-12-10'))
})

describe('lifetimes', () => {
  test('rotation never moves the end of a session, and no token outlives it', async () => {
    const { tokens, clock } = createRevocable({
      JWT_REFRESH_TOKEN_EXPIRES: '1h',
      JWT_ACCESS_TOKEN_EXPIRES: '15m',
    })
    let { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    for (const minutes of [20, 40, 59]) {
      clock.seconds = NOW + minutes * 60
      const pair = toPair(await tokens.sessions.refresh(refreshToken))
      refreshToken = pair.refreshToken
      expect(claimsOf(refreshToken)['exp']).toBe(NOW + 3600)
      expect(claimsOf(pair.accessToken)['exp']).toBe(Math.min(clock.seconds + 900, NOW + 3600))
    }
    clock.seconds = NOW + 3600
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('TOKEN_EXPIRED')
  })

  test('a session lives as long as its refresh token was given', async () => {
    const { tokens, clock } = createRevocable()
    const short = await tokens.sessions.open({ uid: 'ada' }, { refresh: { expiresIn: '5m' } })
    expect(claimsOf(short.accessToken)['exp']).toBe(NOW + 300)
    const endless = await tokens.sessions.open({ uid: 'ada' }, { refresh: { expiresIn: false } })
    expect(claimsOf(endless.refreshToken)).not.toHaveProperty('exp')
    expect(claimsOf(endless.accessToken)['exp']).toBe(NOW + 900)
    const next = await advance({ tokens, clock }, endless.refreshToken)
    expect(claimsOf(next.refreshToken)).not.toHaveProperty('exp')
  })

  test('a session that is not used ends after JWT_REFRESH_IDLE_EXPIRES, by the store alone', async () => {
    const { tokens, clock } = createRevocable({
      JWT_REFRESH_IDLE_EXPIRES: '1h',
      JWT_REFRESH_TOKEN_EXPIRES: '90m',
    })
    const first = await tokens.sessions.open({ uid: 'ada' })
    // The token does not know whether its session is used: it expires with the session.
    expect(claimsOf(first.refreshToken)['exp']).toBe(NOW + 5400)
    clock.seconds += 3600
    const second = toPair(await tokens.sessions.refresh(first.refreshToken))
    expect(claimsOf(second.refreshToken)['exp']).toBe(NOW + 5400)
    const other = await tokens.sessions.open({ uid: 'grace' })
    clock.seconds += 3601
    expect(await outcomeOf(tokens.sessions.refresh(other.refreshToken))).toBe('TOKEN_REVOKED')
    expect(await tokens.sessions.list('grace')).toEqual([])
  })

  test('a refresh token that is repeated or kept counts as a use', async () => {
    const { tokens, clock } = createRevocable({ JWT_REFRESH_IDLE_EXPIRES: '1h', JWT_REFRESH_GRACE: '5m' })
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    for (let hours = 0; hours < 4; hours++) {
      clock.seconds += 3500
      expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('ok')
      expect(await tokens.sessions.list('ada')).toHaveLength(1)
    }
  })
})

describe('what cannot be refreshed', () => {
  test('an access token, a token of no session, and garbage', async () => {
    const { tokens } = createRevocable()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    expect(await outcomeOf(tokens.sessions.refresh(accessToken))).toBe('REFRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.sessions.refresh(tokens.createRefreshToken({ uid: 'ada' })))).toBe(
      'TOKEN_INVALID',
    )
    expect(await outcomeOf(tokens.sessions.refresh('a.b.c'))).toBe('TOKEN_INVALID')
    expect(await outcomeOf(tokens.sessions.refresh(new Request('http://localhost')))).toBe('TOKEN_MISSING')
    expect(await outcomeOf(tokens.sessions.refresh(null as never))).toMatch(/TypeError/)
  })

  test('a session that the store does not know', async () => {
    const clock = createClock()
    const { refreshToken } = await createRevocable({}, { clock }).tokens.sessions.open({ uid: 'ada' })
    expect(await outcomeOf(createRevocable({}, { clock }).tokens.sessions.refresh(refreshToken))).toBe(
      'TOKEN_REVOKED',
    )
    const unkept = await createManager({}, clock).tokens.sessions.open({ uid: 'ada' })
    expect(await outcomeOf(createRevocable({}, { clock }).tokens.sessions.refresh(unkept.refreshToken))).toBe(
      'TOKEN_INVALID',
    )
  })

  test('a refresh token that the callback refuses', async () => {
    const { tokens } = createRevocable()
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    tokens.setCallbackTokenBlocklist((token) => token === refreshToken)
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('TOKEN_REVOKED')
  })
})

test('a store without sessions issues pairs that cannot be refreshed', async () => {
  const clock = createClock()
  const { sessions: _sessions, ...store } = createMemoryStore({ clock })
  const { tokens } = createRevocable({}, { clock, store })
  const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  await expect(tokens.sessions.refresh(refreshToken)).rejects.toThrow(/sessions/)
  await tokens.logout(await tokens.verify(accessToken))
  expect(await outcomeOf(tokens.verify(refreshToken, { type: 'refresh' }))).toBe('TOKEN_REVOKED')
})

test('claims that make no pair open no session', async () => {
  const { tokens } = createRevocable()
  for (const claims of [
    { uid: 'ada', when: new Date() },
    { uid: 'ada', sid: 'x' },
    { uid: '' },
    {},
  ] as never[])
    await expect(tokens.sessions.open(claims)).rejects.toThrow(TypeError)
  await expect(tokens.sessions.open({ uid: 'ada' }, { ip: 7 as never })).rejects.toThrow(TypeError)
  await expect(tokens.sessions.open({ uid: 'ada' }, { refresh: { expiresIn: '0s' } })).rejects.toThrow(
    TypeError,
  )
  expect(await tokens.sessions.list('ada')).toEqual([])
})

test('a pair that cannot be signed costs the session nothing, and opens none', async () => {
  let claims = {}
  const { tokens, clock } = createRevocable(
    { JWT_MAX_TOKEN_LENGTH: 1000 },
    { describeUser: (_uid, login) => ({ claims: { ...login.claims, ...claims } }) },
  )
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  const tooLarge = { text: 'x'.repeat(1000) }
  claims = tooLarge
  await expect(tokens.sessions.refresh(refreshToken)).rejects.toThrow(/JWT_MAX_TOKEN_LENGTH/)
  claims = {}
  await expect(tokens.sessions.open({ uid: 'eve', ...tooLarge })).rejects.toThrow(/JWT_MAX_TOKEN_LENGTH/)
  const headers = { alg: 'none' }
  await expect(tokens.sessions.open({ uid: 'eve' }, { headers })).rejects.toThrow(/header/)
  expect(await tokens.sessions.list('eve')).toEqual([])
  const next = await advance({ tokens, clock }, refreshToken)
  expect(claimsOf(next.refreshToken)['gen']).toBe(2)
})

test('a key that is revoked while its token is refreshed does not live on', async () => {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const { sessions } = memory
  if (sessions === undefined) throw new Error('The memory store keeps sessions')
  const leaked = `leaked ${SECRET}`
  const old = createRevocable({ JWT_SECRET_KEY: leaked }, { clock, store: memory }).tokens
  const { refreshToken } = await old.sessions.open({ uid: 'ada' })
  const rotate: typeof sessions.rotate = async (...given) => {
    await old.revoke.key(old.keys.current ?? '')
    return sessions.rotate(...given)
  }
  const store = { ...memory, sessions: { ...sessions, rotate } }
  const { tokens } = createRevocable({ JWT_PREVIOUS_SECRET_KEY: leaked }, { clock, store })
  expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('TOKEN_REVOKED')
})

test('an alarm that comes too late for the request is raised all the same', async () => {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const { sessions } = memory
  if (sessions === undefined) throw new Error('The memory store keeps sessions')
  let answer: () => void = () => {}
  const rotate: typeof sessions.rotate = async (...given) => {
    const rotation = await sessions.rotate(...given)
    if (rotation.outcome === 'reused') await new Promise<void>((resolve) => (answer = resolve))
    return rotation
  }
  const store = { ...memory, sessions: { ...sessions, rotate } }
  const { tokens } = createRevocable(
    { JWT_REFRESH_GRACE: 0, JWT_REVOCATION_TIMEOUT: '20ms' },
    { clock, store },
  )
  const heard: unknown[] = []
  tokens.on('reuseDetected', (event) => heard.push(event))
  const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  const next = toPair(await tokens.sessions.refresh(refreshToken))
  await tokens.sessions.refresh(next.refreshToken)
  expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
  expect(heard).toEqual([])
  answer()
  await settled()
  expect(heard.length).toBe(1)
})

test('no token outlives the time that its session may go unused', async () => {
  const { tokens } = createRevocable({ JWT_REFRESH_IDLE_EXPIRES: '5m', JWT_ACCESS_TOKEN_EXPIRES: '1h' })
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  expect(claimsOf(accessToken)['exp']).toBe(NOW + 300)
})
