import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigurationError, RevocationUnavailableError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { isPromise } from '../promises.js'
import { monotonicNow } from '../time.js'
import { createCallLimit } from './call-limit.js'
import { withDeadline } from './deadline.js'
import { FOREVER, type RevocationKey } from './revocation.js'
import { parseAnswers } from './revocation-keys.js'
import type { LookupAnswer, LostData, RevocationStore } from './store.js'

/** Everything that a manager asks of a store goes through one of these. */
export interface StoreGuard {
  /**
   * What the store answers, at once where it can; `RevocationUnavailableError` when it fails, or takes too long.
   * `lifetime` is that of the token concerned: the store hears of a longer one than it knows before it is asked.
   */
  call<Value>(
    operation: string,
    run: (store: RevocationStore) => Value | PromiseLike<Value>,
    lifetime?: number,
  ): Value | Promise<Value>
  /** What the store answers about each of the keys, checked for shape; otherwise like `call`. */
  lookup(keys: readonly RevocationKey[], lifetime: number): LookupAnswer | Promise<LookupAnswer>
  /**
   * Announces a longer lifetime to the store, in the background; only calls about tokens that live as long wait for
   * that. What the store did not acknowledge is announced again, after the next call that it answers.
   */
  expect(lifetime: number): void
  /** Resolves when the store is there and fit for use; waits a few seconds for it, and then says why it is not. */
  ready(): Promise<void>
  /** The longest lifetime the store is to know of, in milliseconds. */
  readonly longestLifetime: number
}

/** How a store is guarded. */
export interface StoreGuardOptions {
  readonly timeoutMs: number
  /** The longest lifetime of the manager's tokens, in milliseconds. */
  readonly longestLifetime: number
  readonly emit: TokenEmitter['emit']
}

// A process that starts may wait for its store longer than a request may, and asks this often; milliseconds.
const PATIENCE = 5000
const READY_INTERVAL = 100
// Lifetimes are told to the store in steps, or every token that lives a little longer would be a write.
const LIFETIME_STEP = 3_600_000

// A lifetime that was not acknowledged is announced again at once, and then not sooner than this; milliseconds, doubling
// to the longest.
const ANNOUNCE_INTERVAL = 100
const LONGEST_ANNOUNCE_INTERVAL = 10_000

interface Preparation {
  readonly needs: number
  readonly done: Promise<void>
  /** The error of whoever waits for it too long. */
  readonly createReason: () => Error
}

