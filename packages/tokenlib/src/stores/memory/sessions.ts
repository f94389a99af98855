import { MAX_ENDED_AT_ONCE } from '../../revocation/session-store.js'
import type { StoredSession } from '../../revocation/session-store.js'
import type { Clock } from '../../time.js'
import { isLive, type Liveness, type Rows, type SessionRow, toWatermark } from '../local-rows.js'
import type { SessionPage, SessionPlace } from '../store-parts.js'
import { createSweeper, pruneMap } from './revocations.js'

/** The sessions of a memory store. */
export interface MemorySessions extends Omit<
  Rows,
  'now' | 'find' | 'longestLifetime' | 'position' | 'merge' | 'touch'
> {
  /** Drops a few sessions that have ended. The more `writes` there were, the more sessions it examines. */
  readonly sweep: (writes: number) => void
  readonly prune: (limit: number) => Iterable<number>
  readonly clear: () => void
}

const SWEEP_STEPS = 4

/** The sessions of a memory store, empty at first. */
export function createMemorySessions(find: Rows['find'], clock: Clock, pruneClock: Clock): MemorySessions {
  const sessions = new Map<string, SessionRow>()
  const order = createSessionOrder((sid) => sessions.has(sid))
  let newestOfAll = 0

  const remove = (sid: string): boolean => {
    const session = sessions.get(sid)
    if (session === undefined) return false
    sessions.delete(sid)
    order.remove(session.user)
    return true
  }

  const sweep = createSweeper(sessions, remove)

  // Finds up to `most` live sessions among places. If it stops after examining `looks` places, `next` is where to continue.
  const findLive = (
    user: string,
    places: Iterable<SessionPlace>,
    live: Liveness,
    most: number,
    looks = Number.POSITIVE_INFINITY,
  ): { readonly found: readonly SessionRow[]; readonly next: SessionPlace | null } => {
    const watermark = toWatermark(user, find)
    const found: SessionRow[] = []
    let left = looks
    for (const place of places) {
      // From the newest on, all that are older are revoked too.
      if (place.startedAt <= watermark || found.length === most) break
      const session = sessions.get(place.sid)
      if (session !== undefined && isLive(session, live, find)) found.push(session)
      if (--left === 0) return { found, next: place }
    }
    return { found, next: null }
  }

  return {
    findSession: (sid) => sessions.get(sid) ?? null,
    insertSession(session) {
      const { sid, user, startedAt } = session
      newestOfAll = Math.max(newestOfAll, startedAt)
      sessions.set(sid, session)
      order.add(user, { startedAt, sid })
    },
    moveSession(session, place, { ip, userAgent }) {
      const client = { ip: ip ?? session.ip, userAgent: userAgent ?? session.userAgent }
      sessions.set(session.sid, { ...session, ...place, ...client })
    },
    writeData: (session, data) => void sessions.set(session.sid, { ...session, data }),
    removeSession(sid, startedUpTo) {
      if ((sessions.get(sid)?.startedAt ?? Number.POSITIVE_INFINITY) <= startedUpTo) remove(sid)
    },
    readNewestStart(user) {
      if (user !== null) {
        for (const { startedAt } of order.walk(user, null)) return startedAt
        return 0
      }
      if (newestOfAll > clock()) {
        // A clock was set back; the session may be gone.
        newestOfAll = 0
        for (const { startedAt } of sessions.values()) newestOfAll = Math.max(newestOfAll, startedAt)
      }
      return newestOfAll
    },
    readLate({ user, after, upTo }) {
      const found: SessionRow[] = []
      for (const { sid, startedAt } of user === null ? sessions.values() : order.walkUp(user, after)) {
        const session = sessions.get(sid)
        if (session === undefined || startedAt <= after || startedAt > upTo) continue
        if (found.push(session) === MAX_ENDED_AT_ONCE) break
      }
      return found
    },
    countLive: (user, live, most) => findLive(user, order.walk(user, null), live, most).found.length,
    readOldest: (user, live, most) =>
      findLive(user, order.walkUp(user, toWatermark(user, find)), live, most).found,
    readPage(user, from, size, live): SessionPage {
      const { found, next } = findLive(user, order.walk(user, from), live, size, size)
      return { live: found.map(toStored), next }
    },
    sweep: (writes) => void sweep(pruneClock(), SWEEP_STEPS * writes),
    prune: (limit) => pruneMap(sessions, sweep, pruneClock, limit),
    clear() {
      sessions.clear()
      order.clear()
    },
  }
}

function toStored(session: SessionRow): StoredSession {
  const { until: _until, current: _current, previous: _previous, movedAt: _movedAt, ...stored } = session
  return stored
}

/** The sessions of each user in the order of their start, then of their `sid`. */
export interface SessionOrder {
  add(user: string, place: SessionPlace): void
  /** To be called after the session is gone. */
  remove(user: string): void
  /** The places of a user's sessions, newest first; those before one of them, or all. Skips what is gone. */
  walk(user: string, before: SessionPlace | null): Iterable<SessionPlace>
  /** The same from the oldest on, of those that started after a moment. */
  walkUp(user: string, after: number): Iterable<SessionPlace>
  /** How many users have sessions. */
  readonly users: number
  clear(): void
}

const NOBODY: UserOrder = { places: [], kept: 0, gone: 0 }

// After every sid, which is ASCII.
const LAST = '\u{ffff}'

interface UserOrder {
  /** Ascending. A place whose session is gone stays until half of them are: moving the rest each time is quadratic. */
  places: SessionPlace[]
  kept: number
  /** How many places at the front are gone, so that ending the oldest sessions does not walk over them each time. */
  gone: number
}

/** An order without sessions; `isKept` says whether a session is still there. */
export function createSessionOrder(isKept: (sid: string) => boolean): SessionOrder {
  const orders = new Map<string, UserOrder>()

  return {
    add(user, place) {
      const order = orders.get(user)
      if (order === undefined) {
        orders.set(user, { places: [place], kept: 1, gone: 0 })
        return
      }
      // At the end, unless the clock was set back or several start in one millisecond.
      const at = findIndex(order.places, place)
      order.places.splice(at, 0, place)
      order.gone = Math.min(order.gone, at)
      order.kept++
    },
    remove(user) {
      const order = orders.get(user)
      if (order === undefined) return
      order.kept--
      if (order.kept === 0) orders.delete(user)
      else if (order.places.length > 2 * order.kept) {
        order.places = order.places.filter(({ sid }) => isKept(sid))
        order.gone = 0
      } else {
        while (order.gone < order.places.length && !isKept((order.places[order.gone] as SessionPlace).sid))
          order.gone++
      }
    },
    *walk(user, before) {
      const places = orders.get(user)?.places ?? []
      for (let at = before === null ? places.length : findIndex(places, before); at > 0; at--) {
        const place = places[at - 1]
        if (place !== undefined && isKept(place.sid)) yield place
      }
    },
    *walkUp(user, after) {
      const { places, gone } = orders.get(user) ?? NOBODY
      const first = Math.max(gone, findIndex(places, { startedAt: after, sid: LAST }))
      for (let at = first; at < places.length; at++) {
        const place = places[at]
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
function findIndex(places: readonly SessionPlace[], place: SessionPlace): number {
  let from = 0
  let to = places.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if (isBefore(places[middle] as SessionPlace, place)) from = middle + 1
    else to = middle
  }
  return from
}

function isBefore(one: SessionPlace, other: SessionPlace): boolean {
  return one.startedAt < other.startedAt || (one.startedAt === other.startedAt && one.sid < other.sid)
}
