import { toTimedId } from '../../claims/ids.js'
import { FOREVER } from '../../revocation/revocation.js'
import { judgeRotation } from '../../revocation/rotation.js'
import type { Rotation, SessionStore, StoredSession } from '../../revocation/session-store.js'
import type { Clock } from '../../time.js'
import type { SqliteDatabase } from './database.js'
import type { Ledger } from './ledger.js'
import type { Tables } from './schema.js'

const MOST_LISTED = 1000

interface Row {
  readonly generation: number
  readonly lastUsedAt: number
  readonly expiresAt: number
  readonly until: number
  readonly isRevoked: number
}

/** The sessions of a database. */
export function createSessions(
  database: SqliteDatabase,
  { revocations, sessions }: Tables,
  ledger: Ledger,
  now: Clock,
): SessionStore {
  const watermarks = `(kind = 'user' AND id = ?) OR (kind = 'all' AND id = '')`
  const readWatermark = database.prepare(
    `SELECT max(not_before) AS watermark FROM ${revocations} WHERE (${watermarks}) AND not_before < ${FOREVER}`,
  )
  const insert = database.prepare(
    `INSERT INTO ${sessions} (sid, user, generation, started_at, last_used_at, expires_at, until, ip, user_agent)
     VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?)`,
  )
  const isRevoked = `EXISTS (
    SELECT 1 FROM ${revocations} WHERE not_before >= started_at AND (
      (kind = 'session' AND id = sid) OR (kind = 'user' AND id = user) OR (kind = 'all' AND id = '')
    )
  )`
  const find = database.prepare(
    `SELECT generation, last_used_at AS lastUsedAt, expires_at AS expiresAt, until, ${isRevoked} AS isRevoked
     FROM ${sessions} WHERE sid = ?`,
  )
  const update = database.prepare(
    `UPDATE ${sessions} SET generation = ?, last_used_at = ?, ip = coalesce(?, ip),
       user_agent = coalesce(?, user_agent) WHERE sid = ?`,
  )
  const select = database.prepare(
    `SELECT sid, started_at AS startedAt, last_used_at AS lastUsedAt, expires_at AS expiresAt, ip,
       user_agent AS userAgent FROM ${sessions}
     WHERE user = ? AND until > ? AND NOT ${isRevoked} ORDER BY started_at DESC LIMIT ${MOST_LISTED}`,
  )

  return {
    open: ({ user, nonce, expiresAt, until, ip, userAgent }) =>
      ledger.write((writing) => {
        const { watermark } = readWatermark.get(user) as { readonly watermark: number | null }
        const startedAt = Math.max(writing.now, (watermark ?? 0) + 1)
        const sid = toTimedId(startedAt, nonce)
        insert.run(sid, user, startedAt, startedAt, expiresAt, until, ip, userAgent)
        return { sid, startedAt }
      }),
    rotate: (sid, presented, rules) =>
      ledger.write<Rotation>((writing) => {
        const row = (find.get(sid) ?? null) as Row | null
        const state = row && { ...row, isRevoked: row.isRevoked === 1 }
        const verdict = judgeRotation(state, presented, rules, writing.now)
        if (row === null || verdict === 'end') return { outcome: 'ended' }
        const { generation, expiresAt, until } = row
        if (verdict === 'reuse') {
          writing.merge({ kind: 'session', id: sid, notBefore: FOREVER, until })
          return { outcome: 'reused', generation }
        }
        if (verdict === 'replay') return { outcome: 'replayed', generation, expiresAt }
        update.run(presented + 1, writing.now, rules.ip, rules.userAgent, sid)
        return { outcome: 'rotated', generation: presented + 1, expiresAt }
      }),
    async list(user) {
      return ledger.read(() => {
        const rows = select.all(user, now()) as readonly StoredSession[]
        return ledger.check() === null ? undefined : rows.map((row) => ({ ...row }))
      })
    },
  }
}
