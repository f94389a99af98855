/** Where a session was last used from, as far as it is known. */
export interface SessionClient {
  readonly ip: string | null
  readonly userAgent: string | null
}

/** A log-in that is about to be remembered. */
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

/** A log-in that has been remembered. */
export interface OpenedSession {
  readonly sid: string
  /** By the store's clock, and later than every revocation of the user; epoch milliseconds. */
  readonly startedAt: number
}

/** The rules of a rotation, and what to remember of the request. */
export interface RotationOptions extends SessionClient {
  /** For how long after a rotation the token before it may be sent once more, in milliseconds. */
  readonly graceMs: number
  /** A session that was not used for longer than this has ended, in milliseconds; `FOREVER` for no limit. */
  readonly idleMs: number
}

/** What became of a refresh token that was presented. */
export type Rotation =
  | {
      /** `replayed`: somebody was first, within the grace; the generation is theirs. */
      readonly outcome: 'rotated' | 'replayed'
      /** The generation of the successor. */
      readonly generation: number
      /** Epoch milliseconds, or `FOREVER`. */
      readonly expiresAt: number
    }
  /** An old token: the session is revoked now. `generation` is the one the session had reached. */
  | { readonly outcome: 'reused'; readonly generation: number }
  /** The session is not known, over, unused for too long, or revoked. */
  | { readonly outcome: 'ended' }

/** A session as it stands. */
export interface StoredSession extends SessionClient {
  readonly sid: string
  /** Epoch milliseconds. */
  readonly startedAt: number
  /** When it was opened or last rotated; epoch milliseconds. */
  readonly lastUsedAt: number
  /** Epoch milliseconds, or `FOREVER`. */
  readonly expiresAt: number
}

/** Remembers sessions: one small row each, however often their tokens rotate. */
export interface SessionStore {
  open(session: NewSession): Promise<OpenedSession>
  /**
   * Presents a refresh token's generation, in one atomic step; `judgeRotation` has the rules. A reuse revokes the
   * session in that same step. A client's `null` leaves what is remembered of it as it is.
   */
  rotate(sid: string, generation: number, options: RotationOptions): Promise<Rotation>
  /** The live, unrevoked sessions of a user, newest first, at most 1,000. */
  list(user: string): Promise<readonly StoredSession[]>
}
