import type { Lineage, SessionClaims } from '../tokens/create.js'
import { createNonce, type RandomBytes } from '../tokens/ids.js'
import type { StandardClaims, TokenPayload } from '../tokens/payload.js'
import {
  RefreshSupersededError,
  RefreshTokenReusedError,
  RevokedTokenError,
  SessionLimitError,
  TokenDecodeError,
  type TokenError,
} from '../errors.js'
import type { EventOrigin, SessionClient } from '../events.js'
import { assertOptions, type OptionNames } from '../options.js'
import type { CheckedToken } from './blocklist.js'
import { addDuration, FOREVER, toStoredId } from './revocation.js'
import { parseText, type Revoker, type RevokerOptions } from './revoker.js'
import { decideRotation, type Presentation, type PresentedToken, type Reuse, ROOT } from './rotation.js'
import type { ListOptions, SessionStore, StoredSession } from './session-store.js'
import type { StoreClient } from './store-client.js'
import { MAX_ENDED_AT_ONCE, MAX_LIST_LIMIT, parseListOptions } from './store-rules.js'
import { nextTurn } from '../runtime.js'
import type { ClientReader, SessionClientOptions } from './session-options.js'
import type { OpeningLimit } from './session-options.js'
import { type SessionInfo, toInfo } from './session-options.js'
import { createSessionOpener, sessionsOf } from './opening.js'
import { parseFound, parseList, parsePlace, parsePresentation, parseRotation, readClient } from './opening.js'

/** Which sessions are listed. */
export interface ListSessionsOptions {
  /** How many at most: 1 to 1,000, which is the default. */
  readonly limit?: number
  /** The `id` of the last session of the page before. */
  readonly before?: string
}

const LIST_OPTIONS: OptionNames<ListSessionsOptions> = { limit: true, before: true }

/** Opens, rotates and lists sessions in a store. */
export interface StoredSessions {
  /** Opens a session; `SessionLimitError` where a limit refuses it. */
  open(
    uid: string,
    endsAt: number | null,
    from: SessionClient,
    limit: OpeningLimit | null,
  ): Promise<SessionClaims>
  /** Ends a session that nobody has tokens of: it would be listed, and count for a limit. Never rejects. */
  discard(sid: string, endsAt: number | null): Promise<void>
  /** What the new tokens for a verified refresh token share, without a lineage if the client keeps it. Rejects if it is refused. */
  rotate(token: CheckedToken, from: SessionClientOptions): Promise<RotatedClaims>
  /** Rejects unless a verified refresh token could be exchanged now. */
  assertCurrent(token: CheckedToken, from: SessionClientOptions): Promise<void>
  /** The same, but read-only: a used token does not end the session. */
  assertUnused(token: CheckedToken): Promise<void>
  /** The live sessions of a user, newest first. */
  list(uid: string, options: ListSessionsOptions): Promise<readonly SessionInfo[]>
  /** One live session as the store has it, or `null`. */
  find(sid: string): Promise<StoredSession | null>
  /** One live session, or `null`; with a `uid`, only if it is that user's. */
  get(id: string, uid?: string): Promise<SessionInfo | null>
  /** Revokes every session of the token's user but its own; returns how many they were. */
  endOthers(payload: Pick<StandardClaims, 'sub' | 'sid'>, origin: EventOrigin): Promise<number>
}

/** What the next tokens of a session share. */
export interface RotatedClaims extends SessionClaims {
  /** Emits the events of the refresh; to be called once the new tokens are signed. */
  report(): void
}

/** What sessions are kept by. */
export interface SessionRules extends RevokerOptions {
  readonly random: RandomBytes
  readonly clients: ClientReader
  /** How long a session waits for responses in flight before it advances, in milliseconds. */
  readonly graceMs: number
  /** How long a session may go unused; milliseconds, or `FOREVER`. */
  readonly idleMs: number
}

