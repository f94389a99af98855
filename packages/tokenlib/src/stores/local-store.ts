import type { SessionClient } from '../events.js'
import {
  addDuration,
  FOREVER,
  isWatermark,
  raiseWatermark,
  type Revocation,
  type RevocationKind,
  toFirstStart,
} from '../revocation/revocation.js'
import {
  decideRotation,
  type PresentedToken,
  type RotationDecision,
  type RotationPlace,
  type RotationRules,
  toFirstPlace,
  toPresentation,
  toRotation,
} from '../revocation/rotation.js'
import type { FoundSession, NewSession, OpenedSession, SessionStore } from '../revocation/session-store.js'
import type { Position, RevocationStore } from '../revocation/store.js'
import { assertSessionLimit, decideOpening, MAX_ENDED_AT_ONCE } from '../revocation/session-store.js'
import { nextTurn } from '../runtime.js'
import { toTimedId } from '../tokens/ids.js'
import { listLive, type SessionPage, type SessionPlace } from './store-parts.js'

/** A session as it is stored. */
export interface SessionRow extends FoundSession {
  /** Epoch milliseconds, or `FOREVER`. */
  readonly until: number
}

/** The columns that are needed to revoke a session. */
export type SessionEnd = Pick<SessionRow, 'sid' | 'until'>

/** The sessions of a user (`null`: of all users) that started after one moment and up to another. */
export interface LateSessions {
  readonly user: string | null
  readonly after: number
  readonly upTo: number
}

/** Tells which sessions are live. */
export interface Liveness {
  readonly now: number
  readonly idleMs: number
}

/** The data of a store, as seen by a read. */
export interface ReadableRows {
  /** Epoch milliseconds. */
  readonly now: number
  /** The `notBefore` of a key, or `undefined`. */
  readonly find: (kind: RevocationKind, id: string) => number | undefined
  readonly findSession: (sid: string) => SessionRow | null
  /** Reads at most `size` sessions of a user, newest first. */
  readonly readPage: (user: string, from: SessionPlace | null, size: number, live: Liveness) => SessionPage
}

/** The data of a store in a transaction. */
export interface Rows extends ReadableRows {
  /** In milliseconds. */
  readonly longestLifetime: number
  /** The position that includes everything written so far. */
  readonly position: () => Position
  /** Merges an entry with what is there; one that raises nothing does not count as a change. */
  readonly merge: (entry: Revocation) => void
  /** Writes without changing anything, to find out whether the store can be written to. */
  readonly touch: () => void
  readonly insertSession: (session: SessionRow) => void
  /** Stores a new place, and what is known of the client. */
  readonly moveSession: (session: SessionRow, place: RotationPlace, client: SessionClient) => void
  /** Removes a session that started at `startedUpTo` or before. */
  readonly removeSession: (sid: string, startedUpTo: number) => void
  /** The newest start of a user's sessions, or of all for `null`; 0 without any. */
  readonly readNewestStart: (user: string | null) => number
  /** `MAX_ENDED_AT_ONCE` at most. */
  readonly readLate: (late: LateSessions) => readonly SessionEnd[]
  /** Counts the live sessions of a user, up to `most`. */
  readonly countLive: (user: string, live: Liveness, most: number) => number
  readonly readOldest: (user: string, live: Liveness, most: number) => readonly SessionEnd[]
}

/** How a store runs a step on its data. */
export interface LocalData {
  /** Runs `work` as one transaction. `entries` is the number of entries that the caller brings. */
  readonly write: <T>(work: (rows: Rows) => T, entries?: number) => Promise<T>
  readonly read: <T>(work: (rows: ReadableRows) => T) => T
}

/** The operations of a store on its data. */
export interface LocalStore {
  readonly revoke: RevocationStore['revoke']
  readonly claim: RevocationStore['claim']
  readonly restore: NonNullable<RevocationStore['restore']>
  readonly sessions: Required<SessionStore>
}

/**
 * The writes and the sessions of a store that decides in this process: memory, SQLite and Durable Objects.
 *
 * The statements of PostgreSQL and the scripts of Redis follow the same rules.
 */
