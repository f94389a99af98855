import { FOREVER } from '../../revocation/revocation.js'
import { isKnownHead, nowSql, OR_STANDBY } from './fragments.js'
import { leadSql, type Tables } from './tables.js'

/** The statements of sessions; $1 to $3 are those of every statement about a history, $4 is a clock. */
export interface SessionStatements {
  readonly open: string
  readonly rotate: string
  readonly find: string
  readonly list: string
}

/** Writes the statements for a store's tables. */
export function createSessionStatements(tables: Tables): SessionStatements {
  const { heads, revocations, sessions } = tables
  const revoked = (kind: string, id: string): string =>
    `(select r.not_before from ${revocations} r where r.namespace = $1 and r.kind = '${kind}' and r.id = ${id})`
  const isRevoked = `coalesce(s.started_at <= greatest(
    ${revoked('session', 's.sid')}, ${revoked('user', 's.user_id')}, ${revoked('all', "''")}), false)`
  // Once, so that all of a statement goes by one time.
  const head = `head as materialized (
  select h.namespace, h.changes, ${nowSql('$4')} as now from ${heads} h
  where ${isKnownHead(tables, 'h')}
)`
  const after = (kind: string, id: string): string => `nullif(${revoked(kind, id)}, ${FOREVER}) + 1`

  return {
    // $5: the user, $6: the nonce, $7: expiresAt, $8: until, $9: ip, $10: user agent.
    // Six bytes are eight characters of base64, without padding.
    open: `with ${head}, start as materialized (
  select greatest(now, ${after('user', '$5')}, ${after('all', "''")}) as at from head
), opened as (
  insert into ${sessions} (namespace, sid, user_id, started_at, last_used_at, expires_at, until, generation, ip,
    user_agent)
  select $1, translate(encode(substring(int8send(at) from 3), 'base64'), '+/', '-_') || $6::text, $5, at, at,
    $7::bigint, $8::bigint, 0, $9, $10 from start
  returning sid, started_at
)
select json_build_object('changes', changes, 'sid', sid, 'startedAt', started_at)::text from opened, head`,

    // $5: the sid, $6: the generation presented, $7: idleMs, $8: ip, $9: user agent. Waits for nobody but another
    // rotation of the same session, and is then judged by what that one left behind. A revocation that commits
    // during the wait is missed, as if it had come after: it is not acknowledged before this call began, and
    // finds the tokens of this rotation too, since they are of the same session.
    rotate: `with ${head}, rotated as (
  update ${sessions} s set generation = $6::bigint + 1, last_used_at = h.now, ip = coalesce($8, s.ip),
    user_agent = coalesce($9, s.user_agent)
  from head h
  where s.namespace = $1 and s.sid = $5 and s.generation <= $6::bigint and h.now < s.until
    and h.now - s.last_used_at <= $7::bigint and not ${isRevoked}
  returning s.generation, s.expires_at
)
select json_build_object('changes', changes, 'generation', generation, 'expiresAt', expires_at)::text
from head left join rotated on true`,

    // $5: the sid.
    find: `with ${head}
select json_build_object('changes', changes, 'now', now, 'session', (
  select ${toJson(`, 'generation', generation, 'until', until, 'isRevoked', ${isRevoked}`)}
  from ${sessions} s where s.namespace = $1 and s.sid = $5))::text from head ${OR_STANDBY}`,

    // $5: the user, $6 and $7: the start and the sid to go on after, $8: how many rows to read, $9: idleMs.
    // A process of the release before leaves the row of a session that it revokes: hence the look at its entry.
    list: `with ${head}, page as materialized (
  select s.* from head h, lateral (
    select * from ${sessions} s
    where (${leadSql('user', 's.namespace')}, s.user_id, s.started_at, s.sid)
        < (${leadSql('user', 'h.namespace')}, $5::text, $6::bigint, $7::text)
      and (${leadSql('user', 's.namespace')}, s.user_id, s.started_at)
        > (${leadSql('user', 'h.namespace')}, $5::text, greatest(${revoked('user', '$5')}, ${revoked('all', "''")}, 0))
    order by ${leadSql('user', 's.namespace')} desc, s.user_id desc, s.started_at desc, s.sid desc
    limit $8::bigint) s
)
select json_build_object('changes', changes, 'rows', (select count(*) from page), 'last', (
    select json_build_object('startedAt', started_at, 'sid', sid) from page order by started_at, sid limit 1),
  'sessions', (
    select coalesce(json_agg(${toJson()} order by started_at desc, sid desc), '[]') from page s
    where head.now < s.until and head.now - s.last_used_at <= $9::bigint
      and ${revoked('session', 's.sid')} is null))::text
from head ${OR_STANDBY}`,
  }
}

function toJson(more = ''): string {
  return `json_build_object('sid', sid, 'user', user_id, 'startedAt', started_at, 'lastUsedAt', last_used_at,
    'expiresAt', expires_at, 'ip', ip, 'userAgent', user_agent${more})`
}
