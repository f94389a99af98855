import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  type Dependency,
  isTokenError,
  type TokenManager,
  type TokenPayload,
} from '../../packages/tokenlib/src/index.js'
import type { JsonValue } from '../../packages/tokenlib/src/kit.js'
import { createTestTokens, type MintOptions } from '../../packages/tokenlib/src/testing/test-tokens.js'
import { openToken } from '../helpers/manager.js'
import { configFor, keyPairFor } from '../helpers/keys.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'

/** `passed`, or the code of the error. */
async function outcome(dependency: Dependency<unknown>, headers: Record<string, string>): Promise<string> {
  try {
    await dependency(new Request('http://localhost/', { headers }))
    return 'passed'
  } catch (error) {
    if (isTokenError(error)) return error.code
    throw error
  }
}

const GUARDS = {
  accessTokenRequired: (tokens: TokenManager) => tokens.accessTokenRequired,
  refreshTokenRequired: (tokens: TokenManager) => tokens.refreshTokenRequired,
  freshTokenRequired: (tokens: TokenManager) => tokens.freshTokenRequired,
  scopesRequired: (tokens: TokenManager) => tokens.require({ scopes: ['write'] }),
}

const FLAGS: readonly [flags: MintOptions, guard: keyof typeof GUARDS, expected: string][] = [
  [{}, 'accessTokenRequired', 'passed'],
  [{}, 'freshTokenRequired', 'passed'],
  [{}, 'refreshTokenRequired', 'REFRESH_TOKEN_REQUIRED'],
  [{}, 'scopesRequired', 'INSUFFICIENT_SCOPE'],
  [{ type: 'access' }, 'accessTokenRequired', 'passed'],
  [{ type: 'refresh' }, 'refreshTokenRequired', 'passed'],
  [{ type: 'refresh' }, 'accessTokenRequired', 'ACCESS_TOKEN_REQUIRED'],
  [{ scopes: ['read', 'write'] }, 'scopesRequired', 'passed'],
  [{ scopes: ['read'] }, 'scopesRequired', 'INSUFFICIENT_SCOPE'],
  [{ expired: true }, 'accessTokenRequired', 'TOKEN_EXPIRED'],
  [{ expired: true, type: 'refresh' }, 'refreshTokenRequired', 'TOKEN_EXPIRED'],
  [{ notYetValid: true }, 'accessTokenRequired', 'TOKEN_NOT_YET_VALID'],
  [{ revoked: true }, 'accessTokenRequired', 'TOKEN_REVOKED'],
  [{ revoked: true, type: 'refresh' }, 'refreshTokenRequired', 'TOKEN_REVOKED'],
  [{ wrongKey: true }, 'accessTokenRequired', 'TOKEN_SIGNATURE_INVALID'],
  [{ notFresh: true }, 'freshTokenRequired', 'FRESH_TOKEN_REQUIRED'],
  [{ notFresh: true }, 'accessTokenRequired', 'passed'],
  [
    { expired: false, revoked: false, wrongKey: false, notFresh: false, notYetValid: false },
    'freshTokenRequired',
    'passed',
  ],
]

describe.each(['HS256', 'ES256'] as const)('mintToken, %s', (algorithm) => {
  const { tokens, mintToken, authHeaders } = createTestTokens({ JWT_ALGORITHM: algorithm })

  test.each(FLAGS)('a token minted with %o, asked by %s: %s', async (flags, guard, expected) => {
    const token = mintToken({ uid: 'ada' }, flags)
    expect(openToken(token).header['alg']).toBe(algorithm)
    await expect(outcome(GUARDS[guard](tokens), authHeaders(token))).resolves.toBe(expected)
  })

  test('with a key of the application', async () => {
    const own = createTestTokens(configFor(algorithm))
    const [good, bad] = [own.mintToken({ uid: 'ada' }), own.mintToken({ uid: 'ada' }, { wrongKey: true })]
    await expect(outcome(own.tokens.accessTokenRequired, authHeaders(good))).resolves.toBe('passed')
    await expect(outcome(own.tokens.accessTokenRequired, authHeaders(bad))).resolves.toBe(
      'TOKEN_SIGNATURE_INVALID',
    )
  })
})

