import { nextTurn } from '../runtime.js'
import { type Clock, type Duration, parseDuration, type Scheduler, type Timer } from '../time.js'

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

/** A clock that moves only when it is told to, and runs the timers that come due on its way. */
export interface VirtualClock extends Clock {
  readonly scheduler: Scheduler
  /**
   * Lets time pass: stops at every timer that comes due, and waits for what it has started. That may not depend on a
   * network, whose time is not virtual.
   */
  advance(by: Duration): Promise<void>
  /** Lets as much time pass as a promise needs to settle, and returns what it resolves to. */
  runUntil<Value>(promise: Promise<Value>): Promise<Value>
  /** Lets time pass like a process that is blocked: timers that come due run late, with the next call of `advance`. */
  block(by: Duration): void
  /** Sets the time of day. No time passes, and no timer comes due. */
  set(moment: Date): void
}

interface Waiting {
  readonly dueAt: number
  readonly callback: () => void
}

// How many turns of the event loop the work that a timer has started may take: in steps, or page by page.
const TURNS = 10

/** A clock at 2026-01-01 in UTC, unless told otherwise. Pass it to everything that takes a `clock`. */
export function createVirtualClock(start: Date = new Date('2026-01-01T00:00:00Z')): VirtualClock {
  // In the order in which they were started, which decides between those that are due at the same moment.
  const timers = new Set<Waiting>()
  let elapsed = 0
  let lead = toMilliseconds(start)

  const findNext = (until: number): Waiting | undefined => {
    let next: Waiting | undefined
    for (const timer of timers) {
      if (timer.dueAt <= until && (next === undefined || timer.dueAt < next.dueAt)) next = timer
    }
    return next
  }

  // No longer than until something is due without any time having passed.
  const settle = async (): Promise<void> => {
    let turn = 0
    do await nextTurn()
    while (++turn < TURNS && findNext(elapsed) === undefined)
  }

  const scheduler: Scheduler = {
    monotonicNow: () => elapsed,
    setTimeout(callback, milliseconds) {
      const timer: Waiting & Timer = { dueAt: elapsed + Math.max(0, milliseconds), callback }
      timers.add(timer)
      return timer
    },
    clearTimeout: (timer) => void timers.delete(timer as Waiting),
  }

  const runNext = (until: number): boolean => {
    const next = findNext(until)
    if (next === undefined) return false
    timers.delete(next)
    elapsed = Math.max(elapsed, next.dueAt)
    next.callback()
    return true
  }

  return Object.assign(() => lead + elapsed, {
    scheduler,
    async advance(by: Duration) {
      const until = elapsed + parseDuration(by) * 1000
      do await settle()
      while (runNext(until))
      elapsed = Math.max(elapsed, until)
    },
    async runUntil<Value>(promise: Promise<Value>) {
      const waiting = new Set([promise])
      const stop = (): void => waiting.clear()
      promise.then(stop, stop)
      for (await settle(); waiting.size > 0; await settle()) runNext(Number.POSITIVE_INFINITY)
      return promise
    },
    block(by: Duration) {
      elapsed += parseDuration(by) * 1000
    },
    set(moment: Date) {
      lead = toMilliseconds(moment) - elapsed
    },
  })
}

// With a clock that shows no time, no token would ever expire.
function toMilliseconds(moment: Date): number {
  const milliseconds = moment.getTime()
  if (Number.isNaN(milliseconds)) throw new TypeError('The clock cannot be set to an invalid Date')
  return milliseconds
}
