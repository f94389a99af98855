import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { introspect, type IntrospectOptions } from '../../packages/issuers/src/index.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'
import { createForeign } from '../helpers/foreign.js'
import {
  answerFor,
  CLIENT_SECRET,
  createOpaqueReceiver,
  OPAQUE,
  OPAQUE_ISSUER,
  opaqueOptions,
  toAnswer,
} from '../helpers/introspection.js'
import { type Answer, json, messagesOf, startKeyServer } from '../helpers/key-server.js'
import { createClock, NOW, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createProver, createView, PUBLIC_URL } from './harness/prover.js'

/** A manager that asks a real endpoint, which a test may make hostile. */
async function openHostile(options: Partial<IntrospectOptions> = {}) {
  const server = await startKeyServer()
  server.answer(json(answerFor()))
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
    clock: createClock(),
    issuers: [
      introspect(
        opaqueOptions({ endpoint: `${server.origin}/introspect`, allowPrivateNetwork: true, ...options }),
      ),
    ],
  })
  const call = () => outcomeOf(tokens.accessTokenRequired(withBearer(OPAQUE)))
  // A short deadline may be over before a busy machine answers.
  if (options.timeout === undefined) expect(await call()).toBe('ok')
  return { server, tokens, call }
}

const text =
  (body: string | Buffer, type = 'application/json', headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': type, ...headers }).end(body)
const good = JSON.stringify(answerFor())

const FAILURES: readonly (readonly [string, Answer])[] = [
  ['nothing', text('')],
  ['no JSON', text('{"active":true')],
  ['HTML with status 200', text('<title>Log in</title>', 'text/html')],
  ['JSON that says it is something else', text(good, 'text/plain')],
  ['JSON without a content type', (response) => void response.writeHead(200).end(good)],
  ['a signed answer', text('eyJhbGciOiJub25lIn0..', 'application/token-introspection+jwt')],
  ['a list', text(`[${good}]`)],
  ['a text', text('"active"')],
  ['true', text('true')],
  ['null', text('null')],
  ['an object without active', json({ ...answerFor(), active: undefined })],
  ...['true', 'false', 1, 0, null, {}, [], [true]].map(
    (active) => [`active: ${JSON.stringify(active)}`, json(answerFor({ active }))] as const,
  ),
  ['Active', json({ ...answerFor({ active: undefined }), Active: true })],
  ['active in __proto__', text(`{"__proto__":${good}}`)],
  ['active twice', text(good.replace('{', '{"active":false,'))],
  ['a claim twice', text(good.replace('{', '{"sub":"mallory",'))],
  ['a nested member twice', text(good.replace('{', '{"ext":{"a":1,"a":2},'))],
  ['deep nesting', text(good.replace('{', `{"a":${'['.repeat(5000)}${']'.repeat(5000)},`))],
  ['bytes that are not UTF-8', text(Buffer.from(good.replace('ada', '\xff'), 'latin1'))],
  ['more than maxBytes', text(good.replace('{', `{"a":"${'x'.repeat(70_000)}",`))],
  [
    'more than maxBytes when it is unpacked',
    text(gzipSync(good.replace('{', `{"a":"${'x'.repeat(1_000_000)}",`)), 'application/json', {
      'content-encoding': 'gzip',
    }),
  ],
  [
    'an end in the middle',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' })
      response.write(good, () => response.socket?.destroy())
    },
  ],
  ['a closed connection', (response) => void response.socket?.destroy()],
  ...[201, 202, 204, 206, 304, 400, 401, 403, 404, 429, 500, 502, 503].map(
    (status) =>
      [
        `status ${status}`,
        (response) => {
          response
            .writeHead(status, { 'content-type': 'application/json' })
            .end(status === 204 || status === 304 ? undefined : good)
        },
      ] as readonly [string, Answer],
  ),
  ...[301, 302, 303, 307, 308].map(
    (status) =>
      [
        `redirect ${status}`,
        (response, request) => {
          if (request.url === '/other') return json(answerFor())(response, request)
          response.writeHead(status, { location: '/other', 'content-type': 'application/json' }).end(good)
        },
      ] as readonly [string, Answer],
  ),
]

