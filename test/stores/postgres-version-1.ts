/** The SQL of the release whose tables have version 1, as it was, with the default prefix. */
export const MIGRATION_1 = `do $tokenlib$
declare
  installed integer;
begin
  perform pg_advisory_xact_lock(hashtextextended('"tokenlib_version"', 7036871));
  
  if to_regclass('"tokenlib_version"') is null then
    create table "tokenlib_version" (version integer not null);
    insert into "tokenlib_version" values (0);
  end if;
  select v.version into strict installed from "tokenlib_version" v;

  if installed < 1 then
    create table "tokenlib_heads" (
      changes bigint not null,
      longest_lifetime bigint not null,
      namespace text collate "C" primary key,
      epoch text collate "C" not null
    ) with (fillfactor = 10);

    create table "tokenlib_revocations" (
      not_before bigint not null,
      until bigint not null,
      change bigint not null,
      namespace text collate "C" not null,
      kind text collate "C" not null,
      id text collate "C" not null,
      primary key (namespace, kind, id)
    );
    create index on "tokenlib_revocations" (namespace, change);
    create index on "tokenlib_revocations" (namespace, until);

    create table "tokenlib_sessions" (
      started_at bigint not null,
      last_used_at bigint not null,
      expires_at bigint not null,
      until bigint not null,
      generation bigint not null,
      namespace text collate "C" not null,
      sid text collate "C" not null,
      user_id text collate "C" not null,
      ip text,
      user_agent text,
      primary key (namespace, sid)
    ) with (fillfactor = 85);
    create index on "tokenlib_sessions" (namespace, user_id);
    create index on "tokenlib_sessions" (namespace, until);
    create index on "tokenlib_sessions" (namespace, started_at);
    update "tokenlib_version" set version = 1;
  end if;
end
$tokenlib$`

