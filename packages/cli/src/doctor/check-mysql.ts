import { checkAccepted } from './check-store.js'
import {
  checkEnded,
  checkHistory,
  checkWritable,
  createConnectionsCheck,
  createTablesCheck,
  namePlace,
} from './check-sql-server.js'
import { type Check, createFinding, notSeen, ok } from './findings.js'
import type { MysqlFacts, MysqlIndex, MysqlServerFacts } from './read-mysql.js'
import { TABLE_NAMES, type TableName, toPlainName } from './read-sql-server.js'
import { toCount, toListText } from '../words.js'

// A restart forgets what was set.
const KEEP = 'and set it in the configuration file, too.'

function readOn({ settings }: MysqlServerFacts, name: string): boolean {
  return !['', '0', 'OFF'].includes((settings.get(name) ?? '').toUpperCase())
}

const checkVersion: Check<MysqlFacts> = ({ server }) => {
  if (server === null) {
    return notSeen(
      'mysql-version',
      'the settings of the server',
      'Run doctor as the user of the application.',
    )
  }
  const { version, isMariadb } = server
  const [name, oldest] = isMariadb ? ['MariaDB', '10.6'] : ['MySQL', '8.0']
  if (version.localeCompare(oldest, 'en', { numeric: true }) >= 0) {
    return ok('mysql-version', `${name} ${version}.`)
  }
  return createFinding('mysql-version', 'error', {
    title: `${name} ${version} is too old: the store needs ${oldest} or newer.`,
    fix: 'Upgrade the server.',
  })
}

const checkRole: Check<MysqlFacts> = ({ server }) => {
  if (server === null) return null
  if (readOn(server, 'read_only') || readOn(server, 'innodb_read_only')) {
    return createFinding('mysql-role', 'error', {
      title: 'The server is read-only: the store needs the primary, and rejects every call.',
      fix: 'Connect to the primary.',
    })
  }
  if (server.isReplica === null) {
    const right = server.isMariadb ? 'REPLICA MONITOR' : 'REPLICATION CLIENT'
    const grant = `Run: GRANT ${right} ON *.* TO ${server.user}`
    return notSeen('mysql-role', 'whether the server is a replica', grant)
  }
  if (!server.isReplica) return ok('mysql-role', 'The server is a primary.')
  return createFinding('mysql-role', 'warning', {
    title: 'The server is a replica that accepts writes: its primary never sees revocations made here.',
    detail: 'The store recognizes a replica only by read_only.',
    fix: 'Connect to the primary, and set read_only = 1 on this server.',
  })
}

const checkDurability: Check<MysqlFacts> = ({ server }) => {
  if (server === null) return null
  const { settings } = server
  const flush = 'innodb_flush_log_at_trx_commit'
  const wrong: string[] = []
  // MariaDB's 3 is 1 with more waiting.
  if (!['1', '3'].includes(settings.get(flush) ?? '1')) wrong.push(flush)
  // After a crash the server rolls back what is not in its binary log.
  if (readOn(server, 'log_bin') && settings.get('sync_binlog') !== '1') wrong.push('sync_binlog')
  if (wrong.length > 0) {
    const found = wrong.map((name) => `${name} is ${settings.get(name)}`)
    return createFinding('mysql-durability', 'error', {
      title: `${toListText(found)}: a crash may lose the last revocations.`,
      detail: 'They were acknowledged, and the tokens are valid again after the restart.',
      fix: `Run: ${wrong.map((name) => `SET GLOBAL ${name} = 1;`).join(' ')} ${KEEP}`,
    })
  }
  // MySQL's DETECT_ONLY finds a page that was written in part, and cannot repair it.
  const isTorn = ['0', 'OFF', 'DETECT_ONLY'].includes(
    (settings.get('innodb_doublewrite') ?? 'ON').toUpperCase(),
  )
  const isUnsynced = settings.get('innodb_flush_method')?.toLowerCase() === 'nosync'
  if (!isTorn && !isUnsynced) return ok('mysql-durability', 'An acknowledged revocation survives a crash.')
  const name = isTorn ? 'innodb_doublewrite' : 'innodb_flush_method'
  return createFinding('mysql-durability', 'error', {
    title: `${name} is ${settings.get(name)}: a power cut may destroy the tables.`,
    fix: `Remove ${name} from the configuration of the server, and restart it.`,
  })
}

