import { describe, expect, test, vi } from 'vitest'
import {
  RevocationUnavailableError,
  RevokedTokenError,
  TokenConfig,
} from '../../packages/tokenlib/src/index.js'
import type { RevocationContext } from '../../packages/tokenlib/src/kit.js'
import { createManager, createTimedClock, SECRET, withBearer } from '../helpers/manager.js'
import { sleep } from '../../packages/tokenlib/src/runtime.js'
import type { VirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const create = (options: object = {}) => {
  const { tokens, clock } = createManager(options)
  return { tokens, clock, token: tokens.createAccessToken({ uid: 'ada' }) }
}

describe('what the callback says', () => {
  test('without a callback every valid token passes', async () => {
    const { tokens, token } = create()
    expect((await tokens.accessTokenRequired(withBearer(token))).sub).toBe('ada')
  })

  test('true refuses, false passes, and it is given the raw token', async () => {
    const { tokens, token } = create()
    const seen: string[] = []
    tokens.setCallbackTokenBlocklist((raw) => seen.push(raw) === 1)
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
    expect((await tokens.verify(token)).sub).toBe('ada')
    expect(seen).toEqual([token, token])
  })

  test('a callback that throws refuses, with its error as the cause', async () => {
    const { tokens, token } = create()
    const cause = new Error('ECONNREFUSED')
    tokens.setCallbackTokenBlocklist(() => {
      throw cause
    })
    await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'REVOCATION_UNAVAILABLE', cause })
  })

  test('the error holds the header and payload of the revoked token, out of sight of logs', async () => {
    const { tokens, token } = create()
    tokens.setCallbackTokenBlocklist(() => true)
    const error = (await tokens.verify(token).catch((error: unknown) => error)) as RevokedTokenError
    expect(error.payload['sub']).toBe('ada')
    expect(error.header['alg']).toBe('HS256')
    expect(Object.keys(error)).not.toContain('payload')
  })

  test('a token that never expires is refused once revoked', async () => {
    const { tokens } = create()
    const token = tokens.createAccessToken({ uid: 'u' }, { expiresIn: false })
    const blocklist = new Set<string>()
    tokens.setCallbackTokenBlocklist((raw) => blocklist.has(raw))
    await tokens.verify(token)
    blocklist.add(token)
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
  })

  test.each(
    [
      undefined,
      null,
      0,
      1,
      '',
      'true',
      'false',
      {},
      [],
      Number.NaN,
      1n,
      Symbol('s'),
      () => true,
      new Boolean(false),
    ].map((value) => [value]),
  )('anything but true and false refuses, at once or later: %o', async (answer) => {
    const { tokens, token } = create()
    tokens.setCallbackTokenBlocklist((() => answer) as never)
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevocationUnavailableError)
    tokens.setCallbackTokenBlocklist((() => Promise.resolve(answer)) as never)
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevocationUnavailableError)
  })

  test.each<[string, () => boolean | PromiseLike<boolean>]>([
    [
      'throws',
      () => {
        throw new Error('ECONNREFUSED')
      },
    ],
    [
      'throws undefined',
      () => {
        throw undefined
      },
    ],
    ['rejects', () => Promise.reject(new Error('ECONNREFUSED'))],
    ['rejects with a text', () => Promise.reject('down')],
    [
      'has a then that throws',
      () => ({
        then() {
          throw new Error('broken')
        },
      }),
    ],
  ])('a callback that %s refuses and keeps the cause', async (_, callback) => {
    const { tokens, token } = create()
    tokens.setCallbackTokenBlocklist(callback)
    const error = await tokens.verify(token).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(RevocationUnavailableError)
    expect(error).toHaveProperty('cause')
  })
})

