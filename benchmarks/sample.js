import { percentile } from './statistics.js'

// As many at a time as a server with 32 connections has: one after the other, Web Crypto would mostly wait.
const AT_ONCE = 32

/**
 * Calls a function with one item after the other for a while, and counts. A call that comes to nothing is an error.
 *
 * @template Item
 * @param {(item: Item) => unknown} call
 * @param {() => readonly Item[]} nextBatch Makes the items; not timed.
 * @param {number} milliseconds
 * @returns {import('./group.js').Sample}
 */
export function sampleCalls(call, nextBatch, milliseconds) {
  let calls = 0
  let elapsed = 0
  while (elapsed < milliseconds) {
    const batch = nextBatch()
    const start = performance.now()
    for (const item of batch) if (!call(item)) throw new Error('A call came to nothing')
    elapsed += performance.now() - start
    calls += batch.length
  }
  return { perSecond: (calls / elapsed) * 1000 }
}

/**
 * The same for a function that returns a promise, many at a time.
 *
 * @template Item
 * @param {(item: Item) => Promise<unknown>} call
 * @param {() => readonly Item[]} nextBatch
 * @param {number} milliseconds
 * @returns {Promise<import('./group.js').Sample>}
 */
export async function samplePromises(call, nextBatch, milliseconds) {
  let calls = 0
  let elapsed = 0
  while (elapsed < milliseconds) {
    const batch = nextBatch()
    const start = performance.now()
    for (let at = 0; at < batch.length; at += AT_ONCE) {
      const results = await Promise.all(batch.slice(at, at + AT_ONCE).map(call))
      if (!results.every(Boolean)) throw new Error('A call came to nothing')
    }
    elapsed += performance.now() - start
    calls += batch.length
  }
  return { perSecond: (calls / elapsed) * 1000 }
}

/**
 * The same one after the other, as the checks of a request are.
 *
 * @template Item
 * @param {(item: Item) => Promise<unknown>} call
 * @param {() => readonly Item[]} nextBatch
 * @param {number} milliseconds
 * @returns {Promise<import('./group.js').Sample>}
 */
export async function sampleInTurn(call, nextBatch, milliseconds) {
  let calls = 0
  let elapsed = 0
  while (elapsed < milliseconds) {
    const batch = nextBatch()
    const start = performance.now()
    for (const item of batch) if (!(await call(item))) throw new Error('A call came to nothing')
    elapsed += performance.now() - start
    calls += batch.length
  }
  return { perSecond: (calls / elapsed) * 1000 }
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
