import { KeysUnavailableError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import type { BoundKey } from '../jws/algorithms.js'
import { settleQuietly, withDeadline } from '../promises.js'
import { type IssuerKeySet, noUsableKey } from './jwk-set.js'

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
  /** Waits for the load under way, or starts one. Rejects with `KeysUnavailableError` if there are no keys after it. */
  load(isForMissingKey: boolean): Promise<void>
  /** Whether a key is one of those that may be used now. Starts a reload when it is due. */
  isTrusted(key: BoundKey): boolean
}

// After the first failure; doubled after each further one, up to the cool-down.
const FIRST_RETRY_MS = 1000
// A load that takes so much longer than its deadline has ended without a word: Workers drop what a request has left behind.
const LOST_AFTER_MS = 1000

interface Loading {
  readonly startedAt: number
  readonly done: Promise<void>
}

/** A cache of the keys that `load` resolves to. */
export function createKeyCache(options: KeyCacheOptions): KeyCache {
  const { timing } = options
  const { now, isWorkerd } = options.runtime
  let keys: ReadonlySet<BoundKey> = new Set()
  let list: readonly BoundKey[] = []
  // When the request for them was sent: what they say was true then.
  let loadedAt = Number.NEGATIVE_INFINITY
  let loading: Loading | null = null
  let endedAt = Number.NEGATIVE_INFINITY
  // When the last load began that a request has waited for because of a key that was missing.
  let missedAt = Number.NEGATIVE_INFINITY
  let failures = 0
  let lastCause: unknown = null
  // How many loads were started, and which of them brought the keys.
  let started = 0
  let applied = 0

  const isUsable = (time: number): boolean => time - loadedAt <= timing.maxAgeMs + timing.maxStaleMs

  const readLoading = (time: number): Loading | null =>
    loading !== null && time - loading.startedAt <= timing.timeoutMs + LOST_AFTER_MS ? loading : null

  const isRetryDue = (time: number): boolean => {
    const delay = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), timing.cooldownMs)
    return failures === 0 || time - endedAt >= delay
  }

  const run = async (startedAt: number, sequence: number): Promise<void> => {
    // A load that was given up must not replace the result of a later one.
    const isLate = (): boolean => applied > sequence
    try {
      const set = await options.load(list)
      if (isLate()) return
      if (set !== null && set.keys.length === 0) throw noUsableKey(set)
      list = set?.keys ?? []
      keys = new Set(list)
      loadedAt = startedAt
      applied = sequence
      failures = 0
      if (set !== null) options.emit('keysLoaded', () => toLoadedEvent(options.issuer, set))
    } catch (cause) {
      if (isLate()) return
      failures++
      lastCause = cause
      options.emit('keysFailed', () => ({ issuer: options.issuer, cause }))
    } finally {
      if (sequence === started) loading = null
      endedAt = now()
    }
  }

  const toUnavailable = (cause: unknown): KeysUnavailableError =>
    new KeysUnavailableError(cause, undefined, options.issuer)

  const start = (startedAt: number): Loading => {
    const sequence = ++started
    // Not before `loading` is set: a load that fails at once would leave itself behind.
    const done = settleQuietly(Promise.resolve().then(() => run(startedAt, sequence)))
    return (loading = { startedAt, done })
  }

  const isDue = (time: number): boolean =>
    time - loadedAt > timing.maxAgeMs && readLoading(time) === null && isRetryDue(time)

  // Whether the keys can be used at once. What a Worker starts in the background ends with its request: there, the first
  // request that finds the keys due waits for them.
  const isReady = (time: number): boolean => {
    if (!isUsable(time)) return false
    if (!isDue(time)) return true
    if (isWorkerd) return false
    start(time)
    return true
  }

  return {
    current: () => (isReady(now()) ? list : null),
    mayHaveMore() {
      const time = now()
      if (readLoading(time) !== null) return !isWorkerd
      return time - missedAt >= timing.cooldownMs
    },
    async load(isForMissingKey) {
      const time = now()
      // Nor can a Worker wait for what another of its requests has started.
      const underWay = isWorkerd ? null : readLoading(time)
      if (underWay === null && !isUsable(time) && !isRetryDue(time)) throw toUnavailable(lastCause)
      const { startedAt, done } = underWay ?? start(time)
      if (isForMissingKey) missedAt = startedAt
      const left = Math.max(startedAt + timing.timeoutMs + LOST_AFTER_MS - time, 0)
      try {
        await withDeadline(done, left, () => new Error('The load of the keys was dropped'))
      } catch (cause) {
        throw toUnavailable(cause)
      }
      if (!isUsable(now())) throw toUnavailable(lastCause)
    },
    isTrusted: (key) => keys.has(key) && isReady(now()),
  }
}

function toLoadedEvent(issuer: string, { keys, refused }: IssuerKeySet) {
  return {
    issuer,
    kids: keys.map(({ kid }) => kid),
    refused: refused.map(({ kid, reason }) => ({ kid: kid === '' ? null : kid, reason })),
  }
}
