import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/kit.js'
import {
  createRevocationTable,
  PARTS,
  type RevocationTable,
  SEGMENTS,
} from '../../packages/tokenlib/src/stores/table/revocation-table.js'
import { hashWords } from '../../packages/tokenlib/src/stores/table/table-segment.js'
import { toId } from '../../packages/tokenlib/src/tokens/ids.js'

const NOW = 1_767_225_600_000
// Multipliers of one, so that a test can tell where an id goes.
const PLAIN = () => Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 1)
const ONES = Int32Array.of(1, 1)

// The same for every run.
function createIds(count: number, seed = 1): string[] {
  let state = seed
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return Math.imul(state ^ (state >>> 15), 0x2c_1b_3c_6d)
  }
  return Array.from({ length: count }, () => toId(next(), next(), next() | 1, next()))
}

// All of the random half is the same: one segment, one first slot, one key.
const alike = (number: number, tail = 7): string => toId(number, number * 3, tail, 0x12_34_50_00)

function readAll(table: RevocationTable): Map<string, number> {
  const entries = new Map<string, number>()
  for (let part = 0; part < PARTS; part++) {
    for (const { id, until } of table.read(part, 'token')) {
      expect(entries.has(id)).toBe(false)
      entries.set(id, until)
    }
  }
  return entries
}

function pruneAll(table: RevocationTable, now: number): number {
  let dropped = 0
  for (let step = 0; step < SEGMENTS; step++) dropped += table.prune(now, Number.POSITIVE_INFINITY)
  return dropped
}

type Step =
  | { readonly put: number; readonly lifetime: number }
  | { readonly prune: number }
  | { readonly sweep: number }
  | { readonly wait: number }

test('whatever is done to it, it has what a map has, except for some that have ended', () => {
  const pool = [...createIds(40), ...Array.from({ length: 60 }, (_, at) => alike(at, 1 + (at % 3)))]
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ put: fc.nat(pool.length - 1), lifetime: fc.integer({ min: -500, max: 5000 }) }),
    },
    { weight: 1, arbitrary: fc.record({ prune: fc.integer({ min: 1, max: 20 }) }) },
    { weight: 1, arbitrary: fc.record({ sweep: fc.integer({ min: 1, max: 3000 }) }) },
    { weight: 2, arbitrary: fc.record({ wait: fc.nat(2000) }) },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const table = createRevocationTable(PLAIN)
      const model = new Map<string, number>()
      let now = NOW
      for (const action of steps) {
        if ('wait' in action) now += action.wait
        else if ('sweep' in action) table.sweep(now, action.sweep)
        else if ('prune' in action) {
          let dropped = 0
          for (let at = 0; at < SEGMENTS; at++) dropped += table.prune(now, action.prune - dropped)
          expect(dropped).toBeLessThanOrEqual(action.prune)
          expect(dropped).toBe(model.size - table.size)
        } else {
          const id = pool[action.put] as string
          const until = now + action.lifetime
          const known = model.get(id)
          expect(table.put(id, until, now)).toBe(known === undefined || until > known)
          model.set(id, Math.max(until, known ?? 0))
        }
        for (const [id, until] of model) if (until <= now && !table.has(id)) model.delete(id)
        expect(table.size).toBe(model.size)
        for (const id of pool) if (table.has(id) !== model.has(id)) expect.fail(id)
      }
      expect(readAll(table)).toEqual(model)
    }),
    { numRuns: 25 },
  )
})

