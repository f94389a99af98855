import { setImmediate as nextTurn } from 'node:timers/promises'
import { monotonicNow } from '../../time.js'

// Of the event loop, in milliseconds.
const SLICE = 2

/** Goes through steps of work and adds up what they tell; every few milliseconds, others have their turn. */
export async function sumInSlices(steps: Iterable<number>): Promise<number> {
  let sum = 0
  let startedAt = monotonicNow()
  for (const step of steps) {
    sum += step
    if (monotonicNow() - startedAt < SLICE) continue
    await nextTurn()
    startedAt = monotonicNow()
  }
  return sum
}
