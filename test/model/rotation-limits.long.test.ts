import { describe, expect, test } from 'vitest'
import { fewAnswers, noFalseLogout } from './rotation/properties.js'
import { define, PROMISED, PROMISED_AT_LENGTH } from './rotation/scenarios.js'
import { search } from './rotation/search.js'
import { SHIPPED } from './rotation/variants.js'
import type { Bounds } from './rotation/world.js'

describe('the limits of delays are exact', () => {
  // All delays up to a grace or an access lifetime of 5.
  const LENGTH = 5
  const delays = Array.from({ length: LENGTH + 1 }, (_, delay) => delay)
  const pairs = delays.flatMap((requestDelay) => delays.map((answerDelay) => ({ requestDelay, answerDelay })))
  const isSafe = (bounds: Partial<Bounds>): boolean =>
    search(define('delays', { tabs: 2, ...bounds }, [noFalseLogout()]), SHIPPED).violation === null

  test('refreshing at any time, two round trips are shorter than the grace', () => {
    const bounds = { grace: LENGTH, isEager: true, losesMessages: true }
    expect(pairs.filter((pair) => isSafe({ ...bounds, ...pair }))).toEqual(
      pairs.filter(({ requestDelay, answerDelay }) => 2 * (requestDelay + answerDelay) < LENGTH),
    )
  })

  const fast = pairs.filter(({ requestDelay, answerDelay }) => requestDelay + 2 * answerDelay < LENGTH)

  test('if nothing is lost, a request and two answers are shorter than the grace', () => {
    const bounds = { grace: LENGTH, isEager: true }
    expect(pairs.filter((pair) => isSafe({ ...bounds, ...pair }))).toEqual(fast)
  })

  test.each([0, 2, 4])(
    'at expiry, they are shorter than the access lifetime, with a grace of %i',
    (grace) => {
      const bounds = { grace, accessLifetime: LENGTH, losesMessages: true }
      expect(pairs.filter((pair) => isSafe({ ...bounds, ...pair }))).toEqual(fast)
    },
  )

  // A request that is given up is at least as late as one that is not.
  const listOrphans = (most: number): readonly ((typeof pairs)[number] & { orphanDelay: number })[] =>
    fast.flatMap((pair) =>
      Array.from({ length: most + 1 - pair.requestDelay }, (_, late) => ({
        ...pair,
        orphanDelay: pair.requestDelay + late,
      })),
    )

  test('refreshing at any time, a request that was given up counts with them', () => {
    const bounds = { grace: LENGTH, isEager: true }
    const orphans = listOrphans(LENGTH)
    expect(orphans.filter((delay) => isSafe({ ...bounds, ...delay }))).toEqual(
      orphans.filter(
        ({ requestDelay, answerDelay, orphanDelay }) => requestDelay + 2 * answerDelay + orphanDelay < LENGTH,
      ),
    )
  })

  test('at expiry, it and an answer are shorter than the access lifetime and the grace', () => {
    const bounds = { grace: 2, accessLifetime: LENGTH }
    const orphans = listOrphans(LENGTH + 2)
    expect(orphans.filter((delay) => isSafe({ ...bounds, ...delay }))).toEqual(
      orphans.filter(({ answerDelay, orphanDelay }) => orphanDelay + answerDelay < LENGTH + 2),
    )
  })
})

// Otherwise a promise could be kept by a thief who never gets that far.
test('a thief is served until the last answer that he is promised to lose after', () => {
  const counted = [...PROMISED, ...PROMISED_AT_LENGTH].flatMap(({ name, bounds, properties }) =>
    properties.flatMap((property) => (property.name === 'FEW_ANSWERS' ? [{ name, bounds, property }] : [])),
  )
  expect(counted.length).toBeGreaterThan(5)
  const loose = counted.filter(
    ({ property: { bound = 0 }, ...scenario }) =>
      search({ ...scenario, properties: [fewAnswers(bound - 1)] }, SHIPPED).violation === null,
  )
  expect(loose).toEqual([])
})
