import { toTimedId } from '../../claims/ids.js'
import {
  assertSessionLimit,
  decideOpening,
  decideRotation,
  MAX_ENDED_AT_ONCE,
  parseListOptions,
  type RotationDecision,
} from '../../revocation/store-rules.js'
import { FOREVER } from '../../revocation/revocation.js'
import type {
  NewSession,
  OpenedSession,
  Reuse,
  RotationRules,
  SessionStore,
  StoredSession,
} from '../../revocation/session-store.js'
import { nextTurn } from '../../runtime.js'
import type { Clock } from '../../time.js'
import { createSweeper, pruneMap } from './history.js'
import type { MemoryRevocations } from './revocations.js'
import { createSessionOrder, type Place } from './session-order.js'

/** The sessions of a memory store. */
export interface MemorySessions extends Required<SessionStore> {
  /** When a session ends, in epoch milliseconds, or `undefined` for one that is not known. */
  readUntil(sid: string): number | undefined
  /** The newest start of a user's sessions, or of all; 0 without any. */
  newestStart(user: string | null): number
  /** Revokes sessions of a user, or of all, that started after a moment and up to another; returns whether there are more. */
  revokeSome(user: string | null, after: number, upTo: number): boolean
  /** Removes a session that is revoked. */
  removeRevoked(sid: string): void
  sweep(writes: number): void
  prune(limit: number): Iterable<number>
  clear(): void
}

/** What the sessions of a memory store work with. */
export interface MemorySessionsOptions {
  readonly revocations: MemoryRevocations
  readonly now: Clock
  /** The clock that sessions are dropped by. */
  readonly pruneClock: Clock
  /** Throws when the store is closed. */
  readonly assertOpen: () => void
}

interface Session extends StoredSession {
  readonly generation: number
  readonly until: number
}

interface FindOptions {
  readonly idleMs: number
  /** How many live ones to find, and how many to look at. */
  readonly most: number
  readonly looks: number
}

const SWEEP_STEPS = 4
// How many sessions a list looks at before others have their turn; thousands of them may be idle.
const MAX_LOOKS = 1000

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
    presented: number,
    rules: RotationRules,
  ): [RotationDecision, Session | null] => {
    assertOpen()
    const session = sessions.get(sid) ?? null
    const state = session && { ...session, isRevoked: isRevoked(session) }
    const verdict = decideRotation(state, presented, rules, now())
    if (session !== null && verdict === 'reuse') revoke(session)
    return [verdict, session]
  }

  const open = ({ user, nonce, ...rest }: NewSession): OpenedSession => {
    assertOpen()
    // Whole milliseconds, as in the id.
    const startedAt = Math.floor(Math.max(now(), watermarkOf(user) + 1))
    const sid = toTimedId(startedAt, nonce)
    newestOfAll = Math.max(newestOfAll, startedAt)
    sessions.set(sid, { ...rest, sid, user, startedAt, lastUsedAt: startedAt, generation: 0 })
    order.add(user, { startedAt, sid })
    return { sid, startedAt }
  }

  // The live ones among some places of a user's sessions, and where to go on after so many looks.
  const findLive = (
    user: string,
    places: Iterable<Place>,
    { idleMs, most, looks }: FindOptions,
  ): { readonly live: readonly Session[]; readonly next: Place | null } => {
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

  return {
    open: async (session) => open(session),
    async openLimited(session, limit) {
      assertOpen()
      assertSessionLimit(limit)
      const { user } = session
      const take = (places: Iterable<Place>, most: number): readonly Session[] =>
        findLive(user, places, { idleMs: limit.idleMs, most, looks: Number.POSITIVE_INFINITY }).live
      const live = take(order.walk(user, null), limit.max + MAX_ENDED_AT_ONCE)
      const { action, count } = decideOpening(live.length, limit)
      if (action === 'refuse') return { outcome: 'full' }
      const oldest = take(order.walkUp(user, watermarkOf(user)), count)
      for (const one of oldest) revoke(one)
      const ended = oldest.map(({ sid }) => sid)
      return action === 'end' ? { outcome: 'ending', ended } : { outcome: 'opened', ...open(session), ended }
    },
    async rotate(sid, presented, rules) {
      const [verdict, session] = decide(sid, presented, rules)
      if (session === null || verdict === 'end') return { outcome: 'ended' }
      if (verdict === 'reuse') return toReuse(session)
      const { generation, expiresAt } = session
      if (verdict === 'replay') return { outcome: 'replayed', generation, expiresAt }
      sessions.set(sid, {
        ...session,
        ip: rules.ip ?? session.ip,
        userAgent: rules.userAgent ?? session.userAgent,
        generation: presented + 1,
        lastUsedAt: now(),
      })
      return { outcome: 'rotated', generation: presented + 1, expiresAt }
    },
    async present(sid, presented, rules) {
      const [verdict, session] = decide(sid, presented, rules)
      if (session === null || verdict === 'end') return { outcome: 'ended' }
      if (verdict === 'reuse') return toReuse(session)
      return { outcome: 'current' }
    },
    async list(user, options) {
      assertOpen()
      const { limit, idleMs, before } = parseListOptions(options)
      const page: StoredSession[] = []
      for (let from = before; ; await nextTurn()) {
        assertOpen()
        const most = limit - page.length
        const { live, next } = findLive(user, order.walk(user, from), { idleMs, most, looks: MAX_LOOKS })
        for (const session of live) page.push(toStored(session))
        if (next === null || page.length === limit) return page
        from = next
      }
    },
    async get(sid, { idleMs }) {
      assertOpen()
      const session = sessions.get(sid)
      return session !== undefined && isLive(session, idleMs, now()) ? toStored(session) : null
    },
    readUntil: (sid) => sessions.get(sid)?.until,
    newestStart(user) {
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
    revokeSome(user, after, upTo) {
      // Those of all users are looked through only where a clock was set back.
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
    sweep: (writes) => void sweepSessions(pruneClock(), SWEEP_STEPS * writes),
    prune: (limit) => pruneMap(sessions, sweepSessions, pruneClock, limit),
    clear() {
      sessions.clear()
      order.clear()
    },
  }
}

function toReuse({ generation, ip, userAgent }: Session): Reuse {
  return { outcome: 'reused', generation, client: { ip, userAgent } }
}

function toStored({ until: _until, ...stored }: Session): StoredSession {
  return stored
}
