import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  type AuthenticatedUpgrade,
  type RevocationStore,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type UpgradePolicy,
} from '../../packages/tokenlib/src/index.js'
import { rememberUpgrade, recheckUpgrade } from '../../packages/tokenlib/src/sockets/upgrade.js'
import type { RequestView } from '../../packages/tokenlib/src/http/view.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, createManager, PATIENT, SECRET, withBearer } from '../helpers/manager.js'
import { advance, toPair } from '../helpers/revocable.js'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const DAY = 86_400

interface Given {
  readonly config?: TokenConfigOptions
  readonly policy?: UpgradePolicy
  readonly every?: string
  /** Wraps the store that the manager gets. */
  readonly wrap?: (store: RevocationStore) => RevocationStore
}

/** A manager with a store, both with the same clock; calls of `sessions.get` are counted, and can be made to fail. */
function createSetting({ config = {}, wrap = (store) => store }: Given = {}) {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const state = { reads: 0, lookups: 0, isDown: false }
  const assertUp = (): void => {
    if (state.isDown) throw new Error('ECONNREFUSED')
  }
  const { sessions, isRevokedNow: _, ...others } = store
  const counted: RevocationStore = {
    ...others,
    async lookup(keys, options) {
      assertUp()
      state.lookups++
      return store.lookup(keys, options)
    },
    sessions: {
      ...(sessions as NonNullable<typeof sessions>),
      async get(sid, rules) {
        assertUp()
        state.reads++
        return (sessions as NonNullable<typeof sessions>).get(sid, rules)
      },
    },
  }
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...config }),
    clock,
    store: wrap(counted),
  })
  return { clock, store, state, tokens }
}

/** A socket of a session that is watched, and what it was closed with. */
async function open(given: Given = {}) {
  const setting = createSetting(given)
  const { tokens, clock } = setting
  const pair = await tokens.sessions.open({ uid: 'ada' })
  const upgrade = await tokens.sockets.authenticate(withBearer(pair.accessToken), {
    until: 'session',
    ...given.policy,
  })
  const closed: number[] = []
  const socket = {
    readyState: 1,
    close(code: number) {
      closed.push(code)
      socket.readyState = 3
    },
    addEventListener() {},
  }
  const stop = tokens.sockets.closeWhenInvalid(socket, upgrade, { every: given.every ?? '30s' })
  const pass = async (seconds: number) => {
    clock.seconds += seconds
    await vi.advanceTimersByTimeAsync(seconds * 1000)
  }
  return { ...setting, ...pair, upgrade, closed, socket, stop, pass, sid: upgrade.payload.sid as string }
}

/** What a dependency says about a message of a socket. */
async function send(
  upgrade: AuthenticatedUpgrade,
  dependency: (view: RequestView) => Promise<unknown>,
): Promise<string> {
  const view: RequestView = { method: 'GET', url: '/', header: () => null, body: async () => null }
  try {
    await recheckUpgrade(upgrade)
    rememberUpgrade(view, upgrade)
    await dependency(view)
    return 'passed'
  } catch (error) {
    return (error as { code: string }).code
  }
}

