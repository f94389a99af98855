import { type Database, type PostgresClient, toChannel, toDatabase } from './client.js'
import { createRevocationStatements } from './statements.js'
import { assertUsable, leadSql, type TableOptions, TABLES_VERSION, toTables } from './tables.js'

/** Read-only access to the data of a store, for tools. */
export interface PostgresInspection extends Database {
  /** The names of the tables with their schema, quoted for SQL. */
  readonly tables: Readonly<Record<'version' | 'heads' | 'revocations' | 'sessions' | 'spent', string>>
  /** The version of the tables that this release needs. */
  readonly version: number
  /** Where changes are announced. */
  readonly channel: string
  /** Rejects with `ConfigurationError` if a store would not start. */
  assertUsable(): Promise<void>
  /** Whether the namespace has all that its history says; `absent` if no process has used it. */
  readHistory(): Promise<'whole' | 'damaged' | 'absent'>
  /** How many rows have ended and are not dropped yet, up to about 100,000 of each table, and the age of the oldest. */
  readEnded(): Promise<{ readonly ended: number; readonly oldestMs: number } | null>
  /** Looks up the keys of one token, as a request does. */
  lookup(): Promise<unknown>
}

interface Head {
  readonly epoch: string | null
  readonly changes: number
  readonly isMarked: boolean
}

/** Looks at the tables of a store through a client. */
export function inspectPostgres(
  client: PostgresClient,
  { namespace = '', ...options }: TableOptions & { readonly namespace?: string } = {},
): PostgresInspection {
  const tables = toTables(options)
  const { heads, revocations, sessions, spent, version } = tables
  const channel = toChannel(tables, namespace)
  const database = toDatabase(client, false)
  const statements = createRevocationStatements(tables, channel)

  const readHead = async (): Promise<Head> =>
    (await database.query<Head>(
      `select json_build_object('epoch', h.epoch, 'changes', coalesce(h.changes, 0), 'isMarked', exists (
  select from ${revocations} m where m.namespace = $1 and m.kind = 'epoch' and m.id = h.epoch))::text
from (select $1::text as namespace) n left join ${heads} h on h.namespace = n.namespace`,
      [namespace],
    )) as Head
  let known: Promise<Head> | null = null

  return {
    ...database,
    tables: { version, heads, revocations, sessions, spent },
    version: TABLES_VERSION,
    channel,
    assertUsable: () => assertUsable(database, tables, { allowVolatile: false }),
    async readHistory() {
      const { epoch, isMarked } = await readHead()
      if (epoch === null) return 'absent'
      return isMarked ? 'whole' : 'damaged'
    },
    readEnded: () => database.query(endedSql(revocations, sessions), [namespace]),
    async lookup() {
      const { epoch, changes } = await (known ??= readHead())
      return database.query(statements.lookup, [namespace, epoch ?? '', changes, LOOKUP_KEYS])
    },
  }
}

// No more than a tool has to know: a count of millions takes seconds.
const MAX_COUNTED = 100_001

function endedSql(...tables: readonly string[]): string {
  const now = 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint'
  const ended = tables.map(
    (table) =>
      `(select r.until from ${table} r where ${leadSql('until', 'r.namespace')} = ${leadSql('until', '$1::text')}
      and r.until <= ${now} order by r.until limit ${MAX_COUNTED})`,
  )
  return `select json_build_object('ended', count(*), 'oldestMs', coalesce(${now} - min(until), 0))::text
from (${ended.join(' union all ')}) e`
}

// Its own id, its session, its user, its key and everybody.
const LOOKUP_KEYS = JSON.stringify([
  ...['token', 'session', 'user', 'key'].map((kind) => [kind, 'inspected']),
  ['all', ''],
])