export function createLocalStore({ write, read }: LocalData): LocalStore {
  // In several steps, because there may be thousands.
  const revokeLate = async (late: LateSessions): Promise<Position> => {
    for (;;) {
      const { hasMore, position } = await write((rows) => ({
        hasMore: revokeSome(late, rows),
        position: rows.position(),
      }))
      if (!hasMore) return position
      await nextTurn()
    }
  }

  return {
    async revoke(batch) {
      const { now, late, ...first } = await write((rows) => {
        if (batch.length === 0) rows.touch()
        return { ...writeBatch(batch, rows), position: rows.position() }
      }, batch.length)
      let { position } = first
      for (const some of late) position = await revokeLate(some)
      return { position, now }
    },
    claim: ([first, ...rest]) =>
      write((rows) => {
        const isFirst = first !== undefined && rows.find(first.kind, first.id) === undefined
        if (isFirst) for (const entry of [first, ...rest]) rows.merge(entry)
        return { isFirst, position: rows.position() }
      }, rest.length + 1),
    restore: (batch) =>
      write((rows) => {
        for (const entry of batch) {
          rows.merge(entry)
          if (entry.kind === 'session') rows.removeSession(entry.id, entry.notBefore)
        }
      }, batch.length),
    sessions: {
      open: (session) => write((rows) => open(session, rows)),
      async openLimited(session, limit) {
        assertSessionLimit(limit)
        return write((rows) => {
          const live = { now: rows.now, idleMs: limit.idleMs }
          const known = rows.countLive(session.user, live, limit.max + MAX_ENDED_AT_ONCE)
          const { action, count } = decideOpening(known, limit)
          if (action === 'refuse') return { outcome: 'full' }
          const oldest = count === 0 ? [] : rows.readOldest(session.user, live, count)
          for (const one of oldest) endSession(one, rows)
          const ended = oldest.map(({ sid }) => sid)
          if (action === 'end') return { outcome: 'ending', ended }
          return { outcome: 'opened', ...open(session, rows), ended }
        })
      },
      rotate: (sid, token, options) =>
        write((rows) => {
          const [decision, session] = endReused(decide(rows, sid, token, options), rows)
          if (session !== null && 'place' in decision && decision.place !== null) {
            rows.moveSession(session, decision.place, decision.outcome === 'advance' ? options : NO_CLIENT)
          }
          return toRotation(decision, session, rows.now)
        }),
      async present(sid, token, rules) {
        const seen = read((rows) => toPresentation(toRotation(...decide(rows, sid, token, rules), rows.now)))
        if (seen.outcome !== 'reused') return seen
        // Only a reuse writes, and another process may have been first.
        return write((rows) =>
          toPresentation(toRotation(...endReused(decide(rows, sid, token, rules), rows), rows.now)),
        )
      },
      list: (user, options) =>
        listLive(options, (from, size, idleMs) =>
          read((rows) => rows.readPage(user, from, size, { now: rows.now, idleMs })),
        ),
      get: async (sid, { idleMs }) =>
        read((rows) => {
          const session = rows.findSession(sid)
          const live = { now: rows.now, idleMs }
          return session !== null && isLive(session, live, rows.find) ? toFound(session) : null
        }),
    },
  }
}

/** Whether a session has not expired, was used recently enough, and is not revoked. */
export function isLive(session: SessionRow, { now, idleMs }: Liveness, find: ReadableRows['find']): boolean {
  return now < session.until && now - session.lastUsedAt <= idleMs && !isRevoked(session, find)
}

function isRevoked({ sid, user, startedAt }: SessionRow, find: ReadableRows['find']): boolean {
  return startedAt <= Math.max(find('session', sid) ?? 0, toWatermark(user, find))
}

/** The watermark that applies to a user: its own, or the one for everybody. */
export function toWatermark(user: string, find: ReadableRows['find']): number {
  return Math.max(find('user', user) ?? 0, find('all', '') ?? 0)
}

/** Revokes every session there is; returns the moment of the watermark. */
export function revokeEverything(rows: Rows): number {
  const { notBefore, late } = writeWatermark({ kind: 'all', id: '', notBefore: 0, until: 0 }, rows)
  while (revokeSome(late, rows)) continue
  return notBefore
}

