import { nextTurn, startTimer } from '../runtime.js'
import {
  type Clock,
  type Duration,
  parseDuration,
  type Scheduler,
  systemScheduler,
  type Timer,
} from '../time.js'

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
   * Lets time pass, from timer to timer. What a timer starts gets a few turns of the event loop before time moves on, and
   * no more: the time that a network, a database or the thread pool needs is not virtual. One call at a time.
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

const TURNS = 10
// The longest delay of a timer in Node and in browsers. Like there, one that is longer, or none at all, is a millisecond.
const MAX_DELAY_MS = 2 ** 31 - 1
// A timer that starts itself again without a delay would run for ever.
const MAX_AT_ONCE = 100_000

/** A clock at 2026-01-01 in UTC, unless told otherwise. Pass it to everything that takes a `clock`. */
export function createVirtualClock(start: Date = new Date('2026-01-01T00:00:00Z')): VirtualClock {
  // By the moment when they are due, then in the order in which they were started.
  const timers: Waiting[] = []
  let elapsed = 0
  let ranAtOnce = 0
  let lead = toMilliseconds(start)

  const isDue = (until: number): boolean => timers[0] !== undefined && timers[0].dueAt <= until

  // No longer than until something is due without any time having passed.
  const settle = async (): Promise<void> => {
    let turn = 0
    do await nextTurn()
    while (++turn < TURNS && !isDue(elapsed))
  }

  const runNext = (until: number): boolean => {
    if (!isDue(until)) return false
    const { dueAt, callback } = timers.shift() as Waiting
    ranAtOnce = dueAt > elapsed ? 0 : ranAtOnce + 1
    if (ranAtOnce > MAX_AT_ONCE) throw new Error('Timers without a delay start each other for ever')
    elapsed = Math.max(elapsed, dueAt)
    callback()
    return true
  }

  const scheduler: Scheduler = {
    monotonicNow: () => elapsed,
    setTimeout(callback, milliseconds) {
      const delay = milliseconds <= MAX_DELAY_MS ? Math.max(0, milliseconds) : 1
      const timer: Waiting & Timer = { dueAt: elapsed + delay, callback }
      const after = timers.findLastIndex(({ dueAt }) => dueAt <= timer.dueAt)
      timers.splice(after + 1, 0, timer)
      return timer
    },
    clearTimeout(timer) {
      const at = timers.indexOf(timer as Waiting)
      if (at !== -1) timers.splice(at, 1)
    },
  }

  return Object.assign(() => lead + elapsed, {
    scheduler,
    async advance(by: Duration) {
      const until = elapsed + toVirtual(by)
      do await settle()
      while (runNext(until))
      elapsed = Math.max(elapsed, until)
    },
    async runUntil<Value>(promise: Promise<Value>) {
      const waiting = new Set([promise])
      const stop = (): void => waiting.clear()
      promise.then(stop, stop)
      for (await settle(); waiting.size > 0; await settle()) {
        // Nothing in here can settle it. Something outside may, which takes real time.
        if (!runNext(Number.POSITIVE_INFINITY)) await pause()
      }
      return promise
    },
    block(by: Duration) {
      elapsed += toVirtual(by)
    },
    set(moment: Date) {
      lead = toMilliseconds(moment) - elapsed
    },
  })
}

// To the microsecond: a thousand times a number of seconds may be a little less than the milliseconds that are meant.
function toVirtual(by: Duration): number {
  return Math.round(parseDuration(by) * 1_000_000) / 1000
}

function pause(): Promise<void> {
  return new Promise((resolve) => startTimer(systemScheduler, resolve, 1))
}

// With a clock that shows no time, no token would ever expire.
function toMilliseconds(moment: Date): number {
  const milliseconds = moment.getTime()
  if (Number.isNaN(milliseconds)) throw new TypeError('The clock cannot be set to an invalid Date')
  return milliseconds
}
