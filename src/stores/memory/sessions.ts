import { toTimedId } from '../../claims/ids.js'
import {
  assertSessionLimit,
  decideOpening,
  decideRotation,
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
import type { Clock } from '../../time.js'
import { createSweeper, pruneMap } from './history.js'
import type { MemoryRevocations } from './revocations.js'

/** The sessions of a memory store. */
export interface MemorySessions extends Required<SessionStore> {
  /** When a session ends, in epoch milliseconds, or `undefined` for one that is not known. */
  readUntil(sid: string): number | undefined
  /** The newest start of a user's sessions, or of all; 0 without any. */
  newestStart(user: string | null): number
  /** Revokes the sessions of a user, or all, that started after a moment. */
  revokeAfter(user: string | null, moment: number): void
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

  const watermarkOf = (user: string): number =>
    Math.max(revocations.find('user', user) ?? 0, revocations.find('all', '') ?? 0)

  const isRevoked = ({ sid, user, startedAt }: Session): boolean =>
    startedAt <= Math.max(watermarkOf(user), revocations.find('session', sid) ?? 0)

  const isLive = (session: Session, idleMs: number): boolean =>
    now() < session.until && now() - session.lastUsedAt <= idleMs && !isRevoked(session)

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

  // Newest first.
  function* walkLive(user: string, before: Place | null, idleMs: number): Iterable<Session> {
    const watermark = watermarkOf(user)
    for (const { sid, startedAt } of order.walk(user, before)) {
      // All that are older are revoked too.
      if (startedAt <= watermark) return
      const session = sessions.get(sid)
      if (session !== undefined && isLive(session, idleMs)) yield session
    }
  }

  return {
    open: async (session) => open(session),
    async openLimited(session, limit) {
      assertOpen()
      assertSessionLimit(limit)
      const live = [...walkLive(session.user, null, limit.idleMs)].toReversed()
      const { action, count } = decideOpening(live.length, limit)
      if (action === 'refuse') return { outcome: 'full' }
      const oldest = live.slice(0, count)
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
      for (const session of walkLive(user, before, idleMs)) {
        page.push(toStored(session))
        if (page.length === limit) break
      }
      return page
    },
    async get(sid, { idleMs }) {
      assertOpen()
      const session = sessions.get(sid)
      return session !== undefined && isLive(session, idleMs) ? toStored(session) : null
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
    revokeAfter(user, moment) {
      // Those of all users are looked through only where a clock was set back.
      if (user === null && newestOfAll <= moment) return
      for (const { sid, startedAt } of user === null ? sessions.values() : order.walk(user, null)) {
        const session = sessions.get(sid)
        if (session !== undefined && startedAt > moment) revoke(session)
        // Those of one user come newest first.
        else if (user !== null) return
      }
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

/** Where a session stands among those of its user. */
export interface Place {
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly sid: string
}

/** The sessions of each user in the order of their start, then of their `sid`. */
export interface SessionOrder {
  add(user: string, place: Place): void
  /** To be called after the session is gone. */
  remove(user: string): void
  /** The places of a user's sessions, newest first; those before one of them, or all. Skips what is gone. */
  walk(user: string, before: Place | null): Iterable<Place>
  /** How many users have sessions. */
  readonly users: number
  clear(): void
}

interface UserOrder {
  /** Ascending. A place whose session is gone stays until half of them are: moving the rest each time is quadratic. */
  places: Place[]
  kept: number
}

/** An order without sessions; `isKept` says whether a session is still there. */
export function createSessionOrder(isKept: (sid: string) => boolean): SessionOrder {
  const orders = new Map<string, UserOrder>()

  return {
    add(user, place) {
      const order = orders.get(user)
      if (order === undefined) {
        orders.set(user, { places: [place], kept: 1 })
        return
      }
      // At the end, unless the clock was set back or several start in one millisecond.
      order.places.splice(findIndex(order.places, place), 0, place)
      order.kept++
    },
    remove(user) {
      const order = orders.get(user)
      if (order === undefined) return
      order.kept--
      if (order.kept === 0) orders.delete(user)
      else if (order.places.length > 2 * order.kept) {
        order.places = order.places.filter(({ sid }) => isKept(sid))
      }
    },
    *walk(user, before) {
      const places = orders.get(user)?.places ?? []
      for (let at = before === null ? places.length : findIndex(places, before); at > 0; at--) {
        const place = places[at - 1]
        if (place !== undefined && isKept(place.sid)) yield place
      }
    },
    get users() {
      return orders.size
    },
    clear() {
      orders.clear()
    },
  }
}

// The index of the first place that is not before the given one.
function findIndex(places: readonly Place[], place: Place): number {
  let from = 0
  let to = places.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if (isBefore(places[middle] as Place, place)) from = middle + 1
    else to = middle
  }
  return from
}

function isBefore(one: Place, other: Place): boolean {
  return one.startedAt < other.startedAt || (one.startedAt === other.startedAt && one.sid < other.sid)
}
