import { parseListOptions, decideRotation, type RotationState } from '../../revocation/store-rules.js'
import { FOREVER, type Revocation } from '../../revocation/revocation.js'
import type {
  OpenedSession,
  Presentation,
  RotationOptions,
  SessionStore,
  StoredSession,
} from '../../revocation/store.js'
import type { Clock } from '../../time.js'
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

type Judgement =
  | Presentation
  | { readonly outcome: 'replayed'; readonly generation: number; readonly expiresAt: number }

/** What sessions need of the store around them. */
export interface SessionSurroundings {
  readonly clock: Clock | undefined
  /** Writes revocations, and returns how many sessions it removed. */
  readonly revoke: (batch: readonly Revocation[]) => Promise<number>
  /** Called after a write. */
  readonly afterWrite: () => void
}

/** The sessions of a store. */
export function createSessions(
  history: History,
  statements: SessionStatements,
  { clock, revoke, afterWrite }: SessionSurroundings,
): SessionStore {
  const find = (sid: string): Promise<FindAnswer> =>
    history.ask<FindAnswer>(statements.find, [readClock(clock), sid])

  // Where a token stands that did not move its session on. Whatever it is, it stays so: generations only grow, time
  // goes on, and revocations and the ends of sessions are final. So a later look, and a revocation in a statement of
  // its own, judge as one step would: nobody can make a used token good again in between.
  const judge = async (
    sid: string,
    presented: number,
    rules: Pick<RotationOptions, 'graceMs' | 'idleMs'>,
  ): Promise<Judgement> => {
    const { session, now } = await find(sid)
    const verdict = decideRotation(session, presented, rules, now)
    if (session === null || verdict === 'end') return ENDED
    const { generation, expiresAt, until } = session
    if (verdict === 'rotate') return { outcome: 'current' }
    if (verdict === 'replay') return { outcome: 'replayed', generation, expiresAt }
    // Of several who find a reuse, the one that removes the session tells of it.
    const removed = await revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until }])
    return removed > 0 ? { outcome: 'reused', generation } : ENDED
  }

  return {
    async open({ user, nonce, expiresAt, until, ip, userAgent }) {
      const { sid, startedAt } = await history.ask<HistoryAnswer & OpenedSession>(statements.open, [
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
      const { generation, expiresAt } = await history.ask<RotateAnswer>(statements.rotate, [
        readClock(clock),
        sid,
        presented,
        toMilliseconds(rules.idleMs),
        rules.ip,
        rules.userAgent,
      ])
      if (generation === null) {
        const found = await judge(sid, presented, rules)
        // A clock that was set back: the session was over when it was presented.
        return found.outcome === 'current' ? ENDED : found
      }
      afterWrite()
      return { outcome: 'rotated', generation, expiresAt }
    },
    async present(sid, presented, rules) {
      const found = await judge(sid, presented, rules)
      return found.outcome === 'replayed' ? { outcome: 'current' } : found
    },
    async list(user, options) {
      const { limit, idleMs, before } = parseListOptions(options)
      const live: StoredSession[] = []
      let after = before ?? NEWEST
      // A statement reads a bounded number of rows, whatever they are of.
      for (let size = limit; live.length < limit; size = Math.min(MOST_ROWS, 2 * size)) {
        const { sessions, rows, last } = await history.ask<ListAnswer>(statements.list, [
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
const MOST_ROWS = 1000
