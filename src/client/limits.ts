/** An answer of a session route that takes longer will not come: the connections of a laptop that slept are dead. */
export const CALL_TIMEOUT_MS = 60_000

/** How often a request is sent that the server refuses because it is out of order. */
export const MAX_ATTEMPTS = 3

/** The most that a server can ask for with `Retry-After`: beyond it, the application should tell its user. */
export const MAX_WAIT_SECONDS = 30

/** The longest delay between two connections of a socket. */
export const MAX_DELAY_MS = 30_000

/** A connection of a socket that was shorter counts as a failure: the next one waits. */
export const STABLE_MS = 5000

/** The states of a socket, as WebSockets number them. */
export const CONNECTING = 0
/** The socket can send. */
export const OPEN = 1
/** The socket is closed for good. */
export const CLOSED = 3

/** What a server closes with when the token is no longer good, and what a log-out closes with. */
export const UNAUTHORIZED = 4401

/** RFC 9110 §9.2.1: these change nothing. They need no CSRF value, and may be repeated whatever became of the first. */
export const SAFE_METHOD: RegExp = /^(GET|HEAD)$/

/** No refresh changes these answers: a CSRF value, for example, is that of one session, whatever its tokens. */
export const FINAL_CODE: RegExp = /^(CSRF|FRESH|CREDENTIALS)_/
