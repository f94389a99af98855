import { FOREVER, MAX_WATERMARK_LEAD_MS, MAX_SESSION_LEAD_MS } from '../../revocation/revocation.js'
import { notifySql } from './notify.js'
import { leadSql, type Tables } from './tables.js'
import { nowSql, TIMELINE, unlessStandby } from './server-sql.js'

// Every statement runs on its own, under READ COMMITTED, and answers with one text of JSON.
//
// $1 is the namespace everywhere. A statement about a history has its epoch in $2, and in $3 the count of changes
// that this process has seen of it; it finds no head, does nothing and answers nothing when the history is another
// one or has become shorter, or when the revocations were emptied, which take the row of the epoch with them.
// On a standby it fails, or says so: what is missing there may only be late.
//
// Every table, function and type is named with its schema, because whoever used the connection before may have left a
// search_path or temporary tables behind; `bigint`, `integer` and `numeric` are keywords. Operators have operands of
// exactly the types of one in pg_catalog, so that none of another schema fits better.
//
// No plan may walk through a namespace, whatever the statistics say. The rules:
// - A condition on `namespace` goes with all columns of the primary key, or in a subquery of its own with a prefix of
//   them that is meant. In a join, the namespace comes from the other side: the planner may not begin with it.
// - Every other index is named by `leadSql`. The last row is read by `order by … limit 1`, and a page by comparing
//   rows with values that the planner cannot see, so that it expects more rows than the page has: otherwise it might
//   sort all of them for every page.

/** The statements of everything but sessions. */
export type RevocationStatements = RevokeStatements &
  Readonly<Record<'enter' | 'extend' | 'lookup' | 'feed' | 'prune', string>>

/** How many entries a page of the feed has. */
export const PAGE_SIZE = 1000

/** Writes the statements for a store's tables; those that append to the history announce it on a channel. */
export function createRevocationStatements(tables: Tables, channel: string): RevocationStatements {
  const { heads, revocations, sessions } = tables
  const insert = insertSql(tables)
  const lastChange = lastChangeSql(tables)
  const notify = notifySql(channel)

  return {
    ...createRevokeStatements(tables, notify),

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

    // Makes the watermarks that are there last for the longest lifetime. A statement of its own after the one that
    // raised it, because that one does not see what was written while it waited for the head: every watermark is
    // either from before the raise, which this one began after, so that it is seen here; or its writer had the head
    // after the raise, and went by the new lifetime. The row of the epoch keeps, as its not_before, the lifetime
    // that this was done for, so that a process that ends between the two leaves the rest to the next one.
    // Only the lifetime that was seen here counts for that: whoever raises it meanwhile comes here too.
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

    // $4: the keys, as pairs. One look at the index for each, whatever the planner believes of the table.
    lookup: unlessStandby(`select pg_catalog.json_build_object('changes', h.changes, 'found', (
  select pg_catalog.json_agg((select r.not_before from ${revocations} r
    where r.namespace = $1 and r.kind = k.pair->>0 and r.id = k.pair->>1) order by k.at)
  from pg_catalog.json_array_elements($4::pg_catalog.text::pg_catalog.json) with ordinality as k(pair, at)))::pg_catalog.text
from ${heads} h where ${isKnownHead(tables, 'h')}`),

    // $4: the change to go on after.
    feed: unlessStandby(`select pg_catalog.json_build_object('changes', h.changes, 'timeline', ${TIMELINE}, 'entries', (
  select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('kind', kind, 'id', id, 'notBefore', not_before, 'until', until,
    'change', change) order by change), '[]')
  from (select r.* from ${revocations} r
    where (${leadSql('change', 'r.namespace')}, r.change) > (${leadSql('change', 'h.namespace')}, $4::bigint)
      and ${leadSql('change', 'r.namespace')} <= ${leadSql('change', 'h.namespace')}
    order by ${leadSql('change', 'r.namespace')}, r.change limit ${PAGE_SIZE}) page))::pg_catalog.text
from ${heads} h where ${isKnownHead(tables, 'h')}`),

    // $2: a clock, $3: a time that dropping must not run ahead of, $4: how many, $5: the name of the lock, which
    // lets only one process drop at a time. Rows that somebody holds are left for later: waiting for them while
    // holding others would be a deadlock with a batch that takes them in another order.
    prune: `with turn as materialized (
  select pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended($5, ${PRUNE_LOCK})) as is_mine,
    least(${nowSql('$2')}, $3::bigint) - ${PRUNE_MARGIN_MS} as ended_before, ${leadSql('until', '$1::pg_catalog.text')} as lead
), dropped as (
  ${dropSql(revocations)}
), ended as (
  ${dropSql(sessions)}
)
select ((select pg_catalog.count(*) from dropped) + (select pg_catalog.count(*) from ended))::pg_catalog.text`,
  }
}

