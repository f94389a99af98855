import type { SessionPlace } from '../store-parts.js'

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
