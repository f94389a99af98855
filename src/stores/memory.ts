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
import type { FeedPage, Position } from '../revocation/store.js'
import { type Clock, createCautiousClock, systemClock } from '../time.js'
import type { TokenStore } from '../sessions/token-store.js'
import { connectStore } from './connect-store.js'

/** How a memory store behaves. */
export interface MemoryStoreOptions {
  /** Accept that a restart forgets every revocation, and that other processes never see one. */
  readonly allowInProduction?: boolean
  readonly clock?: Clock
}

interface Entry extends Revocation {
  /** The count of changes when this one was made. */
  readonly change: number
}

interface Session extends StoredSession {
  readonly user: string
  readonly generation: number
  readonly until: number
}

const PAGE = 1000
const MOST_LISTED = 1000

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
  const epoch = createId(systemRandom)
  // In the order of their last change, so that a feed reads on from where it was.
  const entries = new Map<string, Entry>()
  const sessions = new Map<string, Session>()
  const sweepers = [createSweeper(entries), createSweeper(sessions)]
  let changes = 0
  let longestLifetime = 0
  let newestStart = 0
  let isClosed = false

  // What was forgotten must not be answered with "not revoked".
  const assertOpen = (): void => {
    if (isClosed) throw new Error('The memory store is closed')
  }

  const sweep = (): void => {
    for (const drop of sweepers) drop(retire(), SWEEP_STEPS)
  }

  const merge = ({ kind, id, notBefore, until }: Revocation): void => {
    const key = toKey({ kind, id })
    const known = entries.get(key)
    const entry = {
      notBefore: Math.max(notBefore, known?.notBefore ?? 0),
      until: Math.max(until, known?.until ?? 0),
    }
    if (entry.notBefore === known?.notBefore && entry.until === known.until) return
    entries.delete(key)
    entries.set(key, { kind, id, ...entry, change: ++changes })
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

  const find = (key: RevocationKey): number | undefined => entries.get(toKey(key))?.notBefore
  const isRevoked = ({ sid, user, startedAt }: Session): boolean =>
    [
      find({ kind: 'session', id: sid }),
      find({ kind: 'user', id: user }),
      find({ kind: 'all', id: '' }),
    ].some((notBefore) => notBefore !== undefined && startedAt <= notBefore)

  const sessionStore: SessionStore = {
    async open({ user, nonce, ...rest }) {
      assertOpen()
      sweep()
      const revokedBefore = Math.max(
        find({ kind: 'user', id: user }) ?? 0,
        find({ kind: 'all', id: '' }) ?? 0,
      )
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
        merge({ kind: 'session', id: sid, notBefore: FOREVER, until })
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
      for (const entry of [...entries.values()].filter(({ kind }) => isWatermark(kind))) {
        merge({ ...entry, until: addTime(entry.notBefore, longestLifetime) })
      }
    },
    async revoke(batch) {
      assertOpen()
      sweep()
      let taken = now()
      for (const entry of batch) {
        const settled = settle(entry)
        merge({ ...entry, ...settled })
        if (isWatermark(entry.kind)) taken = Math.max(taken, settled.notBefore)
      }
      return { position: toPosition(epoch, changes), now: taken }
    },
    lookup(keys) {
      assertOpen()
      return keys.map(find)
    },
    feed: (after, wait) =>
      pollFeed(() => {
        assertOpen()
        return readFeed(entries, epoch, after)
      }, wait),
    async prune(limit) {
      return sweepers.reduce((dropped, drop) => dropped + drop(retire(), Number.POSITIVE_INFINITY, limit), 0)
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

function toKey({ kind, id }: RevocationKey): string {
  return `${kind}:${id}`
}

function toPosition(epoch: string, change: number): Position {
  return `${epoch}:${change}`
}

function readFeed(entries: ReadonlyMap<string, Entry>, epoch: string, after: Position | null): FeedPage {
  const [ofEpoch, count = '0'] = after?.split(':') ?? [epoch]
  if (ofEpoch !== epoch)
    return { entries: [], next: toPosition(epoch, 0), more: false, reset: true, ageMs: 0 }
  const page: Entry[] = []
  for (const entry of entries.values()) {
    if (entry.change > Number(count) && page.push(entry) > PAGE) break
  }
  const more = page.length > PAGE
  const read = page.slice(0, PAGE)
  return {
    entries: read.map(({ change: _change, ...entry }) => entry),
    next: toPosition(epoch, read.at(-1)?.change ?? Number(count)),
    more,
    reset: false,
    ageMs: 0,
  }
}

const SWEEP_STEPS = 4

/** Walks a map a few steps at a time, for ever, dropping what has ended. */
function createSweeper(map: Map<string, { readonly until: number }>) {
  let walk = map.entries()
  return (now: number, steps: number, limit: number = Number.POSITIVE_INFINITY): number => {
    let dropped = 0
    for (let left = Math.min(steps, map.size); left > 0 && dropped < limit; left--) {
      let step = walk.next()
      if (step.done) {
        walk = map.entries()
        step = walk.next()
      }
      if (step.done) break
      const [key, { until }] = step.value
      if (now >= until && map.delete(key)) dropped++
    }
    return dropped
  }
}
