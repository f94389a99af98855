import { ACCESS_SECONDS, BOUND_MS, GRACE_SECONDS, REFRESH_SECONDS } from './options.js'

// What the clients of one store hold, and what the answer to each request must be. Times are of performance.now().

// The clients that are logged in, for each request per second: at the rates of load.js, each is refreshed every 50 s.
const ACTIVE_PER_REQUEST = 8
// Around an expiry both answers are right: tokens count whole seconds.
const MARGIN_MS = 3000
// What is about to expire is not sent: a busy machine may take seconds to answer.
const STALL_MS = 20_000
// Within the grace of a refresh the session does not move on: the newest token may be used again.
const SETTLED_AFTER_MS = (GRACE_SECONDS + 3) * 1000
// What has ended is kept for five minutes by managers, and one more by stores, because clocks differ; and then until
// it is pruned, about once a minute.
const PRUNED_AFTER_MS = 450_000

/** Whether an access token of the session must be accepted, must be refused, or may be either. */
export function readExpectation(session, { accessEndsAt, accessOverAt, application, sentAt, answeredAt }) {
  if (session.revokedAt !== null) {
    // The process that revoked refuses immediately, the others within the bound of their replicas.
    const bound = session.revokedBy === application ? 0 : BOUND_MS
    if (sentAt >= session.revokedAt + bound) return 'refused'
  }
  if (sentAt > accessOverAt + MARGIN_MS) return 'refused'
  return session.revokeSentAt !== null || answeredAt > accessEndsAt - MARGIN_MS ? 'either' : 'accepted'
}

