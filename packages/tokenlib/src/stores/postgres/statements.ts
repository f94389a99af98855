import { FOREVER, MAX_WATERMARK_LEAD_MS, MAX_SESSION_LEAD_MS } from '../../revocation/revocation.js'
import { notifySql } from './client.js'
import { leadSql, type Tables } from './tables.js'

// Every statement runs on its own, under READ COMMITTED, and answers with one text of JSON.
//
// $1 is the namespace everywhere. A statement about a history has its epoch in $2, and in $3 the count of changes
// that this process has seen of it; it finds no head, does nothing and answers nothing when the history is another
// one or has become shorter, or when the revocations were emptied, which take the row of the epoch with them.
// On a standby it fails, or answers `isStandby`: what is missing there may only be late.
//
// Every table, function and type is named with its schema, because earlier users of the connection may have left a
// search_path or temporary tables behind; `bigint`, `integer` and `numeric` are keywords. Operators have operands of
// exactly the types of one in pg_catalog, so that none of another schema fits better.
//
// No plan may walk through a namespace, whatever the statistics say. The rules:
// - A condition on `namespace` goes with all columns of the primary key, or in a subquery of its own with a prefix of
//   them that is meant. In a join, the namespace comes from the other side: the planner may not begin with it.
// - Every other index is named by `leadSql`. The last row is read by `order by … limit 1`, and a page by comparing
//   rows with values that the planner cannot see, so that it expects more rows than the page has: otherwise it might
//   sort all of them for every page.

/** The statements of revocations. */
export type RevocationStatements = RevokeStatements &
  Readonly<Record<'lookup' | 'feed' | 'prune' | 'spend', string>>

/** How many entries a page of the feed has. */
export const PAGE_SIZE = 1000

/** Writes the statements for a store's tables; those that append to the history announce it on a channel. */
export function createRevocationStatements(tables: Tables, channel: string): RevocationStatements {
  const { heads, revocations, sessions, spent } = tables

  return {
    ...createRevokeStatements(tables, notifySql(channel)),

    // $4: the keys, as pairs. One look at the index for each, whatever the planner believes of the table.
    lookup: unlessStandby(`select pg_catalog.json_build_object('changes', h.changes, 'found', (
  select pg_catalog.json_agg((select r.not_before from ${revocations} r
    where r.namespace = $1 and r.kind = k.pair->>0 and r.id = k.pair->>1) order by k.at)
  from pg_catalog.json_array_elements($4::pg_catalog.text::pg_catalog.json) with ordinality as k(pair, at)))::pg_catalog.text
from ${heads} h where ${isKnownHead(tables, 'h')}`),

    // $4: the change to go on after.
    feed: unlessStandby(`select pg_catalog.json_build_object('changes', h.changes, 'branch', ${BRANCH}, 'entries', (
  select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object('kind', kind, 'id', id, 'notBefore', not_before, 'until', until,
    'change', change) order by change), '[]')
  from (select r.* from ${revocations} r
    where (${leadSql('change', 'r.namespace')}, r.change) > (${leadSql('change', 'h.namespace')}, $4::bigint)
      and ${leadSql('change', 'r.namespace')} <= ${leadSql('change', 'h.namespace')}
    order by ${leadSql('change', 'r.namespace')}, r.change limit ${PAGE_SIZE}) page))::pg_catalog.text
from ${heads} h where ${isKnownHead(tables, 'h')}`),

    // $2: an id, $3: how long it is spent, $4: a clock. Of two at the same time, the second waits for the row of the first.
    // By the time when it began, so the wait lets nothing expire.
    spend: `with spent as (
  insert into ${spent} as s (namespace, id, until) values ($1, $2, ${nowSql('$4')} + $3::bigint)
  on conflict (namespace, id) do update set until = excluded.until where s.until <= excluded.until - $3::bigint
  returning 1
)
select (exists (select from spent))::pg_catalog.text`,

    // $2: a clock, $3: a time that dropping must not run ahead of, $4: how many, $5: the name of the lock, which
    // lets only one process drop at a time. Rows that somebody holds are left for later: waiting for them while
    // holding others would be a deadlock with a batch that takes them in another order.
    prune: `with turn as materialized (
  select pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended($5, ${PRUNE_LOCK})) as is_mine,
    least(${nowSql('$2')}, $3::bigint) - ${PRUNE_MARGIN_MS} as ended_before, ${nowSql('$2')} as expired_before, ${leadSql('until', '$1::pg_catalog.text')} as lead
), dropped as (
  ${dropSql(revocations, 'ended_before')}
), ended as (
  ${dropSql(sessions, 'ended_before')}
), expired as (
  ${dropSql(spent, 'expired_before')}
)
select ((select pg_catalog.count(*) from dropped) + (select pg_catalog.count(*) from ended)
  + (select pg_catalog.count(*) from expired))::pg_catalog.text`,
  }
}

