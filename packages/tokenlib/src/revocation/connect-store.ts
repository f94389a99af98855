import { ConfigurationError, isTokenError, RevocationUnavailableError } from '../errors.js'
import {
  addDuration,
  FOREVER,
  isRevokedBy,
  type RevocableToken,
  type RevocationKey,
  revocationKeys,
  type TokenLookup,
} from './revocation.js'
import { createRevoker, type Revoker, toName } from './revoker.js'
import { assertSpendable, parseSpent } from './spent-ids.js'
import { assertStore, readIsRevokedNow, type ReplicaState, type RevocationStore } from './store.js'
import { type AnswerOptions, createStoreClient, type StoreClientOptions } from './store-client.js'
import { createStoredSessions, type SessionRules, type StoredSessions } from './stored-sessions.js'

/** What a manager uses of its store. */
export interface StoreConnection {
  /** Whether the store has revoked a token; `RevocationUnavailableError` when it cannot tell. */
  isRevoked(token: RevocableToken, options?: AnswerOptions): Promise<boolean>
  /** Whether the store says synchronously that a token is not revoked. After `false`, call `isRevoked`. Never throws. */
  isUnrevokedNow(token: RevocableToken): boolean
  /** Whether one of the keys is revoked, whatever its moment; `RevocationUnavailableError` when the store cannot tell. */
  isListed(keys: readonly RevocationKey[], options?: AnswerOptions): Promise<boolean>
  readonly revoker: Revoker
  /** Whether the store can use ids up. */
  readonly canSpend: boolean
  /**
   * Uses an id up: `true` for the first call of any process, `false` until `keepMs` have passed by the store's clock.
   * `RevocationUnavailableError` when the store cannot tell: the id may be spent then.
   */
  spend(id: string, keepMs: number): Promise<boolean>
  /** `null` if the store keeps none. */
  readonly sessions: StoredSessions | null
  /** Resolves once the store is prepared. Waits a few seconds for it, then rejects with the reason. */
  ready(): Promise<void>
  /** Calls the store, and tells why it cannot check tokens or accept writes. Resolves within the deadline. */
  health(): Promise<{
    readonly checkError: Error | null
    readonly writeError: Error | null
    readonly responseTimeMs: number
  }>
  /** The state of this process's replica; `null` without a replica. */
  readReplica(): ReplicaState | null
  /** Resolves once every process rejects what this process has revoked; `null` without a replica, whose bound it needs. */
  readonly waitForOthers: (() => Promise<void>) | null
  /** Calls a listener when a revocation of a token arrives, if there is a replica. Returns an unsubscribe function. */
  watchToken(token: RevocableToken, listener: () => void): () => void
  /** Announces a token that may live longer than any before; epoch seconds, `null` for one that never expires. */
  expect(expiresAt: number | null): void
  /** Closes the store after a last attempt to write what is waiting; every later call is refused. */
  close(): Promise<void>
  readonly isClosed: boolean
}

/** How a manager is connected to its store. */
export interface ConnectionRules extends SessionRules, StoreClientOptions {}

