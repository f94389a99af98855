import { FOREVER, type Revocation, type RevocationKey } from '../../revocation/revocation.js'
import { type Session, toNumber, toText, type Value } from './client.js'
import { toMilliseconds } from '../store-parts.js'
import { LINK_LIFE_MS } from './head.js'
import { asNumber, inParts, repeat } from './statements.js'
import type { Tables } from './tables.js'

/** Reads and writes the revocations of a namespace, in a transaction that holds its head. */
export interface Entries {
  /**
   * Merges entries with what is there, numbered from `changes + 1` on, and removes the sessions among them. Returns how many
   * sessions there were.
   */
  put(session: Session, given: readonly Entry[], changes: number, batch: Batch): Promise<number>
  /** Notes the epoch of the history among its revocations, so that it is gone if somebody empties them. */
  mark(session: Session, epoch: string): Promise<void>
  has(session: Session, key: RevocationKey): Promise<boolean>
  readLastChange(session: Session): Promise<number>
  /** The watermarks that end before a lifetime from their moment is over, with their new end. */
  readShort(session: Session, longestLifetime: number): Promise<readonly Revocation[]>
  /** The newest start of the sessions of a user, or of all for `null`; 0 without any. */
  readNewestStart(session: Session, user: string | null): Promise<number>
  /** Entries for the sessions of a user (`null`: of all users) that started after a moment. */
  readLate(session: Session, user: string | null, moment: number): Promise<readonly Revocation[]>
}

/** An entry that is written. */
export interface Entry extends Revocation {
  /** Whether the `until` of the session counts instead, if the session is there. It never changes, so no lock is needed. */
  readonly isAsStored?: boolean
}

/** Where a batch of entries stands in the history. */
export interface Batch {
  /** The link of the last batch, which is kept for those who know no later one. */
  readonly replaced: string
  readonly now: number
}

/** The entries of a namespace. */
export function createEntries({ revocations, sessions }: Tables, namespace: string): Entries {
  const insert = (rows: readonly unknown[]): string =>
    `insert into ${revocations} (namespace, kind, id, not_before, ends_at, change_number)
values ${repeat(
      `(?, ?, ?, ${asNumber}, coalesce((select s.ends_at from ${sessions} s where s.namespace = ? and s.sid = ?), ${asNumber}), ${asNumber})`,
      rows,
    )}
on duplicate key update
  change_number = if(values(not_before) > not_before or values(ends_at) > ends_at, values(change_number), change_number),
  not_before = greatest(not_before, values(not_before)),
  ends_at = greatest(ends_at, values(ends_at))`

  const write = async (session: Session, rows: readonly (readonly Value[])[]): Promise<void> => {
    for (const part of inParts(rows)) await session.write(insert(part), part.flat())
  }

  const toRow = (
    kind: string,
    { id, notBefore, until, isAsStored = false }: Omit<Entry, 'kind'>,
    change: number,
  ): readonly Value[] => {
    const sid = isAsStored ? id : null
    const [from, to] = [toMilliseconds(notBefore), toMilliseconds(until)]
    return [namespace, kind, id, String(from), namespace, sid, String(to), String(change)]
  }

  return {
    async put(session, given, changes, { replaced, now }) {
      const rows = given.map((entry, at) => toRow(entry.kind, entry, changes + at + 1))
      rows.push(toRow('link', { id: replaced, notBefore: changes, until: now + LINK_LIFE_MS }, 0))
      await write(session, rows)
      const sids = given.filter(({ kind }) => kind === 'session').map(({ id }) => id)
      let removed = 0
      for (const part of inParts(sids)) {
        removed += await session.write(
          `delete from ${sessions} where namespace = ? and sid in (${repeat('?', part)})`,
          [namespace, ...part],
        )
      }
      return removed
    },
    mark: (session, epoch) =>
      write(session, [toRow('epoch', { id: epoch, notBefore: 0, until: FOREVER }, 0)]),
    async has(session, { kind, id }) {
      const rows = await session.read(
        `select 1 from ${revocations} where namespace = ? and kind = ? and id = ?`,
        [namespace, kind, id],
      )
      return rows.length > 0
    },
    async readLastChange(session) {
      const [row] = await session.read(
        `select change_number from ${revocations} force index (by_change) where namespace = ?
order by change_number desc limit 1`,
        [namespace],
      )
      return row === undefined ? 0 : toNumber(row[0])
    },
    async readShort(session, longestLifetime) {
      const until = `least(${FOREVER}, not_before + ${asNumber})`
      const life = String(longestLifetime)
      const rows = await session.read(
        `select kind, id, not_before, ${until} from ${revocations} force index (primary)
where namespace = ? and kind in ('user', 'all') and ends_at < ${until} order by change_number limit ${FOREVER}`,
        [life, namespace, life],
      )
      return rows.map(([kind, id, notBefore, end]) => ({
        kind: toText(kind) as 'user' | 'all',
        id: toText(id),
        notBefore: toNumber(notBefore),
        until: toNumber(end),
      }))
    },
    async readNewestStart(session, user) {
      const [index, condition, values] = ofUser(user)
      const [row] = await session.read(
        `select started_at from ${sessions} force index (${index}) where namespace = ?${condition}
order by started_at desc limit 1`,
        [namespace, ...values],
      )
      return row === undefined ? 0 : toNumber(row[0])
    },
    async readLate(session, user, moment) {
      const [index, condition, values] = ofUser(user)
      const rows = await session.read(
        `select sid, ends_at from ${sessions} force index (${index})
where namespace = ?${condition} and started_at > ${asNumber} limit ${FOREVER}`,
        [namespace, ...values, String(moment)],
      )
      return rows.map(([sid, until]) => ({
        kind: 'session' as const,
        id: toText(sid),
        notBefore: FOREVER,
        until: toNumber(until),
      }))
    },
  }
}

function ofUser(user: string | null): readonly [index: string, condition: string, values: readonly Value[]] {
  return user === null ? ['by_start', '', []] : ['by_user', ' and user_id = ?', [user]]
}
