import type { SessionClient } from '../events.js'
import { readTimedId } from '../tokens/ids.js'
import { readStoredId } from './revocation.js'
import { type JsonSessionData, readData, type SessionData } from './session-data.js'
import type {
  Presentation,
  PresentedToken,
  Rotation,
  RotationOptions,
  RotationPlace,
  RotationRules,
} from './rotation.js'

/** A session that is about to be stored. */
export interface NewSession extends SessionClient {
  /** The id part of the subject's revocation key. */
  readonly user: string
  /** The random part of the session id: 14 characters of base64url. */
  readonly nonce: string
  /** The end of the session, which rotation never moves; epoch milliseconds, or `FOREVER`. */
  readonly expiresAt: number
  /** From then on no token of it can verify, leeway included; epoch milliseconds, or `FOREVER`. */
  readonly until: number
  /** JSON text of at most `MAX_DATA_BYTES`, which the store returns unchanged; `null` or left out for none. */
  readonly data?: string | null
}

/** A session that was stored. */
export interface OpenedSession {
  readonly sid: string
  /** By the store's clock, and later than every revocation of the user; epoch milliseconds. */
  readonly startedAt: number
}

/** What a store does with a login that would exceed the limit of its user. */
export type WhenFull = 'endOldest' | 'refuse'

/** How many sessions a user can have at the same time. */
export interface SessionLimit {
  /** The most live sessions, the new one included: 1 to 1,000. */
  readonly max: number
  /** `endOldest` revokes the oldest sessions until there is room for the new one, `refuse` opens nothing. */
  readonly whenFull: WhenFull
  /** Sessions that were not used for longer than this do not count, in milliseconds; `FOREVER` for no limit. */
  readonly idleMs: number
}

/** The limit of a login. */
export type OpeningLimit = Omit<SessionLimit, 'idleMs'>

/** How a login with a limit is carried out. */
export interface OpeningOptions {
  /** Aborted when the login runs out of time. A store that has not changed anything yet must reject without a change. */
  readonly signal?: AbortSignal
}

/** The outcome of a login with a limit. */
export type LimitedOpening =
  /** `ended` has the ids of the sessions that this call has revoked, oldest first. */
  | (OpenedSession & { readonly outcome: 'opened'; readonly ended: readonly string[] })
  /** More sessions have to be revoked than one call does. These are, nothing is opened yet, and the caller goes on. */
  | { readonly outcome: 'ending'; readonly ended: readonly string[] }
  /** Only for `refuse`: the user has as many sessions as the limit allows. */
  | { readonly outcome: 'full' }

/** A session as it stands. */
export interface StoredSession extends SessionClient {
  readonly sid: string
  /** The id part of the subject's revocation key. */
  readonly user: string
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** When it was opened or one of its refresh tokens was last used, to within a minute; epoch milliseconds. */
  readonly lastUsedAt: number
  /** Epoch milliseconds, or `FOREVER`. */
  readonly expiresAt: number
  /** How often it has advanced. */
  readonly generation: number
  /** The text that it was opened with or that `writeData` has written; `null` or left out for none. */
  readonly data?: string | null
}

/** A live session of a user. */
export interface SessionInfo<Data extends object = JsonSessionData> extends SessionClient {
  /** The `sid` of its tokens. */
  readonly id: string
  /** The user; `null` if the store keeps only a digest, because the id is long or not plain ASCII. */
  readonly sub: string | null
  readonly createdAt: Date
  /** When its tokens were issued or last refreshed, rounded down to the minute, so that it does not tell a thief when to strike. */
  readonly lastUsedAt: Date
  /** `null` for a session that never ends. */
  readonly expiresAt: Date | null
  /**
   * What the application keeps with the session, and the name of its device as `label`; `null` for nothing. Any member may
   * be missing: its user can name the device of a session that was opened without data, or before there was a schema.
   */
  readonly data: SessionData<Partial<Data>> | null
}

// ECMA-262 §21.4.1.1: no Date is later.
const LAST_DATE = 8.64e15

/** A session, as applications see it. */
export function toInfo(session: StoredSession): SessionInfo {
  const { sid, user, startedAt, lastUsedAt, expiresAt, ip, userAgent, data = null } = session
  return {
    id: sid,
    sub: readStoredId(user),
    createdAt: new Date(startedAt),
    lastUsedAt: new Date(Math.max(startedAt, lastUsedAt - (lastUsedAt % 60_000))),
    expiresAt: expiresAt > LAST_DATE ? null : new Date(expiresAt),
    ip,
    userAgent,
    data: readData(data),
  }
}

/** A session, and where its rotation stands. */
export interface FoundSession extends StoredSession, RotationPlace {}

/** Which sessions of a user are listed. */
export interface ListOptions {
  /** 1 to 1,000. */
  readonly limit: number
  /** The `sid` that the page before ended with; `null` for the first page. It need not exist any more. */
  readonly before: string | null
  /** Sessions that were not used for longer than this are left out, in milliseconds; `FOREVER` for no limit. */
  readonly idleMs: number
}

