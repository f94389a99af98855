import { readTimedId } from './ids.js'
import type { StandardClaims } from './payload.js'

// How far the clock of a store may run ahead of the one that wrote `iat`, in milliseconds.
const MOST_AHEAD = 60_000

/**
 * When the log-in behind a token began, in epoch milliseconds: what a revocation of a user compares with.
 *
 * A refreshed token is as old as its session, or a refresh that races a revocation would escape it for good. Ids of
 * ours carry the start to the millisecond; `iat` alone, in seconds, would confuse the moments around a revocation.
 */
export function readTokenStart({ sid, jti, iat }: Pick<StandardClaims, 'sid' | 'jti' | 'iat'>): number {
  const issuedAt = iat === undefined ? null : iat * 1000
  const latest = (issuedAt ?? Number.POSITIVE_INFINITY) + 999 + MOST_AHEAD
  const session = sid === undefined ? null : readTimedId(sid)
  if (session !== null && session <= latest) return session
  const token = jti === undefined || issuedAt === null ? null : readTimedId(jti)
  if (token !== null && issuedAt !== null && token >= issuedAt && token <= latest) return token
  // A token that says nothing of its age counts as older than any revocation.
  return issuedAt ?? 0
}