const checkFailover: Check<MysqlFacts> = ({ server }) => {
  if (server === null || server.replicas === null || server.replicas === 0) return null
  if (server.isSemiSynchronous) return ok('mysql-failover', 'A replica has every acknowledged revocation.')
  return createFinding('mysql-failover', 'note', {
    title: `The server has ${toCount(server.replicas, 'replica')}, and waits for none: a failover may lose revocations.`,
    detail: 'A replica may be behind when it is promoted.',
    fix: 'Set up semi-synchronous replication.',
  })
}

const checkBinlog: Check<MysqlFacts> = ({ server }) => {
  if (server === null || !readOn(server, 'log_bin')) return null
  const format = server.settings.get('binlog_format') ?? ''
  if (format.toUpperCase() !== 'STATEMENT') return ok('mysql-binlog', `binlog_format is ${format}.`)
  return createFinding('mysql-binlog', 'error', {
    title: 'binlog_format is STATEMENT: the server refuses the transactions of the store.',
    fix: `Run: SET GLOBAL binlog_format = ROW; ${KEEP}`,
  })
}

const checkGalera: Check<MysqlFacts> = ({ server }) => {
  if (server === null || !readOn(server, 'wsrep_on')) return null
  const wait = server.settings.get('wsrep_sync_wait') ?? ''
  // Bit 0: reads wait until this node has what others have committed.
  if (Number(wait) % 2 === 1) return ok('mysql-galera', `wsrep_sync_wait is ${wait}.`)
  return createFinding('mysql-galera', 'error', {
    title: `wsrep_sync_wait is ${wait}: this node may miss what other nodes have revoked.`,
    fix: `Run: SET GLOBAL wsrep_sync_wait = 1; ${KEEP}`,
  })
}

const checkSession: Check<MysqlFacts> = ({ server }) => {
  if (server === null) return null
  const wrong = [
    !readOn(server, 'autocommit') && 'autocommit = 0',
    server.settings.get('sql_mode')?.includes('EMPTY_STRING_IS_NULL') === true &&
      'sql_mode = EMPTY_STRING_IS_NULL',
    (readOn(server, 'transaction_read_only') || readOn(server, 'tx_read_only')) &&
      'transaction_read_only = 1',
  ].filter((text) => text !== false)
  if (wrong.length === 0) return ok('mysql-session', 'The settings of a connection suit the store.')
  return createFinding('mysql-session', 'error', {
    title: `A new connection has ${toListText(wrong)}: calls of the store reject.`,
    fix: 'Look at init_connect, the configuration of the server and the options of the pool, and remove it.',
  })
}

// The index of a name is looked for by its name, as the statements of the store do.
const INDEXES: readonly { readonly table: TableName; readonly name: string; readonly columns: string }[] = [
  { table: 'heads', name: 'PRIMARY', columns: 'namespace' },
  { table: 'revocations', name: 'PRIMARY', columns: 'namespace,kind,id' },
  { table: 'revocations', name: 'by_change', columns: 'namespace,change_number' },
  { table: 'revocations', name: 'by_end', columns: 'namespace,ends_at' },
  { table: 'sessions', name: 'PRIMARY', columns: 'namespace,sid' },
  { table: 'sessions', name: 'by_user', columns: 'namespace,user_id,started_at,sid' },
  { table: 'sessions', name: 'by_start', columns: 'namespace,started_at' },
  { table: 'sessions', name: 'by_end', columns: 'namespace,ends_at' },
  { table: 'spent', name: 'PRIMARY', columns: 'namespace,id' },
  { table: 'spent', name: 'by_end', columns: 'namespace,ends_at' },
]

