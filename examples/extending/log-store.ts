// A feed of revocations over NATS JetStream, for thousands of processes: docs/scale.md.
import { jetstream, JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { type FeedPage, pollFeed, type Position, type Revocation, type RevocationStore } from 'tokenlib/kit'

/**
 * A position, the entries that the store's feed returned after it, and the next position.
 *
 * The records form a chain, so a reader detects a missing or replaced record.
 */
interface LogRecord {
  readonly seq: number
  readonly from: Position
  readonly next: Position
  readonly entries: readonly Revocation[]
  /** `from` is not in the history of the store: read it from the start. */
  readonly isReset: boolean
}

/** How far a reader is: in the log, or still in the store where it starts. */
interface Place {
  readonly seq: number
  readonly next: Position
  readonly store?: Position | undefined
}

const WRONG_LAST_SEQUENCE = 10_071
const MAX_BEHIND = 1000

/** Opens the log of a store: a stream of that name. */
export async function openLog(connection: NatsConnection, name: string) {
  const manager = await jetstreamManager(connection)
  const client = jetstream(connection)
  // By number, not by age: the last record must never be dropped.
  await manager.streams.add({ name, subjects: [name], max_msgs: 100_000 })

  // Records as they are written, so that a read need not fetch them. They may be late or missing, and one that JetStream
  // has refused may be among them: whatever does not fit is fetched.
  const received = new Map<number, LogRecord>()
  const subscription = connection.subscribe(name, {
    callback(error, message) {
      if (error !== null) return
      const record = message.json<LogRecord>()
      received.set(record.seq, record)
      received.delete(record.seq - MAX_BEHIND)
    },
  })

  const fetchRecord = async (seq: number): Promise<LogRecord | undefined> =>
    (await manager.streams.getMessage(name, { seq }))?.json<LogRecord>()

  return {
    /** The last record, by the answer of the server; `null` in a new log. */
    async last(): Promise<LogRecord | null> {
      const found = await manager.streams.getMessage(name, { last_by_subj: name })
      return found === null ? null : { ...found.json<LogRecord>(), seq: found.seq }
    },
    /** Appends a record, unless somebody else was first. */
    async append(record: LogRecord): Promise<void> {
      try {
        const expect = { lastSequence: record.seq - 1 }
        await client.publish(name, JSON.stringify(record), { expect })
      } catch (error) {
        if (!(error instanceof JetStreamApiError) || error.code !== WRONG_LAST_SEQUENCE) throw error
      }
    },
    /** The entries after a place, up to the last record; `null` if that does not continue the place. */
    async read(place: Place, last: LogRecord): Promise<Revocation[] | null> {
      for (const seq of received.keys()) if (seq <= place.seq) received.delete(seq)
      const count = Math.max(0, last.seq - place.seq)
      if (count > MAX_BEHIND) return null
      const seqs = Array.from({ length: count }, (_, at) => place.seq + 1 + at)
      const joined = join(
        place,
        seqs.map((seq) => received.get(seq)),
        last,
      )
      return joined ?? join(place, await Promise.all(seqs.map(fetchRecord)), last)
    },
    close: () => subscription.unsubscribe(),
  }
}

function join(place: Place, records: readonly (LogRecord | undefined)[], last: LogRecord) {
  const entries: Revocation[] = []
  let { next } = place
  for (const record of records) {
    if (record === undefined || record.from !== next || record.isReset) return null
    entries.push(...record.entries)
    next = record.next
  }
  return next === last.next ? entries : null
}

/** A log that was opened. */
export type Log = Awaited<ReturnType<typeof openLog>>

const RESET: FeedPage = { entries: [], next: '', more: false, reset: true, ageMs: 0 }
const REPAIR_MS = 60_000

/**
 * A store whose feed is read from a log. Sessions, lookups and revocations stay in the store.
 *
 * After a process writes to the store, it copies the feed to the log before its call resolves, from the position where
 * the log ends. JetStream accepts the record only if no other process appended one first. So the log has the same entries
 * as the feed, in the same order, no matter which process copies them.
 */
export function withLog(given: RevocationStore, log: Log): RevocationStore {
  // Nobody is woken: at this size, a read at every revocation is what costs most.
  const { watch: _watch, sessions, ...store } = given
  let repairAt = 0

  const end = async () => {
    const last = await log.last()
    if (last !== null) return last
    const { position } = await store.revoke([])
    await log.append({ seq: 1, from: '', next: position, entries: [], isReset: true })
    return log.last()
  }

  const publish = async (): Promise<Position> => {
    for (;;) {
      const last = await end()
      if (last === null) throw new Error('The log takes no records')
      const page = await store.feed(last.next, { waitMs: 0 })
      if (!page.reset && page.next === last.next) return toPosition(last)
      const next = page.reset ? (await store.revoke([])).position : page.next
      // The next round sees whether it was taken, and whether anything is missing.
      await log.append({
        seq: last.seq + 1,
        from: last.next,
        next,
        entries: page.entries,
        isReset: page.reset,
      })
    }
  }

  // For what was written by a process that does not use the log, or has died.
  const repair = (): void => {
    if (performance.now() < repairAt) return
    repairAt = performance.now() + REPAIR_MS * (0.5 + Math.random() / 2)
    publish().catch(() => undefined)
  }

  const readStore = async ({ seq, next, store: from }: Place): Promise<FeedPage> => {
    const page = await store.feed(from ?? null, { waitMs: 0 })
    if (page.reset) return RESET
    return { ...page, next: toPosition(page.more ? { seq, next, store: page.next } : { seq, next }) }
  }

  const readLog = async (place: Place): Promise<FeedPage> => {
    // Asked now, so the answer includes whatever was acknowledged before.
    const last = await log.last()
    const entries = last === null ? null : await log.read(place, last)
    if (last === null || entries === null) return RESET
    return { entries, next: toPosition(last), more: false, reset: false, ageMs: 0 }
  }

  const read = async (after: Position | null): Promise<FeedPage> => {
    repair()
    if (after !== null) {
      const place = readPlace(after)
      if (place === null) return RESET
      return place.store === undefined ? readLog(place) : readStore(place)
    }
    const last = await end()
    return last === null ? RESET : readStore({ seq: last.seq, next: last.next })
  }

  return {
    ...store,
    async prepare(needs) {
      await store.prepare(needs)
      await publish()
    },
    async revoke(batch) {
      const revoked = await store.revoke(batch)
      return { ...revoked, position: await publish() }
    },
    async claim(batch) {
      const claimed = await store.claim(batch)
      return { ...claimed, position: await publish() }
    },
    ...(store.restore !== undefined && {
      async restore(batch: readonly Revocation[]) {
        await store.restore?.(batch)
        await publish()
      },
    }),
    feed: (after, wait) => pollFeed(() => read(after), wait),
    ...(sessions !== undefined && {
      sessions: {
        ...sessions,
        async openLimited(...args: Parameters<Required<typeof sessions>['openLimited']>) {
          const opening = await (sessions as Required<typeof sessions>).openLimited(...args)
          if (opening.outcome !== 'full' && opening.ended.length > 0) await publish()
          return opening
        },
        async rotate(...args: Parameters<typeof sessions.rotate>) {
          const rotation = await sessions.rotate(...args)
          if (rotation.outcome === 'reused') await publish()
          return rotation
        },
        async present(...args: Parameters<typeof sessions.present>) {
          const presentation = await sessions.present(...args)
          if (presentation.outcome === 'reused') await publish()
          return presentation
        },
      },
    }),
    async close() {
      log.close()
      await store.close()
    },
  }
}

function toPosition({ seq, next, store }: Place): Position {
  return JSON.stringify({ seq, next, store })
}

// `null` for a text that is not ours, which counts as a position of another history.
function readPlace(position: Position): Place | null {
  try {
    const { seq, next, store } = JSON.parse(position) as Place
    return { seq, next, ...(store !== undefined && { store }) }
  } catch {
    return null
  }
}
