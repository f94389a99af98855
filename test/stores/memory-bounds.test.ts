import { afterEach, describe, expect, test, vi } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, NOW } from '../helpers/manager.js'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.useRealTimers()
})

test('telemetry names the memory store "memory"', () => {
  expect(createMemoryStore().system).toBe('memory')
})

describe('in production', () => {
  test('the memory store refuses to be made, and says what to use instead', () => {
    vi.stubEnv('NODE_ENV', 'production')
    expect(() => createMemoryStore()).toThrow(/tokenlib\/sqlite/)
    expect(() => createMemoryStore({ allowInProduction: false })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
    )
  })

  test('it can be told that this is what is wanted', () => {
    vi.stubEnv('NODE_ENV', 'production')
    expect(() => createMemoryStore({ allowInProduction: true })).not.toThrow()
  })
})

const entry = (id: string, until: number) => ({ kind: 'token' as const, id, notBefore: FOREVER, until })

test('what is held stays bounded by what is alive, without anybody pruning', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  // Each entry lives for 100 seconds, and one comes every second.
  let most = 0
  for (let second = 0; second < 5000; second++) {
    clock.seconds = NOW + second
    await store.revoke([entry(`t${second}`, clock() + 100_000)])
    if (second % 500 === 499) most = Math.max(most, (await store.feed(null, { waitMs: 0 })).entries.length)
  }
  expect(most).toBeGreaterThanOrEqual(100)
  expect(most).toBeLessThan(200)
})

test('a store that is closed answers nothing', async () => {
  const store = createMemoryStore()
  const isRevoked = () => store.isRevokedNow?.([entry('a', 0)], 0)
  await store.revoke([entry('a', FOREVER)])
  await store.close()
  expect(isRevoked).toThrow(/closed/)
  await expect(store.lookup([entry('a', 0)])).rejects.toThrow(/closed/)
  await expect(store.revoke([])).rejects.toThrow(/closed/)
  await expect(store.prepare({ longestLifetime: 1 })).rejects.toThrow(/closed/)
  await expect(store.feed(null, { waitMs: 0 })).rejects.toThrow(/closed/)
})

test('a clock that jumps ahead and back drops nothing early', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const store = createMemoryStore()
  await store.prepare({ longestLifetime: 60_000 })
  const entries = Array.from({ length: 50 }, (_, at) => entry(`t${at}`, Date.now() + 60_000))
  await store.revoke(entries)
  vi.setSystemTime(Date.now() + 3_600_000)
  for (let write = 0; write < 50; write++) await store.revoke([entry('x', Date.now() + 60_000)])
  expect(await store.prune(1000)).toBe(0)
  vi.setSystemTime(Date.now() - 3_600_000)
  expect(new Set(await store.lookup(entries))).toEqual(new Set([FOREVER]))
})
