import { ConfigurationError } from '../../errors.js'
import { assertKnownLayout } from '../store-parts.js'

/** What this store binds to a statement. */
export type SqliteValue = string | number | null

/** A prepared statement. */
export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
  /** The first row. Without one, some clients return `undefined`, and others `null`. */
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
}

/** What to do while another process writes: block until it is done, or throw. */
export type WhenBusy = 'wait' | 'throw'

/** A database as the tables of a store need it, whether it is a file or the storage of a Durable Object. */
export interface Connection {
  /** Runs statements without values. */
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  /** Runs `work` in a transaction that may write: all of what it does is durable afterwards, or nothing is done. */
  transact<T>(whenBusy: WhenBusy, work: () => T): T
  /** Tries again while other processes are in the way. The first attempt is synchronous. */
  retryWhileBusy<T>(attempt: () => T): Promise<T>
  /** Throws if what is read or written now would not be the data that other processes see. */
  assertInPlace(): void
  /** The same for reads, which are many: it may rely on a check of a moment ago. */
  assertInPlaceLately(): void
}

/** The names of the tables of one store. */
export interface Tables {
  readonly meta: string
  readonly revocations: string
  readonly sessions: string
  readonly spent: string
  readonly clock: string
}

/** The version of the tables below. */
export const SCHEMA_VERSION = 1

/** The tables whose names begin with a prefix. */
export function toTables(prefix: string): Tables {
  if (!/^(?!sqlite_)[a-z_][a-z0-9_]{0,62}$/i.test(prefix)) {
    throw new ConfigurationError(
      'The prefix of the SQLite store must be letters, digits and underscores, and must not begin with "sqlite_"',
    )
  }
  return {
    meta: `${prefix}meta`,
    revocations: `${prefix}revocations`,
    sessions: `${prefix}sessions`,
    spent: `${prefix}spent`,
    clock: `${prefix}clock`,
  }
}

/** Creates what is missing, and refuses tables of a newer release; to be run in a transaction. */
export function createTables(database: Connection, tables: Tables): void {
  const { meta, revocations, sessions, spent, clock } = tables
  database.exec(`
    CREATE TABLE IF NOT EXISTS ${meta} (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      version INTEGER NOT NULL,
      epoch TEXT NOT NULL,
      changes INTEGER NOT NULL,
      longest_lifetime INTEGER NOT NULL
    );
  `)
  const row = database.prepare(`SELECT version FROM ${meta} WHERE id = 1`).get()
  const { version } = (row ?? { version: SCHEMA_VERSION }) as { readonly version: number }
  assertKnownLayout('SQLite', version, SCHEMA_VERSION)
  database.exec(`
    CREATE TABLE IF NOT EXISTS ${revocations} (
      -- The row's own number, so that the feed reads the table itself from front to back.
      change INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      not_before INTEGER NOT NULL,
      until INTEGER NOT NULL,
      UNIQUE (kind, id)
    );
    CREATE INDEX IF NOT EXISTS ${revocations}_until ON ${revocations} (until);
    CREATE TABLE IF NOT EXISTS ${sessions} (
      sid TEXT PRIMARY KEY NOT NULL,
      user TEXT NOT NULL,
      generation INTEGER NOT NULL,
      started_at INTEGER NOT NULL,
      last_used_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      until INTEGER NOT NULL,
      ip TEXT,
      user_agent TEXT,
      current_id TEXT NOT NULL DEFAULT '',
      previous_id TEXT,
      moved_at INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS ${sessions}_page ON ${sessions} (user, started_at, sid);
    CREATE INDEX IF NOT EXISTS ${sessions}_until ON ${sessions} (until);
    CREATE INDEX IF NOT EXISTS ${sessions}_start ON ${sessions} (started_at);
    -- Added to tables of version 1, which releases that do not know it can go on using.
    CREATE TABLE IF NOT EXISTS ${spent} (
      id TEXT PRIMARY KEY NOT NULL,
      until INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS ${spent}_until ON ${spent} (until);
    CREATE TABLE IF NOT EXISTS ${clock} (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      trusted INTEGER NOT NULL,
      claimed_from INTEGER,
      claimed_to INTEGER
    );
  `)
  addDataColumn(database, sessions)
}

// To tables of version 1 as well: releases that do not know the column can go on using the others.
function addDataColumn(database: Connection, sessions: string): void {
  const columns = database.prepare(`PRAGMA table_info(${sessions})`).all() as readonly { name: string }[]
  if (!columns.some(({ name }) => name === 'data')) {
    database.exec(`ALTER TABLE ${sessions} ADD COLUMN data TEXT`)
  }
}

/** What a read finds, or `null` where a table is missing. */
export function unlessIncomplete<T>(read: () => T | null | undefined): T | null {
  try {
    // Some clients return `null` for no row, and others `undefined`.
    return read() ?? null
  } catch (error) {
    // By the text of SQLite itself: every client passes it on, and each has its own codes.
    if (error instanceof Error && /no such table/.test(error.message)) return null
    throw error
  }
}
