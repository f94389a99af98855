import type { StandardClaims } from '../claims/payload.js'
import type { EventOrigin, TokenEmitter } from '../events.js'
import type { Clock } from '../time.js'
import { addDuration, FOREVER, type Revocation, type RevocationKind, toRevocationKey } from './revocation.js'
import type { Position, Revoked } from './store.js'
import type { StoreClient } from './store-client.js'

/** What is needed of a token to revoke it; `sub` is for the events. */
export type RevocablePayload = Pick<StandardClaims, 'jti' | 'exp'> & { readonly sub?: string }

/** What is needed of a token to log its user out; `sub` is for the events. */
export type LogoutPayload = RevocablePayload & Pick<StandardClaims, 'sid'>

/** What a store has acknowledged. */
export interface Acknowledgement {
  /** For `verifyToken(token, { atLeast: position })` in another process: the answer includes this revocation. */
  readonly position: Position
}

/** Revokes in a store; every promise resolves once the store has it. */
export interface Revoker {
  revokeToken(payload: RevocablePayload, origin: EventOrigin): Promise<Acknowledgement>
  /** Sessions of one user, who is `null` where it is not known. */
  revokeSessions(sids: readonly string[], sub: string | null, origin: EventOrigin): Promise<Acknowledgement>
  revokeUser(uid: string, origin: EventOrigin): Promise<Acknowledgement>
  revokeKey(kid: string, origin: EventOrigin): Promise<Acknowledgement>
  revokeAll(origin: EventOrigin): Promise<Acknowledgement>
  /** Ends the session of a token, or revokes the token itself if it belongs to none. */
  logout(payload: LogoutPayload, origin: EventOrigin): Promise<Acknowledgement>
  /** The start of a token made at a moment: later than every revocation before it; epoch milliseconds. */
  startToken(at: number): number
}

/** What a revoker works with. */
export interface RevokerOptions {
  readonly now: Clock
  /** How long after its expiry a token may still verify somewhere, in milliseconds. */
  readonly retentionMs: number
  readonly emit: TokenEmitter['emit']
}

/** A revoker for one store. */
export function createRevoker(store: StoreClient, { now, retentionMs, emit }: RevokerOptions): Revoker {
  let revokedBefore = 0
  let newestStart = 0

  // A store that has stopped answering is not asked, but this process has been told.
  const callRevoke = async (batch: readonly Revocation[]): Promise<Revoked> => {
    try {
      return await store.call('revoke', async (target) => parseRevoked(await target.revoke(batch)))
    } catch (error) {
      store.keepUnsent(batch)
      throw error
    }
  }

  const revoke = async (
    kind: RevocationKind,
    ids: readonly string[],
    entry: Pick<Revocation, 'notBefore' | 'until'>,
    facts: EventOrigin & { readonly sub: string | null },
  ): Promise<Revoked> => {
    const batch = ids.map((id) => ({ ...toRevocationKey(kind, id), ...entry }))
    const revoked = await callRevoke(batch)
    for (const id of ids) emit('revoked', () => ({ kind, id, reason: 'requested', ...facts }))
    return revoked
  }

  // The store raises it to its own clock: all processes agree on that one.
  const revokeBefore = async (
    kind: 'user' | 'all',
    id: string,
    origin: EventOrigin,
  ): Promise<Acknowledgement> => {
    // If the clock was set back, tokens without a session may start after `now()`.
    const notBefore = Math.max(now(), newestStart)
    const until = addDuration(notBefore, store.longestLifetime)
    const sub = kind === 'user' ? id : null
    const { position, now: takenAt } = await revoke(kind, [id], { notBefore, until }, { sub, ...origin })
    revokedBefore = Math.max(revokedBefore, notBefore, takenAt)
    return { position }
  }

  const revokeToken: Revoker['revokeToken'] = async (payload, origin) => {
    assertPayload('revokeToken()', payload)
    const jti = parseText('The token has no jti: revoke its session or its user. jti', payload.jti)
    const until = Number.isFinite(payload.exp)
      ? addDuration(Number(payload.exp) * 1000, retentionMs)
      : FOREVER
    const entry = { notBefore: FOREVER, until }
    return toAcknowledgement(await revoke('token', [jti], entry, { sub: payload.sub ?? null, ...origin }))
  }

  const revokeSessions: Revoker['revokeSessions'] = async (sids, sub, origin) => {
    for (const sid of sids) parseText('A session id', sid)
    const until = addDuration(now(), store.longestLifetime)
    return toAcknowledgement(await revoke('session', sids, { notBefore: FOREVER, until }, { sub, ...origin }))
  }

  return {
    startToken(at) {
      const start = Math.max(at, revokedBefore + 1)
      newestStart = Math.max(newestStart, start)
      return start
    },
    revokeToken,
    revokeSessions,
    revokeUser: async (uid, origin) => revokeBefore('user', parseText('uid', uid), origin),
    // Whoever has the key can make tokens of any start and any expiry: no watermark, and no end.
    async revokeKey(kid, origin) {
      const entry = { notBefore: FOREVER, until: FOREVER }
      return toAcknowledgement(await revoke('key', [parseText('kid', kid)], entry, { sub: null, ...origin }))
    },
    revokeAll: (origin) => revokeBefore('all', '', origin),
    async logout(payload, origin) {
      assertPayload('logout()', payload)
      const { sid = null, sub = null, jti = null } = payload
      const acknowledgement = await (sid === null
        ? revokeToken(payload, origin)
        : revokeSessions([sid], sub, origin))
      emit('loggedOut', () => ({ sub, sid, jti, ...origin }))
      return acknowledgement
    },
  }
}

function assertPayload(method: string, payload: unknown): void {
  if (typeof payload === 'object' && payload !== null) return
  throw new TypeError(`${method} takes the payload of a token, which verifyToken() returns, not its text`)
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

/** The text, or `TypeError` for anything else and for an empty one. */
export function parseText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a non-empty string`)
  return value
}
