import type { RotationPlace } from '../../revocation/rotation.js'
import type { SessionPlace } from '../store-parts.js'
import type { Value } from './client.js'
import type { Page } from './head.js'
import { asNumber, nowSql, toLimit } from './statements.js'
import type { Tables } from './tables.js'

/** A page that is read along with the head, and its values. */
export type Reading = readonly [page: Page, values: readonly Value[]]

/** A statement that writes, and its values. */
export type Writing = readonly [sql: string, values: readonly Value[]]

// What everybody's watermark has. Under EMPTY_STRING_IS_NULL, `''` is something else.
const NO_ID = "x''"

/** The statements of the sessions of a namespace. */
export interface SessionStatements {
  /** One session; its columns are `SESSION_COLUMNS`. */
  find(sid: string): Reading
  /** The sessions of a user after a place, newest first. It may read more than `size`. */
  list(user: string, from: SessionPlace, size: number): Reading
  /** The watermark of a user, and the one for everybody; 0 for none. */
  watermarks(user: string): Reading
  /** Moves a session whose row was written so often. Writes its count, so that every row that is found is changed. */
  move(
    sid: string,
    writes: number,
    place: RotationPlace,
    client: readonly [ip: Value, userAgent: Value],
  ): Writing
  /** The same for the data of a session. */
  writeData(sid: string, writes: number, data: Value): Writing
  readonly insert: string
  /** Locks the turn of a user until the commit. */
  turn(user: string): Writing
  /** The `sid` and the end of live sessions of a user, from one end of their index. */
  live(user: string, rules: LiveRules, direction: 'asc' | 'desc', limit: number): Writing
}

/** Which sessions of a user are live. */
export interface LiveRules {
  readonly now: number
  /** The later one of the user's and that for everybody. */
  readonly watermark: number
  readonly idleMs: number
}

/** The columns of a session, in the order in which `toSession` reads them. */
const SESSION_COLUMNS = [
  'sid',
  'user_id',
  'started_at',
  'last_used_at',
  'expires_at',
  'ends_at',
  'generation',
  'moved_at',
  'writes',
  'current_id',
  'previous_id',
  'ip',
  'user_agent',
  'data',
  'revoked_up_to',
]

/** Writes the statements for a store's tables. */
export function createSessionStatements(
  { revocations, sessions }: Tables,
  namespace: string,
): SessionStatements {
  const revoked = (kind: string, id: string): string =>
    `coalesce((select r.not_before from ${revocations} r where r.namespace = ? and r.kind = '${kind}' and r.id = ${id}), 0)`
  const columns = SESSION_COLUMNS.map((name) => `p.${name}`).join()
  const revokedUpTo = `greatest(${revoked('session', 's.sid')}, ${revoked('user', 's.user_id')}, ${revoked('all', NO_ID)})`
  const select = `select s.*, ${revokedUpTo} as revoked_up_to from ${sessions} s`

  return {
    find: (sid) => [
      { columns, from: `(${select} where s.namespace = ? and s.sid = ?) p` },
      [namespace, namespace, namespace, namespace, sid],
    ],
    list(user, { startedAt, sid }, size) {
      const at = String(startedAt)
      const from = `(${select} force index (by_user)
where s.namespace = ? and s.user_id = ? and s.started_at <= ${asNumber}
  and (s.started_at < ${asNumber} or s.sid < ?)
  and s.started_at > greatest(${revoked('user', '?')}, ${revoked('all', NO_ID)})
order by s.started_at desc, s.sid desc limit ${toLimit(toSize(size))}) p`
      const values = [
        namespace,
        namespace,
        namespace,
        namespace,
        user,
        at,
        at,
        sid,
        namespace,
        user,
        namespace,
      ]
      return [{ columns, from }, values]
    },
    watermarks: (user) => [
      {
        columns: 'p.of_user, p.of_all',
        from: `(select ${revoked('user', '?')} as of_user, ${revoked('all', NO_ID)} as of_all) p`,
      },
      [namespace, user, namespace],
    ],
    move(sid, writes, { current, previous, generation, movedAt, lastUsedAt }, client) {
      const sql = `update ${sessions} set writes = writes + 1, current_id = ?, previous_id = ?, generation = ${asNumber},
  moved_at = ${asNumber}, last_used_at = ${asNumber}, ip = coalesce(?, ip), user_agent = coalesce(?, user_agent)
where namespace = ? and sid = ? and writes = ${asNumber}`
      const place = [current, previous, ...[generation, movedAt, lastUsedAt].map(String)]
      return [sql, [...place, ...client, namespace, sid, String(writes)]]
    },
    writeData: (sid, writes, data) => [
      `update ${sessions} set writes = writes + 1, data = ? where namespace = ? and sid = ? and writes = ${asNumber}`,
      [data, namespace, sid, String(writes)],
    ],
    insert: `insert into ${sessions} (namespace, sid, user_id, started_at, last_used_at, expires_at, ends_at, generation,
  moved_at, writes, current_id, ip, user_agent, data)
values (?, ?, ?, ${Array.from({ length: 6 }, () => asNumber).join()}, 0, ?, ?, ?, ?)`,
    turn: (user) => [
      `insert into ${revocations} (namespace, kind, id, not_before, ends_at, change_number)
values (?, 'turn', ?, 0, ${nowSql} + ${TURN_MS}, 0) on duplicate key update ends_at = values(ends_at)`,
      [namespace, user, null],
    ],
    live: (user, { now, watermark, idleMs }, direction, limit) => [
      `select s.sid, s.ends_at from ${sessions} s force index (by_user)
where s.namespace = ? and s.user_id = ? and s.started_at > ${asNumber} and s.ends_at > ${asNumber}
  and ${asNumber} - s.last_used_at <= ${asNumber}
  and not exists (select 1 from ${revocations} r where r.namespace = ? and r.kind = 'session' and r.id = s.sid)
order by s.started_at ${direction}, s.sid ${direction} limit ${toLimit(limit)}`,
      [namespace, user, ...[watermark, now, now, idleMs].map(String), namespace],
    ],
  }
}

// Longer than any transaction, by far.
const TURN_MS = 60_000

// A few sizes only, so that connections have few statements to prepare.
function toSize(size: number): number {
  let rounded = 16
  while (rounded < size) rounded *= 2
  return rounded
}