/** Puts a deadline on every call of a store, and keeps calls from piling up while it does not answer. */
export function createStoreGuard(store: RevocationStore, options: StoreGuardOptions): StoreGuard {
  const { timeoutMs, emit } = options
  let { longestLifetime } = options
  // The longest lifetime that the store has acknowledged.
  let prepared = -1
  // Whether an announcement failed. A boolean, because every request looks at it.
  let isUnannounced = false
  let announceAt = 0
  let announceInterval = 0
  let preparing: Preparation | null = null
  const tooLate = (): Error => new Error(`The store did not answer within ${timeoutMs} ms`)
  const limit = createCallLimit(tooLate)

  // One function for all calls of `prepare`: the store keeps each listener once.
  const onLostData = (loss: LostData): void => emit('storeLostData', () => ({ ...loss }))

  const track = (answer: Promise<unknown>): (() => Error) => {
    const createReason = limit.track(answer)
    answer.then(
      () => isUnannounced && announce(),
      () => undefined,
    )
    return createReason
  }

  const ask = <Value>(
    run: (store: RevocationStore) => Value | PromiseLike<Value>,
  ): Value | Promise<Value> => {
    limit.assertAnswering()
    const answer = run(store)
    if (!isPromise(answer)) {
      limit.noteAnswer()
      if (isUnannounced) announce()
      return answer
    }
    // Once: a thenable may do its work anew each time it is asked.
    const promise = Promise.resolve(answer)
    return withDeadline(promise, timeoutMs, track(promise))
  }

  // One at a time. What succeeds after its deadline is good for the calls that follow.
  const prepare = async (): Promise<void> => {
    if (prepared >= longestLifetime) return
    const attempt =
      preparing !== null && preparing.needs >= longestLifetime ? preparing : beginPreparing(longestLifetime)
    preparing = attempt
    try {
      await withDeadline(attempt.done, timeoutMs, attempt.createReason)
    } finally {
      if (preparing === attempt) preparing = null
    }
  }

  const beginPreparing = (needs: number): Preparation => {
    limit.assertAnswering()
    const prepareStore = async (): Promise<void> => {
      await store.prepare({ longestLifetime: needs, onLostData })
      prepared = Math.max(prepared, needs)
      isUnannounced = prepared < longestLifetime
      announceInterval = 0
      announceAt = 0
    }
    const done = prepareStore()
    return { needs, done, createReason: track(done) }
  }

  // In the background. While the store is down, tokens that are made and calls that fail must not add to its load.
  const announce = (): void => {
    isUnannounced = prepared < longestLifetime
    const isUnderWay = preparing !== null && preparing.needs >= longestLifetime
    if (!isUnannounced || isUnderWay || monotonicNow() < announceAt) return
    prepare().catch((cause: unknown) => {
      announceAt = monotonicNow() + announceInterval
      announceInterval = Math.min(
        Math.max(ANNOUNCE_INTERVAL, 2 * announceInterval),
        LONGEST_ANNOUNCE_INTERVAL,
      )
      unavailable('prepare', cause)
      // A process that only makes tokens asks the store nothing: it tries again by itself.
      const timer: Partial<NodeJS.Timeout> = setTimeout(announce, LONGEST_ANNOUNCE_INTERVAL)
      timer.unref?.()
    })
  }

  const raise = (lifetime: number): void => {
    if (lifetime <= longestLifetime) return
    longestLifetime = Math.min(FOREVER, Math.ceil(lifetime / LIFETIME_STEP) * LIFETIME_STEP)
  }

  const unavailable = (operation: string, cause: unknown): RevocationUnavailableError => {
    const error = new RevocationUnavailableError(cause)
    emit('storeUnavailable', () => ({ operation, cause }))
    return error
  }

  const answerLater = async <Value>(operation: string, answer: () => Promise<Value>): Promise<Value> => {
    try {
      return await answer()
    } catch (cause) {
      throw unavailable(operation, cause)
    }
  }

  const call = <Value>(
    operation: string,
    run: (store: RevocationStore) => Value | PromiseLike<Value>,
    lifetime = 0,
  ): Value | Promise<Value> => {
    raise(lifetime)
    // A longer lifetime that is under way holds up only the calls that it is about.
    if (prepared < 0 || prepared < lifetime) {
      const answer = async (): Promise<Value> => {
        await prepare()
        return ask(run)
      }
      return answerLater(operation, () => withDeadline(answer(), timeoutMs, tooLate))
    }
    let answer: Value | Promise<Value>
    try {
      answer = ask(run)
    } catch (cause) {
      throw unavailable(operation, cause)
    }
    return isPromise(answer) ? answerLater(operation, () => answer) : answer
  }

  const askNow = (keys: readonly RevocationKey[]): LookupAnswer | PromiseLike<LookupAnswer> => {
    try {
      const answer = store.lookup(keys)
      return isPromise(answer) ? answer : parseAnswers(answer, keys)
    } catch (cause) {
      throw unavailable('lookup', cause)
    }
  }

  const lookupLater = (
    answer: PromiseLike<LookupAnswer>,
    keys: readonly RevocationKey[],
  ): LookupAnswer | Promise<LookupAnswer> => call('lookup', () => toAnswers(answer, keys))

  return {
    get longestLifetime() {
      return longestLifetime
    },
    call,
    lookup(keys, lifetime) {
      // What every request asks, of a store that answers at once: nothing is wrapped, and nothing waited for.
      if (prepared >= Math.max(0, lifetime) && limit.pending === 0) {
        const answer = askNow(keys)
        if (isPromise(answer)) return lookupLater(answer, keys)
        if (isUnannounced) announce()
        return answer
      }
      return call('lookup', (target) => toAnswers(target.lookup(keys), keys), lifetime)
    },
    expect(lifetime) {
      if (lifetime <= prepared) return
      raise(lifetime)
      announce()
    },
    async ready() {
      const deadline = monotonicNow() + PATIENCE
      for (;;) {
        try {
          return await prepare()
        } catch (cause) {
          if (cause instanceof ConfigurationError) throw cause
          if (monotonicNow() >= deadline) throw unavailable('prepare', cause)
        }
        await sleep(READY_INTERVAL)
      }
    },
  }
}

function toAnswers(
  answer: LookupAnswer | PromiseLike<LookupAnswer>,
  keys: readonly RevocationKey[],
): LookupAnswer | Promise<LookupAnswer> {
  return isPromise(answer)
    ? Promise.resolve(answer).then((later) => parseAnswers(later, keys))
    : parseAnswers(answer, keys)
}
