import { ConfigurationError } from '../errors.js'
import { callable, type OptionKinds, parseOptions, text } from '../options.js'
import { FOREVER } from '../revocation/revocation.js'
import { defineStore, type RevocationStore } from '../revocation/store.js'
import { assertSessionLimit, parseListOptions } from '../revocation/session-store.js'
import { assertSpendable } from '../revocation/spent-ids.js'
import { createLossReporter } from './loss-reporter.js'
import { pollFeed } from './store-parts.js'
import {
  CALL_URL,
  type ObjectOperations,
  parseAnswer,
  PROTOCOL,
  type StoreCall,
} from './durable-objects/object.js'
import { emitWarning } from '../runtime.js'
import { NOTHING_SEEN, type Seen } from './sqlite/history.js'

export {
  type DurableObjectContext,
  TokenStoreObject,
  type TokenStoreObjectOptions,
} from './durable-objects/object.js'

/** What the store needs of a binding: a namespace of Durable Objects, such as `env.TOKEN_STORE`. */
export interface TokenStoreNamespace {
  idFromName(name: string): { toString(): string }
  get(id: { toString(): string }, options?: { readonly locationHint?: string }): TokenStoreStub
}

/** One object of a namespace, for the length of one request. */
export interface TokenStoreStub {
  fetch(
    url: string,
    init: {
      readonly method: string
      readonly body: string
      readonly cf: { readonly tokenlib: string; readonly object: string }
    },
  ): Promise<{ json(): Promise<unknown> }>
}

/** How a store in a Durable Object behaves. */
export interface DurableObjectStoreOptions {
  /** The name of the object, `tokenlib` by default; each name is a store of its own. */
  readonly name?: string
  /** Where the object is created, by the first call that ever names it: `weur`, `enam` and others. */
  readonly locationHint?: string
  /** Called once for each loss of data; by default `console.warn` in a Worker. */
  readonly onWarning?: (message: string) => void
}

const OPTIONS: OptionKinds<DurableObjectStoreOptions> = {
  name: text,
  locationHint: text,
  onWarning: callable(),
}

/**
 * A store in a Durable Object with SQLite storage, for all isolates of a Cloudflare Worker.
 *
 * Can be created at module level: it does nothing until its first call.
 *
 * @example
 * export { TokenStoreObject }
 * const store = createDurableObjectStore(env.TOKEN_STORE)
 */
export function createDurableObjectStore(
  namespace: TokenStoreNamespace,
  options: DurableObjectStoreOptions = {},
): RevocationStore {
  const parsed = parseOptions('createDurableObjectStore()', options, OPTIONS)
  const { name = 'tokenlib', locationHint, onWarning = emitWarning } = parsed
  assertNamespace(namespace)
  const losses = createLossReporter('Durable Objects', onWarning)
  let seen = NOTHING_SEEN

  const post = async (call: StoreCall): Promise<unknown> => {
    // A stub belongs to the request in which it was made, so none is kept.
    const id = namespace.idFromName(name)
    const stub = namespace.get(id, locationHint === undefined ? {} : { locationHint })
    const cf = { tokenlib: 'call', object: id.toString() }
    const response = await stub.fetch(CALL_URL, { method: 'POST', body: JSON.stringify(call), cf })
    return readJson(response)
  }

  const send = async (call: StoreCall): Promise<unknown> => {
    try {
      return await post(call)
    } catch (error) {
      // Every deployment restarts the object, with the calls that it has not answered.
      if (!isReset(error) || !IS_REPEATABLE[call.operation]) throw error
      return post(call)
    }
  }

  const call = async <Name extends keyof ObjectOperations>(
    operation: Name,
    ...given: Parameters<ObjectOperations[Name]>
  ): Promise<Awaited<ReturnType<ObjectOperations[Name]>>> => {
    const before = seen
    if (before.known === null && operation !== 'prepare') {
      throw new Error('The Durable Objects store is used before its prepare() has resolved')
    }
    const message = await send({ protocol: PROTOCOL, operation, arguments: given, seen: before })
    const answer = parseAnswer(message)
    // Calls that were under way together may all find the same loss.
    const isNew = seen.known?.epoch !== answer.seen.known?.epoch
    seen = mergeSeen(before, seen, answer.seen)
    if (answer.revokedBefore !== null && isNew) losses.report(answer.revokedBefore)
    return answer.value as Awaited<ReturnType<ObjectOperations[Name]>>
  }

  return defineStore({
    system: 'cloudflare.durable_objects',
    async prepare(needs) {
      if (needs.canRestore !== undefined || needs.onNewHistory !== undefined) {
        throw new ConfigurationError(
          'replicate() does not work in a Worker, which runs nothing between requests: ' +
            'use createDurableObjectStore() without it',
        )
      }
      losses.listen(needs)
      seen = { ...seen, longestLifetime: Math.max(seen.longestLifetime, needs.longestLifetime) }
      await call('prepare')
    },
    revoke: (batch) => call('revoke', batch),
    claim: (batch) => call('claim', batch),
    lookup: async (keys) => (await call('lookup', keys)).map((notBefore) => notBefore ?? undefined),
    feed: (after, wait) => pollFeed(() => call('feed', after), wait),
    async spend(id, keepMs) {
      // Here as well: JSON has no NaN.
      assertSpendable(id, keepMs)
      return call('spend', id, keepMs)
    },
    prune: (limit) => call('prune', Math.min(limit, FOREVER)),
    sessions: {
      open: (session) => call('open', session),
      async openLimited(session, limit) {
        // Here as well: JSON has no NaN.
        assertSessionLimit(limit)
        return call('openLimited', session, limit)
      },
      rotate: (sid, token, rotation) => call('rotate', sid, token, rotation),
      present: (sid, token, rules) => call('present', sid, token, rules),
      async list(user, page) {
        // Here as well: JSON has no NaN.
        parseListOptions(page)
        return call('list', user, page)
      },
      get: (sid, rules) => call('get', sid, rules),
      writeData: (sid, data, before) => call('writeData', sid, data, before),
    },
    async close() {},
  })
}

