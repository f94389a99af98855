import { describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../packages/tokenlib/src/stores/replica.js'
import { createFrozenClock, createVirtualClock } from '../packages/tokenlib/src/testing/test-tokens.js'
import { type Clock, schedulerOf, systemScheduler } from '../packages/tokenlib/src/time.js'
import { SECRET } from './helpers/manager.js'

const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
const { monotonicNow, setTimeout, clearTimeout } = systemScheduler
const withScheduler = (scheduler: unknown): Clock => Object.assign(() => Date.now(), { scheduler }) as Clock

describe('a scheduler that is not complete is refused where it is passed', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a function', () => 0],
    ['no monotonicNow', { setTimeout, clearTimeout }],
    ['no setTimeout', { monotonicNow, clearTimeout }],
    ['no clearTimeout', { monotonicNow, setTimeout }],
  ])('%s', (_, scheduler) => {
    const clock = withScheduler(scheduler)
    expect(() => new TokenManager({ config, clock })).toThrow(TypeError)
    expect(() => createMemoryStore({ clock })).toThrow(TypeError)
    expect(() => replicate(createMemoryStore(), { clock: clock as never })).toThrow(TypeError)
  })
})

test('a replica takes no clock without a scheduler: its bound is proved with both', () => {
  const clock = createFrozenClock()
  expect(() => replicate(createMemoryStore({ clock }), { clock: clock as never })).toThrow(TypeError)
})

test('the methods of a class are called as such', async () => {
  const virtual = createVirtualClock()
  class Inherited {
    readonly #own = virtual.scheduler
    monotonicNow(): number {
      return this.#own.monotonicNow()
    }
    setTimeout(callback: () => void, milliseconds: number) {
      return this.#own.setTimeout(callback, milliseconds)
    }
    clearTimeout(timer: never): void {
      this.#own.clearTimeout(timer)
    }
  }
  const {
    monotonicNow: now,
    setTimeout: start,
    clearTimeout: stop,
  } = schedulerOf(withScheduler(new Inherited()))
  const done: number[] = []
  start(() => done.push(now()), 10)
  stop(start(() => done.push(-1), 5))
  await virtual.advance('10ms')
  expect(done).toEqual([10])
})
