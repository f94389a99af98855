import type { StoreServer } from './store-server.js'
import type { Timeline } from './timeline.js'

/** What becomes of a primary that is cut off from its standby. */
export interface Isolation {
  /** The hosts on its side. */
  readonly hosts: readonly string[]
  /** How much of the last writes the standby has not received. */
  readonly lagMs: number
  /** How long it takes until the standby is promoted. */
  readonly failoverMs: number
  /** When the old primary notices that it has lost its standby, and refuses everything; `null` if it goes on. */
  readonly fencedAfterMs: number | null
}

/** A primary with a standby. Both may be primaries at the same time, until they see each other again. */
export interface Cluster {
  readonly primary: () => StoreServer
  /** The server that a host reaches, whichever that is at the moment. */
  readonly serverOf: (host: string) => StoreServer
  /** Whether a host reaches one at all. */
  readonly isReachable: (host: string) => boolean
  /** Cuts the primary off, with some hosts, and promotes the standby for the others; `false` while one is cut off. */
  isolate(isolation: Isolation): boolean
  /** The old primary is a standby of the new one from now on: what it has taken since is lost. */
  heal(): void
}

/** A cluster with one primary. */
export function createCluster(timeline: Timeline, first: StoreServer): Cluster {
  let primary = first
  let isolated: { readonly hosts: ReadonlySet<string>; readonly old: StoreServer } | null = null
  let isPromoting = false
  let isFenced = false
  const listeners = new Set<{ readonly host: string; readonly listener: () => void }>()

  const find = (host: string): StoreServer => (isolated?.hosts.has(host) === true ? isolated.old : primary)

  const follow = (server: StoreServer): void =>
    void server.watch(() => {
      for (const { host, listener } of listeners) if (find(host) === server) listener()
    })
  follow(first)

  const promote = async (old: StoreServer, to: number): Promise<void> => {
    primary = await old.promote(to)
    follow(primary)
  }

  const after = (milliseconds: number, run: () => void): void =>
    void timeline.at(timeline.now() + milliseconds, run)

  return {
    primary: () => primary,
    serverOf: (host) => ({
      machine: first.machine,
      read: (seen, run) => find(host).read(seen, run),
      write: (seen, run) => find(host).write(seen, run),
      feed: (seen, from) => find(host).feed(seen, from),
      prepare: (...given) => find(host).prepare(...given),
      rollBack: (to) => find(host).rollBack(to),
      promote: (to) => find(host).promote(to),
      countEntries: () => find(host).countEntries(),
      watch(listener) {
        const entry = { host, listener }
        listeners.add(entry)
        return () => void listeners.delete(entry)
      },
    }),
    isReachable: (host) => (isolated?.hosts.has(host) === true ? !isFenced : !isPromoting),
    isolate({ hosts, lagMs, failoverMs, fencedAfterMs }) {
      if (isolated !== null) return false
      const old = primary
      const isolation = { hosts: new Set(hosts), old }
      isolated = isolation
      isPromoting = true
      isFenced = false
      void promote(old, timeline.now() - lagMs)
      after(failoverMs, () => void (isPromoting = false))
      if (fencedAfterMs !== null) after(fencedAfterMs, () => void (isFenced ||= isolated === isolation))
      return true
    },
    heal() {
      isolated = null
      isPromoting = false
    },
  }
}
