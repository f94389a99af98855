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

/** The newest head that a process has seen. */
export type KnownHead = Omit<Head, 'longestLifetime'>

/** A head that was locked, whatever its history is. */
export interface FoundHead extends Head {
  /** Whether its revocations have the mark of its epoch: somebody may have emptied them. */
  readonly isMarked: boolean
  /** Whether it has what the known one had, as far as its epoch, its count of changes and its links tell. */
  readonly isWhole: boolean
}

/** A part of a select: columns and the table expression `p` that they come from. */
export interface Page {
  readonly columns: string
  readonly from: string
}

/** Reads and writes the head of a namespace. */
export interface Heads {
  /** Reads the head and a page in one statement; `null` where it has less than the known one. */
  read(
    session: Session,
    page: Page,
    values: readonly Value[],
    known: KnownHead,
  ): Promise<readonly [head: Head, rows: readonly Row[]] | null>
  /** The statement of `read`, with no look at the answer, for tools. */
  query(session: Session, page: Page, values: readonly Value[], known: KnownHead): Promise<readonly Row[]>
  /** Locks the head until the commit; `null` where it has less than the known one. */
  lock(session: Session, known: KnownHead): Promise<Head | null>
  /** Locks the head, whatever is in it, and creates it if it is missing. Without a known one, it is not whole. */
  lockAnyway(session: Session, known: KnownHead | null): Promise<FoundHead>
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
  // The count is not enough: a server that lost changes may have as many again before this process asks it.
  const hasLast = `(${hasLinkSql(revocations)} or ${nowSql} > ${asNumber})`

  const time = (): Value => {
    const now = readClock(clock)
    return now === null ? null : String(now)
  }

  const toLastValues = ({ link, now }: KnownHead): readonly Value[] => [
    link,
    link,
    time(),
    String(now + LINK_TRUSTED_MS),
  ]

  const lock = async (session: Session, known: KnownHead): Promise<FoundHead | null> => {
    const sql = `select ${columns}, ${isMarked} as is_marked, ${hasLast} as has_last
from ${heads} h where h.namespace = ? for update`
    const [row] = await session.read(sql, [time(), ...toLastValues(known), namespace])
    if (row === undefined) return null
    const head = parseHead(row, session)
    const [marked, last] = row.slice(HEAD_COLUMNS).map((cell) => toNumber(cell) === 1)
    const isLonger = marked === true && head.epoch === known.epoch && head.changes >= known.changes
    return { ...head, isMarked: marked === true, isWhole: isLonger && last === true }
  }

  const query: Heads['query'] = (session, { columns: more, from }, values, known) =>
    session.read(
      `select ${columns}, ${more} from ${heads} h left join ${from} on 1 = 1
where h.namespace = ? and h.epoch = ? and h.changes >= ${asNumber} and ${isMarked} and ${hasLast} limit ${MAX_ROWS}`,
      [time(), ...values, namespace, known.epoch, String(known.changes), ...toLastValues(known)],
    )

  return {
    async read(session, page, values, known) {
      const rows = await query(session, page, values, known)
      if (rows[0] === undefined) return null
      return [parseHead(rows[0], session), rows.map((row) => row.slice(HEAD_COLUMNS))]
    },
    query,
    async lock(session, known) {
      const found = await lock(session, known)
      return found?.isWhole === true ? found : null
    },
    async lockAnyway(session, known) {
      // Before anything is written: a privileged user may write to a replica.
      await readState(session, server)
      await session.write(
        `insert into ${heads} (namespace, epoch, link, changes, longest_lifetime) values (?, ?, ?, 0, 0)
on duplicate key update namespace = values(namespace)`,
        [namespace, NO_EPOCH, NO_EPOCH],
      )
      const head = await lock(session, known ?? UNKNOWN)
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

/**
 * A condition of a head: a batch, whose link is passed in twice, is its last one or before it. The subquery depends on the
 * row of the head, so it runs after a wait for the lock of that row.
 */
export function hasLinkSql(revocations: string): string {
  return `(h.link = ? or exists (select 1 from ${revocations} l
  where l.namespace = h.namespace and l.kind = 'link' and l.id = ?))`
}

/** How long a link is kept after the next batch. */
export const LINK_LIFE_MS = 600_000
/** How long a link that was the last one is looked for: less than that, because clocks differ. */
export const LINK_TRUSTED_MS: number = LINK_LIFE_MS / 2

const UNKNOWN: KnownHead = { epoch: '', changes: 0, link: '', now: 0 }
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
