import { FOREVER, type Revocation } from '../../revocation/revocation.js'
import type { StoredSession } from '../../revocation/session-store.js'
import { MAX_ENDED_AT_ONCE } from '../../revocation/session-store.js'
import type { Rows, SessionEnd, SessionRow } from '../local-rows.js'
import type { Connection, SqliteStatement, SqliteValue, Tables } from './tables.js'

/** The rows of a database, without the time and the history of a transaction. */
export interface SqliteRows extends Omit<Rows, 'now' | 'longestLifetime' | 'position' | 'merge'> {
  /** Merges an entry as a change of this number; returns whether it raised anything. */
  readonly put: (change: number, entry: Revocation) => boolean
}

/** Prepares the SQL statements for revocations and sessions. */
export function createRows(database: Connection, tables: Tables): SqliteRows {
  const { meta, revocations, sessions } = tables
  const upsert = database.prepare(
    `INSERT INTO ${revocations} (change, kind, id, not_before, until) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (kind, id) DO UPDATE SET
       change = excluded.change,
       not_before = max(not_before, excluded.not_before),
       until = max(until, excluded.until)
     WHERE excluded.not_before > not_before OR excluded.until > until`,
  )
  const find = database.prepare(`SELECT not_before AS found FROM ${revocations} WHERE kind = ? AND id = ?`)
  const touch = database.prepare(`UPDATE ${meta} SET changes = changes WHERE id = 1`)
  const insert = database.prepare(
    `INSERT INTO ${sessions} (sid, user, generation, started_at, last_used_at, moved_at, expires_at, until, ip,
       user_agent, data) VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const findOne = database.prepare(
    `SELECT ${COLUMNS}, current_id AS current, previous_id AS previous, moved_at AS movedAt, until
     FROM ${sessions} WHERE sid = ?`,
  )
  const update = database.prepare(
    `UPDATE ${sessions} SET current_id = ?, previous_id = ?, generation = ?, moved_at = ?, last_used_at = ?,
       ip = coalesce(?, ip), user_agent = coalesce(?, user_agent) WHERE sid = ?`,
  )
  const writeData = database.prepare(`UPDATE ${sessions} SET data = ? WHERE sid = ?`)
  const remove = database.prepare(`DELETE FROM ${sessions} WHERE sid = ? AND started_at <= ?`)
  const readPage = database.prepare(toPageSql(tables))
  const countLive = database.prepare(
    `SELECT count(*) AS found FROM (${toLiveSql(tables, '1')} ORDER BY started_at DESC, sid DESC LIMIT ?)`,
  )
  const readOldest = database.prepare(`${toLiveSql(tables, 'sid, until')} ORDER BY started_at, sid LIMIT ?`)
  // Statements of their own for `all`: one for both would read every session for each user that is revoked.
  const [ofUser, ofAll] = ['user = ?', 'true'].map((condition) => ({
    readNewest: database.prepare(`SELECT max(started_at) AS found FROM ${sessions} WHERE ${condition}`),
    readLate: database.prepare(`SELECT sid, until FROM ${sessions}
      WHERE ${condition} AND started_at > ? AND started_at <= ? LIMIT ${MAX_ENDED_AT_ONCE}`),
  })) as [ForUsers, ForUsers]
  const prepared = (user: string | null): readonly [ForUsers, readonly SqliteValue[]] =>
    user === null ? [ofAll, []] : [ofUser, [user]]

  return {
    put: (change, { kind, id, notBefore, until }) =>
      Number(upsert.run(change, kind, id, notBefore, until).changes) > 0,
    find: (kind, id) => readFound(find.get(kind, id)),
    touch: () => void touch.run(),
    insertSession({ sid, user, startedAt, expiresAt, until, ip, userAgent, data = null }) {
      insert.run(sid, user, startedAt, startedAt, startedAt, expiresAt, until, ip, userAgent, data)
    },
    findSession: (sid) => (findOne.get(sid) ?? null) as SessionRow | null,
    moveSession({ sid }, { current, previous, generation, movedAt, lastUsedAt }, { ip, userAgent }) {
      update.run(current, previous, generation, movedAt, lastUsedAt, ip, userAgent, sid)
    },
    writeData: ({ sid }, data) => void writeData.run(data, sid),
    removeSession: (sid, startedUpTo) => void remove.run(sid, startedUpTo),
    readNewestStart(user) {
      const [{ readNewest }, values] = prepared(user)
      return readFound(readNewest.get(...values)) ?? 0
    },
    readLate({ user, after, upTo }) {
      const [{ readLate }, values] = prepared(user)
      return readLate.all(...values, after, upTo) as readonly SessionEnd[]
    },
    countLive: (user, { now, idleMs }, most) =>
      readFound(countLive.get(user, user, now, now - idleMs, most)) ?? 0,
    readOldest: (user, { now, idleMs }, most) =>
      readOldest.all(user, user, now, now - idleMs, most) as readonly SessionEnd[],
    readPage(user, from, size, { now, idleMs }) {
      const { startedAt, sid } = from ?? { startedAt: FOREVER, sid: '' }
      const values = [now, now - idleMs, user, startedAt, sid, user, size]
      const rows = readPage.all(...values) as readonly (StoredSession & { readonly isLive: number })[]
      const live = rows.filter(({ isLive }) => isLive === 1).map(({ isLive: _isLive, ...stored }) => stored)
      return { live, next: rows.length < size ? null : (rows.at(-1) ?? null) }
    },
  }
}

type ForUsers = Readonly<Record<'readNewest' | 'readLate', SqliteStatement>>

const COLUMNS = `sid, user, started_at AS startedAt, last_used_at AS lastUsedAt, expires_at AS expiresAt, generation,
  ip, user_agent AS userAgent, data`

/** The statement of a page: it reads the index of a user's sessions from one place to another, and no other row. */
export function toPageSql(tables: Tables): string {
  return `SELECT ${COLUMNS}, ${toLiveCondition(tables)} AS isLive FROM (
    SELECT * FROM ${tables.sessions} WHERE user = ? AND (started_at, sid) < (?, ?) AND ${toUnrevokedCondition(tables)}
    ORDER BY started_at DESC, sid DESC LIMIT ?)`
}

// The live sessions of a user: twice the user, the time, and the time before which unused ones have ended.
function toLiveSql(tables: Tables, columns: string): string {
  return `SELECT ${columns} FROM ${tables.sessions}
    WHERE user = ? AND ${toUnrevokedCondition(tables)} AND ${toLiveCondition(tables)}`
}

// Everything that is not after the watermark is revoked, so the rest of the index is not read.
function toUnrevokedCondition({ revocations }: Tables): string {
  return `started_at > (SELECT coalesce(max(not_before), 0) FROM ${revocations}
    WHERE (kind = 'user' AND id = ?) OR (kind = 'all' AND id = ''))`
}

function toLiveCondition({ revocations }: Tables): string {
  return `(until > ? AND last_used_at >= ? AND NOT EXISTS (SELECT 1 FROM ${revocations}
    WHERE kind = 'session' AND id = sid AND not_before >= started_at))`
}

// The column `found` of a row, if there is one. Without a row, some clients return `null`, and others `undefined`.
function readFound(row: unknown): number | undefined {
  return (row as { readonly found: number | null } | null | undefined)?.found ?? undefined
}
