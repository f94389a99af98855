import { describe, expect, test, vi } from 'vitest'
import type { IssuerOptions } from '../../packages/issuers/src/index.js'
import { createForeign, createReceiver, type Foreign } from '../helpers/foreign.js'
import { createTimedClock, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { forge } from '../security/harness/forge.js'
import { recheckUpgrade } from '../../packages/tokenlib/src/sockets/upgrade.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const A = createForeign('https://a.example')
const NEXT = createForeign('https://a.example', { kid: 'key-2' })
const URL = 'https://a.example/keys'

/** An issuer whose JWKS endpoint is a function, counted. */
function createEndpoint(options: Partial<IssuerOptions> = {}) {
  const state = { published: [A.jwk], calls: 0, isDown: false }
  const fetch = async (): Promise<Response> => {
    state.calls++
    if (state.isDown) throw new Error('offline')
    return Response.json({ keys: state.published })
  }
  const issuer = A.options({ keys: { jwksUri: URL, fetch, cooldown: '1s', maxAge: '1s' }, ...options })
  return { state, issuer, ...createReceiver([issuer]) }
}

const resign = (foreign: Foreign, jti: string) => foreign.sign({ jti })

describe('keys that have to be loaded', () => {
  test('a synchronous check before that is told so', async () => {
    const { tokens, state } = createEndpoint()
    const token = A.sign()
    expect(() => internalsOf(tokens).verifyWithoutRevocation(token)).toThrow(
      expect.objectContaining({ code: 'KEYS_UNAVAILABLE', issuer: A.issuer }),
    )
    await tokens.ready()
    expect(state.calls).toBe(1)
    expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('ada')
  })

  test('own tokens do not wait for the keys of an issuer', async () => {
    const { tokens, state } = createEndpoint()
    state.isDown = true
    const own = tokens.createAccessToken({ uid: 'ada' })
    expect(internalsOf(tokens).verifyWithoutRevocation(own).sub).toBe('ada')
    expect((await tokens.accessTokenRequired(withBearer(own))).sub).toBe('ada')
    // Not even if nobody knows the key: an inspection looks for it again, but not where our own keys are.
    const unknown = forge({ header: { alg: 'HS256', typ: 'JWT', kid: 'unknown' } })
    expect(await outcomeOf(internalsOf(tokens).inspectToken(unknown))).toBe('TOKEN_SIGNATURE_INVALID')
    expect(state.calls).toBe(0)
  })

  test('own tokens pass after a token whose keys cannot be loaded', async () => {
    const { tokens, state } = createEndpoint()
    state.isDown = true
    expect(await outcomeOf(tokens.verify(A.sign()))).toBe('KEYS_UNAVAILABLE')
    expect((await tokens.verify(tokens.createAccessToken({ uid: 'grace' }))).sub).toBe('grace')
  })

  test('the first requests load them, together', async () => {
    const { tokens, state } = createEndpoint()
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        outcomeOf(tokens.accessTokenRequired(withBearer(resign(A, `token-${at}`)))),
      ),
    )
    expect(new Set(outcomes)).toEqual(new Set(['ok']))
    expect(state.calls).toBe(1)
  })

  test('ready() rejects, and requests answer 503, while they cannot be loaded', async () => {
    const clock = createTimedClock()
    const { state, issuer } = createEndpoint()
    const { tokens } = createReceiver([issuer], { clock })
    state.isDown = true
    const unavailable = { code: 'KEYS_UNAVAILABLE', issuer: A.issuer }
    await expect(tokens.ready()).rejects.toMatchObject(unavailable)
    for (const call of [
      () => tokens.accessTokenRequired(withBearer(A.sign())),
      () => tokens.verify(A.sign()),
      () => tokens.sockets.authenticate(withBearer(A.sign())),
      () => internalsOf(tokens).verifyIssuedJwt(A.sign(), { typ: 'at+jwt', audience: 'x' }),
      () => tokens.logout(withBearer(A.sign())),
    ]) {
      await expect(clock.runUntil<unknown>(call())).rejects.toMatchObject(unavailable)
    }
  })

  test('a token that can never be one of the issuer loads nothing', async () => {
    const { tokens, state } = createEndpoint()
    const [header = '', payload = ''] = A.sign().split('.')
    const other = Buffer.from(JSON.stringify({ alg: 'ES256', jku: URL })).toString('base64url')
    for (const token of [`${other}.${payload}.AAAA`, `${header}.${payload}`, 'x'.repeat(10_000)]) {
      expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_INVALID')
    }
    expect(state.calls).toBe(0)
  })
})

