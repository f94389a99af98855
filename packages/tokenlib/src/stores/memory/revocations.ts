import { createRevocationTable, PARTS, type RevocationTable, SEGMENTS } from '../table/revocation-table.js'
import {
  FOREVER,
  isWatermark,
  type Revocation,
  type RevocationKey,
  type RevocationKind,
} from '../../revocation/revocation.js'
import { toKeptUntil } from '../table/table-segment.js'
import type { Clock } from '../../time.js'

/** Reads up to `most` entries from `place` on. `next` is the place to continue at, or `null` at the end. */
export type Source = (
  place: number,
  most: number,
) => { readonly entries: readonly Revocation[]; readonly next: number | null }

/** A copy of the revocations of a store, without their history. */
export interface RevocationCopy {
  /** The `notBefore` of a key, or `undefined`. */
  readonly find: (kind: RevocationKind, id: string) => number | undefined
  /** Whether it has an entry, for at least as long. */
  covers(entry: Revocation): boolean
  /** Whether one of the keys revokes what started at `start`. */
  readonly isRevokedNow: (keys: readonly RevocationKey[], start: number) => boolean
  /** Callers that merge many entries pass the time of `pruneClock` as `now`: reading it takes as long as the rest. */
  merge(entry: Revocation, now?: number): void
  readonly size: number
  /** All of them, in no order. */
  entries(): Iterable<Revocation>
  /** Reads the entries in parts, from place 0 on. Changes after the first part was read may be missing. */
  readonly read: Source
  watermarks(): readonly Revocation[]
  /** Drops a few entries that have ended. The more `writes` there were, the more entries it examines. */
  sweep(writes: number): void
  /** Drops what has ended, a bounded step at a time; each step tells how many went. */
  prune(limit: number): Iterable<number>
  /** Throws after `close`: a store without its data must not answer "not revoked". */
  readonly assertOpen: () => void
  close(): void
  clear(): void
}

interface Entry extends Revocation {
  /** The number of the change that made it. */
  readonly change: number
}

/** The entries of a kind. No key is in both. */
interface KindEntries {
  readonly kind: RevocationKind
  /** In the order of their last change. */
  readonly map: Map<string, Entry>
  readonly sweep: Sweeper
  /** Entries with a 128-bit id that are revoked forever, which is nearly all of them; `null` until there is one. */
  table: RevocationTable | null
}

// Where entries live for as long as it takes to write a hundred, some dozens have ended and are not dropped yet.
const MAP_STEPS = 4
const TABLE_STEPS = 32

/**
 * A copy without revocations; `owner` is its name in an error. `onChange` is called with every entry that is new or raised,
 * and returns the number of the change.
 */
