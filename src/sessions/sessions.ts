import { createNonce } from '../claims/ids.js'
import type { StandardClaims, TokenPayload, TokenType } from '../claims/payload.js'
import { RefreshTokenReusedError, RevokedTokenError, TokenDecodeError } from '../errors.js'
import type { JwsHeader } from '../jws/verify.js'
import type { RequestSource } from '../request/request-source.js'
import type { RevocableToken } from '../revocation/check.js'
import { addTime, FOREVER } from '../revocation/revocation.js'
import { toStoredId } from '../revocation/revocation-keys.js'
import { assertText, type Revoker } from '../revocation/revoker.js'
import type {
  OpenedSession,
  Rotation,
  SessionClient,
  SessionStore,
  StoredSession,
} from '../revocation/session-store.js'
import type { StoreGuard } from '../revocation/store-guard.js'
import { readSessionClient, type SessionClientOptions } from './session-client.js'
import type { ConnectionRules } from './connection-options.js'
import { type Refresher, type RefreshOptions, refreshPair } from './refresh.js'
import type { TokenPair } from './token-pair.js'

/** A session as its tokens carry it. */
export interface SessionState {
  readonly sid: string
  /** Of the newest refresh token. */
  readonly generation: number
  /** Epoch seconds; `null` for a session that never ends. */
  readonly endsAt: number | null
  /** When a token expires that was made at `iat` and would live until `own`; epoch seconds, or `null` for never. */
  limitExpiry(type: TokenType, iat: number, own: number | null): number | null
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
  /** A new pair for the refresh token in a request, or for a token itself. */
  refresh(
    refresher: Refresher,
    source: RequestSource | string,
    options: RefreshOptions<object>,
  ): Promise<TokenPair>
  /** The live sessions of a user, newest first. */
  listSessions(uid: string): Promise<readonly SessionInfo[]>
  /** Revokes every session of the token's user but its own; returns how many they were. */
  revokeOtherSessions(payload: Pick<StandardClaims, 'sub' | 'sid'>): Promise<number>
}

/** What sessions are revoked with. */
export interface SessionRevocation {
  readonly revoker: Revoker
  readonly isRevoked: (token: RevocableToken) => boolean | Promise<boolean>
}

/** Sessions in a store that keeps them. */
export function createSessions(
  store: StoreGuard,
  rules: ConnectionRules,
  { revoker, isRevoked }: SessionRevocation,
): Sessions {
  const { now, random, emit, retentionMs, graceMs, idleMs } = rules

  const list = (uid: string): Promise<readonly StoredSession[]> | readonly StoredSession[] =>
    store.call('list', async (target) => parseList(await sessionsOf(target).list(toStoredId(uid))))

  const idle = toSeconds(idleMs)
  const toState = (sid: string, generation: number, endsAt: number | null): SessionState => ({
    sid,
    generation,
    endsAt,
    // No token outlives the session, nor the time that it may go unused.
    limitExpiry(type, iat, own) {
      const limits = [type === 'access' ? own : null, idle === null ? null : iat + idle, endsAt]
      const nearest = Math.min(...limits.map((limit) => limit ?? Number.POSITIVE_INFINITY))
      return nearest === Number.POSITIVE_INFINITY ? null : nearest
    },
  })

  const rotate: Sessions['rotate'] = async ({ header, payload }, from) => {
    const { sid, gen: presented, sub } = payload
    if (sid === undefined || presented === undefined) {
      throw new TokenDecodeError('Refresh token belongs to no session')
    }
    const client = readSessionClient(from)
    const rotation = await store.call('rotate', async (target) => {
      const limits = { graceMs, idleMs, ...client }
      const answer = await sessionsOf(target).rotate(toStoredId(sid), presented, limits)
      // Here, and not after the deadline: an answer that comes too late for the request must still raise the alarm.
      if (answer?.outcome === 'reused') {
        emit('revoked', () => ({ kind: 'session', id: sid, reason: 'reuse' }))
        emit('reuseDetected', () => ({ sid, sub, presented, current: answer.generation, ...client }))
      }
      return parseRotation(answer, presented)
    })
    if (rotation.outcome === 'ended') throw new RevokedTokenError(payload, header)
    if (rotation.outcome === 'reused') throw new RefreshTokenReusedError(payload, header)
    const { generation } = rotation
    emit('refreshed', () => ({ sid, sub, generation, isReplay: rotation.outcome === 'replayed' }))
    return toState(sid, generation, toSeconds(rotation.expiresAt))
  }

  return {
    async open(uid, endsAt, from) {
      const expiresAt = endsAt === null ? FOREVER : addTime(endsAt * 1000, 0)
      const session = {
        user: toStoredId(uid),
        nonce: createNonce(random),
        expiresAt,
        until: addTime(expiresAt, retentionMs),
        ...readSessionClient(from),
      }
      const { sid } = await store.call(
        'open',
        async (target) => parseOpened(await sessionsOf(target).open(session)),
        addTime(expiresAt - now(), retentionMs),
      )
      return toState(sid, 0, endsAt)
    },

    rotate,
    refresh: (refresher, source, given) => refreshPair({ rotate, isRevoked }, refresher, source, given),

    async listSessions(uid) {
      const stored = await list(assertText('uid', uid))
      return stored.filter(({ lastUsedAt }) => now() - lastUsedAt <= idleMs).map(toInfo)
    },
    async revokeOtherSessions({ sub, sid: own }) {
      if (own === undefined) throw new TypeError('The token belongs to no session')
      const revoked = new Set([own])
      // A list is bounded, and leaves out what is revoked: it is read until nothing new is on it.
      for (;;) {
        const others = (await list(sub)).map(({ sid }) => sid).filter((sid) => !revoked.has(sid))
        if (others.length === 0) return revoked.size - 1
        await revoker.revokeSessions(others)
        for (const sid of others) revoked.add(sid)
      }
    },
  }
}

function sessionsOf({ sessions }: { readonly sessions?: SessionStore }): SessionStore {
  if (sessions === undefined) throw new TypeError('The store keeps no sessions')
  return sessions
}

function parseOpened(answer: OpenedSession): OpenedSession {
  if (typeof answer?.sid === 'string' && answer.sid !== '') return answer
  throw new TypeError('The store answered a new session with something else than its id')
}

function parseList(answer: readonly StoredSession[]): readonly StoredSession[] {
  const items: unknown = answer
  const isList = Array.isArray(items) && answer.every((item) => typeof item?.sid === 'string')
  if (!isList) throw new TypeError('The store answered with something else than a list of sessions')
  return answer
}

function parseRotation(answer: Rotation, presented: number): Rotation {
  switch (answer?.outcome) {
    case 'ended':
    case 'reused':
      return answer
    case 'rotated':
    case 'replayed':
      if (answer.generation === presented + 1 && Number.isSafeInteger(answer.expiresAt)) return answer
  }
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
    expiresAt: expiresAt > LAST_DATE ? null : new Date(expiresAt),
    ip,
    userAgent,
  }
}

// ECMA-262 §21.4.1.1: no Date is later.
const LAST_DATE = 8.64e15
