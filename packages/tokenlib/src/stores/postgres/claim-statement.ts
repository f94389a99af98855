import { notifySql } from './notify.js'
import { TIMELINE } from './server-sql.js'
import { BATCH_COLUMNS, insertSql, isKnownHead, takeEntriesSql } from './statements.js'
import type { Tables } from './tables.js'

/**
 * Takes a batch if its first entry is not there. $4: the batch, each key once, $5: how many.
 *
 * Most of a statement sees the tables as they were before it waited for the head. Only an insert finds the row that another
 * claim has committed meanwhile, so the insert of the first entry decides.
 */
export function createClaimStatement(tables: Tables, channel: string): string {
  return `with head as (
  update ${tables.heads} h set changes = changes + $5::bigint where ${isKnownHead(tables, 'h')}
  returning namespace, changes
), given as materialized (
  select namespace, g.kind, g.id, g.not_before, g.until, changes - g.at as change, g.at
  from head, pg_catalog.json_to_recordset($4::pg_catalog.text::pg_catalog.json) as g(${BATCH_COLUMNS})
), claimed as (
  ${insertSql(tables)} select namespace, kind, id, not_before, until, change from given where at = 0
  on conflict do nothing returning r.namespace
), entries as materialized (
  select g.* from given g, claimed c where g.at > 0 and g.namespace = c.namespace
), ${takeEntriesSql(tables)}
select pg_catalog.json_build_object('changes', changes, 'timeline', ${TIMELINE},
  'isFirst', exists (select from claimed)${notifySql(channel)})::pg_catalog.text from head`
}
