import { addDuration, FOREVER, raiseWatermark, type Revocation } from '../../revocation/revocation.js'
import type { SqliteDatabase } from './database.js'
import type { Tables } from './schema.js'

/** What a watermark is written with. */
export interface WatermarkContext {
  /** Epoch milliseconds. */
  readonly now: number
  readonly longestLifetime: number
  readonly merge: (entry: Revocation) => void
}

/**
 * Writes a watermark in the open transaction, and revokes one by one the sessions that started after it; returns the
 * moment that it was raised to.
 */
export type RevokeBefore = (given: Revocation, context: WatermarkContext) => number

/** The watermarks of a database. */
export function createRevokeBefore(
  database: SqliteDatabase,
  { revocations, sessions }: Tables,
): RevokeBefore {
  // Statements of their own for `all`: one for both would read every session for each user that is revoked.
  const ofAll = prepareStatements(database, sessions, 'true')
  const ofUser = prepareStatements(database, sessions, 'user = ?')
  const readWatermark = database.prepare(`SELECT not_before AS notBefore FROM ${revocations}
    WHERE kind = ? AND id = ?`)

  return (given, writing) => {
    const { now, longestLifetime } = writing
    const { kind, id } = given
    const isUser = kind === 'user'
    const { readNewestStart, readLater, removeLater } = isUser ? ofUser : ofAll
    const concerned = isUser ? [id] : []
    const newest = readNewestStart.get(...concerned) as { readonly startedAt: number | null }
    const notBefore = raiseWatermark(given.notBefore, newest.startedAt ?? 0, now)
    writing.merge({
      ...given,
      notBefore,
      until: Math.max(given.until, addDuration(notBefore, longestLifetime)),
    })
    // An older one may be further ahead.
    const watermark = readWatermark.get(kind, id) as { readonly notBefore: number }
    if ((newest.startedAt ?? 0) <= watermark.notBefore) return notBefore
    const later = readLater.all(...concerned, watermark.notBefore)
    for (const { sid, until } of later as readonly { readonly sid: string; readonly until: number }[]) {
      writing.merge({ kind: 'session', id: sid, notBefore: FOREVER, until })
    }
    removeLater.run(...concerned, watermark.notBefore)
    return notBefore
  }
}

function prepareStatements(database: SqliteDatabase, sessions: string, condition: string) {
  return {
    readNewestStart: database.prepare(
      `SELECT max(started_at) AS startedAt FROM ${sessions} WHERE ${condition}`,
    ),
    readLater: database.prepare(`SELECT sid, until FROM ${sessions} WHERE ${condition} AND started_at > ?`),
    removeLater: database.prepare(`DELETE FROM ${sessions} WHERE ${condition} AND started_at > ?`),
  }
}