const PRUNE_LOCK = 7_036_872
const PRUNE_MARGIN_MS = 60_000 // clocks may differ a little

function dropSql(table: string, before: 'ended_before' | 'expired_before'): string {
  const lead = leadSql('until', 'namespace')
  return `delete from ${table} where ctid = any (array(
    select ctid from ${table} where (select is_mine from turn)
      and (${lead}, until) <= ((select lead from turn), (select ${before} from turn))
      and ${lead} >= (select lead from turn)
    order by ${lead}, until limit $4::bigint for update skip locked))
  returning 1`
}

type RevokeStatements = Readonly<Record<'restore' | 'claim' | 'revoke' | 'revokeBefore', string>>

// The statements that write revocations.
function createRevokeStatements(tables: Tables, notify: string): RevokeStatements {
  const { heads, sessions } = tables
  const newestStartOf = (user: string, namespace: string): string =>
    `coalesce((select s.started_at from ${sessions} s
      where ${leadSql('user', 's.namespace')} = ${leadSql('user', namespace)} and s.user_id = ${user}
      order by s.started_at desc limit 1), 0)`
  const takeEntries = takeEntriesSql(tables)
  const batch = `pg_catalog.json_to_recordset($5::pg_catalog.text::pg_catalog.json)`
  const untilOf = (entry: string): string =>
    `case when ${entry}.kind = 'session' then coalesce(
        (select s.until from ${sessions} s where s.namespace = $1 and s.sid = ${entry}.id),
        greatest(${entry}.until, least(${FOREVER}, now + longest_lifetime)))
      else ${entry}.until end`

  return {
    // $4: the batch, each key once, $5: how many. Entries as they are; the lock of the head is held as by the next one.
    restore: `with head as (
  update ${heads} h set changes = changes + $5::bigint where ${isKnownHead(tables, 'h')}
  returning namespace, changes
), entries as materialized (
  select namespace, g.kind, g.id, g.not_before, g.until, changes - g.at as change
  from head, pg_catalog.json_to_recordset($4::pg_catalog.text::pg_catalog.json) as g(${BATCH_COLUMNS})
), ${takeEntries}
select pg_catalog.json_build_object('changes', changes${notify})::pg_catalog.text from head`,

    // Takes a batch if its first entry is not there. $4: the batch, each key once, $5: how many.
    //
    // Most of a statement sees the tables as they were before it waited for the head. Only an insert finds the row that
    // another claim has committed during the wait, so the insert of the first entry decides.
    claim: `with head as (
  update ${heads} h set changes = changes + $5::bigint where ${isKnownHead(tables, 'h')}
  returning namespace, changes
), given as materialized (
  select namespace, g.kind, g.id, g.not_before, g.until, changes - g.at as change, g.at
  from head, pg_catalog.json_to_recordset($4::pg_catalog.text::pg_catalog.json) as g(${BATCH_COLUMNS})
), claimed as (
  ${insertSql(tables)} select namespace, kind, id, not_before, until, change from given where at = 0
  on conflict do nothing returning r.namespace
), entries as materialized (
  select g.* from given g, claimed c where g.at > 0 and g.namespace = c.namespace
), ${takeEntries}
select pg_catalog.json_build_object('changes', changes, 'branch', ${BRANCH},
  'isFirst', exists (select from claimed)${notify})::pg_catalog.text from head`,

    // $4: a clock, $5: the batch, each key once and without watermarks, $6: how many. The lock of the head's row is held
    // until the commit, so the order of changes is the order of commits, and a reader of the feed never meets a gap that
    // is filled later. Everything else is locked after it, so writers wait for each other here, and never in a circle.
    // A session is read as it was before the wait, which is harmless: its until never changes.
    revoke: `with head as (
  update ${heads} h set changes = changes + $6::bigint where ${isKnownHead(tables, 'h')}
  returning namespace, changes, longest_lifetime, ${nowSql('$4')} as now
), entries as materialized (
  select namespace, g.kind, g.id, g.not_before, changes - g.at as change, ${untilOf('g')} as until
  from head, ${batch} as g(${BATCH_COLUMNS})
), ${takeEntries}
select pg_catalog.json_build_object('changes', changes, 'branch', ${BRANCH}, 'now', now,
  'removed', (select pg_catalog.count(*) from removed)${notify})::pg_catalog.text from head`,

    // The same for a batch with watermarks. The time is read when the lock is held: a watermark covers every session
    // that was opened before. What started later than it reaches becomes entries of its own; the bound for that is from
    // before the wait, so it is not later than the watermark's.
    revokeBefore: `with asked as materialized (
  select h.namespace, ${nowSql('$4')} + ${MAX_SESSION_LEAD_MS} as bound from ${heads} h where h.namespace = $1
), given as materialized (
  select a.namespace, a.bound, g.*, case g.kind
    when 'user' then ${newestStartOf('g.id', 'a.namespace')}
    when 'all' then ${newestStartSql(tables, 'a.namespace')} end as newest
  from asked a, ${batch} as g(${BATCH_COLUMNS})
), late as materialized (
  select l.sid, l.until, pg_catalog.row_number() over () as step from (
    select s.sid, s.until from given g, ${lateSessionsSql(tables, `${leadSql('user', 's.namespace')} = ${leadSql('user', 'g.namespace')} and s.user_id = g.id`, 'g.bound')}
    where g.kind = 'user' and g.newest > g.bound
    union
    select s.sid, s.until from given g, ${lateSessionsSql(tables, `${leadSql('start', 's.namespace')} = ${leadSql('start', 'g.namespace')}`, 'g.bound')}
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
select pg_catalog.json_build_object('changes', changes, 'branch', ${BRANCH},
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

/** The newest start of the sessions of a namespace. */
export function newestStartSql({ sessions }: Tables, namespace: string): string {
  return `coalesce((select s.started_at from ${sessions} s
      where ${leadSql('start', 's.namespace')} = ${leadSql('start', namespace)} order by s.started_at desc limit 1), 0)`
}

/**
 * Sessions that started later than a watermark reaches, because the clock was ahead. "offset 0" keeps it apart: it is asked
 * for each row on its left, and never without one.
 */
export function lateSessionsSql({ sessions }: Tables, condition: string, bound: string): string {
  return `lateral (select s.sid, s.until from ${sessions} s where ${condition} and s.started_at > ${bound} offset 0) s`
}

/** The time of the store: a clock that was passed in, else the server's. */
export function nowSql(given: string): string {
  return `coalesce(${given}::bigint, ${epochSql('pg_catalog.clock_timestamp()', 1000)})`
}

function epochSql(time: string, perSecond: number): string {
  return `pg_catalog.floor(extract(epoch from ${time})::numeric * ${perSecond}::numeric)::bigint`
}

/** A statement that does not write, with an answer of its own on a standby; others fail there by themselves. */
export function unlessStandby(statement: string): string {
  return `select case when pg_catalog.pg_is_in_recovery() then '{"isStandby":true}' else (${statement}) end`
}

/**
 * The branch of a history that its changes are counted in: the epoch in $2, the timeline of the write-ahead log, and when
 * the server started.
 *
 * A promotion or a restore to a point in time makes a new timeline, whose changes may have numbers that were used before
 * for others. So may a folder that was put back, which keeps its timeline, and one of two standbys that are promoted to
 * the same one: their servers started at other times. An ordinary role may ask for both, and a standby refuses to answer.
 */
const BRANCH: string = `$2::pg_catalog.text || ':'
  || pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8)
  || pg_catalog.to_hex(${epochSql('pg_catalog.pg_postmaster_start_time()', 1_000_000)})`
