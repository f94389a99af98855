import { RevocationUnavailableError } from '../errors.js'
import { withDeadline } from '../runtime.js'
import { emitWarning, IS_WORKERD, startTimer } from '../runtime.js'
import type { Clock } from '../time.js'
import { isRevokedBy, type Revocation, type RevocationKey } from './revocation.js'
import type { StoreClient } from './store-client.js'

/** Revocations that this process has accepted and the store does not have yet. */
export interface DeferredRevocations {
  /**
   * Refuses at once, in this process, what a batch revokes, and writes it when the store answers: unless one of the keys is
   * revoked there by then. Throws `RevocationUnavailableError` if there is no room.
   */
  add(batch: readonly Revocation[], unless: readonly RevocationKey[]): void
  /** Whether one of them revokes a token of these keys that started at `start`. */
  isRevoked(keys: readonly RevocationKey[], start: number): boolean
  readonly isEmpty: boolean
  /** Tries once more to write what is waiting, for as long as one call of the store may take. The rest is lost. */
  close(): Promise<void>
}

interface Deferred {
  readonly batch: readonly Revocation[]
  readonly unless: readonly RevocationKey[]
}

/** How many revocations are kept. */
export const MAX_DEFERRED = 10_000
// How many logouts are written at a time.
const WRITTEN_AT_ONCE = 500
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 1000

/** Nothing is deferred yet. */
export function createDeferredRevocations(client: StoreClient, now: Clock): DeferredRevocations {
  const waiting = new Set<Deferred>()
  // By key, the latest moment of all that are waiting.
  let moments = new Map<string, number>()
  let count = 0
  let retryMs = FIRST_RETRY_MS
  let writing: Promise<void> | null = null
  let isClosed = false

  const note = ({ kind, id, notBefore }: Revocation): void => {
    const name = toName({ kind, id })
    moments.set(name, Math.max(notBefore, moments.get(name) ?? 0))
  }

  const remove = (written: readonly Deferred[]): void => {
    for (const deferred of written) {
      waiting.delete(deferred)
      count -= deferred.batch.length
    }
    moments = new Map()
    for (const { batch } of waiting) for (const entry of batch) note(entry)
  }

  // Which of them are still to be written: not those of a JWT that had been used, or whose key had been revoked.
  const findGenuine = async (all: readonly Deferred[]): Promise<readonly Deferred[]> => {
    const keys = all.flatMap(({ unless }) => unless)
    if (keys.length === 0) return all
    const answers = await client.lookup(keys, 0)
    let at = 0
    return all.filter(({ unless }) => !isRevokedBy(answers.slice(at, (at += unless.length)), 0))
  }

  const writeNext = async (): Promise<void> => {
    const next = [...waiting].slice(0, WRITTEN_AT_ONCE)
    const genuine = await findGenuine(next)
    const entries = genuine.flatMap(({ batch }) => batch).filter(({ until }) => until > now())
    // As they are: a watermark must not reach those who have logged in since.
    if (entries.length > 0) {
      await client.call('restore', async (store) => {
        await (store.restore === undefined ? store.revoke(entries) : store.restore(entries))
      })
    }
    remove(next)
  }

  const writeAll = async (): Promise<void> => {
    while (waiting.size > 0) await writeNext()
    retryMs = FIRST_RETRY_MS
  }

  const startWriting = (): Promise<void> => {
    writing = writeAll().finally(() => {
      writing = null
    })
    return writing
  }

  const write = async (): Promise<void> => {
    if (writing !== null || isClosed) return
    try {
      await startWriting()
    } catch {
      // The client has reported it.
      startTimer(() => void write(), retryMs)
      retryMs = Math.min(2 * retryMs, MAX_RETRY_MS)
    }
  }

  // What is under way may have begun before the store was back.
  const writeLast = async (): Promise<void> => {
    await writing?.catch(() => undefined)
    await startWriting()
  }

  return {
    add(batch, unless) {
      // What a Worker leaves behind ends with its request.
      if (IS_WORKERD || isClosed || count + batch.length > MAX_DEFERRED) {
        throw new RevocationUnavailableError(
          new Error('The store is unavailable and the revocation cannot be kept'),
        )
      }
      waiting.add({ batch, unless })
      count += batch.length
      for (const entry of batch) note(entry)
      if (waiting.size === 1) startTimer(() => void write(), retryMs)
    },
    isRevoked: (keys, start) =>
      waiting.size > 0 &&
      isRevokedBy(
        keys.map((key) => moments.get(toName(key))),
        start,
      ),
    get isEmpty() {
      return waiting.size === 0
    },
    async close() {
      isClosed = true
      try {
        await withDeadline(writeLast(), client.timeoutMs, createTooLate)
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

function createTooLate(): Error {
  return new Error('The store did not answer')
}

function toName({ kind, id }: RevocationKey): string {
  return `${kind}:${id}`
}
