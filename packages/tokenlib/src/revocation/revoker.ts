import type { StandardClaims } from '../tokens/payload.js'
import type { EventOrigin, TokenEmitter } from '../events.js'
import type { Clock } from '../time.js'
import {
  addDuration,
  EVERY_USER,
  FOREVER,
  type Revocation,
  type RevocationKind,
  toRevocationKey,
} from './revocation.js'
import type { Claimed, Position, Revoked } from './store.js'
import type { StoreClient } from './store-client.js'

/** What is needed of a token to revoke it; `sub` is for the events. */
export type RevocablePayload = Pick<StandardClaims, 'jti' | 'exp' | 'iss'> & { readonly sub?: string }

/** What is needed of a token to log its user out; `sub` is for the events. */
export type LogoutPayload = RevocablePayload & Pick<StandardClaims, 'sid'>

/** What a store has acknowledged. */
export interface Acknowledgement {
  /** For `verify(token, { atLeast: position })` in another process: the answer includes this revocation. */
  readonly position: Position
}

/** Whose tokens are revoked: of these issuers; `null` is us. */
export type RevokedIssuers = readonly (string | null)[]

const OWN: RevokedIssuers = [null]
const EVERYTHING = { kind: 'all', id: '', sub: null } as const

/** A user, by the name that the issuer has for it; `null` is us. */
export interface RevokedUser {
  readonly issuer: string | null
  readonly id: string
}

/** A user who is read for an event alone, while the revocation is under way. */
export interface PendingSubject {
  /** `undefined` until it was read, `null` where it is not known. */
  readonly sub: string | null | undefined
  /** Resolves once it was read, or could not be. */
  readonly settled: Promise<void>
}

/** Reads the user of a session, from now on. */
export function readPendingSubject(
  sid: string,
  sessions: { get(sid: string): Promise<{ readonly sub: string | null } | null> } | null,
): PendingSubject {
  const pending: { sub: string | null | undefined; settled: Promise<void> } = {
    sub: undefined,
    settled: Promise.resolve(),
  }
  const settle = async (): Promise<void> => {
    try {
      pending.sub = (await sessions?.get(sid))?.sub ?? null
    } catch {
      // The client of the store reports it, and the revocation does not depend on it.
      pending.sub = null
    }
  }
  pending.settled = settle()
  return pending
}

/** Revokes in a store; every promise resolves once the store has it. The default of `issuers` is us. */
export interface Revoker {
  revokeToken(
    payload: RevocablePayload,
    origin: EventOrigin,
    issuers?: RevokedIssuers,
  ): Promise<Acknowledgement>
  /** Sessions of one user, who is `null` where it is not known. Nothing waits for a user who has to be read. */
  revokeSessions(
    sids: readonly string[],
    sub: string | null | PendingSubject,
    origin: EventOrigin,
    issuers?: RevokedIssuers,
  ): Promise<Acknowledgement>
  /** `users` are whom `uid` stands for; left out, it is one of us. */
  revokeUser(uid: string, origin: EventOrigin, users?: readonly RevokedUser[]): Promise<Acknowledgement>
  /** A key by its `kid`, and by other ids that it has; the event names the `kid`. */
  revokeKey(
    kid: string,
    origin: EventOrigin,
    issuers?: RevokedIssuers,
    otherIds?: readonly string[],
  ): Promise<Acknowledgement>
  /** Everything, of whichever issuer. */
  revokeAll(origin: EventOrigin): Promise<Acknowledgement>
  /** Every token of one issuer that is not us. */
  revokeIssuer(issuer: string, origin: EventOrigin): Promise<Acknowledgement>
  /** Ends the session of a token, or revokes the token itself if it belongs to none. */
  logout(payload: LogoutPayload, origin: EventOrigin, issuers?: RevokedIssuers): Promise<Acknowledgement>
  /**
   * Remembers ids of an issuer until a moment in epoch seconds, as tokens that were used, if the first of them is not known
   * yet; in one step, whichever processes do the same.
   */
  claimIds(ids: readonly string[], exp: number, origin: EventOrigin, issuer: string): Promise<Claimed>
  /** The start of a token made at a moment: later than every revocation before it; epoch milliseconds. */
  startToken(at: number): number
}

