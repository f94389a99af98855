import { monotonicNow } from '../time.js'

/** Counts the calls that a store has not answered, and refuses more while there are too many. */
export interface CallLimit {
  /** How many calls are under way. */
  readonly pending: number
  /** Throws while too many calls are under way; lets one through now and then, to see whether the store is back. */
  readonly assertAnswering: () => void
  /**
   * Counts a call for as long as its client may hold on to it. What it returns makes the error of a call that is late.
   */
  readonly track: (answer: Promise<unknown>) => () => Error
  /** The store has answered a call at once. */
  readonly noteAnswer: () => void
}

// So many questions may wait in a client while none is answered, and so many while some are; more are refused unasked.
// Few, because a server that is back has to answer them all before the next one.
const MOST_UNANSWERED = 200
const MOST_PENDING = 10_000
// How often one is let through all the same, to see whether the server is back; milliseconds, doubling to the longest.
const PROBE_INTERVAL = 100
const LONGEST_PROBE_INTERVAL = 1000
// A call that is not settled after this long is lost, and nothing waits for it any more; milliseconds.
const LOST_AFTER = 60_000

/** The limit of one store. */
export function createCallLimit(createTooLate: () => Error): CallLimit {
  let pending = 0
  let isSilent = false
  let answeredAt = 0
  let probedAt = 0
  let probeInterval = PROBE_INTERVAL

  return {
    get pending() {
      return pending
    },
    assertAnswering() {
      if (pending < (isSilent ? MOST_UNANSWERED : MOST_PENDING)) return
      const now = monotonicNow()
      if (now - probedAt < probeInterval) throw new Error('The store has stopped answering')
      probedAt = now
      probeInterval = Math.min(2 * probeInterval, LONGEST_PROBE_INTERVAL)
    },
    track(answer) {
      const startedAt = monotonicNow()
      let lost: NodeJS.Timeout | undefined
      let isCounted = true
      const forget = (): void => {
        if (isCounted) pending--
        isCounted = false
      }
      const settle = (): void => {
        clearTimeout(lost)
        forget()
        answeredAt = monotonicNow()
        isSilent = false
        probeInterval = PROBE_INTERVAL
      }
      pending++
      answer.then(settle, settle)
      return () => {
        if (answeredAt < startedAt) isSilent = true
        lost ??= setTimeout(forget, LOST_AFTER).unref()
        return createTooLate()
      }
    },
    noteAnswer() {
      isSilent = false
    },
  }
}
