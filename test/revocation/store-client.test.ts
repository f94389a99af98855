import { createHmac } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  type RevocationStore,
  type TokenConfigOptions,
  type TokenEvents,
} from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createTimedClock, NOW, SECRET } from '../helpers/manager.js'
import { createRevocable, outcomeOf as readOutcome } from '../helpers/revocable.js'

const never = new Promise<never>(() => {})

let clock: ReturnType<typeof createTimedClock>
beforeEach(() => void (clock = createTimedClock()))

/** How a call ends, after as much time as it takes. */
const outcomeOf = (call: Promise<unknown>): Promise<string> => clock.runUntil(readOutcome(call))

/** A manager whose store can be made to fail: `break` replaces methods, `mend` brings them back. */
function createBreakable(options: TokenConfigOptions = {}) {
  const memory = createMemoryStore({ clock })
  let broken: Partial<RevocationStore> = {}
  const calls: string[] = []
  const store = new Proxy(memory, {
    get(target, name: keyof RevocationStore) {
      const member = broken[name] ?? target[name]
      if (typeof member !== 'function') return member
      return (...given: never[]) => {
        calls.push(name)
        return (member as (...given: never[]) => unknown)(...given)
      }
    },
  })
  const { tokens } = createRevocable({ JWT_REVOCATION_TIMEOUT: '20ms', ...options }, { clock, store })
  const unavailable: TokenEvents['storeUnavailable'][] = []
  tokens.on('storeUnavailable', (event) => unavailable.push(event))
  return {
    tokens,
    calls,
    unavailable,
    break: (parts: Partial<RevocationStore>) => void (broken = parts),
    mend: () => void (broken = {}),
  }
}

const failing = (): never => {
  throw new Error('ECONNREFUSED')
}

describe('a store that does not answer refuses the request', () => {
  test.each<[string, Partial<RevocationStore>]>([
    ['throws', { lookup: failing }],
    ['rejects', { lookup: async () => failing() }],
    ['rejects with nothing', { lookup: () => Promise.reject() }],
    ['hangs', { lookup: () => never }],
    ['answers nothing', { lookup: () => undefined as never }],
    ['answers too little', { lookup: async () => [] }],
    ['answers false', { lookup: (keys) => keys.map(() => false) as never }],
    ['answers null', { lookup: async (keys) => keys.map(() => null) as never }],
    ['answers NaN', { lookup: async (keys) => keys.map(() => Number.NaN) }],
    ['answers with holes', { lookup: async (keys) => Object.assign([], { length: keys.length }) }],
    ['answers a text', { lookup: () => 'no' as never }],
  ])('one that %s', async (_how, parts) => {
    const { tokens, break: breakStore, mend, unavailable } = createBreakable()
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    breakStore(parts)
    expect(await outcomeOf(tokens.verify(token))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable.map(({ operation }) => operation)).toEqual(['lookup'])
    mend()
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  })

  test.each<[string, Partial<RevocationStore>]>([
    ['throws', { revoke: failing }],
    ['rejects', { revoke: async () => failing() }],
    ['hangs', { revoke: () => never }],
    ['answers nothing', { revoke: async () => undefined as never }],
  ])('a revocation that %s is not acknowledged, and may be repeated', async (_how, parts) => {
    const { tokens, break: breakStore, mend } = createBreakable()
    const revoked: TokenEvents['revoked'][] = []
    tokens.on('revoked', (event) => revoked.push(event))
    const payload = await tokens.verify((await tokens.sessions.open({ uid: 'ada' })).accessToken)
    breakStore(parts)
    for (const call of [
      () => tokens.logout(payload),
      () => tokens.revoke.token(payload),
      () => tokens.revoke.user('ada'),
      () => tokens.revoke.all(),
      () => tokens.revoke.key('k'),
    ]) {
      expect(await outcomeOf(call())).toBe('REVOCATION_UNAVAILABLE')
    }
    expect(revoked).toEqual([])
    mend()
    expect(await outcomeOf(tokens.logout(payload))).toBe('ok')
    expect(revoked).toEqual([
      {
        kind: 'session',
        id: payload.sid,
        sub: 'ada',
        reason: 'requested',
        issuer: null,
        actor: null,
        note: null,
        ip: null,
        userAgent: null,
      },
    ])
  })

  test.each([
    ['throws', failing],
    ['hangs', () => never],
    ['answers nothing', async () => undefined as never],
    [
      'answers another generation',
      async () => ({ outcome: 'rotated', generation: 7, expiresAt: 1 }) as never,
    ],
    [
      'answers an outcome of its own',
      async () => ({ outcome: 'fine', generation: 1, expiresAt: 1 }) as never,
    ],
    ['forgets the generation', async () => ({ outcome: 'rotated', expiresAt: 1 }) as never],
  ])('a rotation that %s issues nothing', async (_how, rotate) => {
    const { tokens, break: breakStore, mend } = createBreakable()
    const { refreshToken } = await tokens.sessions.open({ uid: 'ada' })
    const issued: unknown[] = []
    tokens.on('issued', (event) => issued.push(event))
    breakStore({ sessions: { open: failing, list: failing, get: failing, present: failing, rotate } })
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.sessions.open({ uid: 'ada' }))).toBe('REVOCATION_UNAVAILABLE')
    expect(await outcomeOf(tokens.sessions.list('ada'))).toBe('REVOCATION_UNAVAILABLE')
    expect(issued).toEqual([])
    mend()
    expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('ok')
  })
})

