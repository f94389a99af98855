import { ConfigurationError } from '../errors.js'
import {
  addDuration,
  isWatermark,
  raiseWatermark,
  type Revocation,
  type RevocationKey,
  toFirstStart,
} from '../revocation/revocation.js'
import {
  type ListOptions,
  MAX_LIST_LIMIT,
  type NewSession,
  type OpeningOptions,
  parseListOptions,
  type SessionLimit,
  type SessionStore,
  type StoredSession,
} from '../revocation/session-store.js'
import { callQuietly } from './loss-reporter.js'
import type { FeedOptions, FeedPage, Position } from '../revocation/store.js'
import { nextTurn, sleep } from '../runtime.js'
import { monotonicNow } from '../time.js'

/** A place in the list of a user's sessions. */
export interface SessionPlace {
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly sid: string
}

/** A part of the list of a user's sessions. */
export interface SessionPage {
  /** Those that are live, newest first. */
  readonly live: readonly StoredSession[]
  /** Where to go on, or `null` at the end. */
  readonly next: SessionPlace | null
}

/**
 * Lists live sessions, newest first. `read` looks at no more than `size` sessions, however many of them are idle or over,
 * so that no single step takes long.
 */
export async function listLive(
  options: ListOptions,
  read: (from: SessionPlace | null, size: number, idleMs: number) => SessionPage | Promise<SessionPage>,
): Promise<readonly StoredSession[]> {
  const { limit, idleMs, before } = parseListOptions(options)
  const live: StoredSession[] = []
  let from = before
  for (let size = limit; ; size = Math.min(MAX_LIST_LIMIT, 2 * size)) {
    const page = await read(from, size, idleMs)
    live.push(...page.live)
    if (page.next === null || live.length >= limit) return live.slice(0, limit)
    from = page.next
    await nextTurn()
  }
}

/** The sessions of a store; `onEnded` is called before a call is answered that has revoked sessions. */
export function followSessions(
  sessions: SessionStore,
  onEnded: (sids: readonly string[]) => void | Promise<void>,
): SessionStore {
  const follow = async <Answer extends { readonly outcome: string }>(
    sid: string,
    asked: Promise<Answer>,
  ): Promise<Answer> => {
    const answer = await asked
    if (answer.outcome === 'reused') await onEnded([sid])
    return answer
  }
  return {
    open: (session) => sessions.open(session),
    ...(sessions.openLimited !== undefined && {
      async openLimited(session: NewSession, limit: SessionLimit, options?: OpeningOptions) {
        const answer = await (sessions as Required<SessionStore>).openLimited(session, limit, options)
        if (answer.outcome !== 'full' && answer.ended.length > 0) await onEnded(answer.ended)
        return answer
      },
    }),
    rotate: (sid, ...given) => follow(sid, sessions.rotate(sid, ...given)),
    present: (sid, ...given) => follow(sid, sessions.present(sid, ...given)),
    list: (user, options) => sessions.list(user, options),
    get: (sid, options) => sessions.get(sid, options),
  }
}

/** Those who are told of something. */
export interface Listeners<Given extends readonly unknown[]> {
  /** Adds a listener, also one that is there already; returns a function that removes it. */
  readonly add: (listener: (...given: Given) => void) => () => void
  readonly call: (...given: Given) => void
  readonly clear: () => void
  readonly size: () => number
}

/** Nobody yet. A listener that throws is a warning, and keeps nobody else from being called. */
export function createListeners<Given extends readonly unknown[]>(): Listeners<Given> {
  const listeners = new Set<(...given: Given) => void>()
  return {
    add(listener) {
      const own = (...given: Given): void => callQuietly(() => listener(...given))
      listeners.add(own)
      return () => void listeners.delete(own)
    },
    call(...given) {
      for (const listener of listeners) listener(...given)
    },
    clear: () => listeners.clear(),
    size: () => listeners.size,
  }
}

/** How often a store prunes after its writes, in milliseconds. */
const PRUNE_INTERVAL_MS = 60_000

/** When a store drops what has ended: after a write, now and then, and after every one while there is more. */
export interface PruneTurns {
  /** Whether it is time; the next turn is a minute later, unless this one was not enough. */
  take(): boolean
  /** Notes that the last batch was full. */
  goOn(): void
  stop(): void
}

/** The turns of a store; the first one after `delayMs`. */
export function createPruneTurns(delayMs = 0): PruneTurns {
  let nextAt = monotonicNow() + delayMs
  return {
    take() {
      const now = monotonicNow()
      if (now < nextAt) return false
      nextAt = now + PRUNE_INTERVAL_MS
      return true
    },
    goOn() {
      if (nextAt !== Number.POSITIVE_INFINITY) nextAt = Number.NEGATIVE_INFINITY
    },
    stop() {
      nextAt = Number.POSITIVE_INFINITY
    },
  }
}

/** The answer to a reader of a history that is gone: where to begin with the one that is there. */
export function toResetPage(next: Position): FeedPage {
  return { entries: [], next, more: false, reset: true, ageMs: 0 }
}

// Of the event loop, in milliseconds.
const MAX_BLOCKING_MS = 2

/** Goes through steps of work and adds up what they tell; every few milliseconds, others have their turn. */
export async function runWithPauses(steps: Iterable<number>): Promise<number> {
  let sum = 0
  let startedAt = monotonicNow()
  for (const step of steps) {
    sum += step
    if (monotonicNow() - startedAt < MAX_BLOCKING_MS) continue
    await nextTurn()
    startedAt = monotonicNow()
  }
  return sum
}

