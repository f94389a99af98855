import { describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { introspect, type IntrospectOptions } from '../../packages/issuers/src/index.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { createForeign } from '../helpers/foreign.js'
import {
  answerFor,
  CLIENT_SECRET,
  createOpaqueReceiver,
  ENDPOINT,
  OPAQUE,
  OPAQUE_ISSUER,
  opaqueOptions,
  toAnswer,
} from '../helpers/introspection.js'
import { NOW, SECRET, withBearer } from '../helpers/manager.js'
import { messagesOf } from '../helpers/key-server.js'
import { outcomeOf, settled } from '../helpers/revocable.js'

describe('an opaque token', () => {
  test('passes the dependencies that JWTs pass, with the claims of the answer', async () => {
    const { tokens } = createOpaqueReceiver()
    const payload = await tokens.accessTokenRequired(withBearer(OPAQUE))
    expect(payload).toMatchObject({
      sub: 'opaque:ada',
      iss: OPAQUE_ISSUER,
      type: 'access',
      scopes: ['notes:read', 'notes:write'],
      client_id: 'app',
    })
    expect(payload).not.toHaveProperty('active')
    expect(Object.isFrozen(payload)).toBe(true)
    expect(await tokens.require({ scopes: ['notes:read'] })(withBearer(OPAQUE))).toMatchObject({
      sub: payload.sub,
    })
    expect(await outcomeOf(tokens.require({ scopes: ['admin'] })(withBearer(OPAQUE)))).toBe(
      'INSUFFICIENT_SCOPE',
    )
    expect(await outcomeOf(tokens.freshTokenRequired(withBearer(OPAQUE)))).toBe('FRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.require({ issuer: OPAQUE_ISSUER })(withBearer(OPAQUE)))).toBe('ok')
    expect((await tokens.verify(OPAQUE)).sub).toBe('opaque:ada')
    expect((await tokens.verify(OPAQUE, { withHeader: true })).header).toEqual({ alg: 'introspection' })
    expect(await outcomeOf(tokens.sockets.authenticate(withBearer(OPAQUE)))).toBe('ok')
    expect((await internalsOf(tokens).inspectToken(OPAQUE)).sub).toBe('opaque:ada')
  })

  test('and a JWT take turns at one manager', async () => {
    const { tokens } = createOpaqueReceiver()
    const jwt = tokens.createAccessToken({ uid: 'grace' })
    for (const [token, sub] of [
      [jwt, 'grace'],
      [OPAQUE, 'opaque:ada'],
      [jwt, 'grace'],
    ] as const) {
      expect((await tokens.accessTokenRequired(withBearer(token))).sub).toBe(sub)
    }
  })

  test('is asked about at a logout, but not under the name of refresh tokens', async () => {
    const config = { JWT_TOKEN_LOCATION: ['headers', 'cookies'] } as const
    const { tokens, endpoint } = createOpaqueReceiver({}, { config })
    const send = (cookie: string) =>
      outcomeOf(tokens.logout(new Request('https://api.example/', { headers: { cookie } })))
    await send(`refresh_token_cookie=${OPAQUE}`)
    expect(endpoint.asked).toEqual([])
    await send(`access_token_cookie=${OPAQUE}`)
    expect(endpoint.asked).toEqual([OPAQUE])
  })

  test('is asked about with one POST, and the credentials of the client', async () => {
    const methods: readonly (readonly [IntrospectOptions['authentication'], string | undefined, object])[] = [
      [
        { method: 'client_secret_basic', clientId: 'a:b c', clientSecret: 'é%' },
        `Basic ${Buffer.from('a%3Ab+c:%C3%A9%25').toString('base64')}`,
        {},
      ],
      [
        { method: 'client_secret_post', clientId: 'api', clientSecret: CLIENT_SECRET },
        undefined,
        { client_id: 'api', client_secret: CLIENT_SECRET },
      ],
      [{ method: 'bearer', token: 'ory_pat_key' }, 'Bearer ory_pat_key', {}],
      [{ method: 'none' }, undefined, {}],
    ]
    for (const [authentication, authorization, members] of methods) {
      const { tokens, endpoint } = createOpaqueReceiver({ authentication })
      await tokens.verify(OPAQUE)
      expect(endpoint.requests).toHaveLength(1)
      const { url, request } = endpoint.requests[0] as (typeof endpoint.requests)[number]
      expect(url).toBe(ENDPOINT)
      expect(request).toMatchObject({ method: 'POST', redirect: 'manual', cache: 'no-store' })
      expect(request.headers['authorization']).toBe(authorization)
      expect(request.headers['content-type']).toBe('application/x-www-form-urlencoded')
      expect(Object.fromEntries(new URLSearchParams(request.body))).toEqual({
        token: OPAQUE,
        token_type_hint: 'access_token',
        ...members,
      })
    }
  })

  test('is asked about once per request, however many dependencies the route has', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    const request = withBearer(OPAQUE)
    await tokens.accessTokenRequired(request)
    await tokens.require({ scopes: ['notes:read'] })(request)
    expect(endpoint.asked).toHaveLength(1)
    await tokens.accessTokenRequired(withBearer(OPAQUE))
    expect(endpoint.asked).toHaveLength(2)
  })

  test('is not sent where the route refuses it anyway', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    expect(await outcomeOf(tokens.require({ issuer: 'own' })(withBearer(OPAQUE)))).toBe(
      'TOKEN_ISSUER_INVALID',
    )
    expect(await outcomeOf(tokens.refreshTokenRequired(withBearer(OPAQUE)))).toBe('REFRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.sessions.refresh(OPAQUE))).toBe('TOKEN_ISSUER_INVALID')
    expect(await outcomeOf(internalsOf(tokens).devices.parseSession(OPAQUE))).toBe('PROOF_INVALID')
    expect(endpoint.asked).toEqual([])
  })

  test('is no token for a manager without introspect()', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_INVALID')
  })

  test('needs a promise: what cannot wait is told so', async () => {
    const { tokens } = createOpaqueReceiver()
    const check = (): unknown => internalsOf(tokens).verifyWithoutRevocation(OPAQUE)
    expect(check).toThrow(expect.objectContaining({ code: 'KEYS_UNAVAILABLE', issuer: OPAQUE_ISSUER }))
    const cached = createOpaqueReceiver({ cacheSeconds: 10 })
    await cached.tokens.verify(OPAQUE)
    expect(internalsOf(cached.tokens).verifyWithoutRevocation(OPAQUE).sub).toBe('opaque:ada')
  })
})

