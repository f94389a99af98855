import { describe, expect, test, vi } from 'vitest'
import {
  type OpenSessionOptions,
  isTokenError,
  type RevocationStore,
  TokenConfig,
  type TokenConfigOptions,
  type TokenEvents,
  TokenManager,
  toErrorResponse,
  type TokenPair,
} from '../../packages/tokenlib/src/index.js'
import { defineStore } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createClock, openToken, SECRET } from '../helpers/manager.js'
import { createRevocable, outcomeOf, settled } from '../helpers/revocable.js'

type Sessions = NonNullable<RevocationStore['sessions']>

const ADA = { uid: 'ada' }
const CLIENT = { ip: '192.0.2.7', userAgent: 'Browser' }

function create(options: TokenConfigOptions = {}, store?: (memory: RevocationStore) => RevocationStore) {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const { tokens } = createRevocable(options, { clock, store: store?.(memory) ?? memory })
  const revoked: TokenEvents['revoked'][] = []
  const rejected: TokenEvents['rejected'][] = []
  tokens.on('revoked', (event) => revoked.push(event))
  tokens.on('rejected', (event) => rejected.push(event))
  const logIn = (given: OpenSessionOptions = {}): Promise<TokenPair> => {
    clock.seconds++
    return tokens.sessions.open(ADA, given)
  }
  const countSessions = async (): Promise<number> => (await tokens.sessions.list('ada')).length
  return { tokens, clock, memory, revoked, rejected, logIn, countSessions }
}

const sidOf = ({ accessToken }: TokenPair): unknown => openToken(accessToken).claims['sid']

describe('endOldest', () => {
  test('a login that is one too many ends the oldest session', async () => {
    const { tokens, logIn, countSessions, revoked } = create()
    const first = await logIn({ maxSessions: 2 })
    const second = await logIn({ maxSessions: 2 })
    const third = await logIn({ maxSessions: 2, ...CLIENT })
    expect(await outcomeOf(tokens.verify(first.accessToken))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.sessions.refresh(first.refreshToken))).toBe('TOKEN_REVOKED')
    for (const pair of [second, third])
      expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('ok')
    expect(await countSessions()).toBe(2)
    expect(revoked).toEqual([
      {
        kind: 'session',
        id: sidOf(first),
        sub: 'ada',
        reason: 'limit',
        issuer: null,
        actor: null,
        note: null,
        ...CLIENT,
      },
    ])
  })

  test('each session that is ended is told once, oldest first', async () => {
    const { logIn, revoked } = create()
    const pairs: TokenPair[] = []
    for (let count = 0; count < 250; count++) pairs.push(await logIn())
    await logIn({ maxSessions: 3, whenFull: 'endOldest' })
    expect(revoked.map(({ id }) => id)).toEqual(pairs.slice(0, 248).map(sidOf))
  })

  test('the limit of the login decides, whatever others were opened with', async () => {
    const { logIn, countSessions } = create()
    for (let count = 0; count < 3; count++) await logIn({ maxSessions: 3 })
    await logIn({ maxSessions: 10 })
    expect(await countSessions()).toBe(4)
    await logIn()
    expect(await countSessions()).toBe(5)
    await logIn({ maxSessions: 1 })
    expect(await countSessions()).toBe(1)
  })

  test('a session that was not refreshed for too long does not count', async () => {
    const { clock, logIn, revoked } = create({ JWT_REFRESH_IDLE_EXPIRES: '30m' })
    await logIn()
    clock.seconds += 1801
    await logIn({ maxSessions: 1 })
    expect(revoked).toEqual([])
  })

  test('a replica of this process refuses the ended session at once', async () => {
    const memory = createMemoryStore()
    const store = replicate(memory, { bound: '5s' })
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const tokens = new TokenManager({ config, store })
    await tokens.ready()
    const first = await tokens.sessions.open(ADA)
    await tokens.verify(first.accessToken)
    await tokens.sessions.open(ADA, { maxSessions: 1 })
    expect(await outcomeOf(tokens.verify(first.accessToken))).toBe('TOKEN_REVOKED')
    await store.close()
  })
})

