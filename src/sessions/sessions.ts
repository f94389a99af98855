import { createNonce } from '../claims/ids.js'
import type { TokenPayload } from '../claims/payload.js'
import { RefreshTokenReusedError, RevokedTokenError, TokenDecodeError } from '../errors.js'
import type { JwsHeader } from '../jws/verify.js'
import { addTime, FOREVER } from '../revocation/revocation.js'
import { toStoredId } from '../revocation/revocation-keys.js'
import type { Rotation, SessionClient, SessionStore, StoredSession } from '../revocation/session-store.js'
import type { StoreGuard } from '../revocation/store-guard.js'
import { readSessionClient, type SessionClientOptions } from './session-client.js'
import type { ConnectionOptions } from './token-store.js'

/** A session as its tokens carry it. */
export interface SessionState {
  readonly sid: string
  /** Of the newest refresh token. */
  readonly generation: number
  /** Epoch seconds; `null` for a session that never ends. */
  readonly endsAt: number | null
}

/** A live session of a user. */
export interface SessionInfo extends SessionClient {
  /** The `sid` of its tokens. */
  readonly id: string
  readonly createdAt: Date
  /** When its tokens were issued or last refreshed. */
  readonly lastUsedAt: Date
  /** `null` for a session that never ends. */
  readonly expiresAt: Date | null
}

/** Opens, rotates and lists sessions in a store. */
export interface Sessions {
  open(uid: string, endsAt: number | null, from: SessionClientOptions): Promise<SessionState>
  /** The successor of a verified refresh token, or the error that ends it. */
  rotate(
    token: { readonly header: JwsHeader; readonly payload: TokenPayload },
    from: SessionClientOptions,
  ): Promise<SessionState>
  list(uid: string): Promise<readonly SessionInfo[]>
}

/** Sessions in a store that keeps them. */
export function createSessions(store: StoreGuard, options: ConnectionOptions): Sessions {
  const { now, random, emit, leeway, graceMs, idleMs } = options

  return {
    async open(uid, endsAt, from) {
      const expiresAt = endsAt === null ? FOREVER : endsAt * 1000
      const session = {
        user: toStoredId(uid),
        nonce: createNonce(random),
        expiresAt,
        until: addTime(expiresAt, leeway),
        ...readSessionClient(from),
      }
      const { sid } = await store.call(
        'open',
        (target) => sessionsOf(target).open(session),
        addTime(expiresAt - now(), leeway),
      )
      return { sid, generation: 0, endsAt }
    },

    async rotate({ header, payload }, from) {
      const { sid, gen: presented, sub } = payload
      if (sid === undefined || presented === undefined) {
        throw new TokenDecodeError('Refresh token belongs to no session')
      }
      const client = readSessionClient(from)
      const rules = { graceMs, idleMs, ...client }
      const rotation = await store.call('rotate', async (target) =>
        parseRotation(await sessionsOf(target).rotate(sid, presented, rules)),
      )
      const claims = payload as Record<string, unknown>
      if (rotation.outcome === 'ended') throw new RevokedTokenError(claims, header)
      const { generation } = rotation
      if (rotation.outcome === 'reused') {
        emit('revoked', () => ({ kind: 'session', id: sid, reason: 'reuse' }))
        emit('reuseDetected', () => ({ sid, sub, presented, current: generation, ...client }))
        throw new RefreshTokenReusedError(claims, header)
      }
      emit('refreshed', () => ({ sid, sub, generation, isReplay: rotation.outcome === 'replayed' }))
      return { sid, generation, endsAt: toSeconds(rotation.expiresAt) }
    },

    async list(uid) {
      const stored = await store.call('list', (target) => sessionsOf(target).list(toStoredId(uid)))
      return stored.filter(({ lastUsedAt }) => now() - lastUsedAt <= idleMs).map(toInfo)
    },
  }
}

function sessionsOf({ sessions }: { readonly sessions?: SessionStore }): SessionStore {
  if (sessions === undefined) throw new TypeError('The store keeps no sessions')
  return sessions
}

function parseRotation(answer: Rotation): Rotation {
  const { generation, expiresAt } = answer as Partial<Rotation & { outcome: 'rotated' }>
  const needed = {
    ended: [],
    reused: [generation],
    rotated: [generation, expiresAt],
    replayed: [generation, expiresAt],
  }
  if (needed[answer.outcome]?.every(Number.isSafeInteger)) return answer
  throw new TypeError('The store answered a rotation with something else than its outcome')
}

function toSeconds(milliseconds: number): number | null {
  return milliseconds === FOREVER ? null : Math.floor(milliseconds / 1000)
}

function toInfo({ sid, startedAt, lastUsedAt, expiresAt, ip, userAgent }: StoredSession): SessionInfo {
  return {
    id: sid,
    createdAt: new Date(startedAt),
    lastUsedAt: new Date(lastUsedAt),
    expiresAt: expiresAt === FOREVER ? null : new Date(expiresAt),
    ip,
    userAgent,
  }
}