/** Remembers sessions: one small row each, however often their tokens rotate. A revoked session has no row. */
export interface SessionStore {
  /** The `sid` is `toTimedId(startedAt, nonce)`. A login after a revocation is valid, even if the clock was set back. */
  open(session: NewSession): Promise<OpenedSession>
  /**
   * The same with a limit, in one atomic step; `decideOpening` has the rules. Of the user's live, unrevoked sessions, the
   * oldest (by start, then by `sid`) are revoked as `revoke` does it: with an entry of kind `session` that lives until
   * the session's `until`, and without the row. Concurrent calls for one user never leave more sessions than the limit: in a
   * database, "count, then insert" is not enough, so first lock something that belongs to the user.
   *
   * A store without it cannot be used with `maxSessions`. A store that must wait or retry before it can do the step
   * checks the `signal` each time.
   */
  openLimited?(session: NewSession, limit: SessionLimit, options?: OpeningOptions): Promise<LimitedOpening>
  /**
   * Presents a refresh token and advances the session if the rules allow it, in one atomic step; see `decideRotation`. A
   * reuse revokes the session in the same step. The client is stored when the session advances; `null` keeps the stored
   * value.
   */
  rotate(sid: string, token: PresentedToken, options: RotationOptions): Promise<Rotation>
  /** Applies the same rules without advancing the session. Only a reuse writes: it revokes the session. */
  present(sid: string, token: PresentedToken, rules: RotationRules): Promise<Presentation>
  /**
   * The live, unrevoked sessions of a user, newest first (by start, then by `sid`). A page that is shorter than its
   * limit is the last one. Reading all pages takes time in proportion to the sessions that are live.
   */
  list(user: string, options: ListOptions): Promise<readonly StoredSession[]>
  /** One live, unrevoked session, or `null`. */
  get(sid: string, rules: Pick<RotationRules, 'idleMs'>): Promise<FoundSession | null>
  /**
   * Replaces the data of a live, unrevoked session if it is still `before`, byte by byte, in one atomic step; `null` means
   * no data. Returns whether it was, even if `data` equals `before`: in a database, count matched rows, not changed rows.
   * Nothing else about the session changes, and the feed gets no entry.
   *
   * A store without it keeps no data: sessions cannot be opened with data or updated.
   */
  writeData?(sid: string, data: string | null, before: string | null): Promise<boolean>
}

/** How many sessions one call of a store revokes at most, so that others do not wait too long. */
export const MAX_ENDED_AT_ONCE = 100

/** What a store does about a login with a limit. */
export interface OpeningDecision {
  /** `end`: revoke so many and open nothing yet. `refuse`: do nothing. */
  readonly action: 'open' | 'end' | 'refuse'
  /** How many of the user's live sessions are revoked, the oldest first. */
  readonly count: number
}

/**
 * The rules of a limit, given how many live sessions a user has; stores that decide elsewhere follow the same table. Where
 * there are `max + MAX_ENDED_AT_ONCE` or more, the exact number makes no difference.
 */
export function decideOpening(live: number, { max, whenFull }: SessionLimit): OpeningDecision {
  const excess = live + 1 - max
  if (excess <= 0) return { action: 'open', count: 0 }
  if (whenFull === 'refuse') return { action: 'refuse', count: 0 }
  // Never more than one call can do, however far the limit was lowered.
  if (excess > MAX_ENDED_AT_ONCE) return { action: 'end', count: MAX_ENDED_AT_ONCE }
  return { action: 'open', count: excess }
}

/** The largest limit of sessions that a store enforces. */
export const MAX_SESSION_LIMIT = 1000

/** Throws `TypeError` for a limit that no store can enforce. */
export function assertSessionLimit({ max, whenFull, idleMs }: SessionLimit): void {
  if (!Number.isInteger(max) || max < 1 || max > MAX_SESSION_LIMIT) {
    throw new TypeError(`max must be a whole number from 1 to ${MAX_SESSION_LIMIT}`)
  }
  if (whenFull !== 'endOldest' && whenFull !== 'refuse') {
    throw new TypeError("whenFull must be 'endOldest' or 'refuse'")
  }
  // No comparison with NaN is ever true: no session would count.
  if (typeof idleMs !== 'number' || Number.isNaN(idleMs)) throw new TypeError('idleMs must be a number')
}

/** A page of sessions, as a store reads it. */
export interface ListPage {
  readonly limit: number
  /** Milliseconds, or `FOREVER`. */
  readonly idleMs: number
  /** Sessions come after this one in descending order of start, then of `sid`; `null` for the first page. */
  readonly before: { readonly startedAt: number; readonly sid: string } | null
}

/** The largest page of sessions that a store reads. */
export const MAX_LIST_LIMIT = 1000

/** What `list` was asked for, or `TypeError`; the start comes from the `sid`, because the session may be gone. */
export function parseListOptions({ limit, before, idleMs }: ListOptions): ListPage {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIST_LIMIT) {
    throw new TypeError(`limit must be a whole number from 1 to ${MAX_LIST_LIMIT}`)
  }
  // No comparison with NaN is ever true: no session would be idle.
  if (typeof idleMs !== 'number' || Number.isNaN(idleMs)) throw new TypeError('idleMs must be a number')
  if (before === null) return { limit, idleMs, before }
  const startedAt = readTimedId(before)
  if (startedAt === null) throw new TypeError('before must be the id of a session, or null')
  return { limit, idleMs, before: { startedAt, sid: before } }
}
