import {
  decideRotation,
  type FeedPage,
  FOREVER,
  type Position,
  type Revocation,
  type RevocationStore,
  type RotationPlace,
  toFirstPlace,
  toRotation,
} from '../../../packages/tokenlib/src/kit.js'

interface Batch {
  readonly number: number
  readonly nonce: string
  readonly entries: readonly Revocation[]
}

/** A server in this process that does what a script says. */
export interface ScriptedServer {
  /** A connection whose feed can be held up or changed; `null` for nothing. */
  connect(): ScriptedConnection
  /** Loses everything, and begins a history of its own. */
  lose(): void
  /** Loses all batches but the first so many; its history goes on from there. */
  loseAfter(count: number): void
  /** As `revoke`, but what a `wait` is given for is there only when that resolves. */
  revokeSlowly(batch: readonly Revocation[], wait: Promise<void>): Promise<void>
  readonly batches: number
}

/** One connection to a scripted server. */
export interface ScriptedConnection {
  readonly store: RevocationStore
  onFeed: ((read: () => FeedPage) => Promise<FeedPage>) | null
  onRevoke: (() => Promise<void>) | null
}

// Small, so that a history has many pages.
const PAGE_SIZE = 3

/** A store with a log of batches, in pages of three. */
export function createScriptedServer(): ScriptedServer {
  let epoch = 1
  let log: Batch[] = []
  let nonces = 0

  const merged = (): Map<string, Revocation> => {
    const map = new Map<string, Revocation>()
    for (const entry of log.flatMap(({ entries }) => entries)) {
      const known = map.get(toName(entry))
      map.set(toName(entry), known !== undefined && known.notBefore > entry.notBefore ? known : entry)
    }
    return map
  }

  const toPosition = (number: number, nonce: string): Position => `${epoch}|${number}|${nonce}`
  const last = (): Position => toPosition(log.at(-1)?.number ?? 0, log.at(-1)?.nonce ?? '')

  const append = async (entries: readonly Revocation[], wait?: Promise<void>): Promise<Position> => {
    if (wait !== undefined) await wait
    const number = log.length + 1
    const nonce = String(++nonces)
    log = [...log, { number, nonce, entries }]
    return toPosition(number, nonce)
  }

  const isKnown = (number: number, nonce: string): boolean =>
    number === 0 || log.some((batch) => batch.number === number && batch.nonce === nonce)

  const read = (after: Position | null): FeedPage => {
    const [known, number = '0', nonce = ''] = after?.split('|') ?? [String(epoch)]
    if (known !== String(epoch) || !isKnown(Number(number), nonce)) {
      return { entries: [], next: last(), more: false, reset: true, ageMs: 0 }
    }
    const left = log.filter((batch) => batch.number > Number(number))
    const page = left.slice(0, PAGE_SIZE)
    const end = page.at(-1)
    return {
      entries: page.flatMap(({ entries }) => entries),
      next: end === undefined ? (after ?? toPosition(0, '')) : toPosition(end.number, end.nonce),
      more: left.length > PAGE_SIZE,
      reset: false,
      ageMs: 0,
    }
  }

  const raise = (entry: Revocation): Revocation =>
    entry.kind === 'user' ? { ...entry, notBefore: Math.max(entry.notBefore, Date.now()) } : entry

  const rows = new Map<string, RotationPlace>()
  const sessions: NonNullable<RevocationStore['sessions']> = {
    async open({ nonce }) {
      const startedAt = Date.now()
      rows.set(nonce, toFirstPlace(startedAt))
      return { sid: nonce, startedAt }
    },
    async rotate(sid, token, rules) {
      const row = rows.get(sid) ?? null
      const isRevoked = merged().has(`session:${sid}`)
      const now = Date.now()
      const decision = decideRotation(row && { ...row, isRevoked, until: FOREVER }, token, rules, now)
      if (decision.outcome === 'reuse') {
        await append([{ kind: 'session', id: sid, notBefore: FOREVER, until: FOREVER }])
      }
      if ('place' in decision && decision.place !== null) rows.set(sid, decision.place)
      return toRotation(decision, row && { ...row, expiresAt: FOREVER, ip: null, userAgent: null }, now)
    },
    present: async () => ({ outcome: 'ended' }),
    list: async () => [],
    get: async () => null,
  }

  return {
    connect() {
      const connection: ScriptedConnection = {
        onFeed: null,
        onRevoke: null,
        store: {
          prepare: async () => undefined,
          async revoke(batch) {
            const position = await append(batch.map(raise))
            await connection.onRevoke?.()
            return { position, now: Date.now() }
          },
          claim: () => Promise.reject(new Error('Nobody claims here')),
          async lookup(keys) {
            const map = merged()
            return keys.map((key) => map.get(toName(key))?.notBefore)
          },
          async feed(after) {
            return connection.onFeed === null ? read(after) : connection.onFeed(() => read(after))
          },
          async restore(batch) {
            await append(batch)
          },
          sessions,
          prune: async () => 0,
          close: async () => undefined,
        },
      }
      return connection
    },
    lose() {
      epoch++
      log = []
    },
    loseAfter(count) {
      log = log.slice(0, count)
    },
    async revokeSlowly(batch, wait) {
      await append(batch.map(raise), wait)
    },
    get batches() {
      return log.length
    },
  }
}

function toName({ kind, id }: Pick<Revocation, 'kind' | 'id'>): string {
  return `${kind}:${id}`
}
