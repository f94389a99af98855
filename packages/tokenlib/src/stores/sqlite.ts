import { ConfigurationError } from '../errors.js'
import { anyText, callable, type OptionKinds, parseOptions, clockKind } from '../options.js'
import { isRevokedBy } from '../revocation/revocation.js'
import { defineStore, type RevocationStore } from '../revocation/store.js'
import { createLossReporter } from './loss-reporter.js'
import { pollFeed } from './store-parts.js'
import { withOrigin } from './store-origin.js'
import { emitWarning, nextTurn, startTimer } from '../runtime.js'
import {
  type Clock,
  createCautiousClock,
  createCheckedClock,
  type Scheduler,
  schedulerOf,
  systemClock,
  type Timer,
} from '../time.js'
import {
  assertLocal,
  configure,
  createConnection,
  isReadOnly,
  readPath,
  retryWhileBusy,
  type SqliteDatabase,
} from './sqlite/database.js'
import { createLocalStore } from './local-store.js'
import { NOTHING_SEEN } from './sqlite/history.js'
import {
  createOperations,
  type OperationOptions,
  type Operations,
  prepareTables,
} from './sqlite/operations.js'
import { createTrustedTime, PRUNE_BATCH } from './sqlite/pruner.js'
import { type Tables, toTables } from './sqlite/tables.js'
import { createListeners, createPruneTurns, type Listeners } from './store-parts.js'

export { inspectSqlite, type SqliteDatabase, type SqliteInspection } from './sqlite/database.js'
export type { SqliteStatement, SqliteValue, Tables as SqliteTables } from './sqlite/tables.js'

/** How a SQLite store behaves. */
export interface SqliteStoreOptions {
  readonly clock?: Clock
  /** Called with warnings; by default `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
  /** What the names of its tables begin with; `tokenlib_` by default. */
  readonly prefix?: string
}

const OPTIONS: OptionKinds<SqliteStoreOptions> = {
  clock: clockKind,
  onWarning: callable(),
  prefix: anyText,
}

/**
 * Creates a store in a SQLite file, for all processes of one machine.
 *
 * Use the handle for the store only: while other code has a transaction or an unfinished iteration on it, checks would
 * see old data. The store sets WAL mode with full durability, and never closes the handle.
 *
 * @example
 * import { DatabaseSync } from 'node:sqlite'
 * const store = createSqliteStore(new DatabaseSync('/var/lib/app/tokens.db'))
 */
export function createSqliteStore(
  database: SqliteDatabase,
  options: SqliteStoreOptions = {},
): RevocationStore {
  const parsed = parseOptions('createSqliteStore()', options, OPTIONS)
  const { clock = systemClock, prefix = 'tokenlib_', onWarning = emitWarning } = parsed
  if (typeof database?.exec !== 'function' || typeof database.prepare !== 'function') {
    throw new ConfigurationError(
      'createSqliteStore needs an open database, not its path: createSqliteStore(new DatabaseSync(path))',
    )
  }
  const tables = toTables(prefix)
  const losses = createLossReporter('SQLite', onWarning)
  const scheduler = schedulerOf(clock)
  const turns = createPruneTurns(PRUNE_BATCH, scheduler)
  let opened: Operations | null = null
  let isClosed = false

  const use = (): Operations => {
    if (opened === null) throw new Error('The SQLite store is used before its prepare() has resolved')
    return opened
  }

  // Runs after the caller is done. The clock was right at the write, and may be wrong by then.
  const pruneLater = async (limit: number): Promise<number> => {
    const writtenAt = clock()
    await nextTurn()
    return isClosed ? 0 : use().prune(limit, writtenAt)
  }

  const readVersion = (): string => use().history.readVersion()
  const watchers = createWatchers(readVersion, scheduler)
  const local = createLocalStore({
    read: (work) => use().history.read(work).value,
    async write(work) {
      const { history } = use()
      const before = history.readPosition()
      const result = await history.write(work)
      if (history.readPosition() !== before) watchers.call()
      void turns.run(pruneLater)
      return result
    },
  })

  const store = defineStore<RevocationStore>({
    system: 'sqlite',
    async prepare(needs) {
      losses.listen(needs)
      if (opened === null) {
        const open = (): Operations => openDatabase(database, tables, { clock, onWarning, losses })
        const ready = await retryWhileBusy(open, scheduler)
        // Another call may have been faster, and what the first one has seen must not be forgotten.
        opened ??= ready
      }
      await opened.history.raiseLongestLifetime(needs.longestLifetime)
    },
    ...local,
    lookup: async (keys) => use().lookup(keys),
    isRevokedNow: (keys, start) => isRevokedBy(use().lookup(keys), start),
    async feed(after, wait) {
      const { readFeed } = use()
      return pollFeed(() => readFeed(after), wait, scheduler)
    },
    watch: watchers.add,
    readVersion,
    async spend(id, keepMs) {
      const isFirst = await use().spend(id, keepMs)
      void turns.run(pruneLater)
      return isFirst
    },
    prune: async (limit) => use().prune(limit),
    async close() {
      isClosed = true
      turns.stop()
      watchers.clear()
    },
  })
  return withOrigin(store, { kind: 'sqlite', client: database, namespace: prefix })
}

interface OpenOptions extends Pick<OperationOptions, 'losses'> {
  readonly clock: Clock
  readonly onWarning: (message: string) => void
}

/** Makes a database ready: its settings, its tables, and every statement that will be needed. */
function openDatabase(
  handle: SqliteDatabase,
  tables: Tables,
  { clock, onWarning, ...options }: OpenOptions,
): Operations {
  const path = readPath(handle)
  if (path === null) onWarning(IN_MEMORY)
  else assertLocal(path)
  try {
    configure(handle, path !== null)
    prepareTables(createConnection(handle, null, schedulerOf(clock)), tables)
  } catch (cause) {
    if (!isReadOnly(cause)) throw cause
    throw new ConfigurationError(
      'The SQLite store cannot write to its database: open it for writing, and let this user write the file and its folder',
      { cause },
    )
  }
  // After the first write, which creates the WAL that is checked.
  const database = createConnection(handle, path, schedulerOf(clock))
  return createOperations(database, tables, {
    ...options,
    now: createCheckedClock(clock),
    seen: NOTHING_SEEN,
    pruneClock: createCautiousClock(clock),
    // A bare function is somebody's own time, and may run as it likes.
    trust: clock.scheduler === undefined ? (at) => at : createTrustedTime(database, tables, false),
  })
}

const IN_MEMORY =
  'The SQLite store was given a database in memory: other processes never see its revocations, and a restart ' +
  'forgets them. Open a file instead'

const WATCH_INTERVAL_MS = 25

/** Looks at a version every few milliseconds while somebody watches: SQLite tells nobody of a commit. */
function createWatchers(readVersion: () => string, scheduler: Scheduler): Listeners<[]> {
  const listeners = createListeners<[]>()
  let timer: Timer | undefined
  let known: string | null = null

  const lookLater = (): void => {
    timer = startTimer(scheduler, look, WATCH_INTERVAL_MS)
  }

  const look = (): void => {
    lookLater()
    try {
      const version = readVersion()
      if (version === known) return
      known = version
    } catch {
      // The handle or the file is gone, or busy: the next call of the store says why.
      return
    }
    listeners.call()
  }

  return {
    ...listeners,
    add(listener) {
      if (listeners.size() === 0) lookLater()
      const remove = listeners.add(listener)
      return () => {
        remove()
        if (listeners.size() === 0) scheduler.clearTimeout(timer)
      }
    },
    clear() {
      listeners.clear()
      scheduler.clearTimeout(timer)
    },
  }
}
