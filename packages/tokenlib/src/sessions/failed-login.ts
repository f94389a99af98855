import type { LoginFailure } from '../events.js'
import { assertOptions, type OptionNames } from '../options.js'
import { clean, type SessionClientOptions } from '../revocation/session-client.js'
import type { Authenticator } from '../requests/authenticate.js'

/** A login that failed, for the event `loginFailed`. */
export interface FailedLogin extends SessionClientOptions {
  readonly reason: LoginFailure
  /** The name as the client sent it; never a password. At most 128 characters are kept, and nothing that is no string. */
  readonly user?: string | null | undefined
  /** The user of the session, for a step-up. */
  readonly sub?: string | null | undefined
}

const NAMES: OptionNames<FailedLogin> = {
  reason: true,
  user: true,
  sub: true,
  request: true,
  ip: true,
  userAgent: true,
}

// Every reason is here, or this does not compile.
const REASONS: Readonly<Record<LoginFailure, true>> = {
  credentials: true,
  user: true,
  rateLimit: true,
  sessionLimit: true,
  response: true,
}

const MAX_USER_LENGTH = 128

/** Emits `loginFailed`, or throws `TypeError` if its argument is invalid. */
export function reportFailedLogin(
  { emit, clients }: Pick<Authenticator, 'emit' | 'clients'>,
  failed: FailedLogin,
): void {
  assertOptions('reportFailedLogin()', failed, NAMES)
  const { reason, user, sub = null, ...client } = failed
  if (!Object.hasOwn(REASONS, reason)) {
    throw new TypeError(`reason must be one of ${Object.keys(REASONS).join(', ')}`)
  }
  emit('loginFailed', () => ({
    reason,
    // A client sends what it likes, and must not keep an attempt out of the log by that.
    user: typeof user === 'string' ? clean('user', user, MAX_USER_LENGTH) : null,
    sub,
    ...clients.readQuietly(client),
  }))
}
