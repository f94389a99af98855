import { ConfigurationError } from '../../errors.js'
import { type OptionKinds, parseOptions, clockKind } from '../../options.js'
import type { SessionStore } from '../../revocation/session-store.js'
import type { FeedPage, Position, RevocationStore } from '../../revocation/store.js'
import { type Clock, createCautiousClock, createCheckedClock, schedulerOf, systemClock } from '../../time.js'
import { createLocalStore } from '../local-store.js'
import type { Endings, Seen } from '../sqlite/history.js'
import {
  createOperations,
  type OperationOptions,
  type Operations,
  prepareTables,
} from '../sqlite/operations.js'
import { createTrustedTime, PRUNE_BATCH } from '../sqlite/pruner.js'
import { type Connection, type SqliteValue, type Tables, toTables } from '../sqlite/tables.js'
import { createPruneTurns } from '../store-parts.js'

/** What the store needs of the state of a Durable Object. */
export interface DurableObjectContext {
  readonly id: { toString(): string }
  readonly storage: {
    readonly sql: { exec(sql: string, ...values: SqliteValue[]): { toArray(): unknown[] } }
    transactionSync<T>(work: () => T): T
  }
}

/** What a subclass of `TokenStoreObject` may change. */
export interface TokenStoreObjectOptions {
  /** By default the clock of the machine that the object runs on. */
  readonly clock?: Clock
}

const OPTIONS: OptionKinds<TokenStoreObjectOptions> = { clock: clockKind }

/**
 * The Durable Object that has the data of a store; export it from the Worker, and list it in `new_sqlite_classes`.
 *
 * A plain class with a `fetch` method: one that takes calls by RPC has to extend a class of `cloudflare:workers`, a module
 * that no other runtime has.
 */
export class TokenStoreObject {
  /** Tells the types of Cloudflare that this is the class of a Durable Object. */
  declare readonly __DURABLE_OBJECT_BRAND: never
  readonly #answer: (call: StoreCall) => Promise<StoreAnswer>
  readonly #id: string

  /** Called by the runtime, with two arguments. */
  constructor(context: DurableObjectContext, _env?: unknown, options: TokenStoreObjectOptions = {}) {
    const { clock = systemClock } = parseOptions('TokenStoreObject', options, OPTIONS)
    this.#id = context.id.toString()
    this.#answer = createAnswerer(createStorageConnection(context), clock)
  }

