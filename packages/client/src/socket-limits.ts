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

/** The close code for an invalid token, and for a logout. */
export const UNAUTHORIZED = 4401
