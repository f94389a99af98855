import { toTimedId } from '../../tokens/ids.js'
import type { SessionClient } from '../../events.js'
import { FOREVER } from '../../revocation/revocation.js'
import {
  decideRotation,
  type PresentedToken,
  type RotationDecision,
  type RotationRules,
  type RotationState,
  toFirstPlace,
  toPresentation,
  toRotation,
} from '../../revocation/rotation.js'
import {
  assertSessionLimit,
  decideOpening,
  type FoundSession,
  MAX_ENDED_AT_ONCE,
  type NewSession,
  type OpenedSession,
  type SessionStore,
  type StoredSession,
} from '../../revocation/session-store.js'
import type { Clock } from '../../time.js'
import { type LateSessions, listLive, type SessionPlace } from '../store-parts.js'
import { createSweeper, pruneMap, type RevocationCopy } from './revocations.js'
import { createSessionOrder } from './session-order.js'

/** The sessions of a memory store. */
export interface MemorySessions {
  readonly store: Required<SessionStore>
  /** When a session ends, in epoch milliseconds, or `undefined` for one that is not known. */
  readonly readUntil: (sid: string) => number | undefined
  /** The newest start of a user's sessions, or of all; 0 without any. */
  readonly readNewestStart: (user: string | null) => number
  /** Revokes some of these; returns whether there are more. */
  readonly revokeSome: (late: LateSessions) => boolean
  /** Removes a session that is revoked. */
  removeRevoked(sid: string): void
  /** Drops a few sessions and revocations that have ended; `writes` say how far it looks. */
  readonly sweep: (writes: number) => void
  prune(limit: number): Iterable<number>
  clear(): void
}

/** What the sessions of a memory store work with. */
export interface MemorySessionsOptions {
  readonly revocations: RevocationCopy
  readonly now: Clock
  /** The clock that sessions are dropped by. */
  readonly pruneClock: Clock
  /** Throws when the store is closed. */
  readonly assertOpen: () => void
}

interface Session extends FoundSession {
  readonly until: number
}

interface FindOptions {
  readonly idleMs: number
  /** How many live ones to find, and how many to look at. */
  readonly most: number
  readonly looks: number
}

const SWEEP_STEPS = 4

