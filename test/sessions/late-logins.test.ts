import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { OpenSessionOptions, RevocationStore } from '../../packages/tokenlib/src/index.js'
import type { SessionStore } from '../../packages/tokenlib/src/revocation/session-store.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createClock } from '../helpers/manager.js'
import { createRevocable, outcomeOf, settled } from '../helpers/revocable.js'

const ADA = { uid: 'ada' }
const LIST = { limit: 1000, before: null, idleMs: Number.MAX_SAFE_INTEGER }

/** A manager that does not wait for long, and a store whose answers to logins can be held back. */
function create() {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  const sessions = memory.sessions as Required<SessionStore>
  let held: Promise<void> | null = null
  let release = (): void => undefined
  const calls: string[] = []
  const store: RevocationStore = {
    ...memory,
    sessions: {
      ...sessions,
      async open(session) {
        calls.push('open')
        const answer = await sessions.open(session)
        await held
        return answer
      },
      async openLimited(session, ...given) {
        calls.push('openLimited')
        const answer = await sessions.openLimited(session, ...given)
        await held
        return answer
      },
    },
  }
  const { tokens } = createRevocable({ JWT_REVOCATION_TIMEOUT: '40ms' }, { clock, store })
  return {
    clock,
    tokens,
    store,
    calls,
    logIn: (options: OpenSessionOptions = {}) => outcomeOf(tokens.sessions.open(ADA, options)),
    readLive: async () => (await sessions.list('ada', LIST)).map(({ sid }) => sid),
    hold: () => void (held = new Promise((resolve) => (release = resolve))),
    release: () => {
      held = null
      release()
    },
  }
}

describe('a session that is opened too late for its login is revoked', () => {
  test.each<[string, OpenSessionOptions]>([
    ['without a limit', {}],
    ['with a limit', { maxSessions: 2 }],
    ['with a limit that refuses', { maxSessions: 2, whenFull: 'refuse' }],
  ])('%s', async (_, options) => {
    const { tokens, logIn, readLive, hold, release } = create()
    await logIn()
    const before = await readLive()
    const events: string[] = []
    tokens.on('revoked', ({ reason }) => events.push(reason))
    hold()
    expect(await logIn(options)).toBe('REVOCATION_UNAVAILABLE')
    expect(await readLive()).toHaveLength(2)
    release()
    await settled()
    expect(await readLive()).toEqual(before)
    // Nobody was told that it was opened.
    expect(events).toEqual([])
  })

  test('and a store that fails to do so is an outage like any other', async () => {
    const { tokens, store, logIn, hold, release } = create()
    await logIn()
    store.revoke = () => Promise.reject(new Error('connection lost'))
    const operations: string[] = []
    tokens.on('storeUnavailable', ({ operation }) => operations.push(operation))
    hold()
    await logIn()
    release()
    await settled()
    expect(operations).toEqual(['open', 'revoke'])
  })

  test('and a clock that fails by then leaves no rejection unhandled', async () => {
    const { clock, logIn, hold, release } = create()
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    hold()
    await logIn()
    clock.seconds = Number.NaN
    release()
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    expect(unhandled).toEqual([])
  })
})

describe('a login that may end sessions', () => {
  const limit = { maxSessions: 1 }

  test('waits for another one of the same user, and asks for nothing if that takes too long', async () => {
    const { tokens, logIn, calls, hold, release } = create()
    await tokens.ready()
    hold()
    const first = Promise.all([logIn(limit), logIn(limit), logIn(limit)])
    expect(await first).toEqual(Array<string>(3).fill('REVOCATION_UNAVAILABLE'))
    release()
    expect(await logIn(limit)).toBe('ok')
    expect(calls).toEqual(['openLimited', 'openLimited'])
  })

  test('does not wait for a call that is never answered, once its login is refused', async () => {
    const { logIn, calls, hold } = create()
    hold()
    for (let count = 0; count < 3; count++) expect(await logIn(limit)).toBe('REVOCATION_UNAVAILABLE')
    expect(calls).toHaveLength(3)
  })

  test('does not wait for other users, nor for logins that end nothing', async () => {
    const { tokens, logIn, calls, hold } = create()
    await tokens.ready()
    hold()
    await Promise.all([
      logIn(limit),
      logIn(),
      logIn({ ...limit, whenFull: 'refuse' }),
      outcomeOf(tokens.sessions.open({ uid: 'bob' }, limit)),
    ])
    expect(calls.toSorted()).toEqual(['open', 'openLimited', 'openLimited', 'openLimited'])
  })
})

test.each(['the store', 'a replica of it'])('%s learns that a login has no time left', async (kind) => {
  const { store, hold, release } = create()
  const sessions = store.sessions as Required<SessionStore>
  const signals: (AbortSignal | undefined)[] = []
  const openLimited: typeof sessions.openLimited = (session, limit, options) => {
    signals.push(options?.signal)
    return sessions.openLimited(session, limit, options)
  }
  const watched = { ...store, sessions: { ...sessions, openLimited } }
  const used = kind === 'the store' ? watched : replicate(watched, { bound: '5s' })
  const { tokens } = createRevocable({ JWT_REVOCATION_TIMEOUT: '40ms' }, { store: used })
  await tokens.ready()
  hold()
  expect(await outcomeOf(tokens.sessions.open(ADA, { maxSessions: 1 }))).toBe('REVOCATION_UNAVAILABLE')
  expect(signals.map((signal) => signal?.aborted)).toEqual([true])
  release()
  await used.close()
})
