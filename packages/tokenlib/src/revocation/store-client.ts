import { isConfigurationError, RevocationUnavailableError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import { type Observers, observeStoreCall } from '../observer.js'
import { emitWarning, IS_WORKERD, sleep, startTimer, withDeadline } from '../runtime.js'
import type { Scheduler } from '../time.js'
import { FOREVER, type LookupAnswer, parseAnswers, type RevocationKey } from './revocation.js'
import type { LookupOptions, LostData, ReplicaChange, RevocationStore } from './store.js'

/** Calls a store. Each call has a deadline, and the number of pending calls is limited while the store does not answer. */
export interface StoreClient {
  /**
   * The answer of the store, or `RevocationUnavailableError` if it fails or takes too long. If `lifetime`, of the token that
   * the call is about, is longer than any before, the store is told first.
   */
  call<Value>(
    operation: string,
    run: (store: RevocationStore) => Promise<Value>,
    lifetime?: number,
  ): Promise<Value>
  /** The store's answer for each key, checked for shape. Otherwise like `call`. */
  lookup(keys: readonly RevocationKey[], lifetime: number, options?: AnswerOptions): Promise<LookupAnswer>
  /** Tells the store about a longer lifetime in the background. Only calls about tokens that live as long wait for it. */
  expect(lifetime: number): void
  /** Resolves once the store is prepared. Waits a few seconds for it, then rejects with the reason. */
  ready(): Promise<void>
  /** Closes the store; every later call is refused. Rejects if the store cannot be closed in time. */
  close(): Promise<void>
  /** Plain fields, because every request reads them. */
  readonly lifetimes: Lifetimes
  readonly timeoutMs: number
}

/** What an answer must include. */
export interface AnswerOptions extends LookupOptions {
  /** Everything that was acknowledged: a replica asks its store. */
  readonly fromStore?: true
}

/** Token lifetimes in milliseconds: the store has to know `longest`, and has acknowledged `prepared`. */
export interface Lifetimes {
  readonly longest: number
  readonly prepared: number
}

/** How a store is called. */
export interface StoreClientOptions {
  readonly timeoutMs: number
  /** The longest lifetime of the manager's tokens, in milliseconds. */
  readonly longestLifetime: number
  readonly emit: TokenEmitter['emit']
  readonly observers: Observers
  readonly scheduler: Scheduler
}

// How many calls may be pending while the store answers none, and while it answers some. Few, because a server that
// comes back has to answer them all before the next one.
const MAX_UNANSWERED = 200
const MAX_PENDING = 10_000
// Beyond that, one call per interval probes whether the store is back. The interval doubles up to the maximum.
const PROBE_INTERVAL_MS = 100
const MAX_PROBE_INTERVAL_MS = 1000
// A call that has not settled by then is lost, and no longer counted.
const LOST_AFTER_MS = 60_000
// A starting process may wait for its store longer than a request may.
const READY_TIMEOUT_MS = 5000
const READY_INTERVAL_MS = 100
// Lifetimes are announced in steps. Otherwise every token that lives a little longer would be a write.
const LIFETIME_STEP_MS = 3_600_000
// A failed announcement is repeated immediately, then after this interval, which doubles up to the maximum.
const ANNOUNCE_INTERVAL_MS = 100
const MAX_ANNOUNCE_INTERVAL_MS = 10_000

const REPLICA_EVENTS = { stale: 'replicaStale', fresh: 'replicaFresh', reset: 'replicaReset' } as const

// In a Worker, a client that was connected in an earlier request does not fail: it never answers.
const OTHER_REQUEST =
  '. In a Worker, a connection belongs to the request in which it was opened: if this store has one, create its client ' +
  'and the manager for each request'
const NOT_THERE = '. Is its server running, and does its client have the right address?'

/** Why a store call was given up; `code` distinguishes the two cases in telemetry. */
class StoreCallError extends Error {
  readonly code: 'STORE_TIMEOUT' | 'STORE_OVERLOADED'

  constructor(code: StoreCallError['code'], message: string) {
    super(message)
    this.code = code
  }
}

interface StartedCall<Value> {
  readonly answer: Promise<Value>
  readonly startedAt: number
}

/** The client of one store. */
export function createStoreClient(store: RevocationStore, options: StoreClientOptions): StoreClient {
  const { timeoutMs, emit, observers, scheduler } = options
  const { monotonicNow } = scheduler
  const lifetimes = { longest: options.longestLifetime, prepared: -1 }
  // Oldest first. No timers, because in a Worker they end with their request.
  const pending = new Set<StartedCall<unknown>>()
  let isSilent = false
  let answeredAt = 0
  let probedAt = 0
  let probeInterval = PROBE_INTERVAL_MS
  let preparing: (StartedCall<void> & { readonly lifetime: number }) | null = null
  let announceAt = 0
  let announceInterval = 0
  let hasWarned = false
  let closing: Promise<void> | null = null

  const createTooLate = (waitedMs = timeoutMs, hint = ''): Error =>
    new StoreCallError(
      'STORE_TIMEOUT',
      `The store did not answer within ${waitedMs} ms${IS_WORKERD ? OTHER_REQUEST : hint}`,
    )

  const assertOpen = (): void => {
    if (closing !== null) throw new Error('The token manager is closed')
  }

  const isFull = (): boolean => pending.size >= (isSilent ? MAX_UNANSWERED : MAX_PENDING)

  const assertAnswering = (): void => {
    if (!isFull()) return
    const now = monotonicNow()
    for (const call of pending) {
      if (now - call.startedAt < LOST_AFTER_MS) break
      pending.delete(call)
    }
    if (!isFull()) return
    if (now - probedAt < probeInterval)
      throw new StoreCallError('STORE_OVERLOADED', 'The store has stopped answering')
    probedAt = now
    probeInterval = Math.min(2 * probeInterval, MAX_PROBE_INTERVAL_MS)
  }

  // Starts a call, and counts it until it settles.
  const start = <Value>(run: () => Promise<Value>): StartedCall<Value> => {
    assertOpen()
    assertAnswering()
    // Resolved once: a thenable may repeat its work each time it is awaited.
    const call = { answer: Promise.resolve(run()), startedAt: monotonicNow() }
    const onSettled = (): void => {
      pending.delete(call)
      answeredAt = monotonicNow()
      isSilent = false
      probeInterval = PROBE_INTERVAL_MS
    }
    pending.add(call)
    const onSuccess = (): void => {
      onSettled()
      announce()
    }
    call.answer.then(onSuccess, onSettled)
    return call
  }

  const wait = <Value>({ answer, startedAt }: StartedCall<Value>): Promise<Value> =>
    withDeadline(scheduler, answer, timeoutMs, () => {
      if (answeredAt < startedAt) isSilent = true
      return createTooLate()
    })

  const observe = <Value>(operation: string, run: () => Promise<Value>): Promise<Value> => {
    const { current } = observers
    if (current === null) return run()
    return observeStoreCall(current, monotonicNow, { operation, system: store.system ?? null }, run)
  }

  // One function for all calls of `prepare`: the store keeps each listener once.
  const onLostData = (loss: LostData): void => emit('storeLostData', () => ({ ...loss }))

  const onReplicaChange = ({ kind, state }: ReplicaChange): void => {
    const { ageMs, boundMs, entries, lastError } = state
    emit(REPLICA_EVENTS[kind], () => ({ ageMs, boundMs, entries, cause: lastError }))
  }

  const startPreparing = (lifetime: number): NonNullable<typeof preparing> => {
    const needs = { longestLifetime: lifetime, onLostData, onReplicaChange }
    const started = start(async () => {
      await observe('prepare', () => store.prepare(needs))
      assertOpen()
      lifetimes.prepared = Math.max(lifetimes.prepared, lifetime)
      announceInterval = 0
      announceAt = 0
    })
    return { ...started, lifetime }
  }

  const findPreparing = (): typeof preparing => {
    // In a Worker, what another request has started may never settle: it ends with that request.
    const isUseful = !IS_WORKERD && preparing !== null && preparing.lifetime >= lifetimes.longest
    return isUseful ? preparing : null
  }

  // One at a time. A preparation that succeeds after its deadline counts for the calls that follow.
  const prepare = async (): Promise<void> => {
    if (lifetimes.prepared >= lifetimes.longest) return
    assertOpen()
    const attempt = findPreparing() ?? startPreparing(lifetimes.longest)
    preparing = attempt
    try {
      await wait(attempt)
    } finally {
      if (preparing === attempt) preparing = null
    }
  }

  // Prepares in the background. New tokens and failed calls must not add to the load of a store that is down.
  const announce = (): void => {
    if (lifetimes.prepared >= lifetimes.longest || closing !== null) return
    if (findPreparing() !== null || monotonicNow() < announceAt) return
    prepare().catch((cause: unknown) => {
      announceAt = monotonicNow() + announceInterval
      const doubled = Math.max(ANNOUNCE_INTERVAL_MS, 2 * announceInterval)
      announceInterval = Math.min(doubled, MAX_ANNOUNCE_INTERVAL_MS)
      unavailable('prepare', cause)
      // A process that only creates tokens makes no other calls, so it has to try again by itself.
      startTimer(scheduler, announce, MAX_ANNOUNCE_INTERVAL_MS)
    })
  }

  const raise = (lifetime: number): void => {
    if (lifetime <= lifetimes.longest) return
    lifetimes.longest = Math.min(FOREVER, Math.ceil(lifetime / LIFETIME_STEP_MS) * LIFETIME_STEP_MS)
  }

  const unavailable = (operation: string, cause: unknown): RevocationUnavailableError => {
    // A configuration error does not end by itself like an outage, and a 503 would not show it.
    if (isConfigurationError(cause) && !hasWarned) {
      hasWarned = true
      emitWarning(`The revocation store cannot be used: ${cause.message}`, 'TokenStoreWarning')
    }
    emit('storeUnavailable', () => ({ operation, cause }))
    return new RevocationUnavailableError(cause)
  }

  const callPrepared: StoreClient['call'] = async (operation, run, lifetime = 0) => {
    raise(lifetime)
    try {
      const callStore = async (): ReturnType<typeof run> => wait(start(() => run(store)))
      // A longer lifetime that is being announced delays only the calls that it concerns.
      if (lifetimes.prepared >= Math.max(0, lifetime)) return await callStore()
      return await withDeadline(scheduler, prepare().then(callStore), timeoutMs, createTooLate)
    } catch (cause) {
      throw unavailable(operation, cause)
    }
  }

  const call: StoreClient['call'] = (operation, run, lifetime) =>
    observe(operation, () => callPrepared(operation, run, lifetime))

  const closeStore = async (): Promise<void> => {
    try {
      await withDeadline(scheduler, Promise.resolve(store.close()), timeoutMs, createTooLate)
    } catch (cause) {
      throw unavailable('close', cause)
    }
  }

  return {
    lifetimes,
    timeoutMs,
    call,
    lookup(keys, lifetime, given) {
      const ask = given?.fromStore === true ? store.replica?.ask : undefined
      const run = (target: RevocationStore): Promise<LookupAnswer> =>
        ask?.(keys) ?? target.lookup(keys, given)
      return call('lookup', async (target) => parseAnswers(await run(target), keys), lifetime)
    },
    expect(lifetime) {
      if (lifetime <= lifetimes.prepared) return
      raise(lifetime)
      announce()
    },
    close() {
      // From now on, no check is answered from memory.
      lifetimes.prepared = -1
      return (closing ??= closeStore())
    },
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
        await sleep(scheduler, READY_INTERVAL_MS)
      }
    },
  }
}
