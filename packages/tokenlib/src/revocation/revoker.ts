import { RevocationUnavailableError } from '../errors.js'
import { emitWarning, IS_WORKERD, startTimer, withDeadline } from '../runtime.js'
import type { Clock, Scheduler } from '../time.js'
import { addDuration, FOREVER, isRevokedBy, type Revocation, type RevocationKey } from './revocation.js'
import type { Claimed, RevocationStore, Revoked } from './store.js'
import type { StoreClient } from './store-client.js'

/** Writes revocations. Every promise resolves once the store has them. */
export interface Revoker {
  /** Revokes every token of the keys. */
  write(keys: readonly ExpiringKey[], unless?: Unless): Promise<Revoked>
  /** Raises watermarks: revokes what started before now. */
  raise(keys: readonly RevocationKey[], unless?: Unless): Promise<Revoked>
  /** Claims keys if the first of them is new, in one step: of several processes, exactly one is the first. */
  claim(keys: readonly ExpiringKey[]): Promise<Claimed>
  /** The start of a token created at `at`, in epoch milliseconds: later than every earlier revocation. */
  startToken(at: number): number
  /** The revocations that are waiting to be written to the store. */
  readonly deferred: DeferredRevocations
}

/** A key whose last token expires at `expiresAt`: epoch milliseconds, or `FOREVER`. */
export interface ExpiringKey extends RevocationKey {
  readonly expiresAt: number
}

/**
 * Defers a revocation: this process refuses the tokens now, and writes the revocation once the store answers, unless one of
 * these keys is revoked there by then. Rejects with `RevocationUnavailableError` if too much is waiting.
 */
export type Unless = readonly RevocationKey[] | undefined

/** What a revoker works with. */
export interface RevokerOptions {
  readonly now: Clock
  readonly scheduler: Scheduler
  /** How long after its expiry a token may still verify somewhere, in milliseconds. */
  readonly retentionMs: number
}

/** The revoker of one store. `onDeferred` is called with the revocations that are deferred. */
export function createRevoker(
  client: StoreClient,
  { replica }: Pick<RevocationStore, 'replica'>,
  { now, scheduler, retentionMs }: RevokerOptions,
  onDeferred: (batch: readonly Revocation[]) => void,
): Revoker {
  const deferred = createDeferredRevocations(client, now, scheduler)
  let revokedBefore = 0
  let newestStart = 0

  const toEntries = (keys: readonly ExpiringKey[]): readonly Revocation[] =>
    keys.map(({ kind, id, expiresAt }) => ({
      kind,
      id,
      notBefore: FOREVER,
      until: addDuration(expiresAt, retentionMs),
    }))

  const revoke = async (batch: readonly Revocation[], unless: Unless): Promise<Revoked> => {
    if (unless !== undefined) {
      deferred.add(batch, unless)
      onDeferred(batch)
      return { position: 'deferred', now: now() }
    }
    try {
      return await client.call('revoke', async (store) => parseRevoked(await store.revoke(batch)))
    } catch (error) {
      // A client that gives up without calling the store has not informed the replica.
      replica?.keepUnsent(batch)
      throw error
    }
  }

  return {
    deferred,
    startToken(at) {
      const start = Math.max(at, revokedBefore + 1)
      newestStart = Math.max(newestStart, start)
      return start
    },
    async write(keys, unless) {
      // A session may get new tokens until the revocation has reached every process.
      const least = addDuration(now(), client.lifetimes.longest)
      const batch = toEntries(keys).map((entry) =>
        entry.kind === 'session' ? { ...entry, until: Math.max(entry.until, least) } : entry,
      )
      return revoke(batch, unless)
    },
    async raise(keys, unless) {
      // If the clock was set back, tokens without a session may start after `now()`. The store raises the watermark to its
      // own clock, on which all processes agree.
      const notBefore = Math.max(now(), newestStart)
      const until = addDuration(notBefore, client.lifetimes.longest)
      const revoked = await revoke(
        keys.map(({ kind, id }) => ({ kind, id, notBefore, until })),
        unless,
      )
      revokedBefore = Math.max(revokedBefore, notBefore, revoked.now)
      return revoked
    },
    claim: (keys) => client.call('claim', async (store) => parseClaimed(await store.claim(toEntries(keys)))),
  }
}

function parseRevoked(answer: Revoked): Revoked {
  const { now = Number.NaN, position } = (answer ?? {}) as Partial<Revoked>
  // Moments of ids have 48 bits.
  if (now >= 0 && now < 2 ** 47 && typeof position === 'string') return answer
  throw new TypeError('revoke() must return the position and the clock of the store')
}

function parseClaimed(answer: Claimed): Claimed {
  const { isFirst, position } = (answer ?? {}) as Partial<Claimed>
  if (typeof isFirst === 'boolean' && typeof position === 'string') return answer
  throw new TypeError('claim() must return isFirst and a position')
}

