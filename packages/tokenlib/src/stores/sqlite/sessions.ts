import type { SessionClient } from '../../events.js'
import { toTimedId } from '../../tokens/ids.js'
import { FOREVER } from '../../revocation/revocation.js'
import {
  decideRotation,
  type PresentedToken,
  type RotationDecision,
  type RotationPlace,
  type RotationRules,
  type RotationState,
  toPresentation,
  toRotation,
} from '../../revocation/rotation.js'
import {
  assertSessionLimit,
  decideOpening,
  type FoundSession,
  MAX_ENDED_AT_ONCE,
  type NewSession,
  type OpenedSession,
  type SessionStore,
  type StoredSession,
} from '../../revocation/session-store.js'
import type { Clock } from '../../time.js'
import { listLive } from '../store-parts.js'
import type { History, WriteTransaction } from './history.js'
import type { Connection, Tables } from './tables.js'

interface Row extends SessionClient, RotationPlace {
  readonly expiresAt: number
  readonly until: number
  readonly isRevoked: number
}

interface SessionEnd {
  readonly sid: string
  readonly until: number
}

/** The sessions of a database. */
export function createSqliteSessions(
  database: Connection,
  tables: Tables,
  history: History,
  now: Clock,
): Required<SessionStore> {
  const { revocations, sessions } = tables
  const watermark = `SELECT max(not_before) FROM ${revocations}
    WHERE ((kind = 'user' AND id = ?) OR (kind = 'all' AND id = '')) AND not_before < ${FOREVER}`
  const readWatermark = database.prepare(`SELECT (${watermark}) AS watermark`)
  const insert = database.prepare(
    `INSERT INTO ${sessions} (sid, user, generation, started_at, last_used_at, moved_at, expires_at, until, ip,
       user_agent) VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const isRevoked = `EXISTS (
    SELECT 1 FROM ${revocations} WHERE not_before >= started_at AND (
      (kind = 'session' AND id = sid) OR (kind = 'user' AND id = user) OR (kind = 'all' AND id = '')
    )
  )`
  const find = database.prepare(
    `SELECT generation, last_used_at AS lastUsedAt, ${PLACE}, expires_at AS expiresAt, until, ip,
       user_agent AS userAgent, ${isRevoked} AS isRevoked
     FROM ${sessions} WHERE sid = ?`,
  )
  const update = database.prepare(
    `UPDATE ${sessions} SET current_id = ?, previous_id = ?, generation = ?, moved_at = ?, last_used_at = ?,
       ip = coalesce(?, ip), user_agent = coalesce(?, user_agent) WHERE sid = ?`,
  )
  const readOne = database.prepare(
    `SELECT ${COLUMNS}, ${PLACE} FROM ${sessions}
     WHERE sid = ? AND until > ? AND last_used_at >= ? AND NOT ${isRevoked}`,
  )
  const readPage = database.prepare(toPageSql(tables))
  const countLive = database.prepare(
    `SELECT count(*) AS live FROM (${toLiveSql(tables, '1')} ORDER BY started_at DESC, sid DESC LIMIT ?)`,
  )
  const readOldest = database.prepare(`${toLiveSql(tables, 'sid, until')} ORDER BY started_at, sid LIMIT ?`)

  const decide = (
    sid: string,
    token: PresentedToken,
    rules: RotationRules,
    at: number,
  ): readonly [RotationDecision, Row | null] => {
    const row = (find.get(sid) ?? null) as Row | null
    return [decideRotation(row && toState(row), token, rules, at), row]
  }

  const decideAndRevoke = (
    sid: string,
    token: PresentedToken,
    rules: RotationRules,
    transaction: WriteTransaction,
  ): ReturnType<typeof decide> => {
    const [decision, row] = decide(sid, token, rules, transaction.now)
    if (row !== null && decision.outcome === 'reuse') transaction.endSession(sid, row.until)
    return [decision, row]
  }

  const open = (session: NewSession, transaction: WriteTransaction): OpenedSession => {
    const { user, nonce, expiresAt, until, ip, userAgent } = session
    const found = readWatermark.get(user) as { readonly watermark: number | null }
    // Whole milliseconds, as in the id.
    const startedAt = Math.floor(Math.max(transaction.now, (found.watermark ?? 0) + 1))
    const sid = toTimedId(startedAt, nonce)
    insert.run(sid, user, startedAt, startedAt, startedAt, expiresAt, until, ip, userAgent)
    return { sid, startedAt }
  }

  return {
    open: (session) => history.write((transaction) => open(session, transaction)),
    async openLimited(session, limit) {
      assertSessionLimit(limit)
      return history.write((transaction) => {
        const { user } = session
        const of = [user, user, transaction.now, transaction.now - limit.idleMs]
        const { live } = countLive.get(...of, limit.max + MAX_ENDED_AT_ONCE) as { readonly live: number }
        const { action, count } = decideOpening(live, limit)
        if (action === 'refuse') return { outcome: 'full' }
        const oldest = (count === 0 ? [] : readOldest.all(...of, count)) as readonly SessionEnd[]
        for (const { sid, until } of oldest) transaction.endSession(sid, until)
        const ended = oldest.map(({ sid }) => sid)
        if (action === 'end') return { outcome: 'ending', ended }
        return { outcome: 'opened', ...open(session, transaction), ended }
      })
    },
    rotate: (sid, token, options) =>
      history.write((transaction) => {
        const [decision, row] = decideAndRevoke(sid, token, options, transaction)
        if ('place' in decision && decision.place !== null) {
          const { current, previous, generation, movedAt, lastUsedAt } = decision.place
          const { ip, userAgent } = decision.outcome === 'advance' ? options : NO_CLIENT
          update.run(current, previous, generation, movedAt, lastUsedAt, ip, userAgent, sid)
        }
        return toRotation(decision, row, transaction.now)
      }),
    async present(sid, token, rules) {
      const seen = history.read(() => {
        const at = now()
        const presentation = toPresentation(toRotation(...decide(sid, token, rules, at), at))
        return history.readKnown() === null ? null : presentation
      })
      if (seen.outcome !== 'reused') return seen
      // Only a reuse writes, and another process may have been first.
      return history.write((transaction) =>
        toPresentation(toRotation(...decideAndRevoke(sid, token, rules, transaction), transaction.now)),
      )
    },
    list: (user, options) =>
      listLive(options, (from, size, idleMs) => {
        const { startedAt, sid } = from ?? { startedAt: FOREVER, sid: '' }
        const rows = history.read(() => {
          const at = now()
          const read = readPage.all(at, at - idleMs, user, startedAt, sid, user, size) as readonly ListedRow[]
          return history.readKnown() === null ? null : read
        })
        const live = rows.filter(({ isLive }) => isLive === 1).map(toStored)
        return { live, next: rows.length < size ? null : (rows.at(-1) ?? null) }
      }),
    async get(sid, { idleMs }) {
      const { row } = history.read(() => {
        const at = now()
        const found = readOne.get(sid, at, at - idleMs) ?? null
        return history.readKnown() === null ? null : { row: found }
      })
      // Rows of some clients have no prototype.
      return row === null ? null : { ...(row as FoundSession) }
    },
  }
}

const NO_CLIENT: SessionClient = { ip: null, userAgent: null }

const COLUMNS = `sid, user, started_at AS startedAt, last_used_at AS lastUsedAt, expires_at AS expiresAt, generation,
  ip, user_agent AS userAgent`

const PLACE = `current_id AS current, previous_id AS previous, moved_at AS movedAt`

interface ListedRow extends StoredSession {
  readonly isLive: number
}

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

// Field by field: the rows of some clients are slow to copy.
function toState(row: Row): RotationState {
  const { current, previous, generation, movedAt, lastUsedAt, until, isRevoked } = row
  return { current, previous, generation, movedAt, lastUsedAt, until, isRevoked: isRevoked === 1 }
}

function toStored({ isLive: _isLive, ...stored }: ListedRow): StoredSession {
  return stored
}
