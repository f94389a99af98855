import { describe, expect, test } from 'vitest'
import { NOT_PROMISED } from './rotation/limits.js'
import { type Catch, type Result, toCheckedPage, toLimitsPage } from './rotation/pages.js'
import { PROMISED, PROMISED_AT_LENGTH } from './rotation/scenarios.js'
import { type Scenario, search, type Violation } from './rotation/search.js'
import { RULE_VARIANTS, SHIPPED, SURROUNDINGS_VARIANTS } from './rotation/variants.js'

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
