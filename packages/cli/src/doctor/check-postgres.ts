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
import type { IndexFacts, PostgresFacts } from './read-postgres.js'
import { TABLE_NAMES, type TableName, toPlainName } from './read-sql-server.js'
import { toCount, toListText } from '../words.js'

const checkVersion: Check<PostgresFacts> = ({ server }) => {
  if (server === null) {
    return notSeen(
      'postgres-version',
      'the settings of the server',
      'Run doctor as the role of the application.',
    )
  }
  if (server.versionNumber >= 130_000) return ok('postgres-version', `PostgreSQL ${server.version}.`)
  return createFinding('postgres-version', 'error', {
    title: `PostgreSQL ${server.version} is too old: the store needs 13 or newer.`,
    fix: 'Upgrade the server.',
  })
}

const checkStandby: Check<PostgresFacts> = ({ server }) => {
  if (server === null) return null
  if (!server.isStandby) return ok('postgres-standby', 'The server is a primary.')
  return createFinding('postgres-standby', 'error', {
    title: 'The server is a standby: the store needs the primary, and rejects every call.',
    fix: 'Connect to the primary; with several hosts in the address, add ?target_session_attrs=read-write.',
  })
}

const checkDurability: Check<PostgresFacts> = ({ server }) => {
  if (server === null) return null
  const { synchronousCommit, fsync, fullPageWrites, user } = server
  if (synchronousCommit === 'off') {
    return createFinding('postgres-durability', 'error', {
      title: 'synchronous_commit is off: a crash may lose the last revocations.',
      detail: 'They were acknowledged, and the tokens are valid again after the restart.',
      fix: `Run: ALTER ROLE ${user} SET synchronous_commit = 'on'`,
    })
  }
  const off = [fsync === 'off' && 'fsync', fullPageWrites === 'off' && 'full_page_writes'].filter(
    (name) => name !== false,
  )
  if (off.length === 0) {
    return ok('postgres-durability', 'An acknowledged revocation survives a crash.')
  }
  return createFinding('postgres-durability', 'error', {
    title: `${toListText(off)} is off: a power cut may destroy the tables.`,
    fix: `Run: ${off.map((name) => `ALTER SYSTEM SET ${name} = 'on';`).join(' ')} SELECT pg_reload_conf()`,
  })
}

const checkFailover: Check<PostgresFacts> = ({ server }) => {
  if (server === null || server.standbys === 0) return null
  const isSafe = server.synchronousStandbys !== '' && !['local', 'off'].includes(server.synchronousCommit)
  if (isSafe) return ok('postgres-failover', 'A synchronous standby has every acknowledged revocation.')
  return createFinding('postgres-failover', 'note', {
    title: `The server has ${toCount(server.standbys, 'standby')}, and waits for none: a failover may lose revocations.`,
    detail: 'A standby may be behind when it is promoted.',
    fix: "Run: ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (<names>)'; SELECT pg_reload_conf()",
  })
}

const checkIsolation: Check<PostgresFacts> = ({ server }) => {
  if (server === null) return null
  const { isolation, user } = server
  if (isolation === 'read committed') return ok('postgres-isolation', 'Transactions are read committed.')
  return createFinding('postgres-isolation', 'error', {
    title: `Transactions are ${isolation}: writers at the same time would fail.`,
    fix: `Run: ALTER ROLE ${user} SET default_transaction_isolation = 'read committed'`,
  })
}

// How PostgreSQL prints each index, and how to create it.
const INDEXES: readonly { readonly table: TableName; readonly printed: string; readonly columns: string }[] =
  [
    { table: 'heads', printed: '(namespace)', columns: '' },
    { table: 'revocations', printed: '(namespace, kind, id)', columns: '' },
    { table: 'revocations', printed: "(('change '", columns: "(('change ' || namespace), change)" },
    { table: 'revocations', printed: "(('until '", columns: "(('until ' || namespace), until)" },
    { table: 'sessions', printed: '(namespace, sid)', columns: '' },
    {
      table: 'sessions',
      printed: "(('user '",
      columns: "(('user ' || namespace), user_id, started_at, sid)",
    },
    { table: 'sessions', printed: "(('start '", columns: "(('start ' || namespace), started_at)" },
    { table: 'sessions', printed: "(('until '", columns: "(('until ' || namespace), until)" },
    { table: 'spent', printed: '(namespace, id)', columns: '' },
    { table: 'spent', printed: "(('until '", columns: "(('until ' || namespace), until)" },
  ]

