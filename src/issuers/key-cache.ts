import { KeysUnavailableError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import type { BoundKey } from '../jws/algorithms.js'
import { sleep } from '../runtime.js'
import { settleQuietly, withDeadline } from '../promises.js'
import { type IssuerKeySet, noUsableKey, withoutRefused } from './jwk-set.js'

/** How long loaded keys are used, and how often they are loaded; in milliseconds. */
export interface KeyTiming {
  /** One load, from beginning to end. */
  readonly timeoutMs: number
  /** After this long they are loaded again, while they stay in use. */
  readonly maxAgeMs: number
  /** For so much longer they are used if that fails. */
  readonly maxStaleMs: number
  /** Between two loads for keys that are not known; the longest time between two attempts. */
  readonly cooldownMs: number
}

/** Where a cache runs. */
export interface KeyRuntime {
  /** Milliseconds of a clock that cannot be set back. */
  readonly now: () => number
  /** Whether what a request has started ends with it. */
  readonly isWorkerd: boolean
}

/** What a cache needs. */
export interface KeyCacheOptions {
  readonly issuer: string
  readonly timing: KeyTiming
  readonly emit: TokenEmitter['emit']
  readonly runtime: KeyRuntime
  /** `null`: there is no such key, which is not a failure. */
  readonly load: (previous: readonly BoundKey[]) => Promise<IssuerKeySet | null>
}

/** Keys that were loaded, and are loaded again when they are due. */
export interface KeyCache {
  /** The keys that may be used now; `null` if there are none, or they are too old. Starts a reload when it is due. */
  current(): readonly BoundKey[] | null
  /** Whether a key that is not among them may be looked for: not within the cool-down after a load for such a key. */
  mayHaveMore(): boolean
  /**
   * Waits for the load under way, or starts one. Rejects with `KeysUnavailableError` if there are no keys after it.
   * Whether the keys were asked for after the call, and have arrived: one that is not among them does not exist.
   */
  load(isForMissingKey: boolean): Promise<boolean>
  /** The keys that were loaded last, however old. */
  last(): readonly BoundKey[]
  /** Whether a key is one of those that may be used now. Starts a reload when it is due. */
  isTrusted(key: BoundKey): boolean
}

// After the first failure; doubled after each further one, up to the cool-down.
const FIRST_RETRY_MS = 1000
// A load that takes so much longer than its deadline has ended without a word: Workers drop what a request has left behind.
const LOST_AFTER_MS = 1000
// In Workers, where each request has to load for itself: so many at a time. Others look after each pause whether one is done.
const MAX_PARALLEL_LOADS = 4
const PAUSE_MS = 50

interface Loading {
  readonly startedAt: number
  /** Whether the keys have been asked for. */
  isSent: boolean
  /** Whether they have arrived. */
  readonly done: Promise<boolean>
}

/** A cache of the keys that `load` resolves to. */
export function createKeyCache(options: KeyCacheOptions): KeyCache {
  const { timing } = options
  const { now, isWorkerd } = options.runtime
  let keys: ReadonlySet<BoundKey> = new Set()
  let list: readonly BoundKey[] = []
  // When the request for them was sent: what they say was true then.
  let loadedAt = Number.NEGATIVE_INFINITY
  // When the first of the answers was asked for that had no usable key; `null` if the last one had some.
  let withdrawnAt: number | null = null
  // The newest last. More than one in Workers only, or after one that was lost.
  let underWay: readonly Loading[] = []
  let endedAt = Number.NEGATIVE_INFINITY
  // When the last load began that a request has waited for because of a key that was missing.
  let missedAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let lastCause: unknown = null
  // How many loads were started, and which of them brought the keys.
  let started = 0
  let applied = 0

  // `maxStale` is for an issuer that cannot be reached. One that answers without its keys has withdrawn them, or has made a
  // mistake: it has `maxAge` to mend that.
  const isUsable = (time: number): boolean =>
    time - loadedAt <= timing.maxAgeMs + timing.maxStaleMs &&
    (withdrawnAt === null || time - withdrawnAt <= timing.maxAgeMs)

  const withdraw = (startedAt: number, set: IssuerKeySet): void => {
    list = withoutRefused(list, set)
    keys = new Set(list)
    withdrawnAt ??= startedAt
    if (list.length === 0) loadedAt = Number.NEGATIVE_INFINITY
  }

  const listLoading = (time: number): readonly Loading[] =>
    (underWay = underWay.filter(({ startedAt }) => time - startedAt <= timing.timeoutMs + LOST_AFTER_MS))

  const isRetryDue = (time: number): boolean => {
    const delay = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), timing.cooldownMs)
    return failures === 0 || time - endedAt >= delay
  }

  const run = async (startedAt: number, sequence: number): Promise<boolean> => {
    // A load that was given up must not replace the result of a later one.
    const isLate = (): boolean => applied > sequence
    try {
      const set = await options.load(list)
      if (isLate()) return true
      if (set !== null && set.keys.length === 0) {
        applied = sequence
        withdraw(startedAt, set)
        throw noUsableKey(set)
      }
      list = set?.keys ?? []
      keys = new Set(list)
      loadedAt = startedAt
      withdrawnAt = null
      applied = sequence
      failures = 0
      if (set !== null) options.emit('keysLoaded', () => toLoadedEvent(options.issuer, set))
      return true
    } catch (cause) {
      if (isLate()) return true
      failures++
      lastCause = cause
      options.emit('keysFailed', () => ({ issuer: options.issuer, cause }))
      return false
    } finally {
      endedAt = now()
    }
  }

  const toUnavailable = (cause: unknown): KeysUnavailableError =>
    new KeysUnavailableError(cause, undefined, options.issuer)

  const start = (startedAt: number): Loading => {
    const sequence = ++started
    // Not before it is among those under way: a load that fails at once would leave itself behind.
    const done = settleQuietly(
      Promise.resolve().then(() => {
        loading.isSent = true
        return run(startedAt, sequence).finally(() => {
          underWay = underWay.filter((other) => other !== loading)
        })
      }),
    )
    const loading: Loading = { startedAt, isSent: false, done }
    underWay = [...underWay, loading]
    return loading
  }

  const isDue = (time: number): boolean =>
    time - loadedAt > timing.maxAgeMs && listLoading(time).length === 0 && isRetryDue(time)

  // Whether the keys can be used at once. What a Worker starts in the background ends with its request: there, the first
  // request that finds the keys due waits for them.
  const isReady = (time: number): boolean => {
    if (!isUsable(time)) return false
    if (!isDue(time)) return true
    if (isWorkerd) return false
    start(time)
    return true
  }

  const isFull = (): boolean => isWorkerd && listLoading(now()).length >= MAX_PARALLEL_LOADS

  return {
    current: () => (isReady(now()) ? list : null),
    last: () => list,
    mayHaveMore() {
      const time = now()
      return listLoading(time).length > 0 || time - missedAt >= timing.cooldownMs
    },
    async load(isForMissingKey) {
      const before = applied
      for (let waitedMs = 0; isFull(); waitedMs += PAUSE_MS) {
        if (waitedMs >= timing.timeoutMs) throw toUnavailable(new Error('Too many loads at a time'))
        // A timer of its own. What the others have loaded, or have failed to, is enough.
        await sleep(PAUSE_MS)
        if ((applied !== before || !isFull()) && isUsable(now())) return false
      }
      const time = now()
      // Nor can a Worker wait for what another of its requests has started.
      const other = isWorkerd ? undefined : listLoading(time).at(-1)
      if (other === undefined && !isUsable(time) && !isRetryDue(time)) throw toUnavailable(lastCause)
      const isNew = other?.isSent !== true
      const { startedAt, done } = other ?? start(time)
      if (isForMissingKey) missedAt = startedAt
      const left = Math.max(startedAt + timing.timeoutMs + LOST_AFTER_MS - time, 0)
      let hasArrived: boolean
      try {
        hasArrived = await withDeadline(done, left, () => new Error('The load of the keys was dropped'))
      } catch (cause) {
        throw toUnavailable(cause)
      }
      if (!isUsable(now())) throw toUnavailable(lastCause)
      return hasArrived && isNew
    },
    isTrusted: (key) => keys.has(key) && isReady(now()),
  }
}

function toLoadedEvent(issuer: string, { keys, refused }: IssuerKeySet) {
  return {
    issuer,
    // One that is bound to two names of its algorithm is one key.
    kids: keys.filter(({ key }, at) => key !== keys[at - 1]?.key).map(({ kid }) => kid),
    refused: refused.map(({ kid, reason }) => ({ kid: kid === '' ? null : kid, reason })),
  }
}

/** What was started without anybody who waits for it. */
export interface Background {
  /** Does nothing in Workers. */
  start(load: () => Promise<void>): void
  /** Resolves once all of it is done; rejects if one has. */
  done(): Promise<void>
}

/** A place for loads that nobody waits for, such as that of a synchronous check. */
export function createBackground({ isWorkerd }: KeyRuntime): Background {
  const underWay = new Set<Promise<void>>()
  return {
    start(load) {
      if (isWorkerd) return
      const started = settleQuietly(load())
      underWay.add(started)
      const end = (): void => void underWay.delete(started)
      started.then(end, end)
    },
    async done() {
      await Promise.all(underWay)
    },
  }
}
