import { createId, systemRandom } from '../../tokens/ids.js'
import { FOREVER } from '../../revocation/revocation.js'
import type { LossReporter } from '../loss-reporter.js'
import type { Clock } from '../../time.js'
import type { Position } from '../../revocation/store.js'
import type { ReadableRows, Rows } from '../local-rows.js'
import { revokeEverything } from '../local-store.js'
import { createRows } from './rows.js'
import {
  type Connection,
  createTables,
  SCHEMA_VERSION,
  type Tables,
  unlessIncomplete,
  type WhenBusy,
} from './tables.js'

/** How far this process has seen the history of a database. */
export interface KnownHistory {
  /** Random; a database that starts from nothing gets a new one. */
  readonly epoch: string
  /** The count of changes; it never falls within an epoch. */
  readonly changes: number
}

/** The reads and writes of a store: each of them notices when the database has lost what this process saw in it. */
export interface History {
  /** Makes sure that every watermark lives for this long, in milliseconds, old and new ones of all processes. */
  raiseLongestLifetime(longestLifetime: number): Promise<void>
  /** Runs `work` in one transaction; its time is when it got the lock. */
  write<T>(work: (rows: Rows) => T): Promise<T>
  /** Reads with one statement. `attempt` returns `null` or `undefined` if the data is not from the known history. */
  readStatement<T>(attempt: (known: KnownHistory) => T | null | undefined): T
  /** Reads with several statements in one history, whose epoch `work` gets. `known` is the state of that history. */
  read<T>(work: (rows: ReadableRows, epoch: string) => T): {
    readonly value: T
    readonly known: KnownHistory
  }
  /** Another text as soon as anything was committed to the database, by this connection or another one. */
  readVersion(): string
  /** Takes note of a count of changes that was read along with the known epoch. */
  recordChanges(changes: number): void
  readSeen(): Seen
  /** The position that includes everything known; `null` as long as nothing is known. */
  readPosition(): Position | null
}

/** The position that includes everything known. */
export function toPosition({ epoch, changes }: KnownHistory): Position {
  return `${epoch}:${changes}`
}

interface Meta extends KnownHistory {
  readonly longestLifetime: number
}

/** What one process has seen of a database. */
export interface Seen {
  /** `null` for a process that has just started: it cannot miss anything. */
  readonly known: KnownHistory | null
  /** The longest lifetime that it needs watermarks for, in milliseconds. */
  readonly longestLifetime: number
}

/** The seen of a process that has just started. */
export const NOTHING_SEEN: Seen = { known: null, longestLifetime: 0 }

/** Remembers which histories were lost, where many processes find that out at very different times. */
export interface Endings {
  /** The watermark that was written when the history of an epoch was found lost, or `null`. It includes all of it. */
  read(epoch: string): number | null
  record(epoch: string, watermark: number): void
}

/** What a history works with. */
export interface HistoryOptions {
  readonly now: Clock
  readonly seen: Seen
  /** Without it, each process that finds a loss revokes everything from before. */
  readonly endings?: Endings
  readonly losses: Pick<LossReporter, 'canRestore' | 'report' | 'reportHistory'>
}