const checkIndexes: Check<PostgresFacts> = ({ indexes, tables, tablesVersion, neededVersion, names }) => {
  // Older tables have other indexes, which the migration replaces.
  if (indexes === null || tables?.length !== TABLE_NAMES.length || tablesVersion !== neededVersion)
    return null
  const isThere = ({ table, printed }: (typeof INDEXES)[number]): boolean =>
    indexes.some((index) => index.table === table && index.isValid && index.definition.includes(printed))
  const missing = INDEXES.find((index) => !isThere(index))
  if (missing === undefined) return ok('postgres-indexes', 'All indexes are there and valid.')
  const invalid = indexes.find((index) => isOf(index, missing) && !index.isValid)
  const { table, columns } = missing
  return createFinding('postgres-indexes', 'error', {
    title: `An index of ${toPlainName(names[table])} is ${invalid === undefined ? 'missing' : 'not valid'}: ${columns || 'the primary key'}.`,
    detail: 'Calls that need it read the whole table, and lock it for longer the larger it is.',
    fix:
      invalid !== undefined
        ? `Run: REINDEX INDEX CONCURRENTLY ${readIndexName(invalid)}`
        : columns === ''
          ? `Run: ALTER TABLE ${names[table]} ADD PRIMARY KEY ${missing.printed}`
          : `Run: CREATE INDEX CONCURRENTLY ON ${names[table]} ${columns}`,
  })
}

function isOf(index: IndexFacts, { table, printed }: (typeof INDEXES)[number]): boolean {
  return index.table === table && index.definition.includes(printed)
}

// "CREATE INDEX name ON schema.table USING …"
function readIndexName({ definition }: IndexFacts): string {
  return /INDEX (\S+) ON/.exec(definition)?.[1] ?? '<name>'
}

const checkUnlogged: Check<PostgresFacts> = ({ tables, names }) => {
  if (tables === null || tables.length === 0) return null
  const unlogged = tables.filter(({ persistence }) => persistence !== 'p').map(({ name }) => names[name])
  if (unlogged.length === 0) return ok('postgres-unlogged', 'The tables are logged.')
  return createFinding('postgres-unlogged', 'error', {
    title: `${toListText(unlogged.map(toPlainName))} is not logged: PostgreSQL empties it after a crash.`,
    detail: 'Revoked tokens would be valid again; standbys have none of its rows.',
    fix: `Run: ${unlogged.map((name) => `ALTER TABLE ${name} SET LOGGED;`).join(' ')}`,
  })
}

const checkVacuum: Check<PostgresFacts> = ({ server, tables, names }) => {
  if (tables === null || tables.length === 0) return null
  const disabled = tables.filter(({ hasAutovacuum }) => !hasAutovacuum).map(({ name }) => names[name])
  if (server?.autovacuum === 'off' || disabled.length > 0) {
    return createFinding('postgres-vacuum', 'warning', {
      title: `autovacuum is off${disabled.length > 0 ? ` for ${toListText(disabled.map(toPlainName))}` : ''}.`,
      detail: 'The tables change with every login and refresh: they grow, and checks get slower.',
      fix:
        disabled.length > 0
          ? `Run: ${disabled.map((name) => `ALTER TABLE ${name} RESET (autovacuum_enabled);`).join(' ')}`
          : "Run: ALTER SYSTEM SET autovacuum = 'on'; SELECT pg_reload_conf()",
    })
  }
  const bloated = tables
    .filter(({ deadRows, liveRows }) => deadRows > 100_000 && deadRows > liveRows)
    .map(({ name }) => names[name])
  if (bloated.length === 0) return ok('postgres-vacuum', 'autovacuum keeps up.')
  return createFinding('postgres-vacuum', 'warning', {
    title: `${toListText(bloated.map(toPlainName))} has more dead rows than live ones: autovacuum does not keep up.`,
    detail: 'Often a transaction that is open for long holds it up: look at pg_stat_activity.xact_start.',
    fix: `Run: VACUUM (ANALYZE) ${bloated.join(', ')}`,
  })
}

const checkTimeout: Check<PostgresFacts> = ({ server }) => {
  if (server === null) return null
  if (server.statementTimeout !== '0') {
    return ok('postgres-timeout', `statement_timeout is ${server.statementTimeout}.`)
  }
  return createFinding('postgres-timeout', 'note', {
    title: 'statement_timeout is not set: a statement goes on after its request was refused.',
    fix: `Run: ALTER ROLE ${server.user} SET statement_timeout = '5s'`,
  })
}

const checkTables = createTablesCheck(
  'postgres-tables',
  'They are looked for by the search_path of the connection.',
)

/** The checks of a PostgreSQL server. */
export const POSTGRES_CHECKS: readonly Check<PostgresFacts>[] = namePlace([
  checkAccepted([checkVersion, checkStandby, checkDurability, checkIsolation, checkTables, checkWritable]),
  checkWritable,
  checkHistory,
  checkEnded,
  checkVersion,
  checkStandby,
  checkDurability,
  checkFailover,
  checkIsolation,
  checkTables,
  checkIndexes,
  checkUnlogged,
  checkVacuum,
  checkTimeout,
  createConnectionsCheck('postgres-connections'),
])