/** Revocations that this process has accepted and the store does not have yet. */
interface DeferredRevocations {
  /** A set, because every request reads its size. */
  readonly waiting: { readonly size: number }
  add(batch: readonly Revocation[], unless: readonly RevocationKey[]): void
  /** Whether one of them revokes a token of these keys that started at `start`. */
  isRevoked(keys: readonly RevocationKey[], start: number): boolean
  /** Accepts nothing more, and tries once more to write what is waiting. After the deadline of a call, the rest is lost. */
  close(): Promise<void>
}

interface Deferred {
  readonly batch: readonly Revocation[]
  readonly unless: readonly RevocationKey[]
}

/** How many revocations can wait. */
export const MAX_DEFERRED = 10_000
const WRITTEN_AT_ONCE = 500
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 1000

function createDeferredRevocations(
  client: StoreClient,
  now: Clock,
  scheduler: Scheduler,
): DeferredRevocations {
  const waiting = new Set<Deferred>()
  // The latest `notBefore` of each key that is waiting.
  const moments = new Map<string, number>()
  let count = 0
  let retryMs = FIRST_RETRY_MS
  let writing: Promise<void> | null = null
  let isClosed = false

  const note = (batch: readonly Revocation[]): void => {
    for (const entry of batch) {
      const name = toName(entry)
      moments.set(name, Math.max(entry.notBefore, moments.get(name) ?? 0))
    }
  }

  // Leaves out revocations by a JWT that was used before, or whose key was revoked. An earlier attempt of this process may
  // have used it: the store took the write, and the answer was lost. So a replica learns what the store has revoked.
  const findGenuine = async (all: readonly Deferred[]): Promise<readonly Deferred[]> => {
    const keys = all.flatMap(({ unless }) => unless)
    if (keys.length === 0) return all
    const answers = await client.lookup(keys, 0, { fromStore: true })
    let at = 0
    const used = new Set(all.filter(({ unless }) => isRevokedBy(answers.slice(at, (at += unless.length)), 0)))
    const revoked = [...used].flatMap(({ batch }) => batch.map(({ kind, id }) => ({ kind, id })))
    if (revoked.length > 0) await client.lookup(revoked, 0, { fromStore: true })
    return all.filter((one) => !used.has(one))
  }

  const writeNext = async (): Promise<void> => {
    const next = [...waiting].slice(0, WRITTEN_AT_ONCE)
    const genuine = await findGenuine(next)
    const entries = genuine.flatMap(({ batch }) => batch).filter(({ until }) => until > now())
    // Restored as they are: a watermark must not reach users who have logged in since.
    if (entries.length > 0) {
      await client.call('restore', async (store) => {
        await (store.restore === undefined ? store.revoke(entries) : store.restore(entries))
      })
    }
    for (const deferred of next) {
      waiting.delete(deferred)
      count -= deferred.batch.length
    }
    moments.clear()
    for (const { batch } of waiting) note(batch)
  }

  const writeAll = async (): Promise<void> => {
    while (waiting.size > 0) await writeNext()
    retryMs = FIRST_RETRY_MS
  }

  const write = async (): Promise<void> => {
    if (writing !== null || isClosed) return
    try {
      writing = writeAll().finally(() => (writing = null))
      await writing
    } catch {
      // The client has reported it.
      startTimer(scheduler, () => void write(), retryMs)
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)
    }
  }

  // A write in progress may have started before the store was back.
  const writeLast = async (): Promise<void> => {
    await writing?.catch(() => undefined)
    await writeAll()
  }

  return {
    waiting,
    add(batch, unless) {
      // In a Worker, background work ends with its request.
      if (IS_WORKERD || isClosed || count + batch.length > MAX_DEFERRED) {
        throw new RevocationUnavailableError(
          new Error('The store is unavailable and the revocation cannot be kept'),
        )
      }
      waiting.add({ batch, unless })
      count += batch.length
      note(batch)
      if (waiting.size === 1) startTimer(scheduler, () => void write(), retryMs)
    },
    isRevoked: (keys, start) =>
      waiting.size > 0 &&
      isRevokedBy(
        keys.map((key) => moments.get(toName(key))),
        start,
      ),
    async close() {
      isClosed = true
      if (waiting.size === 0) return
      try {
        await withDeadline(
          scheduler,
          writeLast(),
          client.timeoutMs,
          () => new Error('The store did not answer'),
        )
      } catch {
        const what = count === 1 ? '1 revocation is' : `${count} revocations are`
        emitWarning(
          `The manager was closed while its store did not answer: ${what} lost that it had accepted`,
          'TokenStoreWarning',
        )
      }
    },
  }
}

/** A text that identifies a key. */
export function toName({ kind, id }: RevocationKey): string {
  return `${kind}:${id}`
}
