import {
  RevocationUnavailableError,
  RevokedTokenError,
  TokenDecodeError,
  TokenExpiredError,
} from '../errors.js'
import { FOREVER } from '../revocation/revocation.js'
import type { StoredSessions } from '../revocation/stored-sessions.js'
import type { Authenticator } from '../requests/authenticate.js'
import type { VerifiedToken } from '../requests/verified-tokens.js'

/** The session that a socket follows instead of the token of its handshake. All moments are in epoch milliseconds. */
export interface FollowedSession {
  /**
   * Throws unless the session is alive. The token was found unrevoked by a check that began at `checkedAt`.
   *
   * `anew` forces a read from the store. Otherwise the last read counts until the session's end: the end never moves, and
   * only a revocation, which is checked separately, ends a session sooner.
   */
  assertAlive(verified: VerifiedToken, checkedAt: number, anew: boolean): Promise<void>
  /** Throws if the token may have been revoked without this process noticing. */
  assertWatched(now: number): void
  /** The milliseconds from `now` to the next moment at which the session may have ended. */
  untilLook(now: number): number
}

// While the clock of the store lags behind, a session lasts longer than expected here: it is not read in a loop.
const MIN_WAIT_MS = 1000

/** Follows the session of a token that was authenticated at `now`, or throws a token error if it has none that is alive. */
export async function followSession(
  { now: clock, settings }: Authenticator,
  sessions: StoredSessions,
  verified: VerifiedToken,
  now: number,
): Promise<FollowedSession> {
  const { sid, exp } = verified.payload
  if (sid === undefined) {
    throw new TokenDecodeError(
      'Token belongs to no session: a socket that follows its session needs a token of sessions.open()',
    )
  }
  const { idleMs, retentionMs } = settings.store
  const leewayMs = settings.sources.own.rules.leeway * 1000
  const tokenEnd = exp === undefined ? FOREVER : exp * 1000
  // Epoch milliseconds: the end of the session, and the moment from which on it has gone unused for too long.
  let endsAt = FOREVER
  let idleAt = 0
  let lastCheckAt = now

  const assertAlive: FollowedSession['assertAlive'] = async ({ payload, header }, checkedAt, anew) => {
    lastCheckAt = Math.max(lastCheckAt, checkedAt)
    if (anew || clock() > idleAt) {
      const session = await sessions.find(sid)
      if (session === null) throw new RevokedTokenError(payload, header, 'Session has ended')
      endsAt = session.expiresAt
      idleAt = session.lastUsedAt + idleMs
    }
    // A store keeps a session a little longer than its tokens are valid.
    if (clock() >= endsAt + leewayMs) throw new TokenExpiredError(Math.floor(endsAt / 1000))
  }

  await assertAlive(verified, now, true)
  return {
    assertAlive,
    // A store drops the revocation of a single token some time after the token has expired. A process that made no check in
    // between, because it was suspended or its clock was set, cannot know whether there was one.
    assertWatched(at) {
      if (lastCheckAt >= tokenEnd || at < tokenEnd + retentionMs) return
      throw new RevocationUnavailableError(
        new Error(
          'The token was not checked in time after it had expired: its revocation may have been dropped',
        ),
      )
    },
    untilLook(at) {
      const untilToken = at < tokenEnd ? tokenEnd - at : FOREVER
      return Math.min(untilToken, Math.max(MIN_WAIT_MS, Math.min(endsAt + leewayMs, idleAt + 1) - at))
    },
  }
}
