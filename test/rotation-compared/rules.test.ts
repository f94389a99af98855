import { describe, expect, test } from 'vitest'
import type { PresentedToken } from '../../packages/tokenlib/src/revocation/rotation.js'
import { type Answer, findRule, RULES } from './rules.js'

const GRACE_MS = 60_000
const LATER_MS = 900_000

function open(name: string) {
  const { first, present } = findRule(name).open(GRACE_MS, 0)
  return {
    first,
    present,
    exchange(token: PresentedToken, now: number): PresentedToken {
      const answer = present(token, now)
      if (answer.outcome !== 'served' || answer.refreshToken === null) throw new Error('No new refresh token')
      return answer.refreshToken
    },
  }
}

const outcomeOf = ({ outcome }: Answer): string => outcome

test('every rule serves a client that receives every answer, and has a name of its own', () => {
  for (const { name } of RULES) {
    const { first, present } = open(name)
    let token = first
    for (let now = LATER_MS; now < 20 * LATER_MS; now += LATER_MS) {
      const answer = present(token, now)
      if (answer.outcome !== 'served') throw new Error(`${name} refused an honest client`)
      expect(answer.accessIssuedAt, name).toBe(now)
      token = answer.refreshToken ?? token
    }
  }
  expect(new Set(RULES.map(({ name }) => name)).size).toBe(RULES.length)
  expect(() => findRule('another')).toThrow(RangeError)
})

test('without rotation the first token is never replaced', () => {
  const { first, present } = open('none')
  expect(present(first, LATER_MS)).toMatchObject({ outcome: 'served', refreshToken: null, hasRotated: false })
})

test('without a grace the second use of a token is a reuse, however soon', () => {
  const { first, present, exchange } = open('noGrace')
  exchange(first, LATER_MS)
  expect(outcomeOf(present(first, LATER_MS + 1))).toBe('reuse')
})

describe('a grace with the same generation', () => {
  test('the previous token gets one that equals the newest, and does not rotate', () => {
    const { first, present, exchange } = open('sameGeneration')
    const newest = exchange(first, LATER_MS)
    const again = exchange(first, LATER_MS + GRACE_MS - 1)
    expect(again.generation).toBe(newest.generation)
    expect(present(again, 2 * LATER_MS)).toMatchObject({ outcome: 'served', hasRotated: true })
  })

  test('the newest token does not rotate again within the grace, and the previous one is a reuse after it', () => {
    const { first, present, exchange } = open('sameGeneration')
    const newest = exchange(first, LATER_MS)
    expect(present(newest, LATER_MS + 1)).toMatchObject({ outcome: 'served', hasRotated: false })
    expect(outcomeOf(present(first, LATER_MS + GRACE_MS))).toBe('reuse')
  })
})

test('a stored answer is the same answer until the grace is over, also after the next rotation', () => {
  const { first, present, exchange } = open('storedAnswer')
  const stored = present(first, LATER_MS)
  expect(present(first, LATER_MS + 1)).toEqual({ ...stored, hasRotated: false })
  exchange(exchange(first, LATER_MS + 2), LATER_MS + 3)
  expect(present(first, LATER_MS + GRACE_MS - 1)).toEqual({ ...stored, hasRotated: false })
  expect(outcomeOf(present(first, LATER_MS + GRACE_MS))).toBe('reuse')
})

test('the previous token gets the newest one hours later, and an older token only within the grace of its use', () => {
  const { first, present, exchange } = open('newestForPrevious')
  const second = exchange(first, LATER_MS)
  expect(exchange(first, 20 * LATER_MS)).toBe(second)
  const third = exchange(second, 20 * LATER_MS + 1)
  expect(outcomeOf(present(first, 20 * LATER_MS + 2))).toBe('reuse')

  const fourth = exchange(third, 20 * LATER_MS + 3)
  expect(exchange(second, 20 * LATER_MS + GRACE_MS)).toBe(fourth)
  expect(outcomeOf(present(second, 20 * LATER_MS + GRACE_MS + 1))).toBe('reuse')
})

describe('our rule', () => {
  test('is the shipped one: a repeat rotates nothing, a young child is kept, and siblings are superseded, then a reuse', () => {
    const { first, present, exchange } = open('successorUsed')
    const child = exchange(first, LATER_MS)
    const sibling = exchange(first, 2 * LATER_MS)
    expect(sibling.parent).toBe(child.parent)
    expect(present(sibling, 2 * LATER_MS + 1)).toMatchObject({ outcome: 'served', refreshToken: null })
    expect(present(sibling, 3 * LATER_MS)).toMatchObject({ outcome: 'served', hasRotated: true })
    expect(outcomeOf(present(child, 3 * LATER_MS + GRACE_MS - 1))).toBe('superseded')
    expect(outcomeOf(present(child, 3 * LATER_MS + GRACE_MS))).toBe('reuse')
  })
})
