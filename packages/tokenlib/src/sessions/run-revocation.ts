import { ConfigurationError } from '../errors.js'
import type { EventOrigin } from '../events.js'
import type { RequestSource } from '../http/request-source.js'
import { flag, kindOf, type OptionKinds, parseOptions } from '../options.js'
import type { Authenticator } from '../requests/authenticate.js'
import { requireStore, type StoreConnection } from '../revocation/connect-store.js'
import type { RevocationKey } from '../revocation/revocation.js'
import { CLIENT_OPTIONS, clean, type SessionClientOptions } from '../revocation/session-client.js'

/** Options of a revocation: who asks for it and why, whose tokens it is about, and when it resolves. */
export interface RevokeOptions extends SessionClientOptions {
  /** Who does it, if it is not the user: the id of an administrator, the name of a job. */
  readonly actor?: string | undefined
  /** Why, in the words of the actor; at most 500 characters are kept. */
  readonly note?: string | undefined
  /**
   * Wait until no process accepts the token. Without it, a revocation resolves once the store has it, and processes with a
   * replica follow within their bound.
   */
  readonly everywhere?: boolean | undefined
  /**
   * Whose tokens are revoked: one of the manager's `issuers`, or `own` for its own tokens. Left out, a payload belongs to its
   * `iss`, and the id of a user, a session or a token is revoked for every issuer.
   */
  readonly issuer?: string | undefined
  /**
   * Do not wait for the store: refuse in this process now, and write the revocation when the store answers, unless one of
   * these is revoked there by then. For receivers whose store does not answer: `revocationKeys` of the JWT that asks for it.
   */
  readonly deferUnless?: readonly RevocationKey[] | undefined
}

const REVOKE_OPTIONS: OptionKinds<RevokeOptions> = {
  ...CLIENT_OPTIONS,
  actor: CLIENT_OPTIONS.ip,
  note: CLIENT_OPTIONS.ip,
  everywhere: flag,
  issuer: kindOf("'own' or one of the issuers of this manager", (value) => typeof value === 'string'),
  deferUnless: kindOf('a list of revocation keys', Array.isArray),
}

/** A revocation whose options have been checked. */
export interface AskedRevocation extends Pick<StoreConnection, 'revoker'> {
  readonly authenticator: Authenticator
  readonly origin: EventOrigin
  readonly issuer?: string | undefined
  readonly unless?: readonly RevocationKey[] | undefined
}

/** Checks the options of a revocation, runs it, and waits for the other processes if `everywhere` is set. */
export async function runRevocation<Answer>(
  authenticator: Authenticator,
  method: string,
  {
    options = {},
    request,
  }: { readonly options?: RevokeOptions | undefined; readonly request?: RequestSource },
  revoke: (asked: AskedRevocation) => Promise<Answer>,
): Promise<Answer> {
  const { revoker, waitForOthers } = requireStore(authenticator.store, method)
  const parsed = parseOptions(`${method}()`, options, REVOKE_OPTIONS)
  const { everywhere, issuer, deferUnless, actor, note, ...client } = parsed
  // The store keeps only our own sessions, and the issuer of a request's tokens is known from the tokens.
  if (issuer !== undefined && (request !== undefined || method.startsWith('sessions.'))) {
    throw new TypeError(`${method}() takes no issuer here: the issuer is known from the tokens or sessions`)
  }
  if (deferUnless !== undefined) {
    if (everywhere === true) throw new TypeError('A revocation with deferUnless cannot wait for everywhere')
    // The store has to list the other sessions first.
    if (method === 'sessions.endOthers') throw new TypeError(`${method}() takes no deferUnless`)
  }
  if (everywhere === true && waitForOthers === null) {
    throw new ConfigurationError(
      'everywhere needs a replica: new TokenManager({ store: replicate(store) }). ' +
        'If no process has a replica, leave it out: revocations apply everywhere once they resolve',
    )
  }
  // Quietly: a mistake in `clientIp` must not keep a session alive.
  const from = authenticator.clients.readQuietly({ request, ...client })
  const origin = {
    actor: clean('actor', actor, MAX_ACTOR_LENGTH),
    note: clean('note', note, MAX_NOTE_LENGTH),
    ...from,
  }
  const answer = await revoke({ authenticator, revoker, origin, issuer, unless: deferUnless })
  if (everywhere === true) await waitForOthers?.()
  return answer
}

const MAX_ACTOR_LENGTH = 128

/** How many characters of a `note` are kept. */
export const MAX_NOTE_LENGTH = 500
