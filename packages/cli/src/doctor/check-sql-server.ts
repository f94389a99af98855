import { toListText } from '../words.js'
import { checkPruning } from './check-store.js'
import { toPlace } from './endpoint.js'
import { type Check, type CheckId, createFinding, notSeen, ok } from './findings.js'
import { type SqlFacts, TABLE_NAMES, toPlainName } from './read-sql-server.js'

const MIGRATE = 'Run the SQL of migrationSql() as the owner of the tables, or await store.migrate().'

/** Checks that the tables are there, and new enough. `place` says where they are looked for. */
export function createTablesCheck(id: CheckId, place: string): Check<SqlFacts> {
  return ({ tables, tablesVersion, neededVersion, names, server }) => {
    if (tables === null) return notSeen(id, 'the tables', 'Run doctor as the user of the application.')
    const found = new Set(tables.map(({ name }) => name))
    const missing = TABLE_NAMES.filter((name) => !found.has(name)).map((name) => toPlainName(names[name]))
    if (missing.length > 0) {
      return createFinding(id, 'error', {
        title:
          missing.length === TABLE_NAMES.length
            ? 'The tables of the store do not exist.'
            : `The tables ${toListText(missing)} do not exist.`,
        detail: place,
        fix: MIGRATE,
      })
    }
    if (tablesVersion === null) {
      const grant = `Run: GRANT SELECT ON ${names.version} TO ${server?.user ?? '<user>'}`
      return notSeen(id, 'the version of the tables', grant)
    }
    if (tablesVersion >= neededVersion) return ok(id, `The tables have version ${tablesVersion}.`)
    return createFinding(id, 'error', {
      title: `The tables have version ${tablesVersion}, and this release needs version ${neededVersion}.`,
      fix: MIGRATE,
    })
  }
}

/** Checks the rights of the user on the tables. */
export const checkWritable: Check<SqlFacts> = ({ tables, names, server }) => {
  if (tables === null || tables.length === 0) return null
  const denied = tables.filter(({ denied: rights }) => rights.length > 0)
  const user = server?.user ?? '<user>'
  if (denied.length === 0) return ok('store-writable', `The user ${user} may read and write the tables.`)
  const lacking = denied.map(
    ({ name, denied: rights }) => `${rights.join(', ')} on ${toPlainName(names[name])}`,
  )
  const grants = denied.map(
    ({ name, denied: rights }) => `GRANT ${rights.join(', ')} ON ${names[name]} TO ${user};`,
  )
  return createFinding('store-writable', 'error', {
    title: `The user ${user} lacks ${toListText(lacking)}.`,
    fix: `Run: ${grants.join(' ')}`,
  })
}

/** Checks that there are connections left. */
export function createConnectionsCheck(id: CheckId): Check<SqlFacts> {
  return ({ server }) => {
    if (server === null) return null
    const { connections, maxConnections } = server
    const text = `${connections} of ${maxConnections} connections are in use`
    if (connections < maxConnections * 0.9) return ok(id, `${text}.`)
    return createFinding(id, 'warning', {
      title: `${text}: the next process may get none.`,
      detail: 'A process without a connection answers 503.',
      fix: 'Make the pools smaller, put a pooler between, or raise max_connections.',
    })
  }
}

/** Checks that the revocations are there. */
export const checkHistory: Check<SqlFacts> = ({ history, names }) => {
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
    fix: `Find out who emptied ${toPlainName(names.revocations)}. Everybody has to log in again.`,
  })
}

/** Checks that expired rows are deleted. */
export const checkEnded: Check<SqlFacts> = ({ pruning, endpoint }) =>
  pruning && checkPruning(pruning, toPlace(endpoint))

/** The same checks; what to run names the server that was checked. */
export function namePlace<Facts extends SqlFacts>(checks: readonly Check<Facts>[]): readonly Check<Facts>[] {
  return checks.map((check) => (facts) => {
    const finding = check(facts)
    const start = `Run on ${toPlace(facts.endpoint)}: `
    return finding && { ...finding, fix: finding.fix.replace(/^Run: /, () => start) }
  })
}
