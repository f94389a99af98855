import {
  addDuration,
  isWatermark,
  type Revocation,
  type RevocationKey,
  type LookupAnswer,
} from '../../revocation/revocation.js'
import type { Claimed, FeedPage, Position, Revoked } from '../../revocation/store.js'
import { nextTurn } from '../../runtime.js'
import type { Connection, SqliteValue } from './connection.js'
import type { History, KnownHistory, WriteTransaction } from './history.js'
import type { Tables } from './schema.js'
import type { LateSessions } from './watermarks.js'

/** The most keys in one statement; a request needs five. */
const MAX_WIDTH = 8

type LookupRow = Readonly<Record<string, number | null>>

/** Answers about keys from one statement, which sees one moment of the keys and of the history they belong to. */
export function createLookup(
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
    const row = history.read(
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

/** Writes batches of revocations, completed by what only the store knows. */
export function createRevoke(
  database: Connection,
  { meta, sessions }: Tables,
  history: History,
): (batch: readonly Revocation[]) => Promise<Revoked> {
  const touch = database.prepare(`UPDATE ${meta} SET changes = changes WHERE id = 1`)
  const readEnd = database.prepare(`SELECT until FROM ${sessions} WHERE sid = ?`)
  const remove = database.prepare(`DELETE FROM ${sessions} WHERE sid = ? AND started_at <= ?`)

  const revokeSession = (revocation: Revocation, transaction: WriteTransaction): void => {
    const { now, longestLifetime } = transaction
    const session = (readEnd.get(revocation.id) ?? null) as { readonly until: number } | null
    transaction.merge({
      ...revocation,
      until: session?.until ?? Math.max(revocation.until, addDuration(now, longestLifetime)),
    })
    if (session !== null) remove.run(revocation.id, revocation.notBefore)
  }

  // What started later than a watermark reaches, a few at a time.
  const revokeLate = async (late: LateSessions, position: Position): Promise<Position> => {
    let at = position
    for (let hasMore = late.upTo > late.after; hasMore; await nextTurn()) {
      const step = await history.write((transaction) => ({
        hasMore: transaction.revokeSome(late),
        position: toPosition(transaction.known()),
      }))
      ;({ hasMore, position: at } = step)
    }
    return at
  }

  return async (batch) => {
    const { late, ...first } = await history.write((transaction) => {
      let { now } = transaction
      const later: LateSessions[] = []
      // A batch of nothing asks whether the file can be written, and an empty transaction writes nothing.
      if (batch.length === 0) touch.run()
      for (const revocation of batch) {
        if (isWatermark(revocation.kind)) {
          const { notBefore, ...rest } = transaction.raise(revocation)
          now = Math.max(now, notBefore)
          later.push(rest)
        } else if (revocation.kind === 'session') revokeSession(revocation, transaction)
        else transaction.merge(revocation)
      }
      return { position: toPosition(transaction.known()), now, late: later }
    })
    let { position } = first
    for (const some of late) position = await revokeLate(some, position)
    return { ...first, position }
  }
}

/** Takes batches whose first entry is not there yet. */
export function createClaim(
  database: Connection,
  { revocations }: Tables,
  history: History,
): (batch: readonly Revocation[]) => Promise<Claimed> {
  const find = database.prepare(`SELECT 1 FROM ${revocations} WHERE kind = ? AND id = ?`)

  return (batch) =>
    history.write((transaction) => {
      const [first] = batch
      const isFirst = first !== undefined && (find.get(first.kind, first.id) ?? null) === null
      if (isFirst) for (const entry of batch) transaction.merge(entry)
      return { isFirst, position: toPosition(transaction.known()) }
    })
}

/** Merges batches of revocations as they are. */
export function createRestore(
  database: Connection,
  { sessions }: Tables,
  history: History,
): (batch: readonly Revocation[]) => Promise<void> {
  const remove = database.prepare(`DELETE FROM ${sessions} WHERE sid = ? AND started_at <= ?`)

  return (batch) =>
    history.write(({ merge }) => {
      for (const revocation of batch) {
        merge(revocation)
        if (revocation.kind === 'session') remove.run(revocation.id, revocation.notBefore)
      }
    })
}

const PAGE_SIZE = 1000

interface FeedRow extends Revocation {
  readonly change: number
}

/** The position that includes everything known. */
export function toPosition({ epoch, changes }: KnownHistory): Position {
  return `${epoch}:${changes}`
}

/** Reads pages of a history: every entry is at the number of its last change, so that none is ever cut off. */
export function createFeedReader(
  database: Connection,
  { revocations }: Tables,
  history: History,
): (after: Position | null) => FeedPage {
  const select = database.prepare(
    `SELECT change, kind, id, not_before AS notBefore, until FROM ${revocations}
     WHERE change > ? ORDER BY change LIMIT ${PAGE_SIZE + 1}`,
  )

  return (after) =>
    history.read(({ epoch }) => {
      const [ofEpoch, count] = after === null ? [epoch, 0] : readPosition(after)
      const rows = ofEpoch === epoch ? (select.all(count) as readonly FeedRow[]) : []
      const known = history.readKnown()
      if (known === null) return null
      // A position ahead of the history was handed out before an old copy of the file was put back.
      return ofEpoch === epoch && count <= known.changes ? toPage(epoch, count, rows) : toReset(epoch)
    })
}

function readPosition(position: Position): readonly [epoch: string, count: number] {
  const [epoch = '', count] = position.split(':')
  return [epoch, Number(count)]
}

function toPage(epoch: string, count: number, rows: readonly FeedRow[]): FeedPage {
  const read = rows.slice(0, PAGE_SIZE)
  return {
    entries: read.map(({ kind, id, notBefore, until }) => ({ kind, id, notBefore, until })),
    next: toPosition({ epoch, changes: read.at(-1)?.change ?? count }),
    more: rows.length > PAGE_SIZE,
    reset: false,
    ageMs: 0,
  }
}

function toReset(epoch: string): FeedPage {
  return { entries: [], next: toPosition({ epoch, changes: 0 }), more: false, reset: true, ageMs: 0 }
}
