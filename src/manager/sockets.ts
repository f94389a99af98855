import type { TokenPayload } from '../claims/payload.js'
import { isTokenError } from '../any-token-error.js'
import { MissingTokenError } from '../errors.js'
import { isOrigin } from '../request/origin.js'
import type { RequestToken } from '../request/request-token.js'
import { readUpgradeToken } from '../request/upgrade.js'
import type { RequestView } from '../request/view.js'
import { type Duration, parseDuration } from '../time.js'
import { type Authenticator, authenticateToken } from './authenticate.js'
import { parsePolicy, type TokenPolicy } from './policy.js'

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

/** As much of a WebSocket as is needed to end it; those of `ws`, Deno, Bun and Workers all have it. */
export interface ClosableSocket {
  close(code: number, reason: string): void
  addEventListener(type: 'close', listener: () => void): void
  /** From 2 on the socket is closing or closed. */
  readonly readyState?: number
}

/** The close code for a token that is no longer good: 401 among the codes RFC 6455 §7.4.2 leaves to applications. */
export const CLOSE_UNAUTHORIZED = 4401

// RFC 6455 §7.4.1 and its registry: try again later.
const CLOSE_TRY_AGAIN = 1013

/** A policy that was checked, with what was left out. */
export type ParsedUpgradePolicy = UpgradePolicy & Required<Pick<UpgradePolicy, 'type' | 'origins'>>

/** A checked copy of a policy, or `TypeError`: a misspelled demand must not open a socket. */
export function parseUpgradePolicy({ origins = [], ...policy }: UpgradePolicy): ParsedUpgradePolicy {
  if (!Array.isArray(origins) || !origins.every(isOrigin)) {
    throw new TypeError('origins must be a list, each an origin like https://app.example')
  }
  const { type = 'access' } = policy
  if (type !== 'access' && type !== 'refresh') throw new TypeError('Not an upgrade policy: type')
  return { ...parsePolicy(policy), type, origins: origins.slice() as string[] }
}

/** Checks the token of a WebSocket handshake like that of any request. */
export async function authenticateUpgrade(
  authenticator: Authenticator,
  view: RequestView,
  policy: ParsedUpgradePolicy,
): Promise<AuthenticatedUpgrade> {
  const { reading } = authenticator.settings
  const found = await readUpgradeToken(view, policy.type, policy.origins, reading)
  if (found === null) throw new MissingTokenError('No token found in the WebSocket handshake')
  const { token, protocol } = found
  // The origin has been checked in place of a CSRF value, which no browser could send here.
  const checks = { ...policy, csrf: false }
  // A view of its own: a connection outlives its handshake, and whoever asks again wants to know anew.
  const origin = { view: Object.create(view) as RequestView, found: token }
  const { payload } = await authenticateToken(authenticator, token.token, checks, origin)
  return { payload, token: Object.freeze(token), protocol }
}

/** Closes a socket once its token has expired or was revoked; returns a function that stops watching. */
export function closeWhenInvalid(
  authenticator: Authenticator,
  socket: ClosableSocket,
  upgrade: AuthenticatedUpgrade,
  every: Duration,
): () => void {
  const interval = parseDuration(every) * 1000
  if (interval < 1000 || interval > 86_400_000) {
    throw new RangeError('every must be between a second and a day')
  }
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const stop = (): void => {
    stopped = true
    clearTimeout(timer)
  }

  const check = async (): Promise<void> => {
    // A socket that ended before it was watched never says so.
    if ((socket.readyState ?? 0) >= 2) return stop()
    try {
      await authenticateToken(authenticator, upgrade.token.token, { type: upgrade.payload.type }, null)
    } catch (error) {
      if (!stopped) end(socket, error)
      stop()
    }
    if (!stopped) schedule()
  }

  const schedule = (): void => {
    timer = setTimeout(() => void check(), Math.min(interval, untilExpiry(authenticator, upgrade.payload)))
    // A socket keeps the process alive by itself; watching it must not.
    timer.unref()
  }

  socket.addEventListener('close', stop)
  schedule()
  return stop
}

function untilExpiry({ now, settings }: Authenticator, payload: TokenPayload): number {
  const { exp = Number.MAX_SAFE_INTEGER } = payload
  return Math.max(0, (exp + settings.claims.leeway) * 1000 - now())
}

function end(socket: ClosableSocket, error: unknown): void {
  const [code, reason] = readEnd(error)
  try {
    socket.close(code, reason)
  } catch {
    // Closed by someone else in the meantime, in whatever way.
  }
}

function readEnd(error: unknown): [code: number, reason: string] {
  const isUnanswered = !isTokenError(error) || error.code === 'REVOCATION_UNAVAILABLE'
  return isUnanswered
    ? [CLOSE_TRY_AGAIN, 'The token could not be checked']
    : [CLOSE_UNAUTHORIZED, error.message]
}
