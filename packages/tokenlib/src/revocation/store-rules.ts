import { ConfigurationError } from '../errors.js'
import { emitWarning, sleep } from '../runtime.js'
import { monotonicNow } from '../time.js'
import { readTimedId } from '../tokens/ids.js'
import type { ListOptions, SessionLimit } from './session-store.js'
import type { RevocationStore, FeedOptions, FeedPage, StoreNeeds } from './store.js'

/** How many sessions one call of a store revokes at most: others wait for the store, or for this process, meanwhile. */
export const MAX_ENDED_AT_ONCE = 100

/** What a store does about a log-in with a limit. */
export interface OpeningDecision {
  /** `end`: revoke so many and open nothing yet. `refuse`: do nothing. */
  readonly action: 'open' | 'end' | 'refuse'
  /** How many of the user's live sessions are revoked, the oldest first. */
  readonly count: number
}

/**
 * The rules of a limit, given how many live sessions a user has; stores that decide elsewhere follow the same table. Where
 * there are `max + MAX_ENDED_AT_ONCE` or more, the exact number makes no difference.
 */
export function decideOpening(live: number, { max, whenFull }: SessionLimit): OpeningDecision {
  const excess = live + 1 - max
  if (excess <= 0) return { action: 'open', count: 0 }
  if (whenFull === 'refuse') return { action: 'refuse', count: 0 }
  // Never more than one call can do, however far the limit was lowered.
  if (excess > MAX_ENDED_AT_ONCE) return { action: 'end', count: MAX_ENDED_AT_ONCE }
  return { action: 'open', count: excess }
}

/** The largest limit of sessions that a store enforces. */
export const MAX_SESSION_LIMIT = 1000

/** Throws `TypeError` for a limit that no store can enforce. */
export function assertSessionLimit({ max, whenFull, idleMs }: SessionLimit): void {
  if (!Number.isInteger(max) || max < 1 || max > MAX_SESSION_LIMIT) {
    throw new TypeError(`max must be a whole number from 1 to ${MAX_SESSION_LIMIT}`)
  }
  if (whenFull !== 'endOldest' && whenFull !== 'refuse') {
    throw new TypeError("whenFull must be 'endOldest' or 'refuse'")
  }
  // No comparison with NaN is ever true: no session would count.
  if (typeof idleMs !== 'number' || Number.isNaN(idleMs)) throw new TypeError('idleMs must be a number')
}

/** A page of sessions, as a store reads it. */
export interface ListPage {
  readonly limit: number
  /** Milliseconds, or `FOREVER`. */
  readonly idleMs: number
  /** Sessions come after this one in descending order of start, then of `sid`; `null` for the first page. */
  readonly before: { readonly startedAt: number; readonly sid: string } | null
}

/** The largest page of sessions that a store reads. */
export const MAX_LIST_LIMIT = 1000

/** What `list` was asked for, or `TypeError`; the start comes from the `sid`, because the session may be gone. */
export function parseListOptions({ limit, before, idleMs }: ListOptions): ListPage {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIST_LIMIT) {
    throw new TypeError(`limit must be a whole number from 1 to ${MAX_LIST_LIMIT}`)
  }
  // No comparison with NaN is ever true: no session would be idle.
  if (typeof idleMs !== 'number' || Number.isNaN(idleMs)) throw new TypeError('idleMs must be a number')
  if (before === null) return { limit, idleMs, before }
  const startedAt = readTimedId(before)
  if (startedAt === null) throw new TypeError('before must be the id of a session, or null')
  return { limit, idleMs, before: { startedAt, sid: before } }
}

// How often a waiting feed looks for changes.
const POLL_INTERVAL_MS = 25

/** Reads a feed until it has entries or the wait is over; for stores that cannot wake their readers. */
export async function pollFeed(
  read: () => FeedPage | Promise<FeedPage>,
  { waitMs, signal }: FeedOptions,
): Promise<FeedPage> {
  const deadline = monotonicNow() + waitMs
  for (;;) {
    signal?.throwIfAborted()
    const page = await read()
    const left = deadline - monotonicNow()
    if (page.entries.length > 0 || page.more || page.reset || left <= 0) return page
    await sleep(Math.min(POLL_INTERVAL_MS, left), signal)
  }
}

