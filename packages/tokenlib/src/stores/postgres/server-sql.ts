/** The time of the store: a clock that was passed in, else that of the server. */
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
 * The timeline of the write-ahead log, and when the server started.
 *
 * A promotion or a restore to a point in time makes a new timeline, whose changes may have numbers that were used before
 * for others. So may a folder that was put back, which keeps its timeline, and one of two standbys that are promoted to
 * the same one: their servers started at other times. An ordinary role may ask for both, and a standby refuses to answer.
 */
export const TIMELINE: string = `pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8)
  || pg_catalog.to_hex(${epochSql('pg_catalog.pg_postmaster_start_time()', 1_000_000)})`
