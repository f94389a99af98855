import { createId, systemRandom, toTimedId } from '../claims/ids.js'
import { ConfigurationError } from '../errors.js'
import { pollFeed } from '../revocation/poll-feed.js'
import {
  addTime,
  FOREVER,
  isWatermark,
  type Revocation,
  type RevocationKey,
  MOST_AHEAD,
  MOST_SET_BACK,
} from '../revocation/revocation.js'
import { judgeRotation } from '../revocation/rotation.js'
import type { SessionStore, StoredSession } from '../revocation/session-store.js'
import { type Clock, createCautiousClock, systemClock } from '../time.js'
import type { TokenStore } from '../sessions/token-store.js'
import { connectStore } from './connect-store.js'
import { createEntries } from './memory/entries.js'
import { sumInSlices } from './memory/slices.js'
import { createSweeper, pruneMap } from './memory/sweeper.js'

/** How a memory store behaves. */
export interface MemoryStoreOptions {
  /** Accept that a restart forgets every revocation, and that other processes never see one. */
  readonly allowInProduction?: boolean
  readonly clock?: Clock
}

interface Session extends StoredSession {
  readonly user: string
  readonly generation: number
  readonly until: number
}

const MOST_LISTED = 1000
const SWEEP_STEPS = 4

/**
 * A store in the memory of this process: for tests, for development, and where one process is all there is.
 *
 * It holds what is alive, and a little more: every write also looks at a few old entries and drops what has ended.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): TokenStore {
  if (process.env['NODE_ENV'] === 'production' && options.allowInProduction !== true) {
    throw new ConfigurationError(
      'The memory store forgets every revocation when the process ends. In production use tokenlib/stores/sqlite, ' +
        'redis or postgres; or createMemoryStore({ allowInProduction: true })',
    )
  }
  const now = options.clock ?? systemClock
  const retire = createCautiousClock(now)
  const entries = createEntries(createId(systemRandom), retire)
  const sessions = new Map<string, Session>()
  const sweepSessions = createSweeper(sessions)
  let longestLifetime = 0
  let newestStart = 0
  let isClosed = false

  // What was forgotten must not be answered with "not revoked".
  const assertOpen = (): void => {
    if (isClosed) throw new Error('The memory store is closed')
  }

  const sweep = (writes: number): void => {
    entries.sweep(writes)
    sweepSessions(retire(), SWEEP_STEPS * writes)
  }

  // What only the store knows: its clock, the longest lifetime, and when a session ends.
  const settle = (given: Revocation): { notBefore: number; until: number } => {
    if (isWatermark(given.kind)) {
      const notBefore = Math.max(
        now(),
        Math.min(given.notBefore, now() + MOST_AHEAD),
        Math.min(newestStart, now() + MOST_SET_BACK),
      )
      return { notBefore, until: Math.max(given.until, addTime(notBefore, longestLifetime)) }
    }
    if (given.kind !== 'session') return given
    const session = sessions.get(given.id)
    const until = session?.until ?? Math.max(given.until, addTime(now(), longestLifetime))
    return { notBefore: given.notBefore, until }
  }

  const find = ({ kind, id }: RevocationKey): number | undefined => entries.find(kind, id)
  const isRevoked = ({ sid, user, startedAt }: Session): boolean =>
    [entries.find('session', sid), entries.find('user', user), entries.find('all', '')].some(
      (notBefore) => notBefore !== undefined && startedAt <= notBefore,
    )

  const sessionStore: SessionStore = {
    async open({ user, nonce, ...rest }) {
      assertOpen()
      sweep(1)
      const revokedBefore = Math.max(entries.find('user', user) ?? 0, entries.find('all', '') ?? 0)
      const startedAt = Math.max(now(), revokedBefore + 1)
      const sid = toTimedId(startedAt, nonce)
      newestStart = Math.max(newestStart, startedAt)
      sessions.set(sid, { ...rest, sid, user, startedAt, lastUsedAt: startedAt, generation: 0 })
      return { sid, startedAt }
    },
    async rotate(sid, presented, rules) {
      const session = sessions.get(sid) ?? null
      const state = session && { ...session, isRevoked: isRevoked(session) }
      const verdict = judgeRotation(state, presented, rules, now())
      if (session === null || verdict === 'end') return { outcome: 'ended' }
      const { expiresAt, until } = session
      if (verdict === 'reuse') {
        entries.merge({ kind: 'session', id: sid, notBefore: FOREVER, until })
        return { outcome: 'reused', generation: session.generation }
      }
      if (verdict === 'replay') return { outcome: 'replayed', generation: session.generation, expiresAt }
      const generation = presented + 1
      const client = {
        ip: rules.ip ?? session.ip,
        userAgent: rules.userAgent ?? session.userAgent,
      }
      sessions.set(sid, { ...session, ...client, generation, lastUsedAt: now() })
      return { outcome: 'rotated', generation, expiresAt }
    },
    async list(user) {
      const live = [...sessions.values()].filter(
        (session) => session.user === user && now() < session.until && !isRevoked(session),
      )
      return live
        .toSorted((one, other) => other.startedAt - one.startedAt)
        .slice(0, MOST_LISTED)
        .map(({ user: _user, generation: _generation, until: _until, ...session }) => session)
    },
  }

  return {
    async prepare(needs) {
      assertOpen()
      if (needs.longestLifetime <= longestLifetime) return
      longestLifetime = needs.longestLifetime
      for (const entry of entries.watermarks()) {
        entries.merge({ ...entry, until: addTime(entry.notBefore, longestLifetime) })
      }
    },
    async revoke(batch) {
      assertOpen()
      sweep(Math.max(1, batch.length))
      let taken = now()
      for (const entry of batch) {
        const settled = settle(entry)
        entries.merge({ ...entry, ...settled })
        if (isWatermark(entry.kind)) taken = Math.max(taken, settled.notBefore)
      }
      return { position: entries.position(), now: taken }
    },
    lookup(keys) {
      assertOpen()
      return keys.map(find)
    },
    feed: (after, wait) =>
      pollFeed(() => {
        assertOpen()
        return entries.read(after)
      }, wait),
    async prune(limit) {
      const dropped = await sumInSlices(entries.prune(limit))
      return dropped + (await sumInSlices(pruneMap(sessions, sweepSessions, retire, limit)))
    },
    connect: connectStore,
    sessions: sessionStore,
    async close() {
      isClosed = true
      entries.clear()
      sessions.clear()
    },
  }
}
