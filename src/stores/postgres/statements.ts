import { FOREVER } from '../../revocation/revocation.js'
import { insertSql, isKnownHead, nowSql, OR_STANDBY, TIMELINE } from './fragments.js'
import { createRevokeStatements, lastChangeSql, type RevokeStatements } from './revoke-statements.js'
import { leadSql, type Tables } from './tables.js'

/** The statements of everything but sessions. */
export interface RevocationStatements extends RevokeStatements {
  readonly enter: string
  readonly extend: string
  readonly lookup: string
  readonly feed: string
  readonly prune: string
}

/** How many entries a page of the feed has. */
export const PAGE = 1000

/** Writes the statements for a store's tables. */
export function createRevocationStatements(tables: Tables): RevocationStatements {
  const { heads, revocations, sessions } = tables
  const insert = insertSql(tables)
  const lastChange = lastChangeSql(tables)

  return {
    ...createRevokeStatements(tables),

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

    // Makes the watermarks that are there last for the longest lifetime. A statement of its own after the one that
    // raised it, because that one does not see what was written while it waited for the head: every watermark is
    // either from before the raise, which this one began after, so that it is seen here; or its writer had the head
    // after the raise, and went by the new lifetime. The row of the epoch keeps, as its not_before, the lifetime
    // that this was done for, so that a process that ends between the two leaves the rest to the next one.
    // Only the lifetime that was seen here counts for that: whoever raises it meanwhile comes here too.
    extend: `with goal as materialized (
  select longest_lifetime from ${heads} where namespace = $1
), short as materialized (
  select r.namespace, r.kind, r.id, e.until, row_number() over (order by r.change) as step
  from goal g, ${revocations} r,
    lateral (select least(${FOREVER}, r.not_before + g.longest_lifetime) as until) e
  where r.namespace = $1 and r.kind in ('user', 'all') and r.until < e.until
), head as (
  update ${heads} h set changes = changes + (select count(*) from short) where ${isKnownHead(tables, 'h')}
  returning changes
), extended as (
  update ${revocations} r set until = s.until, change = h.changes + 1 - s.step from head h, short s
  where r.namespace = s.namespace and r.kind = s.kind and r.id = s.id and r.until < s.until
), mark as (
  update ${revocations} m set not_before = greatest(m.not_before, g.longest_lifetime) from head, goal g
  where m.namespace = $1 and m.kind = 'epoch' and m.id = $2
)
select json_build_object('changes', changes)::text from head`,

    // $4: the keys, as pairs. One look at the index for each, whatever the planner believes of the table.
    lookup: `select json_build_object('changes', h.changes, 'found', (
  select json_agg((select r.not_before from ${revocations} r
    where r.namespace = $1 and r.kind = k.pair->>0 and r.id = k.pair->>1) order by k.at)
  from json_array_elements($4::text::json) with ordinality as k(pair, at)))::text
from ${heads} h where ${isKnownHead(tables, 'h')} ${OR_STANDBY}`,

    // $4: the change to go on after.
    feed: `select json_build_object('changes', h.changes, 'timeline', ${TIMELINE}, 'entries', (
  select coalesce(json_agg(json_build_object('kind', kind, 'id', id, 'notBefore', not_before, 'until', until,
    'change', change) order by change), '[]')
  from (select r.* from ${revocations} r
    where (${leadSql('change', 'r.namespace')}, r.change) > (${leadSql('change', 'h.namespace')}, $4::bigint)
      and ${leadSql('change', 'r.namespace')} <= ${leadSql('change', 'h.namespace')}
    order by ${leadSql('change', 'r.namespace')}, r.change limit ${PAGE}) page))::text
from ${heads} h where ${isKnownHead(tables, 'h')} ${OR_STANDBY}`,

    // $2: a clock, $3: a time that dropping must not run ahead of, $4: how many, $5: the name of the lock, which
    // lets only one process drop at a time. Rows that somebody holds are left for later: waiting for them while
    // holding others would be a deadlock with a batch that takes them in another order.
    prune: `with turn as materialized (
  select pg_try_advisory_xact_lock(hashtextextended($5, ${PRUNE_LOCK})) as is_mine,
    least(${nowSql('$2')}, $3::bigint) - ${MARGIN} as ended_before, ${leadSql('until', '$1::text')} as lead
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
  const lead = leadSql('until', 'namespace')
  return `delete from ${table} where ctid = any (array(
    select ctid from ${table} where (select is_mine from turn)
      and (${lead}, until) <= ((select lead from turn), (select ended_before from turn))
      and ${lead} >= (select lead from turn)
    order by ${lead}, until limit $4::bigint for update skip locked))
  returning 1`
}