interface WrittenBatch {
  /** When the store took it, or a watermark of it that is later; epoch milliseconds. */
  readonly now: number
  /** Sessions that started after a watermark, to be revoked one by one. */
  readonly late: readonly LateSessions[]
}

function writeBatch(batch: readonly Revocation[], rows: Rows): WrittenBatch {
  let { now } = rows
  const late: LateSessions[] = []
  for (const revocation of batch) {
    const { kind, id, notBefore } = revocation
    if (isWatermark(kind)) {
      const raised = writeWatermark(revocation, rows)
      now = Math.max(now, raised.notBefore)
      late.push(raised.late)
    } else if (kind === 'session') {
      const session = rows.findSession(id)
      const until = session?.until ?? Math.max(revocation.until, addDuration(rows.now, rows.longestLifetime))
      rows.merge({ ...revocation, until })
      if (session !== null) rows.removeSession(id, notBefore)
    } else rows.merge(revocation)
  }
  return { now, late: late.filter(({ after, upTo }) => upTo > after) }
}

// Returns the moment that a watermark was raised to, and the sessions that started even later.
function writeWatermark(revocation: Revocation, rows: Rows): { notBefore: number; late: LateSessions } {
  const { kind, id } = revocation
  const user = kind === 'user' ? id : null
  const newest = rows.readNewestStart(user)
  const notBefore = raiseWatermark(revocation.notBefore, newest, rows.now)
  const until = Math.max(revocation.until, addDuration(notBefore, rows.longestLifetime))
  rows.merge({ ...revocation, notBefore, until })
  // An older one may be further ahead.
  const watermark = rows.find(kind, id) ?? notBefore
  const first = toFirstStart(watermark)
  // In this step, because sessions that are opened from now on start at this moment too.
  while (revokeSome({ user, after: watermark, upTo: Math.min(first, newest) }, rows)) continue
  return { notBefore, late: { user, after: first, upTo: newest } }
}

// Returns whether there may be more.
function revokeSome(late: LateSessions, rows: Rows): boolean {
  if (late.upTo <= late.after) return false
  const found = rows.readLate(late)
  for (const session of found) endSession(session, rows)
  return found.length === MAX_ENDED_AT_ONCE
}

function endSession({ sid, until }: SessionEnd, rows: Rows): void {
  rows.merge({ kind: 'session', id: sid, notBefore: FOREVER, until })
  rows.removeSession(sid, FOREVER)
}

function open({ nonce, ...session }: NewSession, rows: Rows): OpenedSession {
  const watermarks = [rows.find('user', session.user) ?? 0, rows.find('all', '') ?? 0]
  const starts = watermarks.filter((moment) => moment < FOREVER).map(toFirstStart)
  // Whole milliseconds, as in the id.
  const startedAt = Math.max(Math.floor(rows.now), ...starts)
  const sid = toTimedId(startedAt, nonce)
  rows.insertSession({ ...session, sid, startedAt, ...toFirstPlace(startedAt) })
  return { sid, startedAt }
}

type Decided = readonly [RotationDecision, SessionRow | null]

function decide(rows: ReadableRows, sid: string, token: PresentedToken, rules: RotationRules): Decided {
  const session = rows.findSession(sid)
  if (session === null) return [{ outcome: 'end' }, null]
  // Field by field: a spread takes V8 several times as long.
  const { current, previous, generation, movedAt, lastUsedAt, until } = session
  const isEnded = isRevoked(session, rows.find)
  const state = { current, previous, generation, movedAt, lastUsedAt, until, isRevoked: isEnded }
  return [decideRotation(state, token, rules, rows.now), session]
}

function endReused(decided: Decided, rows: Rows): Decided {
  const [{ outcome }, session] = decided
  if (session !== null && outcome === 'reuse') endSession(session, rows)
  return decided
}

const NO_CLIENT: SessionClient = { ip: null, userAgent: null }

function toFound({ until: _until, ...found }: SessionRow): FoundSession {
  return found
}
