import { describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager, type TrustedIssuer } from '../../packages/tokenlib/src/index.js'
import { type LegacyIssuerOptions, trustLegacyIssuer } from '../../packages/issuers/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createForeign } from '../helpers/foreign.js'
import { keyPairFor } from '../helpers/keys.js'
import { createClock, NOW, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'

const OLD_SECRET = 'Rk2vYw8sQe5uTz1xLm7nBc4pHd9fGj3a'
const DAY = 86_400

const LEGACY: LegacyIssuerOptions = {
  issuer: 'before',
  withoutIss: true,
  secret: OLD_SECRET,
  maxTokenAge: '1h',
  acceptUntil: new Date((NOW + DAY) * 1000),
}

/** A token as `jsonwebtoken` makes it, and others claims in their place. */
const old = (claims: object = {}, key: string = OLD_SECRET, header?: object) =>
  forge({
    key,
    claims: { sub: 'ada', iat: NOW - 60, exp: NOW + 600, ...claims },
    ...(header && { header: { alg: 'HS256', typ: 'JWT', ...header } }),
  })

function createSuccessor(
  options: Partial<LegacyIssuerOptions> = {},
  others: readonly TrustedIssuer[] = [],
  clock = createClock(),
) {
  const revocation = createMemoryStore({ clock })
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT })
  const issuers = [trustLegacyIssuer({ ...LEGACY, ...options }), ...others]
  return { tokens: new TokenManager({ config, clock, store: revocation, issuers }), clock, revocation }
}