// Which calls are safe to send twice. A new call without an answer here does not compile. Each login opens a session and may
// end others, and a second claim would find the first one, as a second `spend` would. A refresh token may be presented again. (As with any store, a
// reuse is not reported if the response is lost.)
const IS_REPEATABLE: Readonly<Record<keyof ObjectOperations, boolean>> = {
  prepare: true,
  revoke: true,
  claim: false,
  lookup: true,
  feed: true,
  prune: true,
  spend: false,
  open: false,
  openLimited: false,
  rotate: true,
  present: true,
  list: true,
  get: true,
  // The second call may find what the first has written, and the caller looks again.
  writeData: true,
}

// As Cloudflare marks its errors.
function isReset(error: unknown): boolean {
  const { durableObjectReset, retryable, overloaded } = (error ?? {}) as {
    readonly [name in 'durableObjectReset' | 'retryable' | 'overloaded']?: unknown
  }
  return (durableObjectReset === true || retryable === true) && overloaded !== true
}

// What another class answers may be anything.
async function readJson(response: { json(): Promise<unknown> }): Promise<unknown> {
  try {
    return await response.json()
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

// `now` may have moved on since the call was sent with `before`, and answers may overtake each other.
function mergeSeen(before: Seen, now: Seen, answer: Seen): Seen {
  const longestLifetime = Math.max(now.longestLifetime, answer.longestLifetime)
  if (now.known === null || answer.known === null)
    return { known: answer.known ?? now.known, longestLifetime }
  if (now.known.epoch === answer.known.epoch) {
    const isLater = answer.known.changes > now.known.changes
    return { known: isLater ? answer.known : now.known, longestLifetime }
  }
  // An answer from another history counts, unless another call has already found a newer one.
  const isNews = now.known.epoch === before.known?.epoch
  return { known: isNews ? answer.known : now.known, longestLifetime }
}

function assertNamespace(namespace: unknown): void {
  const has = (method: string): boolean => typeof (namespace as never)?.[method] === 'function'
  // A stub, of an object or of another Worker, seems to have every method that one can think of.
  const isStub = has('notAMethodOfNamespaces')
  if (has('idFromName') && has('get') && !isStub) return
  throw new ConfigurationError(
    `createDurableObjectStore needs the namespace of a Durable Object, such as env.TOKEN_STORE. ${describe(namespace, has)}`,
  )
}

function describe(given: unknown, has: (method: string) => boolean): string {
  if (given === undefined || given === null) {
    return 'The binding is missing: add it to "durable_objects" in wrangler.jsonc, and use its name'
  }
  if (has('fetch')) return 'This is one object, or another Worker: pass the namespace itself'
  if (has('getWithMetadata')) return 'This is a KV namespace, which answers with old values for a minute'
  if (has('prepare') && has('batch')) return 'This is a D1 database'
  return 'The given value is not a namespace'
}
