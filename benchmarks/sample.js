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
 * @param {number} [atOnce]
 * @returns {Promise<import('./group.js').Sample>}
 */
export async function samplePromises(call, nextBatch, milliseconds, atOnce = AT_ONCE) {
  let calls = 0
  let elapsed = 0
  while (elapsed < milliseconds) {
    const batch = nextBatch()
    const start = performance.now()
    for (let at = 0; at < batch.length; at += atOnce) {
      const results = await Promise.all(batch.slice(at, at + atOnce).map(call))
      if (!results.every(Boolean)) throw new Error('A call came to nothing')
    }
    elapsed += performance.now() - start
    calls += batch.length
  }
  return { perSecond: (calls / elapsed) * 1000 }
}
