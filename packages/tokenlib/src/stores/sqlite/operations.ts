import type { SessionStore } from '../../revocation/session-store.js'
import type { Clock } from '../../time.js'
import type { Connection } from './connection.js'
import { createHistory, type History, type HistoryOptions } from './history.js'
import { createPruner, type PruneClocks, type Pruner } from './pruner.js'
import { createClaim, createFeedReader, createLookup, createRestore, createRevoke } from './revocations.js'
import { createTables, type Tables } from './schema.js'
import { createSqliteSessions } from './sessions.js'

/** What the operations of a store work with. */
export interface OperationOptions extends HistoryOptions, PruneClocks {
  readonly now: Clock
}

/** What a store does with its tables, for one process that uses them. */
export interface Operations {
  readonly history: History
  readonly revoke: ReturnType<typeof createRevoke>
  readonly claim: ReturnType<typeof createClaim>
  readonly restore: ReturnType<typeof createRestore>
  readonly lookup: ReturnType<typeof createLookup>
  readonly readFeed: ReturnType<typeof createFeedReader>
  readonly sessions: Required<SessionStore>
  readonly pruner: Pruner
}

/** Creates the tables that are missing, or throws `ConfigurationError` for tables of another version. */
export function prepareTables(database: Connection, tables: Tables): void {
  database.transact('throw', () => {
    createTables(database, tables)
    // Nothing is deleted; but a handle that may only read lets a transaction begin, and fails here.
    database.exec(`DELETE FROM ${tables.meta} WHERE id = 0`)
  })
}

/** Prepares every statement that a store needs; the tables must be there. */
export function createOperations(
  database: Connection,
  tables: Tables,
  options: OperationOptions,
): Operations {
  const history = createHistory(database, tables, options)
  return {
    history,
    revoke: createRevoke(database, tables, history),
    claim: createClaim(database, tables, history),
    restore: createRestore(database, tables, history),
    lookup: createLookup(database, tables, history),
    readFeed: createFeedReader(database, tables, history),
    sessions: createSqliteSessions(database, tables, history, options.now),
    pruner: createPruner(database, tables, history, options),
  }
}
