import { setTimeout as sleep } from 'node:timers/promises'
import { createId, systemRandom } from '../claims/ids.js'
import { assertOptions, type OptionNames } from '../options.js'
import {
  isWatermark,
  type LookupAnswer,
  type Revocation,
  type RevocationKey,
} from '../revocation/revocation.js'
import {
  assertStore,
  defineStore,
  type LookupOptions,
  type ReplicaChange,
  type ReplicaState,
  type RevocationStore,
  type StoreNeeds,
} from '../revocation/store.js'
import type { SessionStore } from '../revocation/session-store.js'
import { createCautiousClock, type Duration, parseDuration, systemClock } from '../time.js'
import { createMemoryRevocations } from './memory/revocations.js'
import { createFollower } from './replica/follow.js'
import { createFreshness } from './replica/freshness.js'

/** How a replica behaves. */
export interface ReplicaOptions {
  /**
   * How long after a revocation was acknowledged this process may still accept what it revokes: 20 ms to a minute, one
   * second by default. A replica that cannot prove that it is younger refuses, or asks the store.
   */
  readonly bound?: Duration
  /** What a check does while the replica is older than that; `refuse` by default. */
  readonly whenStale?: 'refuse' | 'ask'
}

const OPTIONS: OptionNames<ReplicaOptions> = { bound: true, whenStale: true }

/**
 * Keeps a copy of a store's revocations in the memory of this process, so that a check needs no round trip.
 *
 * The copy follows the store. While it is known to be complete up to `bound` ago, checks are answered from it; otherwise
 * they are refused with `RevocationUnavailableError`, or answered by the store. It never accepts a token because it does
 * not know better.
 *
 * @example
 * const store = replicate(createRedisStore(redis), { bound: '1s' })
 */
