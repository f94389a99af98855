import { monotonicNow } from '../time.js'

/** Why a call of a store was given up; `code` tells the two cases apart in telemetry. */
export class StoreCallError extends Error {
  readonly code: 'STORE_TIMEOUT' | 'STORE_OVERLOADED'

  constructor(code: StoreCallError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Puts a deadline on the calls of a store, and refuses more while too many are unanswered. */
export interface CallLimit {
  /** Throws while too many calls are unanswered; lets one through now and then, to see whether the store is back. */
  readonly assertAnswering: () => void
  /** Counts a call until it settles. What it returns makes the error for a call that is late. */
  readonly track: (answer: Promise<unknown>) => () => Error
}

// How many calls may wait in a client while none is answered, and while some are; more are refused without asking.
// Few, because a server that is back has to answer them all before the next one.
const MAX_UNANSWERED = 200
const MAX_PENDING = 10_000
// How often one is let through all the same, doubling to the longest.
const PROBE_INTERVAL_MS = 100
const MAX_PROBE_INTERVAL_MS = 1000
// A call that is not settled after this long is lost, and no longer counted.
const LOST_AFTER_MS = 60_000

/** The limit of one store; `onAnswer` is called whenever a call succeeds, in time or not. */
export function createCallLimit(createTooLate: () => Error, onAnswer: () => void): CallLimit {
  // The moments when they started, oldest first. Without timers: those of a Worker end with their request.
  const pending = new Set<{ readonly startedAt: number }>()
  let isSilent = false
  let answeredAt = 0
  let probedAt = 0
  let probeInterval = PROBE_INTERVAL_MS

  const isFull = (): boolean => pending.size >= (isSilent ? MAX_UNANSWERED : MAX_PENDING)

  const forgetLost = (now: number): void => {
    for (const call of pending) {
      if (now - call.startedAt < LOST_AFTER_MS) return
      pending.delete(call)
    }
  }

  return {
    assertAnswering() {
      if (!isFull()) return
      const now = monotonicNow()
      forgetLost(now)
      if (!isFull()) return
      if (now - probedAt < probeInterval)
        throw new StoreCallError('STORE_OVERLOADED', 'The store has stopped answering')
      probedAt = now
      probeInterval = Math.min(2 * probeInterval, MAX_PROBE_INTERVAL_MS)
    },
    track(answer) {
      const call = { startedAt: monotonicNow() }
      const onSettled = (): void => {
        pending.delete(call)
        answeredAt = monotonicNow()
        isSilent = false
        probeInterval = PROBE_INTERVAL_MS
      }
      const onSuccess = (): void => {
        onSettled()
        onAnswer()
      }
      pending.add(call)
      answer.then(onSuccess, onSettled)
      return () => {
        if (answeredAt < call.startedAt) isSilent = true
        return createTooLate()
      }
    },
  }
}
