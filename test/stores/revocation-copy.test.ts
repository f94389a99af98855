import { describe, expect, test } from 'vitest'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/kit.js'
import {
  createRevocationCopy,
  createSweeper,
  type RevocationCopy,
} from '../../packages/tokenlib/src/stores/memory/revocations.js'
import { createId, systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'

const NOW = 1_800_000_000_000
const LATER = NOW + 1000

const revocation = (given: Partial<Revocation> = {}): Revocation => ({
  kind: 'token',
  id: createId(systemRandom),
  notBefore: FOREVER,
  until: LATER,
  ...given,
})
// Ids of our own go into the compact table, all others into a map.
const own = (count: number, until = LATER) => Array.from({ length: count }, () => revocation({ until }))
const foreign = (count: number, until = LATER) =>
  Array.from({ length: count }, (_, at) => revocation({ id: `foreign-${at}`, until }))

function createCopy(entries: readonly Revocation[], now = NOW): RevocationCopy {
  let changes = 0
  const copy = createRevocationCopy(
    'The copy',
    () => now,
    () => ++changes,
  )
  for (const entry of entries) copy.merge(entry, 0)
  return copy
}

const sum = (steps: Iterable<number>): number => [...steps].reduce((all, one) => all + one, 0)

describe('a copy of revocations', () => {
  test('covers an entry that it has for at least as long', () => {
    const [token = revocation()] = own(1)
    const user = revocation({ kind: 'user', id: 'ada', notBefore: 500 })
    const copy = createCopy([token, user])
    for (const entry of [token, user]) {
      expect(copy.covers(entry)).toBe(true)
      expect(copy.covers({ ...entry, until: LATER - 1 })).toBe(true)
      expect(copy.covers({ ...entry, until: LATER + 1 })).toBe(false)
      expect(copy.covers({ ...entry, id: createId(systemRandom) })).toBe(false)
    }
    expect(copy.covers({ ...user, notBefore: 499 })).toBe(true)
    expect(copy.covers({ ...user, notBefore: 501 })).toBe(false)
    expect(createCopy([]).covers(token)).toBe(false)
  })

  test('has every entry once, wherever it is kept', () => {
    const session = revocation({ kind: 'session' })
    const user = revocation({ kind: 'user', notBefore: FOREVER })
    const given = [...own(3), ...foreign(2), session, user, revocation({ kind: 'key', id: 'k' })]
    const copy = createCopy([...given, ...given])
    expect(copy.size).toBe(given.length)
    expect(new Set(copy.entries())).toEqual(new Set(given))
    expect(copy.watermarks()).toEqual([expect.objectContaining(user)])
  })

  test('reports an entry that is new or raised, and no other', () => {
    const reported: Revocation[] = []
    const copy = createRevocationCopy(
      'The copy',
      () => NOW,
      (entry) => reported.push(entry),
    )
    const limited = revocation({ kind: 'session', notBefore: 5, until: LATER + 7 })
    const full = { ...limited, notBefore: FOREVER, until: LATER }
    copy.merge(limited)
    copy.merge({ ...limited, notBefore: 4 })
    copy.merge(full)
    copy.merge(full)
    copy.merge({ ...full, until: LATER + 8 })
    expect(reported).toEqual([limited, { ...full, until: LATER + 7 }, { ...full, until: LATER + 8 }])
    expect(copy.size).toBe(1)
  })

  test('works without a listener', () => {
    const copy = createRevocationCopy('The copy', () => NOW)
    const given = [...own(1), ...foreign(1)]
    for (const entry of given) copy.merge(entry)
    expect(copy.size).toBe(2)
  })

  test('is read in pages, each entry once', () => {
    const given = [...foreign(5), ...own(40), revocation({ kind: 'user', id: 'ada' })]
    const copy = createCopy(given)
    const seen: Revocation[] = []
    const sizes: number[] = []
    for (let place: number | null = 0; place !== null && sizes.length < 1000;) {
      const { entries, next } = copy.read(place, 2)
      seen.push(...entries)
      sizes.push(entries.length)
      place = next
    }
    expect(seen).toHaveLength(given.length)
    expect(new Set(seen)).toEqual(new Set(given))
    expect(sizes.slice(0, 3)).toEqual([2, 2, 1])
    expect(Math.max(...sizes)).toBeLessThan(40)
  })

  test('prunes what has ended, up to a limit, in steps of a bounded size', () => {
    const alive = [...own(1, NOW + 1), revocation({ id: 'alive', until: NOW + 1 })]
    const copy = createCopy([...foreign(600, NOW), ...own(10, NOW), ...alive])
    expect(sum(copy.prune(300))).toBe(300)
    expect(copy.size).toBe(312)
    const steps = [...copy.prune(FOREVER)]
    expect(sum(steps)).toBe(310)
    expect(Math.max(...steps)).toBeLessThanOrEqual(256)
    expect(new Set(copy.entries())).toEqual(new Set(alive))
    expect(sum(createCopy(own(10, NOW)).prune(4))).toBe(4)
  })

  test('drops more of what has ended after more writes', () => {
    const inMap = createCopy(foreign(20, NOW))
    inMap.sweep(1)
    expect(inMap.size).toBe(16)
    inMap.sweep(3)
    expect(inMap.size).toBe(4)
    const inTable = createCopy(own(20, NOW))
    inTable.sweep(200)
    expect(inTable.size).toBe(0)
  })

  test('has nothing after it is cleared, and does not answer after it is closed', () => {
    const given = [...own(1), ...foreign(1)]
    const copy = createCopy(given)
    copy.clear()
    expect(copy.size).toBe(0)
    expect(copy.isRevokedNow(given, NOW)).toBe(false)
    for (const entry of given) copy.merge(entry, 0)
    copy.close()
    expect(copy.size).toBe(0)
    expect(() => copy.isRevokedNow(given, NOW)).toThrow('The copy is closed')
  })
})

describe('a sweeper', () => {
  const toMap = (untils: Record<string, number>) =>
    new Map(Object.entries(untils).map(([key, until]) => [key, { until }]))

  test('goes on where it stopped, and starts again at the end', () => {
    const map = toMap({ a: 9, b: 9, c: 1, d: 9 })
    const sweep = createSweeper(map)
    expect(sweep(5, 2)).toBe(0)
    expect(sweep(5, 1)).toBe(1)
    expect([...map.keys()]).toEqual(['a', 'b', 'd'])
    expect(sweep(9, 1)).toBe(1)
    expect([...map.keys()]).toEqual(['a', 'b'])
    expect(sweep(9, 1)).toBe(1)
    expect([...map.keys()]).toEqual(['b'])
  })

  test('drops no more than its limit, and counts what was there', () => {
    const map = toMap({ a: 1, b: 1, c: 1 })
    expect(createSweeper(map)(5, 3, 2)).toBe(2)
    expect(map.size).toBe(1)
    expect(createSweeper(map, () => false)(5, 3)).toBe(0)
    expect(createSweeper(toMap({}))(5, 3)).toBe(0)
  })
})
