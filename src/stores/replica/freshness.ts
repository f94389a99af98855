import { type Clock, monotonicNow } from '../../time.js'

/** How long ago a copy was known to be complete. */
export interface Freshness {
  /** Says that the copy has everything that was there at a moment of the monotonic clock. */
  confirm(at: number): void
  /** Says that nothing is known of the copy any more. */
  expire(): void
  isFresh(): boolean
  /** In milliseconds; `null` before the first confirmation. */
  readAge(): number | null
  /** Whether the machine was suspended or its clock was set since the last confirmation. */
  hasLostTime(): boolean
}

/** How far the two clocks may drift apart between two confirmations, in milliseconds. */
const MAX_DRIFT_MS = 1000

/**
 * Counts on the monotonic clock, which cannot be set. That one may stop while a machine is suspended, so the other clock
 * is compared with it: what ran further there has passed here too.
 */
export function createFreshness(
  boundMs: number,
  wallClock: Clock,
  steadyClock: Clock = monotonicNow,
): Freshness {
  let confirmedAt = Number.NEGATIVE_INFINITY
  // By how much the other clock is ahead of the monotonic one.
  let lead = 0

  const hasDrifted = (now: number): boolean => Math.abs(wallClock() - now - lead) > MAX_DRIFT_MS

  return {
    confirm(at) {
      confirmedAt = at
      lead = wallClock() - steadyClock()
    },
    expire() {
      confirmedAt = Number.NEGATIVE_INFINITY
    },
    isFresh() {
      const now = steadyClock()
      return now - confirmedAt <= boundMs && !hasDrifted(now)
    },
    readAge: () => (Number.isFinite(confirmedAt) ? steadyClock() - confirmedAt : null),
    hasLostTime: () => Number.isFinite(confirmedAt) && hasDrifted(steadyClock()),
  }
}
