import { monotonicNow } from '../time.js'

/** Refreshes of this process that failed because of the store, which may have rotated the token all the same. */
export interface UnansweredRefreshes {
  add(sid: string, generation: number): void
  remove(sid: string, generation: number): void
  /** How long ago the refresh of a token failed, in milliseconds; 0 if it did not. */
  readAge(sid: string, generation: number): number
}

// What an attacker could make a process remember is bounded, and so is for how long a token is forgiven.
const MAX_ENTRIES = 10_000
const MAX_AGE_MS = 3_600_000

/** Remembers them for an hour, the newest ten thousand. */
export function createUnansweredRefreshes(): UnansweredRefreshes {
  const failedAt = new Map<string, number>()
  return {
    add(sid, generation) {
      const key = toKey(sid, generation)
      // The first failure counts: that is when the store may have rotated the token.
      if (failedAt.has(key)) return
      failedAt.set(key, monotonicNow())
      if (failedAt.size > MAX_ENTRIES) failedAt.delete(failedAt.keys().next().value as string)
    },
    remove: (sid, generation) => void failedAt.delete(toKey(sid, generation)),
    readAge(sid, generation) {
      const since = failedAt.get(toKey(sid, generation))
      const age = since === undefined ? 0 : monotonicNow() - since
      return age > MAX_AGE_MS ? 0 : age
    },
  }
}

function toKey(sid: string, generation: number): string {
  return `${sid} ${generation}`
}
