import {
  decideRotation,
  ROOT,
  type Rotation,
  type RotationDecision,
  type RotationState,
  toPresentation,
  toRotation,
} from '../../revocation/rotation.js'
import {
  assertSessionLimit,
  type FoundSession,
  type LimitedOpening,
  type NewSession,
  type OpenedSession,
  type SessionStore,
  type StoredSession,
} from '../../revocation/session-store.js'
import { FOREVER, type Revocation } from '../../revocation/revocation.js'
import type { SessionClient } from '../../events.js'
import type { Clock } from '../../time.js'
import { listLive, readClock, type SessionPlace, toMilliseconds } from '../store-parts.js'
import type { Value } from './client.js'
import type { History, HistoryAnswer } from './history.js'
import type { SessionStatements } from './session-statements.js'

interface FindAnswer extends HistoryAnswer {
  readonly now: number
  readonly session: (FoundSession & RotationState) | null
}

interface MoveAnswer extends HistoryAnswer {
  readonly isMoved: boolean
}

interface WriteDataAnswer extends HistoryAnswer {
  readonly isWritten: boolean
}

interface ListAnswer extends HistoryAnswer {
  /** How many rows were read; some of them may be of sessions that are over, idle or revoked. */
  readonly rows: number
  /** The last row that was read, or `null`. */
  readonly last: SessionPlace | null
  readonly sessions: readonly StoredSession[]
}

/** `busy`: others have opened sessions of the user since the statement began, and it has done nothing. */
interface OpenAnswer extends HistoryAnswer, OpenedSession {
  readonly outcome: LimitedOpening['outcome'] | 'busy'
  readonly ended: readonly string[]
}

/** What sessions need of the store around them. */
export interface SessionsOptions {
  readonly clock: Clock | undefined
  /** Writes revocations, and returns how many sessions it removed. */
  readonly revoke: (batch: readonly Revocation[]) => Promise<number>
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

  // Writes what was decided; false if another rotation has moved the session since it was read.
  const move = async (
    session: FoundSession | null,
    decision: RotationDecision,
    client: SessionClient,
  ): Promise<boolean> => {
    if (session === null || !('place' in decision) || decision.place === null) return true
    const { current, previous, generation, movedAt, lastUsedAt } = decision.place
    const place = [current, previous, generation, movedAt, lastUsedAt]
    const { ip, userAgent } = decision.outcome === 'advance' ? client : NO_CLIENT
    const values = [readClock(clock), session.sid, session.current, ...place, ip, userAgent]
    const { isMoved } = await history.query<MoveAnswer>(statements.move, values)
    if (isMoved) afterWrite()
    return isMoved
  }

  // A reuse stays a reuse, because a session never moves back: revoking in a separate statement is as good as in one step.
  const settle = async (decision: RotationDecision, { session, now }: FindAnswer): Promise<Rotation> => {
    if (session !== null && decision.outcome === 'reuse') {
      const { sid, until } = session
      // If several calls find the reuse, only the one that removes the session reports it.
      const removed = await revoke([{ kind: 'session', id: sid, notBefore: FOREVER, until }])
      if (removed === 0) return { outcome: 'ended' }
    }
    return toRotation(decision, session, now)
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
    async rotate(sid, token, options) {
      const values = [
        sid,
        token.id,
        token.parent,
        token.generation,
        toMilliseconds(token.issuedAt),
        token.parent === ROOT ? 0 : toMilliseconds(options.graceMs),
        toMilliseconds(Math.floor(options.idleMs)),
        options.ip,
        options.userAgent,
      ]
      // Each retry means that another rotation has moved the session.
      for (let attempt = 0; attempt < MAX_MOVES; attempt++) {
        const found = await history.query<FindAnswer & MoveAnswer>(statements.rotate, [
          readClock(clock),
          ...values,
        ])
        const decision = decideRotation(found.session, token, options, found.now)
        if (found.isMoved) afterWrite()
        else if (!(await move(found.session, decision, options))) continue
        return settle(decision, found)
      }
      throw new Error('Too many rotations of one session at the same time')
    },
    async present(sid, token, rules) {
      const found = await find(sid)
      return toPresentation(await settle(decideRotation(found.session, token, rules, found.now), found))
    },
    list: (user, options) =>
      listLive(options, async (from, size, idleMs) => {
        const { startedAt, sid } = from ?? NEWEST
        const values = [readClock(clock), user, startedAt, sid, size, toMilliseconds(idleMs)]
        const { sessions, rows, last } = await history.query<ListAnswer>(statements.list, values)
        return { live: sessions, next: rows < size ? null : last }
      }),
    async get(sid, { idleMs }) {
      const { session, now } = await find(sid)
      if (session === null || session.isRevoked || now >= session.until) return null
      if (now - session.lastUsedAt > idleMs) return null
      const { until: _until, isRevoked: _isRevoked, ...rest } = session
      return rest
    },
    async writeData(sid, data, before) {
      const values = [readClock(clock), sid, data, before]
      const { isWritten } = await history.query<WriteDataAnswer>(statements.writeData, values)
      if (isWritten) afterWrite()
      return isWritten
    },
  }
}

const NO_CLIENT = { ip: null, userAgent: null }
const NEWEST = { startedAt: FOREVER, sid: '' }
const MAX_TURNS = 200
const MAX_MOVES = 20

function toValues(
  { user, nonce, expiresAt, until, ip, userAgent, data = null }: NewSession,
  clock: Clock | undefined,
): readonly Value[] {
  const ends = [toMilliseconds(expiresAt), toMilliseconds(until)]
  return [readClock(clock), user, nonce, ...ends, ip, userAgent, data]
}
