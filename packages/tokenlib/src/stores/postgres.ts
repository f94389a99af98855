import { anyText, callable, flag, type OptionKinds, parseOptions, clockKind } from '../options.js'
import { isWatermark, type Revocation } from '../revocation/revocation.js'
import { assertSpendable } from '../revocation/spent-ids.js'
import { defineStore, type FeedPage, type Position, type RevocationStore } from '../revocation/store.js'
import { callQuietly, createLossReporter } from './loss-reporter.js'
import { createPruneTurns, pollFeed, readClock, toMilliseconds, toPage, toResetPage } from './store-parts.js'
import { withOrigin } from './store-origin.js'
import { emitWarning } from '../runtime.js'
import { type Clock, createCautiousClock, schedulerOf, systemClock } from '../time.js'
import {
  type PostgresClient,
  readWatch,
  toChannel,
  toDatabase,
  withoutFailedNotify,
  withoutNotify,
} from './postgres/client.js'
import {
  createHistory,
  createHistoryStatements,
  type History,
  type HistoryAnswer,
} from './postgres/history.js'
import { createSessionStatements } from './postgres/session-statements.js'
import { createPostgresSessions } from './postgres/sessions.js'
import { createRevocationStatements, PAGE_SIZE } from './postgres/statements.js'
import {
  assertUsable,
  migrationSql,
  TABLE_OPTIONS,
  type TableOptions,
  toMigration,
  toTables,
} from './postgres/tables.js'

export { migrationSql }
export { inspectPostgres, type PostgresInspection } from './postgres/inspect.js'
export type {
  Database as PostgresDatabase,
  NamedStatement,
  PgClient,
  PostgresClient,
  PostgresJsClient,
  Value,
} from './postgres/client.js'
export type { TableOptions } from './postgres/tables.js'

