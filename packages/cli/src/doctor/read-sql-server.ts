import type { TablesProbe } from '../opened-store.js'
import { type PruningFacts, readRefusal } from './check-store.js'
import type { Endpoint } from './endpoint.js'
import { type ClockDifference, type Latency, measureClock, measureLatency } from './measure.js'

/** What `doctor` knows of the tables in PostgreSQL and in MySQL; `null` is what could not be read. */
export interface SqlFacts {
  readonly endpoint: Endpoint
  /** The names of the tables, quoted for SQL. */
  readonly names: Readonly<Record<TableName, string>>
  /** The tables of the store that exist. */
  readonly tables: readonly TableRights[] | null
  /** The version in the table of versions; `null` without that table. */
  readonly tablesVersion: number | null
  /** The version that this release needs. */
  readonly neededVersion: number
  readonly server: SqlServerFacts | null
  /** Why the store would not start, or `null`. */
  readonly refusal: string | null
  readonly history: 'whole' | 'damaged' | 'absent' | null
  readonly pruning: PruningFacts | null
  readonly latency: Latency | null
  readonly clock: ClockDifference | null
}

/** What every database server says of itself. */
export interface SqlServerFacts {
  readonly version: string
  /** The user of the connection, as `GRANT` names it. */
  readonly user: string
  readonly isTls: boolean
  readonly connections: number
  readonly maxConnections: number
}

/** One table of the store. */
export interface TableRights {
  readonly name: TableName
  /** What the user may not do with it. */
  readonly denied: readonly string[]
}

/** The tables of a store. */
export const TABLE_NAMES = ['version', 'heads', 'revocations', 'sessions', 'spent'] as const

/** A table of a store. */
export type TableName = (typeof TABLE_NAMES)[number]

/** The name of a table in a sentence: without its schema or database, and without quotes. */
export function toPlainName(quoted: string): string {
  return /(\w+)\W?$/.exec(quoted)?.[1] ?? quoted
}

/** Runs something, and returns `null` where the server answers with an error. */
export async function attempt<Answer>(
  { isAnswer }: Pick<TablesProbe<unknown>, 'isAnswer'>,
  run: () => Promise<Answer>,
): Promise<Answer | null> {
  try {
    return await run()
  } catch (error) {
    if (!isAnswer(error)) throw error
    return null
  }
}

interface SqlInspection {
  readonly tables: Readonly<Record<TableName, string>>
  readonly version: number
  assertUsable(): Promise<void>
  readHistory(): Promise<'whole' | 'damaged' | 'absent'>
  readEnded(): Promise<PruningFacts | null>
  lookup(): Promise<unknown>
}

/** Reads what the checks of both servers need, and both inspections know. */
export async function readSqlFacts(
  probe: TablesProbe<SqlInspection>,
  endpoint: Endpoint,
  readClock: () => Promise<number>,
): Promise<Omit<SqlFacts, 'server' | 'tables' | 'tablesVersion'>> {
  const { inspection, isAnswer } = probe
  return {
    endpoint,
    names: inspection.tables,
    neededVersion: inspection.version,
    refusal: await readRefusal(() => inspection.assertUsable(), isAnswer),
    history: await attempt(probe, () => inspection.readHistory()),
    pruning: await attempt(probe, () => inspection.readEnded()),
    latency: await attempt(probe, () => measureLatency(() => inspection.lookup())),
    clock: await attempt(probe, () => measureClock(readClock)),
  }
}
