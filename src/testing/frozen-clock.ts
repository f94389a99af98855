import { type Clock, type Duration, parseDuration } from '../time.js'

/** A clock that stands still until it is moved. */
export interface FrozenClock extends Clock {
  /** Moves the clock on. */
  advance(by: Duration): void
  /** Moves the clock to a moment. */
  set(moment: Date): void
}

/** A clock that shows one moment, 2026-01-01 in UTC unless told otherwise; for `new TokenManager({ clock })`. */
export function createFrozenClock(start: Date = new Date('2026-01-01T00:00:00Z')): FrozenClock {
  let now = toMilliseconds(start)
  return Object.assign(() => now, {
    advance(by: Duration) {
      now += parseDuration(by) * 1000
    },
    set(moment: Date) {
      now = toMilliseconds(moment)
    },
  })
}

// With a clock that shows no time, no token would ever expire.
function toMilliseconds(moment: Date): number {
  const milliseconds = moment.getTime()
  if (Number.isNaN(milliseconds)) throw new TypeError('The clock cannot be set to an invalid Date')
  return milliseconds
}