/** How a PostgreSQL store behaves. */
export interface PostgresStoreOptions extends TableOptions {
  /** Keeps applications that share the tables apart; empty by default. */
  readonly namespace?: string
  /** Accept a server whose settings let a crash lose acknowledged writes. */
  readonly allowVolatile?: boolean
  /**
   * Names the statements for `pg`, so that the server plans each of them once per connection. Off by default, because a
   * pooler in transaction mode must support named statements (PgBouncer 1.21 or later). `postgres` has its own setting,
   * `prepare`.
   */
  readonly namedStatements?: boolean
  /** Replaces the clock of the server, for tests. */
  readonly clock?: Clock
  /** Called when the store finds its data lost; by default `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
}

const OPTIONS: OptionKinds<PostgresStoreOptions> = {
  ...TABLE_OPTIONS,
  namespace: anyText,
  allowVolatile: flag,
  namedStatements: flag,
  clock: clockKind,
  onWarning: callable(),
}

/** A store in PostgreSQL. */
export interface PostgresStore extends RevocationStore {
  /** Creates the tables or brings them up to date. Every process may call it at every start. */
  migrate(): Promise<void>
}

/** The position after a write is its branch and its count of changes. */
interface BranchAnswer extends HistoryAnswer {
  readonly branch: string
}

interface RevokeAnswer extends BranchAnswer {
  readonly now: number
  /** How many sessions it removed. */
  readonly removed: number
}

interface ClaimAnswer extends BranchAnswer {
  readonly isFirst: boolean
}

interface FeedAnswer extends BranchAnswer {
  readonly entries: readonly (Revocation & { readonly change: number })[]
}

interface LookupAnswer extends HistoryAnswer {
  readonly found: readonly (number | null)[] | null
}

/**
 * Creates a store in PostgreSQL 13 or later, shared by every process that is connected to the same primary.
 *
 * The client stays yours: the store never closes it. Each call is a single statement and needs no session state, so you
 * can use a pooler such as PgBouncer.
 */
export function createPostgresStore(
  client: PostgresClient,
  options: PostgresStoreOptions = {},
): PostgresStore {
  const parsed = parseOptions('createPostgresStore()', options, OPTIONS)
  const { namespace = '', clock, allowVolatile = false, namedStatements = false } = parsed
  const tables = toTables(parsed)
  const channel = toChannel(tables, namespace)
  const database = withoutFailedNotify(toDatabase(client, namedStatements), channel)
  const scheduler = schedulerOf(clock ?? systemClock)
  const watch = readWatch(client, scheduler)
  const watches = new Set<() => void>()
  const statements = createRevocationStatements(tables, channel)
  const losses = createLossReporter('PostgreSQL', parsed.onWarning ?? emitWarning)
  const { lookup } = statements
  const history = createHistory(
    database,
    { ...createHistoryStatements(tables, channel), lookup },
    { namespace, clock, losses },
  )
  const pruneClock = createCautiousClock(clock ?? systemClock)
  const turns = createPruneTurns(PRUNE_BATCH, scheduler, PRUNE_DELAY_MS)

  const chooseRevoke = (batch: readonly Revocation[]): string => {
    // Nobody has to be woken for nothing.
    if (batch.length === 0) return withoutNotify(statements.revoke, channel)
    return batch.some(({ kind }) => isWatermark(kind)) ? statements.revokeBefore : statements.revoke
  }

  const revoke = async (batch: readonly Revocation[]) => {
    const values = [readClock(clock), ...toBatch(batch)]
    const answer = await history.query<RevokeAnswer>(chooseRevoke(batch), values)
    afterWrite()
    return answer
  }

  const prune = async (limit: number): Promise<number> => {
    const lock = `${tables.heads} ${namespace}`
    const values = [namespace, readClock(clock), toMilliseconds(pruneClock()), limit, lock]
    return (await database.query<number>(statements.prune, values)) ?? 0
  }

  const afterWrite = (): void => void turns.run(prune)

  const store = defineStore({
    system: 'postgresql',
    async prepare(needs) {
      losses.listen(needs)
      await assertUsable(database, tables, { allowVolatile })
      await history.enter(toMilliseconds(needs.longestLifetime))
    },
    async revoke(batch) {
      const { branch, changes, now } = await revoke(batch)
      return { position: `${branch}:${changes}`, now }
    },
    async claim(batch) {
      const answer = await history.query<ClaimAnswer>(statements.claim, toBatch(batch))
      const { branch, changes, isFirst } = answer
      if (isFirst) afterWrite()
      return { isFirst, position: `${branch}:${changes}` }
    },
    async lookup(keys) {
      const pairs = JSON.stringify(keys.map(({ kind, id }) => [kind, id]))
      const { found } = await history.query<LookupAnswer>(lookup, [pairs])
      return keys.map((_, at) => found?.[at] ?? undefined)
    },
    feed: (after, wait) => pollFeed(() => readFeed(history, statements.feed, after), wait, scheduler),
    async restore(batch) {
      await history.query<HistoryAnswer>(statements.restore, toBatch(batch))
      afterWrite()
    },
    ...(watch !== null && {
      watch(listener: () => void) {
        const stop = watch(channel, () => callQuietly(listener))
        watches.add(stop)
        return () => {
          if (watches.delete(stop)) stop()
        }
      },
    }),
    async spend(id, keepMs) {
      assertSpendable(id, keepMs)
      const answer = await database.query<boolean>(statements.spend, [
        namespace,
        id,
        keepMs,
        readClock(clock),
      ])
      if (answer === null) throw new Error('The PostgreSQL server gave no answer')
      afterWrite()
      return answer
    },
    prune,
    sessions: createPostgresSessions(history, createSessionStatements(tables, channel), {
      clock,
      revoke: async (batch) => (await revoke(batch)).removed,
      afterWrite,
    }),
    async close() {
      turns.stop()
      for (const stop of watches) stop()
      watches.clear()
    },
  })

  const migrate = async (): Promise<void> => void (await database.query(toMigration(tables), []))
  return withOrigin({ ...store, migrate }, { kind: 'postgres', client, namespace, tables: options })
}

// A process that starts has something else to do.
const PRUNE_DELAY_MS = 60_000
const PRUNE_BATCH = 10_000

/** The values of a statement that takes a batch: its entries, and how many they are. */
function toBatch(batch: readonly Revocation[]): [entries: string, count: number] {
  const entries = mergeByKey(batch).map(({ kind, id, notBefore, until }, at) => ({
    at,
    kind,
    id,
    not_before: toMilliseconds(notBefore),
    until: toMilliseconds(until),
  }))
  return [JSON.stringify(entries), entries.length]
}

/** A statement cannot change one row twice, so entries of one key are merged before. */
function mergeByKey(batch: readonly Revocation[]): Revocation[] {
  const merged = new Map<string, Revocation>()
  for (const entry of batch) {
    const key = `${entry.kind}:${entry.id}`
    const { notBefore, until } = merged.get(key) ?? entry
    merged.set(key, {
      ...entry,
      notBefore: Math.max(notBefore, entry.notBefore),
      until: Math.max(until, entry.until),
    })
  }
  return [...merged.values()]
}

// Reads one page of the feed.
async function readFeed(history: History, statement: string, after: Position | null): Promise<FeedPage> {
  const [branchBefore, start] = after === null ? [null, 0] : readPosition(after)
  const { branch, changes, entries } = await history.query<FeedAnswer>(statement, [start])
  const isThisBranch = after === null || (branchBefore === branch && start <= changes)
  if (!isThisBranch) return toResetPage(`${branch}:0`)
  const more = entries.length === PAGE_SIZE
  const change = more ? (entries.at(-1)?.change ?? start) : changes
  const page = entries.map(({ change: _change, ...entry }) => entry)
  return toPage(page, `${branch}:${change}`, more)
}

// An invalid position is treated like a position in a lost history.
function readPosition(position: Position): readonly [branch: string, change: number] {
  const [, branch = '', change = 0] = /^(.+):(\d{1,16})$/.exec(position) ?? []
  return [branch, Number(change)]
}
