import { ConfigurationError } from '../../errors.js'
import { assertKnownLayout } from '../../revocation/store-rules.js'
import type { Connection } from './connection.js'

/** The names of the tables of one store. */
export interface Tables {
  readonly meta: string
  readonly revocations: string
  readonly sessions: string
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
    clock: `${prefix}clock`,
  }
}

/** Creates what is missing, and refuses tables that only newer releases can use; to be run in a transaction. */
export function createTables(database: Connection, { meta, revocations, sessions, clock }: Tables): void {
  database.exec(`
    CREATE TABLE IF NOT EXISTS ${meta} (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      version INTEGER NOT NULL,
      epoch TEXT NOT NULL,
      changes INTEGER NOT NULL,
      longest_lifetime INTEGER NOT NULL
    );
  `)
  // All columns: tables of a later release have one more, and it writes there who can use its tables.
  const row = database.prepare(`SELECT * FROM ${meta} WHERE id = 1`).get()
  const { version, oldest = null } = (row ?? { version: SCHEMA_VERSION }) as StoredVersion
  assertKnownLayout('SQLite', { version, oldest }, SCHEMA_VERSION)
  // What a newer release has made is left as it is.
  if (version > SCHEMA_VERSION) return
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
      ${PLACE_COLUMNS.join(', ')}
    );
    -- Of a release that did not read in pages; the next one has the same columns and one more.
    DROP INDEX IF EXISTS ${sessions}_user;
    CREATE INDEX IF NOT EXISTS ${sessions}_page ON ${sessions} (user, started_at, sid);
    CREATE INDEX IF NOT EXISTS ${sessions}_until ON ${sessions} (until);
    CREATE INDEX IF NOT EXISTS ${sessions}_start ON ${sessions} (started_at);
    -- Not part of the version: releases without it do not need it.
    CREATE TABLE IF NOT EXISTS ${clock} (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      trusted INTEGER NOT NULL,
      claimed_from INTEGER,
      claimed_to INTEGER
    );
  `)
  addPlaceColumns(database, sessions)
}

// Where the rotation of a session stands. Not part of the version: releases without these columns can use the tables, and
// the rows they insert are sessions that have not advanced. If `moved_at` is null, `last_used_at` stands in for it.
const PLACE_COLUMNS = ["current_id TEXT NOT NULL DEFAULT ''", 'previous_id TEXT', 'moved_at INTEGER']

function addPlaceColumns(database: Connection, sessions: string): void {
  const columns = database.prepare(`PRAGMA table_info(${sessions})`).all() as readonly { name: string }[]
  if (columns.some(({ name }) => name === 'current_id')) return
  for (const column of PLACE_COLUMNS) database.exec(`ALTER TABLE ${sessions} ADD COLUMN ${column}`)
}

interface StoredVersion {
  readonly version: number
  readonly oldest?: number | null
}
