/** Limits lookups for unknown keys; refills evenly over time. */
export interface LookupBudget {
  /** Milliseconds until the next lookup is allowed; 0 if one is allowed now. */
  waitMs(): number
  /** Takes one lookup. Returns `false` and takes nothing if none is left. */
  take(): boolean
  /** Returns one: the lookup found a key, so it was not a guess. */
  giveBack(): void
}

/**
 * A budget of `count` lookups per `periodMs`. They refill one by one, so that a burst cannot use up the next period too.
 * `now` is a monotonic clock in milliseconds.
 */
export function createLookupBudget(count: number, periodMs: number, now: () => number): LookupBudget {
  const interval = periodMs / count
  // When the budget is full again.
  let fullAt = Number.NEGATIVE_INFINITY
  const waitMs = (): number => Math.max(0, fullAt - (periodMs - interval) - now())
  return {
    waitMs,
    take() {
      if (waitMs() > 0) return false
      fullAt = Math.max(fullAt, now()) + interval
      return true
    },
    giveBack() {
      fullAt -= interval
    },
  }
}
