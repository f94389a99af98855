import { nextTurn, startTimer, withDeadline } from '../../runtime.js'
import type { Revocation } from '../../revocation/revocation.js'
import type { FeedPage, Position, RevocationStore } from '../../revocation/store.js'
import type { Clock, Scheduler, Timer } from '../../time.js'
import { runWithPauses, toRetryDelay } from '../store-parts.js'
import type { RevocationCopy } from '../memory/revocations.js'
import { callQuietly } from '../loss-reporter.js'
import type { Freshness } from './freshness.js'
import { createRestorer, type Restorer } from './restore.js'

/** Keeps a copy of a store's revocations up to date. */
export interface Follower {
  /** Reads the store until `stop`, at least four times within the bound. */
  start(): void
  stop(): void
  /** Resolves when a read that is sent after this call is complete; rejects when it fails. */
  readNow(): Promise<void>
  /** The same, but rejects immediately if a read has just failed. */
  tryRead(): Promise<void>
  /** The store has another history: the next read is one from the start. */
  readonly startAgain: () => void
  readonly restorer: Restorer
  /** Whether the last read was complete. */
  readonly isFollowing: boolean
  /** Where the last complete read ended. */
  readonly position: Position | null
  readonly lastError: Error | null
}

/** What a follower works with. */
export interface FollowerOptions {
  readonly store: RevocationStore
  readonly copy: RevocationCopy
  readonly freshness: Freshness
  readonly boundMs: number
  /** The clock that entries are dropped by. */
  readonly pruneClock: Clock
  readonly scheduler: Scheduler
  readonly onEntries: (entries: readonly Revocation[]) => void
  /** Called when the history of the store is not the one that was read. */
  readonly onReset: () => void
  /** Called after every read, successful or not. */
  readonly onRead: () => void
}

// A page that takes longer is given up: a frozen server keeps its connections open.
const MIN_TIMEOUT_MS = 1000
// While entries arrive, reads are not closer to each other than this.
const COALESCE_MS = 15
const FIRST_RETRY_MS = 50
// Give up after more resets within one read.
const MAX_RESETS = 3
const SWEEP_INTERVAL_MS = 1000
const SWEPT_AT_ONCE = 256
const MERGED_PER_STEP = 32

