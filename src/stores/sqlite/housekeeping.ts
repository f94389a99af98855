import { FOREVER } from '../../revocation/revocation.js'
import { type Clock, monotonicNow } from '../../time.js'
import type { SqliteDatabase } from './database.js'
import type { Ledger } from './ledger.js'
import type { Tables } from './schema.js'

/** Drops what has ended. */
export interface Housekeeping {
  /** At most `limit` rows of each table; returns how many went. */
  prune(limit: number): Promise<number>
  /** Now and then drops a little, once whoever called it is done. */
  afterWrite(): void
  stop(): void
}

/** Rows are kept for this long after they have ended, in milliseconds: a clock may be set back. */
const MARGIN = 60_000
const INTERVAL = 60_000
const BATCH = 1000

/** What housekeeping goes by. */
export interface HousekeepingClocks {
  /** The clock that says what has ended. */
  readonly retire: Clock
  /** The time that the database trusts after a write at a moment; called in a transaction. */
  readonly trust: (at: number) => number
}

/** The housekeeping of a database. */
export function createHousekeeping(
  database: SqliteDatabase,
  { revocations, sessions }: Tables,
  ledger: Ledger,
  { retire, trust }: HousekeepingClocks,
): Housekeeping {
  const statements = [revocations, sessions].map((table) =>
    database.prepare(
      `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE until <= ? LIMIT ?)`,
    ),
  )
  let nextAt = Number.NEGATIVE_INFINITY
  let isStopped = false

  const drop = (at: number, limit: number): number => {
    const endedAt = Math.min(at, trust(at)) - MARGIN
    return statements.reduce(
      (dropped, statement) => dropped + Number(statement.run(endedAt, limit).changes),
      0,
    )
  }

  return {
    prune: (limit) => ledger.write(() => drop(Math.floor(retire()), Math.min(limit, FOREVER))),
    afterWrite() {
      if (isStopped || monotonicNow() < nextAt) return
      nextAt = monotonicNow() + INTERVAL
      const at = Math.floor(retire())
      setImmediate(() => {
        if (isStopped) return
        try {
          // As long as there is more, every write is followed by another batch.
          if (ledger.tryWrite(() => drop(at, BATCH)) >= BATCH) nextAt = Number.NEGATIVE_INFINITY
        } catch {
          // Nobody waits for it, and the next one does the same work.
        }
      })
    },
    stop() {
      isStopped = true
    },
  }
}
