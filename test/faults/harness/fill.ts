import { createId, systemRandom } from '../../../packages/tokenlib/src/tokens/ids.js'
import type { RevocationStore } from '../../../packages/tokenlib/src/index.js'
import { FOREVER } from '../../../packages/tokenlib/src/revocation/revocation.js'

/** What was written. */
export interface Filled {
  readonly writeMs: number
  /** Some of the ids. */
  readonly sample: readonly string[]
}

const MOST_SAMPLED = 2000

/** Revokes so many tokens, a batch at a time; all of them end at `until`. */
export async function fillStore(
  store: RevocationStore,
  { count, batch, until }: { readonly count: number; readonly batch: number; readonly until: number },
): Promise<Filled> {
  const startedAt = performance.now()
  const sample: string[] = []
  const every = Math.max(20, Math.floor(count / MOST_SAMPLED))
  for (let written = 0; written < count; written += batch) {
    const ids = Array.from({ length: Math.min(batch, count - written) }, () => createId(systemRandom))
    await store.revoke(ids.map((id) => ({ kind: 'token', id, notBefore: FOREVER, until })))
    sample.push(...ids.filter((_, at) => (written + at) % every === 0))
  }
  return { writeMs: performance.now() - startedAt, sample }
}

/** How long each look-up takes that a check of a token makes, in milliseconds; and how many did not find it. */
export async function timeLookups(
  store: RevocationStore,
  ids: readonly string[],
): Promise<{ readonly times: readonly number[]; readonly missing: number }> {
  const times: number[] = []
  let missing = 0
  for (const id of ids) {
    const startedAt = performance.now()
    const [found] = await store.lookup([
      { kind: 'token', id },
      { kind: 'session', id: id.toLowerCase() },
      { kind: 'user', id: 'ada' },
      { kind: 'key', id: 'first' },
      { kind: 'all', id: '' },
    ])
    times.push(performance.now() - startedAt)
    if (found === undefined) missing++
  }
  return { times, missing }
}

/** How it went to drop everything that has ended. */
export interface Pruned {
  readonly dropped: number
  readonly totalMs: number
  readonly longestMs: number
}

/** Prunes a store, a step at a time, until there is nothing left to drop. */
export async function pruneAll(store: RevocationStore, limit: number): Promise<Pruned> {
  let [dropped, totalMs, longestMs] = [0, 0, 0]
  for (;;) {
    const startedAt = performance.now()
    const gone = await store.prune(limit)
    const took = performance.now() - startedAt
    totalMs += took
    longestMs = Math.max(longestMs, took)
    if (gone === 0) return { dropped, totalMs, longestMs }
    dropped += gone
    // A turn of the loop, as between two requests.
    await new Promise(setImmediate)
  }
}
