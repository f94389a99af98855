import { expect } from 'vitest'
import { handleErrors, inject } from '../../packages/tokenlib/src/frameworks/fetch.js'
import type { TokenManager, TokenPair, RevocationStore } from '../../packages/tokenlib/src/index.js'
import type { SessionStore } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createTimedClock, withBearer } from '../helpers/manager.js'
import { createRevocable, outcomeOf as readOutcome } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const clock = createTimedClock()

/** How a call ends, after as much time as it takes. */
const outcomeOf = (call: Promise<unknown>): Promise<string> => clock.runUntil(readOutcome(call))

const UNAVAILABLE = 'REVOCATION_UNAVAILABLE'
// For what never comes; whatever comes is waited for. In milliseconds.
const DEADLINE = 60

/** Rejections that wait until nobody expects them any more. */
const lateRejections: (() => void)[] = []

/** Ways not to answer. */
const FAULTS: Readonly<Record<string, () => unknown>> = {
  'throws at once': () => {
    throw new Error('ECONNREFUSED')
  },
  'throws nothing': () => {
    throw undefined
  },
  rejects: () => Promise.reject(new Error('ECONNRESET')),
  'rejects with a text': () => Promise.reject('READONLY'),
  hangs: () => new Promise(() => {}),
  'rejects too late': () =>
    new Promise((_resolve, reject) => {
      lateRejections.push(() => reject(new Error('too late')))
    }),
  'is a thenable that throws': () => ({
    then() {
      throw new Error('no promise')
    },
  }),
  'is a thenable that never calls back': () => ({ then: () => undefined }),
}

type Method = keyof RevocationStore | keyof SessionStore

/** A manager whose store has one method replaced, and a login from before that; `timeout` in milliseconds. */
async function createBroken(method: Method, fault: (...args: never[]) => unknown, timeout?: number) {
  const store = createMemoryStore({ clock })
  const healthy = createRevocable({}, { clock, store }).tokens
  const pair = await healthy.sessions.open({ uid: 'ada' })
  const sessions = { ...store.sessions!, ...(method in store.sessions! && { [method]: fault }) }
  const broken = { ...store, ...(method in store && { [method]: fault }), sessions } as RevocationStore
  const options = timeout === undefined ? {} : { JWT_REVOCATION_TIMEOUT: timeout / 1000 }
  const { tokens } = createRevocable(options, { clock, store: broken })
  return { tokens, healthy, pair }
}

/** What needs each method of a store. */
const CALLS: Readonly<Record<string, (tokens: TokenManager, pair: TokenPair) => Promise<unknown>>> = {
  lookup: (tokens, { accessToken }) => tokens.accessTokenRequired(withBearer(accessToken)),
  prepare: (tokens, { accessToken }) => tokens.verify(accessToken),
  revoke: (tokens) => tokens.revoke.user('ada'),
  rotate: (tokens, { refreshToken }) => tokens.sessions.refresh(refreshToken),
  open: (tokens) => tokens.sessions.open({ uid: 'ada' }),
  list: (tokens) => tokens.sessions.list('ada'),
  get: (tokens, { refreshToken }) => internalsOf(tokens).inspectToken(refreshToken),
}

/** Runs an attack, and counts the rejections that nobody took care of. */
async function withoutLooseEnds(run: () => Promise<void>): Promise<void> {
  const loose: unknown[] = []
  const note = (reason: unknown): void => void loose.push(reason)
  process.on('unhandledRejection', note)
  try {
    await run()
    for (const rejectNow of lateRejections.splice(0)) rejectNow()
    // Node reports an unhandled rejection before the next turn of the event loop.
    await new Promise(setImmediate)
  } finally {
    process.off('unhandledRejection', note)
  }
  expect(loose).toEqual([])
}

const fill = (value: unknown) => (keys: readonly unknown[]) => keys.map(() => value)