describe('revocation here', () => {
  test.each([
    ['the user of a payload', { sub: 'opaque:ada' }],
    ["the issuer's user", { sub: 'ada', issuer: OPAQUE_ISSUER }],
  ])(
    'of %s refuses the token, whatever the issuer says',
    async (_, { sub, issuer }: { sub: string; issuer?: string }) => {
      const { tokens } = createOpaqueReceiver({ cacheSeconds: 300 })
      await tokens.verify(OPAQUE)
      await tokens.revoke.user(sub, issuer === undefined ? {} : { issuer })
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(OPAQUE)))).toBe('TOKEN_REVOKED')
    },
  )

  test('of the token, its session, its issuer and everything', async () => {
    for (const revoke of ['token', 'session', 'issuer', 'all', 'logout'] as const) {
      const { tokens, endpoint } = createOpaqueReceiver()
      endpoint.tokens.set(OPAQUE, answerFor({ sid: 'session-1' }))
      const payload = await tokens.verify(OPAQUE)
      if (revoke === 'token') await tokens.revoke.token(payload)
      if (revoke === 'session') await tokens.revoke.session(payload)
      if (revoke === 'issuer') await tokens.revoke.all({ issuer: OPAQUE_ISSUER })
      if (revoke === 'all') await tokens.revoke.all()
      if (revoke === 'logout')
        expect(await tokens.logout(withBearer(OPAQUE))).toMatchObject({ sub: 'opaque:ada' })
      expect(await outcomeOf(tokens.verify(OPAQUE)), revoke).toBe('TOKEN_REVOKED')
    }
  })

  test('of a token without an id, also when the issuer renames its user or makes it last longer', async () => {
    const { tokens, endpoint, clock, store } = createOpaqueReceiver()
    endpoint.tokens.set(OPAQUE, answerFor({ username: 'ada' }))
    await tokens.revoke.token(await tokens.verify(OPAQUE))
    await clock.advance('2h')
    await store.prune(100)
    const { exp } = answerFor() as { exp: number }
    endpoint.tokens.set(OPAQUE, answerFor({ username: 'Ada Lovelace', exp: exp + 7200 }))
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_REVOKED')
  })

  test('of one user leaves the tokens of others, wherever the answer names them', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({ mapping: { sub: 'user_id' } })
    const answers = ['ada', 'bob'].map((user) =>
      answerFor({ sub: undefined, client_id: undefined, user_id: user }),
    )
    endpoint.tokens.set(OPAQUE, answers[0])
    endpoint.tokens.set(`${OPAQUE}2`, answers[1])
    await tokens.revoke.token(await tokens.verify(OPAQUE))
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(`${OPAQUE}2`))).toBe('ok')
  })

  test('by the callback, which gets the token and its payload', async () => {
    const { tokens } = createOpaqueReceiver()
    const asked: unknown[] = []
    tokens.setTokenBlocklist((token, { payload, header }) => {
      asked.push([token, payload.sub, header])
      return true
    })
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_REVOKED')
    expect(asked).toEqual([[OPAQUE, 'opaque:ada', { alg: 'introspection' }]])
  })

  test('a token that was issued after its user was revoked passes', async () => {
    const { tokens, endpoint, clock } = createOpaqueReceiver()
    await tokens.revoke.user('opaque:ada')
    clock.seconds += 60
    endpoint.tokens.set(OPAQUE, answerFor({ iat: clock.seconds, exp: clock.seconds + 600 }))
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('ok')
  })
})

