import { checkAccepted, checkPruning } from './check-store.js'
import { toPlace } from './endpoint.js'
import { type Check, createFinding, notSeen, ok } from './findings.js'
import type { IndexFacts, PostgresFacts, TableName } from './read-postgres.js'
import { toCount, toListText } from '../words.js'

const MIGRATE = 'Run the SQL of migrationSql() as the owner of the tables, or await store.migrate().'

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
  const { synchronousCommit, fsync, fullPageWrites, role } = server
  if (synchronousCommit === 'off') {
    return createFinding('postgres-durability', 'error', {
      title: 'synchronous_commit is off: a crash may lose the last revocations.',
      detail: 'They were acknowledged, and the tokens are valid again after the restart.',
      fix: `Run: ALTER ROLE "${role}" SET synchronous_commit = 'on'`,
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
  const { isolation, role } = server
  if (isolation === 'read committed') return ok('postgres-isolation', 'Transactions are read committed.')
  return createFinding('postgres-isolation', 'error', {
    title: `Transactions are ${isolation}: writers at the same time would fail.`,
    fix: `Run: ALTER ROLE "${role}" SET default_transaction_isolation = 'read committed'`,
  })
}

const checkTables: Check<PostgresFacts> = ({ tables, tablesVersion, neededVersion }) => {
  if (tables === null) {
    return notSeen('postgres-tables', 'the tables', 'Run doctor as the role of the application.')
  }
  const found = new Set(tables.map(({ name }) => name))
  const missing = TABLE_NAMES.filter((name) => !found.has(name)).map((name) => `tokenlib_${name}`)
  if (missing.length > 0) {
    return createFinding('postgres-tables', 'error', {
      title:
        missing.length === TABLE_NAMES.length
          ? 'The tables of the store do not exist.'
          : `The tables ${toListText(missing)} do not exist.`,
      detail: 'They are looked for by the search_path of the connection.',
      fix: MIGRATE,
    })
  }
  if (tablesVersion === null) {
    return notSeen(
      'postgres-tables',
      'the version of the tables',
      'Run: GRANT SELECT ON tokenlib_version TO <role>',
    )
  }
  if (tablesVersion >= neededVersion)
    return ok('postgres-tables', `The tables have version ${tablesVersion}.`)
  return createFinding('postgres-tables', 'error', {
    title: `The tables have version ${tablesVersion}, and this release needs version ${neededVersion}.`,
    fix: MIGRATE,
  })
}

const TABLE_NAMES: readonly TableName[] = ['version', 'heads', 'revocations', 'sessions', 'spent']

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

const checkIndexes: Check<PostgresFacts> = ({ indexes, tables, tablesVersion, neededVersion }) => {
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
    title: `An index of tokenlib_${table} is ${invalid === undefined ? 'missing' : 'not valid'}: ${columns || 'the primary key'}.`,
    detail: 'Calls that need it read the whole table, and lock it for longer the larger it is.',
    fix:
      invalid !== undefined
        ? `Run: REINDEX INDEX CONCURRENTLY ${readIndexName(invalid)}`
        : columns === ''
          ? `Run: ALTER TABLE tokenlib_${table} ADD PRIMARY KEY ${missing.printed}`
          : `Run: CREATE INDEX CONCURRENTLY ON tokenlib_${table} ${columns}`,
  })
}

function isOf(index: IndexFacts, { table, printed }: (typeof INDEXES)[number]): boolean {
  return index.table === table && index.definition.includes(printed)
}

// "CREATE INDEX name ON schema.table USING …"
function readIndexName({ definition }: IndexFacts): string {
  return /INDEX (\S+) ON/.exec(definition)?.[1] ?? '<name>'
}

const checkUnlogged: Check<PostgresFacts> = ({ tables }) => {
  if (tables === null || tables.length === 0) return null
  const unlogged = tables
    .filter(({ persistence }) => persistence !== 'p')
    .map(({ name }) => `tokenlib_${name}`)
  if (unlogged.length === 0) return ok('postgres-unlogged', 'The tables are logged.')
  return createFinding('postgres-unlogged', 'error', {
    title: `${toListText(unlogged)} is not logged: PostgreSQL empties it after a crash.`,
    detail: 'Revoked tokens would be valid again; standbys have none of its rows.',
    fix: `Run: ${unlogged.map((name) => `ALTER TABLE ${name} SET LOGGED;`).join(' ')}`,
  })
}