describe('mintToken', () => {
  test('puts uid and claims into the token', async () => {
    const { tokens, mintToken } = createTestTokens()
    const payload = await tokens.verify(mintToken({ uid: 'ada', age: 36 }))
    expect([payload.sub, payload.age]).toEqual(['ada', 36])
  })

  test('a revoked token is not the others of the same user', async () => {
    const { tokens, mintToken, authHeaders } = createTestTokens()
    mintToken({ uid: 'ada' }, { revoked: true })
    await expect(outcome(tokens.accessTokenRequired, authHeaders(mintToken({ uid: 'ada' })))).resolves.toBe(
      'passed',
    )
  })

  test('tokens of two calls are for two managers, with keys of their own', async () => {
    const [one, other] = [createTestTokens(), createTestTokens()]
    await expect(
      outcome(one.tokens.accessTokenRequired, one.authHeaders(other.mintToken({ uid: 'ada' }))),
    ).resolves.toBe('TOKEN_SIGNATURE_INVALID')
  })

  test.each([
    ['access', { JWT_ACCESS_TOKEN_EXPIRES: '5m' }],
    ['refresh', { JWT_REFRESH_TOKEN_EXPIRES: '5m' }],
  ] as const)('a minted %s token lives as long as the configuration says', async (type, fields) => {
    const { tokens, clock, mintToken, authHeaders } = createTestTokens(fields)
    const headers = authHeaders(mintToken({ uid: 'ada' }, { type }))
    clock.advance(299)
    await expect(outcome(tokens.tokenRequired, headers)).resolves.toBe('passed')
    clock.advance(1)
    await expect(outcome(tokens.tokenRequired, headers)).resolves.toBe('TOKEN_EXPIRED')
  })

  test('a token that is not valid yet becomes so when the clock moves on', async () => {
    const { tokens, clock, mintToken, authHeaders } = createTestTokens()
    const headers = authHeaders(mintToken({ uid: 'ada' }, { notYetValid: true }))
    clock.advance('1h')
    await expect(outcome(tokens.accessTokenRequired, headers)).resolves.toBe('passed')
  })

  test.each(['expired', 'notYetValid'] as const)('%s holds whatever the leeway', async (flag) => {
    const { tokens, mintToken, authHeaders } = createTestTokens({ JWT_DECODE_LEEWAY: '1d' })
    const token = mintToken({ uid: 'ada' }, { [flag]: true })
    await expect(outcome(tokens.accessTokenRequired, authHeaders(token))).resolves.not.toBe('passed')
  })

  test('notYetValid holds without a nbf claim, and expired where tokens never expire', async () => {
    const { tokens, mintToken, authHeaders } = createTestTokens({
      JWT_ENCODE_NBF: false,
      JWT_ACCESS_TOKEN_EXPIRES: false,
    })
    const check = (flags: MintOptions) =>
      outcome(tokens.accessTokenRequired, authHeaders(mintToken({ uid: 'ada' }, flags)))
    await expect(check({ notYetValid: true })).resolves.toBe('TOKEN_NOT_YET_VALID')
    await expect(check({ expired: true })).resolves.toBe('TOKEN_EXPIRED')
    await expect(check({})).resolves.toBe('passed')
  })

  test('a manager that only reads tokens of another issuer gets tokens of that issuer', async () => {
    const { tokens, mintToken, authHeaders } = createTestTokens({
      JWT_DECODE_ISSUER: 'https://login.example',
      JWT_DECODE_AUDIENCE: ['shop', 'bank'],
    })
    const headers = authHeaders(mintToken({ uid: 'ada' }))
    await expect(outcome(tokens.accessTokenRequired, headers)).resolves.toBe('passed')
  })

  test('wrongKey is a key that not even the previous keys are', async () => {
    const { tokens, mintToken, authHeaders } = createTestTokens({
      JWT_SECRET_KEY: 'a secret that is long enough for HS256, the current one',
      JWT_PREVIOUS_SECRET_KEY: 'a secret that is long enough for HS256, the one before',
      JWT_DECODE_ALGORITHMS: ['HS256', 'HS384'],
    })
    const headers = authHeaders(mintToken({ uid: 'ada' }, { wrongKey: true }))
    await expect(outcome(tokens.accessTokenRequired, headers)).resolves.toBe('TOKEN_SIGNATURE_INVALID')
  })
})

