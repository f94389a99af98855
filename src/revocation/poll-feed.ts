import { setTimeout as sleep } from 'node:timers/promises'
import { monotonicNow } from '../time.js'
import type { FeedOptions, FeedPage } from './store.js'

/** How often a waiting feed looks for news, in milliseconds. */
const INTERVAL = 25

/** Reads a feed until it has something to say or the wait is over; for stores that cannot wake their readers. */
export async function pollFeed(
  read: () => FeedPage | Promise<FeedPage>,
  { waitMs, signal }: FeedOptions,
): Promise<FeedPage> {
  const deadline = monotonicNow() + waitMs
  for (;;) {
    signal?.throwIfAborted()
    const page = await read()
    const left = deadline - monotonicNow()
    if (page.entries.length > 0 || page.more || page.reset || left <= 0) return page
    await sleep(Math.min(INTERVAL, left), undefined, signal && { signal })
  }
}
