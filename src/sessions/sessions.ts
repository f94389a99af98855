import type { SessionClaims } from '../claims/create.js'
import { createNonce, type RandomBytes } from '../claims/ids.js'
import type { StandardClaims, TokenPayload } from '../claims/payload.js'
import { RefreshTokenReusedError, RevokedTokenError, SessionLimitError, TokenDecodeError } from '../errors.js'
import type { EventOrigin, SessionClient } from '../events.js'
import { assertOptions, type OptionNames } from '../options.js'
import type { CheckedToken } from '../revocation/blocklist.js'
import { addDuration, FOREVER, toStoredId } from '../revocation/revocation.js'
import { parseText, type Revoker, type RevokerOptions } from '../revocation/revoker.js'
import type { ListOptions, Reuse, SessionStore, StoredSession } from '../revocation/session-store.js'
import type { StoreClient } from '../revocation/store-client.js'
import {
  decideRotation,
  MAX_ENDED_AT_ONCE,
  MAX_LIST_LIMIT,
  parseListOptions,
} from '../revocation/store-rules.js'
import { nextTurn } from '../runtime.js'
import type { ClientReader, SessionClientOptions } from './client.js'
import type { OpeningLimit } from './options.js'
import { type SessionInfo, toInfo } from './session-info.js'
import { createSessionOpener, sessionsOf } from './opening.js'
import { createUnansweredRefreshes } from './unanswered-refreshes.js'
import {
  parseFound,
  parseGeneration,
  parseList,
  parsePresentation,
  parseRotatable,
  parseRotation,
  readReuseClient,
} from './parse-answers.js'

/** Which sessions are listed. */
export interface ListSessionsOptions {
  /** How many at most: 1 to 1,000, which is the default. */
  readonly limit?: number
  /** The `id` of the last session of the page before. */
  readonly before?: string
}

const LIST_OPTIONS: OptionNames<ListSessionsOptions> = { limit: true, before: true }

/** Opens, rotates and lists sessions in a store. */
export interface Sessions {
  /** Opens a session; `SessionLimitError` where a limit refuses it. */
  open(
    uid: string,
    endsAt: number | null,
    from: SessionClient,
    limit: OpeningLimit | null,
  ): Promise<SessionClaims>
  /** Ends a session that nobody has tokens of: it would be listed, and count for a limit. Never rejects. */
  discard(sid: string, endsAt: number | null): Promise<void>
  /** The successor of a verified refresh token, or the error that ends it. */
  rotate(token: CheckedToken, from: SessionClientOptions): Promise<RotatedSession>
  /** What `rotate` would most likely return now, or `null` if it would reject. Only reads. */
  readNext(token: CheckedToken): Promise<RotatedSession | null>
  /**
   * Says that the refresh of a token failed because of the store. Its client got no other token, whatever the store has
   * done: it can try again after the grace too, at this process.
   */
  forgive(token: CheckedToken): void
  /** Throws unless a verified refresh token is the newest of its session, or as good as that. */
  assertCurrent(token: CheckedToken, from: SessionClientOptions): Promise<void>
  /** Throws unless a verified refresh token is the newest of its session. Only reads: a used token ends nothing. */
  assertNewest(token: CheckedToken): Promise<void>
  /** The live sessions of a user, newest first. */
  listSessions(uid: string, options: ListSessionsOptions): Promise<readonly SessionInfo[]>
  /** One live session, or `null`; with a `uid`, only if it is that user's. */
  getSession(id: string, uid?: string): Promise<SessionInfo | null>
  /** Revokes every session of the token's user but its own; returns how many they were. */
  revokeOtherSessions(payload: Pick<StandardClaims, 'sub' | 'sid'>, origin: EventOrigin): Promise<number>
}

/** What the tokens of a session share after a rotation. */
export interface RotatedSession extends SessionClaims {
  readonly generation: number
  /** Epoch seconds; `null` for a session that never ends. */
  readonly endsAt: number | null
}

