import { afterEach, expect, test, vi } from 'vitest'
import { nextTurn, sleep, startTimer } from '../packages/tokenlib/src/runtime.js'
import { TokenConfig, TokenManager } from '../packages/tokenlib/src/index.js'
import { defineStore } from '../packages/tokenlib/src/revocation/store.js'
import { createMemoryStore } from '../packages/tokenlib/src/stores/memory.js'
import { createVirtualClock } from '../packages/tokenlib/src/testing/clocks.js'
import { systemScheduler } from '../packages/tokenlib/src/time.js'
import { createManager, SECRET } from './helpers/manager.js'

afterEach(() => vi.unstubAllGlobals())

// Workers before the compatibility dates of 2026, and browsers.
function makeTimersNumbers(): void {
  const { setTimeout, clearTimeout } = globalThis
  const timers = new Map<number, NodeJS.Timeout>()
  vi.stubGlobal('setTimeout', (callback: () => void, milliseconds?: number) => {
    timers.set(timers.size + 1, setTimeout(callback, milliseconds))
    return timers.size
  })
  vi.stubGlobal('clearTimeout', (timer: number) => clearTimeout(timers.get(timer)))
}

const never = (): Promise<never> => new Promise(() => {})

test('a callback that does not answer is refused by the deadline also where timers are numbers', async () => {
  makeTimersNumbers()
  const { tokens } = createManager({ JWT_REVOCATION_TIMEOUT: '5ms' })
  tokens.setTokenBlocklist(never)
  await expect(tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).rejects.toMatchObject({
    code: 'REVOCATION_UNAVAILABLE',
  })
})

test('so is a store that does not answer', async () => {
  makeTimersNumbers()
  const { isRevokedNow: _, ...store } = createMemoryStore()
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_REVOCATION_TIMEOUT: '5ms' })
  const tokens = new TokenManager({ config, store: defineStore({ ...store, lookup: never }) })
  await tokens.ready()
  await expect(tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).rejects.toMatchObject({
    code: 'REVOCATION_UNAVAILABLE',
  })
})

test('a timer that was started calls back, whatever the timers of the runtime are', async () => {
  const started = (): Promise<string> =>
    new Promise((resolve) => startTimer(systemScheduler, () => resolve('called'), 1))
  expect(await started()).toBe('called')
  makeTimersNumbers()
  expect(await started()).toBe('called')
})

test('a timer that was started does not keep the process alive', () => {
  const timer = startTimer(systemScheduler, () => {}, 1000)
  expect((timer as NodeJS.Timeout).hasRef()).toBe(false)
  systemScheduler.clearTimeout(timer)
})

test('sleep resolves, and is ended by its signal', async () => {
  const { scheduler, advance } = createVirtualClock()
  const alone = sleep(scheduler, 60_000)
  const withSignal = sleep(scheduler, 60_000, new AbortController().signal)
  await advance('60s')
  await expect(Promise.all([alone, withSignal])).resolves.toEqual([undefined, undefined])
  await expect(sleep(scheduler, 60_000, AbortSignal.abort(new Error('before')))).rejects.toThrow('before')
  const controller = new AbortController()
  const asleep = sleep(scheduler, 60_000, controller.signal)
  controller.abort(new Error('meanwhile'))
  await expect(asleep).rejects.toThrow('meanwhile')
})

test('what is ready has its turn before nextTurn resolves', async () => {
  let hadTurn = false
  setImmediate(() => (hadTurn = true))
  await nextTurn()
  expect(hadTurn).toBe(true)
})
