import { describe, expect, test } from 'vitest'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import type { IssuerOptions } from '../../packages/issuers/src/index.js'
import { AUDIENCE, createForeign, createReceiver } from '../helpers/foreign.js'
import { NOW, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

const A = createForeign('https://a.example')

// Made once for each: nothing here depends on what a manager has seen before.
const managers = new Map<string, TokenManager>()
const open = (options: Partial<IssuerOptions> = {}): TokenManager => {
  const name = JSON.stringify(options)
  const tokens = managers.get(name) ?? createReceiver([A.options(options)]).tokens
  managers.set(name, tokens)
  return tokens
}
const outcome = (options: Partial<IssuerOptions>, claims: object, header: object = {}) =>
  outcomeOf(open(options).verify(A.sign(claims, header)))

describe('oidc-access', () => {
  // What an issuer signs with the same key, and is no access token.
  const OTHERS: readonly (readonly [name: string, claims: object, header?: object])[] = [
    ['an ID token with a nonce', { nonce: 'n' }],
    ['an ID token with a nonce that is null', { nonce: null }],
    ['an ID token with at_hash', { at_hash: 'h' }],
    ['an ID token with c_hash', { c_hash: 'h' }],
    ['an ID token with s_hash', { s_hash: 'h' }],
    ['an ID token of Cognito', { token_use: 'id' }],
    ['a token_use of another type', { token_use: ['access'] }],
    ['a token_use that is null', { token_use: null }],
    ['an ID token of Keycloak', { typ: 'ID' }],
    ['a refresh token of Keycloak', { typ: 'Refresh' }],
    ['an offline token of Keycloak', { typ: 'Offline' }],
    ['a token of Keycloak that is bound to a key', { typ: 'DPoP' }],
    ['a typ in another case', { typ: 'bearer' }],
    ['a logout token', { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }],
    ['a logout token by its header', {}, { typ: 'logout+jwt' }],
    ['a security event token', {}, { typ: 'secevent+jwt' }],
    ['a DPoP proof', {}, { typ: 'dpop+jwt' }],
    ['an ID token by its header', {}, { typ: 'id+jwt' }],
    ['an introspection response', {}, { typ: 'token-introspection+jwt' }],
  ]
  test.each(OTHERS.map(([name, claims, header = {}]) => ({ name, claims, header })))(
    '$name is refused',
    async ({ claims, header }) => {
      expect(await outcome({}, claims, header)).toBe('TOKEN_INVALID')
    },
  )

  test.each([
    ['the typ of RFC 9068', {}, { typ: 'application/at+JWT' }],
    ['the typ JWT', {}, { typ: 'JWT' }],
    ['no typ', {}, { typ: undefined }],
    ['token_use access', { token_use: 'access' }, {}],
    ['the typ claim of Keycloak', { typ: 'Bearer' }, {}],
  ])('%s is an access token', async (_, claims, header) => {
    expect(await outcome({}, claims, header)).toBe('ok')
  })

  test('a nonce is accepted in a token that says that it is an access token (Keycloak up to 24)', async () => {
    expect(await outcome({}, { nonce: 'n', typ: 'Bearer' })).toBe('ok')
    expect(await outcome({}, { nonce: 'n', token_use: 'access' })).toBe('ok')
    const mapping = { access: { claim: 'kind', value: 'access' } }
    expect(await outcome({ mapping }, { nonce: 'n', kind: 'access' })).toBe('ok')
    for (const others of [
      { typ: 'ID' },
      { token_use: 'id' },
      { typ: 'Bearer', token_use: 'id' },
      { typ: 'Bearer', at_hash: 'h' },
      { typ: null },
    ]) {
      expect(await outcome({}, { nonce: 'n', ...others })).toBe('TOKEN_INVALID')
    }
    expect(await outcome({ mapping }, { nonce: 'n', kind: 'id' })).toBe('TOKEN_INVALID')
  })

  test('a declared claim tells access tokens from others', async () => {
    const mapping = { access: { claim: 'kind', value: 'api' } }
    expect(await outcome({ mapping }, { kind: 'api' })).toBe('ok')
    for (const kind of ['API', 'id', '', null, true, ['api'], undefined]) {
      expect(await outcome({ mapping }, { kind }), String(kind)).toBe('TOKEN_INVALID')
    }
    expect(await outcome({ mapping }, { kind: 'api', at_hash: 'h' })).toBe('TOKEN_INVALID')
  })

  test('claims that mean something in our tokens mean nothing in those of others', async () => {
    const claims = { type: 'refresh', fresh: true, csrf: 'x', scopes: ['admin'], gen: 4, remember: true }
    const payload = await open().verify(A.sign(claims))
    expect(payload.type).toBe('access')
    for (const name of ['fresh', 'csrf', 'scopes', 'gen', 'remember']) expect(payload[name]).toBeUndefined()
    expect(await outcomeOf(open().verify(A.sign(claims), { fresh: true }))).toBe('FRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(open().verify(A.sign(claims), { type: 'refresh' }))).toBe('REFRESH_TOKEN_REQUIRED')
  })

  test('the payload is frozen, and has no prototype to pollute', async () => {
    const text = JSON.stringify(A.claims({ roles: ['user'] })).replace('{', '{"__proto__":{"admin":true},')
    const payload = await open().verify(A.forge({ claims: text }))
    expect(Object.isFrozen(payload)).toBe(true)
    expect(Object.isFrozen(payload['roles'])).toBe(true)
    expect(payload['admin']).toBeUndefined()
    expect(payload['toString']).toBeUndefined()
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  })
})

describe('at+jwt', () => {
  const profile = 'at+jwt'
  test('the typ of the header is required', async () => {
    expect(await outcome({ profile }, {})).toBe('ok')
    expect(await outcome({ profile }, {}, { typ: 'application/AT+jwt' })).toBe('ok')
    for (const typ of ['JWT', 'jwt', undefined, 'at', 'application/jwt', 'at+jwt ']) {
      expect(await outcome({ profile }, {}, { typ }), String(typ)).toBe('TOKEN_INVALID')
    }
  })

  test.each(['sub', 'exp', 'iat', 'jti', 'client_id'])('%s is required', async (name) => {
    expect(await outcome({ profile }, { [name]: undefined })).toBe('TOKEN_INVALID')
    expect(await outcome({ profile }, { [name]: null })).toBe('TOKEN_INVALID')
  })

  test.each([[1], [''], [true], [['app']], [{ id: 'app' }]])(
    'a client_id that is no text is refused: %j',
    async (id) => {
      expect(await outcome({ profile }, { client_id: id })).toBe('TOKEN_INVALID')
      // In other profiles it is a claim like any other.
      expect(await outcome({}, { client_id: id })).toBe('ok')
    },
  )

  test('an audience is required', async () => {
    expect(await outcome({ profile }, { aud: undefined })).toBe('TOKEN_AUDIENCE_INVALID')
  })

  test('an ID token with that typ is refused all the same', async () => {
    expect(await outcome({ profile }, { nonce: 'n' })).toBe('TOKEN_INVALID')
  })
})

describe('tokenlib', () => {
  const profile = 'tokenlib'
  test('access tokens pass with our claims, refresh tokens and others do not', async () => {
    const payload = await open({ profile, subjectPrefix: 'a:' }).verify(
      A.sign({ type: 'access', scopes: ['read'], sid: 's', fresh: true }),
    )
    expect(payload).toMatchObject({ sub: 'a:ada', type: 'access', scopes: ['read'], sid: 's', fresh: true })
    for (const type of ['refresh', 'Access', undefined, null, ['access']]) {
      expect(await outcome({ profile }, { type }), String(type)).toBe('TOKEN_INVALID')
    }
  })

  test.each([
    ['jti', 1],
    ['sid', ''],
    ['scopes', 5],
    ['gen', -1],
    ['remember', 'yes'],
    ['csrf', ''],
    ['exp', '2100'],
  ])('a %s of the wrong type is refused', async (name, value) => {
    expect(await outcome({ profile }, { type: 'access', [name]: value })).toBe('TOKEN_INVALID')
  })
})

describe('every profile', () => {
  const PROFILES = [
    ['oidc-access', {}],
    ['at+jwt', {}],
    ['tokenlib', { type: 'access' }],
  ] as const

  test.each(PROFILES)('%s: exp and iat are required, and checked', async (profile, more) => {
    expect(await outcome({ profile }, { ...more })).toBe('ok')
    for (const name of ['exp', 'iat']) {
      expect(await outcome({ profile }, { ...more, [name]: undefined }), name).toBe('TOKEN_INVALID')
      for (const value of ['1', null, true, [NOW], {}]) {
        expect(await outcome({ profile }, { ...more, [name]: value })).toBe('TOKEN_INVALID')
      }
    }
    expect(await outcome({ profile }, { ...more, exp: NOW })).toBe('TOKEN_EXPIRED')
    expect(await outcome({ profile }, { ...more, iat: NOW + 1 })).toBe('TOKEN_NOT_YET_VALID')
    expect(await outcome({ profile }, { ...more, nbf: NOW + 1 })).toBe('TOKEN_NOT_YET_VALID')
    expect(await outcome({ profile, leeway: 2 }, { ...more, nbf: NOW + 1, iat: NOW + 1, exp: NOW + 9 })).toBe(
      'ok',
    )
  })

  test.each(PROFILES)('%s: the audience is ours, or ours among others', async (profile, more) => {
    const check = (aud: unknown) => outcome({ profile, audience: [AUDIENCE, 'second'] }, { ...more, aud })
    expect(await check(['other', AUDIENCE])).toBe('ok')
    expect(await check('second')).toBe('ok')
    for (const aud of ['other', [], ['other'], `${AUDIENCE}/`, undefined]) {
      expect(await check(aud), String(aud)).toBe('TOKEN_AUDIENCE_INVALID')
    }
    for (const aud of [1, true, [[AUDIENCE]], { 0: AUDIENCE }]) {
      expect(await check(aud), JSON.stringify(aud)).toBe('TOKEN_INVALID')
    }
  })

  test.each(PROFILES)('%s: the subject is a text with something in it', async (profile, more) => {
    for (const sub of ['', null, 1, ['ada'], { id: 'ada' }, undefined]) {
      expect(await outcome({ profile, subjectPrefix: 'a:' }, { ...more, sub })).toBe('TOKEN_INVALID')
    }
  })

  test.each(PROFILES)('%s: requiredClaims', async (profile, more) => {
    const requiredClaims = ['tenant']
    expect(await outcome({ profile, requiredClaims }, { ...more, tenant: '' })).toBe('ok')
    expect(await outcome({ profile, requiredClaims }, { ...more, tenant: null })).toBe('TOKEN_INVALID')
    expect(await outcome({ profile, requiredClaims }, more)).toBe('TOKEN_INVALID')
  })

  test.each(PROFILES)(
    '%s: a token is refused when it is too old, whenever it expires',
    async (profile, more) => {
      const year = { exp: NOW + 31_536_000 }
      expect(await outcome({ profile }, { ...more, ...year, iat: NOW - 86_399 })).toBe('ok')
      expect(await outcome({ profile }, { ...more, ...year, iat: NOW - 86_400 })).toBe('TOKEN_EXPIRED')
      const strict = { profile, maxTokenAge: '1m', leeway: '5s' } as const
      expect(await outcome(strict, { ...more, ...year, iat: NOW - 64 })).toBe('ok')
      expect(await outcome(strict, { ...more, ...year, iat: NOW - 65 })).toBe('TOKEN_EXPIRED')
    },
  )
})

describe('mapping', () => {
  test('claims get our names, and the originals stay', async () => {
    const mapping = { sub: 'oid', sid: 'session_state', jti: 'uti', aud: 'client_id', scopes: 'roles' }
    const claims = { oid: 'o-1', session_state: 's-1', uti: 'u-1', client_id: AUDIENCE, roles: ['read'] }
    const payload = await open({ mapping }).verify(A.sign({ ...claims, aud: 'other', sid: 'x', jti: 'y' }))
    expect(payload).toMatchObject({
      ...claims,
      sub: 'o-1',
      sid: 's-1',
      jti: 'u-1',
      aud: AUDIENCE,
      scopes: ['read'],
    })
  })

  test('a mapped audience takes the place of aud, which does not count then', async () => {
    expect(await outcome({ mapping: { aud: 'client_id' } }, { client_id: 'other' })).toBe(
      'TOKEN_AUDIENCE_INVALID',
    )
  })

  test.each([
    ['sub', 7],
    ['sub', ''],
    ['sid', 7],
    ['sid', ''],
    ['jti', ['a']],
    ['aud', {}],
    ['scopes', 7],
    ['scopes', [1]],
    ['scopes', {}],
    ['scopes', true],
  ])('a claim mapped to %s with the wrong type is refused: %j', async (name, value) => {
    expect(await outcome({ mapping: { [name]: 'custom' } }, { custom: value })).toBe('TOKEN_INVALID')
  })

  test.each([
    ['text', { scope: 'read  write' }, ['read', 'write']],
    ['scp of Entra', { scp: 'read' }, ['read']],
    ['scp of Okta', { scp: ['read', 'write'], scope: 'ignored' }, ['read', 'write']],
    ['permissions of Auth0 before scope', { permissions: ['p'], scope: 's', scp: 't' }, ['p']],
    ['no permissions are none, whatever the scope', { permissions: [], scope: 'admin' }, []],
    ['null is absent', { permissions: null, scope: 's' }, ['s']],
    ['an empty text', { scope: '' }, []],
    ['no claim', {}, undefined],
  ])('scopes: %s', async (_, claims, scopes) => {
    expect((await open().verify(A.sign(claims))).scopes).toEqual(scopes)
  })

  test('mapped scopes: the first claim of the list that a token has', async () => {
    const tokens = open({ mapping: { scopes: ['roles', 'scope'] } })
    expect((await tokens.verify(A.sign({ scope: 'a', permissions: ['p'] }))).scopes).toEqual(['a'])
    expect((await tokens.verify(A.sign({ roles: ['r'], scope: 'a' }))).scopes).toEqual(['r'])
    expect(await outcomeOf(tokens.verify(A.sign({ scope: 'a' }), { scopes: ['p'] }))).toBe(
      'INSUFFICIENT_SCOPE',
    )
  })

  test('what the application changes in its options later changes nothing', async () => {
    const mapping = { sub: 'oid', access: { claim: 'kind', value: 'api' } }
    const audience = [AUDIENCE]
    const algorithms: IssuerOptions['algorithms'] & string[] = ['ES256']
    const tokens = open({ mapping, audience, algorithms })
    mapping.sub = 'sub'
    mapping.access.value = 'id'
    audience[0] = 'other'
    algorithms[0] = 'RS256'
    expect((await tokens.verify(A.sign({ oid: 'o', kind: 'api' }))).sub).toBe('o')
    expect(await outcomeOf(tokens.verify(A.sign({ oid: 'o', kind: 'id' })))).toBe('TOKEN_INVALID')
  })
})

describe('freshFor', () => {
  const freshFor = '5m'
  const fresh = (claims: object, options: Partial<IssuerOptions> = { freshFor }) =>
    outcomeOf(open(options).verify(A.sign(claims), { fresh: true }))

  test('a token is fresh for a while after auth_time', async () => {
    expect(await fresh({ auth_time: NOW - 299 })).toBe('ok')
    expect(await fresh({ auth_time: NOW - 300 })).toBe('FRESH_TOKEN_REQUIRED')
    expect(await fresh({})).toBe('FRESH_TOKEN_REQUIRED')
    expect(await fresh({ auth_time: NOW }, {})).toBe('FRESH_TOKEN_REQUIRED')
    for (const auth_time of ['now', {}, true]) expect(await fresh({ auth_time })).toBe('TOKEN_INVALID')
  })
})

describe('ids', () => {
  test('a token without jti gets an id of what was signed, the same for each of its signatures', async () => {
    const tokens = open()
    const claims = A.claims({ jti: undefined })
    const ids = await Promise.all([1, 2].map(async () => (await tokens.verify(A.forge({ claims }))).jti))
    expect(ids[0]).toMatch(/^[\w-]{43}$/)
    expect(ids[1]).toBe(ids[0])
    expect((await tokens.verify(A.sign({ jti: undefined, n: 1 }))).jti).not.toBe(ids[0])
  })

  test.each(['oidc-access', 'tokenlib'] as const)(
    'so that it can be logged out, profile %s',
    async (profile) => {
      const tokens = createReceiver([A.options({ profile })]).tokens
      const token = A.sign({ type: 'access', jti: undefined })
      expect(await outcomeOf(tokens.verify(token))).toBe('ok')
      expect(await tokens.logout(withBearer(token))).toMatchObject({ sub: 'ada' })
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
      const required = { profile, requiredClaims: ['jti'] }
      expect(await outcome(required, { type: 'access', jti: undefined })).toBe('TOKEN_INVALID')
    },
  )

  test('a jti that is required is not made up', async () => {
    expect(await outcome({ requiredClaims: ['jti'] }, { jti: undefined })).toBe('TOKEN_INVALID')
    expect(await outcome({ requiredClaims: ['jti'], mapping: { jti: 'uti' } }, { uti: 'u' })).toBe('ok')
  })
})

describe('subjects', () => {
  const B = createForeign('https://b.example')
  test('no user of one issuer gets the sub of a user of another', async () => {
    const { tokens } = createReceiver([A.options(), B.options({ subjectPrefix: 'b:' })])
    expect((await tokens.verify(B.sign())).sub).toBe('b:ada')
    expect((await tokens.verify(A.sign({ sub: 'B:ada' }))).sub).toBe('B:ada')
    for (const sub of ['b:ada', 'b:']) {
      expect(await outcomeOf(tokens.verify(A.sign({ sub })))).toBe('TOKEN_INVALID')
    }
    expect((await tokens.verify(B.sign({ sub: 'b:ada' }))).sub).toBe('b:b:ada')
  })
})
