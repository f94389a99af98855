/**
 * The timeout of a session route: after a laptop has slept, its connections are dead. Less than
 * half of the server's grace period, so that the cookies of a late response do not replace newer ones.
 */
export const CALL_TIMEOUT_MS = 25_000

/** How often a repeatable request is sent while the server asks for another attempt. */
export const MAX_ATTEMPTS = 3

/** The longest `Retry-After` that is obeyed: beyond it, the application should tell its user. */
export const MAX_WAIT_SECONDS = 30

/** The longest pause between two attempts to reach a server, unless it asks for a longer one. */
export const MAX_DELAY_MS = 30_000

/** The longest pause that a server can ask of `start`. */
export const MAX_PAUSE_SECONDS = 300

/** RFC 9110 §9.2.1: safe methods. They need no CSRF value and can always be repeated. */
export const SAFE_METHOD: RegExp = /^(GET|HEAD)$/

/** The answer if another tab has just refreshed: the next attempt, with the newest tokens, succeeds. */
export const SUPERSEDED = 'REFRESH_SUPERSEDED'

/** How long to wait for the cookies of the other tab. A page on another origin cannot read `Retry-After`. */
export const SUPERSEDED_PAUSE_MS = 1000

/** A refresh does not help against these errors, and they do not end the session. The last is a challenge (RFC 9449 §9). */
export const FINAL_CODE: RegExp = /^(ANSWER|CSRF|FRESH|CREDENTIALS)_|^PROOF_(NONCE|REUSED)|use_dpop_nonce/

/** The hint when the CSRF cookie is unreadable after a login. Without it, every later call would fail unexplained. */
export const COOKIES_MISSING = 'csrfCookie: use https'