test.each([
  ['open', { sid: '' }],
  ['open', {}],
  ['open', undefined],
  ['list', undefined],
  ['list', [{}]],
])('%s that answers %j is not believed', async (name, answer) => {
  const { tokens, break: breakStore } = createBreakable()
  const lying = async () => answer as never
  breakStore({ sessions: { open: lying, list: lying, get: lying, present: lying, rotate: lying } })
  const call = name === 'open' ? tokens.sessions.open({ uid: 'ada' }) : tokens.sessions.list('ada')
  expect(await outcomeOf(call)).toBe('REVOCATION_UNAVAILABLE')
})

test('a thenable is asked once', async () => {
  const { tokens, break: breakStore } = createBreakable()
  let asked = 0
  breakStore({
    lookup: (keys) =>
      ({
        then(resolve: (answer: unknown) => void) {
          asked++
          resolve(keys.map(() => undefined))
        },
      }) as never,
  })
  expect(await outcomeOf(tokens.verify(tokens.createAccessToken({ uid: 'ada' })))).toBe('ok')
  expect(asked).toBe(1)
})

describe('preparing', () => {
  test('a store is prepared once, before it is first asked', async () => {
    const { tokens, calls } = createBreakable()
    const token = tokens.createAccessToken({ uid: 'ada' })
    await Promise.all([tokens.verify(token), tokens.verify(token), tokens.ready()])
    await tokens.verify(token)
    expect(calls).toEqual(['prepare', 'lookup', 'lookup', 'lookup'])
  })

  test('a store that is not fit refuses everything, and ready() says why', async () => {
    const { tokens, break: breakStore, mend } = createBreakable()
    breakStore({ prepare: () => Promise.reject(new ConfigurationError('appendonly is off')) })
    await expect(tokens.ready()).rejects.toThrow(new ConfigurationError('appendonly is off'))
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(token))).toBe('REVOCATION_UNAVAILABLE')
    mend()
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    await tokens.ready()
  })

  test('a store that hangs while it is prepared is tried again', async () => {
    const { tokens, break: breakStore, mend } = createBreakable()
    breakStore({ prepare: () => never })
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(token))).toBe('REVOCATION_UNAVAILABLE')
    mend()
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  })

  test('ready() waits for a store that is late, and gives up on one that does not come', async () => {
    const { tokens, calls, break: breakStore, mend, unavailable } = createBreakable()
    breakStore({ prepare: () => Promise.reject(new Error('ECONNREFUSED')) })
    const waiting = tokens.ready()
    await clock.advance('1s')
    expect(calls.filter((name) => name === 'prepare').length).toBeGreaterThan(5)
    mend()
    await clock.runUntil(waiting)
    expect(unavailable).toEqual([])
    const other = createBreakable()
    other.break({ prepare: () => never })
    const startedAt = clock()
    expect(await outcomeOf(other.tokens.ready())).toBe('REVOCATION_UNAVAILABLE')
    expect(clock() - startedAt).toBeGreaterThanOrEqual(5000)
    expect(other.unavailable).toMatchObject([{ operation: 'prepare' }])
  })

  test('a store that is slow to prepare is ready all the same, and known to be', async () => {
    const { tokens, break: breakStore } = createBreakable()
    const slowly = (): Promise<void> => new Promise((resolve) => void clock.scheduler.setTimeout(resolve, 60))
    breakStore({ prepare: slowly })
    await clock.runUntil(tokens.ready())
    const token = tokens.createAccessToken({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
    // A longer lifetime that takes its time holds up nobody else.
    tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '400d' })
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  })

  test('a token that lives longer than any before is told to the store before it is asked', async () => {
    const { tokens, calls, break: breakStore } = createBreakable()
    await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
    calls.length = 0
    const long = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '400d' })
    await tokens.verify(long)
    await tokens.verify(long)
    expect(calls).toEqual(['prepare', 'lookup', 'lookup'])
    breakStore({ prepare: () => Promise.reject(new Error('gone')) })
    const longer = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: '500d' })
    expect(await outcomeOf(tokens.verify(longer))).toBe('REVOCATION_UNAVAILABLE')
  })
})

