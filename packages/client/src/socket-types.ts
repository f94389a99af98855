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

/** A socket that can be changed. */
export type OpenSocket = { -readonly [Name in keyof TokenSocket]: TokenSocket[Name] }

/** Calls a listener when the session ends or another begins. Returns an unsubscribe function. */
export type OnEnd = (name: 'loggedIn' | 'loggedOut', listener: () => void) => () => void
