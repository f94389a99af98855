import { TokenClientError } from './errors.js'
import { CLOSED, CONNECTING, MAX_DELAY_MS, OPEN, STABLE_MS, UNAUTHORIZED } from './limits.js'
import { now } from './responses.js'

/** What a socket can send. */
export type TokenSocketData = string | ArrayBuffer | ArrayBufferView | Blob

/**
 * A WebSocket that reconnects: `open` is dispatched for every connection, `close` once, when it is closed for good.
 *
 * `message` events have `data`, `close` events `code` and `reason`.
 */
export interface TokenSocket extends EventTarget {
  /** 0 while it connects for the first time or again, 1 when it is open, 3 when it is closed for good. */
  readonly readyState: number
  /** Throws `SOCKET_NOT_OPEN` unless the socket is open: nothing is kept for later. */
  send(data: TokenSocketData): void
  close(code?: number, reason?: string): void
}

interface Connection {
  onopen: () => void
  onmessage: (event: { readonly data: unknown }) => void
  onclose: (event: { readonly code: number; readonly reason: string }) => void
  send(data: TokenSocketData): void
  close(code?: number, reason?: string): void
}

// RFC 6455 §7.4.1 and its registry: the server goes away, the connection is lost, the server has an error, restarts or
// is overloaded. With every other code, the server means what it says.
const TRANSIENT = [UNAUTHORIZED, 1001, 1006, 1011, 1012, 1013]

/** Opens a socket that is closed for good when the session is over or another one begins. */
export function openSocket(
  /** Creates a connection with the access token of this moment. */
  createConnection: () => object,
  /** Renews the access token if the last connection was refused or it is known to have expired. */
  prepare: (isRefused: boolean) => Promise<unknown>,
  /** Registers what is called when the session ends or another begins; returns functions that undo it. */
  onEnd: (listener: () => void) => (() => void)[],
): TokenSocket {
  let connection: Connection | undefined
  let timer: ReturnType<typeof setTimeout>
  let failures = 0

  const finish = (code = 1000, reason = ''): void => {
    if (socket.readyState === CLOSED) return
    socket.readyState = CLOSED
    clearTimeout(timer)
    for (const remove of removals) remove()
    connection?.close(code, reason)
    dispatch('close', { code, reason })
  }
  const removals = onEnd(() => finish(UNAUTHORIZED))

  const socket: { -readonly [Name in keyof TokenSocket]: TokenSocket[Name] } = Object.assign(
    new EventTarget(),
    {
      readyState: CONNECTING,
      send(data: TokenSocketData) {
        if (socket.readyState !== OPEN) throw new TokenClientError('SOCKET_NOT_OPEN', 'socket')
        connection?.send(data)
      },
      close: finish,
    },
  )
  const dispatch = (type: string, details?: object): unknown =>
    socket.dispatchEvent(Object.assign(new Event(type), details))

  // Later, also for the first time: whoever opens a socket must be able to listen first.
  const connectLater = (isRefused = false): void => {
    // At random below a limit that doubles with each failure: many tabs may have seen the same one.
    const delay = failures && Math.min(MAX_DELAY_MS, 500 * 2 ** failures) * Math.random()
    timer = setTimeout(() => void connect(isRefused), delay)
    failures++
  }

  const connect = async (isRefused: boolean): Promise<void> => {
    try {
      await prepare(isRefused)
    } catch {
      return connectLater(isRefused)
    }
    if (socket.readyState === CLOSED) return
    const startedAt = now()
    connection = createConnection() as Connection
    connection.onopen = () => {
      socket.readyState = OPEN
      dispatch('open')
    }
    connection.onmessage = ({ data }) => dispatch('message', { data })
    connection.onclose = ({ code, reason }) => {
      if (!TRANSIENT.includes(code)) finish(code, reason)
      if (socket.readyState === CLOSED) return
      // A refused handshake looks like a lost connection: the first time, the token may be the reason.
      const mayBeRefused = code === UNAUTHORIZED || (socket.readyState === CONNECTING && failures === 1)
      socket.readyState = CONNECTING
      if (now() - startedAt > STABLE_MS) failures = 0
      connectLater(mayBeRefused)
    }
  }

  connectLater()
  return socket
}
