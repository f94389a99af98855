import { isTokenError } from '../errors.js'
import type { TokenPayload } from '../claims/payload.js'
import { type Duration, parseDuration } from '../time.js'
import type { Authenticator } from './authenticate.js'
import { type AuthenticatedUpgrade, recheckToken } from './sockets.js'

/** As much of a WebSocket as is needed to end it; those of `ws`, Deno and Workers have it. */
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

/** The close code for a token that is no longer good: 401 among the codes RFC 6455 §7.4.2 leaves to applications. */
export const CLOSE_UNAUTHORIZED = 4401

// RFC 6455 §7.4.1 and its registry: try again later.
const CLOSE_TRY_AGAIN = 1013

/** The milliseconds between two looks at the token of a socket, or `RangeError`. */
export function parseInterval(every: Duration): number {
  const interval = parseDuration(every) * 1000
  if (interval >= 1000 && interval <= 86_400_000) return interval
  throw new RangeError('every must be between a second and a day')
}

/** Closes a socket once its token has expired or was revoked; returns a function that stops watching. */
export function closeWhenInvalid(
  authenticator: Authenticator,
  socket: ClosableSocket,
  upgrade: AuthenticatedUpgrade,
  every: Duration,
): () => void {
  const interval = parseInterval(every)
  let timer: Timer | undefined
  let stopped = false
  const stop = (): void => {
    stopped = true
    clearTimeout(timer)
  }

  const check = async (): Promise<void> => {
    // A socket that ended before it was watched never says so.
    if ((socket.readyState ?? 0) >= 2) return stop()
    try {
      await recheckToken(authenticator, upgrade)
    } catch (error) {
      if (!stopped) closeSocket(socket, error)
      stop()
    }
    if (!stopped) schedule()
  }

  const schedule = (): void => {
    const wait = Math.min(interval, untilExpiry(authenticator, upgrade.payload))
    timer = startTimer(() => void check(), wait)
  }

  socket.addEventListener('close', stop)
  prepareSilence(socket)
  schedule()
  return stop
}

function untilExpiry({ now, settings }: Authenticator, payload: TokenPayload): number {
  const { exp = Number.MAX_SAFE_INTEGER } = payload
  return Math.max(0, (exp + settings.claims.leeway) * 1000 - now())
}

// Sockets that were closed here: no message of theirs reaches the application any longer.
const closed = new WeakSet<ClosableSocket>()

// How long a client has to answer the close frame.
const CLOSE_TIMEOUT_MS = 1000

/** Closes a socket for a reason, and lets no further message of it reach the application. */
export function closeSocket(socket: ClosableSocket, error: unknown): void {
  const [code, reason] = readEnd(error)
  closed.add(socket)
  socket.removeAllListeners?.('message')
  if ('onmessage' in socket) Reflect.set(socket, 'onmessage', null)
  try {
    socket.close(code, reason)
  } catch {
    // Closed by someone else in the meantime, in whatever way.
  }
  if (typeof socket.terminate !== 'function') return
  const timer = startTimer(() => socket.terminate?.(), CLOSE_TIMEOUT_MS)
  socket.addEventListener('close', () => clearTimeout(timer))
}

// Listeners of an EventTarget cannot be removed by others, but one that was added before them can hold events back.
function prepareSilence(socket: ClosableSocket): void {
  if (typeof socket.removeAllListeners === 'function') return
  socket.addEventListener('message', (event) => {
    if (closed.has(socket)) (event as Partial<Event>).stopImmediatePropagation?.()
  })
}

type Timer = ReturnType<typeof setTimeout>

// A socket keeps the process alive by itself; a timer must not. In some runtimes timers are numbers.
function startTimer(callback: () => void, milliseconds: number): Timer {
  const timer = setTimeout(callback, milliseconds)
  ;(timer as Partial<Timer>).unref?.()
  return timer
}

function readEnd(error: unknown): [code: number, reason: string] {
  const isUnanswered = !isTokenError(error) || error.code === 'REVOCATION_UNAVAILABLE'
  return isUnanswered
    ? [CLOSE_TRY_AGAIN, 'The token could not be checked']
    : [CLOSE_UNAUTHORIZED, error.message]
}
