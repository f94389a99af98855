import { ConfigurationError } from '../../errors.js'
import { assertKnownLayout } from '../store-parts.js'
import { type Database, readErrorNumber, type Session, toNumber, toText, UNFIT } from './client.js'
import { type Tables, TABLES_VERSION } from './tables.js'

/** Returns what the server is, or rejects with `ConfigurationError` unless server and tables can keep the promises of a store. */
export async function assertUsable(
  database: Database,
  tables: Tables,
  { allowVolatile }: { readonly allowVolatile: boolean },
): Promise<Server> {
  return database.use(async (session) => {
    const settings = await readSettings(session)
    assertServer(settings)
    if (!allowVolatile) assertDurable(settings)
    await assertTables(session, tables)
    return toServer(settings)
  })
}

/** What the statements of a store must know of its server. */
export interface Server {
  /** Whether an answer can say that its connection is in a transaction, which MariaDB can. */
  readonly tellsTransaction: boolean
  /** An expression: what an answer says of the connection and the server that gave it. */
  readonly state: string
  /** A condition: the server and the connection keep what is written by a statement of its own. */
  readonly isWritable: string
}

/** Reads what the server is, whatever state it is in. */
export async function readServer(session: Session): Promise<Server> {
  return toServer(await readSettings(session))
}

function toServer(settings: Settings): Server {
  const tellsTransaction = isMariadb(settings)
  const isolation = settings.has('transaction_isolation') ? 'transaction_isolation' : 'tx_isolation'
  const columns = ['session.autocommit', ...READ_ONLY, `session.${isolation}`].map((name) => `@@${name}`)
  if (tellsTransaction) columns.push('@@in_transaction')
  return {
    tellsTransaction,
    // By the mode of now: a statement that is prepared reads `''` by the mode of then.
    state: `concat_ws(',', locate(${NO_EMPTY_TEXT}, cast(@@session.sql_mode as binary)) > 0, ${columns.join()})`,
    // As bytes: a prepared text keeps its collation, which the connection may no longer have.
    isWritable: [
      '@@session.autocommit = 1',
      ...READ_ONLY.map((name) => `cast(concat(@@${name}) as binary) in (_binary '0', _binary 'OFF')`),
    ].join(' and '),
  }
}

const NO_EMPTY_TEXT = "_binary 'EMPTY_STRING_IS_NULL'"
const READ_ONLY = ['global.read_only', 'global.innodb_read_only']

type Settings = ReadonlyMap<string, string>

async function readSettings(session: Session): Promise<Settings> {
  const names = SETTINGS.map((name) => `'${name}'`).join()
  const rows = await session.read(`show variables where Variable_name in (${names})`, [])
  return new Map(rows.map(([name, value]) => [toText(name).toLowerCase(), toText(value).toUpperCase()]))
}

const SETTINGS = [
  'version',
  'autocommit',
  'read_only',
  'innodb_read_only',
  'sql_mode',
  'log_bin',
  'binlog_format',
  'sync_binlog',
  'innodb_flush_log_at_trx_commit',
  'wsrep_on',
  'wsrep_sync_wait',
  'transaction_isolation',
]

const isOn = (settings: Settings, name: string): boolean => !isOff(settings.get(name) ?? 'OFF')

const isMariadb = (settings: Settings): boolean => settings.get('version')?.includes('MARIADB') === true

function assertServer(settings: Settings): void {
  const version = settings.get('version') ?? ''
  const [, major, minor] = (/^(\d+)\.(\d+)/.exec(version) ?? []).map(Number)
  const release = (major ?? 0) * 1000 + (minor ?? 0)
  if (isMariadb(settings) ? release < 10_006 : release < 8000) {
    throw new ConfigurationError('The MySQL store needs MySQL 8.0 or newer, or MariaDB 10.6 or newer')
  }
  if (isOn(settings, 'read_only') || isOn(settings, 'innodb_read_only')) throw new ConfigurationError(STANDBY)
  if (!isOn(settings, 'autocommit')) {
    throw new ConfigurationError(
      'Connections of this pool have autocommit off. Give the store a pool of its own, with autocommit on',
    )
  }
  if ((settings.get('sql_mode') ?? '').includes('EMPTY_STRING_IS_NULL')) {
    throw new ConfigurationError('The sql_mode of this pool has EMPTY_STRING_IS_NULL: remove it')
  }
  if (isOn(settings, 'log_bin') && settings.get('binlog_format') === 'STATEMENT') {
    throw new ConfigurationError(
      'binlog_format is STATEMENT, under which the server refuses the transactions of the store: set it to ROW or MIXED',
    )
  }
  // Bit 0: reads wait until this node has what others have committed.
  if (isOn(settings, 'wsrep_on') && Number(settings.get('wsrep_sync_wait')) % 2 !== 1) {
    throw new ConfigurationError(
      'This node of a Galera cluster may answer before it has what other nodes have committed: set wsrep_sync_wait to 1 or 7',
    )
  }
}

const STANDBY =
  'The MySQL server is read-only: it is a replica, which may be behind, or a primary that is being replaced. Connect to ' +
  'the primary'

// MariaDB's 3 is 1 with more waiting.
const DURABLE = ['1', '3']

function assertDurable(settings: Settings): void {
  const refuse = (name: string, why: string): never => {
    throw new ConfigurationError(
      `${name} is ${settings.get(name)}, so a crash of the server may lose revocations that were acknowledged${why}. ` +
        `Set it to 1; or pass allowVolatile: true, where the provider keeps what is committed by other means, or where ` +
        'the loss does not matter',
    )
  }
  const flush = 'innodb_flush_log_at_trx_commit'
  if (!DURABLE.includes(settings.get(flush) ?? '1')) refuse(flush, '')
  // After a crash the server rolls back what is not in its binary log.
  if (isOn(settings, 'log_bin') && settings.get('sync_binlog') !== '1') {
    refuse('sync_binlog', ', because the server has a binary log')
  }
}