/** The history of a database. */
export function createHistory(
  database: Connection,
  tables: Tables,
  { now, losses, seen, endings }: HistoryOptions,
): History {
  const { meta, revocations } = tables
  const readMeta = database.prepare(
    `SELECT epoch, changes, longest_lifetime AS longestLifetime FROM ${meta} WHERE id = 1`,
  )
  const saveMeta = database.prepare(
    // The version stays: a newer release may have written it.
    `INSERT INTO ${meta} (id, version, epoch, changes, longest_lifetime) VALUES (1, ${SCHEMA_VERSION}, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET
       epoch = excluded.epoch, changes = excluded.changes, longest_lifetime = excluded.longest_lifetime`,
  )
  const checkMeta = database.prepare(
    `SELECT changes FROM ${meta} WHERE id = 1 AND epoch = ? AND changes >= ?`,
  )
  const readDataVersion = database.prepare('PRAGMA data_version')
  const readOwnChanges = database.prepare('SELECT total_changes() AS changes')
  const readLastChange = database.prepare(`SELECT coalesce(max(change), 0) AS changes FROM ${revocations}`)
  const end = `min(${FOREVER}, not_before + ?)`
  const extend = database.prepare(
    `UPDATE ${revocations} SET change = ? + step, until = later FROM (
       SELECT change AS former, row_number() OVER (ORDER BY change) AS step, ${end} AS later
       FROM ${revocations} WHERE kind IN ('user', 'all') AND until < ${end})
     WHERE change = former`,
  )
  const rows = createRows(database, tables)
  let { known, longestLifetime } = seen

  const write = <T>(whenBusy: WhenBusy, work: (rows: Rows) => T): T => {
    database.assertInPlace()
    const { result, after, revokedBefore, isOther } = database.transact(whenBusy, () => {
      const at = now()
      const found = readExistingMeta() ?? startHistory()
      // A count that has fallen is an old copy of the data; a new epoch tells the other processes.
      const isOldCopy = found.epoch === known?.epoch && found.changes < known.changes
      const epoch = isOldCopy ? createId(systemRandom) : found.epoch
      longestLifetime = Math.max(longestLifetime, found.longestLifetime)
      const history = { epoch, changes: found.changes }
      // Here and not only in prepare: an older copy may have been put back, or a prepare failed.
      if (longestLifetime > found.longestLifetime) {
        history.changes += Number(extend.run(found.changes, longestLifetime, longestLifetime).changes)
      }
      const transaction: Rows = {
        ...rows,
        now: at,
        longestLifetime,
        position: () => toPosition(history),
        merge(entry) {
          if (rows.put(history.changes + 1, entry)) history.changes++
        },
      }
      const lost = known !== null && known.epoch !== epoch ? known : null
      const lostBefore = lost !== null && !losses.canRestore() ? revokeLost(lost, transaction) : null
      const answer = work(transaction)
      const isNew =
        epoch !== found.epoch ||
        history.changes !== found.changes ||
        longestLifetime !== found.longestLifetime
      if (isNew) saveMeta.run(epoch, history.changes, longestLifetime)
      return { result: answer, after: history, revokedBefore: lostBefore, isOther: lost !== null }
    })
    known = after
    if (isOther) losses.reportHistory()
    if (revokedBefore !== null) losses.report(revokedBefore)
    // What went into a file that is gone by now must not be acknowledged.
    database.assertInPlace()
    return result
  }

  // Everything from before, once for each history that was lost.
  const revokeLost = (lost: KnownHistory, transaction: Rows): number => {
    const earlier = endings?.read(lost.epoch) ?? null
    if (earlier !== null) return earlier
    const notBefore = revokeEverything(transaction)
    endings?.record(lost.epoch, notBefore)
    return notBefore
  }

  const readExistingMeta = (): Meta | null => unlessIncomplete(() => readMeta.get() as Meta | null)

  const startHistory = (): Meta => {
    createTables(database, tables)
    // Where only the count was lost, no new entry may get the number of an old one.
    const { changes } = readLastChange.get() as { readonly changes: number }
    const epoch = createId(systemRandom)
    // With the count, the lifetime that its entries were made for was lost as well.
    saveMeta.run(epoch, changes, 0)
    return { epoch, changes, longestLifetime: 0 }
  }

  const tryRead = <T>(attempt: (known: KnownHistory) => T | null | undefined): T | null => {
    const soFar = known
    if (soFar === null) throw new Error('The SQLite store is used before its prepare() has resolved')
    return unlessIncomplete(() => attempt(soFar))
  }

  const recordChanges = (changes: number): void => {
    if (known !== null && known.changes !== changes) known = { epoch: known.epoch, changes }
  }

  const readStatement: History['readStatement'] = (attempt) => {
    database.assertInPlaceLately()
    const answer = tryRead(attempt)
    if (answer !== null) return answer
    // A read is synchronous, so it blocks while it waits for its turn to write.
    write('wait', () => undefined)
    const answerOfNew = tryRead(attempt)
    if (answerOfNew === null) throw new Error('The tables of the SQLite store keep changing')
    return answerOfNew
  }

  return {
    async raiseLongestLifetime(needed) {
      longestLifetime = Math.max(longestLifetime, needed)
      await database.retryWhileBusy(() => write('throw', () => undefined))
    },
    write: (work) => database.retryWhileBusy(() => write('throw', work)),
    readStatement,
    read: (work) =>
      readStatement(({ epoch, changes }) => {
        const value = work({ ...rows, now: now() }, epoch)
        // After the last of them, so that all of them have read this history.
        const row = (checkMeta.get(epoch, changes) ?? null) as Pick<KnownHistory, 'changes'> | null
        if (row === null) return null
        recordChanges(row.changes)
        return { value, known: { epoch, changes: row.changes } }
      }),
    readVersion() {
      database.assertInPlaceLately()
      // The first one changes with commits of other connections, the second one with commits of this connection.
      const { data_version: version } = readDataVersion.get() as { readonly data_version: number }
      const { changes } = readOwnChanges.get() as { readonly changes: number }
      return `${version}:${changes}`
    },
    recordChanges,
    readSeen: () => ({ known, longestLifetime }),
    readPosition: () => known && toPosition(known),
  }
}