describe('where ids meet', () => {
  test('those that are alike in all but their time are kept apart', () => {
    const table = createRevocationTable(PLAIN)
    for (let at = 0; at < 200; at += 2) expect(table.put(alike(at), NOW + at, 0)).toBe(true)
    for (let at = 0; at < 200; at++) expect(table.has(alike(at)), String(at)).toBe(at % 2 === 0)
    expect(readAll(table)).toEqual(
      new Map(Array.from({ length: 100 }, (_, at) => [alike(2 * at), NOW + 2 * at])),
    )
  })

  test('those that differ in a single bit are kept apart', () => {
    for (let bit = 0; bit < 128; bit++) {
      const words = [0x40_00_00_01, 2, 0x30, 0x12_34_56_78]
      const other = words.map((word, at) => (at === bit >> 5 ? word ^ (1 << (bit & 31)) : word))
      const [one, two] = [words, other].map((given) => toId(...(given as [number, number, number, number])))
      const table = createRevocationTable(PLAIN)
      table.put(one as string, NOW, 0)
      expect(table.has(two as string)).toBe(false)
      table.put(two as string, NOW + 999, 0)
      expect(readAll(table)).toEqual(
        new Map([
          [one, NOW],
          [two, NOW + 999],
        ]),
      )
    }
  })

  test('a search goes on at the first slot after the last one', () => {
    const last = Array.from({ length: 0x1_00_00 }, (_, at) => at + 1).find(
      (w2) => hashWords(ONES, w2, 0) >>> 24 === 0xff,
    ) as number
    const ids = Array.from({ length: 50 }, (_, at) => toId(at, 0, last, 0))
    const table = createRevocationTable(PLAIN)
    for (const [at, id] of ids.entries()) {
      table.put(id, NOW, 0)
      for (const [other, text] of ids.entries()) expect(table.has(text)).toBe(other <= at)
    }
  })

  test('too many that are alike are not taken, so that no search is long', () => {
    const table = createRevocationTable(PLAIN)
    let taken = 0
    while (taken < 2000 && table.put(alike(taken), NOW, 0) === true) taken++
    expect(taken).toBeGreaterThan(500)
    expect(taken).toBeLessThan(2000)
    expect(table.size).toBe(taken)
    for (let at = 0; at < taken; at += 50) expect(table.has(alike(at))).toBe(true)
    for (let at = taken; at < taken + 20; at++) {
      expect(table.put(alike(at), NOW, 0)).toBe(null)
      expect(table.has(alike(at))).toBe(false)
    }
    expect(table.size).toBe(taken)
  })

  test('counted ids spread like random ones', () => {
    const table = createRevocationTable(PLAIN)
    let taken = 0
    for (let at = 0; at < 5000; at++) {
      if (table.put(toId(0, 0, 1, at), NOW, 0) === true) taken++
      if (table.put(toId(0, 0, at + 2, 1), NOW, 0) === true) taken++
    }
    expect([taken, table.size]).toEqual([10_000, 10_000])
  })

  test('an id that looks like an empty slot, or is no id at all, is not taken', () => {
    const table = createRevocationTable(PLAIN)
    for (const id of [toId(1, 2, 0, 4), 'x', '', `${alike(1).slice(0, 21)}B`, `+${alike(1).slice(1)}`]) {
      expect(table.put(id, NOW, 0), id).toBe(null)
      expect(table.has(id), id).toBe(false)
    }
    expect(table.size).toBe(0)
  })
})

