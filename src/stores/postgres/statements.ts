import { FOREVER, MOST_AHEAD, MOST_SET_BACK } from '../../revocation/revocation.js'
import type { Tables } from './tables.js'

// Every statement runs on its own, under READ COMMITTED, and answers with one text of JSON.
//
// $1 is the namespace everywhere. A statement about a history has its epoch in $2, and in $3 the count of changes
// that this process has seen of it; it finds no head, does nothing and answers nothing when the history is another
// one or has become shorter, or when the revocations were emptied, which take the row of the epoch with them.
// On a standby it fails, or says so: what is missing there may only be late.

/** The time of the store: a clock that was passed in, else that of the server. */
export function nowSql(given: string): string {
  return `coalesce(${given}::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`
}

/** The condition of a row of heads that this process may go on with. */
export function isKnownHead({ revocations }: Tables, head: string): string {
  return `not pg_is_in_recovery() and ${head}.namespace = $1 and ${head}.epoch = $2
    and ${head}.changes >= $3::bigint and exists (
      select from ${revocations} m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2)`
}

/** The answer of a standby, for the end of every statement that does not write; others fail there by themselves. */
export const OR_STANDBY = `union all select '{"isStandby":true}' where pg_is_in_recovery()`

/** The statements of everything but sessions. */
export interface RevocationStatements {
  readonly enter: string
  readonly heal: string
  readonly extend: string
  readonly revoke: string
  readonly lookup: string
  readonly feed: string
  readonly prune: string
}

/** How many entries a page of the feed has. */
export const PAGE = 1000

/** Writes the statements for a store's tables. */
export function createRevocationStatements(tables: Tables): RevocationStatements {
  const { heads, revocations, sessions } = tables
  // A promotion or a restore to a point in time makes a new timeline, whose changes may have numbers that were
  // used before for others. An ordinary role may ask for it, and a standby refuses to answer.
  const timeline = `substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`
  const insert = `insert into ${revocations} as r (namespace, kind, id, not_before, until, change)`
  const merge = `on conflict (namespace, kind, id) do update set
    not_before = greatest(r.not_before, excluded.not_before),
    until = greatest(r.until, excluded.until), change = excluded.change
    where r.not_before < excluded.not_before or r.until < excluded.until`
  const lastChange = `(select coalesce(max(change), 0) from ${revocations} where namespace = $1)`

  const newestStart = `(select coalesce(max(s.started_at), 0) from ${sessions} s where s.namespace = $1`
  const notFarAhead = `least(g.not_before, h.now + ${MOST_AHEAD})`

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
select json_build_object('epoch', epoch, 'changes', changes, 'isExtended', exists (
  select from ${revocations} m where m.namespace = $1 and m.kind = 'epoch' and m.id = epoch
    and m.not_before >= longest_lifetime))::text from head`,

    // $2: an epoch for a namespace that has none or still has the lost one, $3: the lost one, $4: a clock,
    // $5: the longest lifetime. Whoever comes second finds the epoch of the first, and keeps it.
    heal: `with head as (
  insert into ${heads} as h (namespace, epoch, changes, longest_lifetime)
  values ($1, $2, ${lastChange} + 1, $5::bigint)
  on conflict (namespace) do update set
    epoch = case when h.epoch = $3 then excluded.epoch else h.epoch end,
    changes = greatest(h.changes + 1, excluded.changes),
    longest_lifetime = greatest(h.longest_lifetime, excluded.longest_lifetime)
  returning epoch, changes, longest_lifetime, ${nowSql('$4')} as now
), mark as (
  ${insert} select $1, 'epoch', epoch, 0, ${FOREVER}, 0 from head on conflict do nothing
), watermark as (
  ${insert} select $1, 'all', '', moment, least(${FOREVER}, moment + longest_lifetime), changes
  from head, greatest(now, least(now + ${MOST_SET_BACK}, ${newestStart}))) as moment
  ${merge}
)
select json_build_object('epoch', epoch, 'changes', changes)::text from head`,

    // Makes the watermarks that are there last for the longest lifetime. A statement of its own after the one that
    // raised it, because that one does not see what was written while it waited for the head: every watermark is
    // either from before the raise, which this one began after, so that it is seen here; or its writer had the head
    // after the raise, and went by the new lifetime. The row of the epoch keeps, as its not_before, the lifetime
    // that this was done for, so that a process that ends between the two leaves the rest to the next one.
    // Only the lifetime that was seen here counts for that: whoever raises it meanwhile comes here too.
    extend: `with goal as materialized (
  select longest_lifetime from ${heads} where namespace = $1
), short as materialized (
  select r.kind, r.id, e.until, row_number() over (order by r.change) as step
  from goal g, ${revocations} r,
    lateral (select least(${FOREVER}, r.not_before + g.longest_lifetime) as until) e
  where r.namespace = $1 and r.kind in ('user', 'all') and r.until < e.until
), head as (
  update ${heads} h set changes = changes + (select count(*) from short) where ${isKnownHead(tables, 'h')}
  returning changes
), extended as (
  update ${revocations} r set until = s.until, change = h.changes + 1 - s.step from head h, short s
  where r.namespace = $1 and r.kind = s.kind and r.id = s.id and r.until < s.until
), mark as (
  update ${revocations} m set not_before = greatest(m.not_before, g.longest_lifetime) from head, goal g
  where m.namespace = $1 and m.kind = 'epoch' and m.id = $2
)
select json_build_object('changes', changes)::text from head`,

    // $4: a clock, $5: the batch, each key once, $6: how many. The lock of the head's row is held until the commit,
    // so the order of changes is the order of commits, and a reader of the feed never meets a gap that is filled
    // later. Everything else is locked after it, so writers wait for each other here, and never in a circle.
    // The time is read when the lock is held: a watermark covers every session that was opened before.
    // A session's row is read as it was before the wait, which is no harm: its until never changes.
    revoke: `with head as (
  update ${heads} h set changes = changes + $6::bigint where ${isKnownHead(tables, 'h')}
  returning changes, longest_lifetime, ${nowSql('$4')} as now
), given as (
  select g.at, g.kind, g.id, g.until, h.now, h.changes, h.longest_lifetime,
    g.kind in ('user', 'all') as is_watermark,
    case g.kind
      when 'user' then greatest(${notFarAhead}, h.now, least(h.now + ${MOST_SET_BACK}, ${newestStart} and s.user_id = g.id)))
      when 'all' then greatest(${notFarAhead}, h.now, least(h.now + ${MOST_SET_BACK}, ${newestStart})))
      else g.not_before end as not_before
  from head h, json_to_recordset($5::text::json)
    as g(at bigint, kind text, id text, not_before bigint, until bigint)
), taken as (
  ${insert} select $1, g.kind, g.id, g.not_before,
    case when is_watermark then greatest(g.until, least(${FOREVER}, g.not_before + g.longest_lifetime))
      when g.kind = 'session' then
        coalesce(s.until, greatest(g.until, least(${FOREVER}, g.now + g.longest_lifetime)))
      else g.until end,
    g.changes - g.at
  from given g left join ${sessions} s on g.kind = 'session' and s.namespace = $1 and s.sid = g.id
  ${merge}
  returning 1
)
select json_build_object('changes', changes, 'timeline', ${timeline},
  'now', greatest(now, (select max(not_before) from given where is_watermark)),
  'taken', (select count(*) from taken))::text from head`,

    // $4: the keys, as pairs. One look at the index for each, whatever the planner believes of the table.
    lookup: `select json_build_object('changes', h.changes, 'found', (
  select json_agg((select r.not_before from ${revocations} r
    where r.namespace = $1 and r.kind = k.pair->>0 and r.id = k.pair->>1) order by k.at)
  from json_array_elements($4::text::json) with ordinality as k(pair, at)))::text