describeAttacks('opaque tokens of an issuer that is asked about them (RFC 7662 §4)', () => {
  ownAttack('an endpoint that answers something else is an outage, and nobody gets in', async () => {
    const { server, call } = await openHostile({ maxUnknown: 1000 })
    for (const [name, answer] of FAILURES) {
      server.answer(answer)
      expect(await call(), name).toBe('KEYS_UNAVAILABLE')
    }
    expect(server.requests).not.toContain('/other')
    server.answer(json(answerFor()))
    expect(await call()).toBe('ok')
  })

  ownAttack('an endpoint that never answers, or never ends its answer', async () => {
    const { server, call } = await openHostile({ timeout: '0.05s' })
    for (const answer of [
      () => undefined,
      (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).write('{"active":true,'),
    ] as readonly Answer[]) {
      server.answer(answer)
      expect(await call()).toBe('KEYS_UNAVAILABLE')
    }
  })

  ownAttack('a fetch of the application that follows redirects', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    endpoint.answer(async () => Object.defineProperty(toAnswer(answerFor()), 'redirected', { value: true }))
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('KEYS_UNAVAILABLE')
  })

  ownAttack('claims that are missing, wrong, or for somebody else', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({ maxUnknown: 1000 })
    const REFUSED: readonly (readonly [string, object])[] = [
      ...['sub', 'exp', 'iat'].map((name) => ['TOKEN_INVALID', { [name]: undefined }] as const),
      ...['', 7, null, ['ada'], { id: 'ada' }].map((sub) => ['TOKEN_INVALID', { sub }] as const),
      ...['1', `${NOW + 600}`, null, true, [NOW + 600]].flatMap((date) => [
        ['TOKEN_INVALID', { exp: date }] as const,
        ['TOKEN_INVALID', { iat: date }] as const,
      ]),
      ['TOKEN_INVALID', { nbf: 'soon' }],
      ['TOKEN_EXPIRED', { exp: NOW }],
      ['TOKEN_EXPIRED', { iat: NOW - 90_000, exp: NOW + 600 }],
      ['TOKEN_NOT_YET_VALID', { nbf: NOW + 60 }],
      ['TOKEN_NOT_YET_VALID', { iat: NOW + 60 }],
      ['TOKEN_ISSUER_INVALID', { iss: 'https://other.example' }],
      ['TOKEN_ISSUER_INVALID', { iss: `${OPAQUE_ISSUER}/` }],
      ['TOKEN_INVALID', { iss: [OPAQUE_ISSUER] }],
      ['TOKEN_AUDIENCE_INVALID', { aud: undefined }],
      ['TOKEN_AUDIENCE_INVALID', { aud: 'https://other.example' }],
      ['TOKEN_AUDIENCE_INVALID', { aud: [] }],
      ['TOKEN_INVALID', { aud: { 0: 'https://api.example' } }],
      ['TOKEN_INVALID', { scope: 7 }],
      ['TOKEN_INVALID', { sid: 7 }],
      ['TOKEN_INVALID', { jti: '' }],
      // Other tokens of the issuer, which it calls active as well.
      ['TOKEN_INVALID', { token_type: undefined }],
      ['TOKEN_INVALID', { token_type: 'refresh_token' }],
      ['TOKEN_INVALID', { token_type: 'N_A' }],
      ['TOKEN_INVALID', { token_type: ['Bearer'] }],
      ['TOKEN_INVALID', { token_use: 'refresh_token' }],
      ['TOKEN_INVALID', { token_use: 'id' }],
      ['TOKEN_INVALID', { typ: 'Refresh' }],
      ['TOKEN_INVALID', { typ: 'ID' }],
      ['TOKEN_INVALID', { nonce: 'n-0S6' }],
      ['TOKEN_INVALID', { at_hash: 'x' }],
      ['TOKEN_INVALID', { events: {} }],
    ]
    for (const [at, [code, others]] of REFUSED.entries()) {
      const token = `opaque-token-${at}`
      endpoint.tokens.set(token, answerFor(others))
      expect(await outcomeOf(tokens.verify(token)), JSON.stringify(others)).toBe(code)
    }
    const ALLOWED = [
      { iss: undefined },
      { token_use: 'access_token' },
      { token_type: 'bearer' },
      { token_type: undefined, token_use: 'access_token' },
      { token_type: undefined, typ: 'Bearer' },
    ]
    for (const [at, others] of ALLOWED.entries()) {
      endpoint.tokens.set(`allowed-${at}`, answerFor(others))
      expect(await outcomeOf(tokens.verify(`allowed-${at}`)), JSON.stringify(others)).toBe('ok')
    }
  })

  ownAttack('claims that mean something in our own tokens only', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({}, { config: { JWT_IDENTITY_CLAIM: 'user_id' } })
    const ours = {
      type: 'refresh',
      fresh: true,
      csrf: 'c',
      gen: 1,
      par: '',
      sat: 1,
      remember: true,
      user_id: 'root',
    }
    endpoint.tokens.set(OPAQUE, answerFor({ ...ours, scopes: ['admin'], constructor: 'x' }))
    const payload = await tokens.verify(OPAQUE)
    expect(payload).toMatchObject({
      type: 'access',
      user_id: 'opaque:ada',
      scopes: ['notes:read', 'notes:write'],
    })
    expect(Object.keys(payload)).not.toEqual(expect.arrayContaining(['fresh', 'csrf', 'gen', 'remember']))
    expect(await outcomeOf(tokens.freshTokenRequired(withBearer(OPAQUE)))).toBe('FRESH_TOKEN_REQUIRED')
  })

  ownAttack('a user with the prefix of another issuer', async () => {
    const other = createForeign('https://other.example')
    const { tokens, endpoint } = createOpaqueReceiver(
      { subjectPrefix: '' },
      { others: [other.trust({ subjectPrefix: 'other:' })] },
    )
    endpoint.tokens.set(OPAQUE, answerFor({ sub: 'other:ada' }))
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_INVALID')
  })

  ownAttack('our own tokens, and those of other issuers, are not sent to the endpoint', async () => {
    const other = createForeign('https://other.example')
    const { tokens, endpoint } = createOpaqueReceiver(
      {},
      { others: [other.trust({ subjectPrefix: 'other:' })] },
    )
    const own = tokens.createAccessToken({ uid: 'ada' })
    const [header, payload, signature] = own.split('.') as [string, string, string]
    expect(await outcomeOf(tokens.verify(own))).toBe('ok')
    expect(await outcomeOf(tokens.verify(other.sign()))).toBe('ok')
    for (const sent of [
      tokens.createRefreshToken({ uid: 'ada' }),
      own.slice(0, -4),
      `${own}=`,
      `${own}.${signature}`,
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${header}..${signature}`,
      header,
      `${header.slice(0, -1)}.${payload}.${signature}`,
      `${header}=.${payload}.${signature}`,
      `undefined${own}`,
      `v1.${own}`,
      `${Buffer.from(' {"alg":"HS256"}').toString('base64url')}.${payload}.${signature}`,
      other.sign({ exp: NOW - 60 }),
      createForeign('https://stranger.example').sign(),
    ]) {
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(sent)))).not.toBe('ok')
      await tokens.logout(withBearer(sent))
    }
    expect(endpoint.asked).toEqual([])
  })

  ownAttack(
    'what cannot be a token is not sent: too long, or with characters that no token has',
    async () => {
      const { tokens, endpoint } = createOpaqueReceiver()
      for (const token of [
        'x'.repeat(8193),
        'x'.repeat(1_000_000),
        '',
        ' ',
        'a b',
        'a\r\nx-admin: 1',
        'a&active=true',
        'a%00',
        'a\0b',
        'a"b',
        'tökën',
        '=',
        'a=b',
        '😀',
      ]) {
        expect(await outcomeOf(tokens.verify(token)), token.slice(0, 20)).toBe('TOKEN_INVALID')
      }
      expect(await outcomeOf(tokens.verify(7 as never))).toBe('TOKEN_INVALID')
      expect(endpoint.asked).toEqual([])
      await tokens.verify('x'.repeat(8192)).catch(() => undefined)
      expect(endpoint.asked).toHaveLength(1)
    },
  )

  ownAttack('random tokens cause a few requests, and known users go on', async () => {
    const { tokens, endpoint, clock } = createOpaqueReceiver()
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('ok')
    const flood = async (round: number) =>
      Promise.all(Array.from({ length: 500 }, (_, at) => outcomeOf(tokens.verify(`guess-${round}-${at}`))))
    const outcomes = await flood(0)
    expect(outcomes.filter((outcome) => outcome === 'TOKEN_INVALID')).toHaveLength(100)
    expect(outcomes.filter((outcome) => outcome === 'KEYS_UNAVAILABLE')).toHaveLength(400)
    expect(endpoint.asked).toHaveLength(101)
    // Known tokens are still asked about, and logouts have a budget of their own.
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('ok')
    endpoint.tokens.set('new-token', answerFor({ sub: 'grace' }))
    expect(await outcomeOf(tokens.verify('new-token'))).toBe('KEYS_UNAVAILABLE')
    expect(await tokens.logout(withBearer('new-token'))).toMatchObject({ sub: 'opaque:grace' })
    // One comes back every tenth of a second, not a whole period at once.
    await clock.advance('1s')
    endpoint.asked.length = 0
    await flood(1)
    expect(endpoint.asked).toHaveLength(10)
  })

  ownAttack('active tokens do not use up the budget', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({ maxUnknown: 5 })
    for (let at = 0; at < 50; at++) {
      endpoint.tokens.set(`user-token-${at}`, answerFor({ sub: `user-${at}` }))
      expect(await outcomeOf(tokens.verify(`user-token-${at}`))).toBe('ok')
    }
  })

  ownAttack('logouts with active tokens do not use up the budget of other logouts', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    for (let at = 0; at < 50; at++) {
      endpoint.tokens.set(`user-token-${at}`, answerFor({ sub: `user-${at}` }))
      expect(await tokens.logout(withBearer(`user-token-${at}`))).toMatchObject({ sub: `opaque:user-${at}` })
    }
    endpoint.asked.length = 0
    for (let at = 0; at < 50; at++) await tokens.logout(withBearer(`guess-${at}`)).catch(() => null)
    expect(endpoint.asked).toHaveLength(10)
  })

  ownAttack('failures do use it up, and one request brings few tokens', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({ maxUnknown: 5 })
    endpoint.answer(async () => toAnswer({}, { status: 500 }))
    for (let at = 0; at < 50; at++) await tokens.verify(`guess-${at}`).catch(() => undefined)
    expect(endpoint.asked).toHaveLength(5)
    const cookies = createOpaqueReceiver({}, { config: { JWT_TOKEN_LOCATION: ['headers', 'cookies'] } })
    const cookie = Array.from({ length: 20 }, (_, at) => `access_token_cookie=guess-${at}`).join('; ')
    const request = new Request('https://api.example/', {
      headers: { cookie, authorization: 'Bearer guess' },
    })
    await outcomeOf(cookies.tokens.logout(request))
    expect(cookies.endpoint.asked.length).toBeLessThanOrEqual(4)
  })

  ownAttack('a token revoked here in one spelling comes back in another', async () => {
    const { tokens, endpoint } = createOpaqueReceiver()
    // Endpoints that decode base64url laxly call both active.
    const other = `${OPAQUE.slice(0, -1)}F`
    endpoint.tokens.set(other, answerFor())
    await tokens.revoke.token(await tokens.verify(OPAQUE))
    expect(await outcomeOf(tokens.verify(OPAQUE))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(other))).toBe('TOKEN_REVOKED')
    // Another token of the same user is another token.
    endpoint.tokens.set('later-token', answerFor({ iat: NOW - 30 }))
    expect(await outcomeOf(tokens.verify('later-token'))).toBe('ok')
  })

  ownAttack('an answer of the cache for a token with the same beginning, end or length', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({ cacheSeconds: 300 })
    await tokens.verify(OPAQUE)
    for (const token of [
      `${OPAQUE}A`,
      OPAQUE.slice(1),
      OPAQUE.slice(0, -1),
      OPAQUE.toUpperCase(),
      `x${OPAQUE.slice(1)}`,
    ]) {
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('TOKEN_INVALID')
    }
    const digest = createHash('sha256').update(OPAQUE).digest('base64url')
    expect(await outcomeOf(tokens.verify(digest))).toBe('TOKEN_INVALID')
    expect(endpoint.asked).toContain(digest)
  })

  ownAttack('a token that is bound to a key, without its proof', async () => {
    const client = createProver()
    const bound = { token_type: 'DPoP', cnf: { jkt: client.jkt } }
    const { tokens, endpoint } = createOpaqueReceiver({}, { dpop: { publicUrl: PUBLIC_URL } })
    const call = (proof: string | null, scheme = 'DPoP') =>
      outcomeOf(
        tokens.accessTokenRequired(
          createView({ authorization: `${scheme} ${OPAQUE}`, ...(proof !== null && { dpop: proof }) }),
        ),
      )
    endpoint.tokens.set(OPAQUE, answerFor(bound))
    const proof = client.prove({ token: OPAQUE })
    expect(await call(proof)).toBe('ok')
    expect(await call(proof)).toBe('PROOF_REUSED')
    expect(await call(null)).toBe('PROOF_REQUIRED')
    expect(await call(null, 'Bearer')).toBe('PROOF_REQUIRED')
    expect(await call(createProver().prove({ token: OPAQUE }))).toBe('PROOF_INVALID')
    expect(await call(client.prove({ token: `${OPAQUE}A` }))).toBe('PROOF_INVALID')
    endpoint.tokens.set(OPAQUE, answerFor({ token_type: 'DPoP' }))
    expect(await call(client.prove({ token: OPAQUE }))).toBe('TOKEN_INVALID')
    const without = createOpaqueReceiver()
    without.endpoint.tokens.set(OPAQUE, answerFor(bound))
    expect(await outcomeOf(without.tokens.accessTokenRequired(withBearer(OPAQUE)))).toBe('PROOF_REQUIRED')
  })

  ownAttack('tokens and secrets in errors, events and what is inspected', async () => {
    const { tokens, endpoint } = createOpaqueReceiver({
      authentication: { method: 'client_secret_post', clientId: 'api', clientSecret: CLIENT_SECRET },
    })
    const shown: string[] = []
    for (const name of ['rejected', 'keysFailed', 'revoked', 'loggedOut'] as const) {
      onTestFinished(tokens.on(name, (event) => void shown.push(JSON.stringify(event))))
    }
    for (const answer of [
      async () => toAnswer({ error: OPAQUE, hint: CLIENT_SECRET }, { status: 400 }),
      async () => toAnswer(OPAQUE),
      async () => toAnswer({ active: OPAQUE }),
      async () => toAnswer(answerFor({ sub: 7, [OPAQUE]: OPAQUE })),
      async () => toAnswer({ active: false, token: OPAQUE }),
    ]) {
      endpoint.answer(answer)
      const error: unknown = await tokens.verify(OPAQUE).catch((reason: unknown) => reason)
      shown.push(messagesOf(error), JSON.stringify(error), String((error as Error).stack))
    }
    endpoint.answer(null)
    endpoint.tokens.set('another-token', answerFor())
    const { jti = '' } = await tokens.verify('another-token')
    await tokens.logout(withBearer('another-token'))
    shown.push(jti, JSON.stringify(internalsOf(tokens).inspect().issuers))
    for (const text of shown) {
      expect(text).not.toContain(OPAQUE)
      expect(text).not.toContain(CLIENT_SECRET)
      expect(text).not.toContain('another-token')
    }
    expect(shown.length).toBeGreaterThan(15)
  })
})
