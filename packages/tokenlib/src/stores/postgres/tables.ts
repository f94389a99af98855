import { ConfigurationError } from '../../errors.js'
import { anyText, type OptionKinds, parseOptions } from '../../options.js'
import { assertKnownLayout } from '../store-parts.js'
import type { Database } from './client.js'

/** Where the tables of a store are. */
export interface TableOptions {
  /** The schema of the tables: `public`, whatever the `search_path` of a connection says. */
  readonly schema?: string
  /** What the names of the tables begin with: `tokenlib_`. */
  readonly prefix?: string
}

/** The kinds of `TableOptions`; `toTables` checks the names themselves. */
export const TABLE_OPTIONS: OptionKinds<TableOptions> = { schema: anyText, prefix: anyText }

/** The names of the tables, quoted for SQL. */
export interface Tables {
  /** The schema, quoted as the tables are. */
  readonly schema: string
  /** One row: the version of the tables. */
  readonly version: string
  /** One row for each namespace: what its history is, and how far it goes. */
  readonly heads: string
  readonly revocations: string
  readonly sessions: string
  /** The ids that were used up, which no history knows of. */
  readonly spent: string
}

/** An index that is not the primary key of its table. */
export type IndexName = 'change' | 'until' | 'user' | 'start'

/**
 * What an index begins with, and what a condition has to name so that the index is used for it.
 *
 * The planner assumes that a namespace without statistics has one row, so it takes any index that begins with a column of
 * the condition, and walks through the whole namespace. Hence the primary key is the only index that begins with
 * `namespace`, and every other one begins with an expression of its own.
 */
export function leadSql(index: IndexName, namespace: string): string {
  return `('${index} ' || ${namespace})`
}