describe('revocation at the issuer', () => {
  test('counts with the next request, without a cache', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    await tokens.verify(OPAQUE)
    endpoint.tokens.delete(OPAQUE)
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_INVALID')
  })

  test('counts after cacheSeconds, from when the issuer was asked', async () => {
    const { tokens, endpoint, clock } = createOpaqueReceiver({ cacheSeconds: 10 })
    // The answer takes 4 seconds.
    endpoint.answer(async () => {
      await new Promise<void>((resolve) => void clock.scheduler.setTimeout(resolve, 4000))
      return toAnswer(answerFor())
    })
    expect(await clock.runUntil(outcomeOf(tokens.verify(OPAQUE)))).toBe('ok')
    endpoint.answer(null)
    endpoint.tokens.delete(OPAQUE)
    await clock.advance('5.999s')
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('ok')
    await clock.advance('0.001s')
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_INVALID')
    expect(endpoint.asked).toHaveLength(2)
  })

  test('the cache ends with the token, also where there is a leeway', async () => {
    const { tokens, endpoint, clock } = createOpaqueReceiver({ cacheSeconds: 300, leeway: '60s' })
    endpoint.tokens.set(OPAQUE, answerFor({ exp: NOW + 30 }))
    await tokens.verify(OPAQUE)
    await clock.advance('29s')
    await tokens.verify(OPAQUE)
    expect(endpoint.asked).toHaveLength(1)
    await clock.advance('1s')
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('ok')
    expect(endpoint.asked).toHaveLength(2)
    await clock.advance('60s')
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_EXPIRED')
  })

  test('a socket that is open is checked by asking again', async () => {
    const { tokens, endpoint, clock } = createOpaqueReceiver()
    const upgrade = await tokens.sockets.authenticate(withBearer(OPAQUE))
    const closed: number[] = []
    const stop = tokens.sockets.closeWhenInvalid(
      { close: (code: number) => void closed.push(code), addEventListener: () => undefined },
      upgrade,
      { every: '10s' },
    )
    await clock.advance('11s')
    expect(closed).toEqual([])
    endpoint.tokens.delete(OPAQUE)
    await clock.advance('11s')
    expect(closed).toHaveLength(1)
    stop()
  })
})

describe('look-ups', () => {
  test('of one token at the same time are one request', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => outcomeOf(tokens.verify(OPAQUE))))
    expect(new Set(outcomes)).toEqual(new Set(['ok']))
    expect(endpoint.asked).toHaveLength(1)
  })

  test('of a token that is not active are remembered for 10 seconds, as errors of their own', async () => {
    const { tokens, endpoint, clock } = createOpaqueReceiver()
    const first = await tokens.verify('unknown-token').catch((error: unknown) => error)
    const second = await tokens.verify('unknown-token').catch((error: unknown) => error)
    expect(first).toMatchObject({ code: 'TOKEN_INVALID' })
    expect(second).not.toBe(first)
    expect(endpoint.asked).toHaveLength(1)
    endpoint.tokens.set('unknown-token', answerFor())
    await clock.advance('10s')
    expect(await outcomeOf(tokens.verify('unknown-token'))).toBe('ok')
  })

  test('of guesses take nothing from those that may not be tried again', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({ maxUnknown: 2 })
    for (const guess of ['guess-1', 'guess-2']) await outcomeOf(tokens.verify(guess))
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('KEYS_UNAVAILABLE')
    expect((await internalsOf(tokens).inspectToken(OPAQUE)).sub).toBe('opaque:ada')
    expect(endpoint.asked).toEqual(['guess-1', 'guess-2', OPAQUE])
  })

  test('keep no more than maxCached tokens', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({ cacheSeconds: 60, maxCached: 2 })
    for (const name of ['token-a', 'token-b', 'token-c']) endpoint.tokens.set(name, answerFor())
    for (const name of ['token-a', 'token-b', 'token-a', 'token-c', 'token-a', 'token-b'])
      await tokens.verify(name)
    expect(endpoint.asked).toEqual(['token-a', 'token-b', 'token-c', 'token-b'])
  })

  test('that fail are 503 with the cause, are reported, and are tried again', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    const failed: unknown[] = []
    tokens.on('keysFailed', ({ issuer, cause }) => failed.push([issuer, messagesOf(cause)]))
    endpoint.answer(async () => {
      throw new Error('ECONNREFUSED')
    })
    const error = await tokens.verify(OPAQUE).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'KEYS_UNAVAILABLE', issuer: OPAQUE_ISSUER })
    await settled()
    expect(failed).toEqual([[OPAQUE_ISSUER, `The request to ${ENDPOINT} failed | ECONNREFUSED | `]])
    endpoint.answer(null)
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('ok')
  })

  test('an answer from the cache counts while the endpoint fails, and no longer', async () => {
    const { tokens, endpoint, clock } = createOpaqueReceiver({ cacheSeconds: 10 })
    await tokens.verify(OPAQUE)
    endpoint.answer(async () => toAnswer({}, { status: 500 }))
    await clock.advance('9s')
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('ok')
    await clock.advance('1s')
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('KEYS_UNAVAILABLE')
  })
})

