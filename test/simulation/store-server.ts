import type { FeedPage, Position, RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { toResetPage } from '../../packages/tokenlib/src/stores/store-parts.js'
import type { Clock } from '../../packages/tokenlib/src/time.js'
import type { Machine } from './machine.js'
import type { Random } from './random.js'

/** What a process knows of the history of a server: the last batch that it has seen. */
export interface Seen {
  readonly epoch: string
  readonly batches: number
  /** Of the last batch; empty before the first. */
  readonly nonce: string
}

/** A position of a server: what was seen, and the place in the memory store, without the name of that. */
export function toPosition({ epoch, batches, nonce }: Seen, place: string): Position {
  return [epoch, batches, nonce, place].join('|')
}

/** What a process knows that has seen nothing. */
export const NOTHING: Seen = { epoch: '', batches: 0, nonce: '' }

/** An answer, and where the history was when it was given. */
export interface Reply<Value> {
  readonly value: Value
  readonly seen: Seen
}

type Run<Value> = (store: RevocationStore) => Promise<Value>

/** A write, so that it can be repeated. */
interface Written {
  readonly run: Run<unknown>
  /** When: by the world, and by the clocks of the server. */
  readonly at: number
  readonly wallClock: number
  readonly monotonicClock: number
  /** The history after it. */
  readonly seen: Seen
}

/**
 * A server that keeps revocations and sessions, as the Redis store uses one: a memory store, and a history whose batches
 * have random names. A process that has seen a batch which is not there any more knows that the server has lost data.
 * What a process without a replica does then is part of a store, so it is here.
 */
export interface StoreServer {
  readonly machine: Machine
  /** Reads; `null` if what the caller has seen is not in the history. */
  read<Value>(seen: Seen, run: Run<Value>): Promise<Reply<Value> | null>
  /** Writes; `null` as above. */
  write<Value>(seen: Seen, run: Run<Value>): Promise<Reply<Value> | null>
  feed(seen: Seen, after: Position | null): Promise<Reply<FeedPage> | null>
  /** Accepts a process. After a loss that the process cannot repair, revokes everything from before, and says when. */
  prepare(seen: Seen, longestLifetime: number, canRestore: boolean): Promise<Reply<number | null>>
  /** Loses everything that was written after a moment of the world. */
  rollBack(to: number): Promise<void>
  /** Another server that has everything up to a moment of the world, as a standby has that is promoted. */
  promote(to: number): Promise<StoreServer>
  /** How many revocations it keeps. */
  countEntries(): Promise<number>
  /** Calls a listener after each write that revokes something. */
  watch(listener: () => void): () => void
}

/** What a standby has of its primary. */
interface Contents {
  readonly log: readonly Written[]
  /** Whether the oldest writes are forgotten. */
  readonly isCut: boolean
  readonly longest: number
}

// The oldest state that it can go back to is ten minutes old; a state from before everything is always there.
const KEPT_MS = 660_000
const FORGOTTEN_AT_ONCE = 1000

/** A server on a machine: empty, or with what another has written. */
export function createStoreServer(
  machine: Machine,
  random: Random,
  worldNow: () => number,
  other: Contents = { log: [], isCut: false, longest: 0 },
): StoreServer {
  // The write that is being repeated, at its own time.
  let repeated: Written | null = null
  const monotonicNow = (): number => repeated?.monotonicClock ?? machine.readMonotonicClock()
  const { scheduler } = machine.startProcess().clock
  const clock: Clock = Object.assign(() => repeated?.wallClock ?? machine.readWallClock(), {
    scheduler: { ...scheduler, monotonicNow },
  })
  const listeners = new Set<() => void>()
  const tell = (): void => {
    for (const listener of listeners) listener()
  }
  const createStore = (): RevocationStore => createMemoryStore({ clock })
  let store = createStore()
  store.watch?.(tell)
  // The last of them are the batches of this epoch.
  let log = [...other.log]
  let epoch = ''
  let batches = 0
  let lastNonce = ''
  let { longest, isCut } = other
  let name: string | null = null

  const createNonce = (): string => Buffer.from(random.bytes(9)).toString('base64url')

  const toSeen = (): Seen => ({ epoch, batches, nonce: lastNonce })

  const isWhole = (seen: Seen): boolean => {
    if (seen.epoch !== epoch || seen.batches > batches) return false
    if (seen.batches === 0) return true
    const written = log[log.length - 1 - (batches - seen.batches)]
    // What is forgotten was there, and can only be lost with the whole epoch.
    return written === undefined || written.seen.nonce === seen.nonce
  }

  // Of what was written before, everything has ended.
  const forgetOld = (): void => {
    const oldest = worldNow() - longest - KEPT_MS
    if ((log[FORGOTTEN_AT_ONCE]?.at ?? oldest) >= oldest) return
    log.splice(0, FORGOTTEN_AT_ONCE)
    isCut = true
  }

  const append = async <Value>(run: Run<Value>): Promise<Reply<Value>> => {
    batches++
    lastNonce = createNonce()
    const seen = toSeen()
    log.push({ run, at: worldNow(), wallClock: clock(), monotonicClock: monotonicNow(), seen })
    forgetOld()
    return { value: await run(store), seen }
  }

  // Every position of the memory store begins with a random name, which is another one after a loss.
  const readName = async (): Promise<string> => {
    if (name !== null) return name
    const { next } = await store.feed(null, { waitMs: 0 })
    return (name = next.slice(0, next.indexOf(':') + 1))
  }

  return {
    machine,
    async read(seen, run) {
      if (!isWhole(seen)) return null
      const known = toSeen()
      return { value: await run(store), seen: known }
    },
    write: async (seen, run) => (isWhole(seen) ? append(run) : null),
    async feed(seen, after) {
      if (!isWhole(seen)) return null
      const now = toSeen()
      const [of = '', number = '0', nonce = '', place = ''] = after?.split('|') ?? []
      const start = name ?? (await readName())
      if (after !== null && !isWhole({ epoch: of, batches: Number(number), nonce })) {
        return { value: toResetPage(toPosition(now, '')), seen: now }
      }
      const page = await store.feed(after === null ? null : start + place, { waitMs: 0 })
      return { value: { ...page, next: toPosition(now, page.next.slice(start.length)) }, seen: now }
    },
    async prepare(seen, longestLifetime, canRestore) {
      const isSound = epoch !== '' && (seen.epoch !== epoch || isWhole(seen))
      if (!isSound) {
        epoch = createNonce()
        batches = 0
        lastNonce = ''
      }
      longest = Math.max(longest, longestLifetime)
      const prepared = await append((to) => to.prepare({ longestLifetime }))
      if (seen.epoch === '' || seen.epoch === epoch || canRestore) return { ...prepared, value: null }
      const until = clock() + longest
      const revoked = await append((to) => to.revoke([{ kind: 'all', id: '', notBefore: clock(), until }]))
      return { ...revoked, value: revoked.value.now }
    },
    async rollBack(to) {
      log = log.slice(0, log.findLastIndex(({ at }) => at <= to) + 1)
      // Without its first writes, the store counts its changes from another number: the history is a new one.
      ;({ epoch, batches, nonce: lastNonce } = isCut ? NOTHING : (log.at(-1)?.seen ?? NOTHING))
      store = createStore()
      name = null
      // It may have been told in a write that is forgotten.
      if (isCut) await store.prepare({ longestLifetime: longest })
      for (const written of log) {
        repeated = written
        await written.run(store).catch(() => undefined)
      }
      repeated = null
      store.watch?.(tell)
    },
    async promote(to) {
      const standby = createStoreServer(machine, random.fork(`standby ${log.length}`), worldNow, {
        log,
        isCut,
        longest,
      })
      await standby.rollBack(to)
      return standby
    },
    async countEntries() {
      let count = 0
      for (let after: Position | null = null, more = true; more;) {
        const page: FeedPage = await store.feed(after, { waitMs: 0 })
        count += page.entries.length
        ;({ next: after, more } = page)
      }
      return count
    },
    watch(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
