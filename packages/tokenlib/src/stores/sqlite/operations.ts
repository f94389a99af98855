import type { LookupAnswer, Revocation, RevocationKey } from '../../revocation/revocation.js'
import type { FeedPage, Position } from '../../revocation/store.js'
import { toPage, toResetPage } from '../store-parts.js'
import { createHistory, type History, type HistoryOptions, toPosition } from './history.js'
import { createPrune, type Prune, type PruneClocks } from './pruner.js'
import { createSpend } from './spent.js'
import { type Connection, createTables, type SqliteValue, type Tables } from './tables.js'

/** What a store does with its tables, for one process that uses them. */
export interface Operations {
  readonly history: History
  readonly lookup: (keys: readonly RevocationKey[]) => LookupAnswer
  readonly readFeed: (after: Position | null) => FeedPage
  readonly prune: Prune
  readonly spend: (id: string, keepMs: number) => Promise<boolean>
}

/** What the operations of a store work with. */
export interface OperationOptions extends HistoryOptions, PruneClocks {}

/** Creates the tables that are missing, or throws `ConfigurationError` for tables of another version. */
export function prepareTables(database: Connection, tables: Tables): void {
  database.transact('throw', () => {
    createTables(database, tables)
    // Nothing is deleted; but a handle that may only read lets a transaction begin, and fails here.
    database.exec(`DELETE FROM ${tables.meta} WHERE id = 0`)
  })
}

/** Prepares every statement that a store needs; the tables must be there. */
export function createOperations(
  database: Connection,
  tables: Tables,
  options: OperationOptions,
): Operations {
  const history = createHistory(database, tables, options)
  return {
    history,
    lookup: createLookup(database, tables, history),
    readFeed: createFeedReader(database, tables, history),
    prune: createPrune(database, tables, history, options),
    spend: createSpend(database, tables, history),
  }
}

// The most keys in one statement; a request needs five.
const MAX_WIDTH = 8

type LookupRow = Readonly<Record<string, number | null>>

/** Answers about keys from one statement, which sees one moment of the keys and of the history they belong to. */
function createLookup(
  database: Connection,
  tables: Tables,
  history: History,
): (keys: readonly RevocationKey[]) => LookupAnswer {
  const statements = Array.from({ length: MAX_WIDTH + 1 }, (_, width) =>
    database.prepare(toSql(tables, width)),
  )

  const lookupPart = (keys: readonly RevocationKey[]): (number | undefined)[] => {
    const values: SqliteValue[] = []
    for (const { kind, id } of keys) values.push(kind, id)
    const row = history.readStatement(
      ({ epoch, changes }) =>
        statements[keys.length]?.get(...values, epoch, changes) as LookupRow | null | undefined,
    )
    history.recordChanges(row['changes'] as number)
    return keys.map((_, at) => row[`key${at}`] ?? undefined)
  }

  return (keys) => {
    if (keys.length <= MAX_WIDTH) return lookupPart(keys)
    const answers: (number | undefined)[] = []
    for (let at = 0; at < keys.length; at += MAX_WIDTH)
      answers.push(...lookupPart(keys.slice(at, at + MAX_WIDTH)))
    return answers
  }
}

// No row at all when the history is another one.
function toSql({ meta, revocations }: Tables, width: number): string {
  const keys = Array.from(
    { length: width },
    (_, at) => `, (SELECT not_before FROM ${revocations} WHERE kind = ? AND id = ?) AS key${at}`,
  )
  return `SELECT changes${keys.join('')} FROM ${meta} WHERE id = 1 AND epoch = ? AND changes >= ?`
}

const PAGE_SIZE = 1000

interface FeedRow extends Revocation {
  readonly change: number
}

/** Reads pages of a history: every entry is at the number of its last change, so that none is ever cut off. */
function createFeedReader(
  database: Connection,
  { revocations }: Tables,
  history: History,
): (after: Position | null) => FeedPage {
  const select = database.prepare(
    `SELECT change, kind, id, not_before AS notBefore, until FROM ${revocations}
     WHERE change > ? ORDER BY change LIMIT ${PAGE_SIZE + 1}`,
  )

  return (after) => {
    const [ofEpoch, count] = after === null ? [null, 0] : readPosition(after)
    const { value: rows, known } = history.read((_, epoch) =>
      ofEpoch === null || ofEpoch === epoch ? (select.all(count) as readonly FeedRow[]) : null,
    )
    // A position ahead of the history was handed out before an old copy of the file was put back.
    const isOther = rows === null || !(count <= known.changes)
    if (isOther) return toResetPage(toPosition({ ...known, changes: 0 }))
    const page = rows.slice(0, PAGE_SIZE)
    return toPage(
      page.map(({ kind, id, notBefore, until }) => ({ kind, id, notBefore, until })),
      toPosition({ ...known, changes: page.at(-1)?.change ?? count }),
      rows.length > PAGE_SIZE,
    )
  }
}

function readPosition(position: Position): readonly [epoch: string, count: number] {
  const [epoch = '', count] = position.split(':')
  return [epoch, Number(count)]
}
