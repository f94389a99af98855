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
  /** Revokes one token by its `jti`; the other token of its session stays good. */
  token(payload: RevocablePayload, options?: RevokeOptions): Promise<Acknowledgement>
  /** Revokes every token of a session, those still to be refreshed included. */
  session(session: RevocableSession, options?: RevokeOptions): Promise<Acknowledgement>
  /** Revokes every token of a user that began before now: `uid` is the `sub` of a payload or, with `issuer`, of that issuer. */
  user(uid: string, options?: RevokeOptions): Promise<Acknowledgement>
  /** Revokes every token that a key has signed or will sign, for good; take the key out of the configuration too. */
  key(kid: string, options?: RevokeOptions): Promise<Acknowledgement>
  /** Revokes every token of everybody whose session began before now; with an `issuer`, only the tokens of that one. */
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
        // For the event alone. A revoked session has no row, so this cannot wait until the store has the revocation; the
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
        // Where a key has no `kid` of its own, a token may name it as it likes: its derived id is revoked as well.
        const otherIds = settings.sources.issuers.get(options.issuer ?? '')?.keys.idsOf(kid)
        return revoker.revokeKey(kid, origin, issuers, otherIds)
      })
    },
    async all(options = {}) {
      return runRevocation(authenticator, 'revoke.all', options, (revoker, origin) => {
        if (options.issuer === undefined) return revoker.revokeAll(origin)
        const issuer = parseIssuer(settings.sources.issuers, options.issuer)
        if (issuer !== null) return revoker.revokeIssuer(issuer, origin)
        throw new TypeError('revoke.all() takes one of the issuers, or none for every token of everybody')
      })
    },
  }
}

/** Checks the options of whatever revokes, runs it, and waits for the other processes where the options ask for that. */
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
      'everywhere needs to know the bound of the replicas: new TokenManager({ store: replicate(store) }). ' +
        'Where no process has a replica, a revocation holds everywhere without it',
    )
  }
  const answer = await revoke(revokerFor(options.deferUnless), origin)
  if (options.everywhere === true) await waitForOthers?.()
  return answer
}

/** Whose tokens a revocation is about: its option `issuer`, or the issuer of the payload. */
export function toIssuers(
  { settings }: Pick<Authenticator, 'settings'>,
  options: RevokeOptions,
  payload: { readonly iss?: string } | null,
): RevokedIssuers {
  return toRevokedIssuers(settings.sources, options.issuer, payload ?? {})
}