  /** Answers the calls of `createDurableObjectStore`, and nothing else. */
  async fetch(request: Request): Promise<Response> {
    if (!isCall(request, this.#id)) return new Response(null, { status: 404 })
    try {
      return Response.json(await this.#answer((await request.json()) as StoreCall))
    } catch (error) {
      return Response.json(toFailure(error))
    }
  }
}

const PREFIX = 'tokenlib_'

// Before these, a little of what has ended is dropped now and then.
const WRITES: ReadonlySet<string> = new Set([
  'revoke',
  'claim',
  'open',
  'openLimited',
  'rotate',
  'writeData',
  'spend',
])

function createAnswerer(database: Connection, clock: Clock): (call: StoreCall) => Promise<StoreAnswer> {
  const tables = toTables(PREFIX)
  const turns = createPruneTurns(PRUNE_BATCH, schedulerOf(clock))
  let shared: SharedOptions | null = null

  return async ({ protocol, operation, arguments: given, seen }) => {
    if (protocol !== PROTOCOL) throw new Error('Another release of tokenlib has called this Durable Object')
    shared ??= openStorage(database, tables, clock)
    let revokedBefore: number | null = null
    // For this call alone: each isolate of the Worker has seen something else.
    const operations = createOperations(database, tables, {
      ...shared,
      seen,
      losses: {
        // A replica needs timers between requests, which a Worker does not have.
        canRestore: () => false,
        reportHistory() {},
        report: (moment) => void (revokedBefore = moment),
      },
    })
    const handlers = toHandlers(operations)
    if (!Object.hasOwn(handlers, operation)) throw new Error(`Unknown operation "${operation}"`)
    const handle = handlers[operation] as (...values: readonly unknown[]) => Promise<unknown>
    // Before the call, so that the caller finds what the call writes.
    if (WRITES.has(operation)) await turns.run(operations.prune)
    const value = await handle(...given)
    return { protocol: PROTOCOL, value, seen: operations.history.readSeen(), revokedBefore }
  }
}

type SharedOptions = Omit<OperationOptions, 'seen' | 'losses'>

function openStorage(database: Connection, tables: Tables, clock: Clock): SharedOptions {
  prepareTables(database, tables)
  return {
    now: createCheckedClock(clock),
    endings: createEndings(database, `${PREFIX}endings`),
    pruneClock: createCautiousClock(clock),
    // A bare function may run as it likes. The clock of workerd may jump: it has no monotonic one.
    trust: clock.scheduler === undefined ? (at) => at : createTrustedTime(database, tables, true),
  }
}

function toHandlers({ history, lookup, readFeed, prune, spend }: Operations): ObjectOperations {
  const { revoke, claim, sessions } = createLocalStore({
    read: (work) => history.read(work).value,
    write: (work) => history.write(work),
  })
  return {
    ...sessions,
    prepare: () => history.write(() => undefined),
    revoke,
    claim,
    lookup: async (keys) => lookup(keys),
    feed: async (after) => readFeed(after),
    prune: (limit) => prune(limit),
    spend,
  }
}

/**
 * The storage of a Durable Object as a database.
 *
 * The object is the only one that uses it, and runs one piece of code at a time: nobody is ever in the way. What a call
 * has written is on several machines before its answer leaves the object.
 */
function createStorageConnection({ storage }: DurableObjectContext): Connection {
  const run = (sql: string, values: readonly SqliteValue[]): unknown[] => {
    try {
      return storage.sql.exec(sql, ...values).toArray()
    } catch (cause) {
      const isWithoutSqlite =
        cause instanceof Error && /SQL is not enabled|not backed by SQL/.test(cause.message)
      if (!isWithoutSqlite) throw cause
      throw new ConfigurationError(
        'The Durable Object has no SQLite storage: name its class in "new_sqlite_classes" of the migrations, ' +
          'not in "new_classes". A class that is deployed already cannot be changed; use another class name',
        { cause },
      )
    }
  }

  return {
    exec: (sql) => run(sql, []),
    prepare: (sql) => ({
      run(...values) {
        run(sql, values)
        // `rowsWritten` of the cursor counts the rows of indexes as well.
        const [row] = run('SELECT changes() AS changes', []) as [{ readonly changes: number }]
        return row
      },
      get: (...values) => run(sql, values)[0],
      all: (...values) => run(sql, values),
    }),
    // Statements such as BEGIN are refused here.
    transact: (_whenBusy, work) => storage.transactionSync(work),
    retryWhileBusy: async (attempt) => attempt(),
    assertInPlace() {},
    assertInPlaceLately() {},
  }
}

/**
 * The histories that were lost, in a table of their own.
 *
 * A Worker has many isolates, and each finds out at its next request, which may be hours later. Without the table, each
 * would revoke again everything from before that request.
 */
function createEndings(database: Connection, table: string): Endings {
  const find = database.prepare(`SELECT watermark FROM ${table} WHERE epoch = ?`)
  const save = database.prepare(`REPLACE INTO ${table} (epoch, watermark) VALUES (?, ?)`)

  return {
    read(epoch) {
      // Not before: it is needed only after a loss, which may have taken it as well.
      database.exec(`CREATE TABLE IF NOT EXISTS ${table} (
        epoch TEXT PRIMARY KEY NOT NULL, watermark INTEGER NOT NULL)`)
      const row = (find.get(epoch) ?? null) as { readonly watermark: number } | null
      return row === null ? null : row.watermark
    },
    record: (epoch, watermark) => void save.run(epoch, watermark),
  }
}

/** What a Worker can ask of the object that has its data; arguments and answers are JSON, `undefined` is `null`. */
export interface ObjectOperations
  extends
    Required<SessionStore>,
    Pick<Required<RevocationStore>, 'revoke' | 'claim' | 'lookup' | 'prune' | 'spend'> {
  prepare(): Promise<void>
  feed(after: Position | null): Promise<FeedPage>
}

/** One call of a Worker. */
export interface StoreCall {
  readonly protocol: typeof PROTOCOL
  readonly operation: keyof ObjectOperations
  readonly arguments: readonly unknown[]
  /** What this isolate of the Worker has seen: the object forgets, and its data may be put back to an earlier state. */
  readonly seen: Seen
}

/** The answer to a call. */
export interface StoreAnswer {
  readonly protocol: typeof PROTOCOL
  readonly value: unknown
  readonly seen: Seen
  /** Set if data that this isolate had seen was lost: everything from before this moment is revoked. */
  readonly revokedBefore: number | null
}

interface StoreFailure {
  readonly protocol: typeof PROTOCOL
  readonly failure: { readonly kind: 'configuration' | 'type' | 'other'; readonly message: string }
}

/** While a release is rolled out, a Worker and its object may run different versions of this file. */
export const PROTOCOL = 1

/** Where calls are sent. */
export const CALL_URL = 'https://tokenlib.invalid/store'

/**
 * Whether a request is a call of the store to this object.
 *
 * An application may pass requests on to the object. A client chooses the URL and the headers of such a request, and
 * another Worker chooses its `cf` as well. But only a Worker that has the namespace can know the id of an object in it.
 */
function isCall(request: Request, object: string): boolean {
  const { cf } = request as { readonly cf?: { readonly [name: string]: unknown } | null }
  const isMarked = cf?.['tokenlib'] === 'call' && cf['object'] === object
  return request.url === CALL_URL && request.method === 'POST' && isMarked
}

// Only the kind and the message of an error reach the Worker.
function toFailure(error: unknown): StoreFailure {
  const kind =
    error instanceof ConfigurationError ? 'configuration' : error instanceof TypeError ? 'type' : 'other'
  return {
    protocol: PROTOCOL,
    failure: { kind, message: error instanceof Error ? error.message : String(error) },
  }
}

/** The answer in a message of the object, or throws the error that is in it. */
export function parseAnswer(message: unknown): StoreAnswer {
  const given: Partial<StoreAnswer & StoreFailure> | null = typeof message === 'object' ? message : null
  if (given?.protocol === undefined) {
    throw new ConfigurationError(
      'The Durable Object namespace belongs to another class than TokenStoreObject: check "class_name" of the binding',
    )
  }
  if (given.protocol !== PROTOCOL) {
    throw new Error(
      'The Worker and its Durable Object run different releases of tokenlib; finish the deployment of one of them',
    )
  }
  if (given.failure === undefined) return given as StoreAnswer
  const { kind, message: text } = given.failure
  if (kind === 'configuration') throw new ConfigurationError(text)
  throw kind === 'type' ? new TypeError(text) : new Error(text)
}