describeAttacks('a store that fails open (CWE-636, Observal #891, EcoTask #68, voidaccess #9)', () => {
  ownAttack('each method of a store, in each way not to answer', () =>
    withoutLooseEnds(async () => {
      const attempts = Object.entries(CALLS).flatMap(([method, call]) =>
        Object.entries(FAULTS).map(async ([name, fault]) => {
          const { tokens, healthy, pair } = await createBroken(method as Method, fault, DEADLINE)
          expect(await outcomeOf(call(healthy, pair)), method).toBe('ok')
          const again = await healthy.sessions.open({ uid: 'ada' })
          const events: string[] = []
          tokens.on('storeUnavailable', ({ operation }) => events.push(operation))
          expect(await outcomeOf(call(tokens, again)), `${method} ${name}`).toBe(UNAVAILABLE)
          // And once more, by a manager that has been ready for long.
          if (method !== 'prepare') await tokens.ready()
          expect(await outcomeOf(call(tokens, again)), `${method} ${name}, later`).toBe(UNAVAILABLE)
          expect(events, `${method} ${name}`).toHaveLength(2)
        }),
      )
      await Promise.all(attempts)
    }),
  )

  ownAttack('invalid answers to a check', async () => {
    const { tokens, pair } = await createBroken('lookup', fill(undefined))
    expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('ok')
    const answers: readonly ((keys: readonly unknown[]) => unknown)[] = [
      ...[undefined, null, false, true, 0, '', 'no', {}, [], new Set(), Symbol.iterator].map(
        (value) => () => value,
      ),
      ...[null, false, true, '', '0', Number.NaN, Infinity, -Infinity, {}, [], 0n].map(fill),
      (keys) => Array.from({ length: keys.length - 1 }, () => undefined),
      (keys) => Array.from({ length: keys.length + 1 }, () => undefined),
      // Holes, which read as undefined.
      (keys) => Object.assign([], { length: keys.length }),
      (keys) => ({ length: keys.length }),
      (keys) => ({ ...keys.map(() => undefined), length: keys.length }),
      (keys) => Object.create(keys.map(() => undefined)) as object,
      (keys) => [keys.map(() => undefined)],
    ]
    for (const [at, answer] of answers.entries()) {
      for (const given of [answer, async (keys: readonly unknown[]) => answer(keys)]) {
        const broken = await createBroken('lookup', given)
        expect(await outcomeOf(broken.tokens.verify(broken.pair.accessToken)), String(at)).toBe(UNAVAILABLE)
      }
    }
  })

  ownAttack('answers of a callback that are neither true nor false', () =>
    withoutLooseEnds(async () => {
      const { tokens, pair } = await createBroken('lookup', fill(undefined))
      const ask = (callback: () => unknown): Promise<string> => {
        tokens.setTokenBlocklist(callback as () => boolean)
        return outcomeOf(tokens.verify(pair.accessToken))
      }
      expect(await ask(() => false)).toBe('ok')
      expect(await ask(async () => false)).toBe('ok')
      expect(await ask(async () => true)).toBe('TOKEN_REVOKED')
      const values = [
        undefined,
        null,
        0,
        1,
        '',
        'false',
        'true',
        {},
        [],
        [false],
        Number.NaN,
        0n,
        Object(false),
        Symbol(),
      ]
      for (const value of [...values, () => false, new Map(), new Error('no')]) {
        expect(await ask(() => value), typeof value).toBe(UNAVAILABLE)
        expect(await ask(async () => value), typeof value).toBe(UNAVAILABLE)
      }
      const hasty = await createBroken('lookup', fill(undefined), DEADLINE)
      for (const [name, fault] of Object.entries(FAULTS)) {
        hasty.tokens.setTokenBlocklist(fault as () => boolean)
        expect(await outcomeOf(hasty.tokens.verify(hasty.pair.accessToken)), name).toBe(UNAVAILABLE)
      }
      // The first answer counts, and only once.
      type Settle = (value: unknown) => void
      const twice = (first: boolean) => ({
        then(resolve: Settle, reject: Settle) {
          resolve(first)
          resolve(!first)
          reject(new Error('both'))
        },
      })
      expect(await ask(() => twice(true))).toBe('TOKEN_REVOKED')
      expect(await ask(() => twice(false))).toBe('ok')
    }),
  )

  ownAttack('invalid answers to logins, refreshes and revocations', async () => {
    const state = { outcome: 'advanced', now: 1e12, movedAt: 1e12, expiresAt: 2e12 }
    const answers: Readonly<Record<string, readonly unknown[]>> = {
      rotate: [
        undefined,
        null,
        true,
        {},
        [],
        'advanced',
        { outcome: 'ADVANCED' },
        { outcome: 'advanced' },
        { ...state, outcome: 'current' },
        ...['now', 'movedAt', 'expiresAt'].flatMap((name) =>
          [undefined, null, '2e12', Number.NaN, Infinity].map((value) => ({ ...state, [name]: value })),
        ),
      ],
      open: [
        undefined,
        null,
        {},
        { sid: '', startedAt: 1 },
        { sid: 7, startedAt: 1 },
        { sid: 's' },
        [],
        'sid',
      ],
      revoke: [
        undefined,
        null,
        {},
        { position: 'x' },
        ...[Number.NaN, -1, 2 ** 60, 'x'].map((now) => ({ now })),
      ],
      list: [undefined, null, {}, 'x', [null], [{}], [{ sid: 7 }], { length: 0 }],
    }
    const good = await createBroken('rotate', async () => state)
    expect(await outcomeOf(good.tokens.sessions.refresh(good.pair.refreshToken))).toBe('ok')
    for (const [method, values] of Object.entries(answers)) {
      for (const [at, value] of values.entries()) {
        const { tokens, pair } = await createBroken(method as Method, async () => value)
        expect(await outcomeOf(CALLS[method]!(tokens, pair)), `${method} ${at}`).toBe(UNAVAILABLE)
      }
    }
  })

  ownAttack('a route behind a store that is down answers 503, runs nothing, and gives no hint', async () => {
    for (const fault of Object.values(FAULTS)) {
      const { tokens, healthy, pair } = await createBroken('lookup', fault, DEADLINE)
      let runs = 0
      const serve = (manager: TokenManager, token: string): Promise<Response> | Response =>
        handleErrors()(inject({ payload: manager.accessTokenOptional }, () => new Response(String(++runs))))(
          withBearer(token),
        )
      expect((await serve(healthy, pair.accessToken)).status).toBe(200)
      const answer = await clock.runUntil(Promise.resolve(serve(tokens, pair.accessToken)))
      expect([answer.status, answer.headers.get('retry-after'), runs]).toEqual([503, '1', 1])
      expect(await answer.text()).not.toMatch(/ECONN|READONLY|too late|promise/)
      // A bad token is a bad token all the same: the store is asked last.
      expect((await serve(tokens, `${pair.accessToken}x`)).status).toBe(401)
    }
  })
})
