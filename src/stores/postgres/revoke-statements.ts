import { FOREVER, MAX_WATERMARK_LEAD_MS, MAX_SESSION_LEAD_MS } from '../../revocation/revocation.js'
import { insertSql, isKnownHead, nowSql, TIMELINE } from './fragments.js'
import { leadSql, type Tables } from './tables.js'

/** The statements that write revocations; the rules of `fragments.ts` are theirs too. */
export interface RevokeStatements {
  readonly heal: string
  readonly revoke: string
  readonly revokeBefore: string
}

/** The number of the last change of the namespace in $1. */
export function lastChangeSql({ revocations }: Tables): string {
  return `coalesce((select r.change from ${revocations} r
    where ${leadSql('change', 'r.namespace')} = ${leadSql('change', '$1::text')} order by r.change desc limit 1), 0)`
}

/** Writes the statements for a store's tables. */
export function createRevokeStatements(tables: Tables): RevokeStatements {
  const { heads, sessions } = tables
  const insert = insertSql(tables)
  const merge = `on conflict (namespace, kind, id) do update set
    not_before = greatest(r.not_before, excluded.not_before),
    until = greatest(r.until, excluded.until), change = excluded.change
    where r.not_before < excluded.not_before or r.until < excluded.until`
  const newestStart = (namespace: string): string =>
    `coalesce((select s.started_at from ${sessions} s
      where ${leadSql('start', 's.namespace')} = ${leadSql('start', namespace)} order by s.started_at desc limit 1), 0)`
  const newestStartOf = (user: string, namespace: string): string =>
    `coalesce((select s.started_at from ${sessions} s
      where ${leadSql('user', 's.namespace')} = ${leadSql('user', namespace)} and s.user_id = ${user}
      order by s.started_at desc limit 1), 0)`
  // Sessions that started later than a watermark reaches, because the clock was ahead. "offset 0" keeps it apart: it
  // is asked for each row on its left, and not at all where there is none.
  const lateSessions = (condition: string, bound: string): string =>
    `lateral (select s.sid, s.until from ${sessions} s where ${condition} and s.started_at > ${bound} offset 0) s`
  const takeEntries = `taken as (
  ${insert} select namespace, kind, id, not_before, until, change from entries ${merge}
), removed as (
  delete from ${sessions} s using entries e
  where e.kind = 'session' and s.namespace = e.namespace and s.sid = e.id
  returning 1
)`
  const batch = `json_to_recordset($5::text::json)`
  const untilOf = (entry: string): string =>
    `case when ${entry}.kind = 'session' then coalesce(
        (select s.until from ${sessions} s where s.namespace = $1 and s.sid = ${entry}.id),
        greatest(${entry}.until, least(${FOREVER}, now + longest_lifetime)))
      else ${entry}.until end`

  return {
    // $2: an epoch for a namespace that has none or still has the lost one, $3: the lost one, $4: a clock,
    // $5: the longest lifetime. Whoever comes second finds the epoch of the first, and keeps it.
    heal: `with asked as materialized (
  select $1::text as namespace, ${nowSql('$4')} + ${MAX_SESSION_LEAD_MS} as bound
), late as materialized (
  select s.sid, s.until, row_number() over () as step
  from asked a, ${lateSessions(`${leadSql('start', 's.namespace')} = ${leadSql('start', 'a.namespace')}`, 'a.bound')}
), head as (
  insert into ${heads} as h (namespace, epoch, changes, longest_lifetime)
  values ($1, $2, ${lastChangeSql(tables)} + 1 + (select count(*) from late), $5::bigint)
  on conflict (namespace) do update set
    epoch = case when h.epoch = $3 then excluded.epoch else h.epoch end,
    changes = greatest(h.changes + 1 + (select count(*) from late), excluded.changes),
    longest_lifetime = greatest(h.longest_lifetime, excluded.longest_lifetime)
  returning namespace, epoch, changes, longest_lifetime, ${nowSql('$4')} as now
), moment as materialized (
  select greatest(now, least(now + ${MAX_SESSION_LEAD_MS}, ${newestStart('namespace')})) as at from head
), mark as (
  ${insert} select $1, 'epoch', epoch, 0, ${FOREVER}, 0 from head on conflict do nothing
), entries as materialized (
  select namespace, 'all' as kind, '' as id, at as not_before, least(${FOREVER}, at + longest_lifetime) as until,
    changes as change
  from head, moment
  union all select namespace, 'session', sid, ${FOREVER}, until, changes - step from head, late
), ${takeEntries}
select json_build_object('epoch', epoch, 'changes', changes, 'revokedBefore', at)::text from head, moment`,

    // $4: a clock, $5: the batch, each key once and without watermarks, $6: how many. The lock of the head's row is held
    // until the commit, so the order of changes is the order of commits, and a reader of the feed never meets a gap that
    // is filled later. Everything else is locked after it, so writers wait for each other here, and never in a circle.
    // A session is read as it was before the wait, which is no harm: its until never changes.
    revoke: `with head as (
  update ${heads} h set changes = changes + $6::bigint where ${isKnownHead(tables, 'h')}
  returning namespace, changes, longest_lifetime, ${nowSql('$4')} as now
), entries as materialized (
  select namespace, g.kind, g.id, g.not_before, changes - g.at as change, ${untilOf('g')} as until
  from head, ${batch} as g(${BATCH_COLUMNS})
), ${takeEntries}
select json_build_object('changes', changes, 'timeline', ${TIMELINE}, 'now', now,
  'removed', (select count(*) from removed))::text from head`,

    // The same for a batch with watermarks. The time is read when the lock is held: a watermark covers every session
    // that was opened before. What started later than it reaches becomes entries of its own; the bound for that is from
    // before the wait, so it is no later than that of the watermark.
    revokeBefore: `with asked as materialized (
  select h.namespace, ${nowSql('$4')} + ${MAX_SESSION_LEAD_MS} as bound from ${heads} h where h.namespace = $1
), given as materialized (
  select a.namespace, a.bound, g.*, case g.kind
    when 'user' then ${newestStartOf('g.id', 'a.namespace')}
    when 'all' then ${newestStart('a.namespace')} end as newest
  from asked a, ${batch} as g(${BATCH_COLUMNS})
), late as materialized (
  select l.sid, l.until, row_number() over () as step from (
    select s.sid, s.until from given g, ${lateSessions(`${leadSql('user', 's.namespace')} = ${leadSql('user', 'g.namespace')} and s.user_id = g.id`, 'g.bound')}
    where g.kind = 'user' and g.newest > g.bound
    union
    select s.sid, s.until from given g, ${lateSessions(`${leadSql('start', 's.namespace')} = ${leadSql('start', 'g.namespace')}`, 'g.bound')}
    where g.kind = 'all' and g.newest > g.bound
  ) l where not exists (select from given g where g.kind = 'session' and g.id = l.sid)
), head as (
  update ${heads} h set changes = changes + $6::bigint + (select count(*) from late)
  where ${isKnownHead(tables, 'h')}
  returning changes, longest_lifetime, ${nowSql('$4')} as now
), raised as materialized (
  select g.*, g.newest is not null as is_watermark,
    case when g.newest is null then g.not_before
      else greatest(least(g.not_before, h.now + ${MAX_WATERMARK_LEAD_MS}), h.now, least(h.now + ${MAX_SESSION_LEAD_MS}, g.newest))
      end as moment,
    h.now, h.changes, h.longest_lifetime
  from head h, given g
), entries as materialized (
  select namespace, kind, id, moment as not_before, changes - at as change,
    case when is_watermark then greatest(until, least(${FOREVER}, moment + longest_lifetime))
      else ${untilOf('r')} end as until
  from raised r
  union all select $1, 'session', sid, ${FOREVER}, changes - $6::bigint + 1 - step, until from head, late
), ${takeEntries}
select json_build_object('changes', changes, 'timeline', ${TIMELINE},
  'now', greatest(now, (select max(moment) from raised where is_watermark)),
  'removed', (select count(*) from removed))::text from head`,
  }
}

const BATCH_COLUMNS = 'at bigint, kind text, id text, not_before bigint, until bigint'