/** What a revoker works with. */
export interface RevokerOptions {
  readonly now: Clock
  /** How long after its expiry a token may still verify somewhere, in milliseconds. */
  readonly retentionMs: number
  /** How long a session of each issuer can last, in milliseconds: it makes tokens with the same `sid` until then. */
  readonly sessionLifetimes: ReadonlyMap<string, number>
  readonly emit: TokenEmitter['emit']
}

/** Moments that the revokers of one store share. */
export interface RevokerMoments {
  revokedBefore: number
  newestStart: number
}

/** A revoker for one store. With `defer`, which takes its batches, it does not ask the store. */
export function createRevoker(
  store: StoreClient,
  options: RevokerOptions,
  moments: RevokerMoments,
  defer: ((batch: readonly Revocation[]) => void) | null = null,
): Revoker {
  const { now, retentionMs, sessionLifetimes, emit } = options

  // A store that has stopped answering is not asked, but this process has been told.
  const callRevoke = async (batch: readonly Revocation[]): Promise<Revoked> => {
    if (defer !== null) {
      defer(batch)
      return { position: 'deferred', now: now() }
    }
    try {
      return await store.call('revoke', async (target) => parseRevoked(await target.revoke(batch)))
    } catch (error) {
      store.keepUnsent(batch)
      throw error
    }
  }

  const toSessionEnd = (issuer: string | null, until: number): number => {
    const lifetime = issuer === null ? 0 : (sessionLifetimes.get(issuer) ?? 0)
    return Math.max(until, addDuration(now(), addDuration(lifetime, retentionMs)))
  }

  const revoke = async (
    kind: RevocationKind,
    ids: readonly string[],
    entry: Pick<Revocation, 'notBefore' | 'until'>,
    { sub, ...origin }: EventOrigin & { readonly sub: string | null | PendingSubject },
    issuers: RevokedIssuers,
    otherIds: readonly string[] = [],
  ): Promise<Revoked> => {
    const batch = issuers.flatMap((issuer) => {
      const until = kind === 'session' ? toSessionEnd(issuer, entry.until) : entry.until
      return [...ids, ...otherIds].map((id) => ({ ...toRevocationKey(kind, id, issuer), ...entry, until }))
    })
    const revoked = await callRevoke(batch)
    const issuer = issuers.length === 1 ? (issuers[0] ?? null) : null
    const report = (of: string | null): void => {
      for (const id of ids) {
        emit('revoked', () => ({ kind, id, reason: 'requested', issuer, sub: of, ...origin }))
      }
    }
    if (sub === null || typeof sub === 'string') report(sub)
    else if (sub.sub !== undefined) report(sub.sub)
    else void sub.settled.then(() => report(sub.sub ?? null))
    return revoked
  }

  // The store raises it to its own clock: all processes agree on that one.
  const revokeBefore = async (
    kind: 'user' | 'all',
    users: readonly RevokedUser[],
    event: { readonly kind: 'user' | 'all'; readonly id: string; readonly sub: string | null },
    origin: EventOrigin,
  ): Promise<Acknowledgement> => {
    // If the clock was set back, tokens without a session may start after `now()`.
    const notBefore = Math.max(now(), moments.newestStart)
    const until = addDuration(notBefore, store.longestLifetime)
    const batch = users.map(({ id, issuer }) => ({ ...toRevocationKey(kind, id, issuer), notBefore, until }))
    const { position, now: takenAt } = await callRevoke(batch)
    const concerned = new Set(users.map(({ issuer }) => issuer))
    const issuer = concerned.size === 1 ? (users[0]?.issuer ?? null) : null
    emit('revoked', () => ({ ...event, reason: 'requested', issuer, ...origin }))
    moments.revokedBefore = Math.max(moments.revokedBefore, notBefore, takenAt)
    return { position }
  }

  const revokeToken: Revoker['revokeToken'] = async (payload, origin, issuers = OWN) => {
    assertPayload('revoke.token()', payload)
    const jti = parseText('The token has no jti: revoke its session or its user. jti', payload.jti)
    const until = Number.isFinite(payload.exp)
      ? addDuration(Number(payload.exp) * 1000, retentionMs)
      : FOREVER
    const entry = { notBefore: FOREVER, until }
    const facts = { sub: payload.sub ?? null, ...origin }
    return toAcknowledgement(await revoke('token', [jti], entry, facts, issuers))
  }

  const revokeSessions: Revoker['revokeSessions'] = async (sids, sub, origin, issuers = OWN) => {
    for (const sid of sids) parseText('A session id', sid)
    const until = addDuration(now(), store.longestLifetime)
    const entry = { notBefore: FOREVER, until }
    return toAcknowledgement(await revoke('session', sids, entry, { sub, ...origin }, issuers))
  }

  return {
    startToken(at) {
      const start = Math.max(at, moments.revokedBefore + 1)
      moments.newestStart = Math.max(moments.newestStart, start)
      return start
    },
    revokeToken,
    revokeSessions,
    async revokeUser(uid, origin, users = [{ issuer: null, id: uid }]) {
      return revokeBefore('user', users, { kind: 'user', id: parseText('uid', uid), sub: uid }, origin)
    },
    // Whoever has the key can make tokens of any start and any expiry: no watermark, and no end.
    async revokeKey(kid, origin, issuers = OWN, otherIds = []) {
      const ids = [parseText('kid', kid)]
      const others = [...new Set(otherIds)].filter((id) => id !== kid)
      const entry = { notBefore: FOREVER, until: FOREVER }
      const facts = { sub: null, ...origin }
      return toAcknowledgement(await revoke('key', ids, entry, facts, issuers, others))
    },
    revokeAll: (origin) => revokeBefore('all', [{ issuer: null, id: '' }], EVERYTHING, origin),
    revokeIssuer: (issuer, origin) => revokeBefore('user', [{ issuer, id: EVERY_USER }], EVERYTHING, origin),
    async claimIds(ids, exp, origin, issuer) {
      const until = addDuration(exp * 1000, retentionMs)
      const batch = ids.map((id) => ({
        ...toRevocationKey('token', parseText('id', id), issuer),
        notBefore: FOREVER,
        until,
      }))
      const claimed = await store.call('claim', async (target) => parseClaimed(await target.claim(batch)))
      const facts = { kind: 'token', reason: 'requested', sub: null, issuer, ...origin } as const
      if (claimed.isFirst) for (const id of ids) emit('revoked', () => ({ id, ...facts }))
      return claimed
    },
    async logout(payload, origin, issuers = OWN) {
      assertPayload('logout()', payload)
      const { sid = null, sub = null, jti = null } = payload
      const acknowledgement = await (sid === null
        ? revokeToken(payload, origin, issuers)
        : revokeSessions([sid], sub, origin, issuers))
      emit('loggedOut', () => ({ sub, sid, jti, ...origin }))
      return acknowledgement
    },
  }
}

function assertPayload(method: string, payload: unknown): void {
  if (typeof payload === 'object' && payload !== null) return
  throw new TypeError(`${method} takes the payload of a token, which verify() returns, not its text`)
}

function toAcknowledgement({ position }: Revoked): Acknowledgement {
  return { position }
}

function parseRevoked(answer: Revoked): Revoked {
  const { now = Number.NaN, position } = (answer ?? {}) as Partial<Revoked>
  // Moments of ids have 48 bits.
  if (now >= 0 && now < 2 ** 47 && typeof position === 'string') return answer
  throw new TypeError('revoke() must return the position and the clock of the store')
}

function parseClaimed(answer: Claimed): Claimed {
  const { isFirst, position } = (answer ?? {}) as Partial<Claimed>
  if (typeof isFirst === 'boolean' && typeof position === 'string') return answer
  throw new TypeError('claim() must return isFirst and a position')
}

/** The text, or `TypeError` for anything else and for an empty one. */
export function parseText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a non-empty string`)
  return value
}
