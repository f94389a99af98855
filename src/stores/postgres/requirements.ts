import { ConfigurationError } from '../../errors.js'
import type { Database } from './client.js'
import { TABLES_VERSION } from './migration.js'
import type { Tables } from './tables.js'

interface Answer {
  readonly isStandby: boolean
  readonly serverVersion: number
  readonly isolation: string
  readonly version: number | null
  readonly settings: Readonly<Record<string, string>>
}

/** Rejects with `ConfigurationError` unless the database and its tables can keep the promises of a store. */
export async function assertUsable(
  database: Database,
  tables: Tables,
  { allowVolatile }: { readonly allowVolatile: boolean },
): Promise<void> {
  const answer = await ask(database, tables)
  if (answer.serverVersion < 130_000) {
    throw new ConfigurationError('The PostgreSQL store needs PostgreSQL 13 or newer')
  }
  if ((answer.version ?? 0) < TABLES_VERSION) {
    throw new ConfigurationError(outdated(tables, answer.version ?? 0))
  }
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

async function ask(database: Database, tables: Tables): Promise<Answer> {
  const settings = ['synchronous_commit', 'fsync', 'full_page_writes']
  const statement = `select json_build_object('isStandby', pg_is_in_recovery(),
    'serverVersion', current_setting('server_version_num')::integer,
    'isolation', current_setting('transaction_isolation'),
    'version', (select max(version) from ${tables.version}),
    'settings', json_build_object(${settings.map((name) => `'${name}', current_setting('${name}')`).join()}))::text`
  try {
    return (await database.ask<Answer>(statement, [])) as Answer
  } catch (cause) {
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
    if (code === UNDEFINED_TABLE) throw new ConfigurationError(missing(tables), { cause })
    if (code === INSUFFICIENT_PRIVILEGE) {
      throw new ConfigurationError(
        `The role of this connection may not use the tables: grant select, insert, update, delete on ${tables.heads}, ` +
          `${tables.revocations}, ${tables.sessions} and select on ${tables.version}`,
        { cause },
      )
    }
    throw cause
  }
}

const UNDEFINED_TABLE = '42P01'
const INSUFFICIENT_PRIVILEGE = '42501'

const REMEDY = 'await store.migrate() before the store is used, or run what migrationSql() returns'

function missing({ version }: Tables): string {
  return `There are no tables beside ${version}: ${REMEDY}`
}

function outdated({ version }: Tables, found: number): string {
  return (
    `The tables beside ${version} have version ${found}, and this release of tokenlib needs version ` +
    `${TABLES_VERSION}: ${REMEDY}. Processes of the release before can go on with the newer tables`
  )
}