const checkWritable: Check<PostgresFacts> = ({ tables, server }) => {
  if (tables === null || tables.length === 0) return null
  const denied = tables.filter(({ denied: rights }) => rights.length > 0)
  const role = server?.role ?? '<role>'
  if (denied.length === 0) return ok('store-writable', `The role ${role} may read and write the tables.`)
  const lacking = denied.map(({ name, denied: rights }) => `${rights.join(', ')} on tokenlib_${name}`)
  return createFinding('store-writable', 'error', {
    title: `The role ${role} lacks ${toListText(lacking)}.`,
    fix: `Run: ${denied.map(({ name, denied: rights }) => `GRANT ${rights.join(', ')} ON tokenlib_${name} TO "${role}";`).join(' ')}`,
  })
}

const checkVacuum: Check<PostgresFacts> = ({ server, tables }) => {
  if (tables === null || tables.length === 0) return null
  const disabled = tables.filter(({ hasAutovacuum }) => !hasAutovacuum).map(({ name }) => `tokenlib_${name}`)
  if (server?.autovacuum === 'off' || disabled.length > 0) {
    return createFinding('postgres-vacuum', 'warning', {
      title: `autovacuum is off${disabled.length > 0 ? ` for ${toListText(disabled)}` : ''}.`,
      detail: 'The tables change with every login and refresh: they grow, and checks get slower.',
      fix:
        disabled.length > 0
          ? `Run: ${disabled.map((name) => `ALTER TABLE ${name} RESET (autovacuum_enabled);`).join(' ')}`
          : "Run: ALTER SYSTEM SET autovacuum = 'on'; SELECT pg_reload_conf()",
    })
  }
  const bloated = tables.filter(({ deadRows, liveRows }) => deadRows > 100_000 && deadRows > liveRows)
  if (bloated.length === 0) return ok('postgres-vacuum', 'autovacuum keeps up.')
  const names = bloated.map(({ name }) => `tokenlib_${name}`)
  return createFinding('postgres-vacuum', 'warning', {
    title: `${toListText(names)} has more dead rows than live ones: autovacuum does not keep up.`,
    detail: 'Often a transaction that is open for long holds it up: look at pg_stat_activity.xact_start.',
    fix: `Run: VACUUM (ANALYZE) ${names.join(', ')}`,
  })
}

const checkTimeout: Check<PostgresFacts> = ({ server }) => {
  if (server === null) return null
  if (server.statementTimeout !== '0') {
    return ok('postgres-timeout', `statement_timeout is ${server.statementTimeout}.`)
  }
  return createFinding('postgres-timeout', 'note', {
    title: 'statement_timeout is not set: a statement goes on after its request was refused.',
    fix: `Run: ALTER ROLE "${server.role}" SET statement_timeout = '5s'`,
  })
}

const checkConnections: Check<PostgresFacts> = ({ server }) => {
  if (server === null) return null
  const { connections, maxConnections } = server
  const text = `${connections} of ${maxConnections} connections are in use`
  if (connections < maxConnections * 0.9) return ok('postgres-connections', `${text}.`)
  return createFinding('postgres-connections', 'warning', {
    title: `${text}: the next process may get none.`,
    detail: 'A process without a connection answers 503.',
    fix: 'Make the pools smaller, put a pooler between, or raise max_connections.',
  })
}

const checkHistory: Check<PostgresFacts> = ({ history }) => {
  if (history === null) return null
  if (history === 'whole') return ok('store-history', 'The history of the namespace is whole.')
  if (history === 'absent') {
    return createFinding('store-history', 'note', {
      title: 'The namespace is empty: no process has used it yet.',
      fix: 'If the application has run before, compare --namespace and the database with its own.',
    })
  }
  return createFinding('store-history', 'error', {
    title: 'The revocations of the namespace were removed: the next call revokes everything.',
    fix: 'Find out who emptied tokenlib_revocations. Everybody has to log in again.',
  })
}

const CHECKS_OF_SERVER: readonly Check<PostgresFacts>[] = [
  checkAccepted([checkVersion, checkStandby, checkDurability, checkIsolation, checkTables, checkWritable]),
  checkWritable,
  checkHistory,
  ({ pruning, endpoint }) => pruning && checkPruning(pruning, toPlace(endpoint)),
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
  checkConnections,
]

/** The checks of a PostgreSQL server. What to run names the server that was checked. */
export const POSTGRES_CHECKS: readonly Check<PostgresFacts>[] = CHECKS_OF_SERVER.map((check) => (facts) => {
  const finding = check(facts)
  const start = `Run on ${toPlace(facts.endpoint)}: `
  return finding && { ...finding, fix: finding.fix.replace(/^Run: /, () => start) }
})