describe('tokens of the application before', () => {
  test('a token without iss, jti and type is accepted next to our own', async () => {
    const { tokens } = createSuccessor()
    const payload = await tokens.verify(old({ name: 'Ada' }))
    expect(payload).toMatchObject({ sub: 'ada', type: 'access', iss: 'before', name: 'Ada' })
    expect(payload.jti).toMatch(/^[\w-]{43}$/)
    expect(payload.exp).toBe(NOW + 600)
    expect((await tokens.accessTokenRequired(withBearer(old()))).sub).toBe('ada')
    expect((await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).iss).toBeUndefined()
  })

  test('a token with an iss is accepted by that iss alone', async () => {
    const { tokens } = createSuccessor({ issuer: 'old-app', withoutIss: false })
    expect((await tokens.verify(old({ iss: 'old-app' }))).sub).toBe('ada')
    expect(await outcomeOf(tokens.verify(old()))).toBe('TOKEN_SIGNATURE_INVALID')
    expect(await outcomeOf(tokens.verify(old({ iss: 'old-app/' })))).toBe('TOKEN_ISSUER_INVALID')
  })

  test.each([
    [{ sub: 'userId' }, { sub: undefined, userId: 42 }, { sub: '42', userId: 42 }],
    [{ sub: 'user.id' }, { sub: undefined, user: { id: 7 } }, { sub: '7' }],
    [{ sub: 'https://x.example/id' }, { 'https://x.example/id': 'u1' }, { sub: 'u1' }],
    [{ scopes: 'roles' }, { roles: ['admin'] }, { scopes: ['admin'] }],
    [{ scopes: 'user.roles' }, { user: { roles: ['admin'] } }, { scopes: ['admin'] }],
    [{}, { scope: 'a b' }, { scopes: ['a', 'b'] }],
    [{ jti: 'tokenId' }, { tokenId: 'x' }, { jti: 'x' }],
    [{ access: { claim: 'typ', value: 'user' } }, { typ: 'user' }, { typ: 'user' }],
    [{}, { sub: 42 }, { sub: '42' }],
    [{}, { type: 'access', csrf: 'c' }, { type: 'access', csrf: 'c' }],
  ])('mapping %j makes of %j', async (mapping, claims, expected) => {
    const { tokens } = createSuccessor({ mapping })
    const payload = await tokens.verify(old(claims))
    expect({ ...payload, csrf: payload.csrf }).toMatchObject(expected)
  })

  test('no old token is fresh', async () => {
    const { tokens } = createSuccessor()
    const token = old({ fresh: true })
    expect((await tokens.verify(token)).fresh).toBeUndefined()
    expect(await outcomeOf(tokens.freshTokenRequired(withBearer(token)))).toBe('FRESH_TOKEN_REQUIRED')
  })

  test.each([
    ['no user', { sub: undefined }],
    ['an empty user', { sub: '' }],
    ['a user that is no whole number', { sub: 1.5 }],
    ['a user too large to be exact', { sub: 2 ** 53 }],
    ['a user that is an object', { sub: { id: 1 } }],
    ['an exp that is a text', { exp: '9999999999' }],
    ['an iat that is a text', { iat: 'now' }],
    ['a refresh token', { type: 'refresh' }],
    ['a token of another kind', { purpose: 'password-reset' }],
    ['an invalid token_type', { token_type: 1 }],
    ['a token that lives longer than access tokens do', { exp: NOW + 7 * DAY }],
  ])('%s is refused', async (_, claims) => {
    const { tokens } = createSuccessor()
    expect(await outcomeOf(tokens.verify(old(claims)))).toBe('TOKEN_INVALID')
  })

  test('what an access token is can be declared, and nothing else passes then', async () => {
    const { tokens } = createSuccessor({ mapping: { access: { claim: 'type', value: 'session' } } })
    expect(await outcomeOf(tokens.verify(old({ type: 'session' })))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old({ type: 'access' })))).toBe('TOKEN_INVALID')
    expect(await outcomeOf(tokens.verify(old()))).toBe('TOKEN_INVALID')
  })

  test('a token for an audience is refused unless that is configured', async () => {
    const { tokens } = createSuccessor()
    expect(await outcomeOf(tokens.verify(old({ aud: 'billing' })))).toBe('TOKEN_AUDIENCE_INVALID')
    const { tokens: named } = createSuccessor({ audience: ['shop', 'admin'] })
    expect(await outcomeOf(named.verify(old({ aud: ['admin'] })))).toBe('ok')
    expect(await outcomeOf(named.verify(old({ aud: 'billing' })))).toBe('TOKEN_AUDIENCE_INVALID')
    expect(await outcomeOf(named.verify(old()))).toBe('TOKEN_AUDIENCE_INVALID')
  })

  test('a claim is required of the token, not of the payload that is made of it', async () => {
    const { tokens } = createSuccessor({ requiredClaims: ['jti', 'type'] })
    expect(await outcomeOf(tokens.verify(old({ jti: 'x', type: 'access' })))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old({ jti: 'x' })))).toBe('TOKEN_INVALID')
    expect(await outcomeOf(tokens.verify(old({ type: 'access' })))).toBe('TOKEN_INVALID')
  })

  test('several secrets, and public keys, verify', async () => {
    const second = 'Zx8cVb2nMa6sDf4gHj0kLq5wEr7tYu1i'
    const { tokens } = createSuccessor({ secret: [OLD_SECRET, second] })
    expect(await outcomeOf(tokens.verify(old()))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old({}, second)))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old({}, `${second}!`)))).toBe('TOKEN_SIGNATURE_INVALID')

    const { privateKey, publicKey } = keyPairFor('ES256')
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const { tokens: signed } = createSuccessor({ secret: undefined, publicKey: pem, algorithm: 'ES256' })
    const claims = { sub: 'ada', iat: NOW, exp: NOW + 60 }
    expect(await outcomeOf(signed.verify(forge({ algorithm: 'ES256', key: privateKey, claims })))).toBe('ok')
    // CVE-2015-9235: the public key as a secret.
    expect(await outcomeOf(signed.verify(forge({ key: pem, claims })))).not.toBe('ok')
  })

  test('a token that names its key is verified with that key', async () => {
    const named = { kty: 'oct', k: Buffer.from(OLD_SECRET).toString('base64url'), kid: 'main' }
    const { tokens } = createSuccessor({ secret: named })
    expect(await outcomeOf(tokens.verify(old({}, OLD_SECRET, { kid: 'main' })))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old()))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old({}, OLD_SECRET, { kid: 'other' })))).toBe(
      'TOKEN_SIGNATURE_INVALID',
    )
  })
})

