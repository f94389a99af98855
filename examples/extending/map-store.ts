import {
  addDuration,
  assertSessionLimit,
  assertSpendable,
  type Clock,
  decideOpening,
  decideRotation,
  defineStore,
  type FeedPage,
  FOREVER,
  type FoundSession,
  isWatermark,
  type NewSession,
  type OpenedSession,
  parseListOptions,
  pollFeed,
  type PresentedToken,
  raiseWatermark,
  type Revocation,
  type RevocationKey,
  type RevocationStore,
  type RotationDecision,
  type RotationRules,
  toFirstPlace,
  toPresentation,
  toRotation,
  toTimedId,
} from 'tokenlib/kit'

interface Entry extends Revocation {
  readonly change: number
}

interface Session extends FoundSession {
  readonly until: number
}

/** A complete store on a `Map`: what docs/extending.md describes, in one process. It passes `storeContract`. */
export function createMapStore(now: Clock): RevocationStore {
  const entries = new Map<string, Entry>()
  const sessions = new Map<string, Session>()
  const spent = new Map<string, { readonly until: number }>()
  const listeners = new Set<() => void>()
  let longestLifetime = 0
  let changes = 0

  const find = (key: RevocationKey) => entries.get(toKey(key))?.notBefore

  function merge({ kind, id, notBefore, until }: Revocation): void {
    const key = toKey({ kind, id })
    const known = entries.get(key)
    if (known !== undefined && notBefore <= known.notBefore && until <= known.until) return
    entries.delete(key) // So that the map stays in the order of changes.
    entries.set(key, {
      kind,
      id,
      notBefore: Math.max(notBefore, known?.notBefore ?? 0),
      until: Math.max(until, known?.until ?? 0),
      change: ++changes,
    })
    for (const listener of listeners) listener()
  }

  function revokeBefore(given: Revocation): number {
    const concerned = [...sessions.values()].filter(({ user }) => given.kind === 'all' || user === given.id)
    const newestStart = Math.max(0, ...concerned.map(({ startedAt }) => startedAt))
    const notBefore = raiseWatermark(given.notBefore, newestStart, now())
    merge({ ...given, notBefore, until: Math.max(given.until, addDuration(notBefore, longestLifetime)) })
    // Opened while the clock was far ahead: the watermark does not reach them.
    for (const session of concerned) if (session.startedAt > notBefore) revokeSession(session)
    return notBefore
  }

  function revokeSession({ sid, until }: Session): void {
    merge({ kind: 'session', id: sid, notBefore: FOREVER, until })
    sessions.delete(sid)
  }

  function revokeUnknown(given: Revocation): void {
    merge({ ...given, until: Math.max(given.until, addDuration(now(), longestLifetime)) })
  }

  function isRevoked({ sid, user, startedAt }: Session): boolean {
    const keys = [
      { kind: 'session', id: sid },
      { kind: 'user', id: user },
      { kind: 'all', id: '' },
    ] as const
    return keys.some((key) => startedAt <= (find(key) ?? -1))
  }

  function isLive(session: Session, idleMs: number): boolean {
    return now() < session.until && now() - session.lastUsedAt <= idleMs && !isRevoked(session)
  }

  function toFound({ until: _until, ...found }: Session): FoundSession {
    return found
  }

  function decide(
    sid: string,
    token: PresentedToken,
    rules: RotationRules,
  ): [RotationDecision, Session | null] {
    const session = sessions.get(sid) ?? null
    const state = session && { ...session, isRevoked: isRevoked(session) }
    const decision = decideRotation(state, token, rules, now())
    if (session !== null && decision.outcome === 'reuse') revokeSession(session)
    return [decision, session]
  }

  function open({ nonce, ...given }: NewSession): OpenedSession {
    const watermarks = [find({ kind: 'user', id: given.user }), find({ kind: 'all', id: '' })]
    const startedAt = Math.max(now(), ...watermarks.map((notBefore) => (notBefore ?? 0) + 1))
    const sid = toTimedId(startedAt, nonce)
    sessions.set(sid, { ...given, sid, startedAt, ...toFirstPlace(startedAt) })
    return { sid, startedAt }
  }

  function read(after: string | null): FeedPage {
    const from = after === null ? 0 : Number(/^map:(\d+)$/.exec(after)?.[1])
    const reset = !(from <= changes) // Also for a position that is not ours.
    const page = reset ? [] : [...entries.values()].filter(({ change }) => change > from)
    return {
      entries: page.map(({ change: _change, ...entry }) => entry),
      next: `map:${reset ? 0 : changes}`,
      more: false,
      reset,
      ageMs: 0,
    }
  }

  return defineStore({
    async prepare(needs) {
      if (needs.longestLifetime <= longestLifetime) return
      longestLifetime = needs.longestLifetime
      for (const entry of [...entries.values()].filter(({ kind }) => isWatermark(kind))) {
        merge({ ...entry, until: addDuration(entry.notBefore, longestLifetime) })
      }
    },
    async revoke(batch) {
      let taken = now()
      for (const given of batch) {
        const session = given.kind === 'session' ? sessions.get(given.id) : undefined
        if (isWatermark(given.kind)) taken = Math.max(taken, revokeBefore(given))
        else if (session !== undefined) revokeSession(session)
        else if (given.kind === 'session') revokeUnknown(given)
        else merge(given)
      }
      return { position: `map:${changes}`, now: taken }
    },
    async claim(batch) {
      const [first] = batch
      const isFirst = first !== undefined && find(first) === undefined
      if (isFirst) for (const entry of batch) merge(entry)
      return { isFirst, position: `map:${changes}` }
    },
    lookup: async (keys) => keys.map(find),
    feed: (after, wait) => pollFeed(() => read(after), wait),
    async restore(batch) {
      for (const entry of batch) {
        merge(entry)
        if (entry.kind === 'session') sessions.delete(entry.id)
      }
    },
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    async prune(limit) {
      const drop = (map: Map<string, { readonly until: number }>) => {
        const ended = [...map].filter(([, { until }]) => until <= now()).slice(0, limit)
        for (const [key] of ended) map.delete(key)
        return ended.length
      }
      return drop(entries) + drop(sessions) + drop(spent)
    },
    async spend(id, keepMs) {
      assertSpendable(id, keepMs)
      const known = spent.get(id)
      if (known !== undefined && now() < known.until) return false
      spent.set(id, { until: now() + keepMs })
      return true
    },
    sessions: {
      open: async (given) => open(given),
      async openLimited(given, limit) {
        assertSessionLimit(limit)
        const live = [...sessions.values()]
          .filter((session) => session.user === given.user && isLive(session, limit.idleMs))
          .toSorted((one, other) => (isBefore(one, other) ? -1 : 1))
        const { action, count } = decideOpening(live.length, limit)
        if (action === 'refuse') return { outcome: 'full' }
        const oldest = live.slice(0, count)
        for (const session of oldest) revokeSession(session)
        const ended = oldest.map(({ sid }) => sid)
        return action === 'end' ? { outcome: 'ending', ended } : { outcome: 'opened', ...open(given), ended }
      },
      async rotate(sid, token, rules) {
        const [decision, session] = decide(sid, token, rules)
        if (session !== null && 'place' in decision && decision.place !== null) {
          const client = decision.outcome === 'advance' && {
            ip: rules.ip ?? session.ip,
            userAgent: rules.userAgent ?? session.userAgent,
          }
          sessions.set(sid, { ...session, ...decision.place, ...client })
        }
        return toRotation(decision, session, now())
      },
      async present(sid, token, rules) {
        return toPresentation(toRotation(...decide(sid, token, rules), now()))
      },
      async list(user, options) {
        const { limit, idleMs, before } = parseListOptions(options)
        return [...sessions.values()]
          .filter((session) => session.user === user && isLive(session, idleMs))
          .filter((session) => before === null || isBefore(session, before))
          .toSorted((one, other) => (isBefore(one, other) ? 1 : -1))
          .slice(0, limit)
          .map(toFound)
          .map(({ current: _current, previous: _previous, movedAt: _movedAt, ...stored }) => stored)
      },
      async get(sid, { idleMs }) {
        const session = sessions.get(sid)
        return session !== undefined && isLive(session, idleMs) ? toFound(session) : null
      },
    },
    async close() {},
  })
}

function toKey({ kind, id }: RevocationKey): string {
  return `${kind}:${id}`
}

function isBefore(one: { startedAt: number; sid: string }, other: typeof one): boolean {
  return one.startedAt < other.startedAt || (one.startedAt === other.startedAt && one.sid < other.sid)
}
