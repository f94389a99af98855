import { TokenClientError } from './errors.js'
import { CLOSED, CONNECTING, OPEN, UNAUTHORIZED } from './socket-limits.js'

/** What a socket can send. */
export type TokenSocketData = string | ArrayBuffer | ArrayBufferView | Blob

/** The events of a socket. */
export interface TokenSocketEvents {
  /** At every connection. */
  readonly open: Event
  readonly message: Event & { readonly data: unknown }
  /** Once, when the socket is closed for good. */
  readonly close: Event & { readonly code: number; readonly reason: string }
}

/** A WebSocket that reconnects. */
export interface TokenSocket extends EventTarget {
  addEventListener<Name extends keyof TokenSocketEvents>(
    type: Name,
    listener: (event: TokenSocketEvents[Name]) => void,
    options?: { readonly once?: boolean; readonly signal?: AbortSignal },
  ): void
  addEventListener(...parameters: Parameters<EventTarget['addEventListener']>): void
  removeEventListener<Name extends keyof TokenSocketEvents>(
    type: Name,
    listener: (event: TokenSocketEvents[Name]) => void,
  ): void
  removeEventListener(...parameters: Parameters<EventTarget['removeEventListener']>): void
  /** 0 while it connects for the first time or again, 1 when it is open, 3 when it is closed for good. */
  readonly readyState: number
  /** Throws `SOCKET_NOT_OPEN` unless the socket is open: nothing is kept for later. */
  send(data: TokenSocketData): void
  close(code?: number, reason?: string): void
}

/** A connection of a socket: the `WebSocket` of the runtime. */
export interface Connection {
  onopen: () => void
  onmessage: (event: { readonly data: unknown }) => void
  onerror: () => void
  onclose: (event: { readonly code: number; readonly reason: string }) => void
  send(data: TokenSocketData): void
  close(code?: number, reason?: string): void
}

/** A socket, and its connection while there is one. */
export interface SocketState {
  readonly socket: { -readonly [Name in keyof TokenSocket]: TokenSocket[Name] }
  readonly dispatch: (type: string, members?: object) => unknown
  connection?: Connection | undefined
}

/** Creates a socket without a connection: what is needed before the part that connects has been loaded. */
export function createSocket(
  /** Registers what is called when the session ends or another begins; returns functions that undo it. */
  onEnd: (listener: () => void) => readonly (() => void)[],
): SocketState {
  const socket: SocketState['socket'] = Object.assign(new EventTarget(), {
    readyState: CONNECTING,
    send(data: TokenSocketData) {
      if (socket.readyState !== OPEN) throw new TokenClientError('SOCKET_NOT_OPEN', 'send')
      state.connection?.send(data)
    },
    close(code = 1000, reason = '') {
      if (socket.readyState === CLOSED) return
      // First: it throws for a code that cannot be sent.
      state.connection?.close(code, reason)
      socket.readyState = CLOSED
      for (const remove of removals) remove()
      state.dispatch('close', { code, reason })
    },
  })
  const removals = onEnd(() => socket.close(UNAUTHORIZED))
  const state: SocketState = {
    socket,
    dispatch: (type, members) => socket.dispatchEvent(Object.assign(new Event(type), members)),
  }
  return state
}
