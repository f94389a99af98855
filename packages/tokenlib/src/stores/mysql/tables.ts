import { ConfigurationError } from '../../errors.js'
import { anyText, type OptionKinds, parseOptions } from '../../options.js'

/** Where the tables of a store are. */
export interface TableOptions {
  /** The database of the tables: the one that the connections of the pool are in, unless it is named. */
  readonly database?: string
  /** What the names of the tables begin with: `tokenlib_`. */
  readonly prefix?: string
}

/** The kinds of `TableOptions`; `toTables` checks the names themselves. */
export const TABLE_OPTIONS: OptionKinds<TableOptions> = { database: anyText, prefix: anyText }

/** The names of the tables, quoted for SQL. */
export interface Tables {
  /** One row: the version of the tables. */
  readonly version: string
  /** One row for each namespace: what its history is, and how far it goes. */
  readonly heads: string
  /** Also the mark of each history, the names of its last batches, and the turns of users who log in. */
  readonly revocations: string
  readonly sessions: string
  /** The ids that were used up, which no history knows of. */
  readonly spent: string
}

/** The names of a store's tables, or `ConfigurationError` for what cannot be part of a name. */
export function toTables({ database, prefix = 'tokenlib_' }: TableOptions = {}): Tables {
  if (!PREFIX.test(prefix)) {
    throw new ConfigurationError(
      'prefix begins the names of tables: up to 40 letters, digits and underscores, no digit first',
    )
  }
  if (database !== undefined && !DATABASE.test(database)) {
    throw new ConfigurationError(
      'database is the name of a database: up to 64 letters, digits, hyphens and underscores',
    )
  }
  // Backquotes quote names in every sql_mode.
  const table = (name: string): string =>
    `${database === undefined ? '' : `\`${database}\`.`}\`${prefix}${name}\``
  return {
    version: table('version'),
    heads: table('heads'),
    revocations: table('revocations'),
    sessions: table('sessions'),
    spent: table('spent'),
  }
}

const DATABASE = /^[A-Za-z0-9_-]{1,64}$/
const PREFIX = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/

/** The version of the tables that this release needs. */
export const TABLES_VERSION = 1

/**
 * The statements that create or update the tables of a store, for those who run migrations themselves.
 *
 * They are run in this order, each on its own. They may run again, and in many processes at the same time.
 */
export function migrationSql(options: TableOptions = {}): readonly string[] {
  return toMigration(toTables(parseOptions('migrationSql()', options, TABLE_OPTIONS)))
}

// Columns of bytes: they compare byte by byte, where a text ignores spaces at its end in every collation that both MySQL
// and MariaDB have. And they hold what was sent, whatever charset a connection has.
const NAME = 'varbinary(255) not null'
const ENGINE = 'engine = InnoDB row_format = dynamic'

/** The same for tables whose names are known. */
export function toMigration({ version, heads, revocations, sessions, spent }: Tables): readonly string[] {
  return [
    `create table if not exists ${version} (
  id tinyint not null,
  version int not null,
  primary key (id)
) ${ENGINE}`,
    `create table if not exists ${heads} (
  namespace ${NAME},
  epoch ${NAME},
  link ${NAME},
  changes bigint not null,
  longest_lifetime bigint not null,
  primary key (namespace)
) ${ENGINE}`,
    `create table if not exists ${revocations} (
  namespace ${NAME},
  kind varbinary(16) not null,
  id ${NAME},
  not_before bigint not null,
  ends_at bigint not null,
  change_number bigint not null,
  primary key (namespace, kind, id),
  key by_change (namespace, change_number),
  key by_end (namespace, ends_at)
) ${ENGINE}`,
    `create table if not exists ${sessions} (
  namespace ${NAME},
  sid ${NAME},
  user_id ${NAME},
  started_at bigint not null,
  last_used_at bigint not null,
  expires_at bigint not null,
  ends_at bigint not null,
  generation bigint not null,
  moved_at bigint not null,
  writes bigint not null,
  current_id varbinary(255) not null,
  previous_id varbinary(255),
  ip blob,
  user_agent blob,
  data blob,
  primary key (namespace, sid),
  key by_user (namespace, user_id, started_at, sid),
  key by_start (namespace, started_at),
  key by_end (namespace, ends_at)
) ${ENGINE}`,
    `create table if not exists ${spent} (
  namespace ${NAME},
  id ${NAME},
  ends_at bigint not null,
  primary key (namespace, id),
  key by_end (namespace, ends_at)
) ${ENGINE}`,
    // Last, so that tables with a version are complete. A newer version stays.
    `insert into ${version} (id, version) values (1, ${TABLES_VERSION}) on duplicate key update id = 1`,
  ]
}
