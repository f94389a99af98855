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
}

/** Reads everything that the checks need. Writes nothing that has an effect. */
export async function readMysql(probe: MysqlProbe, endpoint: Endpoint): Promise<MysqlFacts> {
  const { inspection } = probe
  return {
    server: await attempt(probe, () => readServer(probe)),
    tables: await attempt(probe, () => readTables(probe)),
    indexes: await attempt(probe, () => readIndexes(inspection)),
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
  const running = status.get('slaves_running')
  // Only for users with a right of their own, where the server has no count for everybody.
  const sources =
    running === undefined ? await attempt(probe, () => inspection.read('show replica status')) : null
  const replicas = status.get('slaves_connected')
  return {
    version: version.split('-')[0] ?? '',
    isMariadb: /mariadb/i.test(version),
    user: toAccount(row?.[0] ?? ''),
    isTls: (status.get('ssl_cipher') ?? '') !== '',
    connections: Number(status.get('threads_connected')),
    maxConnections: Number(settings.get('max_connections')),
    settings,
    isReplica: running === undefined ? sources && sources.length > 0 : Number(running) > 0,
    replicas: replicas === undefined ? null : Number(replicas),
    isSemiSynchronous: ['master', 'source'].some(
      (name) => status.get(`rpl_semi_sync_${name}_status`) === 'ON',
    ),
  }
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

async function readTables({ inspection }: MysqlProbe): Promise<readonly MysqlTable[]> {
  const rows = await inspection.read(
    `select table_name, engine from information_schema.tables where ${toPlace(inspection)}`,
  )
  const tables: MysqlTable[] = []
  for (const name of TABLE_NAMES) {
    const found = rows.find(([table]) => table === toPlainName(inspection.tables[name]))
    if (found === undefined) continue
    tables.push({ name, engine: found[1] ?? '', denied: await inspection.readDenied(name) })
  }
  return tables
}

async function readIndexes(inspection: MysqlInspection): Promise<readonly MysqlIndex[]> {
  const rows = await inspection.read(
    `select table_name, index_name, group_concat(column_name order by seq_in_index)
from information_schema.statistics where ${toPlace(inspection)} group by table_name, index_name`,
  )
  return rows.flatMap(([owner, name, columns]) => {
    const table = TABLE_NAMES.find((one) => toPlainName(inspection.tables[one]) === owner)
    return table === undefined ? [] : [{ table, name: String(name), columns: String(columns) }]
  })
}

// The probe names the database of the tables.
function toPlace({ tables }: MysqlInspection): string {
  const [, database = ''] = /^`([^`]+)`\./.exec(tables.version) ?? []
  const names = TABLE_NAMES.map((name) => toPlainName(tables[name]))
  return `table_schema = '${database}' and table_name in (${toList(names)})`
}

function toList(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join()
}
