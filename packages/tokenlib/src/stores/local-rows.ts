import type { SessionClient } from '../events.js'
import type { Revocation, RevocationKind } from '../revocation/revocation.js'
import type { RotationPlace } from '../revocation/rotation.js'
import type { FoundSession } from '../revocation/session-store.js'
import type { Position } from '../revocation/store.js'
import type { SessionPage, SessionPlace } from './store-parts.js'

/** A stored session. */
export interface SessionRow extends FoundSession {
  /** Epoch milliseconds, or `FOREVER`. */
  readonly until: number
}

/** The columns that are needed to revoke a session. */
export type SessionEnd = Pick<SessionRow, 'sid' | 'until'>

/** The sessions of a user (`null`: of all users) that started after one moment and up to another. */
export interface LateSessions {
  readonly user: string | null
  readonly after: number
  readonly upTo: number
}

/** Tells which sessions are live. */
export interface Liveness {
  readonly now: number
  readonly idleMs: number
}

/** The data of a store, as seen by a read. */
export interface ReadableRows {
  /** Epoch milliseconds. */
  readonly now: number
  /** The `notBefore` of a key, or `undefined`. */
  readonly find: (kind: RevocationKind, id: string) => number | undefined
  readonly findSession: (sid: string) => SessionRow | null
  /** Reads at most `size` sessions of a user, newest first. */
  readonly readPage: (user: string, from: SessionPlace | null, size: number, live: Liveness) => SessionPage
}

/** The data of a store in a transaction. */
export interface Rows extends ReadableRows {
  /** In milliseconds. */
  readonly longestLifetime: number
  /** The position that includes everything written so far. */
  readonly position: () => Position
  /** Merges an entry with what is there; one that raises nothing does not count as a change. */
  readonly merge: (entry: Revocation) => void
  /** Writes without changing anything, to find out whether the store can be written to. */
  readonly touch: () => void
  readonly insertSession: (session: SessionRow) => void
  /** Stores a new place, and what is known of the client. */
  readonly moveSession: (session: SessionRow, place: RotationPlace, client: SessionClient) => void
  readonly writeData: (session: SessionRow, data: string | null) => void
  /** Removes a session that started at `startedUpTo` or before. */
  readonly removeSession: (sid: string, startedUpTo: number) => void
  /** The newest start of a user's sessions, or of all for `null`; 0 without any. */
  readonly readNewestStart: (user: string | null) => number
  /** `MAX_ENDED_AT_ONCE` at most. */
  readonly readLate: (late: LateSessions) => readonly SessionEnd[]
  /** Counts the live sessions of a user, up to `most`. */
  readonly countLive: (user: string, live: Liveness, most: number) => number
  readonly readOldest: (user: string, live: Liveness, most: number) => readonly SessionEnd[]
}

/** Whether a session has not expired, was used recently enough, and is not revoked. */
export function isLive(session: SessionRow, { now, idleMs }: Liveness, find: ReadableRows['find']): boolean {
  return now < session.until && now - session.lastUsedAt <= idleMs && !isRevoked(session, find)
}

/** Whether a session is revoked: itself, or by a watermark. */
export function isRevoked({ sid, user, startedAt }: SessionRow, find: ReadableRows['find']): boolean {
  return startedAt <= Math.max(find('session', sid) ?? 0, toWatermark(user, find))
}

/** The watermark that applies to a user: its own, or the one for everybody. */
export function toWatermark(user: string, find: ReadableRows['find']): number {
  return Math.max(find('user', user) ?? 0, find('all', '') ?? 0)
}

/** A session that has not expired, was used recently enough, and is not revoked; or `null`. */
export function findLive(rows: ReadableRows, sid: string, idleMs: number): SessionRow | null {
  const session = rows.findSession(sid)
  return session !== null && isLive(session, { now: rows.now, idleMs }, rows.find) ? session : null
}
