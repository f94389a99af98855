/** A connection of a socket that was shorter counts as a failure: the next one waits. */
export const STABLE_MS = 5000

/** How often in a row a server can refuse a socket before it is closed for good. */
export const MAX_REFUSALS = 5

/** The states of a socket, as WebSockets number them. */
export const CONNECTING = 0
/** The socket can send. */
export const OPEN = 1
/** The socket is closed for good. */
export const CLOSED = 3

/** What a server closes with when the token is no longer good, and what a log-out closes with. */
export const UNAUTHORIZED = 4401
