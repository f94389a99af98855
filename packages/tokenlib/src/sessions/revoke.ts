import { ConfigurationError } from '../errors.js'
import type { EventOrigin, TokenEmitter } from '../events.js'
import type { RequestSource } from '../http/request-source.js'
import type { Authenticator } from '../requests/authenticate.js'
import { parseIssuer, toKeyIssuers, toRevokedIssuers, toRevokedUsers } from '../requests/revoked-issuers.js'
import {
  type Acknowledgement,
  readPendingSubject,
  type RevocablePayload,
  type RevokedIssuers,
  type Revoker,
} from '../revocation/revoker.js'
import { parseActor, type RevokeOptions } from '../revocation/session-options.js'
import type { StandardClaims } from '../tokens/payload.js'
import { requireStore } from '../revocation/connect-store.js'

/** A session: its id, or a payload of one of its tokens. */
export type RevocableSession = string | (Pick<StandardClaims, 'sid' | 'iss'> & { readonly sub?: string })

/** Revokes tokens before they expire. Every promise resolves once the store has the revocation. */
export interface Revoke {
  /** Revokes one token by its `jti`. The other token of its session stays valid. */
  token(payload: RevocablePayload, options?: RevokeOptions): Promise<Acknowledgement>
  /** Revokes every token of a session; it can no longer be refreshed. */
  session(session: RevocableSession, options?: RevokeOptions): Promise<Acknowledgement>
  /** Revokes every token of a user that started before now. `uid` is the `sub` of a payload or, with `issuer`, the issuer's. */
  user(uid: string, options?: RevokeOptions): Promise<Acknowledgement>
  /** Permanently revokes every token that a key has signed or will sign. Remove the key from the configuration too. */
  key(kid: string, options?: RevokeOptions): Promise<Acknowledgement>
  /** Revokes every token whose session started before now; with `issuer`, only the tokens of that issuer. */
  all(options?: RevokeOptions): Promise<Acknowledgement>
}

/** `tokens.revoke` of a manager. */
export function createRevoke(
  authenticator: Authenticator,
  { isHeard }: Pick<TokenEmitter, 'isHeard'>,
): Revoke {
  const { settings, store } = authenticator

  return {
    async token(payload, options = {}) {
      return runRevocation(authenticator, 'revoke.token', options, (revoker, origin) =>
        revoker.revokeToken(payload, origin, toIssuers(authenticator, options, payload)),
      )
    },
    async session(session, options = {}) {
      return runRevocation(authenticator, 'revoke.session', options, async (revoker, origin) => {
        const sid = typeof session === 'string' ? session : session?.sid
        if (sid === undefined)
          throw new TypeError('The token belongs to no session: revoke the token instead')
        const { sub = null, ...payload } = typeof session === 'string' ? {} : session
        // Only for the event. A revoked session has no row, so this cannot wait until the store has the revocation. The
        // revocation does not wait for this either.
        const mustRead = typeof session === 'string' && isHeard('revoked')
        const user = mustRead ? readPendingSubject(sid, store?.sessions ?? null) : sub
        return revoker.revokeSessions([sid], user, origin, toIssuers(authenticator, options, payload))
      })
    },
    async user(uid, options = {}) {
      const users = toRevokedUsers(settings.sources.issuers, options.issuer, uid)
      return runRevocation(authenticator, 'revoke.user', options, (revoker, origin) =>
        revoker.revokeUser(uid, origin, users),
      )
    },
    async key(kid, options = {}) {
      return runRevocation(authenticator, 'revoke.key', options, (revoker, origin) => {
        const issuers = toKeyIssuers(settings.sources.issuers, settings.keys.verifying, options.issuer)
        // If a key has no `kid` of its own, its tokens may have any `kid`, so revoke its derived id as well.
        const otherIds = settings.sources.issuers.get(options.issuer ?? '')?.keys.idsOf(kid)
        return revoker.revokeKey(kid, origin, issuers, otherIds)
      })
    },
    async all(options = {}) {
      return runRevocation(authenticator, 'revoke.all', options, (revoker, origin) => {
        if (options.issuer === undefined) return revoker.revokeAll(origin)
        const issuer = parseIssuer(settings.sources.issuers, options.issuer)
        if (issuer !== null) return revoker.revokeIssuer(issuer, origin)
        throw new TypeError(
          "revoke.all() takes one of the issuers, not 'own'. Leave issuer out to revoke every token",
        )
      })
    },
  }
}

/** Checks the options of a revocation, runs it, and waits for the other processes if `everywhere` is set. */
export async function runRevocation<Answer>(
  { store, clients }: Pick<Authenticator, 'store' | 'clients'>,
  method: string,
  options: RevokeOptions,
  revoke: (revoker: Revoker, origin: EventOrigin) => Promise<Answer>,
  request?: RequestSource,
): Promise<Answer> {
  const { revokerFor, waitForOthers } = requireStore(store, method)
  const origin = parseActor(clients, `${method}()`, options, request)
  if (options.everywhere === true && waitForOthers === null) {
    throw new ConfigurationError(
      'everywhere needs a replica: new TokenManager({ store: replicate(store) }). ' +
        'If no process has a replica, leave it out: revocations apply everywhere once they resolve',
    )
  }
  const answer = await revoke(revokerFor(options.deferUnless), origin)
  if (options.everywhere === true) await waitForOthers?.()
  return answer
}

/** Whose tokens to revoke: the option `issuer`, or the issuer of the payload. */
export function toIssuers(
  { settings }: Pick<Authenticator, 'settings'>,
  options: RevokeOptions,
  payload: { readonly iss?: string } | null,
): RevokedIssuers {
  return toRevokedIssuers(settings.sources, options.issuer, payload ?? {})
}
