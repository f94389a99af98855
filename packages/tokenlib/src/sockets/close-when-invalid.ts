import { readEnd } from '../tokens/payload.js'
import { FOREVER } from '../revocation/revocation.js'
import { startTimer, type Timer } from '../runtime.js'
import { type Duration, parseDuration } from '../time.js'
import type { Authenticator } from '../requests/authenticate.js'
import { type ClosableSocket, closeSocket, prepareSilence } from './closable-socket.js'
import { type AuthenticatedUpgrade, readAccepted, recheckToken } from '../requests/sockets.js'
import type { VerifiedToken } from '../requests/verified-tokens.js'

/** The milliseconds between two looks at the token of a socket, or `RangeError`. */
export function parseInterval(every: Duration): number {
  const interval = parseDuration(every) * 1000
  if (interval >= 1000 && interval <= 86_400_000) return interval
  throw new RangeError('every must be between a second and a day')
}

/** Closes a socket once its token, or the session that it follows, has ended; returns a function that stops watching. */
export function closeWhenInvalid(
  manager: Authenticator,
  socket: ClosableSocket,
  upgrade: AuthenticatedUpgrade,
  every: Duration,
): () => void {
  const interval = parseInterval(every)
  const known = readAccepted(upgrade)
  const followed = known?.followed ?? null
  // A session is known to the manager that has authenticated the handshake.
  const authenticator = known !== null && followed !== null ? known.authenticator : manager
  // Not opened again where it is known: the keys of its issuer may be unavailable by now.
  const verified =
    known?.authenticator === authenticator
      ? known.verified
      : authenticator.verifier.open(upgrade.token.token, authenticator.now())
  let timer: Timer | undefined
  let stopped = false
  const stop = (): void => {
    stopped = true
    clearTimeout(timer)
    unwatch()
  }

  const check = async (anew: boolean): Promise<void> => {
    // A socket that ended before it was watched never says so.
    if ((socket.readyState ?? 0) >= 2) return stop()
    try {
      await recheckToken(authenticator, upgrade, anew)
    } catch (error) {
      if (!stopped) closeSocket(socket, error)
      stop()
    }
    if (!stopped) schedule()
  }

  const schedule = (): void => {
    clearTimeout(timer)
    const now = authenticator.now()
    const wait = followed?.untilLook(now) ?? untilExpiry(verified, now)
    timer = startTimer(() => void check(true), Math.min(interval, wait))
  }

  // Where there is a replica: at once, and not at the next look.
  const unwatch = watchToken(authenticator, verified, () => {
    clearTimeout(timer)
    void check(false)
  })
  socket.addEventListener('close', stop)
  prepareSilence(socket)
  // What arrived since the handshake is not told again.
  if (hasReplica(authenticator)) void check(false)
  else schedule()
  return stop
}

function hasReplica({ store }: Authenticator): boolean {
  return store !== null && store.waitForOthers !== null
}

function watchToken({ store }: Authenticator, verified: VerifiedToken, listener: () => void): () => void {
  return store?.watchToken(verified, listener) ?? (() => undefined)
}

function untilExpiry({ claims, source }: VerifiedToken, now: number): number {
  const end = readEnd(claims, source.rules)
  return end === null ? FOREVER : Math.max(0, end * 1000 - now)
}