describe('until', () => {
  const keep = (until: number): number | undefined => {
    const table = createRevocationTable(PLAIN)
    table.put(alike(1), until, NOW)
    return readAll(table).get(alike(1))
  }

  test('is exact up to 2106, and never shortened', () => {
    const latest = 0xff_ff_ff_ff * 1000
    fc.assert(
      fc.property(fc.integer({ min: 0, max: latest - 1 }), (until) => {
        expect(keep(until)).toBe(until)
        expect(keep(until - 0.5)).toBe(until)
      }),
      { numRuns: 20 },
    )
  })

  test.each([
    [0xff_ff_ff_ff * 1000 - 1, 0xff_ff_ff_ff * 1000 - 1],
    [0xff_ff_ff_ff * 1000, FOREVER],
    [FOREVER, FOREVER],
    [Number.POSITIVE_INFINITY, FOREVER],
    [Number.NaN, FOREVER],
    [0, 0],
    [-1, 0],
    [Number.NEGATIVE_INFINITY, 0],
  ])('%s is kept as %s', (given, kept) => expect(keep(given)).toBe(kept))

  test('an entry goes at its very millisecond, and no sooner', () => {
    const table = createRevocationTable()
    const ids = createIds(2500)
    ids.forEach((id, at) => table.put(id, NOW + at, 0))
    for (const late of [0, 999, 1000, 1700, 2499]) {
      pruneAll(table, NOW + late)
      expect(ids.filter((id) => table.has(id))).toEqual(ids.filter((_, at) => at > late))
    }
  })

  test.each([Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])(
    'what never ends stays, even at %s',
    (now) => {
      const table = createRevocationTable()
      const ids = createIds(100)
      ids.forEach((id, at) => table.put(id, at % 2 ? FOREVER : NOW, 0))
      expect(pruneAll(table, now)).toBe(50)
      expect(ids.every((id, at) => table.has(id) === (at % 2 === 1))).toBe(true)
    },
  )
})

test.each([0, 1, 40, 5000])(
  'a reader of %s entries finds them all, and skips the empty segments',
  (count) => {
    const table = createRevocationTable()
    const ids = createIds(count)
    for (const id of ids) table.put(id, NOW, 0)
    const found: string[] = []
    let parts = 0
    for (let part = table.findPart(0); part < PARTS; part = table.findPart(part + 1)) {
      found.push(...table.read(part, 'token').map(({ id }) => id))
      parts++
    }
    expect(found.toSorted()).toEqual(ids.toSorted())
    expect(parts).toBeLessThanOrEqual((PARTS / SEGMENTS) * count)
  },
)

describe('memory', () => {
  test('an entry takes 32 bytes at most, at every fill, also after growth and pruning', () => {
    const table = createRevocationTable()
    let most = 0
    createIds(30_000).forEach((id, at) => {
      table.put(id, NOW + at, 0)
      if (at >= 5000 && at % 500 === 0) most = Math.max(most, table.bytes / table.size)
    })
    expect(most).toBeLessThanOrEqual(32)
    for (const ended of [1000, 10_000, 20_000]) {
      expect(pruneAll(table, NOW + ended)).toBeGreaterThan(0)
      expect(table.bytes / table.size).toBeLessThanOrEqual(32)
    }
    pruneAll(table, NOW + 30_000)
    expect([table.size, table.bytes]).toEqual([0, 0])
  })

  test('what has ended makes room for the new, without growth', () => {
    const table = createRevocationTable()
    const ids = createIds(50_000)
    let most = 0
    for (const [at, id] of ids.entries()) {
      table.put(id, NOW + at + 10_000, NOW + at)
      most = Math.max(most, table.size)
    }
    expect(most).toBeLessThan(20_000)
    expect(ids.slice(-10_000).every((id) => table.has(id))).toBe(true)
  })

  test('sweeping a little with every write holds little more than what is alive', () => {
    const table = createRevocationTable()
    const ids = createIds(10_000)
    let most = 0
    for (const [at, id] of ids.entries()) {
      table.sweep(NOW + at, 32)
      table.put(id, NOW + at + 1000, NOW + at)
      most = Math.max(most, table.size)
    }
    expect(most).toBeLessThan(1500)
    expect(ids.slice(-1000).every((id) => table.has(id))).toBe(true)
  })

  test('pruning drops no more than it is told to, and goes on where it was', () => {
    const table = createRevocationTable(PLAIN)
    for (let at = 0; at < 10; at++) table.put(alike(at), NOW + (at % 2), 0)
    const dropped: number[] = []
    for (let step = 0; step < SEGMENTS + 5; step++) dropped.push(table.prune(NOW, 2))
    expect(dropped.filter((count) => count > 0)).toEqual([2, 2, 1])
    expect([...readAll(table).values()]).toEqual([1, 1, 1, 1, 1].map((late) => NOW + late))
  })
})
