import { ConfigurationError } from '../errors.js'
import { unknownName } from '../options.js'
import type { LookupAnswer, Revocation, RevocationKey } from './revocation.js'
import type { SessionStore } from './session-store.js'

/** A place in the history of a store; only the store that made it can read it. */
export type Position = string

/** What a manager requires of its store. */
export interface StoreNeeds {
  /** The longest time from a token's start to the last moment it can verify, in milliseconds, or `FOREVER`. */
  readonly longestLifetime: number
  /** Called once for each loss of data that the store notices, after it has revoked what may be affected. */
  readonly onLostData?: (loss: LostData) => void
  /**
   * Whether the caller has a copy of all that the store had, and will `restore` what is missing. Then a loss of data
   * revokes nothing else. Asked whenever a loss is found.
   */
  readonly canRestore?: () => boolean
  /**
   * Called whenever a call finds that the store has another history than before, even an earlier one: a follower of the feed
   * has to read it from the start.
   */
  readonly onNewHistory?: () => void
  /** Called when the replica of this process becomes stale, becomes fresh again, or has to read its store again. */
  readonly onReplicaChange?: (change: ReplicaChange) => void
}

/** A change in the state of a replica. */
export interface ReplicaChange {
  /** `stale`: it refuses or asks its store. `fresh`: it answers from memory again. `reset`: its store lost its history. */
  readonly kind: 'stale' | 'fresh' | 'reset'
  readonly state: ReplicaState
}

/** What a replica knows of its store. */
export interface ReplicaState {
  readonly isFresh: boolean
  /** How long ago the last complete read was sent, in milliseconds; `null` before the first one. */
  readonly ageMs: number | null
  /** The oldest that this may be for the replica to be fresh, in milliseconds. */
  readonly boundMs: number
  /** How many revocations it has. */
  readonly entries: number
  readonly position: Position | null
  /** Why the last read failed; `null` when it did not. */
  readonly lastError: Error | null
}

/** A copy of a store in the memory of this process. */
export interface Replica {
  readState(): ReplicaState
  /** Resolves when the first read is complete; rejects when it fails. */
  ready(): Promise<void>
  /** Calls a listener with the revocations that arrive. Returns an unsubscribe function. */
  subscribe(listener: (entries: readonly Revocation[]) => void): () => void
  /** Asks its store. The copy may not have what another process wrote a moment ago. */
  readonly ask: (keys: readonly RevocationKey[]) => Promise<LookupAnswer>
  /** Refuses here what its store was not asked to revoke, or did not; it is written once the store answers again. */
  readonly keepUnsent: (batch: readonly Revocation[]) => void
  /** Resolves when no replica of the same bound can answer without what was acknowledged before this call. */
  readonly waitForOthers: () => Promise<void>
}

/** What a store did about lost data. */
export interface LostData {
  /** Every session that started at or before this moment is revoked; epoch milliseconds by the store's clock. */
  readonly revokedBefore: number
}

/** What a store knows after a revocation. */
export interface Revoked {
  /** A position that includes the whole batch. */
  readonly position: Position
  /** The store's clock when it took the batch, or a watermark of the batch that is later; epoch milliseconds. */
  readonly now: number
}

/** What a store answers to a claim. */
export interface Claimed {
  /** Whether the batch was taken; otherwise its first entry was there before, and nothing was written. */
  readonly isFirst: boolean
  /** A position that includes the first entry, and everything that was written with it. */
  readonly position: Position
}

/** A part of a store's history. */
export interface FeedPage {
  readonly entries: readonly Revocation[]
  /** Where to go on. */
  readonly next: Position
  /** Whether more can be read immediately. */
  readonly more: boolean
  /** The history before the position asked for is gone or is another one: keep what you have, and read from the start. */
  readonly reset: boolean
  /** How old the store's own knowledge is, in milliseconds; 0 unless it relays another's. */
  readonly ageMs: number
}

/** What an answer must include. */
export interface LookupOptions {
  /** Everything up to this position; a store that always answers from all it has ignores it. */
  readonly atLeast?: Position
}

/** How long to wait for news. */
export interface FeedOptions {
  /** 0 answers immediately. */
  readonly waitMs: number
  readonly signal?: AbortSignal
}

/**
 * Remembers revocations for every process that shares it.
 *
 * Nothing is answered from a copy that may be behind: whatever `revoke` has acknowledged, the next `lookup` of any
 * process finds. Every call may reject; none may answer when it does not know.
 */
