import { describe, expect, test } from 'vitest'
import { createId, systemRandom, toTimedId } from '../../packages/tokenlib/src/tokens/ids.js'
import { type RevocationStore } from '../../packages/tokenlib/src/index.js'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, NOW } from '../helpers/manager.js'

const HOUR = 3_600_000
const ID = toTimedId(NOW * 1000, 'abcdefghijklmQ')

const entry = (id: string, until: number, notBefore = FOREVER): Revocation => ({
  kind: 'token',
  id,
  notBefore,
  until,
})

async function readAll(store: RevocationStore): Promise<Revocation[]> {
  const entries: Revocation[] = []
  for (let next: string | null = null; ;) {
    const page = await store.feed(next, { waitMs: 0 })
    entries.push(...page.entries)
    next = page.next
    if (!page.more) return entries
  }
}

const find = (store: RevocationStore, id: string) => store.lookup([{ kind: 'token', id }])

describe('an id of 128 bits', () => {
  test('is one entry, whichever way it comes', async () => {
    const clock = createClock()
    const [early, late] = [clock() + HOUR, clock() + 2 * HOUR]
    const given = [
      entry(ID, early, 5),
      entry(ID, early),
      entry(ID, late, 9),
      entry(ID, 0),
      entry(ID, late, 7),
    ]
    for (const order of [given, given.toReversed(), [...given, ...given]]) {
      const [one, several] = [createMemoryStore({ clock }), createMemoryStore({ clock })]
      await one.revoke(order)
      for (const single of order) await several.revoke([single])
      for (const store of [one, several]) {
        expect(await find(store, ID)).toEqual([FOREVER])
        expect(await readAll(store)).toEqual([entry(ID, late)])
      }
    }
  })

  test('that is revoked up to a moment only keeps that moment', async () => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    await store.revoke([entry(ID, clock() + HOUR, 5), entry(ID, clock() + 1, 9)])
    expect(await find(store, ID)).toEqual([9])
    expect(await readAll(store)).toEqual([entry(ID, clock() + HOUR, 9)])
  })

  test('is a token or a session', async () => {
    const store = createMemoryStore({ clock: createClock() })
    await store.revoke([entry(ID, FOREVER)])
    const [token, session, user] = await store.lookup([
      { kind: 'token', id: ID },
      { kind: 'session', id: ID },
      { kind: 'user', id: ID },
    ])
    expect([token, session, user]).toEqual([FOREVER, undefined, undefined])
  })

  test('has one spelling; the others are ids of their own', async () => {
    const store = createMemoryStore({ clock: createClock() })
    const spellings = [...'QRSTUVWXYZabcdef'].map((last) => ID.slice(0, -1) + last).concat(`${ID}==`)
    for (const [at, id] of spellings.entries()) {
      expect(await find(store, id), id).toEqual([undefined])
      await store.revoke([entry(id, FOREVER)])
      expect((await readAll(store)).length).toBe(at + 1)
    }
    for (const id of spellings) expect(await find(store, id), id).toEqual([FOREVER])
  })

  test('without a bit in its third quarter is kept all the same', async () => {
    const id = Buffer.from('0123456789abcdef0000000089abcdef', 'hex').toString('base64url')
    const store = createMemoryStore({ clock: createClock() })
    await store.revoke([entry(id, 7)])
    expect(await find(store, id)).toEqual([FOREVER])
    expect(await readAll(store)).toEqual([entry(id, 7)])
  })

  test('that is like thousands of others is kept all the same', async () => {
    const store = createMemoryStore({ clock: createClock() })
    const given = Array.from({ length: 2000 }, (_, at) => entry(toTimedId(at, 'abcdefghijklmQ'), FOREVER))
    await store.revoke(given)
    await store.revoke(given)
    expect(new Set(await store.lookup(given))).toEqual(new Set([FOREVER]))
    expect(new Set((await readAll(store)).map(({ id }) => id)).size).toBe(2000)
    expect(await find(store, toTimedId(2000, 'abcdefghijklmQ'))).toEqual([undefined])
  })
})

