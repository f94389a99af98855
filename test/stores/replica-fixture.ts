import { onTestFinished, vi } from 'vitest'
import { createMemoryStore } from 'tokenlib/memory'
import { replicate, type ReplicaOptions } from 'tokenlib/replica'
import {
  type FeedPage,
  FOREVER,
  type Position,
  type Revocation,
  type RevocationStore,
  type StoreNeeds,
} from '../../packages/tokenlib/src/kit.js'
import { createVirtualClock, type VirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'

export const HOUR = 3_600_000

/** A store whose answers can be held up, made to fail, or changed. */
export interface Faulty {
  readonly store: RevocationStore
  /** What `feed` does instead; `null` for nothing. */
  onFeed: ((read: () => Promise<FeedPage>, after: Position | null) => Promise<FeedPage>) | null
  feeds: number
  lookups: number
  restored: Revocation[]
}

export function createFaulty(inner: RevocationStore): Faulty {
  const faulty: Faulty = { store: inner, onFeed: null, feeds: 0, lookups: 0, restored: [] }
  const { watch: _, ...unwatched } = inner
  const store: RevocationStore = {
    ...unwatched,
    feed(after, options) {
      faulty.feeds++
      const read = () => inner.feed(after, options)
      return faulty.onFeed === null ? read() : faulty.onFeed(read, after)
    },
    lookup(keys) {
      faulty.lookups++
      return inner.lookup(keys)
    },
    async restore(batch) {
      faulty.restored.push(...batch)
      await inner.restore?.(batch)
    },
  }
  return Object.assign(faulty, { store })
}

/** The history of the store is another one from now on, and has nothing. */
export async function lose(faulty: Faulty, clock: VirtualClock): Promise<RevocationStore> {
  const next = createMemoryStore({ clock })
  await next.prepare({ longestLifetime: HOUR })
  Object.assign(faulty.store, {
    feed: next.feed,
    lookup: next.lookup,
    async restore(batch: readonly Revocation[]) {
      faulty.restored.push(...batch)
      await next.restore?.(batch)
    },
  })
  return next
}

export const key = (id: string) => [{ kind: 'token' as const, id }]
export const down = (): Promise<never> => Promise.reject(new Error('The store is down'))
export const hang = (): Promise<never> => new Promise(() => undefined)

/** A clock, a store behind it, and replicas that are closed when the test is over. */
export function createWorld() {
  const clock = createVirtualClock()
  const inner = createMemoryStore({ clock })
  const faulty = createFaulty(inner)
  const { monotonicNow } = clock.scheduler

  /** Begins to read, and does not wait for that. */
  const start = async (
    options: ReplicaOptions = {},
    store: RevocationStore = faulty.store,
    needs: Partial<StoreNeeds> = {},
  ): Promise<RevocationStore> => {
    const replica = replicate(store, { clock, ...options })
    onTestFinished(() => replica.close())
    await replica.prepare({ longestLifetime: HOUR, ...needs })
    return replica
  }

  return {
    clock,
    inner,
    faulty,
    monotonicNow,
    start,
    async open(...given: Parameters<typeof start>): Promise<RevocationStore> {
      const replica = await start(...given)
      await replica.replica?.ready()
      return replica
    },
    entry: (id: string, given: Partial<Revocation> = {}): Revocation => ({
      kind: 'token',
      id,
      notBefore: FOREVER,
      until: clock() + HOUR,
      ...given,
    }),
    /** The watermark of a user; the store raises it to its clock, so the replica has to read it. */
    watermark: (id = 'ada'): Revocation => ({ kind: 'user', id, notBefore: 1, until: clock() + HOUR }),
  }
}

/** Whether a token is revoked by what is in memory; throws while the replica is stale. */
export const isRevokedNow = (replica: RevocationStore, id: string): boolean | undefined =>
  replica.isRevokedNow?.(key(id), 1)

/** Chance, for as long as a test runs. */
export function fixRandom(value: number): void {
  const random = vi.spyOn(Math, 'random').mockReturnValue(value)
  onTestFinished(() => random.mockRestore())
}