describe('refuse', () => {
  const limit = { maxSessions: 2, whenFull: 'refuse' } as const

  test('a login that is one too many is refused, and nothing else changes', async () => {
    const { tokens, logIn, countSessions, revoked, rejected } = create()
    const opened = [await logIn(limit), await logIn(limit)]
    const loggedIn = vi.fn()
    tokens.on('loggedIn', loggedIn)
    await expect(logIn(limit)).rejects.toMatchObject({ code: 'SESSION_LIMIT_REACHED', maxSessions: 2 })
    for (const { refreshToken } of opened)
      expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('ok')
    expect(await countSessions()).toBe(2)
    expect(revoked).toEqual([])
    expect(loggedIn).not.toHaveBeenCalled()
    expect(rejected).toEqual([
      {
        code: 'SESSION_LIMIT_REACHED',
        reason: 'Session limit reached',
        sub: 'ada',
        jti: null,
        sid: null,
        ip: null,
        userAgent: null,
      },
    ])
  })

  test('a logout makes room', async () => {
    const { tokens, logIn } = create()
    const first = await logIn(limit)
    await logIn(limit)
    await tokens.logout(await tokens.verify(first.accessToken))
    expect(await outcomeOf(logIn(limit))).toBe('ok')
  })

  test('is answered with 403, and asks for no other credentials', async () => {
    const { logIn } = create()
    await logIn({ maxSessions: 1 })
    const error: unknown = await logIn({ maxSessions: 1, whenFull: 'refuse' }).catch((thrown) => thrown)
    if (!isTokenError(error)) throw error
    expect(toErrorResponse(error)).toEqual({
      status: 403,
      headers: { 'cache-control': 'no-store' },
      body: {
        message: 'Session limit reached',
        error_type: 'SessionLimitError',
        code: 'SESSION_LIMIT_REACHED',
      },
    })
    expect(toErrorResponse(error, { messages: { SESSION_LIMIT_REACHED: 'Zu viele' } }).body['message']).toBe(
      'Zu viele',
    )
  })
})

describe('a limit that cannot be enforced is not ignored', () => {
  test.each([0, -1, 1001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5', null])(
    'maxSessions: %s',
    async (maxSessions) => {
      const { logIn, countSessions } = create()
      await expect(logIn({ maxSessions: maxSessions as number })).rejects.toThrow(/maxSessions/)
      await expect(logIn({ maxSessions: maxSessions as number })).rejects.toBeInstanceOf(TypeError)
      expect(await countSessions()).toBe(0)
    },
  )

  test.each([
    { maxSessions: 5, whenFull: 'endNewest' as never },
    { maxSessions: 5, whenFull: null as never },
    { whenFull: 'refuse' as const },
  ])('%j', async (given) => {
    const { logIn, countSessions } = create()
    const error: unknown = await logIn(given).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(TypeError)
    expect((error as Error).message).toContain('whenFull')
    expect(await countSessions()).toBe(0)
  })

  test('by a manager without a store, or with one that keeps no sessions', async () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
    const { sessions: _, ...store } = createMemoryStore()
    for (const revocation of [undefined, store]) {
      const tokens = new TokenManager({ config, store: revocation })
      const error: unknown = await tokens.sessions.open(ADA, { maxSessions: 5 }).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' })
      expect((error as Error).message).toContain('maxSessions')
    }
  })

  test('by a store that knows of no limit, which works without one', async () => {
    const { logIn, countSessions } = create({}, (memory) => {
      const { openLimited: _, ...sessions } = memory.sessions as Sessions
      return defineStore({ ...memory, sessions })
    })
    for (const whenFull of ['endOldest', 'refuse'] as const) {
      const error: unknown = await logIn({ maxSessions: 5, whenFull }).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'CONFIGURATION_INVALID' })
      expect((error as Error).message).toMatch(/maxSessions.*openLimited/)
    }
    expect(await countSessions()).toBe(0)
    await logIn()
    expect(await countSessions()).toBe(1)
  })

  test.each([
    undefined,
    {},
    { outcome: 'full' },
    { outcome: 'opened', sid: 'S', startedAt: 1 },
    { outcome: 'opened', sid: '', startedAt: 1, ended: [] },
    { outcome: 'opened', sid: 'S', startedAt: 1, ended: [''] },
    { outcome: 'ending', ended: [] },
    { outcome: 'ending' },
  ])('by a store that answers %j', async (answer) => {
    const { logIn, revoked } = create({}, (memory) => ({
      ...memory,
      sessions: { ...(memory.sessions as Sessions), openLimited: async () => answer as never },
    }))
    expect(await outcomeOf(logIn({ maxSessions: 5 }))).toBe('REVOCATION_UNAVAILABLE')
    expect(revoked).toEqual([])
  })
})

test('what a login has ended is told, even if the answer comes too late for it', async () => {
  let answerLate: () => void = () => undefined
  const late = new Promise<void>((resolve) => (answerLate = resolve))
  const { logIn, revoked } = create({ JWT_REVOCATION_TIMEOUT: '20ms' }, (memory) => {
    const sessions = memory.sessions as Required<Sessions>
    return {
      ...memory,
      sessions: {
        ...sessions,
        async openLimited(session, limit) {
          const answer = await sessions.openLimited(session, limit)
          await late
          return answer
        },
      },
    }
  })
  const first = await logIn()
  expect(await outcomeOf(logIn({ maxSessions: 1 }))).toBe('REVOCATION_UNAVAILABLE')
  answerLate()
  await settled()
  expect(revoked.map(({ id }) => id)).toEqual([sidOf(first)])
})