/** Sessions in a store that keeps them; `stored` is the part of it that does. */
export function createStoredSessions(
  client: StoreClient,
  rules: SessionRules,
  revoker: Revoker,
  stored: SessionStore,
): StoredSessions {
  const { now, random, clients, emit, retentionMs, graceMs, idleMs } = rules
  const opener = createSessionOpener(client, rules, stored)

  const readPage = async (uid: string, options: ListOptions): Promise<readonly StoredSession[]> =>
    client.call('list', async (target) => parseList(await sessionsOf(target).list(toStoredId(uid), options)))

  const find: StoredSessions['find'] = (sid) =>
    client.call('get', async (target) =>
      parseFound(await sessionsOf(target).get(toStoredId(sid), { idleMs })),
    )

  // Called as soon as the store has answered: a reuse must raise the alarm even if the answer is too late for the
  // request that waits for it.
  const reportReuse = (payload: TokenPayload, reuse: Reuse, from: SessionClient): void => {
    const { sid = '', gen: presented = 0, sub } = payload
    const origin = { actor: null, note: null, ...from }
    emit('revoked', () => ({ kind: 'session', id: sid, sub, reason: 'reuse', issuer: null, ...origin }))
    const facts = { presented, current: reuse.generation, previous: readClient(reuse) }
    emit('reuseDetected', () => ({ sid, sub, ...facts, ...from }))
  }

  const idle = toSeconds(idleMs)
  const toClaims = (sid: string, endsAt: number | null, lineage?: Lineage): SessionClaims => ({
    sid,
    ...(lineage && { lineage }),
    // No token outlives its session, and no access token outlives the idle limit. Refresh tokens ignore that limit: only
    // the store knows whether the session has been used since.
    limitExpiry(type, iat, own) {
      const limits = type === 'access' ? [own, idle === null ? null : iat + idle, endsAt] : [endsAt]
      const nearest = Math.min(...limits.map((limit) => limit ?? Number.POSITIVE_INFINITY))
      return nearest === Number.POSITIVE_INFINITY ? null : nearest
    },
  })

  const rotate: StoredSessions['rotate'] = async ({ header, payload }, from) => {
    const { sid, token } = parsePresented(payload)
    const used = clients.read(from)
    const rotation = await client.call('rotate', async (target) => {
      const answer = await sessionsOf(target).rotate(toStoredId(sid), token, { graceMs, idleMs, ...used })
      const parsed = parseRotation(answer)
      if (parsed.outcome === 'reused') reportReuse(payload, parsed, used)
      return parsed
    })
    if (!('now' in rotation)) throw toRefusal(rotation.outcome, { header, payload })
    const { outcome, now: issuedAt, movedAt, expiresAt } = rotation
    const isKept = outcome === 'kept'
    const facts = { sid, sub: payload.sub, generation: token.generation - (isKept ? 1 : 0) }
    const previous = readClient(rotation)
    const lineage = { generation: token.generation + 1, parent: payload.jti as string, issuedAt }
    return {
      ...toClaims(sid, toSeconds(expiresAt), isKept ? undefined : lineage),
      report() {
        emit('refreshed', () => ({ ...facts, outcome, previous, ...used }))
        if (outcome !== 'repeated') return
        const isElsewhere = previous !== null && isAnotherClient(previous, used)
        // A client that drops its cookies, or never gets a response, repeats the same token forever.
        if (isElsewhere || issuedAt - movedAt > graceMs) {
          emit('refreshRepeated', () => ({ ...facts, movedAt, isElsewhere, previous, ...used }))
        }
      },
    }
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
        const opened = await (limit === null ? opener.open(opening) : opener.openLimited(opening, limit))
        const { sid, startedAt: issuedAt } = opened
        return toClaims(sid, endsAt, { generation: 1, parent: ROOT, issuedAt })
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
    async assertCurrent({ header, payload }, from) {
      // Made without a session that anybody keeps: no rotation has used it up.
      if (payload.sid === undefined || payload.gen === undefined) return
      const { sid, token } = parsePresented(payload)
      const used = clients.readQuietly(from)
      const { outcome } = await client.call('present', async (target) => {
        const answer = await sessionsOf(target).present(toStoredId(sid), token, { graceMs, idleMs })
        const parsed = parsePresentation(answer)
        if (parsed.outcome === 'reused') reportReuse(payload, parsed, used)
        return parsed
      })
      if (outcome !== 'current') throw toRefusal(outcome, { header, payload })
    },
    async assertUnused({ header, payload }) {
      if (payload.sid === undefined || payload.gen === undefined) return
      const { sid, token } = parsePresented(payload)
      const session = await client.call('get', async (target) =>
        parsePlace(await sessionsOf(target).get(toStoredId(sid), { idleMs })),
      )
      const state = session && { ...session, until: FOREVER, isRevoked: false }
      const { outcome } = decideRotation(state, token, { graceMs, idleMs }, now())
      if (outcome === 'superseded') throw toRefusal(outcome, { header, payload })
      if (outcome === 'end' || outcome === 'reuse') throw new RevokedTokenError(payload, header)
    },

    async list(uid, options) {
      assertOptions('sessions.list()', options, LIST_OPTIONS)
      const { limit = MAX_LIST_LIMIT, before = null } = options
      const page = { limit, before, idleMs }
      // Here too: what a client sent as a cursor is not a fault of the store.
      parseListOptions(page)
      return (await readPage(parseText('uid', uid), page)).map(toInfo)
    },
    find,
    async get(id, uid) {
      const owner = uid === undefined ? null : toStoredId(uid)
      const found = await find(parseText('A session id', id))
      return found === null || (owner !== null && found.user !== owner) ? null : toInfo(found)
    },
    async endOthers({ sub, sid: own }, origin) {
      if (own === undefined) throw new TypeError('The token belongs to no session')
      let count = 0
      let before: string | null = null
      for (;;) {
        // Those that were not used for too long are revoked as well: another manager may allow them more time.
        const page: readonly StoredSession[] = await readPage(sub, {
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

// The place of a verified refresh token in its session, or `TokenDecodeError`.
function parsePresented({ jti, sid, gen, par, sat }: TokenPayload): {
  readonly sid: string
  readonly token: PresentedToken
} {
  if (sid === undefined || gen === undefined) {
    throw new TokenDecodeError(
      'Refresh token belongs to no session: only tokens of sessions.open() can be refreshed',
    )
  }
  if (jti === undefined || par === undefined || sat === undefined) {
    throw new TokenDecodeError('Refresh token does not name its parent, so the user must log in again')
  }
  const parent = par === ROOT ? ROOT : toStoredId(par)
  return { sid, token: { id: toStoredId(jti), parent, generation: gen, issuedAt: sat } }
}

function toRefusal(
  outcome: Exclude<Presentation['outcome'], 'current'>,
  { header, payload }: CheckedToken,
): TokenError {
  if (outcome === 'superseded') return new RefreshSupersededError()
  return outcome === 'reused'
    ? new RefreshTokenReusedError(payload, header)
    : new RevokedTokenError(payload, header)
}

function isAnotherClient(known: SessionClient, { ip, userAgent }: SessionClient): boolean {
  return isAnother(known.ip, ip) || isAnother(known.userAgent, userAgent)
}

function isAnother(known: string | null, given: string | null): boolean {
  return known !== null && given !== null && known !== given
}

function toSeconds(milliseconds: number): number | null {
  return milliseconds === FOREVER ? null : Math.floor(milliseconds / 1000)
}