export function replicate(store: RevocationStore, options: ReplicaOptions = {}): RevocationStore {
  assertStore(store)
  assertOptions('replicate()', options, OPTIONS)
  const boundMs = parseBound(options.bound ?? '1s')
  const whenStale = parseWhenStale(options.whenStale ?? 'refuse')
  const pruneClock = createCautiousClock(systemClock)
  const freshness = createFreshness(boundMs, systemClock)
  const copy = createMemoryRevocations(createId(systemRandom), pruneClock)
  const listeners = new Set<(entries: readonly Revocation[]) => void>()
  const needs = new Set<NonNullable<StoreNeeds['onReplicaChange']>>()
  let isComplete = false
  let wasFresh = false
  let isClosed = false
  let isUsed = false

  const readState = (): ReplicaState => ({
    isFresh: freshness.isFresh(),
    ageMs: freshness.readAge(),
    boundMs,
    entries: copy.size,
    position: follower.position,
    lastError: follower.lastError,
  })

  const notify = (entries: readonly Revocation[]): void => {
    for (const listener of listeners) listener(entries)
  }

  const report = (kind: ReplicaChange['kind']): void => {
    for (const listener of needs) listener({ kind, state: readState() })
  }

  const follower = createFollower({
    store,
    copy,
    freshness,
    boundMs,
    pruneClock,
    onEntries: notify,
    onReset: () => report('reset'),
    onRead: () => {
      const isFresh = freshness.isFresh()
      isComplete ||= isFresh
      if (isFresh !== wasFresh) report(isFresh ? 'fresh' : 'stale')
      wasFresh = isFresh
    },
  })

  const subscribe = (listener: (entries: readonly Revocation[]) => void): (() => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  // One function for all calls of `prepare`: the store keeps each once. A process that has not used the store yet knows
  // no more than one that starts after the loss, which revokes nothing either: it leaves that to those who know.
  const canRestore = (): boolean => store.restore !== undefined && (isComplete || !isUsed)

  const assertFresh = (): void => {
    if (isClosed) throw new Error('The replica is closed')
    if (!freshness.isFresh()) throw describeStale(readState())
  }

  // After the store has taken something that this process must refuse at once.
  const catchUp = async (): Promise<void> => {
    try {
      await follower.readNow()
    } catch {
      freshness.expire()
    }
  }

  // What the store has lost and this process still knows is revoked all the same.
  const ask = async (keys: readonly RevocationKey[], lookup: LookupOptions): Promise<LookupAnswer> => {
    isUsed = true
    const answer = await store.lookup(keys, lookup)
    // What is refused now must not be accepted from memory a moment later.
    if (keys.some(({ kind, id }, at) => (answer[at] ?? -1) > (copy.find(kind, id) ?? -1))) await catchUp()
    return keys.map(({ kind, id }, at) => {
      const known = copy.find(kind, id)
      const found = answer[at]
      return known === undefined || found === undefined ? (found ?? known) : Math.max(found, known)
    })
  }

  // A watermark no further than this process is sure of: the store decides how far it reaches.
  const mergeOwn = (batch: readonly Revocation[]): void => {
    const now = systemClock()
    for (const entry of batch) {
      const { kind, notBefore } = entry
      copy.merge(isWatermark(kind) ? { ...entry, notBefore: Math.min(notBefore, now) } : entry)
    }
    notify(batch)
  }

  return defineStore({
    async prepare(given) {
      if (isClosed) throw new Error('The replica is closed')
      if (given.onReplicaChange !== undefined) needs.add(given.onReplicaChange)
      await store.prepare({ ...given, canRestore })
      follower.start()
    },
    async revoke(batch) {
      isUsed = true
      // Before it is sent: whatever becomes of the call, this process has been told.
      mergeOwn(batch)
      try {
        const revoked = await store.revoke(batch)
        await catchUp()
        return revoked
      } catch (error) {
        follower.keepUnsent(batch)
        throw error
      }
    },
    async lookup(keys, { atLeast } = {}) {
      if (isClosed) throw new Error('The replica is closed')
      if (atLeast !== undefined && atLeast !== follower.position) return ask(keys, { atLeast })
      // One read may be all that is missing, for example after the process was paused.
      if (!freshness.isFresh()) await follower.readNow().catch(() => undefined)
      if (whenStale === 'ask' && !freshness.isFresh()) return ask(keys, {})
      assertFresh()
      return keys.map(({ kind, id }) => copy.find(kind, id))
    },
    createLookup(keys, start) {
      const isRevoked = copy.createLookup(keys, start)
      return () => {
        assertFresh()
        return isRevoked()
      }
    },
    feed: (after, wait) => store.feed(after, wait),
    ...(store.restore !== undefined && {
      async restore(batch: readonly Revocation[]) {
        await store.restore?.(batch)
        await catchUp()
      },
    }),
    watch: (listener) => subscribe(() => listener()),
    replica: {
      readState,
      subscribe,
      // A replica that has not seen it by then is stale.
      waitForOthers: () => sleep(boundMs),
      async ready() {
        if (!isComplete) await follower.readNow()
      },
    },
    prune: (limit) => store.prune(limit),
    ...(store.sessions !== undefined && { sessions: followSessions(store.sessions, catchUp) }),
    async close() {
      isClosed = true
      follower.stop()
      copy.clear()
      await store.close()
    },
  })
}

// A session that ends by a reuse is refused by this process before it answers.
function followSessions(sessions: SessionStore, catchUp: () => Promise<void>): SessionStore {
  const catchUpAfterReuse = async <Answer extends { readonly outcome: string }>(
    answer: Answer,
  ): Promise<Answer> => {
    if (answer.outcome === 'reused') await catchUp()
    return answer
  }
  return {
    open: (session) => sessions.open(session),
    rotate: async (...given) => catchUpAfterReuse(await sessions.rotate(...given)),
    present: async (...given) => catchUpAfterReuse(await sessions.present(...given)),
    list: (user, options) => sessions.list(user, options),
    get: (sid, options) => sessions.get(sid, options),
  }
}

function describeStale({ ageMs, boundMs, lastError }: ReplicaState): Error {
  const age =
    ageMs === null ? 'never read its store completely' : `read its store ${Math.round(ageMs)} ms ago`
  return new Error(`The replica ${age}, and may be ${boundMs} ms old`, { cause: lastError ?? undefined })
}

const [MIN_BOUND_MS, MAX_BOUND_MS] = [20, 60_000]

function parseBound(bound: Duration): number {
  const milliseconds = parseDuration(bound) * 1000
  if (milliseconds >= MIN_BOUND_MS && milliseconds <= MAX_BOUND_MS) return milliseconds
  throw new RangeError('bound must be between 20 ms and a minute')
}

function parseWhenStale(whenStale: 'refuse' | 'ask'): 'refuse' | 'ask' {
  if (whenStale === 'refuse' || whenStale === 'ask') return whenStale
  throw new TypeError("whenStale must be 'refuse' or 'ask'")
}
