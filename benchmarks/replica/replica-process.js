import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { replicate } from 'tokenlib/replica'
import { readCpu, serveParent } from '../child.js'
import { now, openStore } from './stores.js'

/**
 * @typedef {object} ReplicaSetUp
 * @property {import('./stores.js').StorePlace} place
 * @property {string} bound
 * @property {boolean} [watchesTurns] Whether to read the CPU time of turns, which takes CPU time itself.
 */

/**
 * @typedef {object} StartFigures How a replica started.
 * @property {number} entries
 * @property {number} seconds From `prepare` to the first complete read.
 * @property {number} cpuSeconds Of all threads of the process.
 * @property {number} longestPause Of the event loop, in milliseconds.
 * @property {number | null} longestTurn The CPU time of the longest turn of the event loop, in milliseconds: the longest
 *   pause on a machine that has nothing else to do. Null where nobody has watched, or the system does not tell.
 * @property {number} bytes What it holds after a garbage collection.
 */

// One replica in a process of its own. Needs `--expose-gc`. Answers with the moments at which entries arrived, by id.
serveParent(async (/** @type {ReplicaSetUp} */ { place, bound, watchesTurns }) => {
  const arrivals = new Map()
  const { store } = openStore(place)
  const replica = replicate(store, { bound })
  const figures = await start(replica, watchesTurns === true)
  replica.replica.subscribe((entries) => {
    const at = now()
    for (const { kind, id } of entries) {
      if (!replica.isRevokedNow([{ kind, id }], 1)) throw new Error('An entry has arrived and is not refused')
      if (!arrivals.has(id)) arrivals.set(id, at)
    }
  })
  return { ready: figures, answer: () => arrivals }
})

/** @returns {Promise<StartFigures>} */
async function start(replica, watchesTurns) {
  const held = readHeld()
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const turns = watchesTurns ? watchTurns() : null
  const [from, cpu] = [performance.now(), readCpu()]
  delay.enable()
  await replica.prepare({ longestLifetime: 3_600_000 })
  await replica.replica.ready()
  delay.disable()
  const seconds = (performance.now() - from) / 1000
  const cpuSeconds = (readCpu() - cpu) / 1e6
  const longestTurn = turns?.stop() ?? null
  const { entries, isFresh } = replica.replica.readState()
  if (!isFresh) throw new Error('The replica is ready, and not fresh')
  // The histogram records the time between two ticks of a millisecond.
  const longestPause = delay.max / 1e6 - 1
  return { entries, seconds, cpuSeconds, longestPause, longestTurn, bytes: readHeld() - held }
}

// A timer of a millisecond runs once in each turn that is longer; what the thread has worked in between is the turn.
function watchTurns() {
  let longest = readThreadTime() === null ? null : 0
  let last = readThreadTime()
  let timer = setTimeout(tick, 1)
  function tick() {
    const time = readThreadTime()
    if (time !== null) longest = Math.max(longest, time - last)
    last = time
    timer = setTimeout(tick, 1)
  }
  return {
    stop() {
      clearTimeout(timer)
      return longest
    },
  }
}

/** The CPU time of this thread in milliseconds, which Linux tells; null elsewhere. */
function readThreadTime() {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6
  } catch {
    return null
  }
}

function readHeld() {
  // What the first one finds is freed by the second at the latest.
  globalThis.gc()
  globalThis.gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
