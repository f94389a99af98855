import type { RevocationStore } from 'tokenlib'

/** A store that you can stop: until it is started again, this process gets no answer from it. */
export interface StoreSwitch {
  readonly store: RevocationStore
  readonly isStopped: () => boolean
  stop(): void
  start(): void
}

/** Puts a switch around a store. While it is stopped, every call rejects, as if the server were gone. */
export function createStoreSwitch(given: RevocationStore): StoreSwitch {
  let isStopped = false
  const assertRunning = (): void => {
    if (isStopped) throw new Error('The store is stopped: start it on the page of the example application')
  }

  const guard = <Methods extends object>(methods: Methods): Methods => {
    const calls = Object.entries(methods).filter(([name]) => !UNGUARDED.includes(name)) as [string, Call][]
    const guarded = calls.map(([name, call]) => [
      name,
      async (...args: unknown[]) => {
        assertRunning()
        const answer = await call(...args)
        // An answer that was under way when the server stopped does not arrive either.
        assertRunning()
        return answer
      },
    ])
    return Object.fromEntries(guarded) as Methods
  }

  const { sessions } = given
  return {
    store: {
      ...guard(given),
      ...(sessions && { sessions: guard(sessions) }),
      ...(given.watch && { watch: given.watch.bind(given) }),
      close: () => given.close(),
    },
    isStopped: () => isStopped,
    stop() {
      isStopped = true
    },
    start() {
      isStopped = false
    },
  }
}

type Call = (...args: unknown[]) => Promise<unknown>

// Leaves out the synchronous `isRevokedNow` and `readVersion`, so that every check is a call that can be refused.
const UNGUARDED = ['isRevokedNow', 'readVersion', 'sessions', 'watch', 'replica', 'close']
