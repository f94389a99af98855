import { isTokenError, MissingTokenError } from '../errors.js'
import type { TokenPayload } from '../claims/payload.js'
import { assertOptions, type OptionNames } from '../options.js'
import { isOrigin } from '../request/csrf.js'
import type { RequestToken } from '../request/read-token.js'
import { readUpgradeToken } from '../request/upgrade.js'
import { attach, readAttached, type RequestView } from '../request/view.js'
import { type Duration, parseDuration } from '../time.js'
import { type Authenticator, assertUnrevoked, authenticateToken, reportRejection } from './authenticate.js'
import {
  assertFresh,
  assertScopes,
  assertType,
  compilePolicy,
  parsePolicy,
  TOKEN_POLICY_NAMES,
  type TokenPolicy,
} from './policy.js'
import { startTimer, type Timer } from '../runtime.js'

/** What a WebSocket handshake must bring. */
export interface UpgradePolicy extends Pick<TokenPolicy, 'fresh' | 'scopes' | 'skipRevocation'> {
  /** Default `access`. */
  readonly type?: 'access' | 'refresh'
  /** The origins whose cookies are believed, as browsers write them: `https://app.example`. None by default. */
  readonly origins?: readonly string[]
}

/** A handshake that may become a socket. */
export interface AuthenticatedUpgrade<Payload = TokenPayload> {
  readonly payload: Payload
  readonly token: RequestToken
  /** The subprotocol the server must select in its answer, when the token came in one. */
  readonly protocol: string | null
}

/** A policy that was checked, with what was left out. */
export type ParsedUpgradePolicy = UpgradePolicy & Required<Pick<UpgradePolicy, 'type' | 'origins'>>

const UPGRADE_NAMES: OptionNames<UpgradePolicy> = { ...TOKEN_POLICY_NAMES, origins: true }

/** A checked copy of a policy, or `TypeError`: a misspelled demand must not open a socket. */
export function parseUpgradePolicy(given: UpgradePolicy): ParsedUpgradePolicy {
  assertOptions('authenticateUpgrade()', given, UPGRADE_NAMES)
  const { origins = [], ...policy } = given
  if (!Array.isArray(origins) || !origins.every(isOrigin)) {
    throw new TypeError('origins must be a list, each an origin like https://app.example')
  }
  const { type = 'access' } = policy
  if (type !== 'access' && type !== 'refresh') throw new TypeError('type must be access or refresh')
  return { ...parsePolicy(policy), type, origins: origins.slice() as string[] }
}

/** Checks the token of a WebSocket handshake like that of any request. */
export async function authenticateUpgrade(
  authenticator: Authenticator,
  view: RequestView,
  policy: ParsedUpgradePolicy,
): Promise<AuthenticatedUpgrade> {
  const { reading } = authenticator.settings
  const found = readUpgradeToken(view, policy.type, policy.origins, reading)
  if (found === null) throw new MissingTokenError('No token found in the WebSocket handshake')
  const { token, protocol } = found
  // The origin has been checked in place of a CSRF value, which no browser could send here.
  const checks = compilePolicy({ ...policy, csrf: false }, reading.locations)
  // A view of its own: a connection outlives its handshake, and whoever asks again wants to know anew.
  const origin = { view: copyView(view), found: token }
  const { payload } = await authenticateToken(authenticator, token.token, checks, origin)
  const upgrade = { payload, token: Object.freeze(token), protocol }
  owners.set(upgrade, authenticator)
  return upgrade
}

// Another object with the same members: what is remembered for one is not found at the other.
function copyView(view: RequestView): RequestView {
  const { method, url, ip = null } = view
  return { method, url, ip, header: (name) => view.header(name), body: () => view.body() }
}

// Which manager has authenticated a handshake.
const owners = new WeakMap<AuthenticatedUpgrade, Authenticator>()

/** Checks again that the token of an open socket is neither expired nor revoked. */
export async function recheckUpgrade(upgrade: AuthenticatedUpgrade): Promise<void> {
  const authenticator = owners.get(upgrade)
  if (authenticator === undefined) throw new TypeError('Pass what authenticateUpgrade returned')
  await recheckToken(authenticator, upgrade)
}

/**
 * Checks time and revocation of a token that was accepted before, and nothing else.
 *
 * An open socket does not present its token anew: to a refresh token that its session has replaced in the meantime,
 * this is no reuse.
 */
export async function recheckToken(
  authenticator: Authenticator,
  { token: { token, location }, payload }: AuthenticatedUpgrade,
): Promise<void> {
  const { now, verifier } = authenticator
  try {
    await assertUnrevoked(authenticator, token, verifier.verify(token, now()), location)
  } catch (error) {
    reportRejection(authenticator, error, payload)
    throw error
  }
}

/** Makes a view that of a message: dependencies take the token of the handshake instead of looking for one. */
export function rememberUpgrade(view: RequestView, upgrade: AuthenticatedUpgrade): void {
  attach(view, rememberUpgrade, upgrade)
}

/** The handshake of the socket whose message a view stands for, or `null`; each manager finds its own. */
export function readUpgrade(authenticator: Authenticator, view: RequestView): AuthenticatedUpgrade | null {
  const upgrade = readAttached(view, rememberUpgrade) as AuthenticatedUpgrade | undefined
  return upgrade !== undefined && owners.get(upgrade) === authenticator ? upgrade : null
}

/**
 * The payload for a message of a socket.
 *
 * Whoever remembers the upgrade has rechecked it for this message, and its origin was checked in the handshake: what
 * remains is what the policy demands of the token itself.
 */
export function checkMessage(
  authenticator: Authenticator,
  policy: TokenPolicy,
  { token: { token, location }, payload: known }: AuthenticatedUpgrade,
): TokenPayload {
  try {
    if (policy.locations !== undefined && !policy.locations.includes(location)) {
      throw new MissingTokenError(`The token of the WebSocket handshake was found in ${location}`)
    }
    const now = authenticator.now()
    const { payload } = authenticator.verifier.verify(token, now)
    assertType(payload, policy)
    assertFresh(payload, policy, now)
    assertScopes(payload, policy)
    return payload
  } catch (error) {
    reportRejection(authenticator, error, known)
    throw error
  }
}

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
    unwatch()
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
    clearTimeout(timer)
    const wait = Math.min(interval, untilExpiry(authenticator, upgrade.payload))
    timer = startTimer(() => void check(), wait)
  }

  // Where there is a replica: at once, and not at the next look.
  const unwatch = watchToken(authenticator, upgrade, () => {
    clearTimeout(timer)
    void check()
  })
  socket.addEventListener('close', stop)
  prepareSilence(socket)
  // What arrived since the handshake is not told again.
  if (hasReplica(authenticator)) void check()
  else schedule()
  return stop
}

function hasReplica({ store }: Authenticator): boolean {
  return store !== null && store.waitForOthers !== null
}

function watchToken(
  { store, verifier }: Authenticator,
  { token: { token } }: AuthenticatedUpgrade,
  listener: () => void,
): () => void {
  return store?.watchToken(verifier.open(token), listener) ?? (() => undefined)
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

function readEnd(error: unknown): [code: number, reason: string] {
  const isUnanswered = !isTokenError(error) || error.code === 'REVOCATION_UNAVAILABLE'
  return isUnanswered
    ? [CLOSE_TRY_AGAIN, 'The token could not be checked']
    : [CLOSE_UNAUTHORIZED, error.message]
}
