import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { withBearer } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

describeAttacks('one kind of token in the place of another (CVE-2026-41164, RFC 8725 §2.8)', () => {
  ownAttack('every kind of token at every kind of guard', async () => {
    const tokens = createManager()
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const fresh = tokens.createAccessToken({ uid: 'ada' }, { fresh: true })
    const guards = [
      tokens.accessTokenRequired,
      tokens.freshTokenRequired,
      tokens.accessTokenOptional,
      tokens.refreshTokenRequired,
      tokens.tokenRequired,
    ]
    const outcomes = async (token: string) =>
      Promise.all(guards.map((guard) => outcomeOf(guard(withBearer(token)))))
    const noAccess = 'ACCESS_TOKEN_REQUIRED'
    expect(await outcomes(accessToken)).toEqual([
      'ok',
      'FRESH_TOKEN_REQUIRED',
      'ok',
      'REFRESH_TOKEN_REQUIRED',
      'ok',
    ])
    expect(await outcomes(fresh)).toEqual(['ok', 'ok', 'ok', 'REFRESH_TOKEN_REQUIRED', 'ok'])
    expect(await outcomes(refreshToken)).toEqual([noAccess, noAccess, noAccess, 'ok', 'ok'])
  })

  ownAttack('every kind of token at every way to check one that came without a request', async () => {
    const tokens = createManager()
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const check = (token: string) => async () => internalsOf(tokens).verifyWithoutRevocation(token)
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
    expect(await outcomeOf(tokens.verify(refreshToken))).toBe('ACCESS_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.verify(accessToken, { type: 'refresh' }))).toBe('REFRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(check(refreshToken)())).toBe('ACCESS_TOKEN_REQUIRED')
    // An access token gets no new pair; what it was good for, it still is.
    expect(await outcomeOf(tokens.sessions.refresh(accessToken))).toBe('REFRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('ok')
  })

  ownAttack('a refresh token in the cookie of access tokens, and the other way round', async () => {
    const tokens = createManager({ JWT_TOKEN_LOCATION: ['cookies'] })
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const send = (access: string, refresh: string): Request =>
      createRequest({ cookies: { access_token_cookie: access, refresh_token_cookie: refresh } })
    const honest = send(accessToken, refreshToken)
    expect(await outcomeOf(tokens.accessTokenRequired(honest))).toBe('ok')
    expect(await outcomeOf(tokens.refreshTokenRequired(honest))).toBe('ok')
    const swapped = send(refreshToken, accessToken)
    expect(await outcomeOf(tokens.accessTokenRequired(swapped))).toBe('ACCESS_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.refreshTokenRequired(swapped))).toBe('REFRESH_TOKEN_REQUIRED')
    // Where either will do, each must be in its own place.
    expect(await outcomeOf(tokens.tokenRequired(honest))).toBe('ok')
    expect(await outcomeOf(tokens.tokenRequired(swapped))).toBe('ACCESS_TOKEN_REQUIRED')
  })

  ownAttack('a token that says it is something else, or nothing', async () => {
    const tokens = createManager()
    await tokens.verify(forge())
    const { type: _, ...claims } = CLAIMS
    const types = ['id', 'Access', 'ACCESS', 'access ', '', ['access'], { access: true }, true, null, 0]
    for (const forged of [claims, ...types.map((type) => ({ ...claims, type }))]) {
      const token = forge({ claims: forged })
      for (const type of ['access', 'refresh', 'any'] as const) {
        await expect(tokens.verify(token, { type })).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
      }
    }
  })

  ownAttack('the type of a token cannot be chosen by anyone who brings its claims', () => {
    const tokens = createManager()
    expect(tokens.createAccessToken({ uid: 'ada', plan: 'free' })).toEqual(expect.any(String))
    for (const name of [
      'type',
      'fresh',
      'scopes',
      'exp',
      'nbf',
      'iat',
      'iss',
      'aud',
      'jti',
      'sid',
      'gen',
      'csrf',
    ]) {
      expect(() => tokens.createAccessToken({ uid: 'ada', [name]: 'refresh' })).toThrow(TypeError)
    }
    for (const name of ['typ', 'alg', 'kid']) {
      expect(() => tokens.createAccessToken({ uid: 'ada' }, { headers: { [name]: 'x' } })).toThrow(TypeError)
    }
  })
})

function createManager(options: TokenConfigOptions = {}): TokenManager {
  return new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }),
    store: createMemoryStore(),
  })
}
