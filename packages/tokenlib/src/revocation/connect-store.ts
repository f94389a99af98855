import type { TokenSource } from '../tokens/token-source.js'
import { ConfigurationError, RevocationUnavailableError } from '../errors.js'
import {
  addDuration,
  FOREVER,
  isRevokedBy,
  type RevocableIds,
  type Revocation,
  type RevocationKey,
  revocationKeys,
} from './revocation.js'
import { createDeferredRevocations } from './deferred-revocations.js'
import { createRevoker, type Revoker } from './revoker.js'
import {
  assertStore,
  type LookupOptions,
  readCreateLookup,
  type ReplicaState,
  type RevocationStore,
} from './store.js'
import { createStoreClient, type StoreClientOptions } from './store-client.js'
import { monotonicNow } from '../time.js'
import { createStoredSessions, type SessionRules, type StoredSessions } from './stored-sessions.js'

/** What a manager uses of its store. */
export interface StoreConnection {
  /** Whether the store has revoked a token; `RevocationUnavailableError` when it cannot tell. */
  isRevoked(token: RevocableToken, options?: LookupOptions): Promise<boolean>
  /** Whether the store says at once that a token is not revoked; `false` says nothing. Never throws. */
  isUnrevokedNow(token: RevocableToken): boolean
  /** Whether the store has an entry for one of the keys, whatever its moment; `RevocationUnavailableError` when it cannot tell. */
  isListed(keys: readonly RevocationKey[], options?: LookupOptions): Promise<boolean>
  readonly revoker: Revoker
  /**
   * The same, or with `unless` one that refuses in this process at once and writes when the store answers, unless it knows
   * one of the keys by then. Its promises reject with `RevocationUnavailableError` if too much is waiting already.
   */
  readonly revokerFor: (unless: readonly RevocationKey[] | undefined) => Revoker
  /** `null` where the store keeps none. */
  readonly sessions: StoredSessions | null
  /** Resolves once the store has been prepared; waits a few seconds for it, and then rejects with the reason. */
  ready(): Promise<void>
  /** Asks the store now, within the deadline; never rejects. */
  health(): Promise<StoreHealth>
  /** What the replica of this process knows; `null` where there is none. */
  readReplica(): ReplicaState | null
  /** Resolves when every process refuses what this one has revoked before; `null` where the bound is not known. */
  readonly waitForOthers: (() => Promise<void>) | null
  /** Calls a listener when a revocation of a token arrives, where the store has a replica; returns a function that ends that. */
  watchToken(token: RevocableToken, listener: () => void): () => void
  /** Announces a token that may live longer than any before; epoch seconds, `null` for one that never expires. */
  expect(expiresAt: number | null): void
  /** Closes the store, once, after a last attempt to write what is waiting: from then on every call is refused. */
  close(): Promise<void>
  readonly isClosed: boolean
}

/** What the revocation of a token depends on. */
export interface RevocableToken extends RevocableIds {
  readonly source: Pick<TokenSource, 'revokedBy' | 'lifeOf'>
  /** What its store looks up for it: worked out by the first check, and kept for as long as the token is. */
  lookup?: TokenLookup
}

/** What a store looks up for a token. */
export interface TokenLookup {
  readonly keys: readonly RevocationKey[]
  /** When its session began; epoch milliseconds. */
  readonly start: number
  /** From its start to the last moment it can verify, in milliseconds. */
  readonly lifetime: number
  /** Whether it is revoked, where the store can say so at once; made when it is first needed. */
  isRevokedNow?: () => unknown
}

/** What a store can be used for at this moment. */
export interface StoreHealth {
  /** Why tokens cannot be checked; `null` when they can. */
  readonly checkError: Error | null
  /** Why the store takes no writes; `null` when it does. */
  readonly writeError: Error | null
  /** How long the store took to answer or fail, in milliseconds. */
  readonly responseTimeMs: number
  /** What the replica of this process knows; `null` where there is none. */
  readonly replica: ReplicaState | null
}

