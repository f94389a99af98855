import { ConfigurationError } from '../errors.js'
import type { Revocation } from '../revocation/revocation.js'
import { callQuietly } from './loss-reporter.js'
import {
  type ListOptions,
  MAX_LIST_LIMIT,
  parseListOptions,
  type StoredSession,
} from '../revocation/session-store.js'
import type { FeedOptions, FeedPage, Position } from '../revocation/store.js'
import { nextTurn, sleep } from '../runtime.js'
import { type Clock, type Scheduler, systemScheduler } from '../time.js'

/** A place in the list of a user's sessions. */
export interface SessionPlace {
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly sid: string
}

/** A part of the list of a user's sessions. */
export interface SessionPage {
  /** Those that are live, newest first. */
  readonly live: readonly StoredSession[]
  /** Where to go on, or `null` at the end. */
  readonly next: SessionPlace | null
}

/**
 * Lists live sessions, newest first. `read` looks at no more than `size` sessions, however many of them are idle or over,
 * so that no single step takes long.
 */
export async function listLive(
  options: ListOptions,
  read: (from: SessionPlace | null, size: number, idleMs: number) => SessionPage | Promise<SessionPage>,
): Promise<readonly StoredSession[]> {
  const { limit, idleMs, before } = parseListOptions(options)
  const live: StoredSession[] = []
  let from = before
  for (let size = limit; ; size = Math.min(MAX_LIST_LIMIT, 2 * size)) {
    const page = await read(from, size, idleMs)
    live.push(...page.live)
    if (page.next === null || live.length >= limit) return live.slice(0, limit)
    from = page.next
    await nextTurn()
  }
}

/** Those who are told of something. */
export interface Listeners<Given extends readonly unknown[]> {
  /** Adds a listener, also one that is there already; returns a function that removes it. */
  readonly add: (listener: (...given: Given) => void) => () => void
  readonly call: (...given: Given) => void
  readonly clear: () => void
  readonly size: () => number
}

/** A set of listeners. An error of one becomes a warning, and the others are still called. */
export function createListeners<Given extends readonly unknown[]>(): Listeners<Given> {
  const listeners = new Set<(...given: Given) => void>()
  return {
    add(listener) {
      const own = (...given: Given): void => callQuietly(() => listener(...given))
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    call(...given) {
      for (const listener of listeners) listener(...given)
    },
    clear: () => listeners.clear(),
    size: () => listeners.size,
  }
}

const PRUNE_INTERVAL_MS = 60_000

/** Decides when a store drops expired data. */
export interface PruneTurns {
  /** Prunes a batch once a minute, and with every write while there is more to prune. Never rejects. */
  readonly run: (prune: (limit: number) => Promise<number>) => Promise<void>
  readonly stop: () => void
}

/** Creates the turns of a store that drops `batch` rows at a time. The first turn comes after `delayMs`. */
export function createPruneTurns(batch: number, { monotonicNow }: Scheduler, delayMs = 0): PruneTurns {
  let nextAt = monotonicNow() + delayMs
  return {
    async run(prune) {
      const now = monotonicNow()
      if (now < nextAt) return
      nextAt = now + PRUNE_INTERVAL_MS
      // If it fails, the next turn tries again.
      const dropped = await prune(batch).catch(() => 0)
      if (dropped >= batch && nextAt !== Number.POSITIVE_INFINITY) nextAt = Number.NEGATIVE_INFINITY
    },
    stop() {
      nextAt = Number.POSITIVE_INFINITY
    },
  }
}

/** A page of a feed. */
export function toPage(entries: readonly Revocation[], next: Position, more: boolean): FeedPage {
  return { entries, next, more, reset: false, ageMs: 0 }
}

/** The page for a reader of a lost history. `next` is the start of the current history. */
export function toResetPage(next: Position): FeedPage {
  return { ...toPage([], next, false), reset: true }
}

// Of the event loop, in milliseconds.
const MAX_BLOCKING_MS = 1

/** Goes through steps of work and adds up what they tell; every few milliseconds, others have their turn. */
export async function runWithPauses(steps: Iterable<number>, { monotonicNow }: Scheduler): Promise<number> {
  let sum = 0
  let startedAt = monotonicNow()
  for (const step of steps) {
    sum += step
    if (monotonicNow() - startedAt < MAX_BLOCKING_MS) continue
    await nextTurn()
    startedAt = monotonicNow()
  }
  return sum
}

/** How long to wait before the next attempt, in milliseconds: longer after each failure, and never the same for all. */
export function toRetryDelay(failures: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures, 10)) * Math.random()
}

/** Repeats an attempt after `recover` if it returns `null`, which means that the store has lost its data. */
export async function retryAfterLoss<Answer>(
  store: string,
  attempt: () => Promise<Answer | null>,
  recover: () => Promise<void>,
): Promise<Answer> {
  for (let attempts = 0; attempts < 3; attempts++) {
    const answer = await attempt()
    if (answer !== null) return answer
    await recover()
  }
  throw new Error(`The data of the ${store} store was removed again and again`)
}

// How often a waiting feed looks for changes.
const POLL_INTERVAL_MS = 25

/** Reads a feed until it has entries or the wait is over; for stores that cannot wake their readers. */
export async function pollFeed(
  read: () => FeedPage | Promise<FeedPage>,
  { waitMs, signal }: FeedOptions,
  scheduler: Scheduler = systemScheduler,
): Promise<FeedPage> {
  const { monotonicNow } = scheduler
  const deadline = monotonicNow() + waitMs
  for (;;) {
    signal?.throwIfAborted()
    const page = await read()
    const left = deadline - monotonicNow()
    if (page.more || page.reset || left <= 0 || page.entries.length > 0) return page
    await sleep(scheduler, Math.min(POLL_INTERVAL_MS, left), signal)
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

/** The time of a clock that was passed in; `null` leaves it to the server's. */
export function readClock(clock: Clock | undefined): number | null {
  return clock === undefined ? null : toMilliseconds(clock())
}

/** Whole milliseconds, as the columns need them; upwards, since a revocation may last longer, but not shorter. */
export function toMilliseconds(time: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(time))
}
