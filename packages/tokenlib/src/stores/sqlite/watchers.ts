import { callQuietly } from '../../revocation/store-rules.js'

/** Those who want to know when a database may have changed. */
export interface Watchers {
  /** Adds a listener; returns a function that removes it. */
  readonly watch: (listener: () => void) => () => void
  /** Calls every listener; for a write of this store. */
  notify(): void
  /** Removes all of them. */
  stop(): void
}

const INTERVAL_MS = 25

/** Looks at a version every few milliseconds while somebody watches: SQLite tells nobody of a commit. */
export function createWatchers(readVersion: () => string): Watchers {
  const listeners = new Set<() => void>()
  let timer: ReturnType<typeof setInterval> | undefined
  let known: string | null = null

  const notify = (): void => {
    for (const listener of listeners) callQuietly(listener)
  }

  const look = (): void => {
    try {
      const version = readVersion()
      if (version === known) return
      known = version
    } catch {
      // The handle or the file is gone, or busy: whoever reads the store is told why.
      return
    }
    notify()
  }

  const remove = (listener: () => void): void => {
    listeners.delete(listener)
    if (listeners.size === 0) clearInterval(timer)
  }

  return {
    watch(listener) {
      // One of its own, so that a listener may be added twice.
      const own = (): void => listener()
      if (listeners.size === 0) {
        timer = setInterval(look, INTERVAL_MS)
        // Only the timers of Node, Bun and Deno keep a process alive.
        if (typeof timer === 'object') timer.unref()
      }
      listeners.add(own)
      return () => remove(own)
    },
    notify,
    stop() {
      listeners.clear()
      clearInterval(timer)
    },
  }
}