/** No sessions, in the memory of this process. */
export function createMemorySessions({
  revocations,
  now,
  pruneClock,
  assertOpen,
}: MemorySessionsOptions): MemorySessions {
  const sessions = new Map<string, Session>()
  const order = createSessionOrder((sid) => sessions.has(sid))
  let newestOfAll = 0

  const remove = (sid: string): boolean => {
    const session = sessions.get(sid)
    if (session === undefined) return false
    sessions.delete(sid)
    order.remove(session.user)
    return true
  }

  const sweepSessions = createSweeper(sessions, remove)

  const sweep = (writes: number): void => {
    revocations.sweep(writes)
    sweepSessions(pruneClock(), SWEEP_STEPS * writes)
  }

  const watermarkOf = (user: string): number =>
    Math.max(revocations.find('user', user) ?? 0, revocations.find('all', '') ?? 0)

  const isRevoked = ({ sid, user, startedAt }: Session): boolean =>
    startedAt <= Math.max(watermarkOf(user), revocations.find('session', sid) ?? 0)

  const isLive = (session: Session, idleMs: number, at: number): boolean =>
    at < session.until && at - session.lastUsedAt <= idleMs && !isRevoked(session)

  const revoke = ({ sid, until }: Session): void => {
    revocations.merge({ kind: 'session', id: sid, notBefore: FOREVER, until })
    remove(sid)
  }

  const decide = (
    sid: string,
    token: PresentedToken,
    rules: RotationRules,
    at: number,
  ): readonly [RotationDecision, Session | null] => {
    assertOpen()
    const session = sessions.get(sid) ?? null
    const decision = decideRotation(session && toState(session, isRevoked(session)), token, rules, at)
    if (session !== null && decision.outcome === 'reuse') revoke(session)
    return [decision, session]
  }

  const open = ({ user, nonce, ...rest }: NewSession): OpenedSession => {
    assertOpen()
    // Whole milliseconds, as in the id.
    const startedAt = Math.floor(Math.max(now(), watermarkOf(user) + 1))
    const sid = toTimedId(startedAt, nonce)
    newestOfAll = Math.max(newestOfAll, startedAt)
    sessions.set(sid, { ...rest, sid, user, startedAt, ...toFirstPlace(startedAt) })
    order.add(user, { startedAt, sid })
    return { sid, startedAt }
  }

  // The live ones among some places of a user's sessions, and where to go on after so many looks.
  const findLive = (
    user: string,
    places: Iterable<SessionPlace>,
    { idleMs, most, looks }: FindOptions,
  ): { readonly live: readonly Session[]; readonly next: SessionPlace | null } => {
    const [watermark, at] = [watermarkOf(user), now()]
    const live: Session[] = []
    let left = looks
    for (const place of places) {
      // From the newest on, all that are older are revoked too.
      if (place.startedAt <= watermark || live.length === most) break
      const session = sessions.get(place.sid)
      if (session !== undefined && isLive(session, idleMs, at)) live.push(session)
      if (--left === 0) return { live, next: place }
    }
    return { live, next: null }
  }

  const store: Required<SessionStore> = {
    async open(session) {
      sweep(1)
      return open(session)
    },
    async openLimited(session, limit) {
      assertOpen()
      sweep(1)
      assertSessionLimit(limit)
      const { user } = session
      const take = (places: Iterable<SessionPlace>, most: number): readonly Session[] =>
        findLive(user, places, { idleMs: limit.idleMs, most, looks: Number.POSITIVE_INFINITY }).live
      const live = take(order.walk(user, null), limit.max + MAX_ENDED_AT_ONCE)
      const { action, count } = decideOpening(live.length, limit)
      if (action === 'refuse') return { outcome: 'full' }
      const oldest = take(order.walkUp(user, watermarkOf(user)), count)
      for (const one of oldest) revoke(one)
      const ended = oldest.map(({ sid }) => sid)
      return action === 'end' ? { outcome: 'ending', ended } : { outcome: 'opened', ...open(session), ended }
    },
    async rotate(sid, token, options) {
      const at = now()
      const [decision, session] = decide(sid, token, options, at)
      if (session !== null && 'place' in decision && decision.place !== null) {
        const client = decision.outcome === 'advance' ? mergeClient(session, options) : null
        sessions.set(sid, { ...session, ...decision.place, ...client })
      }
      return toRotation(decision, session, at)
    },
    async present(sid, token, rules) {
      const at = now()
      return toPresentation(toRotation(...decide(sid, token, rules, at), at))
    },
    list: (user, options) =>
      listLive(options, (from, size, idleMs) => {
        assertOpen()
        const { live, next } = findLive(user, order.walk(user, from), { idleMs, most: size, looks: size })
        return { live: live.map(toStored), next }
      }),
    async get(sid, { idleMs }) {
      assertOpen()
      const session = sessions.get(sid)
      return session !== undefined && isLive(session, idleMs, now()) ? toFound(session) : null
    },
  }

  return {
    store,
    readUntil: (sid) => sessions.get(sid)?.until,
    readNewestStart(user) {
      if (user !== null) {
        for (const { startedAt } of order.walk(user, null)) return startedAt
        return 0
      }
      if (newestOfAll > now()) {
        // A clock was set back; the session may be gone.
        newestOfAll = 0
        for (const { startedAt } of sessions.values()) newestOfAll = Math.max(newestOfAll, startedAt)
      }
      return newestOfAll
    },
    revokeSome({ user, after, upTo }) {
      // Look through the sessions of all users only if a clock was set back.
      if (user === null && newestOfAll <= after) return false
      let left = MAX_ENDED_AT_ONCE
      for (const { sid, startedAt } of user === null ? sessions.values() : order.walkUp(user, after)) {
        const session = sessions.get(sid)
        if (session === undefined || startedAt <= after || startedAt > upTo) continue
        if (left-- === 0) return true
        revoke(session)
      }
      return false
    },
    removeRevoked(sid) {
      const session = sessions.get(sid)
      if (session !== undefined && isRevoked(session)) remove(sid)
    },
    sweep,
    prune: (limit) => pruneMap(sessions, sweepSessions, pruneClock, limit),
    clear() {
      sessions.clear()
      order.clear()
    },
  }
}

// Field by field: a spread takes V8 several times as long.
function toState(session: Session, isRevoked: boolean): RotationState {
  const { current, previous, generation, movedAt, lastUsedAt, until } = session
  return { current, previous, generation, movedAt, lastUsedAt, until, isRevoked }
}

function mergeClient(known: SessionClient, { ip, userAgent }: SessionClient): SessionClient {
  return { ip: ip ?? known.ip, userAgent: userAgent ?? known.userAgent }
}

function toFound({ until: _until, ...found }: Session): FoundSession {
  return found
}

function toStored(session: Session): StoredSession {
  const { current: _current, previous: _previous, movedAt: _movedAt, ...stored } = toFound(session)
  return stored
}
