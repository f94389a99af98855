import { createId, systemRandom } from '../../tokens/ids.js'
import type { LossReporter } from '../../revocation/store-rules.js'
import type { Clock } from '../../time.js'
import type { Database, Value } from './client.js'
import type { RevocationStatements } from './statements.js'

/** What every answer about a history says of it. */
export interface HistoryAnswer {
  /** How many changes the history has. */
  readonly changes: number
  readonly isStandby?: boolean
}

/** The history of a namespace, as far as this process knows it. */
export interface History {
  /** Finds the history, or begins it. */
  enter(longestLifetime: number): Promise<void>
  /**
   * Asks a statement about the history, given the values from $4 on, and tells the epoch that the answer is of.
   *
   * Where the history is not the one that this process knew, revocations are lost, nobody can say which, and the
   * tokens they were about would be good again: everything that began before now is revoked, unless a replica restores
   * them, and then it asks again.
   */
  query<Answer extends HistoryAnswer>(
    statement: string,
    values: readonly Value[],
  ): Promise<Answer & { readonly epoch: string }>
}

/** How a history is kept. */
export interface HistoryOptions {
  readonly namespace: string
  readonly clock: Clock | undefined
  readonly losses: LossReporter
}

interface Head {
  readonly epoch: string
  readonly changes: number
}

interface RecoverAnswer extends Head {
  /** `null` where nothing was revoked. */
  readonly revokedBefore: number | null
}

interface EnterAnswer extends Head {
  /** Whether the watermarks that are there are known to last for the longest lifetime. */
  readonly isExtended: boolean
}

const ATTEMPTS = 3

/** Follows the history of a namespace, and notices when it is lost. */
export function createHistory(
  database: Database,
  statements: RevocationStatements,
  { namespace, clock, losses }: HistoryOptions,
): History {
  let known: Head | null = null
  let longest = 0
  let recovering: Promise<void> | null = null

  const recover = async (lost: string): Promise<void> => {
    const isRestored = losses.canRestore() ? 1 : 0
    const values = [namespace, createId(systemRandom), lost, readClock(clock), longest, isRestored]
    const answer = await database.query<RecoverAnswer>(statements.recover, values)
    if (answer === null) throw new Error('The PostgreSQL server gave no answer')
    const { revokedBefore, ...head } = answer
    // What is left may have been written for shorter lives. Where this fails, the next call finds the loss again.
    await database.query(statements.extend, [namespace, head.epoch, head.changes])
    known = head
    losses.reportHistory()
    if (revokedBefore !== null) losses.report(revokedBefore)
  }

  // Many calls find out at once; one of them sees to it, and those that were asked before it ask again.
  const recoverOnce = async (lost: string): Promise<void> => {
    if (known?.epoch !== lost) return
    recovering ??= recover(lost).finally(() => (recovering = null))
    await recovering
  }

  const query = async <Answer extends HistoryAnswer>(
    statement: string,
    values: readonly Value[],
  ): Promise<Answer & { readonly epoch: string }> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (known === null) throw new Error('The PostgreSQL store is not prepared')
      const { epoch, changes } = known
      const answer = await database.query<Answer>(statement, [namespace, epoch, changes, ...values])
      if (answer === null) {
        await recoverOnce(epoch)
        continue
      }
      if (answer.isStandby === true) {
        throw new Error('The PostgreSQL server is a standby, which may be behind: connect to the primary')
      }
      if (known.epoch === epoch && answer.changes > known.changes) known = { epoch, changes: answer.changes }
      return { ...answer, epoch }
    }
    throw new Error('The tables of the PostgreSQL store lose their data again and again')
  }

  return {
    async enter(longestLifetime) {
      longest = Math.max(longest, longestLifetime)
      const values = [namespace, createId(systemRandom), longest]
      const head = await database.query<EnterAnswer>(statements.enter, values)
      known ??= head
      if (head?.isExtended !== true) await query(statements.extend, [])
      await query(statements.lookup, ['[]'])
    },
    query,
  }
}

/** The time of a clock that was passed in; `null` leaves it to the server's. */
export function readClock(clock: Clock | undefined): number | null {
  return clock === undefined ? null : toMilliseconds(clock())
}

/** Whole milliseconds, as the columns need them; upwards, since a revocation may last longer, but not shorter. */
export function toMilliseconds(time: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(time))
}