/** Follows the feed of a store. Nothing is read before `start`. */
export function createFollower(options: FollowerOptions): Follower {
  const { store, copy, freshness, boundMs, pruneClock, scheduler } = options
  const { monotonicNow } = scheduler
  const timeoutMs = Math.max(boundMs, MIN_TIMEOUT_MS)
  const restorer = createRestorer({ store, copy, boundMs, timeoutMs, pruneClock, scheduler })
  let position: Position | null = null
  let completePosition: Position | null = null
  let reading: Promise<void> | null = null
  let queued: Promise<void> | null = null
  let timer: Timer | undefined
  let unwatch: (() => void) | null = null
  let failures = 0
  let sweptAt = monotonicNow()
  let failedAt = Number.NEGATIVE_INFINITY
  let lastError: Error | null = null
  let isFollowing = false
  let isRunning = false
  let entriesAt = Number.NEGATIVE_INFINITY
  let isHistoryNew = false

  // A table that grows moves its entries: most pages take a millisecond, some take many.
  const merge = async (entries: readonly Revocation[]): Promise<void> => {
    if (entries.length === 0) return
    await runWithPauses(mergeInSteps(entries), scheduler)
    entriesAt = monotonicNow()
    options.onEntries(entries)
  }

  function* mergeInSteps(entries: readonly Revocation[]): Iterable<number> {
    for (let from = 0; from < entries.length; from += MERGED_PER_STEP) {
      const [now, end] = [pruneClock(), Math.min(from + MERGED_PER_STEP, entries.length)]
      for (let at = from; at < end; at++) {
        copy.merge(entries[at] as Revocation, now)
        restorer.noteGiven(entries[at] as Revocation, now)
      }
      yield end - from
    }
  }

  const fetchPage = async (after: Position | null): Promise<FeedPage> => {
    const answer = withDeadline(
      scheduler,
      store.feed(after, { waitMs: 0 }),
      timeoutMs,
      () => new Error(`The feed of the store did not answer within ${timeoutMs} ms`),
    )
    return parsePage(await answer)
  }

  // Complete as of the moment when its last page was asked for: the store answered after that.
  const read = async (): Promise<void> => {
    if (monotonicNow() - sweptAt >= SWEEP_INTERVAL_MS) {
      sweptAt = monotonicNow()
      copy.sweep(SWEPT_AT_ONCE)
    }
    // What has ended by a clock that was ahead may have been dropped: everything is read again. No position says then
    // whether the store has lost something.
    if (freshness.wasSetBack()) {
      position = null
      restorer.begin()
    }
    let isFromStart = position === null
    let resets = 0
    let sentAt = freshness.begin()
    let answer = fetchPage(position)
    for (;;) {
      const page = await answer
      const completeAt = sentAt - page.ageMs
      // A history that was there before may be back, where the position is good again.
      const isReset = page.reset || isHistoryNew
      if (isReset) {
        if (++resets > MAX_RESETS) throw new Error('The history of the store was lost again and again')
        position = null
        isFromStart = true
        isHistoryNew = false
        restorer.begin()
        options.onReset()
      }
      // The next page is on its way while this one is merged.
      if (isReset || page.more) {
        sentAt = freshness.begin()
        answer = fetchPage(isReset ? null : page.next)
        answer.catch(() => undefined)
      }
      if (isReset) continue
      // Receiving a page takes time, and a memory store answers without yielding to the event loop.
      if (page.more) await nextTurn()
      const entries = readEntries(page)
      await merge(entries)
      if (!isFromStart) restorer.noteArrived(entries)
      position = page.next
      if (page.more) continue
      completePosition = position
      return freshness.confirm(completeAt)
    }
  }

  const startRead = (): Promise<void> => {
    if (reading !== null) return reading
    const run = async (): Promise<void> => {
      try {
        await read()
        failures = 0
        lastError = null
        isFollowing = true
      } catch (error) {
        failures++
        failedAt = monotonicNow()
        isFollowing = false
        lastError = error instanceof Error ? error : new Error(String(error))
        throw error
      } finally {
        reading = null
        options.onRead()
      }
    }
    return (reading = run())
  }

  const readNow = (): Promise<void> => {
    if (reading === null) return startRead()
    queued ??= reading
      .catch(() => undefined)
      .then(() => {
        queued = null
        return startRead()
      })
    return queued
  }

  const runOnce = async (): Promise<void> => {
    try {
      await startRead()
      // Not awaited: reading goes on, because writing a million entries takes longer than any bound.
      restorer.run().catch(() => undefined)
    } catch {
      // The next read tries again; `lastError` says why, and a copy that is too old is not used.
    }
    if (isRunning) schedule(toDelay())
  }

  const toDelay = (): number => {
    if (failures > 0) return toRetryDelay(failures - 1, FIRST_RETRY_MS, boundMs)
    const interval = (boundMs / 4) * (0.75 + Math.random() / 4)
    return Math.min(interval, Math.max(0, restorer.dueAt - monotonicNow()))
  }

  const schedule = (delay: number): void => {
    scheduler.clearTimeout(timer)
    timer = startTimer(scheduler, () => void runOnce(), delay)
  }

  const wake = (): void => {
    if (!isRunning) return
    const pause = Math.max(0, entriesAt + COALESCE_MS - monotonicNow())
    if (pause > 0) return schedule(pause)
    readNow().catch(() => undefined)
  }

  return {
    start() {
      if (isRunning) return
      isRunning = true
      unwatch = store.watch?.(wake) ?? null
      void runOnce()
    },
    stop() {
      isRunning = false
      scheduler.clearTimeout(timer)
      if (unwatch !== null) callQuietly(unwatch)
      unwatch = null
    },
    readNow,
    async tryRead() {
      const isTooSoon = reading === null && monotonicNow() - failedAt < FIRST_RETRY_MS
      if (lastError !== null && isTooSoon) throw lastError
      await readNow()
    },
    startAgain() {
      isHistoryNew = true
    },
    restorer,
    get isFollowing() {
      return isFollowing
    },
    get position() {
      return completePosition
    },
    get lastError() {
      return lastError
    },
  }
}

function parsePage(page: FeedPage): FeedPage {
  const { next, more, reset, ageMs } = (page ?? {}) as Partial<FeedPage>
  const isPage =
    typeof next === 'string' &&
    typeof more === 'boolean' &&
    typeof reset === 'boolean' &&
    typeof ageMs === 'number' &&
    ageMs >= 0
  if (!isPage) throw new TypeError(NOT_A_PAGE)
  return page
}

function readEntries({ entries }: FeedPage): readonly Revocation[] {
  const given: unknown = entries
  if (!Array.isArray(given)) throw new TypeError(NOT_A_PAGE)
  return entries
}

const NOT_A_PAGE = 'feed() must return a page: entries, next, more, reset and ageMs'
