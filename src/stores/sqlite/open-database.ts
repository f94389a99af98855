import type { LookupAnswer, Revocation, RevocationKey } from '../../revocation/revocation.js'
import type { SessionStore, FeedPage, Position, Revoked } from '../../revocation/store.js'
import { type Clock, createCautiousClock, createCheckedClock, systemClock } from '../../time.js'
import { configure } from './configure.js'
import { assertLocal, createFileGuard, NO_FILE, readPath } from './database-file.js'
import type { SqliteDatabase } from './database.js'
import { createFeedReader } from './feed.js'
import { createHousekeeping, type Housekeeping } from './housekeeping.js'
import { createLedger } from './ledger.js'
import { createLookup } from './lookup.js'
import { createRevoke } from './revoke.js'
import { createTables, type Tables } from './schema.js'
import { createSessions } from './sessions.js'
import { transact } from './transaction.js'
import { createTrustedTime } from './trusted-time.js'

/** A database that is ready for use. */
export interface OpenDatabase {
  /** Makes sure that every watermark lives for this long, in milliseconds, whoever wrote it or will write it. */
  raiseLongestLifetime(longestLifetime: number): Promise<void>
  revoke(batch: readonly Revocation[]): Promise<Revoked>
  lookup(keys: readonly RevocationKey[]): LookupAnswer
  readFeed(after: Position | null): FeedPage
  readonly sessions: SessionStore
  readonly housekeeping: Housekeeping
}

/** How a database is used. */
export interface OpenOptions {
  readonly clock: Clock
  readonly onWarning: (message: string) => void
  /** Called when data was lost, after everything up to a moment is revoked; epoch milliseconds. */
  readonly onLost: (revokedBefore: number) => void
}

/** Makes a database ready: its settings, its tables, and every statement that will be needed. */
export function openDatabase(
  database: SqliteDatabase,
  tables: Tables,
  { clock, onWarning, onLost }: OpenOptions,
): OpenDatabase {
  const path = readPath(database)
  if (path === null) onWarning(IN_MEMORY)
  else assertLocal(path)
  configure(database, path !== null)
  transact(database, 'throw', () => {
    createTables(database, tables)
    // Nothing is deleted; but a handle that may only read lets a transaction begin, and fails here.
    database.exec(`DELETE FROM ${tables.meta} WHERE id = 0`)
  })
  const now = createCheckedClock(clock)
  const ledger = createLedger(database, tables, {
    now,
    file: path === null ? NO_FILE : createFileGuard(path),
    onLost,
  })
  return {
    raiseLongestLifetime: (longestLifetime) => ledger.raiseLongestLifetime(longestLifetime),
    revoke: createRevoke(database, tables, ledger),
    lookup: createLookup(database, tables, ledger),
    readFeed: createFeedReader(database, tables, ledger),
    sessions: createSessions(database, tables, ledger, now),
    housekeeping: createHousekeeping(database, tables, ledger, {
      retire: createCautiousClock(clock),
      // A clock that was passed in is somebody's own time, and may run as it likes.
      trust: clock === systemClock ? createTrustedTime(database, tables) : (at) => at,
    }),
  }
}

const IN_MEMORY =
  'The SQLite store was given a database in memory: other processes never see its revocations, and a restart ' +
  'forgets them. Open a file instead'
