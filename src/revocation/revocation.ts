/** What can be revoked: one token, a session, a user's sessions up to a moment, a key, or all sessions up to a moment. */
export type RevocationKind = 'token' | 'session' | 'user' | 'key' | 'all'

/** Names what is revoked: a `jti`, a `sid`, a subject or a `kid`; the id of `all` is empty. */
export interface RevocationKey {
  readonly kind: RevocationKind
  /** At most 128 printable ASCII characters; a manager makes a digest of any other id. */
  readonly id: string
}

/**
 * One entry of the map of revocations. Two entries of one key merge into the larger of both numbers, so that
 * repeating, reordering and merging revocations never changes the outcome, and nothing is ever un-revoked.
 */
export interface Revocation extends RevocationKey {
  /** Tokens that started then or before are revoked; epoch milliseconds, or `FOREVER` for every token. */
  readonly notBefore: number
  /** From then on no token it concerns can verify, and it may be dropped; epoch milliseconds, or `FOREVER`. */
  readonly until: number
}

/** Later than any moment: the largest whole number that is exact in JavaScript, JSON, Lua and a 64-bit column. */
export const FOREVER: number = Number.MAX_SAFE_INTEGER

/** Whether a kind revokes what started up to a moment; the others revoke every token of their id. */
export function isWatermark(kind: RevocationKind): boolean {
  return kind === 'user' || kind === 'all'
}

/** How far ahead of a store's clock a watermark may lie that a process gives it, in milliseconds. */
export const MOST_AHEAD = 60_000

/** How far ahead of a store's clock sessions are believed to have started, in milliseconds: a clock was set back. */
export const MOST_SET_BACK = 3_600_000

/**
 * The moment that a store with the clock `now` raises a watermark to. Sessions may have started later, if its clock was
 * far ahead: those are revoked one by one, because a watermark that covers them would lock everybody out.
 */
export function raiseWatermark(given: number, newestStart: number, now: number): number {
  return Math.max(now, Math.min(given, now + MOST_AHEAD), Math.min(newestStart, now + MOST_SET_BACK))
}

/** The moment `duration` milliseconds after another; whatever passes `FOREVER` is `FOREVER`. */
export function addTime(at: number, duration: number): number {
  return Math.min(FOREVER, at + duration)
}