/** How long to wait before the next attempt, in milliseconds: longer after each failure, and never the same for all. */
export function toRetryDelay(failures: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures, 10)) * Math.random()
}

// How stores write that decide in this process: in memory, in SQLite and in Durable Objects. The statements of PostgreSQL and
// the scripts of Redis follow the same rules.

/** The data of a store while nobody else can change it. */
export interface WritableData {
  /** Epoch milliseconds. */
  readonly now: number
  /** In milliseconds. */
  readonly longestLifetime: number
  /** Merges an entry with what is there; one that raises nothing does not count as a change. */
  readonly merge: (entry: Revocation) => void
  /** The `notBefore` of a key, or `undefined`. */
  readonly find: (key: RevocationKey) => number | undefined
  /** When a session ends, in epoch milliseconds, or `undefined` for one that is not known. */
  readonly readUntil: (sid: string) => number | undefined
  /** Removes the row of a session if it is revoked. */
  readonly removeRevoked: (revocation: Revocation) => void
  /** The newest start of a user's sessions, or of all for `null`; 0 without any. */
  readonly readNewestStart: (user: string | null) => number
  /** Revokes some sessions, `MAX_ENDED_AT_ONCE` at most; returns whether there are more. */
  readonly revokeSome: (late: LateSessions) => boolean
}

/** Sessions of a user, or of all, that started after a moment and up to another: a clock was far ahead. */
export interface LateSessions {
  /** `null` for all users. */
  readonly user: string | null
  readonly after: number
  readonly upTo: number
}

/** What came of a batch. */
export interface WrittenBatch {
  /** When the store took it, or a watermark of it that is later; epoch milliseconds. */
  readonly now: number
  /** Sessions that a watermark does not reach, which are still to be revoked one by one. */
  readonly late: readonly LateSessions[]
}

/** Writes a batch of revocations, completed by what only the store knows. */
export function writeBatch(batch: readonly Revocation[], data: WritableData): WrittenBatch {
  let { now } = data
  const late: LateSessions[] = []
  for (const revocation of batch) {
    const { kind, id } = revocation
    if (isWatermark(kind)) {
      const raised = writeWatermark(revocation, data)
      now = Math.max(now, raised.notBefore)
      late.push(raised.late)
    } else if (kind === 'session') {
      const known = data.readUntil(id)
      const until = known ?? Math.max(revocation.until, addDuration(data.now, data.longestLifetime))
      data.merge({ ...revocation, until })
      if (known !== undefined) data.removeRevoked(revocation)
    } else data.merge(revocation)
  }
  return { now, late: late.filter(({ after, upTo }) => upTo > after) }
}

/** Raises a watermark; returns the moment it was raised to, and the sessions that started even later. */
export function writeWatermark(
  revocation: Revocation,
  data: WritableData,
): { readonly notBefore: number; readonly late: LateSessions } {
  const { now, longestLifetime } = data
  const user = revocation.kind === 'user' ? revocation.id : null
  const newest = data.readNewestStart(user)
  const notBefore = raiseWatermark(revocation.notBefore, newest, now)
  const until = Math.max(revocation.until, addDuration(notBefore, longestLifetime))
  data.merge({ ...revocation, notBefore, until })
  // An older one may be further ahead.
  const watermark = data.find(revocation) ?? notBefore
  const first = toFirstStart(watermark)
  // Now: what is opened from now on starts at this moment too.
  const atOnce = { user, after: watermark, upTo: Math.min(first, newest) }
  while (data.revokeSome(atOnce)) continue
  return { notBefore, late: { user, after: first, upTo: newest } }
}

/** Takes a batch if its first entry is not there yet; returns whether it did. */
export function writeClaim(batch: readonly Revocation[], { find, merge }: WritableData): boolean {
  const [first] = batch
  const isFirst = first !== undefined && find(first) === undefined
  if (isFirst) for (const entry of batch) merge(entry)
  return isFirst
}

/** Merges entries as they are. */
export function writeRestored(batch: readonly Revocation[], { merge, removeRevoked }: WritableData): void {
  for (const entry of batch) {
    merge(entry)
    if (entry.kind === 'session') removeRevoked(entry)
  }
}

// How often a waiting feed looks for changes.
const POLL_INTERVAL_MS = 25

/** Reads a feed until it has entries or the wait is over; for stores that cannot wake their readers. */
export async function pollFeed(
  read: () => FeedPage | Promise<FeedPage>,
  { waitMs, signal }: FeedOptions,
): Promise<FeedPage> {
  const deadline = monotonicNow() + waitMs
  for (;;) {
    signal?.throwIfAborted()
    const page = await read()
    const left = deadline - monotonicNow()
    if (page.entries.length > 0 || page.more || page.reset || left <= 0) return page
    await sleep(Math.min(POLL_INTERVAL_MS, left), signal)
  }
}

/** Throws `ConfigurationError` for data of a newer release: it may keep revocations where this one does not look. */
export function assertKnownLayout(store: string, version: number, own: number): void {
  if (version <= own) return
  throw new ConfigurationError(
    `The data of the ${store} store has version ${version}, which a newer release of tokenlib has made, and this ` +
      `release can use version ${own}: install the newer release, or give this one data of its own`,
  )
}
