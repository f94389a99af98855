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

/** Everything there is, for readers from the start: sources one after another, each read from place to place. */
export type Source = (place: number, most: number) => SourcePage

/** A part of a source. */
export interface SourcePage {
  readonly entries: readonly Revocation[]
  /** Where to go on, or `null` at the end. */
  readonly next: number | null
}

/** A copy of the revocations of a store, without their history. */
export interface RevocationCopy {
  /** The `notBefore` of a key, or `undefined`. */
  find(kind: RevocationKind, id: string): number | undefined
  /** Whether it has an entry, for at least as long. */
  covers(entry: Revocation): boolean
  /** Whether one of the keys revokes what started at `start`; prepared for many calls. */
  createLookup(keys: readonly RevocationKey[], start: number): () => boolean
  /** Callers that merge many entries pass the time of `pruneClock` as `now`: reading it takes as long as the rest. */
  merge(entry: Revocation, now?: number): void
  /** How many there are. */
  readonly size: number
  /** All of them, in no order. */
  entries(): Iterable<Revocation>
  /** The same, from place to place. */
  readonly sources: readonly Source[]
  watermarks(): readonly Revocation[]
  /** Drops a few of those that have ended, if there are any where it looks; `writes` say how far. */
  sweep(writes: number): void
  /** Drops what has ended, a bounded step at a time; each step tells how many went. */
  prune(limit: number): Iterable<number>
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
  /** For ids of 128 bits that are revoked altogether: nearly all entries there are. */
  readonly table: RevocationTable | null
}

/** A key, and where it would be. */
interface PreparedKey {
  readonly id: string
  readonly map: Map<string, Entry>
  readonly probe: (() => boolean) | null
}

// Where entries live for as long as it takes to write a hundred, some dozens have ended and are not dropped yet.
const MAP_STEPS = 4
const TABLE_STEPS = 32

/** No revocations yet. `onChange` is called with every entry that is new or raised, and returns the number of the change. */
export function createRevocationCopy(
  pruneClock: Clock,
  onChange?: (entry: Revocation) => number,
): RevocationCopy {
  const tokens = createKindEntries('token', createRevocationTable())
  const sessions = createKindEntries('session', createRevocationTable())
  const users = createKindEntries('user', null)
  const keys = createKindEntries('key', null)
  const all = createKindEntries('all', null)
  const kinds = [tokens, sessions, users, keys, all]

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

  // Whether the table took it; a key that it has is nowhere else.
  const mergeIntoTable = (
    table: RevocationTable,
    { map }: KindEntries,
    { kind, id, until }: Revocation,
    now: number,
  ): boolean => {
    const latest = toKeptUntil(Math.max(until, map.get(id)?.until ?? 0))
    const hasChanged = table.put(id, latest, now)
    if (hasChanged === null) return false
    map.delete(id)
    if (hasChanged) onChange?.({ kind, id, notBefore: FOREVER, until: latest })
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

  return {
    find(kind, id) {
      const { map, table } = entriesOf(kind)
      if (table !== null && table.size > 0 && table.has(id)) return FOREVER
      return map.size === 0 ? undefined : map.get(id)?.notBefore
    },
    covers({ kind, id, notBefore, until }) {
      const { map, table } = entriesOf(kind)
      const kept = table?.find(id)
      if (kept !== undefined) return toKeptUntil(until) <= kept
      const known = map.get(id)
      return known !== undefined && notBefore <= known.notBefore && until <= known.until
    },
    createLookup(asked, start) {
      const prepared = asked.map(({ kind, id }) => {
        const { map, table } = entriesOf(kind)
        return { id, map, probe: table?.createProbe(id) ?? null }
      })
      return () => {
        // What is in the table is revoked for ever. An empty map is not searched: most are empty.
        for (let at = 0; at < prepared.length; at++) {
          const { id, map, probe } = prepared[at] as PreparedKey
          if (probe !== null && start <= FOREVER && probe()) return true
          const entry = map.size === 0 ? undefined : map.get(id)
          if (entry !== undefined && start <= entry.notBefore) return true
        }
        return false
      }
    },
    merge(given, now = pruneClock()) {
      const { kind, id } = given
      const entries = entriesOf(kind)
      const { table } = entries
      const entry = { kind, id, notBefore: toMoment(given.notBefore), until: toMoment(given.until) }
      const isForTable = table !== null && (entry.notBefore === FOREVER || table.has(id))
      if (!isForTable || !mergeIntoTable(table, entries, entry, now)) mergeIntoMap(entries, entry)
    },
    get size() {
      return kinds.reduce((sum, { map, table }) => sum + map.size + (table?.size ?? 0), 0)
    },
    *entries() {
      for (const { kind, map, table } of kinds) {
        for (const { change: _, ...entry } of map.values()) yield entry
        if (table === null) continue
        for (let part = 0; part < PARTS; part++) {
          for (const { id, until } of table.read(part)) yield { kind, id, notBefore: FOREVER, until }
        }
      }
    },
    watermarks() {
      return kinds.filter(({ kind }) => isWatermark(kind)).flatMap(({ map }) => [...map.values()])
    },
    sources: kinds.flatMap(toSources),
    sweep(writes) {
      const now = pruneClock()
      for (const { sweep, table } of kinds) {
        sweep(now, MAP_STEPS * writes)
        if (table !== null && table.size > 0) table.sweep(now, TABLE_STEPS * writes)
      }
    },
    *prune(limit) {
      let left = limit
      for (const { map, sweep, table } of kinds) {
        for (const dropped of pruneMap(map, sweep, pruneClock, left)) {
          left -= dropped
          yield dropped
        }
        if (table === null) continue
        for (let step = 0; step < SEGMENTS && left > 0; step++) {
          const dropped = table.prune(pruneClock(), left)
          left -= dropped
          yield dropped
        }
      }
    },
    clear() {
      for (const { map, table } of kinds) {
        map.clear()
        table?.clear()
      }
    },
  }
}

function createKindEntries(kind: RevocationKind, table: RevocationTable | null): KindEntries {
  const map = new Map<string, Entry>()
  return { kind, map, sweep: createSweeper(map), table }
}

function toSources({ kind, map, table }: KindEntries): Source[] {
  // By numbers of changes: what changes while somebody reads goes to the end.
  const readMap: Source = (place, most) => {
    const entries: Revocation[] = []
    let last = place
    for (const { change, ...entry } of map.values()) {
      if (change <= place) continue
      if (entries.length === most) return { entries, next: last }
      entries.push(entry)
      last = change
    }
    return { entries, next: null }
  }
  if (table === null) return [readMap]
  const readTable: Source = (place, most) => {
    const entries: Revocation[] = []
    let part = place
    for (; part < PARTS && entries.length < most; part++) {
      for (const { id, until } of table.read(part)) entries.push({ kind, id, notBefore: FOREVER, until })
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
