import { FOREVER } from '../../revocation/revocation.js'
import { nextTurn } from '../../runtime.js'
import type { Clock } from '../../time.js'
import type { History } from './history.js'
import type { Connection, SqliteStatement, Tables } from './tables.js'

/** How many rows of each table one transaction drops, at most. */
export const PRUNE_BATCH = 1000

// Rows are kept for this long after they have ended: a clock may be set back.
const PRUNE_MARGIN_MS = 60_000

/** The clocks that decide which rows have ended. */
export interface PruneClocks {
  readonly pruneClock: Clock
  /** The time that the database trusts after a write at a moment; called in a transaction. */
  readonly trust: (at: number) => number
}

/** Drops rows that have ended by now, and by the moment `by`: at most `limit` per table. Returns their number. */
export type Prune = (limit: number, by?: number) => Promise<number>

/** The pruning of a database. */
export function createPrune(
  database: Connection,
  { revocations, sessions, spent }: Tables,
  history: History,
  { pruneClock, trust }: PruneClocks,
): Prune {
  const prepare = (table: string): SqliteStatement =>
    database.prepare(
      `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE until <= ? LIMIT ?)`,
    )
  const statements = [revocations, sessions].map(prepare)
  const dropSpent = prepare(spent)

  // How many rows of each table went.
  const drop = (limit: number, by: number, now: number): readonly number[] => {
    const at = Math.floor(Math.min(by, pruneClock()))
    const endedAt = Math.min(at, trust(at)) - PRUNE_MARGIN_MS
    const dropped = statements.map((statement) => Number(statement.run(endedAt, limit).changes))
    // An id that has expired by the clock of a write may be spent again, so nothing is lost with its row.
    return [...dropped, Number(dropSpent.run(Math.min(by, now), limit).changes)]
  }

  return async (limit, by = FOREVER) => {
    let sum = 0
    for (let left = limit; left > 0; left -= PRUNE_BATCH) {
      if (left < limit) await nextTurn()
      const size = Math.min(left, PRUNE_BATCH)
      const dropped = await history.write(({ now }) => drop(size, by, now))
      for (const count of dropped) sum += count
      if (dropped.every((count) => count < size)) break
    }
    return sum
  }
}

/** The time that a database trusts for dropping what has ended; epoch milliseconds. */
export interface Trust {
  readonly trusted: number
  /** The writes since `from`, up to `to`, show a later time; it is not trusted yet. */
  readonly claim: { readonly from: number; readonly to: number } | null
}

/** The trust of a database that nobody has written to. */
export const NO_TRUST: Trust = { trusted: 0, claim: null }

/** A clock may be ahead of the trusted time by this much and is believed, in milliseconds. */
export const TRUSTED_STEP_MS = 3_600_000

/** A later time is trusted when it was claimed for this long, in milliseconds: less than a day, for daily jobs. */
export const CLAIM_AGE_MS = 72_000_000

/**
 * What is trusted after a write at a moment.
 *
 * A process whose clock is far ahead when it starts cannot know that, and would drop revocations whose tokens live on.
 * So a large step is only a claim. Every write near the trusted time refutes it, and every earlier claim replaces it.
 * It is trusted once writes without a gap have shown it for long enough; or, where writes are rare, once the next one
 * comes that much later: then the claim is trusted, and the new time becomes the claim.
 */
export function moveTrust({ trusted, claim }: Trust, at: number): Trust {
  if (at < trusted) return { trusted, claim }
  if (at <= trusted + TRUSTED_STEP_MS) return { trusted: at, claim: null }
  if (claim === null || at < claim.from || at < claim.to - TRUSTED_STEP_MS) {
    return { trusted, claim: { from: at, to: at } }
  }
  if (at <= claim.to + TRUSTED_STEP_MS) {
    const to = Math.max(claim.to, at)
    return to - claim.from >= CLAIM_AGE_MS
      ? { trusted: to, claim: null }
      : { trusted, claim: { ...claim, to } }
  }
  // A gap: either nobody has written for a while, or this clock is wrong.
  return at < claim.to + CLAIM_AGE_MS
    ? { trusted, claim }
    : { trusted: claim.to, claim: { from: at, to: at } }
}

interface Row {
  readonly trusted: number
  readonly claimedFrom: number | null
  readonly claimedTo: number | null
}

/** Returns the trusted time after a write; `mayJump` is for a clock that can be set while this process runs. */
export function createTrustedTime(
  database: Connection,
  { clock }: Pick<Tables, 'clock'>,
  mayJump: boolean,
): (at: number) => number {
  const read = database.prepare(
    `SELECT trusted, claimed_from AS claimedFrom, claimed_to AS claimedTo FROM ${clock} WHERE id = 1`,
  )
  const save = database.prepare(
    `REPLACE INTO ${clock} (id, trusted, claimed_from, claimed_to) VALUES (1, ?, ?, ?)`,
  )
  // A clock that does not jump, and agreed with the others once, is right for as long as this process runs.
  let hasAgreed = false

  return (at) => {
    const before = toTrust((read.get() ?? null) as Row | null)
    const after = hasAgreed && at > before.trusted ? { trusted: at, claim: null } : moveTrust(before, at)
    hasAgreed ||= !mayJump && Math.abs(at - after.trusted) <= TRUSTED_STEP_MS
    save.run(after.trusted, after.claim?.from ?? null, after.claim?.to ?? null)
    return after.trusted
  }
}

function toTrust(row: Row | null): Trust {
  if (row === null) return NO_TRUST
  const { trusted, claimedFrom, claimedTo } = row
  const isClaimed = claimedFrom !== null && claimedTo !== null
  return { trusted, claim: isClaimed ? { from: claimedFrom, to: claimedTo } : null }
}
