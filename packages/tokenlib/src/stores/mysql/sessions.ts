import {
  decideRotation,
  ROOT,
  type Rotation,
  type RotationDecision,
  type RotationState,
  toFirstPlace,
  toPresentation,
  toRotation,
} from '../../revocation/rotation.js'
import {
  assertSessionLimit,
  decideOpening,
  type FoundSession,
  MAX_ENDED_AT_ONCE,
  type NewSession,
  type OpenedSession,
  type SessionStore,
  type StoredSession,
} from '../../revocation/session-store.js'
import { FOREVER, type Revocation, toFirstStart } from '../../revocation/revocation.js'
import type { SessionClient } from '../../events.js'
import { toTimedId } from '../../tokens/ids.js'
import { listLive, toMilliseconds } from '../store-parts.js'
import { type Row, type Session, toNumber, toText, toTextOrNull, type Value } from './client.js'
import type { Head } from './head.js'
import type { History } from './history.js'
import { createSessionStatements, type LiveRules } from './session-statements.js'
import type { Tables } from './tables.js'

/** What sessions need of the store around them. */
export interface SessionsOptions {
  readonly namespace: string
  /** Writes revocations, and returns how many sessions it removed. */
  readonly end: (batch: readonly Revocation[]) => Promise<number>
  readonly afterWrite: () => void
}

interface Found {
  readonly now: number
  readonly session: FullSession | null
  /** How often its row was written. */
  readonly writes: number
}

/** The sessions of a store. */
export function createMysqlSessions(
  history: History,
  tables: Tables,
  { namespace, end, afterWrite }: SessionsOptions,
): Required<SessionStore> {
  const statements = createSessionStatements(tables, namespace)

  const find = (sid: string): Promise<Found> =>
    history.read(...statements.find(sid), (head, rows) => toFound(head, rows))

  // Writes what was decided; false if somebody else has written the row since it was read.
  const move = async (
    connection: Session,
    { session, writes }: Found,
    decision: RotationDecision,
    client: SessionClient,
  ): Promise<boolean> => {
    if (session === null || !('place' in decision) || decision.place === null) return true
    const { ip, userAgent } = decision.outcome === 'advance' ? client : NO_CLIENT
    const known = [toBytes(ip), toBytes(userAgent)] as const
    const isMoved =
      (await connection.write(...statements.move(session.sid, writes, decision.place, known))) === 1
    if (isMoved) afterWrite()
    return isMoved
  }

  const settle = async (decision: RotationDecision, { session, now }: Found): Promise<Rotation> => {
    if (session !== null && decision.outcome === 'reuse') {
      const { sid, until } = session
      // If several calls find the reuse, only the one that removes the session reports it.
      const removed = await end([{ kind: 'session', id: sid, notBefore: FOREVER, until }])
      if (removed === 0) return { outcome: 'ended' }
    }
    return toRotation(decision, session, now)
  }

  const insert = async (
    session: Session,
    given: NewSession,
    { now }: Pick<Head, 'now'>,
    watermarks: readonly number[],
  ): Promise<OpenedSession> => {
    const starts = watermarks.filter((moment) => moment < FOREVER).map(toFirstStart)
    const startedAt = Math.max(now, ...starts)
    const sid = toTimedId(startedAt, given.nonce)
    const { generation, movedAt, lastUsedAt } = toFirstPlace(startedAt)
    const numbers = [startedAt, lastUsedAt, toMilliseconds(given.expiresAt), toMilliseconds(given.until)]
    const inserted = await session.write(statements.insert, [
      namespace,
      sid,
      given.user,
      ...[...numbers, generation, movedAt].map(String),
      ROOT,
      toBytes(given.ip),
      toBytes(given.userAgent),
      toBytes(given.data ?? null),
    ])
    if (inserted !== 1) throw new Error('The MySQL server did not store the session')
    return { sid, startedAt }
  }

  return {
    async open(given) {
      const [page, values] = statements.watermarks(given.user)
      const opened = await history.read(page, values, (head, [row], session) =>
        insert(session, given, head, row?.map(toNumber) ?? []),
      )
      afterWrite()
      return opened
    },
    async openLimited(given, limit, { signal } = {}) {
      assertSessionLimit(limit)
      const { user } = given
      const { result } = await history.write(async ({ session, read, lock, merge }) => {
        signal?.throwIfAborted()
        // Calls for one user take turns. A transaction that holds the head never waits for a turn.
        await session.write(...statements.turn(user))
        signal?.throwIfAborted()
        const look = async () => {
          const [head, [row]] = await read(...statements.watermarks(user))
          const watermarks = row?.map(toNumber) ?? []
          const idleMs = toMilliseconds(limit.idleMs)
          const rules: LiveRules = { now: head.now, watermark: Math.max(0, ...watermarks), idleMs }
          const most = limit.max + MAX_ENDED_AT_ONCE
          const live = await session.read(...statements.live(user, rules, 'desc', most))
          return { head, watermarks, rules, ...decideOpening(live.length, limit) }
        }
        let seen = await look()
        if (seen.count > 0) {
          await lock()
          // It may have waited for longer than its caller.
          signal?.throwIfAborted()
          // Revocations may have ended some of them before the lock, and cannot do so now.
          seen = await look()
        }
        const { head, watermarks, rules, action, count } = seen
        if (action === 'refuse') return { outcome: 'full' } as const
        const oldest =
          count === 0 ? [] : await session.read(...statements.live(user, rules, 'asc', MAX_ENDED_AT_ONCE))
        const ending = oldest.slice(0, count).map(([sid, until]) => ({
          kind: 'session' as const,
          id: toText(sid),
          notBefore: FOREVER,
          until: toNumber(until),
        }))
        await merge(ending)
        const ended = ending.map(({ id }) => id)
        if (action === 'end') return { outcome: 'ending', ended } as const
        const opened = await insert(session, given, head, watermarks)
        return { outcome: 'opened', ...opened, ended } as const
      })
      if (result.outcome !== 'full') afterWrite()
      return result
    },
    async rotate(sid, token, options) {
      // Each retry means that another process has written the row.
      for (let attempt = 0; attempt < MAX_MOVES; attempt++) {
        const { found, decision, isDone } = await history.read(
          ...statements.find(sid),
          async (head, rows, session) => {
            const found = toFound(head, rows)
            const decision = decideRotation(found.session, token, options, found.now)
            return { found, decision, isDone: await move(session, found, decision, options) }
          },
        )
        if (isDone) return settle(decision, found)
      }
      throw new Error('Too many rotations of one session at the same time')
    },
    async present(sid, token, rules) {
      const found = await find(sid)
      return toPresentation(await settle(decideRotation(found.session, token, rules, found.now), found))
    },
    list: (user, options) =>
      listLive(options, (from, size, idleMs) => {
        const [page, values] = statements.list(user, from ?? NEWEST, size)
        return history.read(page, values, ({ now }, rows) => {
          const found = rows
            .map(toSession)
            .filter((session) => session !== null)
            .toSorted((a, b) => b.startedAt - a.startedAt || (a.sid < b.sid ? 1 : -1))
            .slice(0, size)
          const live = found.filter((session) => isLive(session, now, idleMs))
          const last = found.at(-1)
          return { live: live.map(toStored), next: found.length < size ? null : (last ?? null) }
        })
      }),
    async get(sid, { idleMs }) {
      const { session, now } = await find(sid)
      if (session === null || !isLive(session, now, idleMs)) return null
      const { until: _until, isRevoked: _isRevoked, ...rest } = session
      return rest
    },
    async writeData(sid, data, before) {
      for (let attempt = 0; attempt < MAX_MOVES; attempt++) {
        const outcome = await history.read(...statements.find(sid), async (head, rows, connection) => {
          const { session, writes } = toFound(head, rows)
          if (session === null || !isLive(session, head.now, FOREVER)) return 'refused'
          if ((session.data ?? null) !== before) return 'refused'
          const written = await connection.write(...statements.writeData(sid, writes, toBytes(data)))
          return written === 1 ? 'written' : 'again'
        })
        if (outcome === 'written') afterWrite()
        if (outcome !== 'again') return outcome === 'written'
      }
      throw new Error('Too many writes of one session at the same time')
    },
  }
}

