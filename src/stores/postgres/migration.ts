import { assertOptions } from '../../options.js'
import { leadSql, TABLE_OPTIONS, type TableOptions, type Tables, toTables } from './tables.js'

/** The version of the tables that this release needs. */
export const TABLES_VERSION = 2

/**
 * The SQL that creates or updates the tables of a store, for those who run migrations themselves.
 *
 * It is one statement, so it needs no transaction around it; it may be run again, and by many processes at once.
 */
export function migrationSql(options: TableOptions = {}): string {
  assertOptions('migrationSql()', options, TABLE_OPTIONS)
  return toMigration(toTables(options))
}

/** The same for tables whose names are known. */
export function toMigration({ schema, version, heads, revocations, sessions }: Tables): string {
  // No "if not exists": its notices would be printed by clients whose default is to print them.
  const createSchema =
    schema === null ? '' : `if to_regnamespace('${schema}') is null then create schema ${schema}; end if;`
  // "C" is the order of bytes. The order of a language changes with the libraries of the machine, and an index that
  // is in another order than its readers believe does not find what is in it: a revoked token would be let through.
  return `do $tokenlib$
declare
  installed integer;
  outdated regclass;
begin
  perform pg_advisory_xact_lock(hashtextextended('${version}', ${MIGRATION_LOCK}));
  ${createSchema}
  if to_regclass('${version}') is null then
    create table ${version} (version integer not null);
    insert into ${version} values (0);
  end if;
  select v.version into strict installed from ${version} v;

  if installed < 1 then
    create table ${heads} (
      changes bigint not null,
      longest_lifetime bigint not null,
      namespace text collate "C" primary key,
      epoch text collate "C" not null
    ) with (fillfactor = 10);

    create table ${revocations} (
      not_before bigint not null,
      until bigint not null,
      change bigint not null,
      namespace text collate "C" not null,
      kind text collate "C" not null,
      id text collate "C" not null,
      primary key (namespace, kind, id)
    );

    create table ${sessions} (
      started_at bigint not null,
      last_used_at bigint not null,
      expires_at bigint not null,
      until bigint not null,
      generation bigint not null,
      namespace text collate "C" not null,
      sid text collate "C" not null,
      user_id text collate "C" not null,
      ip text,
      user_agent text,
      primary key (namespace, sid)
    ) with (fillfactor = 85);
  end if;

  if installed < 2 then
    -- Every statement of a store begins with this table, so none of them holds another one while it waits here.
    lock table ${heads} in access exclusive mode;
    for outdated in
      select i.indexrelid from pg_index i
      where i.indrelid in ('${revocations}'::regclass, '${sessions}'::regclass)
        and i.indnatts = 2 and not i.indisunique and i.indpred is null
        and pg_get_indexdef(i.indexrelid, 1, true) = 'namespace'
        and pg_get_indexdef(i.indexrelid, 2, true) in ('change', 'until', 'user_id', 'started_at')
    loop
      execute 'drop index ' || outdated;
    end loop;
    create index on ${revocations} (${leadSql('change', 'namespace')}, change);
    create index on ${revocations} (${leadSql('until', 'namespace')}, until);
    create index on ${sessions} (${leadSql('user', 'namespace')}, user_id, started_at, sid);
    create index on ${sessions} (${leadSql('start', 'namespace')}, started_at);
    create index on ${sessions} (${leadSql('until', 'namespace')}, until);
    update ${version} set version = 2;
  end if;
end
$tokenlib$`
}

const MIGRATION_LOCK = 7_036_871