/** Connects a manager to its store, or throws `ConfigurationError` for a value that is not a store. */
export function connectStore(store: RevocationStore, rules: ConnectionRules): StoreConnection {
  assertStore(store)
  const { now, retentionMs } = rules
  const { monotonicNow } = rules.scheduler
  const { replica } = store
  const client = createStoreClient(store, rules)
  const { lifetimes } = client
  const watchers = createWatchers(replica)
  const revoker = createRevoker(client, store, rules, watchers.notify)
  const { deferred } = revoker
  const isRevokedNow = readIsRevokedNow(store)
  const definedLookup = store.lookup
  let closing: Promise<void> | null = null

  const lookupOf = (token: RevocableToken): TokenLookup => {
    if (token.lookup) return token.lookup
    const { start, end } = token.source.lifeOf(token.payload)
    const lifetime = end === null ? FOREVER : addDuration(end - start, retentionMs)
    const lookup = { keys: revocationKeys(token), start, lifetime }
    if (token.lookup === null) {
      // Every check of this token passes the same list to the store, which must not use it up.
      Object.freeze(lookup.keys)
      token.lookup = lookup
    }
    return lookup
  }

  // Whether a token is revoked, or `null` if only `lookup` can tell.
  const readNow = (token: RevocableToken): boolean | null => {
    // A replaced `lookup` may know more. While a longer lifetime is not announced yet, calls must reach the store.
    if (isRevokedNow === undefined || store.lookup !== definedLookup) return null
    if (lifetimes.prepared < lifetimes.longest) return null
    try {
      const { keys, start, lifetime } = lookupOf(token)
      if (lifetime > lifetimes.prepared) return null
      const answer: unknown = isRevokedNow.call(store, keys, start)
      return typeof answer === 'boolean' ? answer : null
    } catch {
      return null
    }
  }

  const isDeferred = (token: RevocableToken): boolean => {
    if (deferred.waiting.size === 0) return false
    const { keys, start } = lookupOf(token)
    return deferred.isRevoked(keys, start)
  }

  const closeStore = async (): Promise<void> => {
    const written = deferred.close()
    // With nothing to write, the store is closed before this function returns its promise.
    if (deferred.waiting.size > 0) await written
    await client.close()
  }

  return {
    async isRevoked(token, options) {
      if (isDeferred(token)) return true
      // Revocations that are known in memory count, even while the store does not answer.
      const known = options === undefined ? readNow(token) : null
      if (known !== null) return known
      const { keys, start, lifetime } = lookupOf(token)
      return isRevokedBy(await client.lookup(keys, lifetime, options), start)
    },
    isUnrevokedNow: (token) => deferred.waiting.size === 0 && readNow(token) === false,
    isListed: async (keys, options) =>
      deferred.isRevoked(keys, 0) || isRevokedBy(await client.lookup(keys, 0, options), 0),
    revoker,
    canSpend: typeof store.spend === 'function',
    async spend(id, keepMs) {
      // Here as well: an error of the store would pass for an outage.
      assertSpendable(id, keepMs)
      if (typeof store.spend !== 'function') missing('Detecting replays', 'a store with spend()')
      return client.call('spend', async (target) => parseSpent(await target.spend?.(id, keepMs)))
    },
    sessions: store.sessions === undefined ? null : createStoredSessions(client, rules, revoker, store),
    async ready() {
      await client.ready()
      try {
        await replica?.ready()
      } catch (cause) {
        throw new RevocationUnavailableError(cause)
      }
    },
    async health() {
      const startedAt = monotonicNow()
      // Any lookup shows that the server answers, and that its history is the one this process knows. An empty batch is a
      // write without changes, which bypasses a replica like any other write.
      const [checkError, writeError] = await Promise.all([
        replica?.readState().isFresh === true ? null : findFault(client.lookup([{ kind: 'all', id: '' }], 0)),
        findFault(client.call('health', (target) => target.revoke([]))),
      ])
      return { checkError, writeError, responseTimeMs: monotonicNow() - startedAt }
    },
    readReplica: () => replica?.readState() ?? null,
    waitForOthers: replica === undefined ? null : replica.waitForOthers,
    watchToken: (token, listener) => watchers.add(lookupOf(token).keys, listener),
    expect: (expiresAt) =>
      client.expect(expiresAt === null ? FOREVER : addDuration(expiresAt * 1000 - now(), retentionMs)),
    close: () => (closing ??= closeStore()),
    get isClosed() {
      return closing !== null
    },
  }
}

/** Listeners by key: the cost of an arriving revocation must not grow with the tokens that are watched. */
interface Watchers {
  add(keys: readonly RevocationKey[], listener: () => void): () => void
  readonly notify: (revoked: readonly RevocationKey[]) => void
}

function createWatchers(replica: RevocationStore['replica']): Watchers {
  const listeners = new Map<string, Set<() => void>>()
  let isSubscribed = false
  const notify: Watchers['notify'] = (revoked) => {
    for (const key of revoked) for (const call of listeners.get(toName(key)) ?? []) call()
  }
  return {
    notify,
    add(keys, listener) {
      if (replica === undefined) return () => undefined
      if (!isSubscribed) replica.subscribe(notify)
      isSubscribed = true
      const names = keys.map(toName)
      for (const name of names) listeners.set(name, (listeners.get(name) ?? new Set()).add(listener))
      return () => {
        for (const name of names) {
          const others = listeners.get(name)
          others?.delete(listener)
          if (others?.size === 0) listeners.delete(name)
        }
      }
    },
  }
}

/** Why a promise rejects: the cause of a token error, or the error itself. `null` if it resolves. */
export async function findFault(answer: Promise<unknown>): Promise<Error | null> {
  try {
    await answer
    return null
  } catch (error) {
    return isTokenError(error) && error.cause instanceof Error ? error.cause : (error as Error)
  }
}

/** The store of a manager; `ConfigurationError` without one. */
export function requireStore(store: StoreConnection | null, what: string): StoreConnection {
  return store ?? missing(what, 'a store')
}

/** The sessions of a manager; `ConfigurationError` if its store keeps none. */
export function requireSessions(store: StoreConnection | null, what: string): StoredSessions {
  return store?.sessions ?? missing(what, 'a store that keeps sessions')
}

function missing(what: string, needed: string): never {
  throw new ConfigurationError(`${what} needs ${needed}: new TokenManager({ config, store })`)
}
