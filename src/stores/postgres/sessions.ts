import {
  assertSessionLimit,
  decideRotation,
  parseListOptions,
  type RotationState,
  toPauseMs,
} from '../../revocation/store-rules.js'
import { FOREVER, type Revocation } from '../../revocation/revocation.js'
import type {
  LimitedOpening,
  NewSession,
  OpenedSession,
  Presentation,
  RotationRules,
  SessionStore,
  StoredSession,
} from '../../revocation/session-store.js'
import type { Clock } from '../../time.js'
import type { Value } from './client.js'
import { type History, type HistoryAnswer, readClock, toMilliseconds } from './history.js'
import type { SessionStatements } from './session-statements.js'

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

/** `busy`: others have opened sessions of the user since the statement began, and it has done nothing. */
interface OpenAnswer extends HistoryAnswer, OpenedSession {
  readonly outcome: LimitedOpening['outcome'] | 'busy'
  readonly ended: readonly string[]
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
): Required<SessionStore> {
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
    async open(session) {
      const values = toValues(session, clock)
      const answer = await history.query<HistoryAnswer & OpenedSession>(statements.open, values)
      afterWrite()
      const { sid, startedAt } = answer
      return { sid, startedAt }
    },
    async openLimited(session, limit, { signal } = {}) {
      assertSessionLimit(limit)
      const rules = [limit.max, limit.whenFull === 'refuse' ? 1 : 0, toMilliseconds(limit.idleMs)]
      // Every time that it finds others to have been first, one of them has opened a session.
      for (let attempt = 0; attempt < MAX_TURNS; attempt++) {
        signal?.throwIfAborted()
        const values = [...toValues(session, clock), ...rules]
        const answer = await history.query<OpenAnswer>(statements.openLimited, values)
        const { outcome, sid, startedAt, ended } = answer
        if (outcome === 'full') return { outcome }
        if (outcome === 'busy') continue
        afterWrite()
        return outcome === 'opened' ? { outcome, sid, startedAt, ended } : { outcome, ended }
      }
      throw new Error('Too many sessions of one user are opened at the same time')
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
          toPauseMs(rules),
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
      const { until: _until, isRevoked: _isRevoked, ...stored } = session
      return stored
    },
  }
}

const ENDED = { outcome: 'ended' } as const
const NEWEST = { startedAt: FOREVER, sid: '' }
const MAX_ROWS = 1000
const MAX_TURNS = 200

function toValues(
  { user, nonce, expiresAt, until, ip, userAgent }: NewSession,
  clock: Clock | undefined,
): readonly Value[] {
  return [readClock(clock), user, nonce, toMilliseconds(expiresAt), toMilliseconds(until), ip, userAgent]
}
