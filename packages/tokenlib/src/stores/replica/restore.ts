import { nextTurn, withDeadline } from '../../runtime.js'
import type { Revocation } from '../../revocation/revocation.js'
import type { RevocationStore } from '../../revocation/store.js'
import type { Clock, Scheduler } from '../../time.js'
import { createRevocationCopy, type RevocationCopy } from '../memory/revocations.js'

/** Writes back what a store has lost and this process still knows. */
export interface Restorer {
  /** Call when the store's history has changed: compares its entries with the copy from now on. */
  begin(): void
  /** Notes an entry that the store has; `now` is the time of `pruneClock`. */
  noteGiven(entry: Revocation, now: number): void
  /** Notes entries that have just been revoked. They are written first: a process that is slow may not know them. */
  noteArrived(entries: readonly Revocation[]): void
  /** Keeps what could not be written, to be written with the rest. */
  keepUnsent(batch: readonly Revocation[]): void
  /** Writes what is due, if anything is; rejects when that fails, and the next call tries again. */
  run(): Promise<void>
  /** When there is something to write, by the monotonic clock. */
  readonly dueAt: number
}

/** What a restorer works with. */
export interface RestorerOptions {
  readonly store: RevocationStore
  readonly copy: RevocationCopy
  readonly boundMs: number
  readonly timeoutMs: number
  readonly pruneClock: Clock
  readonly scheduler: Scheduler
}

const BATCH = 500
// Callers that revoke more get an error; this process refuses those tokens all the same.
const MAX_UNSENT = 100_000
// How many entries are compared before others have their turn: about two milliseconds.
const LOOKED_PER_TURN = 2000

/** Creates a restorer for a store; without `restore`, it does nothing. */
export function createRestorer(options: RestorerOptions): Restorer {
  const { store, copy, boundMs, timeoutMs, pruneClock, scheduler } = options
  const { monotonicNow } = scheduler
  const unsent = new Map<string, Revocation>()
  const arrivals: { readonly at: number; readonly entries: readonly Revocation[] }[] = []
  // What the store has given since its history was lost; the rest of the copy has to be written.
  let given: RevocationCopy | null = null
  let dueAt = Number.POSITIVE_INFINITY
  let restDueAt = Number.POSITIVE_INFINITY
  let isWriting = false

  const write = async (batch: readonly Revocation[]): Promise<void> => {
    await withDeadline(
      scheduler,
      (store.restore as NonNullable<RevocationStore['restore']>).call(store, batch),
      timeoutMs,
      () => new Error(`The store did not restore revocations within ${timeoutMs} ms`),
    )
  }

  const writeMissing = async (found: RevocationCopy): Promise<void> => {
    const isRest = monotonicNow() >= restDueAt
    dueAt = isRest ? Number.POSITIVE_INFINITY : restDueAt
    // At the end all of them, because entries that move while they are listed must not be left out.
    const rest = isRest ? [listFromAnywhere(copy), copy.entries()] : []
    try {
      const lists = [listRecent(arrivals), ...rest]
      for await (const batch of listMissing(lists, found, pruneClock())) {
        await write(batch)
        for (const entry of batch) found.merge(entry)
      }
    } catch (error) {
      dueAt = monotonicNow()
      throw error
    }
    if (isRest && given === found) given = null
  }

  const writeUnsent = async (): Promise<void> => {
    while (unsent.size > 0) {
      const first = [...unsent.values()].slice(0, BATCH)
      const batch = first.filter((entry) => !hasEnded(entry, pruneClock()))
      if (batch.length > 0) await write(batch)
      for (const entry of first) if (unsent.get(toName(entry)) === entry) unsent.delete(toName(entry))
    }
  }

  // A process that does not know what is older is stale, or started after the loss.
  const forgetOld = (): void => {
    const oldest = monotonicNow() - 2 * boundMs
    while ((arrivals[0]?.at ?? oldest) < oldest) arrivals.shift()
  }

  return {
    begin() {
      if (store.restore === undefined) return
      given = createRevocationCopy('The replica', pruneClock)
      // Not all processes at the same time: what one restores reaches the others through the feed. The rest is known to every
      // process that runs, and can wait.
      const now = monotonicNow()
      dueAt = now + (Math.random() * boundMs) / 8
      restDueAt = dueAt + (Math.random() * boundMs) / 2
    },
    noteGiven(entry, now) {
      given?.merge(entry, now)
    },
    noteArrived(entries) {
      forgetOld()
      if (entries.length > 0) arrivals.push({ at: monotonicNow(), entries })
    },
    keepUnsent(batch) {
      if (store.restore === undefined) return
      for (const entry of batch) if (unsent.size < MAX_UNSENT) unsent.set(toName(entry), entry)
    },
    async run() {
      if (isWriting) return
      forgetOld()
      if (unsent.size === 0 && monotonicNow() < dueAt) return
      isWriting = true
      try {
        if (given !== null && monotonicNow() >= dueAt) await writeMissing(given)
        await writeUnsent()
      } finally {
        isWriting = false
      }
    },
    get dueAt() {
      return isWriting ? Number.POSITIVE_INFINITY : dueAt
    },
  }
}

function toName({ kind, id }: Revocation): string {
  return `${kind}:${id}`
}

function hasEnded({ until }: Revocation, now: number): boolean {
  return until <= now
}

function* listRecent(arrivals: readonly { readonly entries: readonly Revocation[] }[]): Iterable<Revocation> {
  for (const { entries } of arrivals.toReversed()) yield* entries
}

// Processes that start at different places share the work.
function* listFromAnywhere(copy: RevocationCopy): Iterable<Revocation> {
  let left = Math.floor(Math.random() * copy.size)
  for (const entry of copy.entries()) if (left-- <= 0) yield entry
}

// Entries of some lists that a copy does not have, or not to the same extent; those that have ended are left out.
async function* listMissing(
  lists: readonly Iterable<Revocation>[],
  given: RevocationCopy,
  now: number,
): AsyncIterable<readonly Revocation[]> {
  let batch: Revocation[] = []
  let looked = 0
  for (const list of lists) {
    for (const entry of list) {
      if (++looked % LOOKED_PER_TURN === 0) await nextTurn()
      if (given.covers(entry) || hasEnded(entry, now)) continue
      batch.push(entry)
      if (batch.length < BATCH) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
    batch = []
  }
}
