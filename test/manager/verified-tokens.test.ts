import { describe, expect, test } from 'vitest'
import type { ClaimsSchema } from '../../packages/tokenlib/src/tokens/extra-claims.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createManager, NOW, SECRET, withBearer } from '../helpers/manager.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

/** A manager that remembers some tokens; the payload of one that is remembered is the same object each time. */
function createRemembering(size: number) {
  const { tokens, clock } = createManager({ JWT_VERIFIED_CACHE_SIZE: size })
  const create = (uid: string, options?: object): string => tokens.createAccessToken({ uid }, options)
  return { tokens, clock, create }
}

/** Verifies a token until it is remembered, which it is from the second time on. */
async function remember(tokens: TokenManager, token: string) {
  await tokens.verify(token)
  return tokens.verify(token)
}

describe('JWT_VERIFIED_CACHE_SIZE', () => {
  test('a token is remembered when it comes again, and never with 0', async () => {
    for (const [size, isSame] of [
      [10, true],
      [0, false],
    ] as const) {
      const { tokens, create } = createRemembering(size)
      const token = create('u')
      const first = await tokens.verify(token)
      const second = await tokens.verify(token)
      const third = await tokens.verify(token)
      expect(second).toEqual(first)
      expect(second).not.toBe(first)
      expect(third === second).toBe(isSame)
    }
  })

  test('also if a few others have come in between', async () => {
    const { tokens, create } = createRemembering(20)
    const token = create('u')
    await tokens.verify(token)
    for (const uid of ['a', 'b', 'c', 'd', 'e']) await tokens.verify(create(uid))
    const second = await tokens.verify(token)
    expect(await tokens.verify(token)).toBe(second)
  })

  test('hardly any token is remembered the first time, however many have come before', async () => {
    const { tokens, create } = createRemembering(2)
    for (let at = 0; at < 100; at++) await tokens.verify(create('u'))
    let remembered = 0
    for (let at = 0; at < 10; at++) {
      const token = create('u')
      if ((await tokens.verify(token)) === (await tokens.verify(token))) remembered++
    }
    // One in sixteen looks like one that has come before.
    expect(remembered).toBeLessThan(8)
  })

  test('no more tokens are remembered than that, the longest unused is forgotten first', async () => {
    const { tokens, create } = createRemembering(2)
    const [a, b, c] = ['a', 'b', 'c'].map((uid) => create(uid)) as [string, string, string]
    const first = await remember(tokens, a)
    const forgotten = await remember(tokens, b)
    await tokens.verify(a)
    await remember(tokens, c)
    expect(await tokens.verify(a)).toBe(first)
    expect(await tokens.verify(b)).not.toBe(forgotten)
  })
})

