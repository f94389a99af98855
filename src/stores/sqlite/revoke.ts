import { addTime, isWatermark, type Revocation } from '../../revocation/revocation.js'
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

  const settle = (given: Revocation, { now, longestLifetime }: Writing): Revocation => {
    if (isWatermark(given.kind)) {
      const notBefore = Math.max(given.notBefore, now)
      return { ...given, notBefore, until: Math.max(given.until, addTime(notBefore, longestLifetime)) }
    }
    const session = given.kind === 'session' ? readEnd.get(given.id) : undefined
    return session === undefined ? given : { ...given, ...(session as { readonly until: number }) }
  }

  return (batch) =>
    ledger.write((writing) => {
      for (const given of batch) writing.merge(settle(given, writing))
      return { position: toPosition(writing.known()), now: writing.now }
    })
}
