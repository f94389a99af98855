import type { Revocation, RevocationKey } from './revocation.js'
import type { SessionStore } from './session-store.js'

/** A place in the history of a store; only the store that made it can read it. */
export type Position = string

/** What a manager asks of its store before it uses it. */
export interface StoreNeeds {
  /** The longest time from a token's start to the last moment it can verify, in milliseconds, or `FOREVER`. */
  readonly longestLifetime: number
  /** Called once for each loss of data that the store notices, after it has revoked what may be affected. */
  readonly onLostData?: (loss: LostData) => void
}

/** What a store did about lost data. */
export interface LostData {
  /** Every session that started at or before this moment is revoked; epoch milliseconds by the store's clock. */
  readonly revokedBefore: number
}

/** What a store knows after a revocation. */
export interface Revoked {
  /** A position that includes the whole batch. */
  readonly position: Position
  /** The store's clock when it took the batch, or a watermark of the batch that is later; epoch milliseconds. */
  readonly now: number
}

/** A part of a store's history. */
export interface FeedPage {
  readonly entries: readonly Revocation[]
  /** Where to go on. */
  readonly next: Position
  /** Whether there is more at once. */
  readonly more: boolean
  /** The history before the position asked for is gone or is another one: keep what you have, and read from the start. */
  readonly reset: boolean
  /** How old the store's own knowledge is, in milliseconds; 0 unless it relays another's. */
  readonly ageMs: number
}

/** How long to wait for news. */
export interface FeedOptions {
  /** 0 answers at once. */
  readonly waitMs: number
  readonly signal?: AbortSignal
}

/** For each key asked for, in the same order: its `notBefore`, or `undefined` when nothing is revoked. */
export type LookupAnswer = readonly (number | undefined)[]

/**
 * Remembers revocations for every process that shares it.
 *
 * Nothing is answered from a copy that may be behind: whatever `revoke` has acknowledged, the next `lookup` of any
 * process finds. Every call may reject; none may answer when it does not know.
 */
export interface RevocationStore {
  /**
   * Called before anything else, and again whenever a need grows; needs of several managers merge by the larger.
   * A longer lifetime lengthens the watermarks that are there, in the same step.
   * Rejects when the store cannot keep its promises, with a `ConfigurationError` that says what to change.
   */
  prepare(needs: StoreNeeds): Promise<void>
  /**
   * Durable, as far as the store is, once it resolves. Takes all of a batch or nothing.
   *
   * A watermark (`user`, `all`) is raised to the store's own clock, and to the start of the newest session it concerns
   * (the clock may have been set back), by `MOST_SET_BACK` at most. Sessions that started even later are revoked one by
   * one, in the same step: no session that was opened before the call survives it. A given watermark that is further
   * ahead than `MOST_AHEAD` is cut to that. It lives for the longest lifetime from then on.
   *
   * An entry of kind `session` lives until the session's `until`; where the store does not know the session, for the
   * longest lifetime, or until the given `until` if that is later. The row of a revoked session is removed.
   */
  revoke(batch: readonly Revocation[]): Promise<Revoked>
  /** An entry counts for as long as it is there, whatever its `until`. */
  lookup(keys: readonly RevocationKey[]): Promise<LookupAnswer>
  /**
   * For a store that can answer at once; others leave it out. Made once for a verified token, and called for every
   * request that brings it: whether one of the keys revokes a token that started at `start` (epoch milliseconds; a tie
   * counts as revoked). Agrees with `lookup` at any time. Throws when it cannot tell, e.g. when the store is closed.
   */
  createLookup?(keys: readonly RevocationKey[], start: number): () => boolean
  /** Every entry that changed after a position, or every entry there is after `null`. */
  feed(after: Position | null, options: FeedOptions): Promise<FeedPage>
  /** Drops entries and sessions whose `until` has passed, at most `limit` of each; returns how many went. */
  prune(limit: number): Promise<number>
  /** Without them, sessions are not kept: pairs are issued, but cannot be rotated or listed. */
  readonly sessions?: SessionStore
  /** Ends what the store itself began; a client that was passed in stays open. */
  close(): Promise<void>
}
