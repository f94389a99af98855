import { KeysUnavailableError } from 'tokenlib/errors'
import type { Algorithm } from 'tokenlib/kit'
import { type BoundKey, type Scheduler, settleQuietly, sleep, type SourceContext } from 'tokenlib/kit'
import { type IssuerKeySet, noUsableKey, withoutRefused } from './jwk-set.js'
import { createLookupBudget } from './lookup-budget.js'

/** How long loaded keys are used, and how often they are loaded; in milliseconds. */
export interface KeyTiming {
  /** One load, from beginning to end. */
  readonly timeoutMs: number
  /** After this long they are loaded again, while they stay in use. */
  readonly maxAgeMs: number
  /** For so much longer they are used if that fails. */
  readonly maxStaleMs: number
  /** Between two loads for unknown keys that requests name; the longest time between two attempts. */
  readonly cooldownMs: number
}

/** Where a cache runs. */
export interface KeyRuntime {
  readonly scheduler: Scheduler
  /** Whether what a request has started ends with it. */
  readonly isWorkerd: boolean
}

/** Whose keys they are. */
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
  load(): Promise<void>
  /**
   * Waits for a load that is sent after this call: at most one per second, shared by everybody who waits for it. The
   * cool-down does not apply, so nobody can use it up. Rejects like `load`. Whether that load succeeded: a key that is not
   * there then does not exist.
   */
  loadAnew(): Promise<boolean>
  /** The keys that were loaded last, however old. */
  last(): readonly BoundKey[]
  /** Whether a key is one of those that may be used now. Starts a reload when it is due. */
  isTrusted(key: BoundKey): boolean
}

// After the first failure; doubled after each further one, up to the cool-down.
const FIRST_RETRY_MS = 1000
// A load that takes so much longer than its deadline has ended without a word: Workers drop what a request has left behind.
const LOST_AFTER_MS = 1000
// Between two loads for callers who cannot be told to come back later.
const ANEW_INTERVAL_MS = 1000
// In Workers, where each request has to load for itself: so many at a time. Others look after each pause whether one is done.
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
  // When the request for them was sent: what they say was true then.
  let loadedAt = Number.NEGATIVE_INFINITY
  // When the first of the answers was asked for that had no usable key; `null` if the last one had some.
  let withdrawnAt: number | null = null
  // The newest last. More than one in Workers only, or after one that was lost.
  let underWay: readonly Loading[] = []
  let endedAt = Number.NEGATIVE_INFINITY
  // Loads for keys that are missing in the set: those that requests cause, and those of `loadAnew`.
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
    // Not before it is among those under way: a load that fails at once would leave itself behind.
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
    // Also if there is no wait: everybody who comes in this turn of the event loop shares the load.
    await sleep(scheduler, anew.waitMs())
    turn = null
    // In a Worker, another request may have loaded them meanwhile.
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