/** The names of a store's tables, or `ConfigurationError` for what cannot be part of a name. */
export function toTables({ schema, prefix = 'tokenlib_' }: TableOptions = {}): Tables {
  if (!PREFIX.test(prefix)) {
    throw new ConfigurationError(
      'prefix begins the names of tables: up to 40 letters, digits and underscores, no digit first',
    )
  }
  if (schema !== undefined && !IDENTIFIER.test(schema)) {
    throw new ConfigurationError(
      'schema is the name of a schema: up to 63 letters, digits and underscores, no digit first',
    )
  }
  const quoted = `"${schema ?? 'public'}"`
  const table = (name: string): string => `${quoted}."${prefix}${name}"`
  return {
    schema: quoted,
    version: table('version'),
    heads: table('heads'),
    revocations: table('revocations'),
    sessions: table('sessions'),
    spent: table('spent'),
  }
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/
// PostgreSQL cuts names at 63 bytes, and two that are cut may become one.
const PREFIX = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/

/** The version of the tables that this release needs. */
export const TABLES_VERSION = 1

/**
 * The SQL that creates or updates the tables of a store, for those who run migrations themselves.
 *
 * It is one statement, so it needs no transaction around it. It may run again, and in many processes at the same time.
 */
export function migrationSql(options: TableOptions = {}): string {
  return toMigration(toTables(parseOptions('migrationSql()', options, TABLE_OPTIONS)))
}

/** The same for tables whose names are known. */
export function toMigration({ schema, version, heads, revocations, sessions, spent }: Tables): string {
  // "C" is byte order. The order of a language changes with the libraries of the machine, and an index that
  // is in another order than its readers expect misses rows: a revoked token would pass.
  // No "if not exists": some clients print its notices by default.
  return `do $tokenlib$
declare
  installed integer;
begin
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('${version}', ${MIGRATION_LOCK}));
  if pg_catalog.to_regnamespace('${schema}') is null then create schema ${schema}; end if;
  if pg_catalog.to_regclass('${version}') is null then
    create table ${version} (version integer not null);
    insert into ${version} values (0);
  end if;
  select v.version into strict installed from ${version} v;

  if installed < 1 then
    create table ${heads} (
      changes bigint not null,
      longest_lifetime bigint not null,
      namespace pg_catalog.text collate pg_catalog."C" primary key,
      epoch pg_catalog.text collate pg_catalog."C" not null
    ) with (fillfactor = 10);

    create table ${revocations} (
      not_before bigint not null,
      until bigint not null,
      change bigint not null,
      namespace pg_catalog.text collate pg_catalog."C" not null,
      kind pg_catalog.text collate pg_catalog."C" not null,
      id pg_catalog.text collate pg_catalog."C" not null,
      primary key (namespace, kind, id)
    );

    create table ${sessions} (
      started_at bigint not null,
      last_used_at bigint not null,
      expires_at bigint not null,
      until bigint not null,
      generation bigint not null,
      moved_at bigint not null,
      namespace pg_catalog.text collate pg_catalog."C" not null,
      sid pg_catalog.text collate pg_catalog."C" not null,
      user_id pg_catalog.text collate pg_catalog."C" not null,
      current_id pg_catalog.text collate pg_catalog."C" not null default '',
      previous_id pg_catalog.text collate pg_catalog."C",
      ip pg_catalog.text,
      user_agent pg_catalog.text,
      primary key (namespace, sid)
    ) with (fillfactor = 85);

    create index on ${revocations} (${leadSql('change', 'namespace')}, change);
    create index on ${revocations} (${leadSql('until', 'namespace')}, until);
    create index on ${sessions} (${leadSql('user', 'namespace')}, user_id, started_at, sid);
    create index on ${sessions} (${leadSql('start', 'namespace')}, started_at);
    create index on ${sessions} (${leadSql('until', 'namespace')}, until);
    update ${version} set version = 1;
  end if;

  -- Later than the others, and still version 1: releases that do not know this table can go on using the others.
  if installed <= 1 and pg_catalog.to_regclass('${spent}') is null then
    create table ${spent} (
      until bigint not null,
      namespace pg_catalog.text collate pg_catalog."C" not null,
      id pg_catalog.text collate pg_catalog."C" not null,
      primary key (namespace, id)
    );
    create index on ${spent} (${leadSql('until', 'namespace')}, until);
  end if;

  -- The same.
  if installed <= 1 and not ${hasDataSql(sessions)} then
    alter table ${sessions} add column data pg_catalog.text;
  end if;
end
$tokenlib$`
}

const MIGRATION_LOCK = 7_036_871

/** Whether the table of sessions has a column for their data. */
function hasDataSql(sessions: string): string {
  return `exists (select from pg_catalog.pg_attribute a
    where a.attrelid = pg_catalog.to_regclass('${sessions}')::pg_catalog.oid and a.attname = 'data'::pg_catalog.name
      and not a.attisdropped)`
}

interface Answer {
  readonly isStandby: boolean
  readonly serverVersion: number
  readonly isolation: string
  readonly version: number | null
  /** Whether the role has every right on the table of spent ids; `null` if the table is missing. */
  readonly maySpend: boolean | null
  /** Whether the table of sessions has a column for their data. */
  readonly hasData: boolean
  readonly settings: Readonly<Record<string, string>>
}

/** Rejects with `ConfigurationError` unless the database and its tables can keep the promises of a store. */
export async function assertUsable(
  database: Database,
  tables: Tables,
  { allowVolatile }: { readonly allowVolatile: boolean },
): Promise<void> {
  const answer = await query(database, tables)
  if (answer.serverVersion < 130_000) {
    throw new ConfigurationError('The PostgreSQL store needs PostgreSQL 13 or newer')
  }
  const version = answer.version ?? 0
  if (version < TABLES_VERSION) {
    throw new ConfigurationError(
      `The tables next to ${tables.version} have version ${version}, and this release of tokenlib needs version ` +
        `${TABLES_VERSION}: ${REMEDY}`,
    )
  }
  assertKnownLayout('PostgreSQL', version, TABLES_VERSION)
  if (answer.maySpend === null) {
    throw new ConfigurationError(
      `The table ${tables.spent} is missing, which an earlier release did not need: ${REMEDY}`,
    )
  }
  if (!answer.hasData) {
    throw new ConfigurationError(
      `The table ${tables.sessions} has no column data, which an earlier release did not need: ${REMEDY}`,
    )
  }
  // Otherwise only pruning would fail at first, and nobody would notice.
  if (!answer.maySpend) throw createDenied(tables)
  if (answer.isStandby) {
    throw new ConfigurationError(
      'The PostgreSQL server is a standby, which may be behind: connect to the primary (with several hosts in a ' +
        'connection string, target_session_attrs=read-write)',
    )
  }
  if (answer.isolation !== 'read committed') {
    throw new ConfigurationError(
      `Transactions of this connection are "${answer.isolation}", so writers at the same time would fail. Give the ` +
        "store a role of its own: alter role … set default_transaction_isolation = 'read committed'",
    )
  }
  const off = Object.keys(answer.settings).find((name) => answer.settings[name] === 'off')
  if (off !== undefined && !allowVolatile) {
    throw new ConfigurationError(
      `${off} is off, so a crash of the server may lose revocations that were acknowledged. Turn it on for the role ` +
        'of this connection or for the server; or pass allowVolatile: true, where the provider keeps what is ' +
        'committed by other means, or where the loss does not matter',
    )
  }
}

async function query(database: Database, tables: Tables): Promise<Answer> {
  const settings = ['synchronous_commit', 'fsync', 'full_page_writes']
  const statement = `select pg_catalog.json_build_object('isStandby', pg_catalog.pg_is_in_recovery(),
    'serverVersion', pg_catalog.current_setting('server_version_num')::integer,
    'isolation', pg_catalog.current_setting('transaction_isolation'),
    'version', (select pg_catalog.max(version) from ${tables.version}),
    'maySpend', (select pg_catalog.bool_and(pg_catalog.has_table_privilege(pg_catalog.to_regclass('${tables.spent}')::pg_catalog.oid, name))
      from pg_catalog.unnest(array['select', 'insert', 'update', 'delete']) r(name)),
    'hasData', ${hasDataSql(tables.sessions)},
    'settings', pg_catalog.json_build_object(${settings.map((name) => `'${name}', pg_catalog.current_setting('${name}')`).join()}))::pg_catalog.text`
  try {
    return (await database.query<Answer>(statement, [])) as Answer
  } catch (cause) {
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
    if (code === UNDEFINED_TABLE) {
      throw new ConfigurationError(
        `Missing tables next to ${tables.version}: ${REMEDY}. If they are in another schema, pass its name`,
        {
          cause,
        },
      )
    }
    if (code === INSUFFICIENT_PRIVILEGE) throw createDenied(tables, cause)
    throw cause
  }
}

function createDenied(
  { version, heads, revocations, sessions, spent }: Tables,
  cause?: unknown,
): ConfigurationError {
  return new ConfigurationError(
    `The role of this connection may not use the tables: grant select, insert, update, delete on ${heads}, ` +
      `${revocations}, ${sessions}, ${spent} and select on ${version}`,
    { cause },
  )
}

const UNDEFINED_TABLE = '42P01'
const INSUFFICIENT_PRIVILEGE = '42501'

const REMEDY = 'await store.migrate() before the store is used, or run what migrationSql() returns'
