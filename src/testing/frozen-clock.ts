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
  let now = start.getTime()
  return Object.assign(() => now, {
    advance(by: Duration) {
      now += parseDuration(by) * 1000
    },
    set(moment: Date) {
      now = moment.getTime()
    },
  })
}
