import { readCpu } from '../child.js'

// How many promises are waited for at a time, as many as a server with 32 connections has.
const AT_ONCE = 32

/**
 * Calls a function with one item after the other, until it has used this much CPU time. A call that returns nothing
 * is an error.
 *
 * @template Item
 * @param {(item: Item) => unknown} call
 * @param {() => readonly Item[]} nextBatch Makes the items; not measured.
 * @param {number} milliseconds
 * @returns {Promise<import('../figures.js').Sample>}
 */
export function sampleCalls(call, nextBatch, milliseconds) {
  return measureBatches(nextBatch, milliseconds, (items) => {
    for (const item of items) if (!call(item)) throw new Error('A call returned nothing')
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
  return measureBatches(nextBatch, milliseconds, async (items) => {
    for (let at = 0; at < items.length; at += AT_ONCE) {
      const results = await Promise.all(items.slice(at, at + AT_ONCE).map(call))
      if (!results.every(Boolean)) throw new Error('A call returned nothing')
    }
  })
}

// Reading the CPU time takes about as long as a call, so it is read once for many. A slow contestant is done after
// fewer than a batch.
async function measureBatches(nextBatch, milliseconds, callEach) {
  let [calls, used] = [0, 0]
  while (used < milliseconds * 1000) {
    const batch = nextBatch()
    const step = batch.length / 4
    for (let at = 0; at < batch.length && used < milliseconds * 1000; at += step) {
      const items = batch.slice(at, at + step)
      const before = readCpu()
      const running = callEach(items)
      if (running !== undefined) await running
      used += readCpu() - before
      calls += items.length
    }
  }
  return { used, calls }
}
