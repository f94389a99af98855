import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NOT_PROMISED } from './rotation/limits.js'
import { type Catch, readCatches, type Result, toCheckedPage, toLimitsPage } from './rotation/pages.js'
import { PROMISED, PROMISED_AT_LENGTH } from './rotation/scenarios.js'
import { isEnd, type Scenario, search, toSettleOptions, type Violation } from './rotation/search.js'
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

// The search looks at one world in place of all that are alike. Walks through worlds as they are must not leave it. The one
// exception: of two tokens that are alike, a thief may use one before and the other after a lost write.
describe('no walk leaves the worlds that were searched:', () => {
  const scenarios = PROMISED.filter(({ bounds }) => bounds.thief === null || bounds.lostWrites === 0)
  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    const { bounds } = scenario
    const options = toSettleOptions(scenario, SHIPPED)
    const worlds = findWorlds(scenario)
    const isInside = (walk: readonly number[]): boolean => {
      let world = createWorld(bounds)
      return walk.every((choice) => {
        const steps = listSteps(world, bounds, SHIPPED).filter((step) => !isEnd(step))
        const step = steps[choice % steps.length]
        if (step === undefined) return true
        ;({ world } = step)
        return worlds.has(settle(world, options).key)
      })
    }
    const walks = fc.array(fc.nat({ max: 999 }), { minLength: 50, maxLength: 100 })
    expect(() => fc.assert(fc.property(walks, isInside), { numRuns: 80 })).not.toThrow()
  })
})

// Not searched again, which takes longer than the walks.
function findWorlds(scenario: Scenario): ReadonlySet<string> {
  const searched = results.find((result) => result.scenario === scenario)
  return (searched?.finding ?? search(scenario, SHIPPED)).worlds
}

// Some variants have worlds without end where nothing is wrong.
const MAX_WORLDS = 10_000

// To find every scenario that catches a variant takes more than a minute for all variants; to see that one does, seconds.
const ON_PAGE = readCatches(readFileSync(new URL('rotation/checked.md', import.meta.url), 'utf8'))
const FINDS_ALL = process.env['ROTATION_CATCHES'] === 'all'

describe('the search catches a rule that', () => {
  const variants = [
    ...[...RULE_VARIANTS].map(([name, rule]) => [name, { ...SHIPPED, rule }] as const),
    ...SURROUNDINGS_VARIANTS,
  ]
  test.each(variants)('%s', (variant, design) => {
    const catching = (scenario: Scenario): boolean => search(scenario, design, MAX_WORLDS).violation !== null
    const named = ON_PAGE.find((row) => row.variant === variant)?.caughtBy ?? []
    if (FINDS_ALL) {
      catches.push({ variant, caughtBy: PROMISED.filter(catching).map(({ name }) => name) })
    } else {
      const smallest = PROMISED.filter(({ name }) => named.includes(name)).toSorted(
        (a, b) => countWorlds(a) - countWorlds(b),
      )
      expect(smallest.slice(0, 1).filter(catching)).toHaveLength(1)
      catches.push({ variant, caughtBy: named })
    }
    expect(catches.at(-1)?.caughtBy).not.toEqual([])
  })
})

function countWorlds({ name }: Scenario): number {
  return results.find(({ scenario }) => scenario.name === name)?.finding.worlds.size ?? Infinity
}

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