/** The sessions of one store's clients. Methods with `take` keep a session from other requests. */
export function createModel(rate) {
  const target = Math.max(20, Math.round(rate * ACTIVE_PER_REQUEST))
  const active = []
  const left = []
  const revoked = []
  const used = []
  const usersToReturn = []
  // The ends of rows and entries that a store may still have.
  const rowsUntil = []
  const entriesUntil = []
  // Users with a pending login or refresh: whether a revocation comes before or after it is not known.
  const busyUsers = new Map()
  let logins = 0

  const pick = (list, isFit) => {
    for (let attempt = 0; attempt < 20 && list.length > 0; attempt++) {
      const at = Math.floor(Math.random() * list.length)
      if (isFit(list[at])) return list[at]
    }
    return null
  }
  const remove = (list, item) => {
    const at = list.indexOf(item)
    if (at >= 0) list.splice(at, 1)
  }
  const hasGoodAccess = (now) => (session) => session.accessEndsAt - now > STALL_MS

  return {
    isFull: () => active.length >= target,
    /** The user of the next login: one who was revoked and must be let in again, or a new one, twice. */
    nextUser: () => usersToReturn.shift() ?? `user-${Math.floor(logins++ / 2)}`,
    begin: (uid) => void busyUsers.set(uid, (busyUsers.get(uid) ?? 0) + 1),
    finish(uid) {
      const count = busyUsers.get(uid) - 1
      if (count === 0) busyUsers.delete(uid)
      else busyUsers.set(uid, count)
    },
    open(uid, pair, sentAt) {
      const session = { uid, parentToken: null, revokeSentAt: null, revokedAt: null, revokedBy: null }
      // A refresh does not make a session longer.
      session.refreshEndsAt = sentAt + REFRESH_SECONDS * 1000
      session.refreshOverAt = performance.now() + REFRESH_SECONDS * 1000
      this.renew(session, pair, sentAt)
      active.push(session)
      // A client that is never seen again: its session ends by itself.
      if (active.length > target) left.push(active.shift())
    },
    renew(session, { accessToken, refreshToken }, sentAt) {
      Object.assign(session, { accessToken, refreshToken, renewedAt: performance.now() })
      session.accessEndsAt = Math.min(sentAt + ACCESS_SECONDS * 1000, session.refreshEndsAt)
      // The answer may have taken long: by then it has expired for certain.
      session.accessOverAt = Math.min(session.renewedAt + ACCESS_SECONDS * 1000, session.refreshOverAt)
    },
    pickGood: (now) => pick(active, hasGoodAccess(now)),
    /** The session that has waited longest for a refresh; those that end soon are left. */
    takeOldest(now) {
      for (const session of active.filter(({ refreshEndsAt }) => refreshEndsAt - now < STALL_MS)) {
        remove(active, session)
        left.push(session)
      }
      let oldest = null
      for (const session of active) {
        if (now - session.renewedAt < SETTLED_AFTER_MS) continue
        if (oldest === null || session.accessEndsAt < oldest.accessEndsAt) oldest = session
      }
      remove(active, oldest)
      return oldest
    },
    refreshed(session, pair, sentAt, now) {
      // Using a refresh token uses up its parent.
      if (session.parentToken !== null) used.push({ session, refreshToken: session.parentToken, usedAt: now })
      if (used.length > 100) used.shift()
      session.parentToken = session.refreshToken
      this.renew(session, pair, sentAt)
      active.push(session)
    },
    /** Takes a session to repeat its last refresh, as if the response had been lost. */
    takeRefreshed(now) {
      const session = pick(active, (found) => found.parentToken !== null && hasGoodAccess(now)(found))
      remove(active, session)
      return session
    },
    repeated(session, pair, sentAt) {
      this.renew(session, pair, sentAt)
      active.push(session)
    },
    takeGood(now, isFit = () => true) {
      const session = pick(active, (found) => hasGoodAccess(now)(found) && isFit(found))
      if (session === null) return null
      remove(active, session)
      session.revokeSentAt = now
      return session
    },
    /** All sessions of a user. */
    takeUser(now) {
      const session = this.takeGood(now, ({ uid }) => !busyUsers.has(uid))
      if (session === null) return null
      const others = active.filter(({ uid }) => uid === session.uid)
      for (const other of others) {
        remove(active, other)
        other.revokeSentAt = now
      }
      return [session, ...others]
    },
    /** Takes a refresh token that was used up long enough ago for its reuse to end the session. */
    takeReused(now) {
      const isFit = ({ session, usedAt }) => now - usedAt > SETTLED_AFTER_MS && active.includes(session)
      const found = pick(used, isFit)
      if (found === null) return null
      remove(used, found)
      remove(active, found.session)
      found.session.revokeSentAt = now
      return found
    },
    /** Notes an acknowledged revocation: of sessions, of a user, or of the access token of a session. */
    revoked(sessions, kind, application, now) {
      for (const session of sessions) {
        Object.assign(session, { revokedAt: now, revokedBy: application, kind })
        revoked.push(session)
        // The row of a session goes with its revocation; other kinds leave it until it is pruned.
        if (kind !== 'session') rowsUntil.push(session.refreshEndsAt)
      }
      const ends = sessions.map((session) =>
        kind === 'token' ? session.accessEndsAt : session.refreshEndsAt,
      )
      entriesUntil.push(kind === 'user' ? now + REFRESH_SECONDS * 1000 : Math.max(...ends))
      if (kind === 'user') usersToReturn.push(sessions[0].uid)
    },
    /** A revoked session whose access token has not expired. */
    pickRevoked: (now) => pick(revoked, ({ accessEndsAt }) => accessEndsAt - now > MARGIN_MS),
    /** A revoked session that could be refreshed otherwise. */
    pickRevokedSession: (now) =>
      pick(revoked, ({ kind, refreshEndsAt }) => kind !== 'token' && refreshEndsAt - now > MARGIN_MS),
    /** A session that was left, and whose access token has expired. */
    pickExpired: (now) => pick(left, ({ accessOverAt }) => now - accessOverAt > 2 * MARGIN_MS),
    /** A session that was left so long ago that it has ended. */
    pickEnded: (now) => pick(left, ({ refreshOverAt }) => now - refreshOverAt > 2 * MARGIN_MS),
    forget(now) {
      const dropBefore = (list, read) => {
        for (const item of list.filter((item) => read(item) < now - PRUNED_AFTER_MS)) remove(list, item)
      }
      dropBefore(left, ({ refreshEndsAt }) => refreshEndsAt)
      dropBefore(revoked, ({ accessEndsAt }) => accessEndsAt)
      dropBefore(rowsUntil, (until) => until)
      dropBefore(entriesUntil, (until) => until)
    },
    /** How many sessions and revocations a store has to keep now, and how many it may not have pruned yet. */
    countExpected(now) {
      this.forget(now)
      const count = (list) => list.filter((until) => until > now).length
      const leftUntil = left.map(({ refreshEndsAt }) => refreshEndsAt)
      return {
        liveSessions: active.length + count(leftUntil),
        mostSessions: active.length + leftUntil.length + rowsUntil.length,
        liveRevocations: count(entriesUntil),
        mostRevocations: entriesUntil.length,
      }
    },
  }
}
