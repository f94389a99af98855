import type { SessionClient } from '../events.js'
import { requestKind, type RequestSource, toRequestView } from '../http/request-source.js'
import type { RequestView } from '../http/view.js'
import { kindOf, type OptionKinds } from '../options.js'
import { emitWarning } from '../runtime.js'

/** Where a login or a refresh comes from; shown to users in the list of their sessions. */
export interface SessionClientOptions {
  /** Provides the user agent, and the client's address as `clientIp` of the manager reads it. */
  readonly request?: RequestSource | undefined
  /** The client's address, instead of the request's. */
  readonly ip?: string | undefined
  readonly userAgent?: string | undefined
}

// Headers give empty strings, and events and stored sessions give `null`. A revocation must not fail because of either.
const textOrNull = kindOf<string>('a string', (value) => value === null || typeof value === 'string')

/** The options of `SessionClientOptions`. */
export const CLIENT_OPTIONS: OptionKinds<SessionClientOptions> = {
  request: requestKind,
  ip: textOrNull,
  userAgent: textOrNull,
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
  /** For events and revocations: if `clientIp` throws, prints a warning, and the address is `null`. */
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
