import type { EventOrigin } from '../events.js'
import { assertOptions, type OptionNames } from '../options.js'
import { type RequestSource, toRequestView } from '../request/request-source.js'
import type { SessionClient } from '../revocation/session-store.js'

/** Where a log-in or a refresh comes from; shown to users in the list of their sessions. */
export interface SessionClientOptions {
  /** Brings the user agent, and the address of a Node request's socket. */
  readonly request?: RequestSource | undefined
  /** The client's address, where the request does not show it: behind a proxy it is the proxy's. */
  readonly ip?: string | undefined
  readonly userAgent?: string | undefined
}

/** The names of `SessionClientOptions`. */
export const CLIENT_OPTIONS: OptionNames<SessionClientOptions> = { request: true, ip: true, userAgent: true }

// The longest textual IPv6 address with a zone fits, and so do the user agents of real browsers.
const LONGEST_IP = 64
const LONGEST_USER_AGENT = 512

/** What is known of a client, cleaned and cut; explicit options win over the request. */
export function readSessionClient({ request, ip, userAgent }: SessionClientOptions): SessionClient {
  const view = request === undefined ? null : toRequestView(request)
  return {
    ip: clean('ip', ip ?? view?.ip, LONGEST_IP),
    userAgent: clean('userAgent', userAgent ?? view?.header('user-agent'), LONGEST_USER_AGENT),
  }
}

/** The same, and on whose behalf: for an audit log. */
export interface ActorOptions extends SessionClientOptions {
  /** Who does it, if it is not the user: the id of an administrator, the name of a job. */
  readonly actor?: string | undefined
}

/** The names of `ActorOptions`. */
export const ACTOR_OPTIONS: OptionNames<ActorOptions> = { ...CLIENT_OPTIONS, actor: true }

const LONGEST_ACTOR = 128

/** Who is behind an action, cleaned and cut, or `TypeError` for options that are none. */
export function parseActor(owner: string, options: ActorOptions, request?: RequestSource): EventOrigin {
  assertOptions(owner, options, ACTOR_OPTIONS)
  const { actor, ...client } = { request, ...options }
  return { actor: clean('actor', actor, LONGEST_ACTOR), ...readSessionClient(client) }
}

// Databases refuse NUL and broken text, and terminals obey control characters.
function clean(name: string, value: unknown, longest: number): string | null {
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string`)
  return value.slice(0, longest).replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ')
}
