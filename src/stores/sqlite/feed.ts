import type { Revocation } from '../../revocation/revocation.js'
import type { FeedPage, Position } from '../../revocation/store.js'
import type { SqliteDatabase } from './database.js'
import type { Known, Ledger } from './ledger.js'
import type { Tables } from './schema.js'

const PAGE = 1000

interface Row extends Revocation {
  readonly change: number
}

/** The position that includes everything known. */
export function toPosition({ epoch, changes }: Known): Position {
  return `${epoch}:${changes}`
}

/** Reads pages of a history: every entry is at the number of its last change, so that none is ever cut off. */
export function createFeedReader(
  database: SqliteDatabase,
  { revocations }: Tables,
  ledger: Ledger,
): (after: Position | null) => FeedPage {
  const select = database.prepare(
    `SELECT change, kind, id, not_before AS notBefore, until FROM ${revocations}
     WHERE change > ? ORDER BY change LIMIT ${PAGE + 1}`,
  )

  return (after) =>
    ledger.read(({ epoch }) => {
      const [ofEpoch, count] = after === null ? [epoch, 0] : readPosition(after)
      const rows = ofEpoch === epoch ? (select.all(count) as readonly Row[]) : []
      const known = ledger.check()
      if (known === null) return null
      // A position ahead of the history was handed out before an old copy of the file was put back.
      return ofEpoch === epoch && count <= known.changes ? toPage(epoch, count, rows) : toReset(epoch)
    })
}

function readPosition(position: Position): readonly [epoch: string, count: number] {
  const [epoch = '', count] = position.split(':')
  return [epoch, Number(count)]
}

function toPage(epoch: string, count: number, rows: readonly Row[]): FeedPage {
  const read = rows.slice(0, PAGE)
  return {
    entries: read.map(({ kind, id, notBefore, until }) => ({ kind, id, notBefore, until })),
    next: toPosition({ epoch, changes: read.at(-1)?.change ?? count }),
    more: rows.length > PAGE,
    reset: false,
    ageMs: 0,
  }
}

function toReset(epoch: string): FeedPage {
  return { entries: [], next: toPosition({ epoch, changes: 0 }), more: false, reset: true, ageMs: 0 }
}
