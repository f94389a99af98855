import { ConfigurationError } from '../errors.js'
import { assertOptions, type OptionNames } from '../options.js'
import { pollFeed } from './store-parts.js'
import { addDuration, type Revocation } from '../revocation/revocation.js'
import { defineStore, type FeedPage, type Position, type RevocationStore } from '../revocation/store.js'
import { createId, systemRandom } from '../tokens/ids.js'
import { type Clock, createCautiousClock, systemClock } from '../time.js'
import { nextTurn } from '../runtime.js'
import { createRevocationCopy, type Source } from './memory/revocations.js'
import { createMemorySessions } from './memory/sessions.js'
import {
  createListeners,
  followSessions,
  type LateSessions,
  runWithPauses,
  toResetPage,
  type WritableData,
  writeBatch,
  writeClaim,
  writeRestored,
} from './store-parts.js'

/** How a memory store behaves. */
export interface MemoryStoreOptions {
  /** Accept that a restart forgets every revocation, and that other processes never see one. */
  readonly allowInProduction?: boolean
  readonly clock?: Clock
}

const OPTIONS: OptionNames<MemoryStoreOptions> = { allowInProduction: true, clock: true }

/**
 * A store in the memory of this process: for tests, for development, and where one process is all there is.
 *
 * It holds what is alive, and a little more: every write also looks at a few old revocations and drops what has ended.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): RevocationStore {
  assertOptions('createMemoryStore()', options, OPTIONS)
  if (process.env['NODE_ENV'] === 'production' && options.allowInProduction !== true) {
    throw new ConfigurationError(
      'The memory store forgets every revocation when the process ends. In production use tokenlib/sqlite, ' +
        'redis or postgres; or createMemoryStore({ allowInProduction: true })',
    )
  }
  const now = options.clock ?? systemClock
  const pruneClock = createCautiousClock(now)
  const revocations = createRevocationCopy(pruneClock, (entry) => history.add(entry))
  const history = createHistory(revocations.sources)
  let longestLifetime = 0
  let isClosed = false

  // What was forgotten must not be answered with "not revoked".
  const assertOpen = (): void => {
    if (isClosed) throw new Error('The memory store is closed')
  }

  const listeners = createListeners<[]>()
  const sessions = createMemorySessions({ revocations, now, pruneClock, assertOpen })

  const data: WritableData = {
    get now() {
      return now()
    },
    get longestLifetime() {
      return longestLifetime
    },
    merge: (entry) => revocations.merge(entry),
    find: ({ kind, id }) => revocations.find(kind, id),
    readUntil: sessions.readUntil,
    removeRevoked: ({ id }) => sessions.removeRevoked(id),
    readNewestStart: sessions.readNewestStart,
    revokeSome: sessions.revokeSome,
  }

  // What started later than a watermark reaches, a few at a time.
  const revokeLate = async (late: LateSessions): Promise<void> => {
    while (sessions.revokeSome(late)) {
      listeners.call()
      await nextTurn()
      assertOpen()
    }
  }

  return defineStore({
    system: 'memory',
    async prepare(needs) {
      assertOpen()
      if (needs.longestLifetime <= longestLifetime) return
      longestLifetime = needs.longestLifetime
      for (const entry of revocations.watermarks()) {
        revocations.merge({ ...entry, until: addDuration(entry.notBefore, longestLifetime) })
      }
    },
    async revoke(batch) {
      assertOpen()
      sessions.sweep(Math.max(1, batch.length))
      const written = writeBatch(batch, data)
      for (const late of written.late) await revokeLate(late)
      listeners.call()
      return { position: history.position(), now: written.now }
    },
    async claim(batch) {
      assertOpen()
      sessions.sweep(batch.length)
      const isFirst = writeClaim(batch, data)
      if (isFirst) listeners.call()
      return { isFirst, position: history.position() }
    },
    async lookup(keys) {
      assertOpen()
      return keys.map(({ kind, id }) => revocations.find(kind, id))
    },
    createLookup(keys, start) {
      const isRevoked = revocations.createLookup(keys, start)
      return () => {
        assertOpen()
        return isRevoked()
      }
    },
    feed: (after, wait) =>
      pollFeed(() => {
        assertOpen()
        return history.read(after)
      }, wait),
    async restore(batch) {
      assertOpen()
      writeRestored(batch, data)
      listeners.call()
    },
    watch: listeners.add,
    async prune(limit) {
      const dropped = await runWithPauses(revocations.prune(limit))
      return dropped + (await runWithPauses(sessions.prune(limit)))
    },
    sessions: followSessions(sessions.store, listeners.call),
    async close() {
      isClosed = true
      history.clear()
      revocations.clear()
      sessions.clear()
    },
  })
}

/** What has changed lately, and how readers follow it. */
interface History {
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
function createHistory(sources: readonly Source[]): History {
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
      return toResetPage(toPosition(start()))
    },
    clear() {
      recent.length = 0
    },
  }
}

const POSITION = /^([\w-]+):(\d{1,15})(?::(\d{1,15}):(\d{1,15}))?$/
