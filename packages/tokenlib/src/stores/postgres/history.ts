import { createId, systemRandom } from '../../tokens/ids.js'
import { FOREVER, MAX_SESSION_LEAD_MS } from '../../revocation/revocation.js'
import type { LossReporter } from '../loss-reporter.js'
import type { Clock } from '../../time.js'
import { readClock, retryAfterLoss } from '../store-parts.js'
import { type Database, notifySql, type Value } from './client.js'
import {
  insertSql,
  isKnownHead,
  lateSessionsSql,
  newestStartSql,
  nowSql,
  takeEntriesSql,
} from './statements.js'
import { leadSql, type Tables } from './tables.js'

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
   * Runs a statement about the history, given its values from $4 on.
   *
   * If the store has another history, an unknown number of revocations is lost. Everything that started before now is
   * revoked, unless a replica restores the revocations, and the statement runs again.
   */
  query<Answer extends HistoryAnswer>(statement: string, values: readonly Value[]): Promise<Answer>
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

/** Follows the history of a namespace, and notices when it is lost. */
export function createHistory(
  database: Database,
  statements: HistoryStatements,
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

  // Many calls may find the loss at the same time: one of them recovers, and the others ask again afterwards.
  const recoverOnce = async (lost: string): Promise<void> => {
    if (known?.epoch !== lost) return
    recovering ??= recover(lost).finally(() => (recovering = null))
    await recovering
  }

  const query = async <Answer extends HistoryAnswer>(
    statement: string,
    values: readonly Value[],
  ): Promise<Answer> => {
    if (known === null) throw new Error('The PostgreSQL store is not prepared')
    let head = known
    const ask = async (): Promise<Answer | null> => {
      head = known ?? head
      return database.query<Answer>(statement, [namespace, head.epoch, head.changes, ...values])
    }
    const answer = await retryAfterLoss('PostgreSQL', ask, () => recoverOnce(head.epoch))
    if (answer.isStandby === true) {
      throw new Error('The PostgreSQL server is a standby, which may be behind: connect to the primary')
    }
    const { epoch } = head
    if (known.epoch === epoch && answer.changes > known.changes) known = { epoch, changes: answer.changes }
    return answer
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

/** The statements of a history. */
export type HistoryStatements = Readonly<Record<'enter' | 'extend' | 'recover' | 'lookup', string>>

/** The statements that begin a history and recover from a loss; they follow the rules in statements.ts. */
export function createHistoryStatements(tables: Tables, channel: string): Omit<HistoryStatements, 'lookup'> {
  const { heads, revocations } = tables
  const insert = insertSql(tables)
  const notify = notifySql(channel)
  // The number of the last change of the namespace in $1.
  const lastChange = `coalesce((select r.change from ${revocations} r
    where ${leadSql('change', 'r.namespace')} = ${leadSql('change', '$1::pg_catalog.text')} order by r.change desc limit 1), 0)`

  return {
    // $2: an epoch for a namespace that has none, $3: the longest lifetime.
    enter: `with head as (
  insert into ${heads} as h (namespace, epoch, changes, longest_lifetime)
  values ($1, $2, ${lastChange}, $3::bigint)
  on conflict (namespace) do update set longest_lifetime = greatest(h.longest_lifetime, excluded.longest_lifetime)
  returning epoch, changes, longest_lifetime
), mark as (
  ${insert} select $1, 'epoch', epoch, 0, ${FOREVER}, 0 from head where epoch = $2
)
select pg_catalog.json_build_object('epoch', epoch, 'changes', changes, 'isExtended', exists (
  select from ${revocations} m where m.namespace = $1 and m.kind = 'epoch' and m.id = epoch
    and m.not_before >= longest_lifetime))::pg_catalog.text from head`,

    // Extends existing watermarks to the longest lifetime. This is a separate statement, because the one that raises the
    // lifetime does not see what was written while it waited for the head. A watermark from before the raise is seen
    // here; one from after it was written with the new lifetime. The not_before of the epoch's row stores the lifetime
    // that was applied, so that the next process completes the work if this one ends between the two statements.
    extend: `with goal as materialized (
  select longest_lifetime from ${heads} where namespace = $1
), short as materialized (
  select r.namespace, r.kind, r.id, e.until, pg_catalog.row_number() over (order by r.change) as step
  from goal g, ${revocations} r,
    lateral (select least(${FOREVER}, r.not_before + g.longest_lifetime) as until) e
  where r.namespace = $1 and r.kind in ('user', 'all') and r.until < e.until
), head as (
  update ${heads} h set changes = changes + (select pg_catalog.count(*) from short) where ${isKnownHead(tables, 'h')}
  returning changes
), extended as (
  update ${revocations} r set until = s.until, change = h.changes + 1 - s.step from head h, short s
  where r.namespace = s.namespace and r.kind = s.kind and r.id = s.id and r.until < s.until
), mark as (
  update ${revocations} m set not_before = greatest(m.not_before, g.longest_lifetime) from head, goal g
  where m.namespace = $1 and m.kind = 'epoch' and m.id = $2
)
select pg_catalog.json_build_object('changes', changes${notify})::pg_catalog.text from head`,

    // $2: an epoch for a namespace that has none or still has the lost one, $3: the lost one, $4: a clock,
    // $5: the longest lifetime, $6: 1 where the caller restores what is lost, so that nothing else is revoked. The
    // second caller finds the epoch of the first, and keeps it.
    recover: `with asked as materialized (
  select $1::pg_catalog.text as namespace, ${nowSql('$4')} + ${MAX_SESSION_LEAD_MS} as bound
), late as materialized (
  select s.sid, s.until, pg_catalog.row_number() over () as step
  from asked a, ${lateSessionsSql(tables, `${leadSql('start', 's.namespace')} = ${leadSql('start', 'a.namespace')}`, 'a.bound')}
  where $6::bigint <> 1
), head as (
  insert into ${heads} as h (namespace, epoch, changes, longest_lifetime)
  values ($1, $2, ${lastChange} + 1 + (select pg_catalog.count(*) from late), $5::bigint)
  on conflict (namespace) do update set
    epoch = case when h.epoch = $3 then excluded.epoch else h.epoch end,
    changes = greatest(h.changes + 1 + (select pg_catalog.count(*) from late), excluded.changes),
    longest_lifetime = greatest(h.longest_lifetime, excluded.longest_lifetime)
  returning namespace, epoch, changes, longest_lifetime, ${nowSql('$4')} as now
), moment as materialized (
  select greatest(now, least(now + ${MAX_SESSION_LEAD_MS}, ${newestStartSql(tables, 'namespace')})) as at from head
), mark as (
  ${insert} select $1, 'epoch', epoch, 0, ${FOREVER}, 0 from head on conflict do nothing
), entries as materialized (
  select namespace, 'all' as kind, '' as id, at as not_before, least(${FOREVER}, at + longest_lifetime) as until,
    changes as change
  from head, moment where $6::bigint <> 1
  union all select namespace, 'session', sid, ${FOREVER}, until, changes - step from head, late
), ${takeEntriesSql(tables)}
select pg_catalog.json_build_object('epoch', epoch, 'changes', changes,
  'revokedBefore', case when $6::bigint <> 1 then at end${notify})::pg_catalog.text from head, moment`,
  }
}
