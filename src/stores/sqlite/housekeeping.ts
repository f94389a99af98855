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

/** The housekeeping of a database; `retire` is the clock that says what has ended. */
export function createHousekeeping(
  database: SqliteDatabase,
  { revocations, sessions }: Tables,
  ledger: Ledger,
  retire: Clock,
): Housekeeping {
  const statements = [revocations, sessions].map((table) =>
    database.prepare(
      `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE until <= ? LIMIT ?)`,
    ),
  )
  let nextAt = Number.NEGATIVE_INFINITY
  let isStopped = false

  const drop = (endedAt: number, limit: number): number =>
    statements.reduce((dropped, statement) => dropped + Number(statement.run(endedAt, limit).changes), 0)

  return {
    prune: (limit) => ledger.write(() => drop(retire() - MARGIN, Math.min(limit, FOREVER))),
    afterWrite() {
      if (isStopped || monotonicNow() < nextAt) return
      nextAt = monotonicNow() + INTERVAL
      const endedAt = retire() - MARGIN
      setImmediate(() => {
        if (isStopped) return
        try {
          // As long as there is more, every write is followed by another batch.
          if (ledger.tryWrite(() => drop(endedAt, BATCH)) >= BATCH) nextAt = Number.NEGATIVE_INFINITY
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
