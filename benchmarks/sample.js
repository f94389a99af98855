import { percentile } from './statistics.js'

// How many calls there are between two looks at the clock; promises are waited for that many at a time, as many as a
// server with 32 connections has. One after the other, Web Crypto would mostly wait.
const AT_ONCE = 32

/**
 * Calls a function with one item after the other for a while, and counts. A call that comes to nothing is an error.
 *
 * @template Item
 * @param {(item: Item) => unknown} call
 * @param {() => readonly Item[]} nextBatch Makes the items; not timed.
 * @param {number} milliseconds
 * @returns {Promise<import('./group.js').Sample>}
 */
export function sampleCalls(call, nextBatch, milliseconds) {
  return countCalls(nextBatch, milliseconds, (items) => {
    for (const item of items) if (!call(item)) throw new Error('A call came to nothing')
  })
}

/**
 * The same for a function that returns a promise, many at a time.
 *
 * @template Item
 * @param {(item: Item) => Promise<unknown>} call
 * @param {() => readonly Item[]} nextBatch
 * @param {number} milliseconds
 */
export function samplePromises(call, nextBatch, milliseconds) {
  return countCalls(nextBatch, milliseconds, async (items) => {
    const results = await Promise.all(items.map(call))
    if (!results.every(Boolean)) throw new Error('A call came to nothing')
  })
}

/**
 * The same one after the other, as the checks of a request are.
 *
 * @template Item
 * @param {(item: Item) => Promise<unknown>} call
 * @param {() => readonly Item[]} nextBatch
 * @param {number} milliseconds
 */
export function sampleInTurn(call, nextBatch, milliseconds) {
  return countCalls(nextBatch, milliseconds, async (items) => {
    for (const item of items) if (!(await call(item))) throw new Error('A call came to nothing')
  })
}

/**
 * How long single calls take, in milliseconds.
 *
 * @template Item
 * @param {(item: Item) => Promise<unknown>} call
 * @param {() => readonly Item[]} nextBatch
 * @param {number} count
 */
export async function sampleLatency(call, nextBatch, count) {
  const times = []
  while (times.length < count) {
    for (const item of nextBatch()) {
      const start = performance.now()
      await call(item)
      times.push(performance.now() - start)
    }
  }
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) }
}

async function countCalls(nextBatch, milliseconds, callEach) {
  let calls = 0
  let elapsed = 0
  while (elapsed < milliseconds) {
    const batch = nextBatch()
    // Sliced outside of the clock, and no more than there is time for: a slow contestant is done after a few.
    for (let at = 0; at < batch.length && elapsed < milliseconds; at += AT_ONCE) {
      const items = batch.slice(at, at + AT_ONCE)
      const start = performance.now()
      const running = callEach(items)
      if (running !== undefined) await running
      elapsed += performance.now() - start
      calls += items.length
    }
  }
  return { perSecond: (calls / elapsed) * 1000 }
}