/** Its statements; the values are those of the statements of the same names in `src/stores/postgres`. */
export const STATEMENTS_1 = {
  enter: `with head as (
  insert into "tokenlib_heads" as h (namespace, epoch, changes, longest_lifetime)
  values ($1, $2, (select coalesce(max(change), 0) from "tokenlib_revocations" where namespace = $1), $3::bigint)
  on conflict (namespace) do update set longest_lifetime = greatest(h.longest_lifetime, excluded.longest_lifetime)
  returning epoch, changes, longest_lifetime
), mark as (
  insert into "tokenlib_revocations" as r (namespace, kind, id, not_before, until, change) select $1, 'epoch', epoch, 0, 9007199254740991, 0 from head where epoch = $2
)
select json_build_object('epoch', epoch, 'changes', changes, 'isExtended', exists (
  select from "tokenlib_revocations" m where m.namespace = $1 and m.kind = 'epoch' and m.id = epoch
    and m.not_before >= longest_lifetime))::text from head`,

  revoke: `with head as (
  update "tokenlib_heads" h set changes = changes + $6::bigint where not pg_is_in_recovery() and h.namespace = $1 and h.epoch = $2
    and h.changes >= $3::bigint and exists (
      select from "tokenlib_revocations" m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2)
  returning changes, longest_lifetime, coalesce($4::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint) as now
), given as (
  select g.at, g.kind, g.id, g.until, h.now, h.changes, h.longest_lifetime,
    g.kind in ('user', 'all') as is_watermark,
    case g.kind
      when 'user' then greatest(least(g.not_before, h.now + 60000), h.now, least(h.now + 3600000, (select coalesce(max(s.started_at), 0) from "tokenlib_sessions" s where s.namespace = $1 and s.user_id = g.id)))
      when 'all' then greatest(least(g.not_before, h.now + 60000), h.now, least(h.now + 3600000, (select coalesce(max(s.started_at), 0) from "tokenlib_sessions" s where s.namespace = $1)))
      else g.not_before end as not_before
  from head h, json_to_recordset($5::text::json)
    as g(at bigint, kind text, id text, not_before bigint, until bigint)
), taken as (
  insert into "tokenlib_revocations" as r (namespace, kind, id, not_before, until, change) select $1, g.kind, g.id, g.not_before,
    case when is_watermark then greatest(g.until, least(9007199254740991, g.not_before + g.longest_lifetime))
      when g.kind = 'session' then
        coalesce(s.until, greatest(g.until, least(9007199254740991, g.now + g.longest_lifetime)))
      else g.until end,
    g.changes - g.at
  from given g left join "tokenlib_sessions" s on g.kind = 'session' and s.namespace = $1 and s.sid = g.id
  on conflict (namespace, kind, id) do update set
    not_before = greatest(r.not_before, excluded.not_before),
    until = greatest(r.until, excluded.until), change = excluded.change
    where r.not_before < excluded.not_before or r.until < excluded.until
  returning 1
)
select json_build_object('changes', changes, 'timeline', substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
  'now', greatest(now, (select max(not_before) from given where is_watermark)),
  'taken', (select count(*) from taken))::text from head`,

  lookup: `select json_build_object('changes', h.changes, 'found', (
  select json_agg((select r.not_before from "tokenlib_revocations" r
    where r.namespace = $1 and r.kind = k.pair->>0 and r.id = k.pair->>1) order by k.at)
  from json_array_elements($4::text::json) with ordinality as k(pair, at)))::text
from "tokenlib_heads" h where not pg_is_in_recovery() and h.namespace = $1 and h.epoch = $2
    and h.changes >= $3::bigint and exists (
      select from "tokenlib_revocations" m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2) union all select '{"isStandby":true}' where pg_is_in_recovery()`,

  feed: `select json_build_object('changes', h.changes, 'timeline', substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), 'entries', (
  select coalesce(json_agg(json_build_object('kind', kind, 'id', id, 'notBefore', not_before, 'until', until,
    'change', change) order by change), '[]')
  from (select * from "tokenlib_revocations" where namespace = $1 and change > $4::bigint
    order by change limit 1000) page))::text
from "tokenlib_heads" h where not pg_is_in_recovery() and h.namespace = $1 and h.epoch = $2
    and h.changes >= $3::bigint and exists (
      select from "tokenlib_revocations" m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2) union all select '{"isStandby":true}' where pg_is_in_recovery()`,

  prune: `with turn as materialized (
  select pg_try_advisory_xact_lock(hashtextextended($5, 7036872)) as is_mine,
    least(coalesce($2::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint), $3::bigint) - 60000 as ended_before
), dropped as (
  delete from "tokenlib_revocations" where ctid = any (array(
    select ctid from "tokenlib_revocations" where (select is_mine from turn) and namespace = $1
      and until <= (select ended_before from turn) order by until limit $4::bigint for update skip locked))
  returning 1
), ended as (
  delete from "tokenlib_sessions" where ctid = any (array(
    select ctid from "tokenlib_sessions" where (select is_mine from turn) and namespace = $1
      and until <= (select ended_before from turn) order by until limit $4::bigint for update skip locked))
  returning 1
)
select ((select count(*) from dropped) + (select count(*) from ended))::text`,

  open: `with head as materialized (
  select h.changes, coalesce($4::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint) as now from "tokenlib_heads" h
  where not pg_is_in_recovery() and h.namespace = $1 and h.epoch = $2
    and h.changes >= $3::bigint and exists (
      select from "tokenlib_revocations" m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2)
), start as materialized (
  select greatest(now, nullif((select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'user' and r.id = $5), 9007199254740991) + 1, nullif((select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'all' and r.id = ''), 9007199254740991) + 1) as at from head
), opened as (
  insert into "tokenlib_sessions" (namespace, sid, user_id, started_at, last_used_at, expires_at, until, generation, ip,
    user_agent)
  select $1, translate(encode(substring(int8send(at) from 3), 'base64'), '+/', '-_') || $6::text, $5, at, at,
    $7::bigint, $8::bigint, 0, $9, $10 from start
  returning sid, started_at
)
select json_build_object('changes', changes, 'sid', sid, 'startedAt', started_at)::text from opened, head`,

  rotate: `with head as materialized (
  select h.changes, coalesce($4::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint) as now from "tokenlib_heads" h
  where not pg_is_in_recovery() and h.namespace = $1 and h.epoch = $2
    and h.changes >= $3::bigint and exists (
      select from "tokenlib_revocations" m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2)
), rotated as (
  update "tokenlib_sessions" s set generation = $6::bigint + 1, last_used_at = h.now, ip = coalesce($8, s.ip),
    user_agent = coalesce($9, s.user_agent)
  from head h
  where s.namespace = $1 and s.sid = $5 and s.generation <= $6::bigint and h.now < s.until
    and h.now - s.last_used_at <= $7::bigint and not coalesce(s.started_at <= greatest(
    (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'session' and r.id = s.sid), (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'user' and r.id = s.user_id), (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'all' and r.id = '')), false)
  returning s.generation, s.expires_at
)
select json_build_object('changes', changes, 'generation', generation, 'expiresAt', expires_at)::text
from head left join rotated on true`,

  judge: `with head as materialized (
  select h.changes, coalesce($4::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint) as now from "tokenlib_heads" h
  where not pg_is_in_recovery() and h.namespace = $1 and h.epoch = $2
    and h.changes >= $3::bigint and exists (
      select from "tokenlib_revocations" m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2)
)
select json_build_object('changes', changes, 'now', now, 'session', (
  select json_build_object('generation', generation, 'lastUsedAt', last_used_at, 'until', until,
    'expiresAt', expires_at, 'isRevoked', coalesce(s.started_at <= greatest(
    (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'session' and r.id = s.sid), (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'user' and r.id = s.user_id), (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'all' and r.id = '')), false))
  from "tokenlib_sessions" s where s.namespace = $1 and s.sid = $5))::text from head union all select '{"isStandby":true}' where pg_is_in_recovery()`,

  list: `with head as materialized (
  select h.changes, coalesce($4::bigint, floor(extract(epoch from clock_timestamp()) * 1000)::bigint) as now from "tokenlib_heads" h
  where not pg_is_in_recovery() and h.namespace = $1 and h.epoch = $2
    and h.changes >= $3::bigint and exists (
      select from "tokenlib_revocations" m where m.namespace = $1 and m.kind = 'epoch' and m.id = $2)
)
select json_build_object('changes', changes, 'sessions', (
  select coalesce(json_agg(json_build_object('sid', sid, 'startedAt', started_at, 'lastUsedAt', last_used_at,
    'expiresAt', expires_at, 'ip', ip, 'userAgent', user_agent) order by started_at desc), '[]')
  from (select * from "tokenlib_sessions" s where s.namespace = $1 and s.user_id = $5 and head.now < s.until
    and not coalesce(s.started_at <= greatest(
    (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'session' and r.id = s.sid), (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'user' and r.id = s.user_id), (select r.not_before from "tokenlib_revocations" r where r.namespace = $1 and r.kind = 'all' and r.id = '')), false) order by started_at desc limit 1000) live))::text from head union all select '{"isStandby":true}' where pg_is_in_recovery()`,
}
