import { createNonce, type RandomBytes } from '../claims/ids.js'
import type { TokenPayload } from '../claims/payload.js'
import { RefreshTokenReusedError, RevokedTokenError, TokenDecodeError } from '../errors.js'
import type { TokenEmitter } from '../events.js'
import type { JwsHeader } from '../jws/verify.js'
import { addTime, FOREVER } from '../revocation/revocation.js'
import { toStoredId } from '../revocation/revocation-keys.js'
import type { Rotation, SessionClient, SessionStore, StoredSession } from '../revocation/session-store.js'
import type { StoreGuard } from '../revocation/store-guard.js'
import type { Clock } from '../time.js'

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
  open(uid: string, endsAt: number | null, client: SessionClient): Promise<SessionState>
  /** The successor of a verified refresh token, or the error that ends it. */
  rotate(
    token: { readonly header: JwsHeader; readonly payload: TokenPayload },
    client: SessionClient,
  ): Promise<SessionState>
  list(uid: string): Promise<readonly SessionInfo[]>
}

/** What sessions work with. */
export interface SessionsOptions {
  readonly store: StoreGuard
  readonly now: Clock
  readonly random: RandomBytes
  readonly emit: TokenEmitter['emit']
  /** Milliseconds. */
  readonly leeway: number
  /** Milliseconds. */
  readonly grace: number
  /** Milliseconds, or `FOREVER`. */
  readonly idle: number
}

/** Sessions in a store that keeps them. */
export function createSessions(options: SessionsOptions): Sessions {
  const { store, now, random, emit, leeway, grace, idle } = options

  return {
    async open(uid, endsAt, client) {
      const expiresAt = endsAt === null ? FOREVER : endsAt * 1000
      const session = {
        user: toStoredId(uid),
        nonce: createNonce(random),
        expiresAt,
        until: addTime(expiresAt, leeway),
        ...client,
      }
      const { sid } = await store.call(
        'open',
        (target) => sessionsOf(target).open(session),
        addTime(expiresAt - now(), leeway),
      )
      return { sid, generation: 0, endsAt }
    },

    async rotate({ header, payload }, client) {
      const { sid, gen: presented, sub } = payload
      if (sid === undefined || presented === undefined) {
        throw new TokenDecodeError('Refresh token belongs to no session')
      }
      const rules = { graceMs: grace, idleMs: idle, ...client }
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
      return stored.filter(({ lastUsedAt }) => now() - lastUsedAt <= idle).map(toInfo)
    },
  }
}

function sessionsOf({ sessions }: { readonly sessions?: SessionStore }): SessionStore {
  if (sessions === undefined) throw new TypeError('The store keeps no sessions')
  return sessions
}

function parseRotation(answer: Rotation): Rotation {
  const { outcome, generation, expiresAt } = answer as Partial<Rotation & { outcome: 'rotated' }>
  const isEnd = (outcome as string) === 'ended'
  const isReuse = (outcome as string) === 'reused' && Number.isSafeInteger(generation)
  const isSuccess = (outcome as string) === 'rotated' || (outcome as string) === 'replayed'
  if (isEnd || isReuse || (isSuccess && Number.isSafeInteger(generation) && Number.isFinite(expiresAt)))
    return answer
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
