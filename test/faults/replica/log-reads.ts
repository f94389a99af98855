import type { RevocationStore } from '../../../packages/tokenlib/src/index.js'
import { machineMs, type Operation } from './history.js'

/** Writes down an operation of one process. */
export type Log = (operation: Omit<Operation, 'process' | 'life'>) => void

/** A store whose feed is written down: when a page was asked for, and when it arrived. */
export function logReads(store: RevocationStore, log: Log): RevocationStore {
  return {
    ...store,
    async feed(after, wait) {
      const t0 = machineMs()
      try {
        const page = await store.feed(after, wait)
        // Only the last page completes a read.
        const result = page.more || page.reset ? 'failed' : 'ok'
        log({ op: 'read', key: '', t0, t1: machineMs(), result, ageMs: page.ageMs })
        return page
      } catch (error) {
        log({ op: 'read', key: '', t0, t1: machineMs(), result: 'failed', error: String(error) })
        throw error
      }
    },
  }
}
