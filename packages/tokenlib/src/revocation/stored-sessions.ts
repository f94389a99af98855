import type { Lineage, SessionClaims } from '../tokens/create.js'
import { createNonce, type RandomBytes } from '../tokens/ids.js'
import type { StandardClaims, TokenPayload } from '../tokens/payload.js'
import { SessionLimitError } from '../errors.js'
import type { SessionClient, TokenEmitter } from '../events.js'
import { count, kindOf, type OptionKinds, parseOptions, text } from '../options.js'
import { nextTurn } from '../runtime.js'
import type { CheckedToken } from './blocklist.js'
import { createOpener, sessionsOf } from './opening.js'
import { addDuration, FOREVER, parseText, toRevocationKey, toStoredId } from './revocation.js'
import type { Revoker, RevokerOptions } from './revoker.js'
import { isWithoutSession, parsePresented, toRefusal } from './presented-tokens.js'
import { decideRotation, type Reuse, ROOT } from './rotation.js'
import {
  parseFound,
  parseList,
  parsePlace,
  parsePresentation,
  parseRotation,
  readClient,
} from './session-answers.js'
import type { ClientReader, SessionClientOptions } from './session-client.js'
import type { SessionDataSchema } from './session-data.js'
import {
  type ListOptions,
  MAX_ENDED_AT_ONCE,
  MAX_LIST_LIMIT,
  type OpeningLimit,
  parseListOptions,
  type SessionInfo,
  type StoredSession,
  toInfo,
} from './session-store.js'
import { createSessionUpdates, type ReadSession, type SessionUpdates } from './session-updates.js'
import type { RevocationStore } from './store.js'
import type { StoreClient } from './store-client.js'

/** Which sessions are listed. */
export interface ListSessionsOptions {
  /** How many at most: 1 to 1,000, which is the default. */
  readonly limit?: number
  /** The `id` of the last session of the page before. */
  readonly before?: string
}

const LIST_OPTIONS: OptionKinds<ListSessionsOptions> = {
  limit: count(1, MAX_LIST_LIMIT),
  before: kindOf('the id of a session, or null', (value) => value === null || text.isValid(value)),
}

/** Opens, rotates and lists sessions in a store. */
export interface StoredSessions extends SessionUpdates {
  /** Opens a session; `SessionLimitError` if a limit refuses it. */
  open(
    uid: string,
    endsAt: number | null,
    from: SessionClient,
    limit: OpeningLimit | null,
    data: string | null,
  ): Promise<SessionClaims>
  /** Ends a session whose tokens were never handed out. Never rejects. */
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
  /** Calls `end`, page by page, with all sessions of the token's user except the token's own. Returns their number. */
  endOthers(
    payload: Pick<StandardClaims, 'sub' | 'sid'>,
    end: (sids: readonly string[]) => Promise<unknown>,
  ): Promise<number>
}

/** What the next tokens of a session share. */
export interface RotatedClaims extends SessionClaims {
  /** Emits the events of the refresh; to be called once the new tokens are signed. */
  report(): void
}

/** What sessions are kept by. */
export interface SessionRules extends RevokerOptions {
  readonly emit: TokenEmitter['emit']
  /** How long a session may go unused; milliseconds, or `FOREVER`. */
  readonly idleMs: number
  readonly random: RandomBytes
  readonly clients: ClientReader
  /** How long a session waits for responses in flight before it advances, in milliseconds. */
  readonly graceMs: number
  readonly dataSchema: SessionDataSchema | null
}

