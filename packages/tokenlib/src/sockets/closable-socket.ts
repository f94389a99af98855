import { isTokenError } from '../errors.js'
import { startTimer } from '../runtime.js'

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

/**
 * Makes sure that `closeSocket` can hold messages back.
 *
 * Listeners of an EventTarget cannot be removed by others, but one that was added before them can stop an event.
 */
export function prepareSilence(socket: ClosableSocket): void {
  if (typeof socket.removeAllListeners === 'function') return
  socket.addEventListener('message', (event) => {
    if (closed.has(socket)) (event as Partial<Event>).stopImmediatePropagation?.()
  })
}

function readEnd(error: unknown): [code: number, reason: string] {
  const isUnanswered =
    !isTokenError(error) || error.code === 'REVOCATION_UNAVAILABLE' || error.code === 'KEYS_UNAVAILABLE'
  return isUnanswered
    ? [CLOSE_TRY_AGAIN, 'The token could not be checked']
    : [CLOSE_UNAUTHORIZED, error.message]
}
