import { KeysUnavailableError } from 'tokenlib/errors'
import type { Algorithm } from 'tokenlib/kit'
import { type BoundKey, type Scheduler, settleQuietly, sleep, type SourceContext } from 'tokenlib/kit'
import { type IssuerKeySet, noUsableKey, withoutRefused } from './jwk-set.js'
import { createLookupBudget } from './lookup-budget.js'

/** How long loaded keys are used, and how often they are loaded; in milliseconds. */
export interface KeyTiming {
  /** One load, from beginning to end. */
  readonly timeoutMs: number
  /** When to reload them, while they stay in use. */
  readonly maxAgeMs: number
  /** How much longer to use them if reloading fails. */
  readonly maxStaleMs: number
  /** Between two loads for unknown keys that requests name; the longest time between two attempts. */
  readonly cooldownMs: number
}

/** Where a cache runs. */
export interface KeyRuntime {
  readonly scheduler: Scheduler
  /** Whether work that a request has started ends with the request. */
  readonly isWorkerd: boolean
}

/** The issuer of the keys. */
export interface KeyOwner {
  /** The exact text of `iss`. */
  readonly issuer: string
  /** The algorithms that are accepted; never HMAC. */
  readonly algorithms: readonly Algorithm[]
}

/** What keys that are loaded work with. */
export interface KeyParts extends KeyOwner {
  readonly timing: KeyTiming
  readonly emit: SourceContext['emit']
  readonly runtime: KeyRuntime
}

/** What a cache needs. */
export interface KeyCacheOptions extends KeyParts {
  /** `null` means that the key does not exist, which is not a failure. */
  readonly load: (previous: readonly BoundKey[]) => Promise<IssuerKeySet | null>
}

/** Keys that were loaded, and are loaded again when they are due. */
export interface KeyCache {
  /** The keys that may be used now; `null` if none are loaded or they are too old. Starts a reload when it is due. */
  current(): readonly BoundKey[] | null
  /** Whether an unknown key may be looked for: not within the cool-down after the last load for one. */
  mayHaveMore(): boolean
  /** Waits for the pending load, or starts one. Rejects with `KeysUnavailableError` if it leaves no usable keys. */
  load(): Promise<void>
  /**
   * Waits for a load that is sent after this call: at most one per second, shared by all callers. The cool-down does not
   * apply, so strangers cannot use it up. Resolves to whether the load succeeded: then a missing key does not exist.
   * Rejects like `load`.
   */
  loadAnew(): Promise<boolean>
  /** The keys that were loaded last, however old. */
  last(): readonly BoundKey[]
  /** Whether a key is one of those that may be used now. Starts a reload when it is due. */
  isTrusted(key: BoundKey): boolean
}

// After the first failure; doubled after each further one, up to the cool-down.
const FIRST_RETRY_MS = 1000
// A load this long past its deadline is lost: Workers drop the pending work of a finished request.
const LOST_AFTER_MS = 1000
// Between two loads for callers who cannot be told to come back later.
const ANEW_INTERVAL_MS = 1000
// In Workers, where each request loads for itself: this many at a time. Others poll whether one is done.
const MAX_PARALLEL_LOADS = 4
const PAUSE_MS = 50

interface Loading {
  readonly startedAt: number
  /** Never rejects. */
  readonly done: Promise<void>
}