describe.each([
  ['in the table', ID],
  ['elsewhere', 'foreign'],
])('a time that makes no sense, %s', (_place, id) => {
  test.each([Number.NaN, Number.POSITIVE_INFINITY])('an entry until %s never ends', async (until) => {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    const first = await store.revoke([entry(id, until)])
    expect((await readAll(store))[0]?.until).toBe(FOREVER)
    const again = await store.revoke([entry(id, until)])
    expect(again.position).toBe(first.position)
    clock.seconds *= 10
    await store.prune(10)
    expect(await find(store, id)).toEqual([FOREVER])
  })

  test.each([0, -1, Number.NEGATIVE_INFINITY])(
    'an entry until %s counts until it is dropped',
    async (until) => {
      const store = createMemoryStore({ clock: createClock() })
      await store.revoke([entry(id, until)])
      expect(await find(store, id)).toEqual([FOREVER])
      expect(await store.prune(10)).toBe(1)
      expect(await find(store, id)).toEqual([undefined])
    },
  )

  test('a token that is revoked up to no number is revoked', async () => {
    const store = createMemoryStore({ clock: createClock() })
    await store.revoke([entry(id, FOREVER, Number.NaN)])
    expect(await find(store, id)).toEqual([FOREVER])
  })
})

describe('pruning', () => {
  const fill = async (count: number) => {
    const clock = createClock()
    const pace = { stepMs: 0 }
    // Every step of pruning reads the clock, and this one can take its time.
    const slowClock = () => {
      for (const startedAt = performance.now(); performance.now() - startedAt < pace.stepMs;);
      return clock()
    }
    const store = createMemoryStore({ clock: slowClock })
    const ids = Array.from({ length: count }, () => createId(systemRandom))
    await store.revoke(ids.map((id, at) => entry(id, at % 2 ? clock() + HOUR : FOREVER)))
    const ended = ids.filter((_, at) => at % 2 === 1)
    const kept = ids.filter((_, at) => at % 2 === 0)
    return { store, clock, pace, ended, kept }
  }

  test('drops at most so many, of whatever kind and wherever they are', async () => {
    const { store, clock, kept } = await fill(600)
    const others = Array.from({ length: 100 }, (_, at) => ({ ...entry(`t${at}`, clock() + HOUR) }))
    await store.revoke([...others, ...others.map((other) => ({ ...other, kind: 'key' as const }))])
    clock.seconds += 3600
    const steps: number[] = []
    for (let dropped = -1; dropped !== 0; steps.push(dropped)) dropped = await store.prune(70)
    expect(steps.slice(0, -2).every((dropped) => dropped === 70)).toBe(true)
    expect(steps.reduce((sum, dropped) => sum + dropped)).toBe(500)
    expect(new Set(await store.lookup(kept.map((id) => ({ kind: 'token', id }))))).toEqual(new Set([FOREVER]))
    expect(await store.prune(0)).toBe(0)
  })

  test('lets others work in between, and drops nothing of theirs', async () => {
    const { store, clock, pace, ended, kept } = await fill(10_000)
    clock.seconds += 3600
    pace.stepMs = 0.02
    const progress = { isDone: false }
    const pruning = Promise.all([store.prune(1e9), store.prune(1e9)]).finally(() => (progress.isDone = true))
    const written: string[] = []
    let turns = 0
    while (!progress.isDone) {
      await new Promise(setImmediate)
      turns++
      // Some are new, and some were about to be dropped.
      const batch = [createId(systemRandom), ended[turns % ended.length] as string]
      await store.revoke(batch.map((id) => entry(id, clock() + HOUR)))
      written.push(...batch)
    }
    const [one, other] = await pruning
    expect(turns).toBeGreaterThan(2)
    expect(one + other).toBeGreaterThan(0)
    const keys = [...kept, ...written].map((id) => ({ kind: 'token' as const, id }))
    expect(new Set(await store.lookup(keys))).toEqual(new Set([FOREVER]))
    await store.prune(1e9)
    expect((await readAll(store)).length).toBe(new Set([...kept, ...written]).size)
  })

  test('ends quietly when the store is closed in the middle of it', async () => {
    const { store, clock, pace } = await fill(20_000)
    clock.seconds += 3600
    pace.stepMs = 0.02
    const pruning = store.prune(1e9)
    await store.close()
    expect(await pruning).toBeLessThan(10_000)
    await expect(find(store, ID)).rejects.toThrow(/closed/)
  })
})

test('what is held stays bounded by what is alive, also for ids of our own and in batches', async () => {
  for (const batch of [1, 50]) {
    const clock = createClock()
    const store = createMemoryStore({ clock })
    let most = 0
    for (let second = 0; second < 1500; second += batch) {
      clock.seconds = NOW + second
      const ids = Array.from({ length: batch }, () => createId(systemRandom))
      await store.revoke(ids.map((id) => entry(id, clock() + 100_000)))
      if (second % 100 === 0) most = Math.max(most, (await readAll(store)).length)
    }
    expect(most).toBeGreaterThanOrEqual(100)
    expect(most).toBeLessThan(300)
  }
})