from ${heads} h where ${isKnownHead(tables, 'h')} ${OR_STANDBY}`,

    // $4: the change to go on after.
    feed: `select json_build_object('changes', h.changes, 'timeline', ${timeline}, 'entries', (
  select coalesce(json_agg(json_build_object('kind', kind, 'id', id, 'notBefore', not_before, 'until', until,
    'change', change) order by change), '[]')
  from (select * from ${revocations} where namespace = $1 and change > $4::bigint
    order by change limit ${PAGE}) page))::text
from ${heads} h where ${isKnownHead(tables, 'h')} ${OR_STANDBY}`,

    // $2: a clock, $3: a time that dropping must not run ahead of, $4: how many, $5: the name of the lock, which
    // lets only one process drop at a time. Rows that somebody holds are left for later: waiting for them while
    // holding others would be a deadlock with a batch that takes them in another order.
    prune: `with turn as materialized (
  select pg_try_advisory_xact_lock(hashtextextended($5, ${PRUNE_LOCK})) as is_mine,
    least(${nowSql('$2')}, $3::bigint) - ${MARGIN} as ended_before
), dropped as (
  ${dropSql(revocations)}
), ended as (
  ${dropSql(sessions)}
)
select ((select count(*) from dropped) + (select count(*) from ended))::text`,
  }
}

const PRUNE_LOCK = 7_036_872
// For clocks that are not quite together.
const MARGIN = 60_000

function dropSql(table: string): string {
  return `delete from ${table} where ctid = any (array(
    select ctid from ${table} where (select is_mine from turn) and namespace = $1
      and until <= (select ended_before from turn) order by until limit $4::bigint for update skip locked))
  returning 1`
}