async function assertTables(session: Session, tables: Tables): Promise<void> {
  try {
    const [row] = await session.read(`select max(version) from ${tables.version}`, [])
    const version = row?.[0] == null ? 0 : toNumber(row[0])
    if (version < TABLES_VERSION) throw createMissing(tables)
    assertKnownLayout('MySQL', version, TABLES_VERSION)
    await assertRights(session, tables)
  } catch (cause) {
    const number = readErrorNumber(cause)
    if (MISSING.has(number)) throw createMissing(tables, cause)
    if (DENIED.has(number)) throw createDenied(tables, cause)
    throw cause
  }
  await assertEngine(session, tables)
}

async function assertRights(session: Session, tables: Tables): Promise<void> {
  for (const writes of Object.values(toWrites(tables))) {
    for (const sql of Object.values(writes)) await session.write(sql, [])
  }
}

/** The tables that a store writes to. */
export type WrittenTable = Exclude<keyof Tables, 'version'>

/** What a store may have to do with its tables. */
export type Right = 'select' | 'insert' | 'update' | 'delete'

/** Condition that no row of a table meets. Updates that name a key also work with sql_safe_updates. */
export const NO_ROW: Readonly<Record<WrittenTable, string>> = {
  heads: 'namespace = 0x00',
  revocations: 'namespace = 0x00 and kind = 0x00 and id = 0x00',
  sessions: 'namespace = 0x00 and sid = 0x00',
  spent: 'namespace = 0x00 and id = 0x00',
}

/** Writes that change nothing, and fail without the right. */
export function toWrites(
  tables: Tables,
): Readonly<Record<WrittenTable, Readonly<Record<Exclude<Right, 'select'>, string>>>> {
  const of = (name: WrittenTable) => {
    const [table, nothing] = [tables[name], NO_ROW[name]]
    return {
      update: `update ${table} set namespace = 0x00 where ${nothing}`,
      delete: `delete from ${table} where ${nothing}`,
      insert: `insert into ${table} select * from ${table} where ${nothing}`,
    }
  }
  return { heads: of('heads'), revocations: of('revocations'), sessions: of('sessions'), spent: of('spent') }
}

// A server whose InnoDB is off may have created them with another engine, which has no transactions.
async function assertEngine(session: Session, { heads }: Tables): Promise<void> {
  const names = heads.split('.').map((name) => name.replaceAll('`', ''))
  const prefix = names.pop()?.replace(/heads$/, '') ?? ''
  const all = ['heads', 'revocations', 'sessions', 'spent'].map((name) => prefix + name)
  const rows = await session.read(
    `select table_name, engine from information_schema.tables
where table_schema = coalesce(?, database()) and table_name in (?, ?, ?, ?)`,
    [names.pop() ?? null, ...all],
  )
  const [other] = rows.filter(([, engine]) => toText(engine).toUpperCase() !== 'INNODB')
  if (other === undefined) return
  throw new ConfigurationError(
    `The table ${toText(other[0])} has the engine ${toText(other[1])}, which has no transactions: alter table … engine = InnoDB`,
  )
}

// No such table, and no such database.
const MISSING: ReadonlySet<number> = new Set([1146, 1049])
/** Errors about a right: of a database, a table, a column, or a user who may do nothing else. */
export const DENIED: ReadonlySet<number> = new Set([1044, 1142, 1143, 1227, 1370])

function createMissing({ version }: Tables, cause?: unknown): ConfigurationError {
  return new ConfigurationError(
    `Missing or incomplete tables next to ${version}: await store.migrate() before you use the store, or run the SQL of ` +
      'migrationSql(). If they are in another database, pass its name',
    { cause },
  )
}

function createDenied({ version, ...tables }: Tables, cause: unknown): ConfigurationError {
  return new ConfigurationError(
    `The user of this pool may not use the tables: grant select, insert, update, delete on ` +
      `${Object.values(tables).join(', ')} and select on ${version}`,
    { cause },
  )
}

/** Reads the state, and throws if the store must not rely on what the server or the connection does. */
export async function readState(session: Session, { state }: Server): Promise<void> {
  const [row] = await session.read(`select ${state} as state limit 1`, [])
  assertState(toText(row?.[0]), session)
}

/** Throws if an answer comes from a server or a connection that the store must not rely on. */
export function assertState(state: string, { isOwn }: Pick<Session, 'isOwn'>): void {
  const [hasNoEmptyText, autocommit, isReadOnly, isEngineReadOnly, isolation, inTransaction] = state
    .toUpperCase()
    .split(',')
  // Not `ConfigurationError`: a failover, or another user of the pool, can bring this about at any time.
  if (!isOff(isReadOnly) || !isOff(isEngineReadOnly)) throw new Error(STANDBY)
  if (isOff(autocommit)) throw new Error('A connection of the MySQL pool has autocommit off')
  if (!isOff(hasNoEmptyText)) {
    throw new Error('A connection of the MySQL pool has EMPTY_STRING_IS_NULL in its sql_mode')
  }
  // Under READ UNCOMMITTED, an answer may have changes that will never be: missing them later would be a loss.
  if (!isOwn && (isolation === 'READ-UNCOMMITTED' || !isOff(inTransaction ?? '0'))) throw UNFIT
}

function isOff(value: string | undefined): boolean {
  return value === '0' || value === 'OFF'
}
