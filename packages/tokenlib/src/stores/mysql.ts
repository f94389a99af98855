import { ConfigurationError } from '../errors.js'
import { anyText, callable, clockKind, flag, type OptionKinds, parseOptions } from '../options.js'
import { assertSpendable } from '../revocation/spent-ids.js'
import { toStoredId } from '../revocation/revocation.js'
import { defineStore, type RevocationStore } from '../revocation/store.js'
import { emitWarning } from '../runtime.js'
import { type Clock, schedulerOf, systemClock } from '../time.js'
import { createLossReporter } from './loss-reporter.js'
import { assertUsable, type Server } from './mysql/check-server.js'
import { type MysqlClient, toDatabase, toTextOrNull } from './mysql/client.js'
import { createHistory, type History } from './mysql/history.js'
import { createHousekeeping, type Housekeeping } from './mysql/housekeeping.js'
import { createRevocations, type Revocations } from './mysql/revocations.js'
import { createMysqlSessions } from './mysql/sessions.js'
import {
  migrationSql,
  TABLE_OPTIONS,
  type TableOptions,
  type Tables,
  toMigration,
  toTables,
} from './mysql/tables.js'
import type { SessionStore } from '../revocation/session-store.js'
import { withOrigin } from './store-origin.js'
import { createPruneTurns, pollFeed, toMilliseconds } from './store-parts.js'

export { migrationSql }
export { inspectMysql, type MysqlInspection } from './mysql/inspect.js'
export type {
  MysqlCallbackPool,
  MysqlClient,
  MysqlConnection,
  MysqlPool,
  MysqlStatement,
  Value,
} from './mysql/client.js'
export type { TableOptions } from './mysql/tables.js'

/** How a MySQL store behaves. */
export interface MysqlStoreOptions extends TableOptions {
  /** Keeps applications that share the tables apart; empty by default. */
  readonly namespace?: string
  /** Accept a server whose settings let a crash lose acknowledged writes. */
  readonly allowVolatile?: boolean
  /** Replaces the clock of the server, for tests. */
  readonly clock?: Clock
  /** Called when the store finds its data lost; by default `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
}

const OPTIONS: OptionKinds<MysqlStoreOptions> = {
  ...TABLE_OPTIONS,
  namespace: anyText,
  allowVolatile: flag,
  clock: clockKind,
  onWarning: callable(),
}

/** A store in MySQL or MariaDB. */
export interface MysqlStore extends RevocationStore {
  /** Creates the tables or brings them up to date. Every process may call it at every start. */
  migrate(): Promise<void>
}

interface Operations extends Housekeeping {
  readonly history: History
  readonly revocations: Revocations
  readonly sessions: Required<SessionStore>
}

/**
 * Creates a store in MySQL 8.0 or MariaDB 10.6 or later, shared by every process that is connected to the same primary.
 *
 * The pool stays yours: the store never closes it. It begins with a rollback, whatever other code has left on a
 * connection.
 */
export function createMysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): MysqlStore {
  const parsed = parseOptions('createMysqlStore()', options, OPTIONS)
  const { clock, allowVolatile = false } = parsed
  // A key has room for 255 bytes, and texts are compared as bytes.
  const namespace = toStoredId(parsed.namespace ?? '')
  const scheduler = schedulerOf(clock ?? systemClock)
  const database = toDatabase(client, scheduler)
  const losses = createLossReporter('MySQL', parsed.onWarning ?? emitWarning)
  const turns = createPruneTurns(PRUNE_BATCH, scheduler, PRUNE_DELAY_MS)
  let opened: Operations | null = null
  let tables: Tables | null = parsed.database === undefined ? null : toTables(parsed)
  toTables(parsed)

  // Once, and then by its name: somebody may say `use` on a connection later.
  const findTables = async (): Promise<Tables> => {
    if (tables !== null) return tables
    const [row] = await database.use((session) => session.read('select database()', []))
    const name = toTextOrNull(row?.[0])
    if (name === null) {
      throw new ConfigurationError(
        'The pool has no database: set one in the options of the pool or of the store',
      )
    }
    tables ??= toTables({ ...parsed, database: name })
    return tables
  }

  const open = (found: Tables, server: Server): Operations => {
    const history = createHistory(database, found, { namespace, clock, scheduler, losses, server })
    const revocations = createRevocations(history, found, namespace)
    const end: Revocations['end'] = (batch) => written(revocations.end(batch))
    const housekeeping = createHousekeeping(database, found, {
      namespace,
      clock,
      trusted: clock ?? systemClock,
      server,
    })
    const sessions = createMysqlSessions(history, found, { namespace, end, afterWrite })
    return { ...housekeeping, history, revocations, sessions }
  }

  const use = (): Operations => {
    if (opened === null) throw new Error('The MySQL store is used before its prepare() has resolved')
    return opened
  }

  const prune = async (limit: number): Promise<number> => use().prune(limit)
  const afterWrite = (): void => void turns.run(prune)

  const written = async <Result>(writing: Promise<Result>): Promise<Result> => {
    const result = await writing
    afterWrite()
    return result
  }

  const store = defineStore<RevocationStore>({
    system: 'mysql',
    async prepare(needs) {
      losses.listen(needs)
      const found = await findTables()
      const server = await assertUsable(database, found, { allowVolatile })
      opened ??= open(found, server)
      await opened.history.enter(toMilliseconds(needs.longestLifetime))
    },
    revoke: async (batch) => written(use().revocations.revoke(batch)),
    async claim(batch) {
      const claimed = await use().revocations.claim(batch)
      if (claimed.isFirst) afterWrite()
      return claimed
    },
    lookup: async (keys) => use().revocations.lookup(keys),
    async feed(after, wait) {
      const { readFeed } = use().revocations
      return pollFeed(() => readFeed(after), wait, scheduler)
    },
    restore: async (batch) => written(use().revocations.restore(batch)),
    async spend(id, keepMs) {
      assertSpendable(id, keepMs)
      return written(use().spend(id, keepMs))
    },
    prune,
    sessions: {
      open: async (session) => use().sessions.open(session),
      openLimited: async (session, limit, opening) => use().sessions.openLimited(session, limit, opening),
      rotate: async (sid, token, rules) => use().sessions.rotate(sid, token, rules),
      present: async (sid, token, rules) => use().sessions.present(sid, token, rules),
      list: async (user, list) => use().sessions.list(user, list),
      get: async (sid, rules) => use().sessions.get(sid, rules),
      writeData: async (sid, data, before) => use().sessions.writeData(sid, data, before),
    },
    async close() {
      turns.stop()
    },
  })

  const migrate = async (): Promise<void> => {
    const statements = toMigration(await findTables())
    await database.use(async (session) => {
      for (const statement of statements) await session.write(statement, [])
    })
  }
  const origin = { kind: 'mysql', client, namespace: parsed.namespace ?? '', tables: options } as const
  return withOrigin({ ...store, migrate }, origin)
}

// A process that starts has something else to do.
const PRUNE_DELAY_MS = 60_000
const PRUNE_BATCH = 5000