/** Sessions in a store that keeps them. */
export function createStoredSessions(
  client: StoreClient,
  rules: SessionRules,
  revoker: Revoker,
  store: RevocationStore,
): StoredSessions {
  const { now, random, clients, emit, retentionMs, graceMs, idleMs } = rules

  // Its tokens were never handed out, but it would be listed and count towards the limit. If this fails, it expires unused.
  const discard = async (sid: string, expiresAt: number): Promise<void> => {
    const revoked = revoker.write([{ ...toRevocationKey('session', sid), expiresAt }])
    await revoked.catch(() => undefined)
  }
  const open = createOpener(client, store, rules, discard)

  // What is read of an answer is read inside of the call: a bad answer is a failure of the store.
  const readPage = <Item>(uid: string, options: ListOptions, read: (session: StoredSession) => Item) =>
    client.call('list', async () =>
      parseList(await sessionsOf(store).list(toStoredId(uid), options)).map(read),
    )

  const readOne: ReadSession = (sid, read) =>
    client.call('get', async () => {
      const found = parseFound(await sessionsOf(store).get(toStoredId(sid), { idleMs }))
      return found && read(found)
    })

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

  return {
    ...createSessionUpdates(client, store, rules.dataSchema, readOne),
    async open(uid, endsAt, from, limit, data) {
      const expiresAt = toMilliseconds(endsAt)
      const user = toStoredId(uid)
      const until = addDuration(expiresAt, retentionMs)
      const nonce = createNonce(random)
      const session = { user, nonce, expiresAt, until, ...from, ...(data !== null && { data }) }
      const lifetime = addDuration(expiresAt - now(), retentionMs)
      try {
        const { sid, startedAt: issuedAt } = await open({ uid, session, lifetime }, limit)
        return toClaims(sid, endsAt, { generation: 1, parent: ROOT, issuedAt })
      } catch (error) {
        if (error instanceof SessionLimitError) {
          const { code, message: reason } = error
          emit('rejected', () => ({ code, reason, sub: uid, jti: null, sid: null, ...from }))
        }
        throw error
      }
    },
    discard: (sid, endsAt) => discard(sid, toMilliseconds(endsAt)),
    async rotate(checked, from) {
      const { payload } = checked
      const { sid, token } = parsePresented(payload)
      const used = clients.read(from)
      const rotation = await client.call('rotate', async () => {
        const answer = await sessionsOf(store).rotate(toStoredId(sid), token, { graceMs, idleMs, ...used })
        const parsed = parseRotation(answer)
        if (parsed.outcome === 'reused') reportReuse(payload, parsed, used)
        return parsed
      })
      if (!('now' in rotation)) throw toRefusal(rotation.outcome, checked)
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
    },
    async assertCurrent(checked, from) {
      const { payload } = checked
      if (isWithoutSession(payload)) return
      const { sid, token } = parsePresented(payload)
      const used = clients.readQuietly(from)
      const { outcome } = await client.call('present', async () => {
        const parsed = parsePresentation(
          await sessionsOf(store).present(toStoredId(sid), token, { graceMs, idleMs }),
        )
        if (parsed.outcome === 'reused') reportReuse(payload, parsed, used)
        return parsed
      })
      if (outcome !== 'current') throw toRefusal(outcome, checked)
    },
    async assertUnused(checked) {
      if (isWithoutSession(checked.payload)) return
      const { sid, token } = parsePresented(checked.payload)
      const session = await client.call('get', async () =>
        parsePlace(await sessionsOf(store).get(toStoredId(sid), { idleMs })),
      )
      const state = session && { ...session, until: FOREVER, isRevoked: false }
      const { outcome } = decideRotation(state, token, { graceMs, idleMs }, now())
      if (outcome === 'superseded') throw toRefusal(outcome, checked)
      if (outcome === 'end' || outcome === 'reuse') throw toRefusal('ended', checked)
    },
    async list(uid, options) {
      const { limit = MAX_LIST_LIMIT, before = null } = parseOptions('sessions.list()', options, LIST_OPTIONS)
      // Checked here too: a bad cursor from a client is not a failure of the store.
      parseListOptions({ limit, before, idleMs })
      return readPage(parseText('uid', uid), { limit, before, idleMs }, toInfo)
    },
    find: (sid) => readOne(sid, (found) => found),
    async get(id, uid) {
      const isOwn = ({ user }: StoredSession): boolean => uid === undefined || user === toStoredId(uid)
      return readOne(parseText('A session id', id), (found) => (isOwn(found) ? toInfo(found) : null))
    },
    async endOthers({ sub, sid: own }, end) {
      if (own === undefined) throw new TypeError('The token belongs to no session')
      let ended = 0
      let before: string | null = null
      for (;;) {
        // Idle sessions too: another manager may allow them more time.
        const page: readonly StoredSession[] = await readPage(
          sub,
          { limit: MAX_ENDED_AT_ONCE, before, idleMs: FOREVER },
          (one) => one,
        )
        if (page.some(({ sid }) => sid === before)) {
          throw new TypeError('sessions.list() must return the sessions after `before`, without that one')
        }
        const others = page.map(({ sid }) => sid).filter((sid) => sid !== own)
        if (others.length > 0) await end(others)
        ended += others.length
        before = page.at(-1)?.sid ?? null
        if (page.length < MAX_ENDED_AT_ONCE || before === null) return ended
        // A store in this process does not pause by itself, and nothing else would run until the last one is revoked.
        await nextTurn()
      }
    },
  }
}

function isAnotherClient(known: SessionClient, given: SessionClient): boolean {
  return (['ip', 'userAgent'] as const).some(
    (name) => known[name] !== null && given[name] !== null && known[name] !== given[name],
  )
}

function toSeconds(milliseconds: number): number | null {
  return milliseconds === FOREVER ? null : Math.floor(milliseconds / 1000)
}

function toMilliseconds(seconds: number | null): number {
  return seconds === null ? FOREVER : addDuration(seconds * 1000, 0)
}