describe('how long they are accepted', () => {
  test('until they expire, and not longer', async () => {
    const { tokens, clock } = createSuccessor()
    const token = old()
    clock.seconds = NOW + 599
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
    clock.seconds = NOW + 600
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('TOKEN_EXPIRED')
  })

  test('until acceptUntil, whatever they say; also one that was seen before', async () => {
    const { tokens, clock } = createSuccessor({ acceptUntil: new Date((NOW + 300) * 1000).toISOString() })
    const token = old()
    for (let count = 0; count < 3; count++) {
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
    }
    expect((await tokens.verify(token)).exp).toBe(NOW + 300)
    clock.seconds = NOW + 300
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('TOKEN_EXPIRED')
    expect(await outcomeOf(tokens.verify(old({ exp: undefined })))).toBe('TOKEN_EXPIRED')
  })

  test('a token without exp until its greatest age', async () => {
    const { tokens, clock } = createSuccessor()
    const token = old({ exp: undefined, iat: NOW })
    expect((await tokens.verify(token)).exp).toBe(NOW + 3600)
    clock.seconds = NOW + 3600
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_EXPIRED')
  })

  test('a token without iat until its exp, and revoking its user revokes it', async () => {
    const { tokens } = createSuccessor({ onlyAccessTokens: true })
    const token = old({ iat: undefined })
    expect(await tokens.verify(token)).toMatchObject({ exp: NOW + 600, iat: NOW + 600 - 3600 })
    await tokens.revoke.user('ada')
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('a token without iat only if it cannot be a refresh token that is about to expire', async () => {
    const claims = { iat: undefined, exp: NOW + 600, type: 'access' }
    expect(await outcomeOf(createSuccessor().tokens.verify(old(claims)))).toBe('TOKEN_INVALID')
    const declared = createSuccessor({ mapping: { access: { claim: 'type', value: 'access' } } })
    expect(await outcomeOf(declared.tokens.verify(old(claims)))).toBe('ok')
    expect(await outcomeOf(createSuccessor({ onlyAccessTokens: true }).tokens.verify(old(claims)))).toBe('ok')
  })

  test('a token without both as long as maxTokenAge reaches back from acceptUntil', async () => {
    const token = old({ iat: undefined, exp: undefined })
    const { tokens } = createSuccessor({ maxTokenAge: '30d', onlyAccessTokens: true })
    expect((await tokens.verify(token)).exp).toBe(NOW + DAY)
    await tokens.revoke.user('ada')
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    const { tokens: short } = createSuccessor({ maxTokenAge: '1h', onlyAccessTokens: true })
    expect(await outcomeOf(short.verify(token))).toBe('TOKEN_NOT_YET_VALID')
  })

  test('an acceptance that is over refuses tokens, and lets the process start', async () => {
    const { tokens } = createSuccessor({ acceptUntil: '2025-12-31' })
    expect(await outcomeOf(tokens.verify(old()))).toBe('TOKEN_EXPIRED')
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  })
})

describe('revoking them', () => {
  const REVOCATIONS: Record<string, (tokens: TokenManager, token: string) => Promise<unknown>> = {
    'by token': async (tokens, token) => tokens.revoke.token(await tokens.verify(token)),
    'by logout': async (tokens, token) => tokens.logout(await tokens.verify(token)),
    'by the logout of a request': (tokens, token) => tokens.logout(withBearer(token)),
    'by user': (tokens) => tokens.revoke.user('ada'),
    'by user of the issuer': (tokens) => tokens.revoke.user('ada', { issuer: 'before' }),
    'by key': (tokens) => tokens.revoke.key('main', { issuer: 'before' }),
    'by issuer': (tokens) => tokens.revoke.all({ issuer: 'before' }),
    everything: (tokens) => tokens.revoke.all(),
  }
  test.each(Object.entries(REVOCATIONS))('%s', async (_, revoke) => {
    const secret = { kty: 'oct', k: Buffer.from(OLD_SECRET).toString('base64url'), kid: 'main' }
    const { tokens, clock } = createSuccessor({ secret })
    const token = old()
    for (let count = 0; count < 3; count++) {
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
    }
    await revoke(tokens, token)
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('TOKEN_REVOKED')
    clock.seconds = NOW + 599
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('a token of the user that is made later is good, and so is one of another user', async () => {
    const { tokens, clock } = createSuccessor()
    await tokens.revoke.user('ada')
    expect(await outcomeOf(tokens.verify(old({ sub: 'grace' })))).toBe('ok')
    clock.seconds = NOW + 10
    expect(await outcomeOf(tokens.verify(old({ iat: NOW + 10 })))).toBe('ok')
    expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  })

  test('the revocation of a user is kept for as long as an old token can live', async () => {
    const age = 90 * DAY
    const { tokens, clock } = createSuccessor({
      maxTokenAge: age,
      acceptUntil: new Date((NOW + 100 * DAY) * 1000),
    })
    const token = old({ iat: NOW - 1, exp: NOW - 1 + age })
    await tokens.revoke.user('ada')
    clock.seconds = NOW + age - 10
    expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
  })

  test('an id in the store of one issuer is not that of another', async () => {
    const { tokens } = createSuccessor()
    const own = tokens.createAccessToken({ uid: 'ada' })
    const { jti = '' } = await tokens.verify(own)
    await tokens.revoke.token(await tokens.verify(old({ jti })))
    expect(await outcomeOf(tokens.verify(own))).toBe('ok')
  })
})

describe('mistakes', () => {
  const MISTAKES: readonly (readonly [string, object])[] = [
    ['no acceptUntil', { acceptUntil: undefined }],
    ['an acceptUntil without a time zone', { acceptUntil: '2026-01-01T00:00:00' }],
    ['an acceptUntil that is no date', { acceptUntil: '2026-13-45' }],
    ['an invalid Date', { acceptUntil: new Date(Number.NaN) }],
    ['a number as acceptUntil', { acceptUntil: NOW }],
    ['an acceptUntil of many years', { acceptUntil: '2040-01-01' }],
    ['no maxTokenAge', { maxTokenAge: undefined }],
    ['an endless maxTokenAge', { maxTokenAge: Number.POSITIVE_INFINITY }],
    ['no key', { secret: undefined }],
    ['an empty list of secrets', { secret: [] }],
    ['both kinds of keys', { publicKey: 'x' }],
    ['a public key without an algorithm', { secret: undefined, publicKey: createForeign('x').jwk }],
    [
      'a public key for an HMAC algorithm',
      { secret: undefined, publicKey: createForeign('x').jwk, algorithm: 'HS256' },
    ],
    ['a secret for a public-key algorithm', { algorithm: 'RS256' }],
    ['the algorithm none', { algorithm: 'none' }],
    [
      'a public key as the secret',
      { secret: createForeign('x').publicKey.export({ type: 'spki', format: 'pem' }) },
    ],
    ['an empty secret', { secret: '' }],
    ['a secret of 31 bytes', { secret: OLD_SECRET.slice(1) }],
    ['a short secret', { secret: 'changeme-please', allowWeakSecret: true }],
    ['a published secret', { secret: 'a-string-secret-at-least-256-bits-long', allowWeakSecret: true }],
    [
      'a secret of a few characters',
      { secret: 'abcabcabcabcabcabcabcabcabcabcabcabc', allowWeakSecret: true },
    ],
    ['the name of our own tokens', { issuer: 'own' }],
    ['an empty name', { issuer: '' }],
    ['withoutIss that is no switch', { withoutIss: 'yes' }],
    ['an empty audience', { audience: [] }],
    ['required claims as a text', { requiredClaims: 'jti' }],
    ['a mapping to no claim', { mapping: { sub: '' } }],
    ['the secret of our own tokens', { secret: SECRET }],
  ]
  test.each(MISTAKES)('%s', (_, options) => {
    expect(() => createSuccessor(options)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error,
    )
  })

  test('an option of other issuers, or an unknown one, is a TypeError', () => {
    for (const name of ['keys', 'subjectPrefix', 'freshFor', 'sessionLifetime', 'acceptTill']) {
      expect(() => createSuccessor({ [name]: 'x' })).toThrow(TypeError)
    }
  })

  test('a secret of 16 to 31 bytes needs allowWeakSecret', async () => {
    const secret = 'Rk2vYw8sQe5uTz1x'
    expect(() => createSuccessor({ secret })).toThrow()
    const { tokens } = createSuccessor({ secret, allowWeakSecret: true })
    expect(await outcomeOf(tokens.verify(old({}, secret)))).toBe('ok')
  })

  test('two issuers without iss, or with one key, cannot be told apart', () => {
    const other = { ...LEGACY, issuer: 'other', secret: 'Zx8cVb2nMa6sDf4gHj0kLq5wEr7tYu1i' }
    const beside = (options: LegacyIssuerOptions) => () => createSuccessor({}, [trustLegacyIssuer(options)])
    expect(beside(other)).toThrow(/withoutIss/)
    expect(beside({ ...LEGACY, issuer: 'other', withoutIss: false })).toThrow(/key/)
    expect(beside({ ...other, withoutIss: false })).not.toThrow()
    const secret = [other.secret, OLD_SECRET]
    const named = { ...LEGACY, issuer: 'other', withoutIss: false }
    expect(beside({ ...named, secret })).toThrow(/key/)
    expect(() => createSuccessor({ secret }, [trustLegacyIssuer(named)])).toThrow(/key/)
  })

  test('an old key has the kid of none of our own keys', () => {
    const keys = [
      { algorithm: 'HS256', kid: 'own-1', secret: SECRET },
      { algorithm: 'HS256', kid: 'own-2', secret: `${SECRET}-2` },
    ] as const
    const build = (kid: string) => {
      const secret = { kty: 'oct', k: Buffer.from(OLD_SECRET).toString('base64url'), kid }
      const issuers = [trustLegacyIssuer({ ...LEGACY, secret })]
      return () => new TokenManager({ config: new TokenConfig(), keys, issuers })
    }
    for (const kid of ['own-1', 'own-2']) {
      expect(build(kid), kid).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error)
    }
    expect(build('old')).not.toThrow()
  })

  test('an old key is none of our own keys, not even a previous one', () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_PREVIOUS_SECRET_KEY: OLD_SECRET })
    expect(() => new TokenManager({ config, issuers: [trustLegacyIssuer(LEGACY)] })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }) as Error,
    )
  })

  test('an identity provider next to it needs a prefix, and no old user has it', async () => {
    const provider = createForeign('https://id.example')
    expect(() => createSuccessor({}, [provider.trust({ subjectPrefix: undefined })])).toThrow(/subjectPrefix/)
    const { tokens } = createSuccessor({}, [provider.trust({ subjectPrefix: 'id:' })])
    expect(await outcomeOf(tokens.verify(provider.sign()))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old()))).toBe('ok')
    expect(await outcomeOf(tokens.verify(old({ sub: 'id:ada' })))).toBe('TOKEN_INVALID')
  })
})
