import { deepEqual, equal, rejects } from 'node:assert/strict'
import { FOREVER } from '../revocation/revocation.js'
import type { Position } from '../revocation/store.js'
import { entry, readAll, readFrom } from './read-feed.js'
import { HOUR, type StoreTests } from './store-fixture.js'

/** What a store promises of its history. */
export function feedContract({ test, isShared }: StoreTests): void {
  test('from the start it gives everything there is, and then only what is new', async ({ store, now }) => {
    await store.revoke([entry('token', 'a', now() + HOUR), entry('key', 'k', FOREVER)])
    const start = await readFrom(store, null)
    deepEqual(start.entries.map(({ id }) => id).toSorted(), ['a', 'k'])
    deepEqual((await store.feed(start.next, { waitMs: 0 })).entries, [])
    const given = entry('session', 's', now() + HOUR)
    const { position } = await store.revoke([given])
    deepEqual((await store.feed(start.next, { waitMs: 0 })).entries, [given])
    deepEqual((await store.feed(position, { waitMs: 0 })).entries, [])
  })

  test('many entries come in several pages, none missing', async ({ store, now }) => {
    const ids = Array.from({ length: 2500 }, (_, at) => `t${at}`)
    for (let at = 0; at < ids.length; at += 500) {
      await store.revoke(ids.slice(at, at + 500).map((id) => entry('token', id, now() + HOUR)))
    }
    deepEqual(new Set((await readAll(store)).map(({ id }) => id)), new Set(ids))
  })

  test('a position of another history is answered with a reset', async ({ store, now }) => {
    await store.revoke([entry('token', 'a', now() + HOUR)])
    const page = await store.feed('another-history:1:1', { waitMs: 0 })
    equal(page.reset, true)
  })

  test('it waits for news, but not for ever', async ({ store, now }) => {
    const { next } = await readFrom(store, null)
    deepEqual((await store.feed(next, { waitMs: 30 })).entries, [])
    const waiting = store.feed(next, { waitMs: 20_000 })
    await store.revoke([entry('token', 'a', now() + HOUR)])
    deepEqual(
      (await waiting).entries.map(({ id }) => id),
      ['a'],
    )
  })

  test('a reader that gives up is let go', async ({ store }) => {
    const { next } = await readFrom(store, null)
    const controller = new AbortController()
    const waiting = store.feed(next, { waitMs: 20_000, signal: controller.signal })
    controller.abort()
    await rejects(waiting)
  })

  test('a reader that follows misses nothing, whoever writes', async ({ store, another, now }) => {
    const other = isShared ? await another() : store
    const seen = new Set<string>()
    let position: Position | null = null
    const read = async (): Promise<void> => {
      const page = await readFrom(other, position)
      for (const { id } of page.entries) seen.add(id)
      position = page.next
    }
    const write = async (writer: number): Promise<void> => {
      for (let at = 0; at < 20; at++) {
        await (writer % 2 ? store : other).revoke([entry('token', `${writer}-${at}`, now() + HOUR)])
      }
    }
    const writing = Promise.all(Array.from({ length: 10 }, (_, writer) => write(writer)))
    const progress = { isDone: false }
    void writing.finally(() => (progress.isDone = true)).catch(() => undefined)
    while (!progress.isDone) await read()
    await writing
    await read()
    equal(seen.size, 200)
  })
}