describe('what is remembered gives no authority', () => {
  test('expiry is checked on every use (CVE-2026-107719)', async () => {
    const { tokens, clock, create } = createRemembering(10)
    const token = create('u', { expiresIn: 60 })
    await remember(tokens, token)
    clock.seconds = NOW + 60
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  test('a token that was not valid yet becomes valid (fast-jwt #195)', async () => {
    const { tokens, clock, create } = createRemembering(10)
    const token = create('u')
    clock.seconds = NOW - 10
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_NOT_YET_VALID' })
    clock.seconds = NOW
    expect((await tokens.verify(token)).sub).toBe('u')
  })

  test('revocation, type, freshness and scopes are checked on every use', async () => {
    const { tokens, create } = createRemembering(10)
    const token = create('u')
    let revoked = false
    tokens.setCallbackTokenBlocklist(() => revoked)
    await remember(tokens, token)
    await expect(tokens.refreshTokenRequired(withBearer(token))).rejects.toMatchObject({
      code: 'REFRESH_TOKEN_REQUIRED',
    })
    await expect(tokens.freshTokenRequired(withBearer(token))).rejects.toMatchObject({
      code: 'FRESH_TOKEN_REQUIRED',
    })
    await expect(tokens.require({ scopes: ['a'] })(withBearer(token))).rejects.toMatchObject({
      code: 'INSUFFICIENT_SCOPE',
    })
    revoked = true
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  })

  test('an expired token read on request does not become a valid one', async () => {
    const { tokens, clock, create } = createRemembering(10)
    const token = create('u', { expiresIn: 60 })
    clock.seconds = NOW + 100
    for (let times = 0; times < 3; times++) {
      expect(internalsOf(tokens).verifyWithoutRevocation(token, { allowExpired: true }).sub).toBe('u')
    }
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  test('one changed character is another token', async () => {
    const { tokens, create } = createRemembering(10)
    const token = create('u')
    await remember(tokens, token)
    for (let at = 0; at < token.length; at++) {
      const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
      await expect(tokens.verify(changed)).rejects.toMatchObject({ isTokenError: true })
    }
  })
})

test('what is remembered cannot be changed, the header included', async () => {
  const { tokens } = createRemembering(10)
  const token = tokens.createAccessToken({ uid: 'u', deep: { list: [{}] } }, { headers: { x: { a: 1 } } })
  const payload = await remember(tokens, token)
  expect(() => Object.assign((payload.deep as { list: object[] }).list[0] as object, { a: 1 })).toThrow(
    TypeError,
  )
  tokens.setTokenBlocklist((_, { header }) => {
    expect(() => Object.assign(header['x'] as object, { a: 2 })).toThrow(TypeError)
    return false
  })
  await tokens.verify(token)
})

describe('a schema', () => {
  const claims = (build: (input: object) => object): { schema: ClaimsSchema; count: () => number } => {
    let runs = 0
    const validate = (value: unknown) => {
      runs++
      return { value: build(value as object) }
    }
    return { schema: { '~standard': { version: 1, vendor: 'test', validate } }, count: () => runs }
  }
  const verifyTwice = async (
    schema: ClaimsSchema,
  ): Promise<[Record<string, unknown>, Record<string, unknown>]> => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const tokens = new TokenManager({ config, claims: schema })
    const token = new TokenManager({ config }).createAccessToken({ uid: 'u', list: [1], at: 0 })
    // Remembered from the second time on.
    await tokens.verify(token)
    return [{ ...(await tokens.verify(token)) }, { ...(await tokens.verify(token)) }]
  }

  test('is not asked about a token that is remembered, where what it makes cannot change', async () => {
    const { schema, count } = claims((input) => ({ ...input, age: 36 }))
    const [first, second] = await verifyTwice(schema)
    expect(first).toMatchObject({ age: 36, list: [1] })
    expect(second).toEqual(first)
    expect(count()).toBe(2)
  })

  test.each([
    ['a Date', () => new Date(0)],
    ['a frozen Date', () => Object.freeze(new Date(0))],
    ['a list', () => [1]],
    ['a list in a frozen object', () => Object.freeze({ list: [] })],
    ['a Set', () => Object.freeze(new Set())],
    ['a function', () => () => 1],
    ['a list under a symbol', () => Object.freeze({ [Symbol('roles')]: [] })],
    ['a hidden list', () => Object.freeze(Object.defineProperty({}, 'roles', { value: [] }))],
    [
      'what a getter returns',
      () =>
        Object.freeze({
          get at() {
            return 1
          },
        }),
    ],
    [
      'a circle',
      () => {
        const circle: { self?: object } = {}
        circle.self = circle
        return Object.freeze(circle)
      },
    ],
  ])('is asked each time where it makes %s', async (_, create) => {
    const { schema, count } = claims(() => ({ made: create() }))
    const [first, second] = await verifyTwice(schema)
    expect(count()).toBe(3)
    expect(first['made']).not.toBe(second['made'])
  })

  test('that refuses is asked again, and so is the signature', async () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    let isGood = false
    const validate = (value: unknown) =>
      isGood ? { value: value as object } : { issues: [{ message: 'no' }] }
    const schema: ClaimsSchema = { '~standard': { version: 1, vendor: 'test', validate } }
    const tokens = new TokenManager({ config, claims: schema })
    const token = new TokenManager({ config }).createAccessToken({ uid: 'u' })
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'CLAIMS_INVALID' })
    isGood = true
    expect((await tokens.verify(token)).sub).toBe('u')
  })
})
