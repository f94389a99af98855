import { expect, test } from 'vitest'
import { createId, systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'
import { type RevocationStore } from '../../packages/tokenlib/src/index.js'
import { FOREVER, type Position, type Revocation } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock } from '../helpers/manager.js'

const HOUR = 3_600_000
// As many changes as a store remembers; a reader that is further behind has to read everything again.
const REMEMBERED = 4096

const token = (until: number, id = createId(systemRandom)): Revocation => ({
  kind: 'token',
  id,
  notBefore: FOREVER,
  until,
})

const tokens = (count: number, until: number) => Array.from({ length: count }, () => token(until))

const textOf = ({ kind, id, notBefore, until }: Revocation): string => `${kind} ${id} ${notBefore} ${until}`

// Reads to the end, and does something between any two pages.
async function read(store: RevocationStore, after: Position | null, between = async () => {}) {
  const seen = new Set<string>()
  let next = after
  let pages = 0
  for (;;) {
    const page = await store.feed(next, { waitMs: 0 })
    if (page.reset) return { seen, next: page.next, pages, isReset: true }
    for (const entry of page.entries) seen.add(textOf(entry))
    next = page.next
    pages++
    if (!page.more) return { seen, next, pages, isReset: false }
    await between()
  }
}

test('a full read has every entry, exactly as it was given, in pages of a bounded size', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const given = [
    ...tokens(5000, clock() + HOUR + 123),
    ...tokens(1500, FOREVER).map((entry) => ({ ...entry, kind: 'session' as const })),
    ...tokens(1500, clock() + 77).map((entry, at) => ({ ...entry, id: `foreign-${at}` })),
    { kind: 'key' as const, id: 'k', notBefore: FOREVER, until: FOREVER },
  ]
  await store.revoke(given)
  const { seen, pages, next } = await read(store, null)
  expect(seen).toEqual(new Set(given.map(textOf)))
  expect(pages).toBeGreaterThanOrEqual(8)
  expect((await store.feed(next, { waitMs: 0 })).entries).toEqual([])
})

test('a reader from the start misses nothing that is written, moved or dropped between its pages', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const early = tokens(3000, clock() + HOUR)
  const ending = tokens(3000, clock() + 1000)
  await store.revoke([...early, ...ending])
  clock.seconds += 2
  const late: Revocation[] = []
  // Segments grow and are pruned, and old entries change, while it reads.
  const { seen, isReset } = await read(store, null, async () => {
    const batch = late.length < 12_000 ? tokens(600, clock() + HOUR) : []
    const longer = early.splice(0, 10).map((entry) => ({ ...entry, until: entry.until + 5 }))
    late.push(...batch, ...longer)
    await store.revoke([...batch, ...longer])
    await store.prune(500)
  })
  expect(isReset).toBe(false)
  expect([...early, ...late].filter((entry) => !seen.has(textOf(entry)))).toEqual([])
})

test('a reader that is too far behind is told so, and then has everything from the start', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const first = tokens(10, clock() + HOUR)
  const { position } = await store.revoke(first)
  const most = tokens(REMEMBERED, clock() + HOUR)
  await store.revoke(most)
  expect((await read(store, position)).seen).toEqual(new Set(most.map(textOf)))
  const last = token(clock() + HOUR)
  await store.revoke([last])
  const behind = await read(store, position)
  expect(behind).toMatchObject({ isReset: true, seen: new Set() })
  const all = new Set([...first, ...most, last].map(textOf))
  expect((await read(store, behind.next)).seen).toEqual(all)
  expect((await read(store, null)).seen).toEqual(all)
})

test('a position in the middle of a full read is valid for as long as the changes since are remembered', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  await store.revoke(tokens(3000, clock() + HOUR))
  const { next } = await store.feed(null, { waitMs: 0 })
  expect((await read(store, next)).seen).toEqual((await read(store, next)).seen)
  await store.revoke(tokens(REMEMBERED + 1, clock() + HOUR))
  expect(await read(store, next)).toMatchObject({ isReset: true })
})

test('what is no position of this store is answered with a reset', async () => {
  const clock = createClock()
  const store = createMemoryStore({ clock })
  const { position } = await store.revoke(tokens(5, clock() + HOUR))
  const [epoch] = position.split(':')
  const wrong = [
    '',
    ':',
    'x',
    `${epoch}`,
    `${epoch}:`,
    `${epoch}:6`,
    `${epoch}:-1`,
    `${epoch}:1.5`,
    `${epoch}:NaN`,
    `${epoch}:5:1`,
    `${epoch}:5:99:0`,
    `${epoch}:5:0:0:0`,
    `${epoch}:5 `,
    ` ${epoch}:5`,
    `other:5`,
    `${epoch}:9999999999999999`,
  ]
  for (const after of wrong) {
    const page = await store.feed(after, { waitMs: 0 })
    expect(page, after).toMatchObject({ reset: true, entries: [], more: false })
    expect((await read(store, page.next)).seen.size, after).toBe(5)
  }
})