describe('JWTs of the issuer that nobody else can verify', () => {
  const okta = createForeign(OPAQUE_ISSUER)

  test('are sent, and only the answer counts', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    const jwt = okta.sign({ sub: 'claimed-by-the-token' })
    endpoint.tokens.set(jwt, answerFor())
    expect((await tokens.verify(jwt)).sub).toBe('opaque:ada')
    const forged = okta.sign({ sub: 'mallory' })
    expect(await outcomeOf(tokens.verify(forged))).toBe('TOKEN_INVALID')
  })

  test('do not pass as logout tokens', async () => {
    const { tokens } = createOpaqueReceiver()
    const options = { typ: 'logout+jwt', audience: 'app' }
    const jwt = okta.sign({ aud: 'app' }, { typ: 'logout+jwt' })
    expect(await outcomeOf(internalsOf(tokens).verifyIssuedJwt(jwt, options))).toBe('TOKEN_ISSUER_INVALID')
  })
})

// As their documentation shows them, with the audience that the client has to ask for.
const SHAPES: readonly (readonly [string, object, object, object])[] = [
  [
    'Ory',
    { issuer: 'https://example.projects.oryapis.com', audience: 'https://api.example' },
    {
      active: true,
      scope: 'openid offline notes:read',
      client_id: '9d6a1b5e',
      sub: '5f6c7a1e-3a0b-4f0e-8f51-0c1c2d3e4f50',
      exp: NOW + 3600,
      iat: NOW,
      nbf: NOW,
      aud: ['https://api.example'],
      iss: 'https://example.projects.oryapis.com',
      token_type: 'Bearer',
      token_use: 'access_token',
      ext: { plan: 'pro' },
    },
    {
      sub: '5f6c7a1e-3a0b-4f0e-8f51-0c1c2d3e4f50',
      scopes: ['openid', 'offline', 'notes:read'],
      ext: { plan: 'pro' },
    },
  ],
  [
    'Okta',
    {
      issuer: 'https://example.okta.com/oauth2/default',
      audience: 'api://default',
      mapping: { sub: 'uid' },
    },
    {
      active: true,
      token_type: 'Bearer',
      scope: 'openid notes:read',
      client_id: '0oabskvc',
      username: 'ada@example.com',
      exp: NOW + 3600,
      iat: NOW,
      sub: 'ada@example.com',
      aud: 'api://default',
      iss: 'https://example.okta.com/oauth2/default',
      jti: 'AT.0mP4JKAZ',
      uid: '00ujmkLg',
    },
    { sub: '00ujmkLg', jti: 'AT.0mP4JKAZ', scopes: ['openid', 'notes:read'] },
  ],
]

test.each(SHAPES)(
  'an answer of %s becomes a payload, and its refresh tokens do not',
  async (_, options, answer, payload) => {
    const { tokens, endpoint } = createOpaqueReceiver({ subjectPrefix: '', ...options })
    endpoint.tokens.set(OPAQUE, answer)
    expect(await tokens.verify(OPAQUE)).toMatchObject(payload)
    // Those of Ory say what they are; those of Okta have no audience.
    endpoint.tokens.set('refresh-token', { ...answer, aud: undefined, token_use: 'refresh_token' })
    expect(await outcomeOf(tokens.verify('refresh-token'))).toBe('TOKEN_INVALID')
  },
)

