import { describe, expect, test } from 'vitest'
import { createTimedId, systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'
import { parseListOptions } from '../../packages/tokenlib/src/revocation/session-store.js'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import { NOW } from '../helpers/manager.js'

const FIRST = { limit: 10, before: null, idleMs: FOREVER }

describe('a page of sessions', () => {
  test('goes on after a session, whose start is in its id', () => {
    expect(parseListOptions(FIRST)).toEqual(FIRST)
    const sid = createTimedId(NOW * 1000 + 7, systemRandom)
    expect(parseListOptions({ ...FIRST, before: sid })).toEqual({
      ...FIRST,
      before: { startedAt: NOW * 1000 + 7, sid },
    })
  })

  test.each([1, 2, 1000])('may have %i sessions', (limit) => {
    expect(parseListOptions({ ...FIRST, limit }).limit).toBe(limit)
  })

  test.each<[object, string]>([
    ...[0, -1, 1001, 1.5, Number.NaN, '5'].map((limit): [object, string] => [
      { limit },
      'limit must be a whole number from 1 to 1000',
    ]),
    ...[Number.NaN, '5', undefined].map((idleMs): [object, string] => [
      { idleMs },
      'idleMs must be a number',
    ]),
    ...['', 'x', 7].map((before): [object, string] => [
      { before },
      'before must be the id of a session, or null',
    ]),
  ])('%o is refused', (given, message) => {
    expect(() => parseListOptions({ ...FIRST, ...given })).toThrow(new TypeError(message))
  })
})
