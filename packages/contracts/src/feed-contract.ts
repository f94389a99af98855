import { deepEqual, equal, rejects, ok } from 'node:assert/strict'
import type { RevocationStore } from 'tokenlib'
import type { Position, RevocationKind } from 'tokenlib/kit'
import { FOREVER, type LostData, type Revocation, type StoreNeeds } from 'tokenlib/kit'
import { HOUR, type StoreTests, session, testSessions } from './store-fixture.js'

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

  test('a reader that follows misses nothing from any writer', async ({ store, another, now }) => {
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

/** The revocation of every token of an id. */
export function entry(kind: RevocationKind, id: string, until: number): Revocation {
  return { kind, id, notBefore: FOREVER, until }
}

/** Every page of a feed after a position, and where it ends. */
export async function readFrom(
  store: RevocationStore,
  after: Position | null,
): Promise<{ readonly entries: readonly Revocation[]; readonly next: Position }> {
  const entries: Revocation[] = []
  let next = after
  for (;;) {
    const page = await store.feed(next, { waitMs: 0 })
    entries.push(...page.entries)
    next = page.next
    if (!page.more) return { entries, next }
  }
}

/** Every entry of a store, as a reader from the start comes to see it. */
export async function readAll(store: RevocationStore): Promise<readonly Revocation[]> {
  const latest = new Map<string, Revocation>()
  for (const given of (await readFrom(store, null)).entries) latest.set(`${given.kind}:${given.id}`, given)
  return [...latest.values()]
}

const ALL = { kind: 'all' as const, id: '' }

/** What a store promises when its data was destroyed. */
export function lostDataContract(tests: StoreTests): void {
  const { test, isShared } = tests
  const withSessions = testSessions(tests)

  test('a store that lost its data accepts nothing from before', async ({ store, wipe, now }) => {
    await store.revoke([entry('token', 'a', now() + HOUR)])
    await wipe()
    const keys = [{ kind: 'token' as const, id: 'a' }, ALL]
    const [, all] = await store.lookup(keys)
    ok(all !== undefined && all >= now(), `all sessions until ${all} must be revoked`)
    equal((await store.lookup(keys))[1], all)
  })

  test('a loss is reported once, to everyone who asked', async ({ store, wipe, now, advance }) => {
    const [one, other] = [collect(), collect()]
    await store.prepare(one.needs)
    await store.prepare(other.needs)
    // Again, as for a longer lifetime.
    await store.prepare({ ...one.needs, longestLifetime: 2 * HOUR })
    await store.revoke([entry('token', 'a', now() + HOUR)])
    deepEqual([one.losses, other.losses], [[], []])
    const reported: LostData[] = []
    for (let loss = 0; loss < 2; loss++) {
      advance(1000)
      await wipe()
      reported.push({ revokedBefore: await findWatermark(store) })
      await store.revoke([entry('token', 'b', now() + HOUR)])
      await store.prepare(one.needs)
      await store.lookup([ALL])
      deepEqual([one.losses, other.losses], [reported, reported])
    }
  })

  test('a loss that prepare finds is reported too', async ({ store, wipe, now }) => {
    await store.revoke([entry('token', 'a', now() + HOUR)])
    await wipe()
    const { losses, needs } = collect()
    await store.prepare(needs)
    deepEqual(losses, [{ revokedBefore: await findWatermark(store) }])
  })

  withSessions('a login after a loss is valid', async (sessions, { store, wipe, now }) => {
    const { losses, needs } = collect()
    await store.prepare(needs)
    const { sid } = await sessions.open(session({ now }))
    await wipe()
    const watermark = await findWatermark(store)
    deepEqual(losses, [{ revokedBefore: watermark }])
    equal(await sessions.get(sid, { idleMs: HOUR }), null)
    const next = await sessions.open(session({ now }))
    ok(next.startedAt > watermark)
    equal((await sessions.get(next.sid, { idleMs: HOUR }))?.sid, next.sid)
    equal(losses.length, 1)
  })

  test('what a listener throws changes nothing', async ({ store, wipe }) => {
    const { losses, needs } = collect()
    await store.prepare({ longestLifetime: HOUR, onLostData: fail })
    await store.prepare(needs)
    await wipe()
    const watermark = await findWatermark(store)
    deepEqual(losses, [{ revokedBefore: watermark }])
  })

  if (isShared)
    test('every process reports a loss of what it had seen', async ({ store, another, wipe, now }) => {
      const other = await another()
      const [one, two] = [collect(), collect()]
      await store.prepare(one.needs)
      await other.prepare(two.needs)
      await store.revoke([entry('token', 'a', now() + HOUR)])
      await other.lookup([entry('token', 'a', 0)])
      await wipe()
      const watermarks = [await findWatermark(store), await findWatermark(other)]
      await store.lookup([ALL])
      await other.lookup([ALL])
      deepEqual(
        [one.losses, two.losses],
        watermarks.map((revokedBefore) => [{ revokedBefore }]),
      )
      // One that starts now has seen nothing that it could miss.
      const three = collect()
      await (await another()).prepare(three.needs)
      deepEqual(three.losses, [])
    })
}

function collect(): { readonly losses: readonly LostData[]; readonly needs: StoreNeeds } {
  const losses: LostData[] = []
  return { losses, needs: { longestLifetime: HOUR, onLostData: (loss) => void losses.push(loss) } }
}

async function findWatermark(store: RevocationStore): Promise<number> {
  const [watermark] = await store.lookup([ALL])
  ok(watermark !== undefined, 'All sessions must be revoked')
  return watermark
}

function fail(): void {
  throw new Error('a listener that fails')
}