export function createRevocationCopy(
  owner: string,
  pruneClock: Clock,
  onChange: ((entry: Revocation) => number) | null = null,
): RevocationCopy {
  const tokens = createKindEntries('token')
  const sessions = createKindEntries('session')
  const users = createKindEntries('user')
  const keys = createKindEntries('key')
  const all = createKindEntries('all')
  const kinds = [tokens, sessions, users, keys, all]
  const sources = kinds.flatMap(toSources)
  let isClosed = false

  const entriesOf = (kind: RevocationKind): KindEntries => {
    switch (kind) {
      case 'token':
        return tokens
      case 'session':
        return sessions
      case 'user':
        return users
      case 'key':
        return keys
      case 'all':
        return all
    }
  }

  const assertOpen = (): void => {
    if (isClosed) throw new Error(`${owner} is closed`)
  }

  const find = (kind: RevocationKind, id: string): number | undefined => {
    const { map, table } = entriesOf(kind)
    if (table !== null && table.has(id)) return FOREVER
    return map.size === 0 ? undefined : map.get(id)?.notBefore
  }

  // Whether the table took it; a key that it has is nowhere else.
  const mergeIntoTable = (entries: KindEntries, { kind, id, until }: Revocation, now: number): boolean => {
    const { map } = entries
    // Even an empty map hashes the id, which takes longer than the rest.
    const known = map.size === 0 ? undefined : map.get(id)
    const latest = toKeptUntil(Math.max(until, known?.until ?? 0))
    const hasChanged = (entries.table ??= createRevocationTable()).put(id, latest, now)
    if (hasChanged === null) return false
    if (known !== undefined) map.delete(id)
    if (hasChanged && onChange !== null) onChange({ kind, id, notBefore: FOREVER, until: latest })
    return true
  }

  const mergeIntoMap = ({ map }: KindEntries, { kind, id, notBefore, until }: Revocation): void => {
    const known = map.get(id)
    if (known !== undefined && notBefore <= known.notBefore && until <= known.until) return
    const entry: Revocation = {
      kind,
      id,
      notBefore: Math.max(notBefore, known?.notBefore ?? 0),
      until: Math.max(until, known?.until ?? 0),
    }
    map.delete(id)
    map.set(id, { ...entry, change: onChange?.(entry) ?? 0 })
  }

  const clear = (): void => {
    for (const entries of kinds) {
      entries.map.clear()
      entries.table = null
    }
  }

  return {
    find,
    covers({ kind, id, notBefore, until }) {
      const { map, table } = entriesOf(kind)
      const kept = table?.find(id)
      if (kept !== undefined) return toKeptUntil(until) <= kept
      const known = map.get(id)
      return known !== undefined && notBefore <= known.notBefore && until <= known.until
    },
    isRevokedNow(asked, start) {
      assertOpen()
      for (let at = 0; at < asked.length; at++) {
        const { kind, id } = asked[at] as RevocationKey
        const notBefore = find(kind, id)
        if (notBefore !== undefined && start <= notBefore) return true
      }
      return false
    },
    merge(given, now = pruneClock()) {
      const { kind, id } = given
      const entries = entriesOf(kind)
      const entry = { kind, id, notBefore: toMoment(given.notBefore), until: toMoment(given.until) }
      const isForTable =
        !isWatermark(kind) && kind !== 'key' && (entry.notBefore === FOREVER || entries.table?.has(id))
      if (!isForTable || !mergeIntoTable(entries, entry, now)) mergeIntoMap(entries, entry)
    },
    get size() {
      return kinds.reduce((sum, { map, table }) => sum + map.size + (table?.size ?? 0), 0)
    },
    *entries() {
      for (const { kind, map, table } of kinds) {
        for (const { change: _, ...entry } of map.values()) yield entry
        if (table === null) continue
        for (let part = table.findPart(0); part < PARTS; part = table.findPart(part + 1)) {
          yield* table.read(part, kind)
        }
      }
    },
    watermarks: () => [users, all].flatMap(({ map }) => [...map.values()]),
    read(place, most) {
      const source = place % sources.length
      const read = sources[source] as Source
      const { entries, next } = read(Math.floor(place / sources.length), most)
      if (next !== null) return { entries, next: next * sources.length + source }
      return { entries, next: source + 1 < sources.length ? source + 1 : null }
    },
    sweep(writes) {
      const now = pruneClock()
      for (const { sweep, table } of kinds) {
        sweep(now, MAP_STEPS * writes)
        table?.sweep(now, TABLE_STEPS * writes)
      }
    },
    *prune(limit) {
      let left = limit
      for (const entries of kinds) {
        for (const dropped of pruneMap(entries.map, entries.sweep, pruneClock, left)) {
          left -= dropped
          yield dropped
        }
        for (let step = 0; entries.table !== null && step < SEGMENTS && left > 0; step++) {
          const dropped = entries.table.prune(pruneClock(), left)
          left -= dropped
          yield dropped
        }
      }
    },
    assertOpen,
    close() {
      isClosed = true
      clear()
    },
    clear,
  }
}

function createKindEntries(kind: RevocationKind): KindEntries {
  const map = new Map<string, Entry>()
  return { kind, map, sweep: createSweeper(map), table: null }
}

function toSources(of: KindEntries): Source[] {
  // By numbers of changes: what changes while somebody reads goes to the end.
  const readMap: Source = (place, most) => {
    const entries: Revocation[] = []
    let last = place
    for (const { change, ...entry } of of.map.values()) {
      if (change <= place) continue
      if (entries.length === most) return { entries, next: last }
      entries.push(entry)
      last = change
    }
    return { entries, next: null }
  }
  const readTable: Source = (place, most) => {
    const { kind, table } = of
    if (table === null) return { entries: [], next: null }
    const entries: Revocation[] = []
    let part = table.findPart(place)
    for (; part < PARTS && entries.length < most; part = table.findPart(part + 1)) {
      entries.push(...table.read(part, kind))
    }
    return { entries, next: part < PARTS ? part : null }
  }
  return [readMap, readTable]
}

// What is not a number counts for more than any: a revocation that is badly put is still one.
function toMoment(value: number): number {
  return Number.isNaN(value) ? FOREVER : Math.min(FOREVER, value)
}

type Ending = Map<string, { readonly until: number }>

/** Goes so many steps further, drops what has ended by `now`, at most `limit`, and returns how many went. */
export type Sweeper = (now: number, steps: number, limit?: number) => number

/** Walks a map a few steps at a time, for ever; `drop` removes a key and says whether it was there. */
export function createSweeper(map: Ending, drop = (key: string): boolean => map.delete(key)): Sweeper {
  let walk = map.entries()
  return (now, steps, limit = Number.POSITIVE_INFINITY) => {
    let dropped = 0
    for (let left = Math.min(steps, map.size); left > 0 && dropped < limit; left--) {
      let step = walk.next()
      if (step.done) {
        walk = map.entries()
        step = walk.next()
      }
      if (step.done) break
      const [key, { until }] = step.value
      if (now >= until && drop(key)) dropped++
    }
    return dropped
  }
}

const STEPS = 256

/** Walks a map once around and drops what has ended, at most `limit`; each step tells how many went. */
export function* pruneMap(map: Ending, sweep: Sweeper, now: Clock, limit: number): Iterable<number> {
  let left = limit
  for (let steps = map.size; steps > 0 && left > 0; steps -= STEPS) {
    const dropped = sweep(now(), Math.min(STEPS, steps), left)
    left -= dropped
    yield dropped
  }
}
