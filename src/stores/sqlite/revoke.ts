import {
  addTime,
  isWatermark,
  MOST_AHEAD,
  MOST_SET_BACK,
  type Revocation,
} from '../../revocation/revocation.js'
import type { Revoked } from '../../revocation/store.js'
import type { SqliteDatabase } from './database.js'
import { toPosition } from './feed.js'
import type { Ledger, Writing } from './ledger.js'
import type { Tables } from './schema.js'

/** Writes batches of revocations, completed by what only the store knows. */
export function createRevoke(
  database: SqliteDatabase,
  { sessions }: Tables,
  ledger: Ledger,
): (batch: readonly Revocation[]) => Promise<Revoked> {
  const readEnd = database.prepare(`SELECT until FROM ${sessions} WHERE sid = ?`)
  const readNewestStart = database.prepare(`SELECT max(started_at) AS startedAt FROM ${sessions}`)
  // Two statements: one for both would read every session for each user that is revoked.
  const readNewestStartOf = database.prepare(
    `SELECT max(started_at) AS startedAt FROM ${sessions} WHERE user = ?`,
  )

  const newestStart = ({ kind, id }: Revocation): number => {
    const row = kind === 'all' ? readNewestStart.get() : readNewestStartOf.get(id)
    return (row as { readonly startedAt: number | null }).startedAt ?? 0
  }

  const settle = (given: Revocation, { now, longestLifetime }: Writing): Revocation => {
    if (isWatermark(given.kind)) {
      const notBefore = Math.max(
        now,
        Math.min(given.notBefore, now + MOST_AHEAD),
        Math.min(newestStart(given), now + MOST_SET_BACK),
      )
      return { ...given, notBefore, until: Math.max(given.until, addTime(notBefore, longestLifetime)) }
    }
    if (given.kind !== 'session') return given
    const session = readEnd.get(given.id) as { readonly until: number } | undefined
    const until = session?.until ?? Math.max(given.until, addTime(now, longestLifetime))
    return { ...given, until }
  }

  return (batch) =>
    ledger.write((writing) => {
      let { now } = writing
      for (const given of batch) {
        const entry = settle(given, writing)
        writing.merge(entry)
        if (isWatermark(entry.kind)) now = Math.max(now, entry.notBefore)
      }
      return { position: toPosition(writing.known()), now }
    })
}
