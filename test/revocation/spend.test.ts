import { describe, expect, test } from 'vitest'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createObservers } from '../../packages/tokenlib/src/observer.js'
import { connectStore } from '../../packages/tokenlib/src/revocation/connect-store.js'
import { createClientReader } from '../../packages/tokenlib/src/revocation/session-client.js'
import { createSpentIds } from '../../packages/tokenlib/src/stores/memory/spent.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { schedulerOf } from '../../packages/tokenlib/src/time.js'
import { systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'
import { createClock, createTimedClock, NOW } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

const HOUR = 3_600_000

/** A connection to a memory store, some of whose members are replaced. */
function connect(parts: Partial<RevocationStore> = {}) {
  const clock = createTimedClock()
  const scheduler = schedulerOf(clock)
  const observers = createObservers(scheduler)
  const unavailable: string[] = []
  const connection = connectStore(
    { ...createMemoryStore({ clock }), ...parts },
    {
      now: clock,
      scheduler,
      observers,
      timeoutMs: 50,
      longestLifetime: HOUR,
      retentionMs: 0,
      idleMs: HOUR,
      graceMs: 0,
      dataSchema: null,
      random: systemRandom,
      clients: createClientReader(undefined),
      emit: (_name, create) => void unavailable.push((create() as { operation: string }).operation),
    },
  )
  return { clock, connection, observers, unavailable }
}

describe('a connection spends ids in its store', () => {
  test('once, until they expire', async () => {
    const { clock, connection, observers } = connect()
    const operations: string[] = []
    observers.add({ onStoreCall: ({ operation }) => void operations.push(operation) })
    expect(connection.canSpend).toBe(true)
    expect(await connection.spend('a', 1000)).toBe(true)
    expect(await connection.spend('a', 1000)).toBe(false)
    await clock.advance('1s')
    expect(await connection.spend('a', 1000)).toBe(true)
    expect(operations.filter((operation) => operation !== 'prepare')).toEqual(['spend', 'spend', 'spend'])
  })

  test.each<[string, NonNullable<RevocationStore['spend']>]>([
    [
      'throws',
      () => {
        throw new Error('ECONNREFUSED')
      },
    ],
    ['rejects', () => Promise.reject(new Error('ECONNREFUSED'))],
    ['hangs', () => new Promise(() => {})],
    ['answers nothing', async () => undefined as never],
    ['answers a number', async () => 1 as never],
    ['answers a text', async () => 'OK' as never],
    ['answers null', async () => null as never],
  ])('a store that %s is unavailable', async (_how, spend) => {
    const { clock, connection, unavailable } = connect({ spend })
    expect(await clock.runUntil(outcomeOf(connection.spend('a', 1000)))).toBe('REVOCATION_UNAVAILABLE')
    expect(unavailable).toEqual(['spend'])
  })

  test('a bad id or time is an error of the caller, not an outage', async () => {
    const { connection, unavailable } = connect()
    await expect(connection.spend('', 1000)).rejects.toThrow(TypeError)
    await expect(connection.spend('a', HOUR + 1)).rejects.toThrow(TypeError)
    expect(unavailable).toEqual([])
  })

  test.each([undefined, null, true])('a store whose spend is %s cannot', async (spend) => {
    const { connection } = connect({ spend: spend as never })
    expect(connection.canSpend).toBe(false)
    expect(await outcomeOf(connection.spend('a', 1000))).toBe('CONFIGURATION_INVALID')
  })

  test('nothing is spent after the connection is closed', async () => {
    const { connection } = connect()
    await connection.close()
    expect(await outcomeOf(connection.spend('a', 1000))).toBe('REVOCATION_UNAVAILABLE')
  })
})

describe('in memory', () => {
  test('ids that have expired are dropped as new ones come', () => {
    const clock = createClock()
    const ids = createSpentIds(clock)
    // Each id lives for 100 seconds, and one comes every second.
    for (let second = 0; second < 5000; second++) {
      clock.seconds = NOW + second
      ids.spend(`id ${second}`, 100_000)
    }
    clock.seconds += 100
    let kept = 0
    for (const dropped of ids.prune(Number.POSITIVE_INFINITY)) kept += dropped
    expect(kept).toBeGreaterThanOrEqual(100)
    expect(kept).toBeLessThan(150)
  })

  test('100,000 live ids are kept', () => {
    const ids = createSpentIds(createClock())
    for (let at = 0; at < 100_000; at++) ids.spend(`id ${at}`, HOUR)
    let isSpent = true
    for (let at = 0; at < 100_000; at++) isSpent &&= !ids.spend(`id ${at}`, HOUR)
    expect(isSpent).toBe(true)
  })

  test('a clock that is set ahead does not let an id be spent again', async () => {
    const clock = createTimedClock()
    const store = createMemoryStore({ clock })
    expect(await store.spend?.('a', 1000)).toBe(true)
    clock.seconds += 3600
    expect(await store.spend?.('a', 1000)).toBe(false)
  })

  test('a closed store rejects', async () => {
    const store = createMemoryStore()
    await store.close()
    await expect(store.spend?.('a', 1000)).rejects.toThrow('closed')
  })
})
