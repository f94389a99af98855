import type { RevocationKey, LookupAnswer } from '../../revocation/revocation.js'
import type { SqliteDatabase, SqliteValue } from './database.js'
import type { Ledger } from './ledger.js'
import type { Tables } from './schema.js'

/** The most keys in one statement; a request needs five. */
const WIDEST = 8

type Row = Readonly<Record<string, number | null>>

/** Answers about keys from one statement, which sees one moment of the keys and of the history they belong to. */
export function createLookup(
  database: SqliteDatabase,
  tables: Tables,
  ledger: Ledger,
): (keys: readonly RevocationKey[]) => LookupAnswer {
  const statements = Array.from({ length: WIDEST + 1 }, (_, width) => database.prepare(toSql(tables, width)))

  const ask = (keys: readonly RevocationKey[]): (number | undefined)[] => {
    const values: SqliteValue[] = []
    for (const { kind, id } of keys) values.push(kind, id)
    const row = ledger.read(
      ({ epoch, changes }) =>
        statements[keys.length]?.get(...values, epoch, changes) as Row | null | undefined,
    )
    ledger.notice(row['changes'] as number)
    return keys.map((_, at) => row[`key${at}`] ?? undefined)
  }

  return (keys) => {
    if (keys.length <= WIDEST) return ask(keys)
    const answers: (number | undefined)[] = []
    for (let at = 0; at < keys.length; at += WIDEST) answers.push(...ask(keys.slice(at, at + WIDEST)))
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
