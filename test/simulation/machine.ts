import type { Clock, Scheduler, Timer } from '../../packages/tokenlib/src/time.js'
import type { Planned, Timeline } from './timeline.js'

/** A computer with clocks of its own. Processes run on it, one after the other. */
export interface Machine {
  readonly name: string
  /** The time of day that it believes, in epoch milliseconds. */
  readonly readWallClock: () => number
  readonly readMonotonicClock: () => number
  /** Sets the time of day: so much ahead of what it usually shows, or behind that. */
  readonly setClock: (ahead: number) => void
  /** Nothing runs for a while; both clocks go on. */
  readonly stall: (forMs: number) => void
  /** Nothing runs for a while, and the monotonic clock stands still. */
  readonly suspend: (forMs: number) => void
  /** Starts a process. */
  readonly startProcess: () => Process
}

/** A process of a machine, until it ends. */
export interface Process {
  readonly clock: Clock & { readonly scheduler: Scheduler }
  readonly isRunning: () => boolean
  /** Ends it as `kill -9` does: none of its code runs again. */
  readonly kill: () => void
  /** Runs something in it as soon as it can run, unless it has ended by then. */
  readonly deliver: (run: () => void) => void
  /** How many timers are waiting. */
  readonly countTimers: () => number
}

/** 2026-01-01, when the world begins. */
export const WORLD_STARTS_AT = Date.UTC(2026, 0, 1)

/** How a machine differs from others. */
export interface MachineOptions {
  /** How much faster its clocks run: 0.0001 gains nine seconds a day. */
  readonly drift: number
  /** By how much its time of day is ahead. */
  readonly leadMs: number
}

/** A machine of the world. */
export function createMachine(timeline: Timeline, name: string, { drift, leadMs }: MachineOptions): Machine {
  const rate = 1 + drift
  let lead = WORLD_STARTS_AT + leadMs
  // Elapsed time that the monotonic clock has not counted.
  let uncounted = 0
  let resumesAt = 0
  // While it is suspended, the monotonic clock shows the moment when that began.
  let stoppedAt: number | null = null
  let suspendedUntil = 0

  const hold = (forMs: number): void => {
    resumesAt = Math.max(resumesAt, timeline.now() + forMs)
  }

  const readMonotonicClock = (): number => ((stoppedAt ?? timeline.now()) - uncounted) * rate

  const startProcess = (): Process => {
    let isRunning = true
    let timers = 0

    // A machine that stands still does everything later, in the same order.
    const runWhenPossible = (run: () => void): void => {
      if (!isRunning) return
      if (timeline.now() < resumesAt) timeline.at(resumesAt, () => runWhenPossible(run))
      else run()
    }

    const scheduler: Scheduler = {
      monotonicNow: readMonotonicClock,
      setTimeout(callback, milliseconds) {
        timers++
        const delay = Math.max(0, milliseconds) / rate
        const fire = (): void => {
          if (planned.isOff) return
          timeline.cancel(planned)
          timers--
          callback()
        }
        const planned: Planned = timeline.at(timeline.now() + delay, () => runWhenPossible(fire))
        return planned as Planned & Timer
      },
      clearTimeout(timer) {
        const planned = timer as (Planned & Timer) | undefined
        if (planned === undefined || planned.isOff) return
        timeline.cancel(planned)
        timers--
      },
    }

    return {
      clock: Object.assign(() => lead + timeline.now() * rate, { scheduler }),
      isRunning: () => isRunning,
      kill() {
        isRunning = false
      },
      deliver: runWhenPossible,
      countTimers: () => timers,
    }
  }

  return {
    name,
    readWallClock: () => lead + timeline.now() * rate,
    readMonotonicClock,
    setClock(ahead) {
      lead = WORLD_STARTS_AT + leadMs + ahead
    },
    stall: hold,
    suspend(forMs) {
      hold(forMs)
      const from = timeline.now()
      suspendedUntil = Math.max(suspendedUntil, from + forMs)
      if (stoppedAt !== null) return
      stoppedAt = from
      // A process that is still stalled then does nothing, but the clock goes on.
      const resume = (): void => {
        if (timeline.now() < suspendedUntil) return void timeline.at(suspendedUntil, resume)
        stoppedAt = null
        uncounted += timeline.now() - from
      }
      timeline.at(suspendedUntil, resume)
    },
    startProcess,
  }
}
