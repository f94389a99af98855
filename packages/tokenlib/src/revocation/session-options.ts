import type { SessionClient, EventOrigin } from '../events.js'
import { type RequestSource, toRequestView } from '../http/request-source.js'
import type { RequestView } from '../http/view.js'
import { assertOptions, type OptionNames } from '../options.js'
import { emitWarning } from '../runtime.js'
import { type CreateTokenOptions, type RefreshTokenOptions, TOKEN_OPTIONS } from '../tokens/create.js'
import { readStoredId, type RevocationKey } from './revocation.js'
import type { StoredSession, SessionLimit, WhenFull } from './session-store.js'
import { MAX_SESSION_LIMIT } from './store-rules.js'

const CLIENT_OPTIONS: OptionNames<SessionClientOptions> = { request: true, ip: true, userAgent: true }

/** Where an action comes from, on whose behalf and why: for an audit log. */
export interface ActorOptions extends SessionClientOptions {
  /** Who does it, if it is not the user: the id of an administrator, the name of a job. */
  readonly actor?: string | undefined
  /** Why, in the words of whoever does it; at most 500 characters are kept. */
  readonly note?: string | undefined
}

const ACTOR_OPTIONS: OptionNames<ActorOptions> = { ...CLIENT_OPTIONS, actor: true, note: true }

/** The same, and when a revocation resolves. */
export interface RevokeOptions extends ActorOptions {
  /**
   * Wait until no process can accept the token any more. Without it, a revocation resolves once the store has it: processes
   * with a replica follow within their bound.
   */
  readonly everywhere?: boolean | undefined
  /**
   * Whose tokens are revoked: those of one of the manager's `issuers`, or `own` for its own. Left out, a payload is that of
   * its `iss`, and the id of a user, a session or a token is revoked for every issuer.
   */
  readonly issuer?: string | undefined
  /**
   * Do not wait for the store: refuse in this process at once, and write the revocation when the store answers, unless one of
   * these is revoked there by then. For receivers whose store does not answer: `revocationKeys` of the JWT that asks for it.
   */
  readonly deferUnless?: readonly RevocationKey[] | undefined
}

/** The names of `RevokeOptions`. */
export const REVOKE_OPTIONS: OptionNames<RevokeOptions> = {
  ...ACTOR_OPTIONS,
  everywhere: true,
  issuer: true,
  deferUnless: true,
}

const MAX_ACTOR_LENGTH = 128

/** How many characters of a `note` are kept. */
export const MAX_NOTE_LENGTH = 500

/** Who is behind an action and why, cleaned and cut, or `TypeError` for options that are none. */
export function parseActor(
  clients: ClientReader,
  owner: string,
  options: RevokeOptions,
  request?: RequestSource,
): EventOrigin {
  assertOptions(owner, options, REVOKE_OPTIONS)
  const { actor, note, everywhere, issuer, deferUnless, ...client } = { request, ...options }
  // They would ignore it.
  if (issuer !== undefined && (request !== undefined || owner === 'sessions.endOthers()')) {
    throw new TypeError(`${owner} takes no issuer here: it goes by that of the tokens`)
  }
  if (everywhere !== undefined && typeof everywhere !== 'boolean') {
    throw new TypeError('everywhere must be true or false')
  }
  if (deferUnless !== undefined) {
    if (!Array.isArray(deferUnless)) throw new TypeError('deferUnless must be a list of revocation keys')
    if (everywhere === true) throw new TypeError('A revocation with deferUnless cannot wait for everywhere')
    // Which sessions these are, only the store knows.
    if (owner === 'sessions.endOthers()') throw new TypeError(`${owner} takes no deferUnless`)
  }
  return {
    actor: clean('actor', actor, MAX_ACTOR_LENGTH),
    note: clean('note', note, MAX_NOTE_LENGTH),
    // Quietly: a mistake in `clientIp` must not keep a session alive.
    ...clients.readQuietly(client),
  }
}

/** Options for both tokens of a pair; those under `access` and `refresh` win for that one. */
export interface PairTokenOptions extends CreateTokenOptions {
  readonly access?: CreateTokenOptions
  readonly refresh?: RefreshTokenOptions
}

/** Options of a new pair, and where its log-in comes from. */
export interface OpenSessionOptions extends PairTokenOptions, SessionClientOptions {
  /**
   * Whether cookies of this session outlive the browser session ("remember me"), also after a refresh. Left out, it is as
   * `JWT_SESSION_COOKIE` says.
   */
  readonly remember?: boolean | undefined
  /** The most sessions that the user may have at once, the new one included: 1 to 1,000. Left out, there is no limit. */
  readonly maxSessions?: number | undefined
  /**
   * What becomes of a log-in that would exceed `maxSessions`: `endOldest`, the default, revokes the oldest sessions;
   * `refuse` rejects with `SessionLimitError`.
   */
  readonly whenFull?: WhenFull | undefined
}

/** The names of `OpenSessionOptions`. */
export const OPEN_OPTIONS: OptionNames<OpenSessionOptions> = {
  ...TOKEN_OPTIONS,
  ...CLIENT_OPTIONS,
  access: true,
  refresh: true,
  remember: true,
  maxSessions: true,
  whenFull: true,
}

