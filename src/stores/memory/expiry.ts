import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock, monotonicNow } from '../../time.js'

type Ending = Map<string, { readonly until: number }>

/** Goes so many steps further, drops what has ended by `now`, at most `limit`, and returns how many went. */
export type Sweeper = (now: number, steps: number, limit?: number) => number

/** Walks a map a few steps at a time, for ever; `drop` removes a key and says whether it was there. */
export function createSweeper(map: Ending, drop = (key: string): boolean => map.delete(key)): Sweeper {
  let walk = map.entries()
  return (now, steps, limit = Number.POSITIVE_INFINITY) => {
    let dropped = 0
    for (let left = Math.min(steps, map.size); left > 0 && dropped < limit; left--) {
      let step = walk.next()
      if (step.done) {
        walk = map.entries()
        step = walk.next()
      }
      if (step.done) break
      const [key, { until }] = step.value
      if (now >= until && drop(key)) dropped++
    }
    return dropped
  }
}

const STEPS = 256

/** Walks a map once around and drops what has ended, at most `limit`; each step tells how many went. */
export function* pruneMap(map: Ending, sweep: Sweeper, now: Clock, limit: number): Iterable<number> {
  let left = limit
  for (let steps = map.size; steps > 0 && left > 0; steps -= STEPS) {
    const dropped = sweep(now(), Math.min(STEPS, steps), left)
    left -= dropped
    yield dropped
  }
}

// Of the event loop, in milliseconds.
const MAX_BLOCKING_MS = 2

/** Goes through steps of work and adds up what they tell; every few milliseconds, others have their turn. */
export async function runWithPauses(steps: Iterable<number>): Promise<number> {
  let sum = 0
  let startedAt = monotonicNow()
  for (const step of steps) {
    sum += step
    if (monotonicNow() - startedAt < MAX_BLOCKING_MS) continue
    await nextTurn()
    startedAt = monotonicNow()
  }
  return sum
}
