import { ConfigurationError } from '../errors.js'
import { flag, type OptionKinds, parseOptions, clockKind } from '../options.js'
import { pollFeed } from './store-parts.js'
import { addDuration, type Revocation } from '../revocation/revocation.js'
import { defineStore, type FeedPage, type Position, type RevocationStore } from '../revocation/store.js'
import { createId, systemRandom } from '../tokens/ids.js'
import { type Clock, createCautiousClock, schedulerOf, systemClock } from '../time.js'
import type { Rows } from './local-rows.js'
import { createLocalStore } from './local-store.js'
import { createRevocationCopy, type Source } from './memory/revocations.js'
import { createMemorySessions } from './memory/sessions.js'
import { createSpentIds } from './memory/spent.js'
import { createListeners, runWithPauses, toPage, toResetPage } from './store-parts.js'

/** How a memory store behaves. */
export interface MemoryStoreOptions {
  /** Accept that a restart forgets every revocation, and that other processes never see one. */
  readonly allowInProduction?: boolean
  readonly clock?: Clock
}

const OPTIONS: OptionKinds<MemoryStoreOptions> = { allowInProduction: flag, clock: clockKind }

/**
 * Creates a store in the memory of this process: for tests and development.
 *
 * It holds live entries and a few expired ones: every write also checks a few old revocations and drops expired ones.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): RevocationStore {
  const { allowInProduction = false, clock = systemClock } = parseOptions(
    'createMemoryStore()',
    options,
    OPTIONS,
  )
  if (process.env['NODE_ENV'] === 'production' && !allowInProduction) {
    throw new ConfigurationError(
      'The memory store forgets every revocation when the process ends. In production use tokenlib/sqlite, ' +
        'redis or postgres; or createMemoryStore({ allowInProduction: true })',
    )
  }
  const scheduler = schedulerOf(clock)
  const pruneClock = createCautiousClock(clock)
  const revocations = createRevocationCopy('The memory store', pruneClock, (entry) => history.add(entry))
  const history = createHistory((place, most) => revocations.read(place, most))
  const { find, assertOpen } = revocations
  const sessions = createMemorySessions(find, clock, pruneClock)
  const spent = createSpentIds(pruneClock)
  const listeners = createListeners<[]>()
  const rows: Rows & { now: number; longestLifetime: number } = {
    ...sessions,
    find,
    merge: (entry) => revocations.merge(entry),
    position: history.position,
    touch() {},
    now: 0,
    longestLifetime: 0,
  }

  const run = <T>(work: (rows: Rows) => T): T => {
    assertOpen()
    rows.now = clock()
    return work(rows)
  }

  const local = createLocalStore({
    read: run,
    async write(work, entries = 1) {
      assertOpen()
      const writes = Math.max(1, entries)
      revocations.sweep(writes)
      sessions.sweep(writes)
      const before = history.changes
      const result = run(work)
      if (history.changes > before) listeners.call()
      return result
    },
  })

  return defineStore({
    system: 'memory',
    async prepare({ longestLifetime }) {
      assertOpen()
      if (longestLifetime <= rows.longestLifetime) return
      rows.longestLifetime = longestLifetime
      for (const entry of revocations.watermarks()) {
        revocations.merge({ ...entry, until: addDuration(entry.notBefore, longestLifetime) })
      }
    },
    ...local,
    async lookup(keys) {
      assertOpen()
      return keys.map(({ kind, id }) => find(kind, id))
    },
    isRevokedNow: revocations.isRevokedNow,
    feed: (after, wait) =>
      pollFeed(
        () => {
          assertOpen()
          return history.read(after)
        },
        wait,
        scheduler,
      ),
    watch: listeners.add,
    async spend(id, keepMs) {
      assertOpen()
      return spent.spend(id, keepMs)
    },
    async prune(limit) {
      let dropped = 0
      for (const part of [revocations, sessions, spent]) {
        dropped += await runWithPauses(part.prune(limit), scheduler)
      }
      return dropped
    },
    async close() {
      revocations.close()
      sessions.clear()
      spent.clear()
      history.clear()
    },
  })
}

/** What has changed lately, and how readers follow it. */
interface History {
  readonly changes: number
  /** Remembers a change, and returns its number. */
  add(entry: Revocation): number
  /** The position that includes every change. */
  readonly position: () => Position
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
  readonly place: number | null
}

/** A history with a random name. */
function createHistory(readAll: Source): History {
  // Drawn when it is first needed: in Workers, no random bytes may be drawn while a module is loaded.
  let name: string | null = null
  // The change of number `n` is at `n % MAX_RECENT`.
  const recent: Revocation[] = []
  let changes = 0

  const toPosition = ({ change, place }: Progress): Position => {
    name ??= createId(systemRandom)
    return place === null ? `${name}:${change}` : `${name}:${change}/${place}`
  }

  const readPosition = (position: Position): Progress | null => {
    const match = POSITION.exec(position)
    if (match === null || match[1] !== name) return null
    const change = Number(match[2])
    const isKnown = change <= changes && change >= changes - MAX_RECENT
    return isKnown ? { change, place: match[3] === undefined ? null : Number(match[3]) } : null
  }

  // The changes first: a reader from the start is never further behind than from one page to the next, however long
  // it takes. What changed before it began is where it was, or is a change that it has not read yet.
  const readPage = (from: Progress): FeedPage => {
    const entries: Revocation[] = []
    const change = Math.min(changes, from.change + PAGE_SIZE)
    for (let number = from.change + 1; number <= change; number++) {
      entries.push(recent[number % MAX_RECENT] as Revocation)
    }
    let { place } = from
    while (entries.length < PAGE_SIZE && place !== null) {
      const page = readAll(place, PAGE_SIZE - entries.length)
      for (const entry of page.entries) entries.push(entry)
      place = page.next
    }
    return toPage(entries, toPosition({ change, place }), change < changes || place !== null)
  }

  return {
    get changes() {
      return changes
    },
    add(entry) {
      changes++
      recent[changes % MAX_RECENT] = entry
      return changes
    },
    position: () => toPosition({ change: changes, place: null }),
    read(after) {
      const start = { change: changes, place: 0 }
      const progress = after === null ? start : readPosition(after)
      return progress === null ? toResetPage(toPosition(start)) : readPage(progress)
    },
    clear() {
      recent.length = 0
    },
  }
}

const POSITION = /^([\w-]+):(\d{1,15})(?:\/(\d{1,16}))?$/