test('wrongKey works where both keys of a pair are configured', async () => {
  const { privateKey, publicKey } = keyPairFor('ES256')
  const { tokens, mintToken, authHeaders } = createTestTokens({
    JWT_ALGORITHM: 'ES256',
    JWT_PRIVATE_KEY: privateKey,
    JWT_PUBLIC_KEY: publicKey,
  })
  const headers = authHeaders(mintToken({ uid: 'ada' }, { wrongKey: true }))
  await expect(outcome(tokens.accessTokenRequired, headers)).resolves.toBe('TOKEN_SIGNATURE_INVALID')
})

describe('claims', () => {
  test('a schema types what goes in and what comes out', async () => {
    const { tokens, mintToken } = createTestTokens({
      claims: z.object({ age: z.number(), born: z.string().transform((text) => new Date(text)) }),
    })
    expectTypeOf(mintToken)
      .parameter(0)
      .toEqualTypeOf<{ readonly uid: string } & { age: number; born: string }>()
    const payload = await tokens.verify(mintToken({ uid: 'ada', age: 36, born: '1815-12-10' }))
    expectTypeOf(payload.age).toEqualTypeOf<number>()
    expectTypeOf(payload.born).toEqualTypeOf<Date>()
    expect(payload.born).toEqual(new Date('1815-12-10'))
  })

  test('a claim that the schema does not allow is refused, by the compiler too', () => {
    const { mintToken } = createTestTokens({ claims: v.object({ age: v.number() }) })
    // @ts-expect-error age is a number
    expect(() => mintToken({ uid: 'ada', age: '36' })).toThrow(TypeError)
    // @ts-expect-error and required
    expect(() => mintToken({ uid: 'ada' })).toThrow(TypeError)
  })

  test('without a schema they are JSON', () => {
    const { tokens, mintToken } = createTestTokens()
    expectTypeOf(tokens.accessTokenRequired).returns.resolves.toEqualTypeOf<TokenPayload>()
    expectTypeOf<TokenPayload['age']>().toEqualTypeOf<JsonValue | undefined>()
    // @ts-expect-error a Date is not JSON
    expect(() => mintToken({ uid: 'ada', when: new Date(0) })).toThrow(TypeError)
  })
})

describe('authHeaders', () => {
  test.each([
    [{}, { authorization: 'Bearer TOKEN' }],
    [{ JWT_HEADER_NAME: 'X-Api-Token' }, { 'x-api-token': 'Bearer TOKEN' }],
    [{ JWT_HEADER_TYPE: 'JWT' }, { authorization: 'JWT TOKEN' }],
    [{ JWT_HEADER_TYPE: '' }, { authorization: 'TOKEN' }],
    [{ JWT_HEADER_NAME: 'X-Api-Token', JWT_HEADER_TYPE: '' }, { 'x-api-token': 'TOKEN' }],
  ])('carry a token as the configuration says: %o', async (fields, expected) => {
    const { tokens, mintToken, authHeaders } = createTestTokens(fields)
    expect(authHeaders('TOKEN')).toEqual(expected)
    await expect(outcome(tokens.accessTokenRequired, authHeaders(mintToken({ uid: 'ada' })))).resolves.toBe(
      'passed',
    )
  })
})

test('a store goes by the same clock', async () => {
  const { tokens, clock } = createTestTokens({ openStore: (now) => createMemoryStore({ clock: now }) })
  const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  clock.advance('1h')
  await expect(tokens.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  const next = await tokens.sessions.refresh(refreshToken)
  await tokens.logout(await tokens.verify(next.accessToken))
  await expect(tokens.verify(next.accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
})