const PRUNE_LOCK = 7_036_872
const PRUNE_MARGIN_MS = 60_000 // clocks may differ a little

function dropSql(table: string): string {
  const lead = leadSql('until', 'namespace')
  return `delete from ${table} where ctid = any (array(
    select ctid from ${table} where (select is_mine from turn)
      and (${lead}, until) <= ((select lead from turn), (select ended_before from turn))
      and ${lead} >= (select lead from turn)
    order by ${lead}, until limit $4::bigint for update skip locked))
  returning 1`
}

type RevokeStatements = Readonly<Record<'recover' | 'restore' | 'revoke' | 'revokeBefore', string>>

/** The number of the last change of the namespace in $1. */
function lastChangeSql({ revocations }: Tables): string {
  return `coalesce((select r.change from ${revocations} r
    where ${leadSql('change', 'r.namespace')} = ${leadSql('change', '$1::pg_catalog.text')} order by r.change desc limit 1), 0)`
}

// The statements that write revocations.
function createRevokeStatements(tables: Tables, notify: string): RevokeStatements {
  const { heads, sessions } = tables
  const insert = insertSql(tables)
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
  const takeEntries = takeEntriesSql(tables)
  const batch = `pg_catalog.json_to_recordset($5::pg_catalog.text::pg_catalog.json)`
  const untilOf = (entry: string): string =>
    `case when ${entry}.kind = 'session' then coalesce(
        (select s.until from ${sessions} s where s.namespace = $1 and s.sid = ${entry}.id),
        greatest(${entry}.until, least(${FOREVER}, now + longest_lifetime)))
      else ${entry}.until end`

  return {
    // $2: an epoch for a namespace that has none or still has the lost one, $3: the lost one, $4: a clock,
    // $5: the longest lifetime, $6: 1 where the caller restores what is lost, so that nothing else is revoked. Whoever
    // comes second finds the epoch of the first, and keeps it.
    recover: `with asked as materialized (
  select $1::pg_catalog.text as namespace, ${nowSql('$4')} + ${MAX_SESSION_LEAD_MS} as bound
), late as materialized (
  select s.sid, s.until, pg_catalog.row_number() over () as step
  from asked a, ${lateSessions(`${leadSql('start', 's.namespace')} = ${leadSql('start', 'a.namespace')}`, 'a.bound')}
  where $6::bigint <> 1
), head as (
  insert into ${heads} as h (namespace, epoch, changes, longest_lifetime)
  values ($1, $2, ${lastChangeSql(tables)} + 1 + (select pg_catalog.count(*) from late), $5::bigint)
  on conflict (namespace) do update set
    epoch = case when h.epoch = $3 then excluded.epoch else h.epoch end,
    changes = greatest(h.changes + 1 + (select pg_catalog.count(*) from late), excluded.changes),
    longest_lifetime = greatest(h.longest_lifetime, excluded.longest_lifetime)
  returning namespace, epoch, changes, longest_lifetime, ${nowSql('$4')} as now
), moment as materialized (
  select greatest(now, least(now + ${MAX_SESSION_LEAD_MS}, ${newestStart('namespace')})) as at from head
), mark as (
  ${insert} select $1, 'epoch', epoch, 0, ${FOREVER}, 0 from head on conflict do nothing
), entries as materialized (
  select namespace, 'all' as kind, '' as id, at as not_before, least(${FOREVER}, at + longest_lifetime) as until,
    changes as change
  from head, moment where $6::bigint <> 1
  union all select namespace, 'session', sid, ${FOREVER}, until, changes - step from head, late
), ${takeEntries}
select pg_catalog.json_build_object('epoch', epoch, 'changes', changes,
  'revokedBefore', case when $6::bigint <> 1 then at end${notify})::pg_catalog.text from head, moment`,

    // $4: the batch, each key once, $5: how many. Entries as they are; the lock of the head is held as by the next one.
    restore: `with head as (
  update ${heads} h set changes = changes + $5::bigint where ${isKnownHead(tables, 'h')}
  returning namespace, changes
), entries as materialized (
  select namespace, g.kind, g.id, g.not_before, g.until, changes - g.at as change
  from head, pg_catalog.json_to_recordset($4::pg_catalog.text::pg_catalog.json) as g(${BATCH_COLUMNS})
), ${takeEntries}
select pg_catalog.json_build_object('changes', changes${notify})::pg_catalog.text from head`,

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
select pg_catalog.json_build_object('changes', changes, 'timeline', ${TIMELINE}, 'now', now,
  'removed', (select pg_catalog.count(*) from removed)${notify})::pg_catalog.text from head`,

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
  select l.sid, l.until, pg_catalog.row_number() over () as step from (
    select s.sid, s.until from given g, ${lateSessions(`${leadSql('user', 's.namespace')} = ${leadSql('user', 'g.namespace')} and s.user_id = g.id`, 'g.bound')}
    where g.kind = 'user' and g.newest > g.bound
    union
    select s.sid, s.until from given g, ${lateSessions(`${leadSql('start', 's.namespace')} = ${leadSql('start', 'g.namespace')}`, 'g.bound')}
    where g.kind = 'all' and g.newest > g.bound
  ) l where not exists (select from given g where g.kind = 'session' and g.id = l.sid)
), head as (
  update ${heads} h set changes = changes + $6::bigint + (select pg_catalog.count(*) from late)
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
select pg_catalog.json_build_object('changes', changes, 'timeline', ${TIMELINE},
  'now', greatest(now, (select pg_catalog.max(moment) from raised where is_watermark)),
  'removed', (select pg_catalog.count(*) from removed)${notify})::pg_catalog.text from head`,
  }
}