describe('while a store is gone', () => {
  test('questions do not pile up without bound, and it recovers by itself', async () => {
    const { tokens, calls, break: breakStore, mend } = createBreakable({ JWT_REVOCATION_TIMEOUT: '5ms' })
    const token = tokens.createAccessToken({ uid: 'ada' })
    await tokens.verify(token)
    // A client that has lost its connection may never settle what it was asked.
    breakStore({ lookup: () => never })
    calls.length = 0
    for (let round = 0; round < 6; round++) {
      const asked = Array.from({ length: 200 }, () => readOutcome(tokens.verify(token)))
      const outcomes = await clock.runUntil(Promise.all(asked))
      expect(new Set(outcomes)).toEqual(new Set(['REVOCATION_UNAVAILABLE']))
    }
    expect(calls.length).toBeLessThan(500)
    mend()
    await clock.advance('1s')
    expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  })

  test('many questions at once are no sign of that', async () => {
    const { tokens, break: breakStore } = createBreakable({ JWT_REVOCATION_TIMEOUT: '10s' })
    const token = tokens.createAccessToken({ uid: 'ada' })
    await tokens.verify(token)
    breakStore({ lookup: async (keys) => keys.map(() => undefined) })
    const asked = Array.from({ length: 1000 }, () => readOutcome(tokens.verify(token)))
    const outcomes = await Promise.all(asked)
    expect(new Set(outcomes)).toEqual(new Set(['ok']))
  })
})

test('an answer that comes too late changes nothing', async () => {
  const { tokens, break: breakStore, unavailable } = createBreakable()
  const token = tokens.createAccessToken({ uid: 'ada' })
  await tokens.verify(token)
  let fail: (reason: Error) => void = () => {}
  breakStore({ lookup: () => new Promise<never>((_resolve, reject) => (fail = reject)) })
  expect(await outcomeOf(tokens.verify(token))).toBe('REVOCATION_UNAVAILABLE')
  fail(new Error('too late, and nobody listens'))
  await new Promise(setImmediate)
  expect(unavailable).toHaveLength(1)
})

test('a store is prepared before it is asked, also about a token that expires before it begins', async () => {
  const { tokens, calls } = createBreakable({ JWT_DECODE_LEEWAY: '1h' })
  // Within the leeway both ways, so it verifies; from its start to its end is less than no time.
  const token = forgeClaims({ sub: 'ada', type: 'access', iat: NOW + 3500, exp: NOW - 3500 })
  expect(await outcomeOf(tokens.verify(token))).toBe('ok')
  expect(calls).toEqual(['prepare', 'lookup'])
})

function forgeClaims(claims: object): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const input = `${encode({ alg: 'HS256' })}.${encode(claims)}`
  return `${input}.${createHmac('sha256', SECRET).update(input).digest('base64url')}`
}
