import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NOT_PROMISED } from './rotation/limits.js'
import { type Catch, type Result, toCheckedPage, toLimitsPage } from './rotation/pages.js'
import { fewAnswers, noFalseLogout } from './rotation/properties.js'
import { define, PROMISED, PROMISED_AT_LENGTH } from './rotation/scenarios.js'
import { type Scenario, search, toSettleOptions, type Violation } from './rotation/search.js'
import { settle } from './rotation/settle.js'
import { listSteps } from './rotation/steps.js'
import { RULE_VARIANTS, SHIPPED, SURROUNDINGS_VARIANTS } from './rotation/variants.js'
import { createWorld } from './rotation/world.js'

const results: Result[] = []
const catches: Catch[] = []

describe('the rule of rotation holds in all histories of', () => {
  test.each([...PROMISED, ...PROMISED_AT_LENGTH].map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    (_, scenario) => {
      const finding = search(scenario, SHIPPED)
      expect(finding.violation).toBeNull()
      expect(finding.isComplete).toBe(true)
      results.push({ scenario, finding })
    },
  )
})

// Some variants have worlds without end where nothing is wrong.
const MAX_WORLDS = 10_000

describe('the search catches a rule that', () => {
  const variants = [
    ...[...RULE_VARIANTS].map(([name, rule]) => [name, { ...SHIPPED, rule }] as const),
    ...SURROUNDINGS_VARIANTS,
  ]
  test.each(variants)('%s', (variant, design) => {
    const caughtBy = PROMISED.filter((scenario) => search(scenario, design, MAX_WORLDS).violation !== null)
    expect(caughtBy).not.toEqual([])
    catches.push({ variant, caughtBy: caughtBy.map(({ name }) => name) })
  })
})

test('what was checked is on its page', async () => {
  await expect(toCheckedPage(results, catches)).toMatchFileSnapshot('rotation/checked.md')
})

test('everything that is not promised has a history that shows why, and is on its page', async () => {
  const find = (scenario: Scenario): Violation => {
    const { violation } = search(scenario, SHIPPED)
    if (violation === null) throw new Error(`${scenario.name}: this holds, so it can be promised`)
    return violation
  }
  await expect(toLimitsPage(NOT_PROMISED, find)).toMatchFileSnapshot('rotation/limits.md')
})

// Every pair of delays around the limit, for a grace or an access lifetime of 5.
const LENGTH = 5
const DELAYS = Array.from({ length: LENGTH + 1 }, (_, delay) => delay)
const PAIRS = DELAYS.flatMap((request) => DELAYS.map((answer) => ({ request, answer })))

describe('the limits of delays are exact', () => {
  const listSafe = (bounds: Partial<Scenario['bounds']>): readonly string[] =>
    PAIRS.filter(({ request, answer }) => {
      const delays = { tabs: 2, requestDelay: request, answerDelay: answer }
      return search(define('delays', { ...delays, ...bounds }, [noFalseLogout()]), SHIPPED).violation === null
    }).map(toText)
  const toText = ({ request, answer }: (typeof PAIRS)[number]): string => `${request}, ${answer}`

  test('refreshing at any time, two round trips are shorter than the grace', () => {
    const safe = PAIRS.filter(({ request, answer }) => 2 * (request + answer) < LENGTH)
    expect(listSafe({ grace: LENGTH, isEager: true, losesMessages: true })).toEqual(safe.map(toText))
  })

  const hasRoom = ({ request, answer }: (typeof PAIRS)[number]): boolean => request + 2 * answer < LENGTH

  test('if nothing is lost, a request and two answers are shorter than the grace', () => {
    expect(listSafe({ grace: LENGTH, isEager: true })).toEqual(PAIRS.filter(hasRoom).map(toText))
  })

  test.each([0, 2, 4])(
    'at expiry, they are shorter than the access lifetime, with a grace of %i',
    (grace) => {
      const bounds = { grace, accessLifetime: LENGTH, losesMessages: true }
      expect(listSafe(bounds)).toEqual(PAIRS.filter(hasRoom).map(toText))
    },
  )
})

// Otherwise a promise could be kept by a thief who never gets that far.
test('a thief is served until the last answer that he is promised to lose after', () => {
  const counted = [...PROMISED, ...PROMISED_AT_LENGTH].flatMap(({ name, bounds, properties }) =>
    properties.flatMap(({ maxAnswers }) => (maxAnswers === undefined ? [] : [{ name, bounds, maxAnswers }])),
  )
  expect(counted.length).toBeGreaterThan(5)
  const loose = counted.filter(
    ({ maxAnswers, ...scenario }) =>
      search({ ...scenario, properties: [fewAnswers(maxAnswers - 1)] }, SHIPPED).violation === null,
  )
  expect(loose).toEqual([])
})

// The search looks at one world in place of all that are alike. Walks through worlds as they are must not leave it.
describe('no walk leaves the worlds that were searched:', () => {
  test.each(PROMISED.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    const { bounds } = scenario
    const options = toSettleOptions(scenario, SHIPPED)
    const { worlds } = search(scenario, SHIPPED)
    const choices = fc.array(fc.nat({ max: 999 }), { minLength: 50, maxLength: 100, size: 'max' })
    fc.assert(
      fc.property(choices, (walk) => {
        let world = createWorld(bounds)
        for (const choice of walk) {
          const steps = listSteps(world, bounds, SHIPPED).filter(
            ({ refresh }) => refresh?.outcome !== 'reuse' && refresh?.outcome !== 'end',
          )
          const step = steps[choice % steps.length]
          if (step === undefined) return
          world = step.world
          expect(worlds).toContain(settle(world, options).key)
        }
      }),
      { numRuns: 200 },
    )
  })
})