/** The limit that a log-in was given, or `null` for none; `TypeError` for one that cannot be enforced. */
export function parseLimit({
  maxSessions,
  whenFull,
}: Pick<OpenSessionOptions, 'maxSessions' | 'whenFull'>): OpeningLimit | null {
  if (whenFull !== undefined && whenFull !== 'endOldest' && whenFull !== 'refuse') {
    throw new TypeError("whenFull must be 'endOldest' or 'refuse'")
  }
  if (maxSessions === undefined) {
    if (whenFull !== undefined)
      throw new TypeError('whenFull needs maxSessions: without it there is no limit')
    return null
  }
  if (!Number.isInteger(maxSessions) || maxSessions < 1 || maxSessions > MAX_SESSION_LIMIT) {
    throw new TypeError(`maxSessions must be a whole number from 1 to ${MAX_SESSION_LIMIT}`)
  }
  return { max: maxSessions, whenFull: whenFull ?? 'endOldest' }
}

/** A limit, as a log-in gives it. */
export type OpeningLimit = Omit<SessionLimit, 'idleMs'>

/** An access and a refresh token of one log-in; both carry the same `sid`. */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
  readonly tokenType: 'bearer'
}

/** What a refresh returns. */
export interface RefreshedTokens {
  readonly accessToken: string
  /** `null` if the client should keep the refresh token it sent. */
  readonly refreshToken: string | null
  readonly tokenType: 'bearer'
}

/** Options of a refresh; what is left out comes from `describeUser`, or from the refresh token. */
export interface RefreshOptions extends SessionClientOptions {
  /** Options of the access token alone. */
  readonly access?: CreateTokenOptions
}

/** The names of `RefreshOptions`. */
export const REFRESH_OPTIONS: OptionNames<RefreshOptions> = { ...CLIENT_OPTIONS, access: true }

/** A live session of a user. */
export interface SessionInfo extends SessionClient {
  /** The `sid` of its tokens. */
  readonly id: string
  /** The user; `null` where the store keeps only a digest of an id that is long or not plain ASCII. */
  readonly sub: string | null
  readonly createdAt: Date
  /** When its tokens were issued or last refreshed, rounded down to the minute, so that it does not tell a thief when to strike. */
  readonly lastUsedAt: Date
  /** `null` for a session that never ends. */
  readonly expiresAt: Date | null
}

/** A stored session, as applications see it. */
export function toInfo({
  sid,
  user,
  startedAt,
  lastUsedAt,
  expiresAt,
  ip,
  userAgent,
}: StoredSession): SessionInfo {
  return {
    id: sid,
    sub: readStoredId(user),
    createdAt: new Date(startedAt),
    lastUsedAt: new Date(Math.max(startedAt, lastUsedAt - (lastUsedAt % 60_000))),
    expiresAt: expiresAt > LAST_DATE ? null : new Date(expiresAt),
    ip,
    userAgent,
  }
}

// ECMA-262 §21.4.1.1: no Date is later.
const LAST_DATE = 8.64e15

/** Where a login or a refresh comes from; shown to users in the list of their sessions. */
export interface SessionClientOptions {
  /** Provides the user agent, and the client's address as `clientIp` of the manager reads it. */
  readonly request?: RequestSource | undefined
  /** The client's address, instead of the request's. */
  readonly ip?: string | undefined
  readonly userAgent?: string | undefined
}

/**
 * Reads the client's address from a request. `request.ip` is what the framework or the socket knows, which behind a proxy
 * may be the proxy. `null` means that the address is not known.
 */
export type ReadClientIp = (request: RequestView) => string | null | undefined

/** Reads where a request comes from, cleaned and cut; explicit options win over the request. */
export interface ClientReader {
  /** Throws what `clientIp` throws: a missing address must not go unnoticed in rate limits and lists of sessions. */
  read(options: SessionClientOptions): SessionClient
  /** Never throws what `clientIp` throws; a warning reports it, and the address is `null`. For events and revocations. */
  readQuietly(options: SessionClientOptions): SessionClient
}

// The longest textual IPv6 address with a zone fits, and so do the user agents of real browsers.
const MAX_IP_LENGTH = 64
const MAX_USER_AGENT_LENGTH = 512

/** A reader for a manager; without `clientIp`, the address is the one that the framework knows. */
export function createClientReader(clientIp: ReadClientIp | undefined): ClientReader {
  if (clientIp !== undefined && typeof clientIp !== 'function')
    throw new TypeError('clientIp must be a function')

  const readIp = (view: RequestView): string | null => {
    const ip: unknown = clientIp === undefined ? view.ip : clientIp(view)
    if (ip === null || ip === undefined || typeof ip === 'string') return ip ?? null
    throw new TypeError('clientIp must return a string, null or undefined')
  }
  const readIpQuietly = (view: RequestView): string | null => {
    try {
      return readIp(view)
    } catch (error) {
      const reason = error instanceof Error ? error.message : typeof error
      emitWarning(`clientIp failed: ${clean('reason', reason, 200)}`, 'TokenClientIpWarning')
      return null
    }
  }
  return {
    read: (options) => readClient(options, readIp),
    readQuietly: (options) => readClient(options, readIpQuietly),
  }
}

function readClient(
  { request, ip, userAgent }: SessionClientOptions,
  readIp: (view: RequestView) => string | null,
): SessionClient {
  const view = request === undefined ? null : toRequestView(request)
  return {
    ip: clean('ip', ip ?? (view && readIp(view)), MAX_IP_LENGTH),
    userAgent: clean('userAgent', userAgent ?? view?.header('user-agent'), MAX_USER_AGENT_LENGTH),
  }
}

/** A text of a client or a caller, cut and without control characters, or `null`; `TypeError` for another type. */
export function clean(name: string, value: unknown, maxLength: number): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string`)
  // Databases refuse NUL and broken text, and terminals obey control characters.
  return value.slice(0, maxLength).replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ')
}
