import { setTimeout as sleep } from 'node:timers/promises'
import { replicate } from 'tokenlib/replica'
import { readCpu, serveParent } from '../child.js'
import { openStore } from '../replica/stores.js'
import { LONGEST_LIFETIME } from './lifetime.js'

/**
 * @typedef {object} CallerSetUp
 * @property {import('../replica/stores.js').StorePlace} place
 * @property {number} connections
 */

// Calls a store in a process of its own, so that its CPU time is nobody else's.
serveParent(async (/** @type {CallerSetUp} */ { place, connections }) => {
  const stores = []
  const open = async () => {
    const { store } = openStore(place)
    await store.prepare({ longestLifetime: LONGEST_LIFETIME })
    return store
  }
  while (stores.length < connections) stores.push(await open())
  let stop = () => {}
  let counts = { reads: 0, entries: 0, cpu: readCpu() }

  const actions = {
    // Reads the feed after a position, over and over, with all connections at the same time.
    async read({ after, calls }) {
      const before = readCpu()
      let entries = 0
      const read = async (store) => {
        for (let call = 0; call < calls / stores.length; call++) {
          const page = await store.feed(after, { waitMs: 0 })
          entries += page.entries.length
        }
      }
      await Promise.all(stores.map(read))
      return { cpu: (readCpu() - before) / calls, entries: entries / calls }
    },
    // Waits for wake-ups, and does nothing about them.
    async watch({ count }) {
      const unwatch = Array.from({ length: count }, () => stores[0].watch(() => {}))
      stop = () => unwatch.forEach((end) => end())
      await sleep(2000)
    },
    async follow({ count, bound, hasWakeUps }) {
      const replicas = []
      for (let number = 0; number < count; number++) {
        const store = await open()
        const counted = {
          ...store,
          watch: hasWakeUps ? store.watch : undefined,
          async feed(after, wait) {
            const page = await store.feed(after, wait)
            counts.reads++
            // Parsing a page of Redis takes time: once is enough.
            const { entries } = page
            counts.entries += entries.length
            return { ...page, entries }
          },
        }
        const replica = replicate(counted, { bound })
        await replica.prepare({ longestLifetime: LONGEST_LIFETIME })
        await replica.replica.ready()
        replicas.push(replica)
      }
      stop = () => replicas.forEach((replica) => void replica.close())
      await sleep(2000)
    },
    // What was counted since the last time.
    count() {
      const { reads, entries, cpu } = counts
      counts = { reads: 0, entries: 0, cpu: readCpu() }
      return { reads, entries, cpu: counts.cpu - cpu }
    },
    stop: () => stop(),
  }
  return { ready: true, answer: ({ action, ...given }) => actions[action](given) }
})