describe('every way to answer later is awaited', () => {
  const isRevoked = async (): Promise<boolean> => true
  const thenable = { then: (resolve: (value: boolean) => void) => resolve(true) }
  const callable = Object.assign(() => {}, thenable)
  class Store {
    #revoked = true
    async has(): Promise<boolean> {
      return this.#revoked
    }
  }
  const store = new Store()

  test.each<[string, () => boolean | PromiseLike<boolean>]>([
    ['an async function', isRevoked],
    ['a bound method', store.has.bind(store)],
    ['a wrapper', () => isRevoked()],
    ['a thenable object', () => thenable as unknown as PromiseLike<boolean>],
    ['a thenable function', () => callable as unknown as PromiseLike<boolean>],
    ['a promise of a promise', () => Promise.resolve(isRevoked())],
    ['a proxy', new Proxy(isRevoked, {})],
  ])('%s', async (_, callback) => {
    const { tokens, token } = create()
    tokens.setCallbackTokenBlocklist(callback)
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
  })

  test('a thenable that answers twice is taken at its first word', async () => {
    const { tokens, token } = create()
    const twice = {
      then(resolve: (value: boolean) => void) {
        resolve(true)
        resolve(false)
      },
    }
    tokens.setCallbackTokenBlocklist(() => twice as unknown as PromiseLike<boolean>)
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
  })
})

