import {
  FOREVER,
  isWatermark,
  type LookupAnswer,
  parseAnswers,
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
import { callQuietly } from './loss-reporter.js'
import { readOrigin, withOrigin } from './store-origin.js'
import { sleep } from '../runtime.js'
import { createCautiousClock, schedulerOf } from '../time.js'
import { createRevocationCopy } from './memory/revocations.js'
import { createFollower } from './replica/follow.js'
import {
  createFreshness,
  createVersionFreshness,
  parseReplicaOptions,
  type ReplicaOptions,
} from './replica/freshness.js'
import { followSessions } from './replica/follow-sessions.js'
import { createListeners } from './store-parts.js'

export type { ReplicaOptions } from './replica/freshness.js'

/**
 * Keeps a copy of a store's revocations in the memory of this process, so that a check needs no round trip.
 *
 * Checks are answered from the copy while it is known to be complete up to `bound` ago; otherwise they are rejected with
 * `RevocationUnavailableError`, or answered by the store.
 *
 * @example
 * const store = replicate(createRedisStore(redis), { bound: '1s' })
 */
export function replicate(store: RevocationStore, options: ReplicaOptions = {}): RevocationStore {
  assertStore(store)
  const { boundMs, whenStale, clock } = parseReplicaOptions(store, options)
  const scheduler = schedulerOf(clock)
  const { monotonicNow } = scheduler
  const cautiousClock = createCautiousClock(clock)
  const pruneClock = (): number => cautiousClock() - MARGIN_MS
  const freshness = boundMs === 0 ? createVersionFreshness(store, clock) : createFreshness(boundMs, clock)
  const copy = createRevocationCopy('The replica', pruneClock)
  const listeners = createListeners<[entries: readonly Revocation[]]>()
  const stateListeners = new Set<NonNullable<StoreNeeds['onReplicaChange']>>()
  let isComplete = false
  let wasFresh = false
  let isClosed = false
  let isPrepared = false
  let isUsed = false
  let longestLifetime = 0

  // With a bound of 0 a change is read by the next check: only a read that failed keeps that from answering.
  const canAnswer = (): boolean =>
    !isClosed &&
    (boundMs === 0 ? freshness.readAge() !== null && follower.lastError === null : freshness.isFresh())

  const readState = (): ReplicaState => ({
    isFresh: canAnswer(),
    ageMs: freshness.readAge(),
    boundMs,
    entries: copy.size,
    position: follower.position,
    lastError: follower.lastError,
  })

  const report = (kind: ReplicaChange['kind']): void => {
    for (const listener of stateListeners) callQuietly(() => listener({ kind, state: readState() }))
  }

  const follower = createFollower({
    store,
    copy,
    freshness,
    boundMs: boundMs === 0 ? POLLED_WITHIN_MS : boundMs,
    pruneClock,
    scheduler,
    onEntries: listeners.call,
    onReset: () => report('reset'),
    onRead: () => {
      const isFresh = canAnswer()
      isComplete ||= follower.isFollowing
      if (isFresh !== wasFresh) report(isFresh ? 'fresh' : 'stale')
      wasFresh = isFresh
    },
  })

  // A process that has not used the store since it was prepared knows no more than a process that starts after the loss,
  // which revokes nothing either. During the first preparation this is not known yet.
  const canRestore = (): boolean => store.restore !== undefined && (isComplete || (isPrepared && !isUsed))

  const assertFresh = (): void => {
    copy.assertOpen()
    if (!freshness.isFresh()) throw describeStale(readState())
  }

  // Without a bound, a complete read is enough: what changes after it was sent was not acknowledged when the check began.
  const isReadNow = (): Promise<boolean> =>
    follower.tryRead().then(
      () => boundMs === 0 || freshness.isFresh(),
      () => false,
    )

  // What this process knows counts all the same: the store may have lost it, or refused to take it.
  const askStore = async (keys: readonly RevocationKey[], given?: LookupOptions): Promise<LookupAnswer> => {
    isUsed = true
    const answers = parseAnswers(await store.lookup(keys, given), keys)
    // What is refused now must not be accepted from memory later, also where the store loses it.
    for (const [at, { kind, id }] of keys.entries()) {
      const notBefore = answers[at]
      if (notBefore !== undefined && notBefore > (copy.find(kind, id) ?? -1)) keep({ kind, id, notBefore })
    }
    return keys.map(({ kind, id }) => copy.find(kind, id))
  }

  // For as long as anything can last that it concerns: only the feed tells when it ends.
  const keep = (known: Pick<Revocation, 'kind' | 'id' | 'notBefore'>): void =>
    copy.merge({ ...known, until: Math.min(FOREVER, clock() + longestLifetime) })

  // After the store has taken something that this process must refuse from now on.
  const catchUp = async (): Promise<void> => {
    // Do not wait for a feed that does not work. If it works, keep its reads: a process that revokes all the time would
    // never become fresh if each revocation required a new read.
    if (!freshness.isFresh() && !follower.isFollowing) return freshness.expire()
    await follower.readNow().catch(() => freshness.expire())
  }

  const mergeOwn = (batch: readonly Revocation[]): void => {
    for (const entry of batch) copy.merge(entry)
    listeners.call(batch)
  }

  const keepUnsent = (batch: readonly Revocation[]): void => {
    const now = clock()
    // A watermark no further than this process is sure of.
    const capped = batch.map((entry) =>
      isWatermark(entry.kind) ? { ...entry, notBefore: Math.min(entry.notBefore, now) } : entry,
    )
    mergeOwn(capped)
    follower.restorer.keepUnsent(capped)
  }

  const replicated = defineStore<RevocationStore>({
    ...(store.system !== undefined && { system: store.system }),
    async prepare(given) {
      copy.assertOpen()
      if (given.onReplicaChange !== undefined) stateListeners.add(given.onReplicaChange)
      longestLifetime = Math.max(longestLifetime, given.longestLifetime)
      await store.prepare({ ...given, canRestore, onNewHistory: follower.startAgain })
      copy.assertOpen()
      isPrepared = true
      follower.start()
    },
    async revoke(batch) {
      // A batch of nothing only asks whether the store takes writes.
      isUsed ||= batch.length > 0
      // The store decides how far a watermark reaches. All other entries are merged first: this process must reject the
      // tokens even if the call fails.
      const final = batch.filter(({ kind }) => !isWatermark(kind))
      const watermarks = batch.filter(({ kind }) => isWatermark(kind))
      mergeOwn(final)
      try {
        const revoked = await store.revoke(batch)
        const { now } = revoked
        // As far as the store has taken it: it may lose that before the feed tells.
        const taken = Number.isFinite(now) ? watermarks.map((entry) => ({ ...entry, notBefore: now })) : []
        mergeOwn(taken)
        follower.restorer.noteArrived([...final, ...taken])
        if (watermarks.length > 0) await catchUp()
        return revoked
      } catch (error) {
        keepUnsent(batch)
        throw error
      }
    },
    async claim(batch) {
      isUsed = true
      const claimed = await store.claim(batch)
      if (claimed.isFirst) {
        mergeOwn(batch)
        follower.restorer.noteArrived(batch)
      }
      return claimed
    },
    async lookup(keys, { atLeast } = {}) {
      copy.assertOpen()
      if (atLeast !== undefined && atLeast !== follower.position) return askStore(keys, { atLeast })
      // One read may be all that is missing, for example after the process was paused.
      if (!freshness.isFresh()) {
        // The store may answer sooner than its feed does.
        if (whenStale === 'ask' && boundMs > 0) return askStore(keys)
        const isRead = await isReadNow()
        copy.assertOpen()
        if (!isRead && whenStale === 'ask') return askStore(keys)
        if (!isRead) assertFresh()
      }
      return keys.map(({ kind, id }) => copy.find(kind, id))
    },
    isRevokedNow(keys, start) {
      assertFresh()
      return copy.isRevokedNow(keys, start)
    },
    feed: (after, wait) => store.feed(after, wait),
    ...(store.restore !== undefined && {
      async restore(batch: readonly Revocation[]) {
        await store.restore?.(batch)
        mergeOwn(batch)
        await catchUp()
      },
    }),
    watch: (listener) => listeners.add(() => listener()),
    replica: {
      readState,
      subscribe: listeners.add,
      ask: (keys) => askStore(keys),
      keepUnsent,
      // A replica that has not seen it by then is stale.
      waitForOthers: () => sleep(scheduler, boundMs),
      async ready() {
        const deadline = monotonicNow() + READY_TIMEOUT_MS
        for (;;) {
          try {
            return await (isComplete ? undefined : follower.readNow())
          } catch (error) {
            if (monotonicNow() >= deadline) throw error
            await sleep(scheduler, READY_INTERVAL_MS)
          }
        }
      },
    },
    // One round trip, also where the copy is fresh: only the store knows what other processes have spent.
    ...(store.spend !== undefined && {
      spend: (...given: Parameters<NonNullable<RevocationStore['spend']>>) =>
        (store as Required<RevocationStore>).spend(...given),
    }),
    prune: (limit) => store.prune(limit),
    ...(store.sessions !== undefined && {
      sessions: followSessions(store.sessions, async (sids) => {
        for (const sid of sids) keep({ kind: 'session', id: sid, notBefore: FOREVER })
        await catchUp()
      }),
    }),
    async close() {
      isClosed = true
      follower.stop()
      copy.close()
      await store.close()
    },
  })
  return withOrigin(replicated, readOrigin(store))
}

function describeStale({ ageMs, boundMs, lastError }: ReplicaState): Error {
  const age =
    ageMs === null ? 'never read its store completely' : `read its store ${Math.round(ageMs)} ms ago`
  const limit = boundMs === 0 ? 'the store has changed since' : `may be at most ${boundMs} ms old`
  return new Error(`The replica ${age}, and ${limit}`, { cause: lastError ?? undefined })
}

// How long an entry is kept after its end: clocks of processes differ a little.
const MARGIN_MS = 60_000
const READY_TIMEOUT_MS = 5000
const READY_INTERVAL_MS = 100
// With a bound of 0, reads without a reason are only for what no version shows, such as a history to restore.
const POLLED_WITHIN_MS = 1000