export interface RevocationStore {
  /** What keeps the data, for telemetry: `redis`, `postgresql`, `mysql`, `sqlite` or a name of your own. */
  readonly system?: string
  /**
   * Called before anything else, and again whenever a need grows; the larger need of several managers counts. A longer
   * lifetime extends existing watermarks in the same step. Rejects with a `ConfigurationError` that says what to change if
   * the store cannot keep its promises.
   */
  prepare(needs: StoreNeeds): Promise<void>
  /**
   * Durable, as far as the store is, once it resolves. Takes all of a batch or nothing.
   *
   * A watermark (`user`, `all`) is raised to the store's clock, and to the start of the newest session it concerns (the clock
   * may have been set back), at most `MAX_SESSION_LEAD_MS` ahead. Sessions that started even later are revoked one by one:
   * once it resolves, no session that was opened before the call is left. A given watermark is cut to
   * `MAX_WATERMARK_LEAD_MS` ahead. It lives for the longest lifetime from then on.
   *
   * An entry of kind `session` lives until the session's `until`. If the store does not know the session, it lives for the
   * longest lifetime, or until the given `until` if that is later. The row of a revoked session is removed.
   */
  revoke(batch: readonly Revocation[]): Promise<Revoked>
  /**
   * Takes a batch of entries of kind `token` if its first entry is new, and nothing otherwise, in one step: of several calls
   * with the same first entry, in any process, exactly one takes it. Durable like `revoke`.
   */
  claim(batch: readonly Revocation[]): Promise<Claimed>
  /** An existing entry counts, whatever its `until`: only the manager decides whether a token has expired. */
  readonly lookup: (keys: readonly RevocationKey[], options?: LookupOptions) => Promise<LookupAnswer>
  /**
   * For a store that can answer synchronously; others leave it out. Whether one of the keys revokes a token that started at
   * `start` (epoch milliseconds; a tie counts as revoked). It agrees with `lookup` at any time, and throws when it cannot
   * tell, for example because the store is closed. It is used only with the `lookup` that it was defined with, not with one
   * that replaced it.
   */
  readonly isRevokedNow?: (keys: readonly RevocationKey[], start: number) => boolean
  /**
   * Every entry that changed after a position; after `null`, every entry. An entry that changed twice may come once.
   *
   * A reader must not miss changes. Numbers that are assigned before a transaction commits are not enough: a reader may see
   * 2 and go on from there, and 1 commits later. A position names its history as well, because a restored backup may use the
   * same numbers again. Without changes it waits up to `waitMs`. A replica calls it several times per bound.
   */
  feed(after: Position | null, options: FeedOptions): Promise<FeedPage>
  /**
   * Merges entries as they are: what a replica still knows and the store has lost. Unlike `revoke` it raises no watermark
   * and no `until`. The row of a session that it revokes is removed. Takes all of a batch or nothing. A store without it
   * cannot be restored.
   */
  restore?(batch: readonly Revocation[]): Promise<void>
  /**
   * Calls a listener soon after any process may have added to the history. Returns an unsubscribe function.
   * Only a hint: a call may come for nothing, and may be missing. It announces everything that revokes, also a reuse and the
   * end of a session in `openLimited`. It does not throw, does not keep the process alive, and reconnects by itself.
   */
  watch?(listener: () => void): () => void
  /**
   * A text that changes with every commit of any process. For a store that can tell synchronously; others leave it out. It
   * lets a replica have a bound of 0. Throws when it cannot tell.
   */
  readVersion?(): string
  /** The copy in this process, if the store has one. */
  readonly replica?: Replica
  /**
   * Uses an id up: `true` for the first call, `false` for every later one, in any process, until `keepMs` have passed by the
   * store's clock. Atomic. After that, the id can be spent again. Spent ids are not revocations: they are not in the feed, and
   * replicas do not copy them. If the store loses its data, the ids are forgotten, and nothing else happens.
   *
   * Rejects if it does not know, and does not repeat a call whose answer was lost: the second one would find the first.
   * Throws `TypeError` for what `assertSpendable` refuses. A manager whose store lacks this cannot detect replays.
   */
  spend?(id: string, keepMs: number): Promise<boolean>
  /**
   * Drops entries and sessions whose `until` has passed, and spent ids that have expired, at most `limit` of each; returns
   * how many went. An entry that is dropped too early makes revoked tokens valid again: clocks differ, so drop late.
   */
  prune(limit: number): Promise<number>
  /** Without them, sessions are not kept: pairs are issued, but cannot be rotated or listed. */
  readonly sessions?: SessionStore
  /** Ends what the store itself began; a client that was passed in stays open. */
  close(): Promise<void>
}