describe('options', () => {
  const create = (others: object): unknown => introspect(opaqueOptions(others))

  test.each([
    ['issuer', { issuer: '' }],
    ['endpoint', { endpoint: 'opaque.example/introspect' }],
    ['https', { endpoint: 'http://opaque.example/introspect' }],
    ['allowPrivateNetwork', { endpoint: 'https://127.0.0.1/introspect' }],
    ['credentials', { endpoint: 'https://api:secret@opaque.example/introspect' }],
    ['allowAnyAudience', { audience: undefined }],
    ['allowAnyAudience', { allowAnyAudience: true }],
    ['audience', { audience: [] }],
    ['cacheSeconds', { cacheSeconds: 301 }],
    ['cacheSeconds', { cacheSeconds: -1 }],
    ['cacheSeconds', { cacheSeconds: Number.NaN }],
    ['cacheSeconds', { cacheSeconds: '10s' }],
    ['maxCached', { maxCached: 0 }],
    ['maxUnknown', { maxUnknown: 0 }],
    ['timeout', { timeout: '61s' }],
    ['maxBytes', { maxBytes: 2 ** 21 }],
    ['method', { authentication: {} }],
    ['method', { authentication: { method: 'private_key_jwt' } }],
    ['clientSecret', { authentication: { method: 'client_secret_post', clientId: 'api' } }],
    ['clientId', { authentication: { method: 'client_secret_basic', clientId: '', clientSecret: 'x' } }],
    ['token', { authentication: { method: 'bearer', token: 'two words' } }],
    ['token', { authentication: { method: 'bearer', token: 'a\r\nhost: b' } }],
  ])('%s: %j is a ConfigurationError', (name, others) => {
    expect(() => create(others)).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }))
    expect(() => create(others)).toThrow(name)
  })

  test.each([
    ['cacheSecond', 'cacheSeconds', { cacheSecond: 1 }],
    ['clientSecret', 'authentication', { clientSecret: 'x' }],
    [
      'clientID',
      'clientId',
      { authentication: { method: 'client_secret_basic', clientID: 'a', clientSecret: 'b' } },
    ],
  ])('an unknown one is a TypeError: %s', (name, meant, others) => {
    expect(() => create(others)).toThrow(TypeError)
    expect(() => create(others)).toThrow(new RegExp(`"${name}".*"${meant}"`))
  })

  test('authentication is required, and its secret is not shown', () => {
    expect(() => create({ authentication: undefined })).toThrow('authentication')
    expect(JSON.stringify(introspect(opaqueOptions()))).not.toContain(CLIENT_SECRET)
  })

  test('a claim that is not read from answers cannot be required', () => {
    const issuer = introspect(opaqueOptions({ requiredClaims: ['csrf'] }))
    expect(() => new TokenManager({ config: new TokenConfig(), issuers: [issuer] })).toThrow('csrf')
  })

  test('a manager takes one issuer of opaque tokens, and a prefix if there are others', () => {
    const other = introspect(opaqueOptions({ issuer: 'https://other.example', subjectPrefix: 'other:' }))
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    expect(() => new TokenManager({ config, issuers: [introspect(opaqueOptions()), other] })).toThrow(
      'another issuer already has opaque tokens',
    )
    const issuer = introspect(opaqueOptions({ subjectPrefix: undefined }))
    expect(() => new TokenManager({ config, issuers: [issuer] })).toThrow('subjectPrefix')
    expect(() => new TokenManager({ config: new TokenConfig(), issuers: [issuer] })).not.toThrow()
  })

  test('the mapping says which claims are meant, and every audience is accepted only if that is written down', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({
      audience: undefined,
      allowAnyAudience: true,
      mapping: { sub: 'username', scopes: 'permissions' },
    })
    endpoint.tokens.set(OPAQUE, answerFor({ aud: undefined, username: 'lovelace', permissions: ['a', 'b'] }))
    expect(await tokens.verify(OPAQUE)).toMatchObject({ sub: 'opaque:lovelace', scopes: ['a', 'b'] })
    await tokens.revoke.user('ada', { issuer: OPAQUE_ISSUER })
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_REVOKED')
  })

  test('requiredClaims with jti refuses a token without one', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({ requiredClaims: ['jti'] })
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_INVALID')
    endpoint.tokens.set('with-an-id', answerFor({ jti: 'id-1' }))
    expect((await tokens.verify('with-an-id')).jti).toBe('id-1')
  })
})