/** A cache of the keys that `load` resolves to. */
export function createKeyCache(options: KeyCacheOptions): KeyCache {
  const { timing } = options
  const { scheduler, isWorkerd } = options.runtime
  const { monotonicNow: now } = scheduler
  let keys: ReadonlySet<BoundKey> = new Set()
  let list: readonly BoundKey[] = []
  // When the request for the current keys was sent.
  let loadedAt = Number.NEGATIVE_INFINITY
  // When the issuer first answered without a usable key; `null` if the last answer had one.
  let withdrawnAt: number | null = null
  // The newest last. More than one only in Workers, or after a lost load.
  let underWay: readonly Loading[] = []
  let endedAt = Number.NEGATIVE_INFINITY
  // Budgets for loading missing keys: for requests, and for `loadAnew`.
  const misses = createLookupBudget(1, timing.cooldownMs, now)
  const anew = createLookupBudget(1, ANEW_INTERVAL_MS, now)
  // The load of `loadAnew` that is not sent yet.
  let turn: Promise<void> | null = null
  let failures = 0
  let lastCause: unknown = null
  // How many loads were started, and which of them brought the keys.
  let started = 0
  let applied = 0

  // `maxStale` is for an issuer that cannot be reached. One that answers without its keys has withdrawn them, or has made a
  // mistake: it has `maxAge` to fix that.
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

  const run = async (startedAt: number, sequence: number): Promise<void> => {
    // A load that was given up must not replace the result of a later one.
    const isLate = (): boolean => applied > sequence
    try {
      const set = await options.load(list)
      if (isLate()) return
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
    } catch (cause) {
      if (isLate()) return
      failures++
      lastCause = cause
      options.emit('keysFailed', () => ({ issuer: options.issuer, cause }))
    } finally {
      endedAt = now()
    }
  }

  const toUnavailable = (cause: unknown): KeysUnavailableError =>
    new KeysUnavailableError(cause, undefined, options.issuer)

  const start = (startedAt: number): Loading => {
    const sequence = ++started
    // Start after it is in `underWay`: a load that fails immediately would otherwise stay there.
    const done = settleQuietly(
      Promise.resolve()
        .then(() => run(startedAt, sequence))
        .finally(() => {
          underWay = underWay.filter((other) => other !== loading)
        }),
    )
    const loading: Loading = { startedAt, done }
    underWay = [...underWay, loading]
    return loading
  }

  const assertUsable = (): void => {
    if (!isUsable(now())) throw toUnavailable(lastCause)
  }

  const isDue = (time: number): boolean =>
    time - loadedAt > timing.maxAgeMs && listLoading(time).length === 0 && isRetryDue(time)

  // Whether the keys can be used without waiting. In a Worker, background work ends with its request, so the first request
  // that finds the keys due waits for the reload.
  const isReady = (time: number): boolean => {
    if (!isUsable(time)) return false
    if (!isDue(time)) return true
    if (isWorkerd) return false
    start(time)
    return true
  }

  const isFull = (): boolean => isWorkerd && listLoading(now()).length >= MAX_PARALLEL_LOADS

  // Each request with a timer of its own. Resolves to whether the others have loaded what it needs.
  const waitForRoom = async (isEnough: () => boolean): Promise<boolean> => {
    for (let waitedMs = 0; isFull(); waitedMs += PAUSE_MS) {
      if (waitedMs >= timing.timeoutMs) throw toUnavailable(new Error('Too many loads at a time'))
      await sleep(scheduler, PAUSE_MS)
      if (isEnough()) return true
    }
    return false
  }

  const loadInTurn = async (isDone: () => boolean): Promise<void> => {
    // Even for 0 ms: all callers in this turn of the event loop share the load.
    await sleep(scheduler, anew.waitMs())
    turn = null
    // In a Worker, another request may have loaded them since.
    if (isDone() || (await waitForRoom(isDone))) return
    anew.take()
    await start(now()).done
  }

  return {
    current: () => (isReady(now()) ? list : null),
    last: () => list,
    mayHaveMore: () => listLoading(now()).length > 0 || misses.waitMs() === 0,
    async load() {
      const before = applied
      // What the others have loaded, or have failed to, is enough.
      const isEnough = (): boolean => (applied !== before || !isFull()) && isUsable(now())
      if (isFull() && (await waitForRoom(isEnough))) return
      const time = now()
      // The first load is for all keys: it must not keep the next new key from being found.
      const isForMissingKey = isUsable(time)
      // Nor can a Worker wait for what another of its requests has started.
      const other = isWorkerd ? undefined : listLoading(time).at(-1)
      if (other === undefined && !isForMissingKey && !isRetryDue(time)) throw toUnavailable(lastCause)
      if (isForMissingKey) misses.take()
      await (other ?? start(time)).done
      // The load may have taken longer than the cool-down: its answer counts all the same.
      if (isForMissingKey) misses.take()
      assertUsable()
    },
    async loadAnew() {
      const before = started
      const isDone = (): boolean => applied > before
      await (isWorkerd ? loadInTurn(isDone) : (turn ??= loadInTurn(isDone)))
      assertUsable()
      return isDone()
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

/** Loads that nobody awaits. */
export interface Background {
  /** Does nothing in Workers. */
  start(load: () => Promise<void>): void
  /** Resolves once all of it is done; rejects if one has. */
  done(): Promise<void>
}

/** Keeps track of loads that nobody awaits, such as the load that a synchronous check starts. */
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