/** What sessions are kept by. */
export interface SessionRules extends RevokerOptions {
  readonly random: RandomBytes
  readonly clients: ClientReader
  /** How long a used refresh token may be sent again, in milliseconds. */
  readonly graceMs: number
  /** How long a session may go unused; milliseconds, or `FOREVER`. */
  readonly idleMs: number
}

/** Sessions in a store that keeps them; `stored` is the part of it that does. */
export function createSessions(
  client: StoreClient,
  rules: SessionRules,
  revoker: Revoker,
  stored: SessionStore,
): Sessions {
  const { now, random, clients, emit, retentionMs, graceMs, idleMs } = rules
  const opener = createSessionOpener(client, rules, stored)

  const list = async (uid: string, options: ListOptions): Promise<readonly StoredSession[]> =>
    client.call('list', async (target) => parseList(await sessionsOf(target).list(toStoredId(uid), options)))

  // Called as soon as the store has answered: a reuse must raise the alarm even if the answer is too late for the
  // request that waits for it.
  const reportReuse = (payload: TokenPayload, reuse: Reuse, from: SessionClient): void => {
    const { sid = '', gen: presented = 0, sub } = payload
    const origin = { actor: null, note: null, ...from }
    emit('revoked', () => ({ kind: 'session', id: sid, sub, reason: 'reuse', issuer: null, ...origin }))
    const facts = { presented, current: reuse.generation, previous: readReuseClient(reuse) }
    emit('reuseDetected', () => ({ sid, sub, ...facts, ...from }))
  }

  const idle = toSeconds(idleMs)
  const toClaims = (sid: string, generation: number, endsAt: number | null): RotatedSession => ({
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

  const unanswered = createUnansweredRefreshes()
  // Without a grace, a token is good once, whatever became of the answer.
  const toGrace = (sid: string, generation: number): number => {
    const age = graceMs === 0 ? 0 : unanswered.readAge(sid, generation)
    return age === 0 ? graceMs : graceMs + age + client.timeoutMs
  }

  const rotate: Sessions['rotate'] = async ({ header, payload }, from) => {
    const { sid, gen: presented, sub } = payload
    if (sid === undefined || presented === undefined) {
      throw new TokenDecodeError(
        'Refresh token belongs to no session: only tokens of createTokenPair can be refreshed',
      )
    }
    const used = clients.read(from)
    const rotation = await client.call('rotate', async (target) => {
      const limits = { graceMs: toGrace(sid, presented), idleMs, ...used }
      const answer = await sessionsOf(target).rotate(toStoredId(sid), presented, limits)
      const parsed = parseRotation(answer, presented)
      if (parsed.outcome === 'reused') reportReuse(payload, parsed, used)
      return parsed
    })
    if (rotation.outcome === 'ended') throw new RevokedTokenError(payload, header)
    if (rotation.outcome === 'reused') throw new RefreshTokenReusedError(payload, header)
    const { generation } = rotation
    unanswered.remove(sid, presented)
    const isReplay = rotation.outcome === 'replayed'
    emit('refreshed', () => ({ sid, sub, generation, isReplay, ...used }))
    return toClaims(sid, generation, toSeconds(rotation.expiresAt))
  }

  return {
    async open(uid, endsAt, from, limit) {
      const expiresAt = endsAt === null ? FOREVER : addDuration(endsAt * 1000, 0)
      const session = {
        user: toStoredId(uid),
        nonce: createNonce(random),
        expiresAt,
        until: addDuration(expiresAt, retentionMs),
        ...from,
      }
      const lifetime = addDuration(expiresAt - now(), retentionMs)
      const opening = { uid, session, lifetime }
      try {
        const { sid } = await (limit === null ? opener.open(opening) : opener.openLimited(opening, limit))
        return toClaims(sid, 0, endsAt)
      } catch (error) {
        if (error instanceof SessionLimitError) {
          const { code, message: reason } = error
          emit('rejected', () => ({ code, reason, sub: uid, jti: null, sid: null, ...from }))
        }
        throw error
      }
    },

    async discard(sid, endsAt) {
      const expiresAt = endsAt === null ? FOREVER : endsAt * 1000
      await opener.discard(sid, addDuration(expiresAt, retentionMs))
    },
    rotate,
    async readNext({ payload: { sid, gen: presented } }) {
      if (sid === undefined || presented === undefined) return null
      const found = await client.call('get', async (target) =>
        parseRotatable(await sessionsOf(target).get(toStoredId(sid), { idleMs })),
      )
      if (found === null) return null
      const { generation, lastUsedAt, expiresAt } = found
      const state = { generation, lastUsedAt, until: FOREVER, isRevoked: false }
      const decision = decideRotation(state, presented, { graceMs: toGrace(sid, presented), idleMs }, now())
      if (decision !== 'rotate' && decision !== 'replay') return null
      return toClaims(sid, decision === 'rotate' ? presented + 1 : generation, toSeconds(expiresAt))
    },
    forgive({ payload: { sid, gen } }) {
      if (sid !== undefined && gen !== undefined) unanswered.add(sid, gen)
    },
    async assertCurrent({ header, payload }, from) {
      const { sid, gen: presented } = payload
      // Made without a session that anybody keeps: no rotation has used it up.
      if (sid === undefined || presented === undefined) return
      const used = clients.readQuietly(from)
      const { outcome } = await client.call('present', async (target) => {
        const answer = await sessionsOf(target).present(toStoredId(sid), presented, {
          graceMs: toGrace(sid, presented),
          idleMs,
        })
        const parsed = parsePresentation(answer)
        if (parsed.outcome === 'reused') reportReuse(payload, parsed, used)
        return parsed
      })
      if (outcome === 'ended') throw new RevokedTokenError(payload, header)
      if (outcome === 'reused') throw new RefreshTokenReusedError(payload, header)
    },

    async assertNewest({ header, payload }) {
      const { sid, gen: presented } = payload
      if (sid === undefined || presented === undefined) return
      const generation = await client.call('get', async (target) =>
        parseGeneration(await sessionsOf(target).get(toStoredId(sid), { idleMs })),
      )
      // A generation ahead of the store's is signed all the same: the store lost a rotation.
      if (generation === null || presented < generation) throw new RevokedTokenError(payload, header)
    },

    async listSessions(uid, options) {
      assertOptions('listSessions()', options, LIST_OPTIONS)
      const { limit = MAX_LIST_LIMIT, before = null } = options
      const page = { limit, before, idleMs }
      // Here too: what a client sent as a cursor is not a fault of the store.
      parseListOptions(page)
      return (await list(parseText('uid', uid), page)).map(toInfo)
    },
    async getSession(id, uid) {
      const sid = toStoredId(parseText('A session id', id))
      const owner = uid === undefined ? null : toStoredId(uid)
      const found = await client.call('get', async (target) =>
        parseFound(await sessionsOf(target).get(sid, { idleMs })),
      )
      return found === null || (owner !== null && found.user !== owner) ? null : toInfo(found)
    },
    async revokeOtherSessions({ sub, sid: own }, origin) {
      if (own === undefined) throw new TypeError('The token belongs to no session')
      let count = 0
      let before: string | null = null
      for (;;) {
        // Those that were not used for too long are revoked as well: another manager may allow them more time.
        const page: readonly StoredSession[] = await list(sub, {
          limit: MAX_ENDED_AT_ONCE,
          before,
          idleMs: FOREVER,
        })
        if (page.some(({ sid }) => sid === before)) {
          throw new TypeError('sessions.list() must return the sessions after `before`, without that one')
        }
        const others = page.map(({ sid }) => sid).filter((sid) => sid !== own)
        if (others.length > 0) await revoker.revokeSessions(others, sub, origin)
        count += others.length
        before = page.at(-1)?.sid ?? null
        if (page.length < MAX_ENDED_AT_ONCE || before === null) return count
        // A store in this process does not pause by itself, and nothing else would run until the last one is revoked.
        await nextTurn()
      }
    },
  }
}

function toSeconds(milliseconds: number): number | null {
  return milliseconds === FOREVER ? null : Math.floor(milliseconds / 1000)
}
