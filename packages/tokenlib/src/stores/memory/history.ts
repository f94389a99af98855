import { createId, systemRandom } from '../../tokens/ids.js'
import type { Revocation } from '../../revocation/revocation.js'
import type { FeedPage, Position } from '../../revocation/store.js'
import { type Clock, monotonicNow } from '../../time.js'
import { nextTurn } from '../../runtime.js'

/** Everything there is, for readers from the start: sources one after another, each read from place to place. */
export type Source = (place: number, most: number) => SourcePage

/** A part of a source. */
export interface SourcePage {
  readonly entries: readonly Revocation[]
  /** Where to go on, or `null` at the end. */
  readonly next: number | null
}

/** What has changed lately, and how readers follow it. */
export interface History {
  /** Remembers a change, and returns its number. */
  add(entry: Revocation): number
  /** The position that includes every change. */
  position(): Position
  read(after: Position | null): FeedPage
  clear(): void
}

const PAGE_SIZE = 1000
// A reader that is further behind reads from the start again.
const MAX_RECENT = 4096

interface Progress {
  /** The last change that the reader knows. */
  readonly change: number
  /** Where it is, as long as it still reads what was there before. */
  readonly source: number
  readonly place: number
}

/** A history with a random name. */
export function createHistory(sources: readonly Source[]): History {
  // Drawn when it is first needed: in Workers, no random bytes may be drawn while a module is loaded.
  let name: string | null = null
  const readName = (): string => (name ??= createId(systemRandom))
  // The change of number `n` is at `n % MAX_RECENT`.
  const recent: Revocation[] = []
  let changes = 0

  const toPosition = ({ change, source, place }: Progress): Position =>
    source === sources.length ? `${readName()}:${change}` : `${readName()}:${change}:${source}:${place}`

  const readPosition = (position: Position): Progress | null => {
    const match = POSITION.exec(position)
    if (match === null || match[1] !== name) return null
    const change = Number(match[2])
    const source = match[3] === undefined ? sources.length : Number(match[3])
    const isKnown = change <= changes && change >= changes - MAX_RECENT && source <= sources.length
    return isKnown ? { change, source, place: Number(match[4] ?? 0) } : null
  }

  // The changes first: a reader from the start is never further behind than from one page to the next, however long
  // it takes. What changed before it began is where it was, or is a change that it has not read yet.
  const readPage = ({ change, source, place }: Progress): FeedPage => {
    const entries: Revocation[] = []
    let at: Progress = { change: Math.min(changes, change + PAGE_SIZE), source, place }
    for (let number = change + 1; number <= at.change; number++) {
      entries.push(recent[number % MAX_RECENT] as Revocation)
    }
    while (entries.length < PAGE_SIZE && at.source < sources.length) {
      const page = (sources[at.source] as Source)(at.place, PAGE_SIZE - entries.length)
      for (const entry of page.entries) entries.push(entry)
      at = {
        change: at.change,
        source: page.next === null ? at.source + 1 : at.source,
        place: page.next ?? 0,
      }
    }
    const more = at.change < changes || at.source < sources.length
    return { entries, next: toPosition(at), more, reset: false, ageMs: 0 }
  }

  const start = (): Progress => ({ change: changes, source: 0, place: 0 })

  return {
    add(entry) {
      changes++
      recent[changes % MAX_RECENT] = entry
      return changes
    },
    position: () => toPosition({ change: changes, source: sources.length, place: 0 }),
    read(after) {
      const progress = after === null ? start() : readPosition(after)
      if (progress !== null) return readPage(progress)
      return { entries: [], next: toPosition(start()), more: false, reset: true, ageMs: 0 }
    },
    clear() {
      recent.length = 0
    },
  }
}

const POSITION = /^([\w-]+):(\d{1,15})(?::(\d{1,15}):(\d{1,15}))?$/

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

// Of the event loop, in milliseconds.
const MAX_BLOCKING_MS = 2

/** Goes through steps of work and adds up what they tell; every few milliseconds, others have their turn. */
export async function runWithPauses(steps: Iterable<number>): Promise<number> {
  let sum = 0
  let startedAt = monotonicNow()
  for (const step of steps) {
    sum += step
    if (monotonicNow() - startedAt < MAX_BLOCKING_MS) continue
    await nextTurn()
    startedAt = monotonicNow()
  }
  return sum
}
