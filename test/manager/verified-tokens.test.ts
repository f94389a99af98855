import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { TokenConfig, TokenManager } from '../../src/index.js'
import { createClock, NOW, SECRET, withBearer } from '../helpers/manager.js'

/** A manager that counts how often its schema ran: once for every token that was really verified. */
function createCounting(size: number) {
  const clock = createClock()
  const counter = { verified: 0 }
  const claims = z.looseObject({}).refine(() => ++counter.verified > 0)
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: size })
  const tokens = new TokenManager({ config, clock, claims })
  const create = (uid: string, options?: object): string => {
    const token = tokens.createAccessToken({ uid }, options)
    counter.verified = 0
    return token
  }
  return { tokens, clock, counter, create }
}

describe('JWT_VERIFIED_CACHE_SIZE', () => {
  test('a token is verified once while it is remembered, and each time with 0', async () => {
    for (const [size, expected] of [
      [10, 1],
      [0, 3],
    ] as const) {
      const { tokens, counter, create } = createCounting(size)
      const token = create('u')
      for (let round = 0; round < 3; round++) expect((await tokens.verifyToken(token)).sub).toBe('u')
      expect(counter.verified).toBe(expected)
    }
  })

  test('no more tokens are remembered than that, the longest unused is forgotten first', async () => {
    const { tokens, counter, create } = createCounting(2)
    const [a, b, c] = ['a', 'b', 'c'].map((uid) => create(uid)) as [string, string, string]
    for (const token of [a, b, a, c]) await tokens.verifyToken(token)
    expect(counter.verified).toBe(3)
    await tokens.verifyToken(a)
    expect(counter.verified).toBe(3)
    await tokens.verifyToken(b)
    expect(counter.verified).toBe(4)
  })
})

describe('what is remembered gives no authority', () => {
  test('expiry is checked on every use (CVE-2026-107719)', async () => {
    const { tokens, clock, create } = createCounting(10)
    const token = create('u', { expiresIn: 60 })
    await tokens.verifyToken(token)
    clock.seconds = NOW + 60
    await expect(tokens.verifyToken(token)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  test('a token that was not valid yet becomes valid (fast-jwt #195)', async () => {
    const { tokens, clock, create } = createCounting(10)
    const token = create('u')
    clock.seconds = NOW - 10
    await expect(tokens.verifyToken(token)).rejects.toMatchObject({ code: 'TOKEN_NOT_YET_VALID' })
    clock.seconds = NOW
    expect((await tokens.verifyToken(token)).sub).toBe('u')
  })

  test('revocation, type, freshness and scopes are checked on every use', async () => {
    const { tokens, create } = createCounting(10)
    const token = create('u')
    let revoked = false
    tokens.setCallbackTokenBlocklist(() => revoked)
    await tokens.verifyToken(token)
    await expect(tokens.refreshTokenRequired(withBearer(token))).rejects.toMatchObject({
      code: 'REFRESH_TOKEN_REQUIRED',
    })
    await expect(tokens.freshTokenRequired(withBearer(token))).rejects.toMatchObject({
      code: 'FRESH_TOKEN_REQUIRED',
    })
    await expect(tokens.scopesRequired('a')(withBearer(token))).rejects.toMatchObject({
      code: 'INSUFFICIENT_SCOPE',
    })
    revoked = true
    await expect(tokens.verifyToken(token)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  })

  test('an expired token read on request does not become a valid one', async () => {
    const { tokens, clock, create } = createCounting(10)
    const token = create('u', { expiresIn: 60 })
    clock.seconds = NOW + 100
    expect(tokens.verifyTokenWithoutRevocation(token, { allowExpired: true }).sub).toBe('u')
    await expect(tokens.verifyToken(token)).rejects.toMatchObject({ code: 'TOKEN_EXPIRED' })
  })

  test('one changed character is another token', async () => {
    const { tokens, create } = createCounting(10)
    const token = create('u')
    await tokens.verifyToken(token)
    for (let at = 0; at < token.length; at++) {
      const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
      await expect(tokens.verifyToken(changed)).rejects.toMatchObject({ isTokenError: true })
    }
  })
})
