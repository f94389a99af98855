import { describe, expect, test } from 'vitest'
import type { FeedPage } from '../../packages/tokenlib/src/kit.js'
import { pollFeed } from '../../packages/tokenlib/src/stores/store-parts.js'
import { createVirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'

const EMPTY: FeedPage = { entries: [], next: '0', more: false, reset: false, ageMs: 0 }
const NEWS: FeedPage = { ...EMPTY, entries: [{ kind: 'all', id: '', notBefore: 1, until: 2 }] }

/** A feed that has these pages to give, and the last one from then on. */
function createFeed(...pages: FeedPage[]) {
  let reads = 0
  return { read: () => pages[Math.min(reads++, pages.length - 1)] as FeedPage, reads: () => reads }
}

describe('a feed is read', () => {
  test.each<[string, FeedPage]>([
    ['entries', NEWS],
    ['more to come', { ...EMPTY, more: true }],
    ['another history', { ...EMPTY, reset: true }],
  ])('once, if it has %s', async (_what, page) => {
    const feed = createFeed(page)
    const { scheduler } = createVirtualClock()
    expect(await pollFeed(feed.read, { waitMs: 60_000 }, scheduler)).toBe(page)
    expect(feed.reads()).toBe(1)
  })

  test('once, if nobody wants to wait', async () => {
    // The clock stands still: not even a moment has passed.
    const { scheduler } = createVirtualClock()
    const feed = createFeed(EMPTY, NEWS)
    expect(await pollFeed(feed.read, { waitMs: 0 }, scheduler)).toBe(EMPTY)
    expect(feed.reads()).toBe(1)
  })

  test('again soon, until it has news', async () => {
    const clock = createVirtualClock()
    const feed = createFeed(EMPTY, EMPTY, NEWS)
    const waiting = pollFeed(feed.read, { waitMs: 3_600_000 }, clock.scheduler)
    await clock.advance('100ms')
    expect(await waiting).toBe(NEWS)
    expect(feed.reads()).toBe(3)
  })

  test('for as long as was asked for, and no longer', async () => {
    const clock = createVirtualClock()
    const feed = createFeed(EMPTY)
    let isOver = false
    const waiting = pollFeed(feed.read, { waitMs: 60 }, clock.scheduler).finally(() => (isOver = true))
    await clock.advance('59ms')
    expect(isOver).toBe(false)
    await clock.advance('1ms')
    expect(await waiting).toBe(EMPTY)
    // At 0, 25, 50 and 60 milliseconds.
    expect(feed.reads()).toBe(4)
  })
})

describe('a signal', () => {
  test('that is aborted already keeps the feed from being read', async () => {
    const feed = createFeed(NEWS)
    const { scheduler } = createVirtualClock()
    const signal = AbortSignal.abort(new Error('stop'))
    const waiting = pollFeed(feed.read, { waitMs: 0, signal }, scheduler)
    await expect(waiting).rejects.toThrow('stop')
    expect(feed.reads()).toBe(0)
  })

  test('ends the wait immediately', async () => {
    const controller = new AbortController()
    let isOver = false
    const { scheduler } = createVirtualClock()
    const { signal } = controller
    const waiting = pollFeed(createFeed(EMPTY).read, { waitMs: 60_000, signal }, scheduler).catch(
      (error: unknown) => {
        isOver = true
        return error
      },
    )
    await new Promise(setImmediate)
    expect(isOver).toBe(false)
    controller.abort()
    await new Promise(setImmediate)
    expect(isOver).toBe(true)
    expect(await waiting).toMatchObject({ name: 'AbortError' })
  })
})