const checkIndexes: Check<MysqlFacts> = ({ indexes, tables, names }) => {
  if (indexes === null || tables?.length !== TABLE_NAMES.length) return null
  const find = (needed: (typeof INDEXES)[number]): MysqlIndex | undefined =>
    indexes.find(({ table, name }) => table === needed.table && name === needed.name)
  const missing = INDEXES.find((needed) => {
    const found = find(needed)
    return found?.isUsable !== true || found.columns !== needed.columns
  })
  if (missing === undefined) return ok('mysql-indexes', 'All indexes are there.')
  const { table, name, columns } = missing
  const isPrimary = name === 'PRIMARY'
  const isWrong = find(missing) !== undefined
  const key = isPrimary ? 'PRIMARY KEY' : `KEY ${name}`
  // Without FORCE, MariaDB keeps an ignored index that is added again as it was.
  const dropped = isWrong ? `FORCE, DROP ${key}, ` : ''
  const problem = isWrong ? 'cannot be used' : 'is missing'
  return createFinding('mysql-indexes', 'error', {
    title: `An index of ${toPlainName(names[table])} ${problem}: ${isPrimary ? 'the primary key' : name}.`,
    detail: isWrong
      ? 'It is ignored by the server, or does not have the columns that calls need.'
      : isPrimary
        ? 'Calls that need it read the whole table, and lock all of it.'
        : 'Calls that need it fail.',
    fix: `Run: ALTER TABLE ${names[table]} ${dropped}ADD ${key} (${columns})`,
  })
}

const checkEngine: Check<MysqlFacts> = ({ tables, names }) => {
  if (tables === null || tables.length === 0) return null
  const others = tables.filter(({ engine }) => engine.toUpperCase() !== 'INNODB')
  if (others.length === 0) return ok('mysql-engine', 'The tables are of InnoDB.')
  const found = others.map(({ name, engine }) => `${toPlainName(names[name])} of ${engine}`)
  return createFinding('mysql-engine', 'error', {
    title: `The engine has no transactions: ${toListText(found)}.`,
    detail: 'A crash may lose revocations, or parts of one.',
    fix: `Run: ${others.map(({ name }) => `ALTER TABLE ${names[name]} ENGINE = InnoDB;`).join(' ')}`,
  })
}

// Nobody waits for a revocation that long.
const MAX_LOCK_WAIT_S = 10

const checkTimeout: Check<MysqlFacts> = ({ server }) => {
  if (server === null) return null
  const seconds = Number(server.settings.get('innodb_lock_wait_timeout'))
  const text = `innodb_lock_wait_timeout is ${toCount(seconds, 'second')}`
  if (seconds <= MAX_LOCK_WAIT_S) return ok('mysql-timeout', `${text}.`)
  return createFinding('mysql-timeout', 'note', {
    title: `${text}: a write goes on waiting after its request was refused.`,
    fix: `Run: SET GLOBAL innodb_lock_wait_timeout = 5; ${KEEP}`,
  })
}

const checkTables = createTablesCheck(
  'mysql-tables',
  'They are looked for in the database of the connection. A user without any right does not see them.',
)

/** The checks of a MySQL or MariaDB server. */
export const MYSQL_CHECKS: readonly Check<MysqlFacts>[] = namePlace([
  checkAccepted([
    checkVersion,
    checkRole,
    checkDurability,
    checkBinlog,
    checkGalera,
    checkSession,
    checkTables,
    checkEngine,
    checkWritable,
  ]),
  checkWritable,
  checkHistory,
  checkEnded,
  checkVersion,
  checkRole,
  checkDurability,
  checkFailover,
  checkBinlog,
  checkGalera,
  checkSession,
  checkTables,
  checkIndexes,
  checkEngine,
  checkTimeout,
  createConnectionsCheck('mysql-connections'),
])
