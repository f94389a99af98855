import { setImmediate as nextTurn } from 'node:timers/promises'
import { withDeadline } from '../../revocation/call-limit.js'
import { FOREVER, type Revocation } from '../../revocation/revocation.js'
import type { FeedPage, Position, RevocationStore } from '../../revocation/store.js'
import { type Clock, monotonicNow } from '../../time.js'
import { runWithPauses } from '../memory/history.js'
import { createRevocationCopy, type RevocationCopy } from '../memory/revocations.js'
import type { Freshness } from './freshness.js'

/** Keeps a copy of a store's revocations up to date. */
export interface Follower {
  /** Reads the store until `stop`, at least four times within the bound. */
  start(): void
  stop(): void
  /** Resolves when a read that is sent after this call is complete; rejects when it fails. */
  readNow(): Promise<void>
  /** The same for whoever needs it only if it works: rejects at once where a read has just failed. */
  tryRead(): Promise<void>
  /** Keeps what could not be written: it is written once the store can be read again. */
  keepUnsent(batch: readonly Revocation[]): void
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
  /** Called with entries that have arrived. */
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
// More resets within one read are no accident.
const MAX_RESETS = 3
const RESTORE_BATCH = 500
// How many entries are compared before others have their turn: about two milliseconds.
const LOOKED_PER_TURN = 2000
const SWEEP_INTERVAL_MS = 1000
const SWEPT_AT_ONCE = 256
const MERGED_PER_STEP = 8

/** Follows the feed of a store. Nothing is read before `start`. */
export function createFollower(options: FollowerOptions): Follower {
  const { store, copy, freshness, boundMs, pruneClock } = options
  const timeoutMs = Math.max(boundMs, MIN_TIMEOUT_MS)
  const unsent = new Map<string, Revocation>()
  let position: Position | null = null
  let reading: Promise<void> | null = null
  let queued: Promise<void> | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let unwatch: (() => void) | null = null
  let failures = 0
  let sweptAt = monotonicNow()
  let failedAt = Number.NEGATIVE_INFINITY
  let lastError: Error | null = null
  let isRunning = false
  let entriesAt = Number.NEGATIVE_INFINITY
  // What the store has given since its history was lost; the rest of the copy has to be restored.
  let given: RevocationCopy | null = null
  let restoreAt = Number.POSITIVE_INFINITY

  // A table that grows moves its entries: most pages take a millisecond, some take many.
  const merge = async (entries: readonly Revocation[]): Promise<void> => {
    if (entries.length === 0) return
    await runWithPauses(mergeInSteps(entries))
    entriesAt = monotonicNow()
    options.onEntries(entries)
  }

  function* mergeInSteps(entries: readonly Revocation[]): Iterable<number> {
    for (let from = 0; from < entries.length; from += MERGED_PER_STEP) {
      const [now, end] = [pruneClock(), Math.min(from + MERGED_PER_STEP, entries.length)]
      for (let at = from; at < end; at++) {
        copy.merge(entries[at] as Revocation, now)
        given?.merge(entries[at] as Revocation, now)
      }
      yield end - from
    }
  }

  const fetchPage = async (after: Position | null): Promise<FeedPage> => {
    const answer = withDeadline(
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
    // What has ended by a clock that was ahead may have been dropped: everything is read again.
    if (freshness.wasSetBack()) position = null
    let resets = 0
    let sentAt = freshness.begin()
    let answer = fetchPage(position)
    for (;;) {
      const page = await answer
      const completeAt = sentAt - page.ageMs
      if (page.reset) {
        if (++resets > MAX_RESETS) throw new Error('The history of the store was lost again and again')
        position = null
        if (store.restore !== undefined) {
          given = createRevocationCopy(pruneClock)
          // Not all processes at once: what one restores reaches the others through the feed.
          restoreAt = monotonicNow() + (Math.random() * boundMs) / 2
        }
        options.onReset()
      }
      // The next page is on its way while this one is merged.
      if (page.reset || page.more) {
        sentAt = freshness.begin()
        answer = fetchPage(page.reset ? null : page.next)
        answer.catch(() => undefined)
      }
      if (page.reset) continue
      // Reading a page took its time, and a store in memory answers without a pause of its own.
      if (page.more) await nextTurn()
      await merge(page.entries)
      position = page.next
      if (!page.more) return freshness.confirm(completeAt)
    }
  }

  // What others have restored in the meantime has arrived through the feed.
  const restore = async (): Promise<void> => {
    if (store.restore === undefined) return
    const found = given
    if (found !== null && monotonicNow() >= restoreAt) {
      restoreAt = Number.POSITIVE_INFINITY
      try {
        for await (const batch of listMissing(copy, found, pruneClock())) await restoreBatch(batch)
        if (given === found) given = null
      } catch (error) {
        restoreAt = monotonicNow()
        throw error
      }
    }
    if (unsent.size > 0) {
      const batch = [...unsent.values()]
      await restoreBatch(batch)
      for (const entry of batch) if (unsent.get(toName(entry)) === entry) unsent.delete(toName(entry))
    }
  }

  const restoreBatch = async (batch: readonly Revocation[]): Promise<void> => {
    await withDeadline(
      (store.restore as NonNullable<RevocationStore['restore']>).call(store, batch),
      timeoutMs,
      () => new Error(`The store did not restore revocations within ${timeoutMs} ms`),
    )
  }

  const startRead = (): Promise<void> => {
    if (reading !== null) return reading
    const run = async (): Promise<void> => {
      try {
        await read()
        failures = 0
        lastError = null
      } catch (error) {
        failures++
        failedAt = monotonicNow()
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
      await restore()
    } catch {
      // The next read tries again; `lastError` says why, and a copy that is too old is not used.
    }
    if (isRunning) schedule(toDelay())
  }

  const toDelay = (): number => {
    if (failures > 0)
      return Math.min(boundMs, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10)) * Math.random()
    const interval = (boundMs / 4) * (0.75 + Math.random() / 4)
    return Math.min(interval, Math.max(0, restoreAt - monotonicNow()))
  }

  const schedule = (delay: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => void runOnce(), delay)
    ;(timer as Partial<NodeJS.Timeout>).unref?.()
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
      clearTimeout(timer)
      unwatch?.()
    },
    readNow,
    async tryRead() {
      if (reading === null && monotonicNow() - failedAt < FIRST_RETRY_MS)
        throw lastError ?? new Error('No read')
      await readNow()
    },
    keepUnsent(batch) {
      if (store.restore === undefined) return
      for (const entry of batch) unsent.set(toName(entry), entry)
    },
    get position() {
      return position
    },
    get lastError() {
      return lastError
    },
  }
}

function toName({ kind, id }: Revocation): string {
  return `${kind}:${id}`
}

// Entries that one copy has and the other does not, or not to the same extent; those that have ended are left out.
async function* listMissing(
  copy: RevocationCopy,
  given: RevocationCopy,
  now: number,
): AsyncIterable<readonly Revocation[]> {
  let batch: Revocation[] = []
  let looked = 0
  for (const entry of copy.entries()) {
    if (++looked % LOOKED_PER_TURN === 0) await nextTurn()
    const isGiven = (given.find(entry.kind, entry.id) ?? -1) >= entry.notBefore
    if (isGiven || (entry.until !== FOREVER && entry.until <= now)) continue
    batch.push(entry)
    if (batch.length === RESTORE_BATCH) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

function parsePage(page: FeedPage): FeedPage {
  const { entries, next, more, reset, ageMs } = (page ?? {}) as Partial<FeedPage>
  const isPage =
    Array.isArray(entries) &&
    typeof next === 'string' &&
    typeof more === 'boolean' &&
    typeof reset === 'boolean' &&
    typeof ageMs === 'number' &&
    ageMs >= 0
  if (!isPage) throw new TypeError('feed() must return a page: entries, next, more, reset and ageMs')
  return page
}