/** Connects a manager to its store, or throws `ConfigurationError` for what is none. */
export function connectStore(store: RevocationStore, rules: ConnectionRules): StoreConnection {
  assertStore(store)
  const { now, retentionMs } = rules
  const client = createStoreClient(store, rules)
  const deferred = createDeferredRevocations(client, now)
  const moments = { revokedBefore: 0, newestStart: 0 }
  const revoker = createRevoker(client, rules, moments)
  const createLookup = readCreateLookup(store)
  const definedLookup = store.lookup

  const watchers = createWatchers(store)
  let closing: Promise<void> | null = null

  const defer = (batch: readonly Revocation[], unless: readonly RevocationKey[]): void => {
    deferred.add(batch, unless)
    watchers.notify(batch)
  }

  const writeAndClose = async (): Promise<void> => {
    await deferred.close()
    await client.close()
  }

  const toLookup = (token: RevocableToken): TokenLookup => {
    const { start, end } = token.source.lifeOf(token.payload)
    const lifetime = end === null ? FOREVER : addDuration(end - start, retentionMs)
    return { keys: revocationKeys(token), start, lifetime }
  }

  const isDeferred = (token: RevocableToken): boolean => {
    if (deferred.isEmpty) return false
    const { keys, start } = (token.lookup ??= toLookup(token))
    return deferred.isRevoked(keys, start)
  }

  // Whether a token is revoked, or `null` where the store does not say so at once: it is asked by `lookup` then.
  const readNow = (token: RevocableToken): boolean | null => {
    // A `lookup` that was replaced in the meantime may know more.
    if (createLookup === undefined || store.lookup !== definedLookup) return null
    try {
      const lookup = (token.lookup ??= toLookup(token))
      const isRevokedNow = (lookup.isRevokedNow ??= createLookup.call(store, lookup.keys, lookup.start))
      const answer = client.isPrepared(lookup.lifetime) ? isRevokedNow() : null
      return typeof answer === 'boolean' ? answer : null
    } catch {
      return null
    }
  }

  return {
    async isRevoked(token, options) {
      if (isDeferred(token)) return true
      // What is known in memory does not wait behind calls of a store that does not answer.
      const known = options?.atLeast === undefined ? readNow(token) : null
      if (known !== null) return known
      const { keys, start, lifetime } = (token.lookup ??= toLookup(token))
      return isRevokedBy(await client.lookup(keys, lifetime, options), start)
    },
    isUnrevokedNow: (token) => !isDeferred(token) && readNow(token) === false,
    isListed: async (keys, options) =>
      deferred.isRevoked(keys, 0) || isRevokedBy(await client.lookup(keys, 0, options), 0),
    revoker,
    revokerFor: (unless) =>
      unless === undefined ? revoker : createRevoker(client, rules, moments, (batch) => defer(batch, unless)),
    sessions:
      store.sessions === undefined ? null : createStoredSessions(client, rules, revoker, store.sessions),
    async ready() {
      await client.ready()
      try {
        await store.replica?.ready()
      } catch (cause) {
        throw new RevocationUnavailableError(cause)
      }
    },
    async health() {
      const startedAt = monotonicNow()
      const isKnown = store.replica?.readState().isFresh === true
      // Any lookup will do: it shows that the server answers, and that it has the history that this process knows. And
      // so will a batch of nothing: it takes the way of every write, past a replica.
      const [checkError, writeError] = await Promise.all([
        isKnown ? null : findFault(client.lookup([{ kind: 'all', id: '' }], 0)),
        findFault(client.call('health', (target) => target.revoke([]))),
      ])
      const responseTimeMs = monotonicNow() - startedAt
      return { checkError, writeError, responseTimeMs, replica: store.replica?.readState() ?? null }
    },
    readReplica: () => store.replica?.readState() ?? null,
    waitForOthers: store.replica === undefined ? null : store.replica.waitForOthers,
    watchToken: (token, listener) => watchers.add((token.lookup ??= toLookup(token)).keys, listener),
    expect: (expiresAt) =>
      client.expect(expiresAt === null ? FOREVER : addDuration(expiresAt * 1000 - now(), retentionMs)),
    close: () => (closing ??= deferred.isEmpty ? client.close() : writeAndClose()),
    get isClosed() {
      return closing !== null
    },
  }
}

/** Listeners by what they wait for: an arriving revocation must not cost time for every token that is watched. */
interface Watchers {
  add(keys: readonly RevocationKey[], listener: () => void): () => void
  notify(revoked: readonly RevocationKey[]): void
}

function createWatchers({ replica }: RevocationStore): Watchers {
  const listeners = new Map<string, Set<() => void>>()
  let isSubscribed = false
  const notify: Watchers['notify'] = (revoked) => {
    for (const key of revoked) for (const call of listeners.get(toName(key)) ?? []) call()
  }
  return {
    notify,
    add(keys, listener) {
      if (replica === undefined) return () => undefined
      if (!isSubscribed) {
        isSubscribed = true
        replica.subscribe(notify)
      }
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

function toName({ kind, id }: RevocationKey): string {
  return `${kind}:${id}`
}

async function findFault(answer: Promise<unknown>): Promise<Error | null> {
  try {
    await answer
    return null
  } catch (error) {
    const unavailable = error as RevocationUnavailableError
    return unavailable.cause instanceof Error ? unavailable.cause : unavailable
  }
}

/** The store of a manager; `ConfigurationError` for something that needs one where there is none. */
export function requireStore(store: StoreConnection | null, what: string): StoreConnection {
  return store ?? missing(what, 'a store')
}

/** The sessions of a manager; `ConfigurationError` where its store keeps none. */
export function requireSessions(store: StoreConnection | null, what: string): StoredSessions {
  return store?.sessions ?? missing(what, 'a store that keeps sessions')
}

function missing(what: string, needed: string): never {
  throw new ConfigurationError(`${what} needs ${needed}: new TokenManager({ config, store })`)
}

/** What a store is connected with. */
export interface ConnectionRules extends SessionRules, StoreClientOptions {}
