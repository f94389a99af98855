import { setTimeout as sleep } from 'node:timers/promises'
import type { RevocationStore } from 'tokenlib'
import { systemScheduler } from 'tokenlib/kit'
import { replicate } from 'tokenlib/replica'
import type { OpenedStore } from '../opened-store.js'
import { type Check, createFinding, notSeen, ok } from './findings.js'
import { toBytesText, toCount, toMessage, toMillisecondsText } from '../words.js'

/** What `doctor` saw of a replica of its own. */
export interface ReplicaFacts {
  /** Why it could not be tried, or did not become fresh; `null` if it did. */
  readonly error: string | null
  readonly isTried: boolean
  readonly boundMs: number
  readonly entries: number
  readonly firstReadMs: number
  /** The greatest age of the copy during the watch. */
  readonly oldestMs: number
  /** Whether a message reached it; `null` for a store that sends none. */
  readonly isWoken: boolean | null
}

const NOT_TRIED: ReplicaFacts = {
  error: null,
  isTried: false,
  boundMs: 1000,
  entries: 0,
  firstReadMs: 0,
  oldestMs: 0,
  isWoken: null,
}

/** The facts of a replica that was not opened: opening it would create the data that is missing. */
export function notTried(reason: string): ReplicaFacts {
  return { ...NOT_TRIED, error: reason }
}

const [WATCHED_MS, SAMPLE_MS, PROGRESS_MS, WAKE_TIMEOUT_MS, WAKE_INTERVAL_MS] = [1500, 20, 500, 3000, 100]

/** Which replica is watched, and how. */
export interface ReplicaWatch {
  /** The application's store with its replica; `null` to open our own. */
  readonly replicated: RevocationStore | null
  readonly progress: (text: string) => void
}

/** Opens a replica as a process of the application does, waits until it is fresh, and watches its age. */
export async function readReplica(
  opened: OpenedStore,
  { replicated, progress }: ReplicaWatch,
): Promise<ReplicaFacts> {
  const isWoken = await readWakeUp(opened)
  const store = replicated ?? replicate(opened.store, { bound: '1s' })
  const { replica } = store
  if (replica === undefined) throw new TypeError('replicate() returns a store with a replica')
  const start = systemScheduler.monotonicNow()
  const timer = setInterval(() => {
    progress(`read so far: ${toCount(replica.readState().entries, 'revocation')}`)
  }, PROGRESS_MS)
  try {
    // Asks for no lifetime, so that nothing of the application changes.
    await store.prepare({ longestLifetime: 0 })
    await replica.ready()
    const firstReadMs = systemScheduler.monotonicNow() - start
    let oldestMs = 0
    for (
      const end = systemScheduler.monotonicNow() + WATCHED_MS;
      systemScheduler.monotonicNow() < end;
      await sleep(SAMPLE_MS)
    ) {
      oldestMs = Math.max(oldestMs, replica.readState().ageMs ?? 0)
    }
    const { isFresh, boundMs, entries, lastError } = replica.readState()
    const error = isFresh ? null : (lastError?.message ?? 'it is older than its bound')
    return { error, isTried: true, boundMs, entries, firstReadMs, oldestMs, isWoken }
  } catch (error) {
    return { ...NOT_TRIED, isTried: true, error: toMessage(error), isWoken }
  } finally {
    clearInterval(timer)
    // The application closes its own replica.
    if (replicated === null) await store.close()
  }
}

/**
 * Sends empty messages on the channel of the application until one arrives. Its replicas read once more for each, and
 * find nothing; no data is written.
 */
async function readWakeUp(opened: OpenedStore): Promise<boolean | null> {
  const publish = toPublish(opened)
  if (publish === null || opened.store.watch === undefined) return null
  // PostgreSQL calls once when it begins to listen, also behind a pooler that delivers nothing.
  const wanted = opened.kind === 'postgres' ? 2 : 1
  const seen = { calls: 0 }
  const stop = opened.store.watch(() => seen.calls++)
  try {
    for (
      const end = systemScheduler.monotonicNow() + WAKE_TIMEOUT_MS;
      systemScheduler.monotonicNow() < end;
      await sleep(WAKE_INTERVAL_MS)
    ) {
      if (seen.calls >= wanted) return true
      if (seen.calls === wanted - 1) await publish()
    }
  } catch {
    // A user without permission to publish; another finding reports that.
  } finally {
    stop()
  }
  return seen.calls >= wanted
}

function toPublish(opened: OpenedStore): (() => Promise<unknown>) | null {
  const { kind, namespace } = opened
  if (kind === 'redis') return () => opened.client.command('PUBLISH', `{tokenlib:${namespace}}:news`, '')
  if (kind !== 'postgres') return null
  const { client } = opened
  return () => client.query(`select pg_notify($1, '')`, [client.inspection.channel])
}

const checkFresh: Check<ReplicaFacts> = ({ error, isTried, boundMs, firstReadMs, oldestMs }) => {
  if (!isTried) {
    return notSeen('replica-fresh', `a replica: ${error}`, 'Run doctor again once the application has run.')
  }
  if (error !== null) {
    return createFinding('replica-fresh', 'error', {
      title: `A replica does not become fresh: ${error}.`,
      detail: 'Processes with replicate() refuse requests, or ask the store for every check.',
      fix: 'Fix the errors of the store above, then run doctor again.',
    })
  }
  const text = `read in ${toMillisecondsText(firstReadMs)}, then at most ${toMillisecondsText(oldestMs)} old`
  if (oldestMs <= boundMs * 0.5) return ok('replica-fresh', `A replica was ${text}.`)
  return createFinding('replica-fresh', 'warning', {
    title: `A replica was ${text}: a bound of ${toMillisecondsText(boundMs)} leaves no reserve.`,
    fix: `Use replicate(store, { bound: '${Math.ceil((oldestMs * 2) / 1000)}s' }), or run the store nearer.`,
  })
}

// docs/stores/replica.md, Limits.
const BYTES_PER_ENTRY = 32

const checkMemory: Check<ReplicaFacts> = ({ isTried, error, entries }) => {
  if (!isTried || error !== null) return null
  const text = `${toCount(entries, 'revocation')}, about ${toBytesText(entries * BYTES_PER_ENTRY)} in each process`
  if (entries < 5_000_000) return ok('replica-memory', `A replica has ${text}.`)
  return createFinding('replica-memory', 'warning', {
    title: `A replica has ${text}.`,
    detail: 'Every process reads all of them when it starts.',
    fix: 'Set JWT_ACCESS_TOKEN_EXPIRES=15m, so that revocations are kept for a shorter time.',
  })
}

const checkWakeUps: Check<ReplicaFacts> = ({ isTried, isWoken }) => {
  if (!isTried || isWoken === null) return null
  if (isWoken) return ok('replica-wakeups', 'Messages wake a replica.')
  return createFinding('replica-wakeups', 'warning', {
    title: 'No message wakes a replica: it finds revocations only when it polls.',
    detail: 'A pooler in transaction mode (PgBouncer) delivers none, nor does a user without the channel.',
    fix: 'Give the store a connection that does not go through the pooler, or the right to the channel.',
  })
}

/** The checks of a replica. */
export const REPLICA_CHECKS: readonly Check<ReplicaFacts>[] = [checkFresh, checkMemory, checkWakeUps]
