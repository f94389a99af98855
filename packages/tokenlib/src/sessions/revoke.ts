import type { TokenEmitter, TokenEvents } from '../events.js'
import type { Authenticator } from '../requests/authenticate.js'
import type { StoreConnection } from '../revocation/connect-store.js'
import {
  addDuration,
  EVERY_USER,
  FOREVER,
  parseText,
  type RevocationKey,
  toRevocationKey,
} from '../revocation/revocation.js'
import type { Position, Revoked } from '../revocation/store.js'
import { isPromise } from '../runtime.js'
import type { StandardClaims } from '../tokens/payload.js'
import { parseIssuer, type TokenSources } from '../tokens/token-sources.js'
import { type AskedRevocation, type RevokeOptions, runRevocation } from './run-revocation.js'

/** What is needed of a token to revoke it; `sub` is for the events. */
export type RevocablePayload = Pick<StandardClaims, 'jti' | 'exp' | 'iss'> & { readonly sub?: string }

/** What is needed of a token to log its user out; `sub` is for the events. */
export type LogoutPayload = RevocablePayload & Pick<StandardClaims, 'sid'>

/** What a store has acknowledged. */
export interface Acknowledgement {
  /** For `verify(token, { atLeast: position })` in another process: the answer includes this revocation. */
  readonly position: Position
}

/** Revokes tokens before they expire. Every promise resolves once the store has the revocation. */
export interface Revoke {
  /** Revokes one token by its `jti`. The other token of its session stays valid. */
  token(payload: RevocablePayload, options?: RevokeOptions): Promise<Acknowledgement>
  /** Revokes every token of a session, given its id or a payload of one of its tokens; it can no longer be refreshed. */
  session(
    session: string | (Pick<StandardClaims, 'sid' | 'iss'> & { readonly sub?: string }),
    options?: RevokeOptions,
  ): Promise<Acknowledgement>
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
  const { sources } = settings
  const run = (
    method: keyof Revoke,
    options: RevokeOptions | undefined,
    revoke: (asked: AskedRevocation) => Promise<Acknowledgement>,
  ): Promise<Acknowledgement> => runRevocation(authenticator, `revoke.${method}`, { options }, revoke)

  return {
    token: (payload, options) =>
      run('token', options, async (asked) => {
        assertPayload('revoke.token() takes', payload)
        return revokeToken(asked, payload, toIssuers(sources, asked.issuer, payload))
      }),
    session: (session, options) =>
      run('session', options, async (asked) => {
        const {
          sid,
          sub = null,
          ...payload
        } = typeof session === 'string' ? { sid: session } : (session ?? {})
        if (sid === undefined)
          throw new TypeError('The token belongs to no session: revoke the token instead')
        // Only for the event. A revoked session has no row, so this cannot wait until the store has the revocation. The
        // revocation does not wait for this either.
        const mustRead = typeof session === 'string' && isHeard('revoked')
        const user = mustRead ? readSubject(store, sid) : sub
        return revokeSessions(asked, [sid], user, toIssuers(sources, asked.issuer, payload))
      }),
    user: (uid, options) =>
      run('user', options, async (asked) => {
        const users = toUsers(sources, asked.issuer, parseText('uid', uid))
        const keys = users.map(({ id, issuer }) => toRevocationKey('user', id, issuer))
        const issuers = users.map(({ issuer }) => issuer)
        return report(asked, asked.revoker.raise(keys, asked.unless), 'user', [uid], uid, issuers)
      }),
    key: (kid, options) =>
      run('key', options, async (asked) => {
        // Without an issuer, only our own key: other issuers may use the same `kid`, and the revocation is permanent.
        if (asked.issuer === undefined && settings.keys.verifying.length === 0) {
          throw new TypeError('This manager has no keys of its own: pass the issuer of the key as { issuer }')
        }
        const issuer = asked.issuer === undefined ? null : parseIssuer(sources.issuers, asked.issuer)
        // If a key has no `kid` of its own, its tokens may have any `kid`, so revoke its derived id as well.
        const others = (issuer !== null && sources.issuers.get(issuer)?.keys.idsOf(kid)) || []
        // With a stolen key, anyone can create tokens with any start and expiry: the revocation covers all, forever.
        const keys = [...new Set([parseText('kid', kid), ...others])].map((id) => ({
          ...toRevocationKey('key', id, issuer),
          expiresAt: FOREVER,
        }))
        return report(asked, asked.revoker.write(keys, asked.unless), 'key', [kid], null, [issuer])
      }),
    all: (options) =>
      run('all', options, async (asked) => {
        const issuer = asked.issuer === undefined ? null : parseIssuer(sources.issuers, asked.issuer)
        if (issuer === null && asked.issuer !== undefined) {
          throw new TypeError(
            "revoke.all() takes one of the issuers, not 'own'. Leave issuer out to revoke every token",
          )
        }
        const key = issuer === null ? EVERYTHING : toRevocationKey('user', EVERY_USER, issuer)
        return report(asked, asked.revoker.raise([key], asked.unless), 'all', [''], null, [issuer])
      }),
  }
}

const EVERYTHING: RevocationKey = { kind: 'all', id: '' }

/** Whose tokens are revoked: of these issuers; `null` is us. */
type RevokedIssuers = readonly (string | null)[]

