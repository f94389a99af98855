import type { PostgresInspection } from 'tokenlib/postgres'
import { isAnswer } from '../open-postgres.js'
import { type PruningFacts, readRefusal } from './check-store.js'
import type { Endpoint } from './endpoint.js'
import { type ClockDifference, type Latency, measureClock, measureLatency } from './measure.js'

/** What `doctor` knows of a PostgreSQL server; `null` is what could not be read. */
export interface PostgresFacts {
  readonly endpoint: Endpoint
  readonly server: ServerFacts | null
  /** The tables of the store that exist. */
  readonly tables: readonly TableFacts[] | null
  readonly indexes: readonly IndexFacts[] | null
  /** The version in the table of versions; `null` without that table. */
  readonly tablesVersion: number | null
  /** The version that this release needs. */
  readonly neededVersion: number
  /** Why the store would not start, or `null`. */
  readonly refusal: string | null
  readonly history: 'whole' | 'damaged' | 'absent' | null
  readonly pruning: PruningFacts | null
  readonly latency: Latency | null
  readonly clock: ClockDifference | null
}

/** The server and its settings, as they are for the role of the connection. */
export interface ServerFacts {
  readonly version: string
  readonly versionNumber: number
  readonly role: string
  readonly isStandby: boolean
  readonly isTls: boolean
  readonly isolation: string
  readonly synchronousCommit: string
  readonly fsync: string
  readonly fullPageWrites: string
  readonly synchronousStandbys: string
  readonly standbys: number
  readonly autovacuum: string
  readonly statementTimeout: string
  readonly connections: number
  readonly maxConnections: number
}

/** One table of the store. */
export interface TableFacts {
  readonly name: TableName
  /** `p` for permanent, `u` for unlogged, `t` for temporary. */
  readonly persistence: string
  /** What the role may not do with it. */
  readonly denied: readonly string[]
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

/** The tables of a store. */
export type TableName = 'version' | 'heads' | 'revocations' | 'sessions' | 'spent'

/** Reads everything that the checks need. Nothing is written. */
export async function readPostgres(
  inspection: PostgresInspection,
  endpoint: Endpoint,
): Promise<PostgresFacts> {
  const { tables, version } = inspection
  const read = <Answer>(sql: string): Promise<Answer | null> =>
    attempt(() => inspection.query<Answer>(sql, []))
  return {
    endpoint,
    server: await read(SERVER),
    tables: await read(tablesSql(tables)),
    indexes: await read(indexesSql(tables)),
    tablesVersion: await read(`select max(version)::text from ${tables.version}`),
    neededVersion: version,
    refusal: await readRefusal(() => inspection.assertUsable(), isAnswer),
    history: await attempt(() => inspection.readHistory()),
    pruning: await attempt(() => inspection.readEnded()),
    latency: await attempt(() => measureLatency(() => inspection.lookup())),
    clock: await attempt(() =>
      measureClock(async () => (await inspection.query<number>(CLOCK, [])) ?? Number.NaN),
    ),
  }
}

const CLOCK = `select (extract(epoch from clock_timestamp()) * 1000)::text`

const SERVER = `select json_build_object(
  'version', split_part(current_setting('server_version'), ' ', 1),
  'versionNumber', current_setting('server_version_num')::integer,
  'role', current_user,
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
  const names: readonly TableName[] = ['version', 'heads', 'revocations', 'sessions', 'spent']
  return `(values ${names.map((name) => `('${name}', to_regclass('${tables[name]}'))`).join()}) t(name, id)`
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

async function attempt<Answer>(run: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await run()
  } catch (error) {
    if (!isAnswer(error)) throw error
    return null
  }
}
