import { choice, duration, type Kind, kindOf, type OptionKinds, parseOptions } from '../../options.js'
import type { RevocationStore } from '../../revocation/store.js'
import {
  type Clock,
  type Duration,
  isClock,
  parseDuration,
  type Scheduler,
  schedulerOf,
  systemClock,
} from '../../time.js'

/** How a replica behaves. */
export interface ReplicaOptions {
  /**
   * How long after a revocation was acknowledged this process may still accept what it revokes: `'20ms'` to a minute,
   * one second by default; a number counts seconds. A replica that cannot prove that it is younger refuses, or asks the
   * store. 0 is for a store that has `readVersion`, such as the one of SQLite: every check asks whether the store has
   * changed, and reads that first.
   */
  readonly bound?: Duration
  /** What a check does while the replica is older than that; `refuse` by default. */
  readonly whenStale?: 'refuse' | 'ask'
  /** Replaces the time of this process, for tests; `createVirtualClock` of `tokenlib/testing` returns one. */
  readonly clock?: Clock & { readonly scheduler: Scheduler }
}

const timedClock: Kind<NonNullable<ReplicaOptions['clock']>> = kindOf(
  'a function that has a scheduler, such as createVirtualClock() returns',
  (value) => isClock(value) && value.scheduler !== undefined,
)

const OPTIONS: OptionKinds<ReplicaOptions> = {
  bound: duration(),
  whenStale: choice(['refuse', 'ask']),
  clock: timedClock,
}

const [MIN_BOUND_MS, MAX_BOUND_MS] = [20, 60_000]

/** Throws for invalid options, and for a store that has a replica already. */
export function parseReplicaOptions(
  store: RevocationStore,
  options: ReplicaOptions,
): { readonly boundMs: number; readonly whenStale: 'refuse' | 'ask'; readonly clock: Clock } {
  const {
    bound = '1s',
    whenStale = 'refuse',
    clock = systemClock,
  } = parseOptions('replicate()', options, OPTIONS)
  if (store.replica !== undefined) throw new TypeError('The store has a replica already: replicate() it once')
  const boundMs = parseDuration(bound) * 1000
  if (boundMs === 0 && typeof store.readVersion !== 'function') {
    throw new RangeError(
      'bound: 0 needs a store that can tell synchronously whether it has changed (readVersion), such as ' +
        'createSqliteStore(database). With this store, bound must be between 20 ms and a minute',
    )
  }
  if (boundMs !== 0 && (boundMs < MIN_BOUND_MS || boundMs > MAX_BOUND_MS)) {
    throw new RangeError(
      "bound must be between 20 ms and a minute, for example '1s'; a number counts seconds",
    )
  }
  return { boundMs, whenStale, clock }
}

/** How long ago a copy was known to be complete. */
export interface Freshness {
  /** To be called before a read is sent; returns the moment by the monotonic clock. */
  begin(): number
  /** Says that the copy has everything that was there at a moment of the monotonic clock; the last read was sent then. */
  confirm(at: number): void
  /** Says that the copy may lack something; only what is confirmed as of a later moment counts. */
  expire(): void
  isFresh(): boolean
  /** In milliseconds; `null` before the first confirmation. */
  readAge(): number | null
  /** Whether the clock of the machine was set back, for the first time since this was asked and was so. */
  wasSetBack(): boolean
}

/** How far the two clocks may drift apart between two confirmations, in milliseconds. */
const MAX_DRIFT_MS = 1000

/**
 * Counts on the monotonic clock, which cannot be set. That one may stop while a machine is suspended, so the other clock
 * is compared with it: what ran further there has passed here too.
 */
export function createFreshness(boundMs: number, wallClock: Clock): Freshness {
  const { monotonicNow: steadyClock } = schedulerOf(wallClock)
  let confirmedAt = Number.NEGATIVE_INFINITY
  let expiredAt = Number.NEGATIVE_INFINITY
  // By how much the other clock was ahead of the monotonic one when the last read was sent, and the last confirmed one:
  // a machine may also be suspended while it waits for the answer.
  let sentLead = 0
  let lead = 0
  // The furthest that it was ahead: entries may have been dropped by it.
  let highestLead = wallClock() - steadyClock()

  return {
    begin() {
      const now = steadyClock()
      sentLead = wallClock() - now
      highestLead = Math.max(highestLead, sentLead)
      return now
    },
    confirm(at) {
      if (at < expiredAt) return
      confirmedAt = at
      lead = sentLead
    },
    expire() {
      expiredAt = steadyClock()
      confirmedAt = Number.NEGATIVE_INFINITY
    },
    isFresh() {
      // Both clocks, for every check: either of them may have stopped since the last one.
      const now = steadyClock()
      return now - confirmedAt <= boundMs && Math.abs(wallClock() - now - lead) <= MAX_DRIFT_MS
    },
    readAge: () => (Number.isFinite(confirmedAt) ? steadyClock() - confirmedAt : null),
    wasSetBack() {
      const now = wallClock() - steadyClock()
      if (now >= highestLead - MAX_DRIFT_MS) return false
      highestLead = now
      return true
    },
  }
}

/** The freshness of a copy whose store can tell synchronously whether it has changed: fresh until it has. */
export function createVersionFreshness(store: RevocationStore, wallClock: Clock): Freshness {
  const age = createFreshness(Number.POSITIVE_INFINITY, wallClock)
  let sent: string | null = null
  let confirmed: string | null = null

  const readVersion = (): string => {
    const version = store.readVersion?.()
    if (typeof version === 'string') return version
    throw new TypeError('readVersion() must return a string')
  }

  return {
    ...age,
    begin() {
      // Before the read, which may miss what is committed while it runs.
      sent = readVersion()
      return age.begin()
    },
    confirm(at) {
      age.confirm(at)
      confirmed = sent
    },
    expire() {
      age.expire()
      confirmed = null
    },
    isFresh: () => confirmed !== null && readVersion() === confirmed,
  }
}