// Whether a store must have each member.
const STORE_MEMBERS: Readonly<Record<keyof RevocationStore, boolean>> = {
  system: false,
  prepare: true,
  revoke: true,
  claim: true,
  lookup: true,
  isRevokedNow: false,
  feed: true,
  restore: false,
  watch: false,
  readVersion: false,
  replica: false,
  spend: false,
  prune: true,
  close: true,
  sessions: false,
}

const SESSION_MEMBERS: Readonly<Record<keyof SessionStore, boolean>> = {
  open: true,
  openLimited: false,
  rotate: true,
  present: true,
  list: true,
  get: true,
  writeData: false,
}

/**
 * A store for `new TokenManager({ store })`, checked: `ConfigurationError` names what is missing or unknown.
 *
 * @example
 * const store = defineStore({ prepare, revoke, lookup, feed, prune, close, sessions })
 */
export function defineStore<Store extends RevocationStore>(store: Store): Store {
  assertStore(store)
  assertKnownMembers('store', store, STORE_MEMBERS)
  if (store.sessions !== undefined) assertKnownMembers('sessions', store.sessions, SESSION_MEMBERS)
  const { lookup, isRevokedNow } = store
  if (isRevokedNow === undefined) return store
  if (typeof isRevokedNow !== 'function') throw new ConfigurationError('isRevokedNow must be a function')
  // Only the first time: a store around this one, with a `lookup` of its own, has this `isRevokedNow` too.
  if (!lookupsOf.has(isRevokedNow)) lookupsOf.set(isRevokedNow, lookup)
  return store
}

// The `lookup` that each `isRevokedNow` was defined with.
const lookupsOf = new WeakMap<NonNullable<RevocationStore['isRevokedNow']>, RevocationStore['lookup']>()

/** The `isRevokedNow` of a store, if it was defined together with its `lookup`. */
export function readIsRevokedNow(store: RevocationStore): RevocationStore['isRevokedNow'] {
  const { lookup, isRevokedNow } = store
  return isRevokedNow !== undefined && lookupsOf.get(isRevokedNow) === lookup ? isRevokedNow : undefined
}

// A misspelled `session` would silently keep none.
function assertKnownMembers(owner: string, object: object, members: object): void {
  const known = Object.keys(members)
  const unknown = Object.keys(object).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new ConfigurationError(unknownName('member', unknown, known, `the ${owner}`))
}

/** Throws `ConfigurationError` unless the value is a store, and names the missing methods. */
export function assertStore(store: RevocationStore): void {
  const missing = findMissing(store, STORE_MEMBERS)
  if (store?.sessions !== undefined) {
    missing.push(...findMissing(store.sessions, SESSION_MEMBERS).map((name) => `sessions.${name}`))
  }
  if (missing.length === 0) return
  throw new ConfigurationError(
    `The option store must be a store, for example ${findFactory(store)}; it lacks ${missing.join(', ')}`,
  )
}

// What was given is often the client, the URL or the path that a store is created with.
function findFactory(given: unknown): string {
  if (typeof given === 'string' && given !== '') {
    if (given.startsWith('postgres')) return 'createPostgresStore(pool)'
    if (/^(?:mysql|mariadb):/.test(given)) return 'createMysqlStore(pool)'
    return /^rediss?:/.test(given) ? 'createRedisStore(client)' : 'createSqliteStore(new DatabaseSync(path))'
  }
  const has = (method: string): boolean => typeof given?.[method as never] === 'function'
  // Before the others: such a pool has `query` too.
  if (has('getConnection')) return 'createMysqlStore(pool)'
  if (has('query') || has('unsafe')) return 'createPostgresStore(pool)'
  return has('exec') && has('prepare') ? 'createSqliteStore(database)' : 'createRedisStore(client)'
}

function findMissing(
  object: object | null | undefined,
  members: Readonly<Record<string, boolean>>,
): string[] {
  const names = Object.keys(members).filter((name) => members[name])
  return names.filter((name) => typeof object?.[name as never] !== 'function')
}
