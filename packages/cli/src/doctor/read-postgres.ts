import type { PostgresInspection } from 'tokenlib/postgres'
import type { TablesProbe } from '../opened-store.js'
import type { Endpoint } from './endpoint.js'
import {
  attempt,
  readSqlFacts,
  type SqlFacts,
  type SqlServerFacts,
  TABLE_NAMES,
  type TableName,
  type TableRights,
} from './read-sql-server.js'

/** What `doctor` knows of a PostgreSQL server; `null` is what could not be read. */
export interface PostgresFacts extends SqlFacts {
  readonly server: ServerFacts | null
  readonly tables: readonly TableFacts[] | null
  readonly indexes: readonly IndexFacts[] | null
}

/** The server and its settings, as they are for the role of the connection. */
export interface ServerFacts extends SqlServerFacts {
  readonly versionNumber: number
  readonly isStandby: boolean
  readonly isolation: string
  readonly synchronousCommit: string
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousStandbys: string
  readonly standbys: number
  readonly autovacuum: string
  readonly statementTimeout: string
}

/** One table of the store. */
export interface TableFacts extends TableRights {
  /** `p` for permanent, `u` for unlogged, `t` for temporary. */
  readonly persistence: string
  readonly liveRows: number
  readonly deadRows: number
  readonly hasAutovacuum: boolean
}

/** One index of the store's tables. */
export interface IndexFacts {
  readonly table: TableName
  readonly definition: string
  readonly isValid: boolean
}

/** Reads everything that the checks need. Nothing is written. */
export async function readPostgres(
  probe: TablesProbe<PostgresInspection>,
  endpoint: Endpoint,
): Promise<PostgresFacts> {
  const { inspection } = probe
  const { tables } = inspection
  const read = <Answer>(sql: string): Promise<Answer | null> =>
    attempt(probe, () => inspection.query<Answer>(sql, []))
  return {
    server: await read(SERVER),
    tables: await read(tablesSql(tables)),
    indexes: await read(indexesSql(tables)),
    tablesVersion: await read(`select max(version)::text from ${tables.version}`),
    ...(await readSqlFacts(
      probe,
      endpoint,
      async () => (await inspection.query<number>(CLOCK, [])) ?? Number.NaN,
    )),
  }
}

const CLOCK = `select (extract(epoch from clock_timestamp()) * 1000)::text`

const SERVER = `select json_build_object(
  'version', split_part(current_setting('server_version'), ' ', 1),
  'versionNumber', current_setting('server_version_num')::integer,
  'user', quote_ident(current_user),
  'isStandby', pg_is_in_recovery(),
  'isTls', coalesce((select s.ssl from pg_stat_ssl s where s.pid = pg_backend_pid()), false),
  'isolation', current_setting('transaction_isolation'),
  'synchronousCommit', current_setting('synchronous_commit'),
  'fsync', current_setting('fsync'),
  'fullPageWrites', current_setting('full_page_writes'),
  'synchronousStandbys', current_setting('synchronous_standby_names'),
  'standbys', (select count(*) from pg_stat_replication),
  'autovacuum', current_setting('autovacuum'),
  'statementTimeout', current_setting('statement_timeout'),
  'connections', (select count(*) from pg_stat_activity where datid is not null),
  'maxConnections', current_setting('max_connections')::integer)::text`

function listSql(tables: PostgresInspection['tables']): string {
  return `(values ${TABLE_NAMES.map((name) => `('${name}', to_regclass('${tables[name]}'))`).join()}) t(name, id)`
}

function tablesSql(tables: PostgresInspection['tables']): string {
  return `select coalesce(json_agg(json_build_object('name', t.name, 'persistence', c.relpersistence,
  'denied', (select coalesce(json_agg(p.name), '[]') from unnest(case t.name when 'version' then array['select']
    else array['select', 'insert', 'update', 'delete'] end) p(name) where not has_table_privilege(t.id, p.name)),
  'liveRows', coalesce(s.n_live_tup, 0), 'deadRows', coalesce(s.n_dead_tup, 0),
  'hasAutovacuum', not coalesce(c.reloptions::text ~ 'autovacuum_enabled=(false|off|0)', false))), '[]')::text
from ${listSql(tables)} join pg_class c on c.oid = t.id left join pg_stat_all_tables s on s.relid = t.id`
}

function indexesSql(tables: PostgresInspection['tables']): string {
  return `select coalesce(json_agg(json_build_object('table', t.name, 'isValid', i.indisvalid and i.indisready,
  'definition', pg_get_indexdef(i.indexrelid))), '[]')::text
from ${listSql(tables)} join pg_index i on i.indrelid = t.id`
}
