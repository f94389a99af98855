import type { Tables } from './tables.js'

// Every statement runs on its own, under READ COMMITTED, and answers with one text of JSON.
//
// $1 is the namespace everywhere. A statement about a history has its epoch in $2, and in $3 the count of changes
// that this process has seen of it; it finds no head, does nothing and answers nothing when the history is another
// one or has become shorter, or when the revocations were emptied, which take the row of the epoch with them.
// On a standby it fails, or says so: what is missing there may only be late.
//
// No plan may walk through a namespace, whatever the statistics say. The rules:
// - A condition on `namespace` goes with all columns of the primary key, or in a subquery of its own with a prefix of
//   them that is meant. In a join, the namespace comes from the other side: the planner may not begin with it.
// - Every other index is named by `leadSql`. The last row is read by `order by … limit 1`, and a page by comparing
//   rows with values that the planner cannot see, so that it expects more rows than the page has: otherwise it might
//   sort all of them for every page.

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

/**
 * The timeline of the write-ahead log.
 *
 * A promotion or a restore to a point in time makes a new timeline, whose changes may have numbers that were used before
 * for others. An ordinary role may ask for it, and a standby refuses to answer.
 */
export const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)'

/** The beginning of a statement that writes entries. */
export function insertSql({ revocations }: Tables): string {
  return `insert into ${revocations} as r (namespace, kind, id, not_before, until, change)`
}
