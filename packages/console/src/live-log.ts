import { randomUUID } from 'node:crypto'
import type { RevocationStore, TokenEvents, TokenManager } from 'tokenlib'
import {
  type Revocation,
  startTimer,
  systemClock,
  systemScheduler,
  type Timer,
  toStoredId,
} from 'tokenlib/kit'

/** An event, as the page receives it. */
export interface LiveEntry {
  /** Different for every entry of every process. */
  readonly id: string
  /** Counts the entries of this process, so that the page can tell that some are missing. */
  readonly number: number
  /** ISO 8601. */
  readonly at: string
  /** `arrived`: a revocation that reached the replica of this process. */
  readonly event: 'revoked' | 'reuseDetected' | 'storeLostData' | 'arrived'
  readonly facts: object
}

/** The newest entries, and news of further ones. */
export interface LiveLog {
  /** Those after a number, oldest first; at most as many as are kept. */
  readAfter(number: number): readonly LiveEntry[]
  /** Subscribes to new entries; `onClose` is called when the log is closed. Returns an unsubscribe function. */
  watch(listener: () => void, onClose: () => void): () => void
  /** Unsubscribes from the manager, and calls every `onClose`. */
  close(): void
}

const MAX_ENTRIES = 100
// A replica tells of what its own process revokes before the store has answered: the event comes a little later.
const ARRIVAL_DELAY_MS = 1000
// The feed of the store brings it once more, within the bound of the replica.
const SAME_WITHIN_MS = 15_000

/** Keeps what a manager does from now on, and what arrives at the replica of its store. */
export function createLiveLog(
  tokens: Pick<TokenManager, 'on'>,
  store: Pick<RevocationStore, 'replica'> | undefined,
): LiveLog {
  const entries: LiveEntry[] = []
  const watchers = new Map<object, { readonly listener: () => void; readonly onClose: () => void }>()
  const timers = new Set<Timer>()
  let isClosed = false
  const seenAt = new Map<string, number>()
  let count = 0
  let instance: string | null = null

  const add = (event: LiveEntry['event'], facts: object): void => {
    instance ??= randomUUID()
    count++
    const at = new Date(systemClock()).toISOString()
    entries.push({ id: `${instance}:${count}`, number: count, at, event, facts })
    if (entries.length > MAX_ENTRIES) entries.shift()
    for (const { listener } of watchers.values()) listener()
  }

  // Whether the same was revoked a moment ago; from now on it was.
  const isRepeated = (key: string): boolean => {
    const now = systemScheduler.monotonicNow()
    for (const [known, at] of seenAt) {
      if (now - at < SAME_WITHIN_MS && seenAt.size <= 10 * MAX_ENTRIES) break
      seenAt.delete(known)
    }
    const isKnown = seenAt.has(key)
    seenAt.delete(key)
    seenAt.set(key, now)
    return isKnown
  }

  const addRevoked = (facts: TokenEvents['revoked']): void => {
    isRepeated(toKey(facts.kind, toStoredId(facts.id)))
    add('revoked', facts)
  }
  const addArrivals = (arrived: readonly Revocation[]): void => {
    for (const { kind, id } of arrived) if (!isRepeated(toKey(kind, id))) add('arrived', { kind, id })
  }

  const replica = store?.replica
  const unsubscribes = [
    tokens.on('revoked', addRevoked),
    tokens.on('reuseDetected', (facts) => add('reuseDetected', facts)),
    tokens.on('storeLostData', (facts) => add('storeLostData', facts)),
    replica?.subscribe((arrived) => {
      // The first read has everything that was ever revoked.
      if (replica.readState().ageMs === null) return
      const newest = arrived.slice(-MAX_ENTRIES)
      const timer = startTimer(
        systemScheduler,
        () => {
          timers.delete(timer)
          addArrivals(newest)
        },
        ARRIVAL_DELAY_MS,
      )
      timers.add(timer)
    }),
  ]

  return {
    readAfter: (number) => entries.filter((entry) => entry.number > number),
    watch(listener, onClose) {
      const key = {}
      if (isClosed) onClose()
      else watchers.set(key, { listener, onClose })
      return () => void watchers.delete(key)
    },
    close() {
      isClosed = true
      for (const unsubscribe of unsubscribes) unsubscribe?.()
      for (const timer of timers) systemScheduler.clearTimeout(timer)
      timers.clear()
      for (const { onClose } of watchers.values()) onClose()
      watchers.clear()
    },
  }
}

function toKey(kind: string, id: string): string {
  return `${kind}:${id}`
}

// Then the browser connects again, and `allow` is asked by a request of its own. Shorter than proxies wait for a byte.
const STREAM_MS = 30_000
const RETRY_MS = 1000

/**
 * The entries as server-sent events (HTML §9.2), kept entries first, for a request that was just allowed. Nothing
 * new is sent to a viewer who lost access: `isStillAllowed` is called first, and the stream ends if it returns `false`.
 */
export function createLiveStream(log: LiveLog, isStillAllowed: () => Promise<boolean>): Response {
  const encoder = new TextEncoder()
  const newestAtStart = log.readAfter(0).at(-1)?.number ?? 0
  let sent = 0
  let isBusy = false
  let timer: Timer | undefined
  let unwatch: (() => void) | undefined
  let isOver = false

  const stop = (): void => {
    isOver = true
    systemScheduler.clearTimeout(timer)
    unwatch?.()
  }

  const end = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    if (isOver) return
    stop()
    controller.close()
  }

  // A client that does not read is not sent more; it gets the newest entries once it reads again.
  const send = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      while ((controller.desiredSize ?? 0) > 0) {
        const entries = log.readAfter(sent)
        const newest = entries.at(-1)?.number ?? 0
        if (newest === 0) return
        if (newest > newestAtStart && !(await isStillAllowed())) return end(controller)
        if (isOver) return
        sent = newest
        controller.enqueue(encoder.encode(entries.map(toMessage).join('')))
      }
    } finally {
      isBusy = false
    }
  }

  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      // Send bytes immediately: only then does the browser treat the connection as open.
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`))
      timer = startTimer(systemScheduler, () => end(controller), STREAM_MS)
      unwatch = log.watch(
        () => void send(controller).catch(() => end(controller)),
        () => end(controller),
      )
    },
    pull: (controller) => send(controller),
    cancel: stop,
  })
  // Proxies such as nginx would keep the events until their buffer is full.
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }
  return new Response(stream, { headers })
}

function toMessage(entry: LiveEntry): string {
  return `data: ${JSON.stringify(entry)}\n\n`
}
