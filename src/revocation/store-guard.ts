import { setTimeout as sleep } from 'node:timers/promises'
import { ConfigurationError, RevocationUnavailableError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { monotonicNow } from '../time.js'
import { isThenable, withDeadline } from './deadline.js'
import { FOREVER } from './revocation.js'
import type { RevocationStore } from './store.js'

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
  /** Lets the store know of a longer lifetime, soon; whatever is asked of it next waits for that. */
  expect(lifetime: number): void
  /** Resolves when the store is there and fit for use; waits a few seconds for it, and then says why it is not. */
  ready(): Promise<void>
  /** The longest lifetime the store was told of so far, in milliseconds. */
  readonly longestLifetime: number
}

/** How a store is guarded. */
export interface StoreGuardOptions {
  readonly timeoutMs: number
  /** The longest lifetime of the manager's tokens, in milliseconds. */
  readonly longestLifetime: number
  readonly emit: TokenEmitter['emit']
}

// So many questions may wait in a client whose server is gone; from then on they are refused unasked.
const MOST_PENDING = 1000
// How often one is let through all the same, to see whether the server is back; milliseconds.
const PROBE_INTERVAL = 100
// A process that starts may wait for its store longer than a request may; milliseconds.
const PATIENCE = 5000

/** Puts a deadline on every call of a store, and keeps calls from piling up while it does not answer. */
export function createStoreGuard(store: RevocationStore, options: StoreGuardOptions): StoreGuard {
  const { timeoutMs, emit } = options
  let { longestLifetime } = options
  let prepared = -1
  let preparing: Promise<void> | null = null
  let pending = 0
  let answeredAt = 0
  let probedAt = 0

  // Many questions at once are fine as long as answers come; without any, a client would queue them without end.
  const assertAnswering = (): void => {
    if (pending < MOST_PENDING) return
    const now = monotonicNow()
    if (now - answeredAt <= timeoutMs) return
    if (now - probedAt < PROBE_INTERVAL) throw new Error('The store has stopped answering')
    probedAt = now
  }

  const ask = <Value>(
    run: (store: RevocationStore) => Value | PromiseLike<Value>,
  ): Value | Promise<Value> => {
    assertAnswering()
    const answer = run(store)
    // Calls that a client has lost are never settled; an answer shows that they are not waiting any more.
    const forgetLost = (): void => {
      if (pending >= MOST_PENDING) pending = 0
    }
    if (!isThenable(answer)) {
      forgetLost()
      return answer
    }
    if (pending++ === 0) answeredAt = monotonicNow()
    const settle = (): void => {
      answeredAt = monotonicNow()
      pending = Math.max(0, pending - 1)
      forgetLost()
    }
    answer.then(settle, settle)
    return withDeadline(answer, timeoutMs, tooLate)
  }

  const tooLate = (): Error => new Error(`The store did not answer within ${timeoutMs} ms`)

  // One at a time, and forgotten when it fails, so that the next call tries again.
  const prepare = async (): Promise<void> => {
    const needs = { longestLifetime }
    preparing ??= Promise.resolve(ask(() => store.prepare(needs)))
      .then(() => void (prepared = Math.max(prepared, needs.longestLifetime)))
      .finally(() => (preparing = null))
    await preparing
    if (prepared < longestLifetime) await prepare()
  }

  const unavailable = (operation: string, cause: unknown): RevocationUnavailableError => {
    const error = new RevocationUnavailableError(cause)
    emit('storeUnavailable', () => ({ operation, error }))
    return error
  }

  const answerLater = async <Value>(operation: string, answer: () => Promise<Value>): Promise<Value> => {
    try {
      return await answer()
    } catch (cause) {
      throw unavailable(operation, cause)
    }
  }

  return {
    get longestLifetime() {
      return longestLifetime
    },
    call<Value>(
      operation: string,
      run: (store: RevocationStore) => Value | PromiseLike<Value>,
      lifetime = 0,
    ): Value | Promise<Value> {
      longestLifetime = Math.max(longestLifetime, lifetime)
      if (prepared < longestLifetime) {
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
      return isThenable(answer) ? answerLater(operation, () => answer) : answer
    },
    expect(lifetime) {
      if (lifetime <= longestLifetime) return
      longestLifetime = Math.min(lifetime, FOREVER)
      prepare().catch((cause: unknown) => void unavailable('prepare', cause))
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
        await sleep(PROBE_INTERVAL)
      }
    },
  }
}
