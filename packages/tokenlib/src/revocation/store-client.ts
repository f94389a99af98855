import { isConfigurationError, RevocationUnavailableError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { type Observers, observeStoreCall } from '../observer.js'
import { withDeadline } from '../runtime.js'
import { emitWarning, IS_WORKERD, sleep, startTimer } from '../runtime.js'
import { monotonicNow } from '../time.js'
import { createCallLimit, StoreCallError } from './call-limit.js'
import {
  FOREVER,
  type LookupAnswer,
  parseAnswers,
  type Revocation,
  type RevocationKey,
} from './revocation.js'
import type { LookupOptions, LostData, ReplicaChange, RevocationStore } from './store.js'

/** Every call of a manager to its store goes through one of these. */
export interface StoreClient {
  /**
   * What the store answers; `RevocationUnavailableError` when it fails, or takes too long. `lifetime` is that of the token
   * concerned: a longer one than the store knows is announced to it first.
   */
  call<Value>(
    operation: string,
    run: (store: RevocationStore) => Promise<Value>,
    lifetime?: number,
  ): Promise<Value>
  /** What the store answers about each of the keys, checked for shape; otherwise like `call`. */
  lookup(keys: readonly RevocationKey[], lifetime: number, options?: LookupOptions): Promise<LookupAnswer>
  /** Whether the store is prepared for tokens of this lifetime, and nothing has to be announced. */
  isPrepared(lifetime: number): boolean
  /**
   * Announces a longer lifetime to the store, in the background; only calls about tokens that live as long wait for
   * that. What the store did not acknowledge is announced again, after the next call that it answers.
   */
  expect(lifetime: number): void
  /** Refuses in this process what the store could not be asked to revoke, where there is a replica. */
  keepUnsent(batch: readonly Revocation[]): void
  /** Resolves when the store is there and fit for use; waits a few seconds for it, and then rejects with the reason. */
  ready(): Promise<void>
  /** Closes the store, once: from then on every call is refused. Rejects if the store cannot be closed in time. */
  close(): Promise<void>
  readonly isClosed: boolean
  /** The longest lifetime the store is to know of, in milliseconds. */
  readonly longestLifetime: number
  /** How long the store may take to answer a call. */
  readonly timeoutMs: number
}

/** How a store is called. */
export interface StoreClientOptions {
  readonly timeoutMs: number
  /** The longest lifetime of the manager's tokens, in milliseconds. */
  readonly longestLifetime: number
  readonly emit: TokenEmitter['emit']
  readonly observers: Observers
}

// A process that starts may wait for its store longer than a request may.
const READY_TIMEOUT_MS = 5000
const READY_INTERVAL_MS = 100
// Lifetimes are announced in steps, or every token that lives a little longer would be a write.
const LIFETIME_STEP_MS = 3_600_000
// A lifetime that was not acknowledged is announced again at once, and then not sooner than this, doubling to the longest.
const ANNOUNCE_INTERVAL_MS = 100
const MAX_ANNOUNCE_INTERVAL_MS = 10_000

const REPLICA_EVENTS = { stale: 'replicaStale', fresh: 'replicaFresh', reset: 'replicaReset' } as const

interface Preparation {
  readonly lifetime: number
  readonly done: Promise<void>
  /** Makes the error for a caller that waited too long. */
  readonly createReason: () => Error
}

// There, a client that was connected in an earlier request does not fail: it never answers.
const OTHER_REQUEST =
  '. In a Worker, a connection belongs to the request in which it was opened: if this store has one, create its client ' +
  'and the manager for each request'

const NOT_THERE = '. Is its server running, and does its client have the right address?'

/** Puts a deadline on every call of a store, and keeps calls from piling up while it does not answer. */
export function createStoreClient(store: RevocationStore, options: StoreClientOptions): StoreClient {
  const { timeoutMs, emit, observers } = options
  let { longestLifetime } = options
  // The longest lifetime that the store has acknowledged.
  let prepared = -1
  // Whether an announcement failed. A boolean, because every request looks at it.
  let isUnannounced = false
  let hasWarned = false
  let announceAt = 0
  let announceInterval = 0
  let preparing: Preparation | null = null
  let closing: Promise<void> | null = null
  const createTooLate = (waitedMs = timeoutMs, hint = ''): Error =>
    new StoreCallError(
      'STORE_TIMEOUT',
      `The store did not answer within ${waitedMs} ms${IS_WORKERD ? OTHER_REQUEST : hint}`,
    )
  const limit = createCallLimit(createTooLate, () => {
    if (isUnannounced) announce()
  })

  const assertOpen = (): void => {
    if (closing !== null) throw new Error('The token manager is closed')
  }

  // One function for all calls of `prepare`: the store keeps each listener once.
  const onLostData = (loss: LostData): void => emit('storeLostData', () => ({ ...loss }))

  const onReplicaChange = ({ kind, state }: ReplicaChange): void => {
    const { ageMs, boundMs, entries, lastError } = state
    emit(REPLICA_EVENTS[kind], () => ({ ageMs, boundMs, entries, cause: lastError }))
  }

  const callInTime = async <Value>(run: (store: RevocationStore) => Promise<Value>): Promise<Value> => {
    assertOpen()
    limit.assertAnswering()
    // Once: a thenable may do its work anew each time it is asked.
    const answer = Promise.resolve(run(store))
    return withDeadline(answer, timeoutMs, limit.track(answer))
  }

  // One at a time. What succeeds after its deadline is good for the calls that follow.
  const prepare = async (): Promise<void> => {
    if (prepared >= longestLifetime) return
    assertOpen()
    const attempt = findPreparing() ?? startPreparing(longestLifetime)
    preparing = attempt
    try {
      await withDeadline(attempt.done, timeoutMs, attempt.createReason)
    } finally {
      if (preparing === attempt) preparing = null
    }
  }

  const findPreparing = (): Preparation | null => {
    // In a Worker, what another request has started may never settle: it ends with that request.
    const isUseful = !IS_WORKERD && preparing !== null && preparing.lifetime >= longestLifetime
    return isUseful ? preparing : null
  }

  const startPreparing = (lifetime: number): Preparation => {
    limit.assertAnswering()
    const prepareStore = async (): Promise<void> => {
      await observe('prepare', () =>
        store.prepare({ longestLifetime: lifetime, onLostData, onReplicaChange }),
      )
      assertOpen()
      prepared = Math.max(prepared, lifetime)
      isUnannounced = prepared < longestLifetime
      announceInterval = 0
      announceAt = 0
    }
    const done = prepareStore()
    return { lifetime, done, createReason: limit.track(done) }
  }

  // In the background. While the store is down, tokens that are made and calls that fail must not add to its load.
  const announce = (): void => {
    isUnannounced = prepared < longestLifetime && closing === null
    if (!isUnannounced || findPreparing() !== null || monotonicNow() < announceAt) return
    prepare().catch((cause: unknown) => {
      announceAt = monotonicNow() + announceInterval
      announceInterval = Math.min(
        Math.max(ANNOUNCE_INTERVAL_MS, 2 * announceInterval),
        MAX_ANNOUNCE_INTERVAL_MS,
      )
      unavailable('prepare', cause)
      // A process that only creates tokens calls the store for nothing else: it tries again by itself.
      startTimer(announce, MAX_ANNOUNCE_INTERVAL_MS)
    })
  }

  const raise = (lifetime: number): void => {
    if (lifetime <= longestLifetime) return
    longestLifetime = Math.min(FOREVER, Math.ceil(lifetime / LIFETIME_STEP_MS) * LIFETIME_STEP_MS)
  }

  const unavailable = (operation: string, cause: unknown): RevocationUnavailableError => {
    const error = new RevocationUnavailableError(cause)
    // A mistake of the operator is not an outage that ends by itself, and a 503 says nothing of it.
    if (isConfigurationError(cause) && !hasWarned) {
      hasWarned = true
      emitWarning(`The revocation store cannot be used: ${cause.message}`, 'TokenStoreWarning')
    }
    emit('storeUnavailable', () => ({ operation, cause }))
    return error
  }

  const observe = <Value>(operation: string, run: () => Promise<Value>): Promise<Value> => {
    const { current } = observers
    if (current === null) return run()
    return observeStoreCall(current, { operation, system: store.system ?? null }, run)
  }

  const call: StoreClient['call'] = (operation, run, lifetime = 0) =>
    observe(operation, () => callPrepared(operation, run, lifetime))

  const callPrepared: StoreClient['call'] = async (operation, run, lifetime = 0) => {
    raise(lifetime)
    try {
      // A longer lifetime that is being announced holds up only the calls that it concerns.
      if (prepared >= Math.max(0, lifetime)) return await callInTime(run)
      const answer = prepare().then(() => callInTime(run))
      return await withDeadline(answer, timeoutMs, createTooLate)
    } catch (cause) {
      throw unavailable(operation, cause)
    }
  }

  const closeStore = async (): Promise<void> => {
    try {
      await withDeadline(Promise.resolve(store.close()), timeoutMs, createTooLate)
    } catch (cause) {
      throw unavailable('close', cause)
    }
  }

  return {
    get longestLifetime() {
      return longestLifetime
    },
    get isClosed() {
      return closing !== null
    },
    close() {
      // Nothing is prepared any more, so that no check is answered from memory.
      prepared = -1
      return (closing ??= closeStore())
    },
    timeoutMs,
    call,
    lookup: (keys, lifetime, lookupOptions) =>
      call(
        'lookup',
        async (target) => parseAnswers(await target.lookup(keys, lookupOptions), keys),
        lifetime,
      ),
    isPrepared: (lifetime) => prepared >= Math.max(0, lifetime) && !isUnannounced,
    expect(lifetime) {
      if (lifetime <= prepared) return
      raise(lifetime)
      announce()
    },
    keepUnsent: (batch) => store.replica?.keepUnsent(batch),
    async ready() {
      const deadline = monotonicNow() + READY_TIMEOUT_MS
      for (;;) {
        try {
          return await prepare()
        } catch (cause) {
          if (isConfigurationError(cause)) throw cause
          if (closing !== null) throw unavailable('prepare', cause)
          // A client that waits for its connection has no error of its own, and the last attempt is not the whole wait.
          const reason = cause instanceof StoreCallError ? createTooLate(READY_TIMEOUT_MS, NOT_THERE) : cause
          if (monotonicNow() >= deadline) throw unavailable('prepare', reason)
        }
        await sleep(READY_INTERVAL_MS)
      }
    },
  }
}