const NO_CLIENT = { ip: null, userAgent: null }
const NEWEST = { startedAt: FOREVER, sid: '' }
const MAX_MOVES = 20

type FullSession = FoundSession & RotationState

function isLive(session: FullSession, now: number, idleMs: number): boolean {
  return !session.isRevoked && now < session.until && now - session.lastUsedAt <= idleMs
}

function toFound({ now }: Head, [row]: readonly Row[]): Found {
  return { now, session: row === undefined ? null : toSession(row), writes: Number(row?.[WRITES] ?? 0) }
}

const WRITES = 8

// In the order of SESSION_COLUMNS. A read that finds nothing has a row of nulls.
function toSession(row: Row): FullSession | null {
  if (row[0] === null) return null
  const [sid, user, startedAt, lastUsedAt, expiresAt, until, generation, movedAt] = row
  const [current, previous, ip, userAgent, data, revokedUpTo] = row.slice(WRITES + 1)
  return {
    sid: toText(sid),
    user: toText(user),
    startedAt: toNumber(startedAt),
    lastUsedAt: toNumber(lastUsedAt),
    expiresAt: toNumber(expiresAt),
    until: toNumber(until),
    generation: toNumber(generation),
    movedAt: toNumber(movedAt),
    current: toText(current),
    previous: toTextOrNull(previous),
    ip: toTextOrNull(ip),
    userAgent: toTextOrNull(userAgent),
    data: toTextOrNull(data),
    isRevoked: toNumber(startedAt) <= toNumber(revokedUpTo),
  }
}

function toStored(session: FullSession): StoredSession {
  const { sid, user, startedAt, lastUsedAt, expiresAt, generation, ip, userAgent, data = null } = session
  return { sid, user, startedAt, lastUsedAt, expiresAt, generation, ip, userAgent, data }
}

// As bytes, which no charset of a connection changes.
function toBytes(text: string | null): Value {
  return text === null ? null : Buffer.from(text)
}