/** Revokes one token. */
export async function revokeToken(
  asked: AskedRevocation,
  { jti: given, exp, sub }: RevocablePayload,
  issuers: RevokedIssuers,
): Promise<Acknowledgement> {
  const jti = parseText('The token has no jti: revoke its session or its user. jti', given)
  const expiresAt = Number.isFinite(exp) ? Number(exp) * 1000 : FOREVER
  const { settings, now } = asked.authenticator
  const keys = issuers.map((issuer) => {
    const source = issuer === null ? undefined : settings.sources.issuers.get(issuer)
    // The issuer of an opaque token may extend it after it was revoked here.
    const longest = source?.opaque === undefined ? 0 : addDuration(now(), source.longestLifetime)
    return { ...toRevocationKey('token', jti, issuer), expiresAt: Math.max(expiresAt, longest) }
  })
  return report(asked, asked.revoker.write(keys, asked.unless), 'token', [jti], sub ?? null, issuers)
}

/** Revokes sessions of one user, `null` if not known. If `sub` is a promise, only the event waits for it. */
export async function revokeSessions(
  asked: AskedRevocation,
  sids: readonly string[],
  sub: string | null | Promise<string | null>,
  issuers: RevokedIssuers = [null],
): Promise<Acknowledgement> {
  const { settings, now } = asked.authenticator
  for (const sid of sids) parseText('A session id', sid)
  const keys = issuers.flatMap((issuer) => {
    // An issuer may create tokens with the same `sid` until the session ends.
    const lifetime = (issuer !== null && settings.sources.issuers.get(issuer)?.sessionLifetime) || 0
    const expiresAt = addDuration(now(), lifetime)
    return sids.map((sid) => ({ ...toRevocationKey('session', sid, issuer), expiresAt }))
  })
  return report(asked, asked.revoker.write(keys, asked.unless), 'session', sids, sub, issuers)
}

// Emits an event for each id, once the store has acknowledged the revocation.
async function report(
  { authenticator, origin }: AskedRevocation,
  revoked: Promise<Revoked>,
  kind: TokenEvents['revoked']['kind'],
  ids: readonly string[],
  sub: string | null | Promise<string | null>,
  issuers: RevokedIssuers,
): Promise<Acknowledgement> {
  const { position } = await revoked
  const [issuer = null, ...others] = new Set(issuers)
  const facts = { reason: 'requested', issuer: others.length === 0 ? issuer : null, ...origin } as const
  const emitAll = (of: string | null): void => {
    for (const id of ids) authenticator.emit('revoked', () => ({ kind, id, sub: of, ...facts }))
  }
  if (isPromise(sub)) void sub.then(emitAll)
  else emitAll(sub)
  return { position }
}

async function readSubject(store: StoreConnection | null, sid: string): Promise<string | null> {
  try {
    return (await store?.sessions?.get(sid))?.sub ?? null
  } catch {
    // The client of the store reports it, and the revocation does not depend on it.
    return null
  }
}

/** Throws `TypeError` for the text of a token. */
export function assertPayload(call: string, payload: unknown): void {
  if (typeof payload === 'object' && payload !== null) return
  throw new TypeError(`${call} the payload of a token, which verify() returns, not its text`)
}

/**
 * Whose tokens a revocation is about: the given issuer's, or else the `iss` of a payload, or else everybody's.
 *
 * An id without an issuer may belong to any token. Revoking too much is a nuisance; revoking nothing would go unnoticed.
 */
export function toIssuers(
  sources: TokenSources,
  given: string | undefined,
  { iss, type }: { readonly iss?: string; readonly type?: unknown },
): RevokedIssuers {
  const { issuers } = sources
  if (given !== undefined) return [parseIssuer(issuers, given)]
  if (iss !== undefined) {
    if (issuers.has(iss)) return [iss]
    if (isOwnIssuer(sources, iss)) return [null]
    throw new TypeError(
      'The iss of the payload is neither an issuer of this manager nor in JWT_DECODE_ISSUER',
    )
  }
  // The payload of a token has a type, and tokens of others have an `iss` too.
  return type === undefined ? [null, ...issuers.keys()] : [null]
}

/** Whether a token of ours may have this `iss`. Without JWT_DECODE_ISSUER, it may have any. */
export function isOwnIssuer({ own }: TokenSources, iss: string): boolean {
  return own.rules.issuers.length === 0 || own.names.includes(iss)
}

// The user of the given issuer, with or without its prefix. Without an issuer: every user with this `sub` in a payload.
function toUsers(
  { issuers }: TokenSources,
  given: string | undefined,
  uid: string,
): readonly { readonly issuer: string | null; readonly id: string }[] {
  const issuer = given === undefined ? undefined : parseIssuer(issuers, given)
  const users = issuer === undefined || issuer === null ? [{ issuer: null as string | null, id: uid }] : []
  for (const { issuer: name, subjectPrefix } of issuers.values()) {
    if (issuer !== undefined && issuer !== name) continue
    if (uid.startsWith(subjectPrefix)) users.push({ issuer: name, id: uid.slice(subjectPrefix.length) })
    if (issuer === name && subjectPrefix !== '') users.push({ issuer: name, id: uid })
  }
  // An empty name would stand for every user.
  return users.filter(({ id }) => id !== '')
}
