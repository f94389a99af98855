import { afterEach, describe, expect, test, vi } from 'vitest'
import type { FeedPage } from '../../packages/tokenlib/src/kit.js'
import { pollFeed } from '../../packages/tokenlib/src/stores/store-parts.js'

const EMPTY: FeedPage = { entries: [], next: '0', more: false, reset: false, ageMs: 0 }
const NEWS: FeedPage = { ...EMPTY, entries: [{ kind: 'all', id: '', notBefore: 1, until: 2 }] }

/** A feed that has these pages to give, and the last one from then on. */
function createFeed(...pages: FeedPage[]) {
  let reads = 0
  return { read: () => pages[Math.min(reads++, pages.length - 1)] as FeedPage, reads: () => reads }
}

afterEach(() => void vi.useRealTimers())

describe('a feed is read', () => {
  test.each<[string, FeedPage]>([
    ['entries', NEWS],
    ['more to come', { ...EMPTY, more: true }],
    ['another history', { ...EMPTY, reset: true }],
  ])('once, if it has %s', async (_what, page) => {
    const feed = createFeed(page)
    expect(await pollFeed(feed.read, { waitMs: 60_000 })).toBe(page)
    expect(feed.reads()).toBe(1)
  })

  test('once, if nobody wants to wait', async () => {
    // The clock stands still: not even a moment has passed.
    vi.useFakeTimers({ toFake: ['performance'] })
    const feed = createFeed(EMPTY, NEWS)
    expect(await pollFeed(feed.read, { waitMs: 0 })).toBe(EMPTY)
    expect(feed.reads()).toBe(1)
  })

  test('again soon, until it has news', async () => {
    const feed = createFeed(EMPTY, EMPTY, NEWS)
    // A wait to the end would be longer than the time limit of this test.
    expect(await pollFeed(feed.read, { waitMs: 3_600_000 })).toBe(NEWS)
    expect(feed.reads()).toBe(3)
  })

  test('for as long as was asked for, and no longer', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    let reads = 0
    // Each read takes 40 milliseconds of a clock that stands still otherwise.
    const read = (): FeedPage => {
      reads++
      vi.advanceTimersByTime(40)
      return EMPTY
    }
    expect(await pollFeed(read, { waitMs: 100 })).toBe(EMPTY)
    expect(reads).toBe(3)
  })
})

describe('a signal', () => {
  test('that is aborted already keeps the feed from being read', async () => {
    const feed = createFeed(NEWS)
    const waiting = pollFeed(feed.read, { waitMs: 0, signal: AbortSignal.abort(new Error('stop')) })
    await expect(waiting).rejects.toThrow('stop')
    expect(feed.reads()).toBe(0)
  })

  test('ends the wait at once', async () => {
    const controller = new AbortController()
    let isOver = false
    const waiting = pollFeed(createFeed(EMPTY).read, { waitMs: 60_000, signal: controller.signal }).catch(
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
