/** How time passes. The machine's by default; a virtual one moves on instead of waiting. */
export interface Scheduler {
  /** Milliseconds since some fixed moment, by a clock that cannot be set back. */
  readonly monotonicNow: () => number
  /** Calls back after so many milliseconds. */
  readonly setTimeout: (callback: () => void, milliseconds: number) => Timer
  readonly clearTimeout: (timer: Timer | undefined) => void
}

/** A timer that was started; a number in browsers and Workers. */
export type Timer = number | { unref?(): unknown }

/**
 * The current time in epoch milliseconds; every check of this library reads time through one of these.
 *
 * A clock that has a `scheduler` also decides how long deadlines, intervals and retries take.
 */
export interface Clock {
  (): number
  readonly scheduler?: Scheduler
}

/** The time of the machine. The globals are read at each call, because test runners replace them. */
export const systemScheduler: Scheduler = {
  monotonicNow: () => performance.now(),
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as Parameters<typeof clearTimeout>[0]),
}

/** The clock of the machine. */
export const systemClock: Clock = Object.assign(() => Date.now(), { scheduler: systemScheduler })

/** How time passes by a clock. The functions work without `this`, also where they are methods of a class. */
export function schedulerOf({ scheduler = systemScheduler }: Clock): Scheduler {
  if (scheduler === systemScheduler) return scheduler
  return {
    monotonicNow: () => scheduler.monotonicNow(),
    setTimeout: (callback, milliseconds) => scheduler.setTimeout(callback, milliseconds),
    clearTimeout: (timer) => scheduler.clearTimeout(timer),
  }
}

/** Whether a value is a clock: a function, whose `scheduler`, if it has one, is complete. */
export function isClock(value: unknown): value is Clock {
  if (typeof value !== 'function') return false
  const { scheduler } = value as { readonly scheduler?: Partial<Scheduler> | null }
  return scheduler === undefined || isScheduler(scheduler)
}

/** Whether a value has everything that a scheduler needs. */
export function isScheduler(value: Partial<Scheduler> | null | undefined): value is Scheduler {
  return [value?.monotonicNow, value?.setTimeout, value?.clearTimeout].every(
    (member) => typeof member === 'function',
  )
}

/** A clock that throws instead of returning `NaN`: every comparison with `NaN` is false, so nothing would expire. */
export function createCheckedClock(clock: Clock): Clock {
  return () => {
    const now = clock()
    if (!Number.isFinite(now)) throw new TypeError('The clock must return epoch milliseconds')
    return now
  }
}

/**
 * A clock for deleting what has expired: it never runs ahead of the time that has really passed.
 *
 * Otherwise a system clock that jumps forward and back again would delete revocations of tokens that are still valid.
 */
export function createCautiousClock(clock: Clock): Clock {
  // A bare function is somebody's own time, and is used as it is.
  if (clock.scheduler === undefined) return clock
  const { monotonicNow } = schedulerOf(clock)
  // Workers have no time while a module is loaded.
  let lead: number | null = null
  return () => {
    lead ??= clock() - monotonicNow()
    return Math.min(clock(), lead + monotonicNow())
  }
}

/** Whole epoch seconds, the unit of `iat`, `nbf` and `exp` (RFC 7519 §2), rounded down. */
export function toEpochSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}

type Unit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w'

/** A length of time: a number of seconds, a number with a unit (`'15m'`), or ISO 8601 (`'PT15M'`). */
export type Duration = number | `${number}${Unit}` | `P${string}` | (string & {})

const SECONDS: Record<Unit, number> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

const WITH_UNIT = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d|w)$/
// ISO 8601 §4.4.3.2. Years and months have no fixed length, so they are left out.
const ISO_8601 =
  /^P(?:(\d{1,15})W|(?=\d|T\d)(?:(\d{1,15})D)?(?:T(?=\d)(?:(\d{1,15})H)?(?:(\d{1,15})M)?(?:(\d{1,15}(?:\.\d{1,6})?)S)?)?)$/

/** A duration in seconds, or `RangeError` for anything that is not clearly one. */
export function parseDuration(value: Duration): number {
  const seconds = typeof value === 'number' ? value : typeof value === 'string' ? readText(value) : null
  if (seconds === null || !Number.isFinite(seconds) || seconds < 0) {
    throw new RangeError(
      "a duration is a number of seconds, a number with a unit (ms, s, m, h, d or w: '15m'), or ISO 8601 ('PT15M')",
    )
  }
  return seconds
}

function readText(text: string): number | null {
  const unit = WITH_UNIT.exec(text)
  if (unit !== null) return Number(unit[1]) * SECONDS[unit[2] as Unit]
  const iso = ISO_8601.exec(text)
  if (iso === null) return null
  const [, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = iso
  return (
    Number(weeks) * SECONDS.w +
    Number(days) * SECONDS.d +
    Number(hours) * SECONDS.h +
    Number(minutes) * SECONDS.m +
    Number(seconds)
  )
}
