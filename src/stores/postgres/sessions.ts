import { parseListOptions, decideRotation, type RotationState } from '../../revocation/store-rules.js'
import { FOREVER, type Revocation } from '../../revocation/revocation.js'
import type {
  OpenedSession,
  Presentation,
  RotationRules,
  SessionStore,
  StoredSession,
} from '../../revocation/session-store.js'
import type { Clock } from '../../time.js'
import { type History, type HistoryAnswer, readClock, toMilliseconds } from './history.js'
import { isKnownHead, nowSql, OR_STANDBY } from './statements.js'
import { leadSql, type Tables } from './tables.js'

interface RotateAnswer extends HistoryAnswer {
  /** `null` when the session was not rotated. */
  readonly generation: number | null
  readonly expiresAt: number
}

interface FindAnswer extends HistoryAnswer {
  readonly now: number
  readonly session: (StoredSession & RotationState) | null
}

interface ListAnswer extends HistoryAnswer {
  /** How many rows were read; some of them may be of sessions that are over, idle or revoked. */
  readonly rows: number
  /** The last row that was read; `null` where there was none. */
  readonly last: { readonly startedAt: number; readonly sid: string } | null
  readonly sessions: readonly StoredSession[]
}

type Decision =
  | Presentation
  | { readonly outcome: 'replayed'; readonly generation: number; readonly expiresAt: number }

/** What sessions need of the store around them. */
export interface SessionsOptions {
  readonly clock: Clock | undefined
  /** Writes revocations, and returns how many sessions it removed. */
  readonly revoke: (batch: readonly Revocation[]) => Promise<number>
  /** Called after a write. */
  readonly afterWrite: () => void
}

/** The sessions of a store. */
export function createPostgresSessions(
  history: History,
  statements: SessionStatements,
  { clock, revoke, afterWrite }: SessionsOptions,
): SessionStore {
  const find = (sid: string): Promise<FindAnswer> =>
    history.query<FindAnswer>(statements.find, [readClock(clock), sid])

  // Where a token stands that did not move its session on. Whatever it is, it stays so: generations only grow, time
  // goes on, and revocations and the ends of sessions are final. So a later look, and a revocation in a statement of
  // its own, decide as one step would: nobody can make a used token good again in between.
  const decide = async (sid: string, presented: number, rules: RotationRules): Promise<Decision> => {
    const { session, now } = await find(sid)
    const verdict = decideRotation(session, presented, rules, now)
    if (session === null || verdict === 'end') return ENDED
    const { generation, expiresAt, until, ip, userAgent } = session
    if (verdict === 'rotate') return { outcome: 'current' }
    if (verdict === 'replay') return { outcome: 'replayed', generation, expiresAt }
    // Of several who find a reuse, the one that removes the session tells of it.
    const removed = await revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until }])
    return removed > 0 ? { outcome: 'reused', generation, client: { ip, userAgent } } : ENDED
  }

  return {
    async open({ user, nonce, expiresAt, until, ip, userAgent }) {
      const { sid, startedAt } = await history.query<HistoryAnswer & OpenedSession>(statements.open, [
        readClock(clock),
        user,
        nonce,
        toMilliseconds(expiresAt),
        toMilliseconds(until),
        ip,
        userAgent,
      ])
      afterWrite()
      return { sid, startedAt }
    },
    async rotate(sid, presented, rules) {
      // Twice: between the two statements, a clock may be set back, or a standby promoted that has an older generation.
      for (let attempt = 0; attempt < 2; attempt++) {
        const { generation, expiresAt } = await history.query<RotateAnswer>(statements.rotate, [
          readClock(clock),
          sid,
          presented,
          toMilliseconds(rules.idleMs),
          rules.ip,
          rules.userAgent,
        ])
        if (generation !== null) {
          afterWrite()
          return { outcome: 'rotated', generation, expiresAt }
        }
        const found = await decide(sid, presented, rules)
        if (found.outcome !== 'current') return found
      }
      return ENDED
    },
    async present(sid, presented, rules) {
      const found = await decide(sid, presented, rules)
      return found.outcome === 'replayed' ? { outcome: 'current' } : found
    },
    async list(user, options) {
      const { limit, idleMs, before } = parseListOptions(options)
      const live: StoredSession[] = []
      let after = before ?? NEWEST
      // A statement reads a bounded number of rows, whatever they are of.
      for (let size = limit; live.length < limit; size = Math.min(MAX_ROWS, 2 * size)) {
        const { sessions, rows, last } = await history.query<ListAnswer>(statements.list, [
          readClock(clock),
          user,
          after.startedAt,
          after.sid,
          size,
          toMilliseconds(idleMs),
        ])
        live.push(...sessions)
        if (last === null || rows < size) break
        after = last
      }
      return live.slice(0, limit)
    },
    async get(sid, { idleMs }) {
      const { session, now } = await find(sid)
      if (session === null || session.isRevoked || now >= session.until) return null
      if (now - session.lastUsedAt > idleMs) return null
      const { generation: _generation, until: _until, isRevoked: _isRevoked, ...stored } = session
      return stored
    },
  }
}

const ENDED = { outcome: 'ended' } as const
const NEWEST = { startedAt: FOREVER, sid: '' }
const MAX_ROWS = 1000

/** The statements of sessions; $1 to $3 are those of every statement about a history, $4 is a clock. */
export type SessionStatements = Readonly<Record<'open' | 'rotate' | 'find' | 'list', string>>

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
