import { type Clock, monotonicNow } from '../../time.js'

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
export function createFreshness(
  boundMs: number,
  wallClock: Clock,
  steadyClock: Clock = monotonicNow,
): Freshness {
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

/**
 * The freshness of a copy whose store can tell at once whether it has changed: fresh until it has, and not a moment
 * longer. Reads come one after the other.
 */
export function createVersionFreshness(
  readVersion: () => string,
  wallClock: Clock,
  steadyClock: Clock = monotonicNow,
): Freshness {
  const age = createFreshness(Number.POSITIVE_INFINITY, wallClock, steadyClock)
  let sent: string | null = null
  let confirmed: string | null = null

  return {
    ...age,
    begin() {
      // Before the read: what is committed meanwhile may be missing in it.
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
