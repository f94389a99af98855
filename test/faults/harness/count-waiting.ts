import type { RevocationStore } from '../../../packages/tokenlib/src/index.js'

/** A store that counts the checks it has not answered: those are what waits in its client. */
export interface CountingStore {
  readonly store: RevocationStore
  /** The most there have ever been. */
  readonly mostWaiting: () => number
}

/** Counts the checks that a store has not answered. */
export function countWaiting(store: RevocationStore): CountingStore {
  let waiting = 0
  let most = 0
  return {
    store: {
      ...store,
      async lookup(keys) {
        most = Math.max(most, ++waiting)
        try {
          return await store.lookup(keys)
        } finally {
          waiting--
        }
      },
    },
    mostWaiting: () => most,
  }
}
