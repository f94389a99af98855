import type { StandardClaims } from '../claims/payload.js'
import type { TokenEmitter } from '../events.js'
import type { Clock } from '../time.js'
import { addTime, FOREVER, type Revocation, type RevocationKind } from './revocation.js'
import { toRevocationKey } from './revocation-keys.js'
import type { Revoked } from './store.js'
import type { StoreGuard } from './store-guard.js'

/** Revokes in a store; every promise resolves once the store has it. */
export interface Revoker {
  revokeToken(payload: Pick<StandardClaims, 'jti' | 'exp'>): Promise<void>
  /** A session by its id, or that of a token. */
  revokeSession(session: string | Pick<StandardClaims, 'sid'>): Promise<void>
  revokeSessions(sids: readonly string[], reason?: 'requested' | 'reuse'): Promise<void>
  revokeUser(uid: string): Promise<void>
  revokeKey(kid: string): Promise<void>
  revokeAll(): Promise<void>
  /** The session of a token, or the token itself if it belongs to none. */
  logout(payload: Pick<StandardClaims, 'sid' | 'jti' | 'exp'>): Promise<void>
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
export function createRevoker(store: StoreGuard, { now, retentionMs, emit }: RevokerOptions): Revoker {
  let revokedBefore = 0
  let newestStart = 0

  const revoke = async (
    kind: RevocationKind,
    ids: readonly string[],
    entry: Pick<Revocation, 'notBefore' | 'until'>,
    reason: 'requested' | 'reuse' = 'requested',
  ): Promise<number> => {
    const batch = ids.map((id) => ({ ...toRevocationKey(kind, id), ...entry }))
    const { now: takenAt } = await store.call('revoke', async (target) =>
      parseRevoked(await target.revoke(batch)),
    )
    for (const id of ids) emit('revoked', () => ({ kind, id, reason }))
    return takenAt
  }

  // The store raises it to its own clock: all processes agree on that one.
  const revokeBefore = async (kind: 'user' | 'all', id: string): Promise<void> => {
    // Tokens of this process that no store has seen may have started later than a clock now shows that was set back.
    const notBefore = Math.max(now(), newestStart)
    const takenAt = await revoke(kind, [id], { notBefore, until: addTime(notBefore, store.longestLifetime) })
    revokedBefore = Math.max(revokedBefore, notBefore, takenAt)
  }

  const revokeToken: Revoker['revokeToken'] = async (payload) => {
    const jti = assertText('The token has no jti: revoke its session or its user. jti', payload?.jti)
    const until = Number.isFinite(payload.exp) ? addTime(Number(payload.exp) * 1000, retentionMs) : FOREVER
    await revoke('token', [jti], { notBefore: FOREVER, until })
  }

  const revokeSessions: Revoker['revokeSessions'] = async (sids, reason) => {
    for (const sid of sids) assertText('A session id', sid)
    const until = addTime(now(), store.longestLifetime)
    await revoke('session', sids, { notBefore: FOREVER, until }, reason)
  }

  return {
    startToken(at) {
      const start = Math.max(at, revokedBefore + 1)
      newestStart = Math.max(newestStart, start)
      return start
    },
    revokeToken,
    async revokeSession(session) {
      const sid = typeof session === 'string' ? session : session?.sid
      if (sid === undefined) throw new TypeError('The token belongs to no session: revoke the token instead')
      await revokeSessions([sid])
    },
    revokeSessions,
    revokeUser: async (uid) => revokeBefore('user', assertText('uid', uid)),
    // Whoever has the key can make tokens of any start and any expiry: no watermark, and no end.
    revokeKey: async (kid) =>
      void (await revoke('key', [assertText('kid', kid)], { notBefore: FOREVER, until: FOREVER })),
    revokeAll: () => revokeBefore('all', ''),
    logout: (payload) => (payload?.sid === undefined ? revokeToken(payload) : revokeSessions([payload.sid])),
  }
}

function parseRevoked(answer: Revoked): Revoked {
  const { now = Number.NaN } = (answer ?? {}) as Partial<Revoked>
  // Moments of ids have 48 bits.
  if (now >= 0 && now < 2 ** 47) return answer
  throw new TypeError('The store answered a revocation with something else than its position and clock')
}

/** The text, or `TypeError` for anything else and for an empty one. */
export function assertText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a non-empty string`)
  return value
}
