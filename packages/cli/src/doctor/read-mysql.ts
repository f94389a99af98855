import type { MysqlInspection } from 'tokenlib/mysql'
import type { MysqlProbe } from '../opened-store.js'
import type { Endpoint } from './endpoint.js'
import {
  attempt,
  readSqlFacts,
  type SqlFacts,
  type SqlServerFacts,
  TABLE_NAMES,
  type TableName,
  type TableRights,
  toPlainName,
} from './read-sql-server.js'

/** What `doctor` knows of a MySQL or MariaDB server; `null` is what could not be read. */
export interface MysqlFacts extends SqlFacts {
  readonly server: MysqlServerFacts | null
  readonly tables: readonly MysqlTable[] | null
  readonly indexes: readonly MysqlIndex[] | null
}

/** The server and its settings, as they are for the connection. */
export interface MysqlServerFacts extends SqlServerFacts {
  readonly isMariadb: boolean
  /** Variables of the connection by name. */
  readonly settings: ReadonlyMap<string, string>
  /** Whether the server replicates from another one; `null` if the user may not see it. */
  readonly isReplica: boolean | null
  /** How many replicas are connected; `null` for a server that does not tell every user. */
  readonly replicas: number | null
  /** Whether a commit waits for a replica. */
  readonly isSemiSynchronous: boolean
}

/** One table of the store. */
export interface MysqlTable extends TableRights {
  readonly engine: string
}

/** One index of the store's tables. */
export interface MysqlIndex {
  readonly table: TableName
  readonly name: string
  /** In order, with commas. */
  readonly columns: string
  /** Whether statements may use it, and it has the whole of each column. */
  readonly isUsable: boolean
}

/** Reads everything that the checks need. Writes nothing that has an effect. */
export async function readMysql(probe: MysqlProbe, endpoint: Endpoint): Promise<MysqlFacts> {
  const { inspection } = probe
  const server = await attempt(probe, () => readServer(probe))
  return {
    server,
    tables: server && (await attempt(probe, () => readTables(probe, server))),
    indexes: server && (await attempt(probe, () => readIndexes(inspection, server))),
    tablesVersion: await attempt(probe, async () => {
      const [row] = await inspection.read(`select max(version) from ${inspection.tables.version}`)
      return row?.[0] == null ? null : Number(row[0])
    }),
    ...(await readSqlFacts(probe, endpoint, () => inspection.readClock())),
  }
}

const SETTINGS = [
  'version',
  'autocommit',
  'read_only',
  'innodb_read_only',
  'sql_mode',
  'transaction_read_only',
  'tx_read_only',
  'log_bin',
  'binlog_format',
  'sync_binlog',
  'innodb_flush_log_at_trx_commit',
  'innodb_doublewrite',
  'innodb_flush_method',
  'innodb_lock_wait_timeout',
  'lower_case_table_names',
  'max_connections',
  'wsrep_on',
  'wsrep_sync_wait',
]

// MariaDB and MySQL name some of them differently, and each shows those that it has.
const STATUS = [
  'Ssl_cipher',
  'Threads_connected',
  'Slaves_connected',
  'Slaves_running',
  'Rpl_semi_sync_master_status',
  'Rpl_semi_sync_source_status',
]

async function readServer(probe: MysqlProbe): Promise<MysqlServerFacts> {
  const { inspection } = probe
  const settings = await readPairs(inspection, 'variables', SETTINGS)
  const status = await readPairs(inspection, 'status', STATUS)
  const [row] = await inspection.read('select current_user()')
  const version = settings.get('version') ?? ''
  const replicas = status.get('slaves_connected')
  const isMariadb = /mariadb/i.test(version)
  return {
    version: version.split('-')[0] ?? '',
    isMariadb,
    user: toAccount(row?.[0] ?? ''),
    isTls: (status.get('ssl_cipher') ?? '') !== '',
    connections: Number(status.get('threads_connected')),
    maxConnections: Number(settings.get('max_connections')),
    settings,
    isReplica: Number(status.get('slaves_running') ?? 0) > 0 || (await readIsReplica(probe, isMariadb)),
    replicas: replicas === undefined ? null : Number(replicas),
    isSemiSynchronous: ['master', 'source'].some(
      (name) => status.get(`rpl_semi_sync_${name}_status`) === 'ON',
    ),
  }
}

// The count that MariaDB shows every user has only the replications that run. A row is there while one is stopped too, but
// only for users with a right of their own.
async function readIsReplica(probe: MysqlProbe, isMariadb: boolean): Promise<boolean | null> {
  const statement = isMariadb ? 'show all slaves status' : 'show replica status'
  const sources = await attempt(probe, () => probe.inspection.read(statement))
  return sources && sources.length > 0
}

async function readPairs(
  inspection: MysqlInspection,
  what: 'variables' | 'status',
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await inspection.read(`show ${what} where Variable_name in (${toList(names)})`)
  return new Map(rows.map(([name, value]) => [String(name).toLowerCase(), value ?? '']))
}

// A user is printed as name@host.
function toAccount(user: string): string {
  const at = user.lastIndexOf('@')
  return `'${user.slice(0, at)}'@'${user.slice(at + 1)}'`
}

async function readTables(
  { inspection }: MysqlProbe,
  server: MysqlServerFacts,
): Promise<readonly MysqlTable[]> {
  const names = toNames(inspection, server)
  const rows = await inspection.read(
    `select table_name, engine from information_schema.tables where ${toPlace(inspection, server)}`,
  )
  const tables: MysqlTable[] = []
  for (const name of TABLE_NAMES) {
    const found = rows.find(([table]) => toStored(String(table), server) === names[name])
    if (found === undefined) continue
    tables.push({ name, engine: found[1] ?? '', denied: await inspection.readDenied(name) })
  }
  return tables
}

async function readIndexes(
  inspection: MysqlInspection,
  server: MysqlServerFacts,
): Promise<readonly MysqlIndex[]> {
  const names = toNames(inspection, server)
  const isUsable = server.isMariadb ? "max(ignored) = 'NO'" : "min(is_visible) = 'YES'"
  const rows = await inspection.read(
    `select table_name, index_name, group_concat(column_name order by seq_in_index),
  ${isUsable} and count(sub_part) = 0
from information_schema.statistics where ${toPlace(inspection, server)} group by table_name, index_name`,
  )
  return rows.flatMap(([owner, name, columns, usable]) => {
    const table = TABLE_NAMES.find((one) => names[one] === toStored(String(owner), server))
    if (table === undefined) return []
    return [{ table, name: String(name), columns: String(columns), isUsable: usable === '1' }]
  })
}

// The probe names the database of the tables.
function toPlace(inspection: MysqlInspection, server: MysqlServerFacts): string {
  const [, database = ''] = /^`([^`]+)`\./.exec(inspection.tables.version) ?? []
  const names = Object.values(toNames(inspection, server))
  return `table_schema = '${toStored(database, server)}' and table_name in (${toList(names)})`
}

function toNames({ tables }: MysqlInspection, server: MysqlServerFacts): Record<TableName, string> {
  const toName = (name: TableName) => [name, toStored(toPlainName(tables[name]), server)]
  return Object.fromEntries(TABLE_NAMES.map(toName)) as Record<TableName, string>
}

// Servers on Windows and macOS keep names in lower case, or compare them so.
function toStored(name: string, { settings }: MysqlServerFacts): string {
  return Number(settings.get('lower_case_table_names')) > 0 ? name.toLowerCase() : name
}

function toList(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join()
}
