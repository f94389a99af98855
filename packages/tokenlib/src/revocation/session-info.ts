import type { SessionClient } from '../events.js'
import { readStoredId } from './revocation.js'
import type { StoredSession } from './session-store.js'

/** A live session of a user. */
export interface SessionInfo extends SessionClient {
  /** The `sid` of its tokens. */
  readonly id: string
  /** The user; `null` where the store keeps only a digest of an id that is long or not plain ASCII. */
  readonly sub: string | null
  readonly createdAt: Date
  /** When its tokens were issued or last refreshed, rounded down to the minute, so that it does not tell a thief when to strike. */
  readonly lastUsedAt: Date
  /** `null` for a session that never ends. */
  readonly expiresAt: Date | null
}

/** A stored session, as applications see it. */
export function toInfo({
  sid,
  user,
  startedAt,
  lastUsedAt,
  expiresAt,
  ip,
  userAgent,
}: StoredSession): SessionInfo {
  return {
    id: sid,
    sub: readStoredId(user),
    createdAt: new Date(startedAt),
    lastUsedAt: new Date(Math.max(startedAt, lastUsedAt - (lastUsedAt % 60_000))),
    expiresAt: expiresAt > LAST_DATE ? null : new Date(expiresAt),
    ip,
    userAgent,
  }
}

// ECMA-262 §21.4.1.1: no Date is later.
const LAST_DATE = 8.64e15