/** The columns of a batch that is given as JSON. */
export const BATCH_COLUMNS =
  'at bigint, kind pg_catalog.text, id pg_catalog.text, not_before bigint, until bigint'

/** The condition of a row of heads that this process may go on with. */
export function isKnownHead({ revocations }: Tables, head: string): string {
  return `${head}.namespace = $1 and ${head}.epoch = $2
    and ${head}.changes >= $3::bigint and exists (
      select from ${revocations} m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2)`
}

/** Writes the rows of `entries`, and removes the sessions among them. */
export function takeEntriesSql(tables: Tables): string {
  return `taken as (
  ${insertSql(tables)} select namespace, kind, id, not_before, until, change from entries
  on conflict (namespace, kind, id) do update set
    not_before = greatest(r.not_before, excluded.not_before),
    until = greatest(r.until, excluded.until), change = excluded.change
    where r.not_before < excluded.not_before or r.until < excluded.until
), removed as (
  delete from ${tables.sessions} s using entries e
  where e.kind = 'session' and s.namespace = e.namespace and s.sid = e.id
  returning s.sid
)`
}

/** The beginning of a statement that writes entries. */
export function insertSql({ revocations }: Tables): string {
  return `insert into ${revocations} as r (namespace, kind, id, not_before, until, change)`
}
