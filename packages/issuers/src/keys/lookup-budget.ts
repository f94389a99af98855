/** How many look-ups for unknown keys are allowed, refilled evenly over time. */
export interface LookupBudget {
  /** Milliseconds until the next look-up is allowed; 0 if one is allowed now. */
  waitMs(): number
  /** Takes one look-up. Returns `false` and takes nothing if none is left. */
  take(): boolean
  /** Gives one back: the look-up found a key, so it was no guess. */
  giveBack(): void
}

/**
 * A budget of `count` look-ups per `periodMs`. They come back one by one, so that nobody can use up a whole period at once.
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
