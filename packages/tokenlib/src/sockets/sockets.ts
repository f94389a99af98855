import { isOutage, isTokenError } from '../errors.js'
import { type RequestSource, toRequestView } from '../http/request-source.js'
import { kindOf, type OptionKinds, parseOptions } from '../options.js'
import type { Authenticator } from '../requests/authenticate.js'
import {
  type AuthenticatedUpgrade,
  authenticateUpgrade,
  parseUpgradePolicy,
  readAccepted,
  recheckToken,
  type UpgradePolicy,
} from './upgrade.js'
import type { VerifiedToken } from '../requests/verified-tokens.js'
import { FOREVER } from '../revocation/revocation.js'
import { startTimer } from '../runtime.js'
import { type Duration, parseDuration, type Scheduler, type Timer } from '../time.js'
import { readEnd, type TokenPayload } from '../tokens/payload.js'

/** Guards WebSockets. */
export interface Sockets<Payload = TokenPayload> {
  /** Checks the token of a WebSocket handshake: a Node `upgrade` request or a Fetch one. Nothing is remembered. */
  authenticate(request: RequestSource, policy?: UpgradePolicy): Promise<AuthenticatedUpgrade<Payload>>
  /**
   * Closes a socket with 4401 once its token expires or is revoked, or once the session that it follows ends. Returns a
   * function that stops watching.
   */
  closeWhenInvalid(
    socket: ClosableSocket,
    upgrade: AuthenticatedUpgrade<Payload>,
    options?: WatchOptions,
  ): () => void
}

/** How often the token of an open socket is checked. */
export interface WatchOptions {
  /** Default `30s`. */
  readonly every?: Duration
}

/** The kinds of `WatchOptions`. */
export const WATCH_OPTIONS: OptionKinds<WatchOptions> = {
  // `parseInterval` checks the rest.
  every: kindOf('a duration', (value) => ['string', 'number'].includes(typeof value)),
}

/** `tokens.sockets` of a manager. */
export function createSockets<Payload>(authenticator: Authenticator): Sockets<Payload> {
  return {
    async authenticate(request, policy = {}) {
      const checked = parseUpgradePolicy(policy)
      const upgrade = await authenticateUpgrade(authenticator, toRequestView(request), checked)
      return upgrade as AuthenticatedUpgrade<Payload>
    },
    closeWhenInvalid(socket, upgrade, options = {}) {
      const { every = '30s' } = parseOptions('sockets.closeWhenInvalid()', options, WATCH_OPTIONS)
      return closeWhenInvalid(authenticator, socket, upgrade as AuthenticatedUpgrade, parseInterval(every))
    },
  }
}

/** The part of a WebSocket that is needed to close it; works with `ws`, Deno and Workers. */
export interface ClosableSocket {
  close(code: number, reason: string): void
  addEventListener(type: 'close' | 'message', listener: (event: object) => void): void
  /** From 2 on the socket is closing or closed. */
  readonly readyState?: number
  /** What `ws` has: it delivers messages after `close`, for as long as the client ignores the close frame. */
  removeAllListeners?(event: 'message'): unknown
  /** What `ws` has: ends the connection without waiting for the client. */
  terminate?(): void
  readonly onmessage?: unknown
}

/** The milliseconds between two checks of the token of a socket, or `RangeError`. */
export function parseInterval(every: Duration): number {
  const interval = parseDuration(every) * 1000
  if (interval >= 1000 && interval <= 86_400_000) return interval
  throw new RangeError('every must be between a second and a day')
}

function closeWhenInvalid(
  manager: Authenticator,
  socket: ClosableSocket,
  upgrade: AuthenticatedUpgrade,
  interval: number,
): () => void {
  const known = readAccepted(upgrade)
  const followed = known?.followed ?? null
  // A session is known to the manager that has authenticated the handshake.
  const authenticator = known !== null && followed !== null ? known.authenticator : manager
  // Not opened again where it is known: the keys of its issuer may be unavailable by now.
  let verified =
    known?.authenticator === authenticator
      ? known.verified
      : authenticator.verifier.open(upgrade.token.token, authenticator.now(), false)
  const { scheduler } = authenticator
  let timer: Timer | undefined
  let stopped = false
  const stop = (): void => {
    stopped = true
    scheduler.clearTimeout(timer)
    unwatch()
  }

  const check = async (anew: boolean): Promise<void> => {
    // A socket that ended before it was watched emits no event.
    if ((socket.readyState ?? 0) >= 2) return stop()
    try {
      // An issuer may have moved the end of an opaque token.
      verified = await recheckToken(authenticator, upgrade, anew)
    } catch (error) {
      if (!stopped) closeSocket(socket, error, scheduler)
      stop()
    }
    if (!stopped) schedule()
  }

  const schedule = (): void => {
    scheduler.clearTimeout(timer)
    const now = authenticator.now()
    const wait = followed?.untilLook(now) ?? untilExpiry(verified, now)
    timer = startTimer(scheduler, () => void check(true), Math.min(interval, wait))
  }

  // With a replica, a revocation closes the socket immediately, not at the next check.
  const { store } = authenticator
  const unwatch =
    store?.watchToken(verified, () => {
      scheduler.clearTimeout(timer)
      void check(false)
    }) ?? (() => undefined)
  socket.addEventListener('close', stop)
  prepareSilence(socket)
  // A replica does not report revocations that arrived between the handshake and now.
  if ((store?.readReplica() ?? null) !== null) void check(false)
  else schedule()
  return stop
}

function untilExpiry({ claims, source }: VerifiedToken, now: number): number {
  const end = readEnd(claims, source.rules)
  return end === null ? FOREVER : Math.max(0, end * 1000 - now)
}

/** The close code for a token that is no longer valid: 401 among the codes that RFC 6455 §7.4.2 leaves to applications. */
export const CLOSE_UNAUTHORIZED = 4401

// RFC 6455 §7.4.1 and its registry: try again later.
const CLOSE_TRY_AGAIN = 1013

// Sockets that were closed here: no message of theirs reaches the application any longer.
const closed = new WeakSet<ClosableSocket>()

// How long a client has to answer the close frame.
const CLOSE_TIMEOUT_MS = 1000

/** Closes a socket for a reason, and lets no further message of it reach the application. */
export function closeSocket(socket: ClosableSocket, error: unknown, scheduler: Scheduler): void {
  const [code, reason] = toClosing(error)
  closed.add(socket)
  socket.removeAllListeners?.('message')
  if ('onmessage' in socket) Reflect.set(socket, 'onmessage', null)
  try {
    socket.close(code, reason)
  } catch {
    // Already closed.
  }
  if (typeof socket.terminate !== 'function') return
  const timer = startTimer(scheduler, () => socket.terminate?.(), CLOSE_TIMEOUT_MS)
  socket.addEventListener('close', () => scheduler.clearTimeout(timer))
}

// Makes sure that `closeSocket` can hold messages back: listeners of an EventTarget cannot be removed by others, but one
// that was added before them can stop an event.
function prepareSilence(socket: ClosableSocket): void {
  if (typeof socket.removeAllListeners === 'function') return
  socket.addEventListener('message', (event) => {
    if (closed.has(socket)) (event as Partial<Event>).stopImmediatePropagation?.()
  })
}

function toClosing(error: unknown): [code: number, reason: string] {
  return !isTokenError(error) || isOutage(error)
    ? [CLOSE_TRY_AGAIN, 'The token could not be checked']
    : [CLOSE_UNAUTHORIZED, error.message]
}
