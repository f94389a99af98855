import { addDuration, isWatermark, type Revocation } from '../../revocation/revocation.js'
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
  const remove = database.prepare(`DELETE FROM ${sessions} WHERE sid = ? AND started_at <= ?`)

  const revokeSession = (given: Revocation, writing: Writing): void => {
    const { now, longestLifetime } = writing
    const session = (readEnd.get(given.id) ?? null) as { readonly until: number } | null
    writing.merge({
      ...given,
      until: session?.until ?? Math.max(given.until, addDuration(now, longestLifetime)),
    })
    if (session !== null) remove.run(given.id, given.notBefore)
  }

  return (batch) =>
    ledger.write((writing) => {
      let { now } = writing
      for (const given of batch) {
        if (isWatermark(given.kind)) now = Math.max(now, writing.revokeBefore(given))
        else if (given.kind === 'session') revokeSession(given, writing)
        else writing.merge(given)
      }
      return { position: toPosition(writing.known()), now }
    })
}
