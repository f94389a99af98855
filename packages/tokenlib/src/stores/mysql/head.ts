import type { Clock } from '../../time.js'
import { readClock } from '../store-parts.js'
import { assertState, readState, type Server } from './check-server.js'
import { type Row, type Session, toNumber, toText, type Value } from './client.js'
import { asNumber, nowSql } from './statements.js'
import type { Tables } from './tables.js'

/** What a read or a transaction finds in the head of its namespace. */
export interface Head {
  /** How many changes the history has. */
  readonly changes: number
  /** The random name of the last batch: another history has another one, even if it has as many changes. */
  readonly link: string
  readonly epoch: string
  /** In milliseconds. */
  readonly longestLifetime: number
  /** By the clock that was passed in, else by the server's. */
  readonly now: number
}

/** A head that was locked, whatever its history is. */
export interface FoundHead extends Head {
  /** Whether its revocations have the mark of its epoch: somebody may have emptied them. */
  readonly isMarked: boolean
}

/** A part of a select: columns and the table expression `p` that they come from. */
export interface Page {
  readonly columns: string
  readonly from: string
}

/** Values of the condition that a head is the known one: namespace, epoch, changes. */
type KnownValues = readonly Value[]

/** Reads and writes the head of a namespace. */
export interface Heads {
  /** Reads the head and a page in one statement; `null` where it is not the known one. */
  read(
    session: Session,
    page: Page,
    values: readonly Value[],
    known: KnownValues,
  ): Promise<readonly [head: Head, rows: readonly Row[]] | null>
  /** The statement of `read`, with no look at the answer, for tools. */
  query(session: Session, page: Page, values: readonly Value[], known: KnownValues): Promise<readonly Row[]>
  /** Locks the head until the commit; `null` where it is not the known one. */
  lock(session: Session, known: KnownValues): Promise<Head | null>
  /** Locks the head, whatever is in it, and creates it if it is missing. */
  lockAnyway(session: Session): Promise<FoundHead>
  write(session: Session, head: Omit<Head, 'now'>): Promise<unknown>
}

/** The epoch of a head whose history has not begun. */
export const NO_EPOCH = '-'

/** The head of a namespace. */
export function createHeads(
  { heads, revocations }: Tables,
  namespace: string,
  { clock, server }: { readonly clock: Clock | undefined; readonly server: Server },
): Heads {
  const columns = `h.changes, h.link, h.epoch, h.longest_lifetime, ${nowSql} as now_ms, ${server.state} as state`
  const isMarked = `exists (select 1 from ${revocations} m
  where m.namespace = h.namespace and m.kind = 'epoch' and m.id = h.epoch)`
  const isKnown = `h.namespace = ? and h.epoch = ? and h.changes >= ${asNumber} and ${isMarked}`

  const time = (): Value => {
    const now = readClock(clock)
    return now === null ? null : String(now)
  }

  const lock = async (
    session: Session,
    condition: string,
    values: readonly Value[],
  ): Promise<FoundHead | null> => {
    const sql = `select ${columns}, ${isMarked} as is_marked from ${heads} h where ${condition} for update`
    const [row] = await session.read(sql, [time(), ...values])
    return row === undefined
      ? null
      : { ...parseHead(row, session), isMarked: toNumber(row[HEAD_COLUMNS]) === 1 }
  }

  const query: Heads['query'] = (session, { columns: more, from }, values, known) =>
    session.read(
      `select ${columns}, ${more} from ${heads} h left join ${from} on 1 = 1 where ${isKnown} limit ${MAX_ROWS}`,
      [time(), ...values, ...known],
    )

  return {
    async read(session, page, values, known) {
      const rows = await query(session, page, values, known)
      if (rows[0] === undefined) return null
      return [parseHead(rows[0], session), rows.map((row) => row.slice(HEAD_COLUMNS))]
    },
    query,
    lock: (session, known) => lock(session, isKnown, known),
    async lockAnyway(session) {
      // Before anything is written: a privileged user may write to a replica.
      await readState(session, server)
      await session.write(
        `insert into ${heads} (namespace, epoch, link, changes, longest_lifetime) values (?, ?, ?, 0, 0)
on duplicate key update namespace = values(namespace)`,
        [namespace, NO_EPOCH, NO_EPOCH],
      )
      const head = await lock(session, 'h.namespace = ?', [namespace])
      if (head === null) throw new Error('The MySQL server has lost a row that it has just written')
      return head
    },
    write: (session, { epoch, link, changes, longestLifetime }) =>
      session.write(
        `update ${heads} set epoch = ?, link = ?, changes = ${asNumber}, longest_lifetime = ${asNumber} where namespace = ?`,
        [epoch, link, String(changes), String(longestLifetime), namespace],
      ),
  }
}

const HEAD_COLUMNS = 6
// An explicit limit, because a session may have a sql_select_limit.
const MAX_ROWS = 1_000_000

function parseHead([changes, link, epoch, longestLifetime, now, state]: Row, session: Session): Head {
  assertState(toText(state), session)
  return {
    changes: toNumber(changes),
    link: toText(link),
    epoch: toText(epoch),
    longestLifetime: toNumber(longestLifetime),
    now: toNumber(now),
  }
}