describe('the fast lane', () => {
  // The second time a token is remembered, the third time it is recalled.
  const warm = async (tokens: ReturnType<typeof createEndpoint>['tokens'], token: string) => {
    for (const _ of [1, 2, 3]) await tokens.accessTokenRequired(withBearer(token))
  }

  test('a remembered token is refused when its key is gone, and passes when that is back', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const { tokens, state } = createEndpoint()
      const reload = async (): Promise<void> => {
        vi.advanceTimersByTime(1500)
        const loaded = new Promise<void>((resolve) => void tokens.on('keysLoaded', () => resolve()))
        await outcomeOf(tokens.accessTokenRequired(withBearer(A.sign({ jti: 'other' }))))
        await loaded
      }
      const token = A.sign()
      await warm(tokens, token)
      state.published = [NEXT.jwk]
      await reload()
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('TOKEN_SIGNATURE_INVALID')
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(NEXT.sign())))).toBe('ok')
      state.published = [A.jwk, NEXT.jwk]
      await reload()
      expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
    } finally {
      vi.useRealTimers()
    }
  })

  test('time, age, issuer, scopes and revocation are checked each time', async () => {
    const { tokens, clock } = createEndpoint({ maxTokenAge: '10m' })
    const { iat, exp } = A.claims({ exp: 4_000_000_000 }) as { iat: number; exp: number }
    const token = A.sign({ exp, scope: 'read' })
    await warm(tokens, token)
    const request = () => withBearer(token)
    expect(await outcomeOf(tokens.require({ issuer: 'own' })(request()))).toBe('TOKEN_ISSUER_INVALID')
    expect(await outcomeOf(tokens.require({ issuer: A.issuer })(request()))).toBe('ok')
    expect(await outcomeOf(tokens.require({ scopes: ['write'] })(request()))).toBe('INSUFFICIENT_SCOPE')
    expect(await outcomeOf(tokens.freshTokenRequired(request()))).toBe('FRESH_TOKEN_REQUIRED')
    expect(await outcomeOf(tokens.refreshTokenRequired(request()))).toBe('REFRESH_TOKEN_REQUIRED')
    clock.seconds = iat + 599
    expect(await outcomeOf(tokens.accessTokenRequired(request()))).toBe('ok')
    clock.seconds = iat + 600
    expect(await outcomeOf(tokens.accessTokenRequired(request()))).toBe('TOKEN_EXPIRED')
    clock.seconds = iat - 1
    expect(await outcomeOf(tokens.accessTokenRequired(request()))).toBe('TOKEN_NOT_YET_VALID')
    clock.seconds = iat + 60
    await tokens.revoke.user('ada', { issuer: A.issuer })
    expect(await outcomeOf(tokens.accessTokenRequired(request()))).toBe('TOKEN_REVOKED')
  })

  test('a remembered token passes while the issuer is down, until its keys are too old', async () => {
    const { tokens, state } = createEndpoint()
    const token = A.sign()
    await warm(tokens, token)
    state.isDown = true
    expect(await outcomeOf(tokens.accessTokenRequired(withBearer(token)))).toBe('ok')
  })
})

describe('a synchronous check of a token with a new key', () => {
  test('is told that the key is not there, and starts a load that ready() waits for', async () => {
    const { tokens, state } = createEndpoint()
    await tokens.ready()
    state.published = [A.jwk, NEXT.jwk]
    const check = () => internalsOf(tokens).verifyWithoutRevocation(NEXT.sign())
    expect(check).toThrow(expect.objectContaining({ code: 'KEYS_UNAVAILABLE' }))
    await tokens.ready()
    expect(check().sub).toBe('ada')
    expect(state.calls).toBe(2)
  })

  test('does the same with a key function, and with keys that were never loaded', async () => {
    const fetch = async (): Promise<Response> => Response.json({ keys: [A.jwk] })
    for (const keys of [async () => A.jwk, { jwksUri: URL, fetch }]) {
      const { tokens } = createReceiver([A.options({ keys })])
      const check = () => internalsOf(tokens).verifyWithoutRevocation(A.sign())
      expect(check).toThrow(expect.objectContaining({ code: 'KEYS_UNAVAILABLE' }))
      await tokens.ready()
      expect(check().sub).toBe('ada')
    }
  })

  test('leaves no rejection behind if the load fails', async () => {
    const { tokens, state } = createEndpoint()
    state.isDown = true
    const check = () => internalsOf(tokens).verifyWithoutRevocation(A.sign())
    expect(check).toThrow(expect.objectContaining({ code: 'KEYS_UNAVAILABLE' }))
    expect(await outcomeOf(tokens.ready())).toBe('KEYS_UNAVAILABLE')
    expect(check).toThrow(expect.objectContaining({ code: 'KEYS_UNAVAILABLE' }))
    expect(state.calls).toBe(1)
  })
})

describe('a token that expires while the keys are loaded', () => {
  const createSlow = (keys: { delay: number }) => {
    const fetch = async (): Promise<Response> => {
      receiver.clock.seconds += keys.delay
      return Response.json({ keys: [A.jwk] })
    }
    const receiver = createReceiver([A.options({ keys: { jwksUri: URL, fetch } })])
    return receiver.tokens
  }

  test('is refused', async () => {
    const tokens = createSlow({ delay: 3600 })
    expect(await outcomeOf(tokens.verify(A.sign()))).toBe('TOKEN_EXPIRED')
  })

  test('is accepted if it does not', async () => {
    const tokens = createSlow({ delay: 1 })
    expect(await outcomeOf(tokens.verify(A.sign()))).toBe('ok')
  })
})

test('a key that comes back is loaded again, for a new token and for that of an open socket', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const { tokens, state } = createEndpoint()
    const upgrade = await tokens.sockets.authenticate(withBearer(A.sign()))
    for (const check of [() => tokens.verify(A.sign({ jti: 'other' })), () => recheckUpgrade(upgrade)]) {
      state.published = [NEXT.jwk]
      vi.advanceTimersByTime(1500)
      const loaded = new Promise<void>((resolve) => void tokens.on('keysLoaded', () => resolve()))
      await outcomeOf(tokens.verify(NEXT.sign()))
      await loaded
      vi.advanceTimersByTime(1500)
      expect(await outcomeOf(tokens.verify(A.sign({ jti: 'in vain' })))).toBe('TOKEN_SIGNATURE_INVALID')
      state.published = [A.jwk, NEXT.jwk]
      vi.advanceTimersByTime(1500)
      expect(await outcomeOf(check())).toBe('ok')
    }
  } finally {
    vi.useRealTimers()
  }
})
