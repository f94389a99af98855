import { monitorEventLoopDelay } from 'node:perf_hooks'
import { replicate } from '../../dist/stores/replica.js'
import { serveParent } from '../child.js'
import { now, openStore } from './stores.js'

/**
 * @typedef {object} ReplicaSetUp
 * @property {import('./stores.js').StorePlace} place
 * @property {string} bound
 */

/**
 * @typedef {object} StartFigures How a replica started.
 * @property {number} entries
 * @property {number} milliseconds From `prepare` to the first complete read.
 * @property {number} longestPause Of the event loop, in milliseconds.
 * @property {number} bytes What it holds after a garbage collection.
 */

// One replica in a process of its own. Needs `--expose-gc`.
serveParent(async (/** @type {ReplicaSetUp} */ { place, bound }) => {
  const arrivals = new Map()
  const { store, close } = await openStore(place)
  const replica = replicate(store, { bound })
  const figures = await start(replica)
  replica.replica.subscribe((entries) => {
    const at = now()
    for (const { kind, id } of entries) {
      if (!replica.createLookup([{ kind, id }], 1)()) throw new Error('An entry arrived and is not refused')
      if (!arrivals.has(id)) arrivals.set(id, at)
    }
  })
  return {
    ready: figures,
    async answer(question) {
      if (question === 'arrivals') return arrivals
      await replica.close()
      await close()
      return null
    },
  }
})

/** @returns {Promise<StartFigures>} */
async function start(replica) {
  const before = readHeld()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const from = performance.now()
  await replica.prepare({ longestLifetime: 3_600_000 })
  await replica.replica.ready()
  const milliseconds = performance.now() - from
  delay.disable()
  const { entries, isFresh } = replica.replica.readState()
  if (!isFresh) throw new Error('The replica is ready, and not fresh')
  // What the histogram records is the time between two ticks of one millisecond.
  return { entries, milliseconds, longestPause: delay.max / 1e6 - 1, bytes: readHeld() - before }
}

function readHeld() {
  globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