describe('a socket that follows its session', () => {
  test('outlives its access token, and the pairs that replace it', async () => {
    const { tokens, refreshToken, closed, pass, upgrade } = await open({
      config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' },
      every: '1h',
    })
    await pass(901)
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('passed')
    const next = toPair(await tokens.sessions.refresh(refreshToken))
    await pass(2 * DAY)
    await tokens.sessions.refresh(next.refreshToken)
    await pass(3600)
    expect(closed).toEqual([])
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('passed')
  })

  test('that lives as long as its token is closed when that expires, as ever', async () => {
    const { closed, pass } = await open({
      config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' },
      policy: { until: 'token' },
    })
    await pass(899)
    expect(closed).toEqual([])
    await pass(1)
    expect(closed).toEqual([4401])
  })

  test.each<[string, (given: Awaited<ReturnType<typeof open>>) => Promise<unknown>]>([
    ['a logout', ({ tokens, upgrade }) => tokens.logout(upgrade.payload)],
    ['the end of the session', ({ tokens, sid }) => tokens.revoke.session(sid)],
    ['the revocation of the user', ({ tokens }) => tokens.revoke.user('ada')],
    ['the revocation of everything', ({ tokens }) => tokens.revoke.all()],
    ['the revocation of the key', ({ tokens }) => tokens.revoke.key(tokens.keys.current as string)],
    [
      'a used refresh token',
      async ({ tokens, refreshToken, clock }) => {
        const next = await advance({ tokens, clock }, refreshToken)
        await advance({ tokens, clock }, next.refreshToken)
        clock.seconds += 60
        await expect(tokens.sessions.refresh(refreshToken)).rejects.toMatchObject({
          code: 'REFRESH_TOKEN_REUSED',
        })
      },
    ],
  ])('is closed at the next look after %s, long after its token expired', async (_, end) => {
    const given = await open({ config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' }, every: '1h' })
    const { closed, pass, upgrade, tokens } = given
    await pass(900)
    await pass(3 * DAY)
    expect(closed).toEqual([])
    await end(given)
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('TOKEN_REVOKED')
    await pass(3600)
    expect(closed).toEqual([4401])
  })

  test('is closed for the revocation of its token, however seldom somebody looks', async () => {
    const { tokens, upgrade, closed, pass } = await open({
      config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' },
      every: '1d',
    })
    await pass(60)
    await tokens.revoke.token(upgrade.payload)
    await pass(839)
    expect(closed).toEqual([])
    // The store drops that revocation five minutes after the expiry.
    await pass(1)
    expect(closed).toEqual([4401])
  })

  test('is told to try again if nobody looked for so long that a revocation may have been dropped', async () => {
    const { upgrade, closed, pass, clock, tokens } = await open({
      config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' },
      every: '1d',
    })
    // The process is suspended: the time goes on, and no timer fires.
    clock.seconds += 900 + 300
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('REVOCATION_UNAVAILABLE')
    clock.seconds -= 900
    await pass(900)
    expect(closed).toEqual([1013])
  })

  test('is closed when the session expires, to the second', async () => {
    const { upgrade, closed, pass, tokens } = await open({
      config: { JWT_ACCESS_TOKEN_EXPIRES: '15m', JWT_REFRESH_TOKEN_EXPIRES: '1h', JWT_DECODE_LEEWAY: 5 },
      every: '1d',
    })
    await pass(900)
    await pass(2704)
    expect(closed).toEqual([])
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('passed')
    await pass(1)
    expect(closed).toEqual([4401])
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('TOKEN_EXPIRED')
  })

  test('is closed when the session was not refreshed for too long', async () => {
    const { tokens, refreshToken, upgrade, closed, pass } = await open({
      config: { JWT_ACCESS_TOKEN_EXPIRES: '15m', JWT_REFRESH_IDLE_EXPIRES: '30m' },
      every: '1d',
    })
    await pass(900)
    await tokens.sessions.refresh(refreshToken)
    await pass(1799)
    expect(closed).toEqual([])
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('passed')
    await pass(2)
    expect(closed).toEqual([4401])
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('TOKEN_REVOKED')
  })

  test('is closed when its store does not know the session any more', async () => {
    let isForgotten = false
    const { closed, pass } = await open({
      wrap: (store) => {
        const sessions = store.sessions as NonNullable<RevocationStore['sessions']>
        const get: typeof sessions.get = async (...given) => (isForgotten ? null : sessions.get(...given))
        return { ...store, sessions: { ...sessions, get } }
      },
    })
    await pass(30)
    isForgotten = true
    await pass(30)
    expect(closed).toEqual([4401])
  })

  test('is told to try again later when the store is gone', async () => {
    const { state, closed, pass } = await open()
    await pass(30)
    state.isDown = true
    await pass(30)
    expect(closed).toEqual([1013])
  })

  test('is closed when the callback of the application says so, also after the expiry', async () => {
    const { tokens, closed, pass } = await open({ config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' }, every: '1h' })
    const subjects: string[] = []
    let isRevoked = false
    tokens.setTokenBlocklist((_, { payload }) => {
      subjects.push(payload.sub)
      return isRevoked
    })
    await pass(900)
    await pass(3600)
    expect(subjects).toEqual(['ada', 'ada'])
    isRevoked = true
    await pass(3600)
    expect(closed).toEqual([4401])
  })

  test('of a session that never ends starts no timer that overflows', async () => {
    const { closed, pass, stop } = await open({
      config: { JWT_REFRESH_TOKEN_EXPIRES: false, JWT_ACCESS_TOKEN_EXPIRES: false },
      every: '1d',
    })
    // Node makes one millisecond of a longer wait than this, and warns.
    expect(vi.getTimerCount()).toBe(1)
    await pass(DAY - 1)
    await pass(60 * DAY)
    expect(closed).toEqual([])
    stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is not read in a loop while the clock of the store is behind', async () => {
    const { pass, state, closed } = await open({
      config: { JWT_ACCESS_TOKEN_EXPIRES: '15m', JWT_REFRESH_IDLE_EXPIRES: '30m' },
      every: '1d',
      wrap: (store) => {
        const sessions = store.sessions as NonNullable<RevocationStore['sessions']>
        // Its clock says that the time is not over.
        const get: typeof sessions.get = (sid, rules) => sessions.get(sid, { idleMs: rules.idleMs + 10_000 })
        return { ...store, sessions: { ...sessions, get } }
      },
    })
    await pass(900)
    await pass(900)
    const { reads } = state
    await pass(9)
    expect(state.reads - reads).toBeLessThanOrEqual(10)
    expect(closed).toEqual([])
    await pass(2)
    expect(closed).toEqual([4401])
  })

  test('reads the session at each look, and not for each message', async () => {
    const { tokens, upgrade, state, pass } = await open()
    const { reads } = state
    for (let count = 0; count < 10; count++) {
      expect(await send(upgrade, tokens.accessTokenRequired)).toBe('passed')
    }
    expect(state.reads).toBe(reads)
    await pass(30)
    expect(state.reads).toBe(reads + 1)
  })

  test('reports its end once, with the claims', async () => {
    const { tokens, closed, pass, upgrade } = await open()
    const rejected: object[] = []
    tokens.on('rejected', (event) => rejected.push(event))
    await tokens.logout(upgrade.payload)
    await pass(30)
    await pass(30)
    expect(closed).toEqual([4401])
    expect(rejected).toMatchObject([{ code: 'TOKEN_REVOKED', sub: 'ada' }])
  })

  test('also with a refresh token, which rotation does not end', async () => {
    const { tokens, clock, refreshToken } = await open()
    const upgrade = await tokens.sockets.authenticate(withBearer(refreshToken), {
      type: 'refresh',
      until: 'session',
    })
    const next = await advance({ tokens, clock }, refreshToken)
    await advance({ tokens, clock }, next.refreshToken)
    expect(await send(upgrade, tokens.refreshTokenRequired)).toBe('passed')
  })
})

describe('a message of a socket that follows its session', () => {
  test.each<[string, boolean | number]>([
    ['a fresh token', true],
    ['a token that is fresh for a while', 600],
  ])('needs more than %s once that has expired', async (_, fresh) => {
    const { tokens, clock } = createSetting({ config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' } })
    const { accessToken } = await tokens.sessions.open(
      { uid: 'ada' },
      { access: { fresh: fresh === true ? true : '10m' } },
    )
    const upgrade = await tokens.sockets.authenticate(withBearer(accessToken), { until: 'session' })
    expect(await send(upgrade, tokens.freshTokenRequired)).toBe('passed')
    clock.seconds += 900
    expect(await send(upgrade, tokens.freshTokenRequired)).toBe('FRESH_TOKEN_REQUIRED')
    expect(await send(upgrade, tokens.accessTokenRequired)).toBe('passed')
  })

  test('has the scopes of the handshake', async () => {
    const { tokens, clock } = createSetting({ config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' } })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { scopes: ['read'] })
    const upgrade = await tokens.sockets.authenticate(withBearer(accessToken), { until: 'session' })
    clock.seconds += 901
    expect(await send(upgrade, tokens.require({ scopes: ['read'] }))).toBe('passed')
    expect(await send(upgrade, tokens.require({ scopes: ['write'] }))).toBe('INSUFFICIENT_SCOPE')
  })
})

function withoutSessions(store: RevocationStore): RevocationStore {
  const { sessions: _, ...others } = store
  return others
}

describe('a handshake that asks to follow the session is refused', () => {
  const until = { until: 'session' } as const

  test('with a token that belongs to no session', async () => {
    const { tokens } = createSetting()
    const rejected: string[] = []
    tokens.on('rejected', ({ code }) => rejected.push(code))
    const request = withBearer(tokens.createAccessToken({ uid: 'ada' }))
    await expect(tokens.sockets.authenticate(request, until)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    expect(rejected).toEqual(['TOKEN_INVALID'])
  })

  test('with a token of a session that the store does not know', async () => {
    const { tokens } = createSetting()
    const { accessToken } = await createManager().tokens.sessions.open({ uid: 'ada' })
    await expect(tokens.sockets.authenticate(withBearer(accessToken), until)).rejects.toMatchObject({
      code: 'TOKEN_REVOKED',
    })
  })

  test('with an expired token', async () => {
    const { tokens, clock } = createSetting({ config: { JWT_ACCESS_TOKEN_EXPIRES: '15m' } })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    clock.seconds += 900
    await expect(tokens.sockets.authenticate(withBearer(accessToken), until)).rejects.toMatchObject({
      code: 'TOKEN_EXPIRED',
    })
  })

  test('without a store, and with one that keeps no sessions', async () => {
    const bare = createManager().tokens
    const unkept = createSetting({ wrap: withoutSessions }).tokens
    for (const manager of [bare, unkept]) {
      const { accessToken } = await manager.sessions.open({ uid: 'ada' })
      for (const request of [withBearer(accessToken), new Request('http://localhost/')]) {
        await expect(manager.sockets.authenticate(request, until)).rejects.toMatchObject({
          code: 'CONFIGURATION_INVALID',
        })
      }
    }
  })

  test.each<object>([
    { until: 'ever' },
    { until: true },
    { until: null },
    { until: 'session', skipRevocation: true },
  ])('by the policy %j', async (policy) => {
    const { tokens, accessToken } = await open()
    await expect(tokens.sockets.authenticate(withBearer(accessToken), policy)).rejects.toThrow(TypeError)
  })
})
