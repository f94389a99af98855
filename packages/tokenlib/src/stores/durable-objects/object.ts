import { assertOptions, type OptionNames } from '../../options.js'
import { type Clock, createCautiousClock, createCheckedClock, monotonicNow, systemClock } from '../../time.js'
import type { Connection } from '../sqlite/connection.js'
import {
  createOperations,
  type OperationOptions,
  type Operations,
  prepareTables,
} from '../sqlite/operations.js'
import { createTrustedTime, PRUNE_BATCH, PRUNE_INTERVAL_MS } from '../sqlite/pruner.js'
import { type Tables, toTables } from '../sqlite/schema.js'
import {
  isCall,
  type ObjectOperations,
  PROTOCOL,
  type StoreAnswer,
  type StoreCall,
  toFailure,
} from './messages.js'
import { createEndings, createStorageConnection, type DurableObjectContext } from './storage.js'

/** What a subclass of `TokenStoreObject` may change. */
export interface TokenStoreObjectOptions {
  /** By default the clock of the machine that the object runs on. */
  readonly clock?: Clock
}

const OPTIONS: OptionNames<TokenStoreObjectOptions> = { clock: true }

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
    assertOptions('TokenStoreObject', options, OPTIONS)
    this.#id = context.id.toString()
    this.#answer = createAnswerer(createStorageConnection(context), options.clock ?? systemClock)
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
const WRITES: ReadonlySet<keyof ObjectOperations> = new Set([
  'revoke',
  'claim',
  'open',
  'openLimited',
  'rotate',
])

function createAnswerer(database: Connection, clock: Clock): (call: StoreCall) => Promise<StoreAnswer> {
  const tables = toTables(PREFIX)
  let pruneAt = Number.NEGATIVE_INFINITY
  let shared: SharedOptions | null = null

  const prune = async ({ pruner }: Operations): Promise<void> => {
    if (monotonicNow() < pruneAt) return
    pruneAt = monotonicNow() + PRUNE_INTERVAL_MS
    // As long as there is more, every write drops another batch.
    if ((await pruner.prune(PRUNE_BATCH)) >= PRUNE_BATCH) pruneAt = Number.NEGATIVE_INFINITY
  }

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
    // Before, so that what this call writes is there for whoever called. If it fails, the next one does the same work.
    if (WRITES.has(operation)) await prune(operations).catch(() => undefined)
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
    // A clock that was passed in is somebody's own time, and may run as it likes. That of workerd may jump: it
    // has no monotonic one.
    trust: clock === systemClock ? createTrustedTime(database, tables, true) : (at) => at,
  }
}

function toHandlers(operations: Operations): ObjectOperations {
  const { history, revoke, claim, lookup, readFeed, pruner, sessions } = operations
  return {
    ...sessions,
    prepare: () => history.write(() => undefined),
    revoke,
    claim,
    lookup: async (keys) => lookup(keys),
    feed: async (after) => readFeed(after),
    prune: (limit) => pruner.prune(limit),
  }
}
