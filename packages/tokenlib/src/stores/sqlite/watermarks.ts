import {
  addDuration,
  FOREVER,
  raiseWatermark,
  type Revocation,
  toFirstStart,
} from '../../revocation/revocation.js'
import { MAX_ENDED_AT_ONCE } from '../../revocation/store-rules.js'
import type { Connection, SqliteValue } from './connection.js'
import type { Tables } from './schema.js'

/** What watermarks need of an open transaction. */
export interface WatermarkContext {
  readonly now: number
  readonly longestLifetime: number
  readonly merge: (entry: Revocation) => void
}

/** Sessions of a user, or of all, that started after a moment and up to another: a clock was far ahead. */
export interface LateSessions {
  /** `null` for those of all users. */
  readonly user: string | null
  readonly after: number
  readonly upTo: number
}

/** Writes watermarks in an open transaction, and revokes one by one what started even later. */
export interface Watermarks {
  raise(
    revocation: Revocation,
    context: WatermarkContext,
  ): LateSessions & {
    /** The moment that it was raised to. */
    readonly notBefore: number
  }
  /** Revokes a few; returns whether there are more. */
  revokeSome(late: LateSessions, context: WatermarkContext): boolean
}

/** The watermarks of a database. */
export function createWatermarks(database: Connection, { revocations, sessions }: Tables): Watermarks {
  // Statements of their own for `all`: one for both would read every session for each user that is revoked.
  const ofAll = prepareStatements(database, sessions, 'true')
  const ofUser = prepareStatements(database, sessions, 'user = ?')
  const readWatermark = database.prepare(`SELECT not_before AS notBefore FROM ${revocations}
    WHERE kind = ? AND id = ?`)
  const remove = database.prepare(`DELETE FROM ${sessions} WHERE sid = ?`)
  const choose = (user: string | null): readonly [typeof ofAll, SqliteValue[]] =>
    user === null ? [ofAll, []] : [ofUser, [user]]

  const revokeSome: Watermarks['revokeSome'] = ({ user, after, upTo }, { merge }) => {
    if (upTo <= after) return false
    const [{ readLate }, concerned] = choose(user)
    const late = readLate.all(...concerned, after, upTo) as readonly SessionEnd[]
    for (const { sid, until } of late) {
      merge({ kind: 'session', id: sid, notBefore: FOREVER, until })
      remove.run(sid)
    }
    return late.length === MAX_ENDED_AT_ONCE
  }

  return {
    raise(revocation, context) {
      const { kind, id } = revocation
      const { now, longestLifetime, merge } = context
      const user = kind === 'user' ? id : null
      const [{ readNewestStart }, concerned] = choose(user)
      const found = readNewestStart.get(...concerned) as { readonly startedAt: number | null }
      const newest = found.startedAt ?? 0
      const notBefore = raiseWatermark(revocation.notBefore, newest, now)
      const until = Math.max(revocation.until, addDuration(notBefore, longestLifetime))
      merge({ ...revocation, notBefore, until })
      // An older one may be further ahead.
      const { notBefore: watermark } = readWatermark.get(kind, id) as { readonly notBefore: number }
      const first = toFirstStart(watermark)
      // In this transaction: what is opened after it starts at this moment too.
      const atOnce = { user, after: watermark, upTo: Math.min(first, newest) }
      while (revokeSome(atOnce, context)) continue
      return { user, after: first, upTo: newest, notBefore }
    },
    revokeSome,
  }
}

interface SessionEnd {
  readonly sid: string
  readonly until: number
}

function prepareStatements(database: Connection, sessions: string, condition: string) {
  return {
    readNewestStart: database.prepare(
      `SELECT max(started_at) AS startedAt FROM ${sessions} WHERE ${condition}`,
    ),
    readLate: database.prepare(`SELECT sid, until FROM ${sessions}
      WHERE ${condition} AND started_at > ? AND started_at <= ? LIMIT ${MAX_ENDED_AT_ONCE}`),
  }
}
