import type { SessionClient } from '../events.js'
import { readStoredId } from './revocation.js'
import type {
  Presentation,
  PresentedToken,
  Rotation,
  RotationOptions,
  RotationPlace,
  RotationRules,
} from './rotation.js'

/** A login that is about to be remembered. */
export interface NewSession extends SessionClient {
  /** The id part of the subject's revocation key. */
  readonly user: string
  /** The random part of the session id: 14 characters of base64url. */
  readonly nonce: string
  /** The end of the session, which rotation never moves; epoch milliseconds, or `FOREVER`. */
  readonly expiresAt: number
  /** From then on no token of it can verify, leeway included; epoch milliseconds, or `FOREVER`. */
  readonly until: number
}

/** A login that has been remembered. */
export interface OpenedSession {
  readonly sid: string
  /** By the store's clock, and later than every revocation of the user; epoch milliseconds. */
  readonly startedAt: number
}

/** What a store does with a login that would exceed the limit of its user. */
export type WhenFull = 'endOldest' | 'refuse'

/** How many sessions a user may have at once. */
export interface SessionLimit {
  /** The most live sessions, the new one included: 1 to 1,000. */
  readonly max: number
  /** `endOldest` revokes the oldest sessions until there is room for the new one, `refuse` opens nothing. */
  readonly whenFull: WhenFull
  /** Sessions that were not used for longer than this do not count, in milliseconds; `FOREVER` for no limit. */
  readonly idleMs: number
}

/** A limit, as a login gives it. */
export type OpeningLimit = Omit<SessionLimit, 'idleMs'>

/** How a login with a limit is carried out. */
export interface OpeningOptions {
  /** Aborted when the login has no time left: a store that has done nothing yet must reject, and do nothing. */
  readonly signal?: AbortSignal
}

/** What became of a login with a limit. */
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
}

/** A live session of a user. */
export interface SessionInfo extends SessionClient {
  /** The `sid` of its tokens. */
  readonly id: string
  /** The user; `null` if the store keeps only a digest, because the id is long or not plain ASCII. */
  readonly sub: string | null
  readonly createdAt: Date
  /** When its tokens were issued or last refreshed, rounded down to the minute, so that it does not tell a thief when to strike. */
  readonly lastUsedAt: Date
  /** `null` for a session that never ends. */
  readonly expiresAt: Date | null
}

// ECMA-262 §21.4.1.1: no Date is later.
const LAST_DATE = 8.64e15

/** A session, as applications see it. */
export function toInfo(session: StoredSession): SessionInfo {
  const { sid, user, startedAt, lastUsedAt, expiresAt, ip, userAgent } = session
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
  open(session: NewSession): Promise<OpenedSession>
  /**
   * The same with a limit, in one atomic step; `decideOpening` has the rules. Of the user's live, unrevoked sessions, the
   * oldest (by start, then by `sid`) are revoked as `revoke` does it: with an entry of kind `session` that lives until
   * the session's `until`, and without the row. Concurrent calls for one user never leave more sessions than the limit.
   *
   * A store without it cannot be used with `maxSessions`. One that has to wait or to try again before it can do the step
   * looks at the `signal` each time.
   */
  openLimited?(session: NewSession, limit: SessionLimit, options?: OpeningOptions): Promise<LimitedOpening>
  /**
   * Presents a refresh token and advances the session if the rules say so, in one atomic step; `decideRotation` has the
   * rules. A reuse revokes the session in the same step. The client is stored when the session advances; where it is
   * `null`, the stored value stays.
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
}
