import {
  type Clock,
  decideOpening,
  decideRotation,
  FOREVER,
  type FoundSession,
  type NewSession,
  type OpenedSession,
  type PresentedToken,
  type RevocationStore,
  type RotationDecision,
  type RotationRules,
  type SessionStore,
  toFirstPlace,
  toPresentation,
  toRotation,
  toTimedId,
} from '../../../packages/tokenlib/src/kit.js'

/** What a history does with a store. */
export interface HistoryStore extends Pick<RevocationStore, 'revoke' | 'lookup' | 'prune'> {
  readonly sessions: Required<SessionStore>
}

interface Row extends FoundSession {
  readonly until: number
}

/** A map of rows and the rule: what every store is compared with. */
export function createReferenceStore(now: Clock): HistoryStore {
  const rows = new Map<string, Row>()
  const revoked = new Set<string>()
  const watermarks = new Map<string, number>()

  const isLive = ({ until, lastUsedAt }: Row, idleMs: number): boolean =>
    now() < until && now() - lastUsedAt <= idleMs

  const findLive = (user: string, idleMs: number): readonly Row[] =>
    [...rows.values()]
      .filter((row) => row.user === user && isLive(row, idleMs))
      .toSorted((one, other) => other.startedAt - one.startedAt || (one.sid < other.sid ? 1 : -1))

  const end = (sid: string): void => {
    rows.delete(sid)
    revoked.add(sid)
  }

  const open = ({ nonce, data = null, ...given }: NewSession): OpenedSession => {
    const after = Math.max(watermarks.get(given.user) ?? 0, watermarks.get('') ?? 0)
    const startedAt = Math.max(now(), after + 1)
    const sid = toTimedId(startedAt, nonce)
    rows.set(sid, { ...given, data, sid, startedAt, ...toFirstPlace(startedAt) })
    return { sid, startedAt }
  }

  const decide = (
    sid: string,
    token: PresentedToken,
    rules: RotationRules,
  ): readonly [RotationDecision, Row | null] => {
    const row = rows.get(sid) ?? null
    const decision = decideRotation(row && { ...row, isRevoked: false }, token, rules, now())
    if (decision.outcome === 'reuse') end(sid)
    return [decision, row]
  }

  return {
    async revoke(batch) {
      let taken = now()
      for (const { kind, id, notBefore } of batch) {
        if (kind === 'session') {
          end(id)
          continue
        }
        const concerned = [...rows.values()].filter(({ user }) => kind === 'all' || user === id)
        taken = Math.max(taken, notBefore, ...concerned.map(({ startedAt }) => startedAt))
        // A watermark never falls, also not when the clock was set back.
        watermarks.set(id, Math.max(taken, watermarks.get(id) ?? 0))
        for (const { sid } of concerned) rows.delete(sid)
      }
      return { position: '', now: taken }
    },
    lookup: async (keys) => keys.map(({ id }) => (revoked.has(id) ? FOREVER : undefined)),
    prune: async () => 0,
    sessions: {
      open: async (session) => open(session),
      async openLimited(session, limit) {
        const live = findLive(session.user, limit.idleMs)
        const { action, count } = decideOpening(live.length, limit)
        if (action === 'refuse') return { outcome: 'full' }
        const ended = live
          .toReversed()
          .slice(0, count)
          .map(({ sid }) => sid)
        ended.forEach(end)
        return { outcome: 'opened', ...open(session), ended }
      },
      async rotate(sid, token, { ip, userAgent, ...rules }) {
        const [decision, row] = decide(sid, token, rules)
        if (row !== null && 'place' in decision) {
          const isMoved = decision.outcome === 'advance'
          const client = isMoved && { ip: ip ?? row.ip, userAgent: userAgent ?? row.userAgent }
          rows.set(sid, { ...row, ...decision.place, ...client })
        }
        return toRotation(decision, row, now())
      },
      present: async (sid, token, rules) => toPresentation(toRotation(...decide(sid, token, rules), now())),
      list: async (user, { idleMs }) =>
        findLive(user, idleMs).map((row) => {
          const { current: _current, previous: _previous, movedAt: _movedAt, until: _until, ...stored } = row
          return stored
        }),
      async get(sid, { idleMs }) {
        const row = rows.get(sid)
        if (row === undefined || !isLive(row, idleMs)) return null
        const { until: _until, ...found } = row
        return found
      },
      async writeData(sid, data, before) {
        const row = rows.get(sid)
        if (row === undefined || !isLive(row, FOREVER) || row.data !== before) return false
        rows.set(sid, { ...row, data })
        return true
      },
    },
  }
}
