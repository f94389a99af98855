import { type RevocationKind, toStoredId } from '../../revocation/revocation.js'
import { systemScheduler } from '../../time.js'
import {
  assertUsable,
  DENIED,
  NO_ROW,
  readServer,
  type Right,
  type Server,
  toWrites,
} from './check-server.js'
import { type MysqlClient, readErrorNumber, toDatabase, toNumber, toTextOrNull } from './client.js'
import { createHeads, type Heads, type KnownHead } from './head.js'
import { toLookup } from './revocations.js'
import { serverNowSql } from './statements.js'
import { type TableOptions, TABLES_VERSION, toTables } from './tables.js'

/** Access to the data of a store, for tools. Changes nothing. */
export interface MysqlInspection {
  /** The names of the tables with their database, if it was passed in, quoted for SQL. */
  readonly tables: Readonly<Record<'version' | 'heads' | 'revocations' | 'sessions' | 'spent', string>>
  /** The version of the tables that this release needs. */
  readonly version: number
  /** Runs one statement and returns its rows, as texts. */
  read(sql: string): Promise<readonly (readonly (string | null)[])[]>
  /** Rejects with `ConfigurationError` if a store would not start. */
  assertUsable(): Promise<void>
  /** What the user of the connection may not do with a table, found by writes without effect. */
  readDenied(table: keyof MysqlInspection['tables']): Promise<readonly string[]>
  /** Whether the namespace has all that its history says; `absent` if no process has used it. */
  readHistory(): Promise<'whole' | 'damaged' | 'absent'>
  /** How many rows have ended and are not dropped yet, up to about 100,000 of each table, and the age of the oldest. */
  readEnded(): Promise<{ readonly ended: number; readonly oldestMs: number }>
  /** The clock of the server, in epoch milliseconds. */
  readClock(): Promise<number>
  /** Looks up the keys of one token, as a request does. */
  lookup(): Promise<unknown>
}

interface Known {
  readonly heads: Heads
  readonly server: Server
  readonly head: KnownHead
}

/** Looks at the tables of a store through a pool. */
export function inspectMysql(
  client: MysqlClient,
  { namespace: name = '', ...options }: TableOptions & { readonly namespace?: string } = {},
): MysqlInspection {
  const namespace = toStoredId(name)
  const tables = toTables(options)
  const database = toDatabase(client, systemScheduler)
  const lookupPage = toLookup(tables.revocations, namespace, LOOKUP_KEYS)

  const readRows = (sql: string, values: readonly string[] = []) =>
    database.use((session) => session.read(sql, values))

  // A request of a process knows the head of its history.
  const readKnown = async (): Promise<Known> => {
    const server = await database.use(readServer)
    const [row] = await readRows(
      `select epoch, changes, link, ${serverNowSql} from ${tables.heads} where namespace = ?`,
      [namespace],
    )
    return {
      heads: createHeads(tables, namespace, { clock: undefined, server }),
      server,
      head: {
        epoch: toTextOrNull(row?.[0]) ?? '',
        changes: row === undefined ? 0 : toNumber(row[1]),
        link: toTextOrNull(row?.[2]) ?? '',
        now: row === undefined ? 0 : toNumber(row[3]),
      },
    }
  }
  let known: Promise<Known> | null = null

  return {
    tables,
    version: TABLES_VERSION,
    async read(sql) {
      return (await readRows(sql)).map((row) => row.map(toTextOrNull))
    },
    async assertUsable() {
      await assertUsable(database, tables, { allowVolatile: false })
    },
    async readDenied(table) {
      const statements: Partial<Record<Right, string>> = {
        select: `select 1 from ${tables[table]} where ${table === 'version' ? 'id = 0' : NO_ROW[table]}`,
        ...(table !== 'version' && toWrites(tables)[table]),
      }
      const denied: Right[] = []
      for (const [right, sql] of Object.entries(statements) as [Right, string][]) {
        try {
          await database.use<unknown>((session) =>
            right === 'select' ? session.read(sql, []) : session.write(sql, []),
          )
        } catch (error) {
          if (!DENIED.has(readErrorNumber(error))) throw error
          denied.push(right)
          // A write reads, too.
          if (right === 'select') break
        }
      }
      return denied
    },
    async readHistory() {
      const [row] = await readRows(
        `select exists (select 1 from ${tables.revocations} m
  where m.namespace = h.namespace and m.kind = 'epoch' and m.id = h.epoch) from ${tables.heads} h where h.namespace = ?`,
        [namespace],
      )
      if (row === undefined) return 'absent'
      return toNumber(row[0]) === 1 ? 'whole' : 'damaged'
    },
    async readEnded() {
      const parts = [tables.revocations, tables.sessions, tables.spent].map(
        (table) => `(select ends_at from ${table} force index (by_end)
where namespace = ? and ends_at <= ${serverNowSql} order by ends_at limit ${MAX_COUNTED})`,
      )
      const [row] = await readRows(
        `select count(*), coalesce(${serverNowSql} - min(ends_at), 0) from (${parts.join(' union all ')}) e`,
        parts.map(() => namespace),
      )
      return { ended: toNumber(row?.[0]), oldestMs: toNumber(row?.[1]) }
    },
    async readClock() {
      const [row] = await readRows(`select ${serverNowSql}`)
      return toNumber(row?.[0])
    },
    async lookup() {
      const { heads, server, head } = await (known ??= readKnown())
      const { page, values } = lookupPage
      return database.use((session) => heads.query(session, page, values, head), {
        findsLeftover: server.tellsTransaction,
      })
    },
  }
}

// No more than a tool has to know: a count of millions takes seconds.
const MAX_COUNTED = 100_001

// Its own id, its session, its user, its key and everybody.
const LOOKUP_KEYS: readonly { readonly kind: RevocationKind; readonly id: string }[] = [
  { kind: 'token', id: 'inspected' },
  { kind: 'session', id: 'inspected' },
  { kind: 'user', id: 'inspected' },
  { kind: 'key', id: 'inspected' },
  { kind: 'all', id: '' },
]
