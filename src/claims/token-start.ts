import { readTimedId } from './ids.js'
import type { StandardClaims } from './payload.js'

// How far a start may lie after `iat`: clocks of stores and processes differ. In milliseconds, and twice what a store
// lets a watermark run ahead of its own.
const LONGEST_LEAD = 120_000

/**
 * When the log-in behind a token began, in epoch milliseconds: what a revocation of a user compares with.
 *
 * A refreshed token is as old as its session, or a refresh that races a revocation would escape it for good. Ids of
 * ours carry the start to the millisecond; `iat` alone, in seconds, would confuse the moments around a revocation.
 */
export function readTokenStart({ sid, jti, iat }: Pick<StandardClaims, 'sid' | 'jti' | 'iat'>): number {
  // A token that says nothing of its age counts as older than any revocation.
  if (iat === undefined) return 0
  const issuedAt = iat * 1000
  const latest = issuedAt + 999 + LONGEST_LEAD
  // Foreign ids may look like ours; a `jti` that agrees with `iat` shows that both are.
  const token = jti === undefined ? null : readTimedId(jti)
  if (token === null || token < Math.floor(issuedAt) || token > latest) return issuedAt
  return (sid === undefined ? null : readTimedId(sid)) ?? token
}
