import { FOREVER } from '../../revocation/revocation.js'
import { MAX_ENDED_AT_ONCE } from '../../revocation/session-store.js'
import { notifySql } from './client.js'
import { insertSql, isKnownHead, nowSql, takeEntriesSql, unlessStandby } from './statements.js'
import { leadSql, type Tables } from './tables.js'

/** The statements of sessions; $1 to $3 are as in every statement about a history, $4 is a clock. */
export type SessionStatements = Readonly<
  Record<'open' | 'openLimited' | 'rotate' | 'move' | 'find' | 'list' | 'writeData', string>
>

/** Writes the statements for a store's tables; those that append to the history announce it on a channel. */
export function createSessionStatements(tables: Tables, channel: string): SessionStatements {
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

  // The first so many of the user's live sessions, read from one end of their index.
  const liveOf = (direction: 'asc' | 'desc', limit: string): string => `head h, lateral (
    select s.sid, s.until, s.started_at from ${sessions} s
    where ${leadSql('user', 's.namespace')} = ${leadSql('user', 'h.namespace')} and s.user_id = $5
      and s.started_at > greatest(${revoked('user', '$5')}, ${revoked('all', "''")}, 0)
      and h.now < s.until and h.now - s.last_used_at <= $14::bigint and ${revoked('session', 's.sid')} is null
    order by s.started_at ${direction}, s.sid ${direction} limit ${limit}) s`
  // Six bytes are eight characters of base64, without padding.
  const openFrom = (from: string): string => `start as materialized (
  select greatest(now, ${after('user', '$5')}, ${after('all', "''")}) as at from head
), opened as (
  insert into ${sessions} (namespace, sid, user_id, started_at, last_used_at, moved_at, expires_at, until, generation,
    ip, user_agent, data)
  select $1, pg_catalog.translate(pg_catalog.encode(pg_catalog.substr(pg_catalog.int8send(at), 3), 'base64'), '+/', '-_')
    || $6::pg_catalog.text, $5, at, at, at, $7::bigint, $8::bigint, 0, $9, $10, $11 from ${from}
  returning sid, started_at
)`

  return {
    // $5: the user, $6: the nonce, $7: expiresAt, $8: until, $9: ip, $10: user agent, $11: data.
    open: `with ${head}, ${openFrom('start')}
select pg_catalog.json_build_object('changes', changes, 'sid', sid, 'startedAt', started_at)::pg_catalog.text from opened, head`,

    // The same, and $12: the most sessions, $13: 1 to refuse the login that is one too many, $14: idleMs. Follows
    // decideOpening.
    //
    // One statement sees the sessions as they were when it began, so those that open sessions of one user at the same time
    // have to take turns. The row of the kind 'turn' is for that: it has the transaction that had the last turn. A
    // statement that finds another one in it than when it began answers 'busy' and does nothing. Otherwise
    // the row is locked until the commit, and nobody else had a turn in between. It is locked before the head, and
    // nobody who holds the head waits for it. It is in no feed, because its change is 0, and can be dropped once it is
    // older than any statement.
    openLimited: `with ${head}, before as materialized (
  select coalesce(${revoked('turn', '$5')}, 0) as turn
), newest as materialized (
  select 1 from ${liveOf('desc', `$12::bigint + ${MAX_ENDED_AT_ONCE}`)}
), oldest as materialized (
  select sid, until, pg_catalog.row_number() over (order by started_at, sid) as place
  from ${liveOf('asc', `${MAX_ENDED_AT_ONCE}`)}
), decision as materialized (
  select least(greatest(excess, 0), ${MAX_ENDED_AT_ONCE}) as count, case
    when excess > 0 and $13::bigint = 1 then 'full'
    when excess > ${MAX_ENDED_AT_ONCE} then 'ending' else 'opened' end as outcome
  from (select pg_catalog.count(*) + 1 - $12::bigint as excess from newest) c
), claimed as (
  ${insertSql(tables)} select namespace, 'turn', $5, pg_catalog.pg_current_xact_id()::pg_catalog.text::bigint, now + ${TURN_MS}, 0
  from head, decision where outcome <> 'full'
  on conflict (namespace, kind, id) do update set not_before = excluded.not_before, until = excluded.until
    where r.not_before = (select turn from before)
  returning 1
), step as materialized (
  select d.* from decision d, claimed
), moved as (
  update ${heads} h set changes = h.changes + t.count from step t where t.count > 0 and ${isKnownHead(tables, 'h')}
  returning h.namespace, h.changes
), entries as materialized (
  select m.namespace, 'session' as kind, l.sid as id, ${FOREVER} as not_before, l.until,
    m.changes + 1 - l.place as change
  from moved m, step t, oldest l where l.place <= t.count
), ${takeEntriesSql(tables)}, ${openFrom(`start, step where outcome = 'opened' and (count = 0 or exists (select from moved))`)}
select pg_catalog.json_build_object('changes', coalesce(m.changes, h.changes),
  'outcome', case when d.outcome = 'full' then 'full' else coalesce(t.outcome, 'busy') end,
  'sid', o.sid, 'startedAt', o.started_at,
  'ended', (select coalesce(pg_catalog.json_agg(l.sid order by l.place), '[]') from oldest l, removed e where l.sid = e.sid),
  'news', (select pg_catalog.json_build_object('changes', changes${notifySql(channel)}) from moved))::pg_catalog.text
from head h, decision d left join step t on true left join moved m on true left join opened o on true
where t.count is null or t.count = 0 or m.changes is not null`,

    // $5: the sid, $6: the token's id, $7: its parent, $8: its generation, $9: issuedAt, $10: how old it must be,
    // $11: idleMs, $12: ip, $13: user agent. Advances the session to a successor of its current token, by the rules of
    // decideRotation, and returns the session as it was before. The caller decides all other outcomes; `move` writes them.
    //
    // Waits only for another rotation of the same session, and writes nothing if that one has moved the session. A
    // revocation that commits during the wait is missed, as if it had come later: it was not acknowledged before this call
    // began, and it covers the tokens of this rotation too, since they belong to the same session.
    rotate: `with seen as materialized (
  select h.changes, ${nowSql('$4')} as now, s.*, ${isRevoked} as is_revoked
  from ${heads} h left join ${sessions} s on s.namespace = $1 and s.sid = $5 where ${isKnownHead(tables, 'h')}
), moved as (
  update ${sessions} s set current_id = $6, previous_id = $7, generation = $8::bigint, moved_at = o.now,
    last_used_at = o.now, ip = coalesce($12, s.ip), user_agent = coalesce($13, s.user_agent)
  from seen o
  where s.namespace = $1 and s.sid = $5 and s.current_id = $7 and not o.is_revoked
    and o.now < o.until and o.now - greatest(o.last_used_at, $9::bigint) <= $11::bigint
    and pg_catalog.abs(o.now - $9::bigint) >= $10::bigint
  returning 1
)
select pg_catalog.json_build_object('changes', changes, 'now', now, 'isMoved', exists (select from moved),
  'session', case when sid is not null then ${toFoundJson('is_revoked')} end)::pg_catalog.text from seen`,

    // $5: the sid, $6: the id of its current token, $7 to $11: its new place, $12: ip, $13: user agent.
    move: `with ${head}, moved as (
  update ${sessions} s set current_id = $7, previous_id = $8, generation = $9::bigint, moved_at = $10::bigint,
    last_used_at = $11::bigint, ip = coalesce($12, s.ip), user_agent = coalesce($13, s.user_agent)
  from head where s.namespace = $1 and s.sid = $5 and s.current_id = $6
  returning 1
)
select pg_catalog.json_build_object('changes', changes, 'isMoved', exists (select from moved))::pg_catalog.text from head`,

    // $5: the sid.
    find: unlessStandby(`with ${head}
select pg_catalog.json_build_object('changes', changes, 'now', now, 'session', (
  select ${toFoundJson(isRevoked)} from ${sessions} s where s.namespace = $1 and s.sid = $5))::pg_catalog.text
from head`),

    // $5: the user, $6 and $7: the start and the sid to go on after, $8: how many rows to read, $9: idleMs.
    // A process of the release before leaves the row of a session that it revokes: hence the look at its entry.
    list: unlessStandby(`with ${head}, page as materialized (
  select s.* from head h, lateral (
    select * from ${sessions} s
    where (${leadSql('user', 's.namespace')}, s.user_id, s.started_at, s.sid)
        < (${leadSql('user', 'h.namespace')}, $5::pg_catalog.text, $6::bigint, $7::pg_catalog.text)
      and (${leadSql('user', 's.namespace')}, s.user_id, s.started_at)
        > (${leadSql('user', 'h.namespace')}, $5::pg_catalog.text, greatest(${revoked('user', '$5')}, ${revoked('all', "''")}, 0))
    order by ${leadSql('user', 's.namespace')} desc, s.user_id desc, s.started_at desc, s.sid desc
    limit $8::bigint) s
)
select pg_catalog.json_build_object('changes', changes, 'rows', (select pg_catalog.count(*) from page), 'last', (
    select pg_catalog.json_build_object('startedAt', started_at, 'sid', sid) from page order by started_at, sid limit 1),
  'sessions', (
    select coalesce(pg_catalog.json_agg(${toJson()} order by started_at desc, sid desc), '[]') from page s
    where head.now < s.until and head.now - s.last_used_at <= $9::bigint
      and ${revoked('session', 's.sid')} is null))::pg_catalog.text
from head`),

    // $5: the sid, $6: the new data, $7: the data that must be there. Of two at the same time, the second waits for the
    // first, and finds what that one has written.
    writeData: `with ${head}, written as (
  update ${sessions} s set data = $6 from head
  where s.namespace = $1 and s.sid = $5 and head.now < s.until and not ${isRevoked}
    and coalesce(s.data = $7::pg_catalog.text, s.data is null and $7::pg_catalog.text is null)
  returning 1
)
select pg_catalog.json_build_object('changes', changes, 'isWritten', exists (select from written))::pg_catalog.text from head`,
  }
}

function toFoundJson(isRevoked: string): string {
  return toJson(`, 'current', current_id, 'previous', previous_id, 'movedAt', moved_at, 'until', until,
    'isRevoked', ${isRevoked}`)
}

function toJson(more = ''): string {
  return `pg_catalog.json_build_object('sid', sid, 'user', user_id, 'startedAt', started_at, 'lastUsedAt', last_used_at,
    'expiresAt', expires_at, 'generation', generation, 'ip', ip, 'userAgent', user_agent,
    'data', data${more})`
}

// Longer than any statement, by far.
const TURN_MS = 60_000
