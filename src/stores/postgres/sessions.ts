import { FOREVER, type Revocation } from '../../revocation/revocation.js'
import { judgeRotation, type RotationState } from '../../revocation/rotation.js'
import type { OpenedSession, Rotation, SessionStore, StoredSession } from '../../revocation/session-store.js'
import type { Clock } from '../../time.js'
import { type History, type HistoryAnswer, readClock, toMilliseconds } from './history.js'
import type { SessionStatements } from './session-statements.js'

interface RotateAnswer extends HistoryAnswer {
  /** `null` when the session was not rotated. */
  readonly generation: number | null
  readonly expiresAt: number
}

interface JudgeAnswer extends HistoryAnswer {
  readonly now: number
  readonly session: (RotationState & { readonly expiresAt: number }) | null
}

/** What sessions need of the store around them. */
export interface SessionSurroundings {
  readonly clock: Clock | undefined
  /** Writes revocations, and returns how many of them were news. */
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
  // Why nothing was rotated. Whatever it was, it stays so: generations only grow, time goes on, and revocations
  // and the ends of sessions are final. So a later look, and a revocation in a statement of its own, judge as one
  // step would: nobody can make a used token good again in between.
  const judge: SessionStore['rotate'] = async (sid, presented, rules) => {
    const { session, now } = await history.ask<JudgeAnswer>(statements.judge, [readClock(clock), sid])
    const verdict = judgeRotation(session, presented, rules, now)
    if (session === null || verdict === 'end') return ENDED
    const { generation, expiresAt, until } = session
    if (verdict === 'replay') return { outcome: 'replayed', generation, expiresAt }
    // A clock that was set back: the session was over when it was presented.
    if (verdict === 'rotate') return ENDED
    const news = await revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until }])
    return news > 0 ? { outcome: 'reused', generation } : ENDED
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
      if (generation === null) return judge(sid, presented, rules)
      afterWrite()
      return { outcome: 'rotated', generation, expiresAt }
    },
    async list(user) {
      const { sessions } = await history.ask<HistoryAnswer & { readonly sessions: readonly StoredSession[] }>(
        statements.list,
        [readClock(clock), user],
      )
      return sessions
    },
  }
}

const ENDED: Rotation = { outcome: 'ended' }