describe('deadline', () => {
  const { JWT_REVOCATION_TIMEOUT } = new TokenConfig()
  const DEFAULT = { JWT_REVOCATION_TIMEOUT }

  test('JWT_REVOCATION_TIMEOUT ends a check that hangs, its signal aborts, and a late answer changes nothing', async () => {
    vi.useFakeTimers()
    try {
      const { tokens, token } = create({ JWT_REVOCATION_TIMEOUT: '100ms' })
      let answer: (value: boolean) => void = () => {}
      let signal: AbortSignal | undefined
      tokens.setCallbackTokenBlocklist((_, context) => {
        signal = context.signal
        return new Promise((resolve) => {
          answer = resolve
        })
      })
      const outcome = tokens.verify(token).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(99)
      expect(signal?.aborted).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      expect(await outcome).toBeInstanceOf(RevocationUnavailableError)
      expect(signal?.aborted).toBe(true)
      answer(false)
      await vi.runAllTimersAsync()
      expect(await outcome).toBeInstanceOf(RevocationUnavailableError)
    } finally {
      vi.useRealTimers()
    }
  })

  test('a rejection after the deadline goes unnoticed, and the default is 250 ms', async () => {
    vi.useFakeTimers()
    try {
      const { tokens, token } = create(DEFAULT)
      let fail: (error: Error) => void = () => {}
      tokens.setCallbackTokenBlocklist(
        () =>
          new Promise((_, reject) => {
            fail = reject
          }),
      )
      const outcome = tokens.verify(token).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(250)
      expect(await outcome).toBeInstanceOf(RevocationUnavailableError)
      // An unhandled rejection would fail this test run.
      fail(new Error('late'))
      await vi.runAllTimersAsync()
    } finally {
      vi.useRealTimers()
    }
  })

  test('a signal that is first asked for after the deadline is aborted already', async () => {
    vi.useFakeTimers()
    try {
      const { tokens, token } = create(DEFAULT)
      let context: RevocationContext | undefined
      tokens.setCallbackTokenBlocklist((_, given) => {
        context = given
        return new Promise(() => {})
      })
      const outcome = tokens.verify(token).catch((error: unknown) => error)
      await vi.advanceTimersByTimeAsync(250)
      expect(await outcome).toBeInstanceOf(RevocationUnavailableError)
      expect(context?.signal.aborted).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })

  /** Blocks the process for longer than the callback has, as a long computation does. */
  const compute = (clock: VirtualClock): false => {
    clock.block('60ms')
    return false
  }

  test.each<[string, (clock: VirtualClock) => boolean | Promise<boolean>]>([
    ['at once', compute],
    ['in an async function', async (clock) => compute(clock)],
    [
      'after the timer was due',
      async (clock) => {
        await sleep(clock.scheduler, 1)
        return compute(clock)
      },
    ],
  ])('an answer that comes late because the process was busy does not count: %s', async (_, callback) => {
    const clock = createTimedClock()
    const { tokens } = createManager({ JWT_REVOCATION_TIMEOUT: '30ms' }, clock)
    tokens.setCallbackTokenBlocklist(() => callback(clock))
    const check = tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
    await expect(clock.runUntil(check)).rejects.toBeInstanceOf(RevocationUnavailableError)
  })

  test('an answer in time leaves no timer behind', async () => {
    vi.useFakeTimers()
    try {
      const { tokens, token } = create()
      tokens.setCallbackTokenBlocklist(() => Promise.resolve(false))
      await tokens.verify(token)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('when the callback runs', () => {
  test('on every check, for access, refresh and fresh dependencies', async () => {
    const { tokens } = create()
    let calls = 0
    tokens.setCallbackTokenBlocklist(() => {
      calls++
      return false
    })
    const access = tokens.createAccessToken({ uid: 'u' }, { fresh: true })
    const refresh = tokens.createRefreshToken({ uid: 'u' })
    for (const dependency of [
      tokens.accessTokenRequired,
      tokens.freshTokenRequired,
      tokens.tokenRequired,
      tokens.accessTokenOptional,
    ]) {
      await dependency(withBearer(access))
      await dependency(withBearer(access))
    }
    await tokens.refreshTokenRequired(withBearer(refresh))
    await tokens.require({ type: 'access', fresh: true })(withBearer(access))
    expect(calls).toBe(10)
  })

  test('a revoked refresh token is refused by refresh routes', async () => {
    const { tokens } = create()
    const refresh = tokens.createRefreshToken({ uid: 'u' })
    tokens.setCallbackTokenBlocklist((token) => token === refresh)
    await expect(tokens.refreshTokenRequired(withBearer(refresh))).rejects.toBeInstanceOf(RevokedTokenError)
  })

  test('never for a token that fails another check', async () => {
    const { tokens, clock, token } = create({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
    let calls = 0
    tokens.setCallbackTokenBlocklist(() => {
      calls++
      return false
    })
    const foreign = createManager({ JWT_SECRET_KEY: `${SECRET}!` }).tokens.createAccessToken({ uid: 'u' })
    const cookie = new Request('http://x/', {
      method: 'POST',
      headers: { cookie: `access_token_cookie=${token}` },
    })
    const refused = [
      () => tokens.accessTokenRequired(withBearer('garbage')),
      () => tokens.accessTokenRequired(withBearer(foreign)),
      () => tokens.accessTokenRequired(withBearer(tokens.createRefreshToken({ uid: 'u' }))),
      () => tokens.refreshTokenRequired(withBearer(token)),
      () => tokens.freshTokenRequired(withBearer(token)),
      () => tokens.require({ scopes: ['a'] })(withBearer(token)),
      () => tokens.accessTokenRequired(cookie),
      () => tokens.accessTokenRequired(new Request('http://x/')),
    ]
    for (const refuse of refused) await expect(refuse()).rejects.toMatchObject({ isTokenError: true })
    clock.seconds += 10_000
    await expect(tokens.accessTokenRequired(withBearer(token))).rejects.toMatchObject({
      code: 'TOKEN_EXPIRED',
    })
    expect(calls).toBe(0)
  })

  test('not where it is skipped, not for raw reading, not in the check that says so', async () => {
    const { tokens, token } = create()
    tokens.setCallbackTokenBlocklist(() => true)
    expect((await tokens.require({ skipRevocation: true })(withBearer(token))).sub).toBe('ada')
    expect((await tokens.getTokenFromRequest(withBearer(token)))?.token).toBe(token)
    expect(internalsOf(tokens).verifyWithoutRevocation(token).sub).toBe('ada')
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
  })

  test('its context says what and where the token is, and cannot be used to change it', async () => {
    const { tokens, token } = create()
    const seen: RevocationContext[] = []
    tokens.setCallbackTokenBlocklist((_, context) => {
      seen.push(context)
      expect(() => Object.assign(context.payload, { sub: 'admin' })).toThrow(TypeError)
      return false
    })
    expect((await tokens.accessTokenRequired(withBearer(token))).sub).toBe('ada')
    await tokens.verify(token)
    expect(seen[0]).toMatchObject({ type: 'access', location: 'headers', header: { alg: 'HS256' } })
    expect(seen[0]?.payload.sub).toBe('ada')
    expect(seen[1]?.location).toBeNull()
  })

  test('a callback that replaces itself during a check is replaced from the next check on', async () => {
    const { tokens, token } = create()
    tokens.setCallbackTokenBlocklist(async () => {
      tokens.setCallbackTokenBlocklist(() => true)
      return false
    })
    expect((await tokens.verify(token)).sub).toBe('ada')
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
  })

  test('a callback may use the manager itself', async () => {
    const { tokens, token } = create()
    tokens.setCallbackTokenBlocklist(
      async (raw) => (await tokens.verify(raw, { skipRevocation: true })).sub === 'ada',
    )
    await expect(tokens.verify(token)).rejects.toBeInstanceOf(RevokedTokenError)
  })
})