/** Reports to a process what its store lost. */
export interface LossReporter {
  /** Adds the listeners of a `prepare`; each is called once per loss. */
  readonly listen: (needs: StoreNeeds) => void
  /** Whether a replica will restore what is lost, so that nothing else has to be revoked. */
  readonly canRestore: () => boolean
  /** Says that the history is another one than before. */
  readonly reportHistory: () => void
  /** Prints one warning and calls every listener; to be called after what may be affected is revoked. */
  readonly report: (revokedBefore: number) => void
}

/** The reporter of one store; `store` is its name in the warning. */
export function createLossReporter(store: string, onWarning: (message: string) => void): LossReporter {
  const listeners = new Set<NonNullable<StoreNeeds['onLostData']>>()
  const restorers = new Set<NonNullable<StoreNeeds['canRestore']>>()
  const followers = new Set<NonNullable<StoreNeeds['onNewHistory']>>()

  return {
    listen({ onLostData, canRestore, onNewHistory }) {
      if (onLostData !== undefined) listeners.add(onLostData)
      if (canRestore !== undefined) restorers.add(canRestore)
      if (onNewHistory !== undefined) followers.add(onNewHistory)
    },
    canRestore: () => [...restorers].some((canRestore) => canRestore()),
    reportHistory() {
      for (const follower of followers) callQuietly(follower)
    },
    report(revokedBefore) {
      const before = new Date(revokedBefore).toISOString()
      callQuietly(() =>
        onWarning(
          `The ${store} store lost data: it was emptied, or an older copy was restored. Revocations may be missing, ` +
            `so every session that started before ${before} is revoked, and users must log in again. ` +
            'Revoked keys must be revoked again',
        ),
      )
      for (const listener of listeners) callQuietly(() => listener({ revokedBefore }))
    },
  }
}

/** Calls a listener; one that throws is a warning, and does not make the store's answer fail. */
export function callQuietly(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    emitWarning(`A listener of tokenlib failed: ${String(error)}`, 'TokenListenerWarning')
  }
}

/** Throws `ConfigurationError` for data of a newer release: it may keep revocations where this one does not look. */
export function assertKnownLayout(store: string, version: number, own: number): void {
  if (version <= own) return
  throw new ConfigurationError(
    `The data of the ${store} store has version ${version}, which a newer release of tokenlib has made, and this ` +
      `release can use version ${own}: install the newer release, or give this one data of its own`,
  )
}

/** What a store was created from, for `tokenlib doctor`, which looks at the server behind it. */
export interface StoreOrigin {
  readonly kind: 'redis' | 'postgres' | 'sqlite'
  /** The client that the application passed in. */
  readonly client: object
  /** The namespace, or the prefix of the tables in SQLite. */
  readonly namespace: string
  /** Where PostgreSQL has the tables. */
  readonly tables?: { readonly schema?: string; readonly prefix?: string } | undefined
  /** The store itself, also where a replica is in front of it. */
  readonly store: RevocationStore
}

// Shared by every copy of this package in a process: the command line may be another one than the application uses.
const ORIGIN = Symbol.for('tokenlib.store-origin')

/** Notes the origin of a store on the store. Not enumerable: a client has passwords, and stores end up in logs. */
export function withOrigin<Store extends RevocationStore>(
  store: Store,
  origin: Omit<StoreOrigin, 'store'> | StoreOrigin | null,
): Store {
  if (origin === null) return store
  return Object.defineProperty(store, ORIGIN, { value: { store, ...origin }, enumerable: false })
}

/** The origin of a store, or `null` for one that none of ours created, or that somebody has wrapped. */
export function readOrigin(store: object): StoreOrigin | null {
  return (store as { readonly [ORIGIN]?: StoreOrigin })[ORIGIN] ?? null
}
