import { expect, vi } from 'vitest'
import type { StandardClaims, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createClock, openToken } from '../helpers/manager.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'

const createTokens = (): TokenManager => createRevocable({ JWT_SECRET_KEY: SECRET }).tokens
const { jti: _jti, ...ANONYMOUS } = CLAIMS

describeAttacks('a token without an id, or with the id of another (RFC 7519 §4.1.7, RFC 9068 §2.2)', () => {
  ownAttack('a token without an id is ended by its user, its key, its session and everybody', async () => {
    const ends: readonly ((tokens: TokenManager) => Promise<unknown>)[] = [
      (tokens) => tokens.revoke.user('ada'),
      (tokens) => tokens.revoke.all(),
      (tokens) => tokens.revoke.key(tokens.keys.current ?? ''),
      (tokens) => tokens.revoke.session('a session'),
      (tokens) => tokens.logout({ sid: 'a session' }),
    ]
    for (const end of ends) {
      const tokens = createTokens()
      const token = forge({ claims: { ...ANONYMOUS, sid: 'a session' } })
      expect(await outcomeOf(tokens.verify(token))).toBe('ok')
      await end(tokens)
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    }
  })

  ownAttack('a token without an id cannot be revoked alone, and nobody is told that it was', async () => {
    const tokens = createTokens()
    const told: unknown[] = []
    tokens.on('revoked', (event) => told.push(event))
    const payload = await tokens.verify(forge({ claims: ANONYMOUS }))
    await expect(tokens.revoke.token(payload)).rejects.toThrow(TypeError)
    await expect(tokens.logout(payload)).rejects.toThrow(TypeError)
    expect(told).toEqual([])
    await tokens.logout(await tokens.verify(forge()))
    expect(told).toHaveLength(1)
  })

  ownAttack('ids that are no texts, or empty ones', async () => {
    const tokens = createTokens()
    expect(await outcomeOf(tokens.verify(forge()))).toBe('ok')
    for (const name of ['jti', 'sid'] as const) {
      for (const value of ['', null, 0, 1, true, [], ['honest-token'], {}, { toString: 'honest-token' }]) {
        const token = forge({ claims: { ...CLAIMS, [name]: value } })
        expect(await outcomeOf(tokens.verify(token)), `${name} ${JSON.stringify(value)}`).toBe(
          'TOKEN_INVALID',
        )
      }
    }
  })

  ownAttack('two tokens with one id go together: neither hides behind the other', async () => {
    const tokens = createTokens()
    const twins = [
      forge(),
      forge({ claims: { ...CLAIMS, sub: 'mallory' } }),
      forge({ claims: { ...CLAIMS, exp: NOW + 86_400 } }),
      forge({ claims: { ...CLAIMS, iat: NOW } }),
      forge({ claims: { ...CLAIMS, type: 'refresh' } }),
    ]
    const verify = (token: string): Promise<string> => outcomeOf(tokens.verify(token, { type: 'any' }))
    for (const token of twins) expect(await verify(token)).toBe('ok')
    await tokens.revoke.token(await tokens.verify(twins[0] ?? ''))
    for (const token of twins) expect(await verify(token)).toBe('TOKEN_REVOKED')
    expect(await verify(forge({ claims: { ...CLAIMS, jti: 'Honest-token' } }))).toBe('ok')
  })

  ownAttack('a revoked twin that lives longer than the token that was revoked', async () => {
    const { tokens, clock, store } = createRevocable({ JWT_SECRET_KEY: SECRET })
    const short = forge()
    const long = forge({ claims: { ...CLAIMS, exp: NOW + 7 * 86_400 } })
    await tokens.revoke.token(await tokens.verify(long))
    await tokens.revoke.token(await tokens.verify(short).catch(() => ({ jti: CLAIMS.jti, exp: CLAIMS.exp })))
    // Past the end of the short one: what it would allow to drop, the long one still needs.
    clock.seconds += 86_400
    await store.prune(100)
    expect(await outcomeOf(tokens.verify(long))).toBe('TOKEN_REVOKED')
  })

  ownAttack(
    'ids of ours: different in one millisecond, unguessable, and not for callers to choose',
    async () => {
      const clock = createClock()
      const { tokens } = createRevocable({ JWT_TOKEN_LOCATION: 'cookies' }, { clock })
      vi.spyOn(Math, 'random').mockReturnValue(0.5)
      const claims = Array.from(
        { length: 2000 },
        () => openToken(tokens.createAccessToken({ uid: 'ada' })).claims,
      )
      vi.restoreAllMocks()
      for (const name of ['jti', 'csrf']) expect(new Set(claims.map((one) => one[name])).size).toBe(2000)
      // 80 random bits: every one of the last 14 characters takes many values.
      const nonces = claims.map(({ jti }) => String(jti).slice(8))
      for (let at = 0; at < 14; at++) {
        // The last character has four unused bits.
        expect(new Set(nonces.map((nonce) => nonce[at])).size).toBe(at === 13 ? 4 : 64)
      }
      const reserved = [
        'jti',
        'sid',
        'sub',
        'type',
        'csrf',
        'gen',
        'iat',
        'exp',
        'fresh',
      ] satisfies (keyof StandardClaims)[]
      for (const name of reserved) {
        expect(() => tokens.createAccessToken({ uid: 'ada', [name]: 'chosen' })).toThrow(TypeError)
        await expect(tokens.sessions.open({ uid: 'ada', [name]: 'chosen' })).rejects.toThrow(TypeError)
      }
    },
  )
})
