import type { SessionClient } from '../events.js'
import {
  addDuration,
  FOREVER,
  isWatermark,
  raiseWatermark,
  type Revocation,
  toFirstStart,
} from '../revocation/revocation.js'
import {
  decideRotation,
  type PresentedToken,
  type RotationDecision,
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
import {
  findLive,
  isRevoked,
  type LateSessions,
  type ReadableRows,
  type Rows,
  type SessionEnd,
  type SessionRow,
} from './local-rows.js'
import { listLive } from './store-parts.js'

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
          const session = findLive(rows, sid, idleMs)
          return session && toFound(session)
        }),
      writeData: (sid, data, before) =>
        write((rows) => {
          const session = findLive(rows, sid, FOREVER)
          if (session === null || (session.data ?? null) !== before) return false
          rows.writeData(session, data)
          return true
        }),
    },
  }
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

function open({ nonce, data = null, ...session }: NewSession, rows: Rows): OpenedSession {
  const watermarks = [rows.find('user', session.user) ?? 0, rows.find('all', '') ?? 0]
  const starts = watermarks.filter((moment) => moment < FOREVER).map(toFirstStart)
  // Whole milliseconds, as in the id.
  const startedAt = Math.max(Math.floor(rows.now), ...starts)
  const sid = toTimedId(startedAt, nonce)
  rows.insertSession({ ...session, data, sid, startedAt, ...toFirstPlace(startedAt) })
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
