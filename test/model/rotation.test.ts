import { describe, expect, test } from 'vitest'
import { PROMISED } from './rotation/scenarios.js'
import { search } from './rotation/search.js'
import { RULE_VARIANTS, SHIPPED, SURROUNDINGS_VARIANTS } from './rotation/variants.js'

// Their searches are long; rotation.evidence.test.ts has them.
const AT_LENGTH = new Set(['a thief and two tabs', 'a thief and a clock that is set back'])
const SHORT = PROMISED.filter(({ name }) => !AT_LENGTH.has(name))

describe('the rule of rotation holds in all histories of', () => {
  test.each(SHORT.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    const { isComplete, violation } = search(scenario, SHIPPED)
    expect(violation).toBeNull()
    expect(isComplete).toBe(true)
  })
})

// One scenario and property for each; rotation/checked.md has all scenarios.
const CAUGHT_BY: ReadonlyMap<string, readonly [scenario: string, property: string]> = new Map([
  ['moves on with a young token', ['around the end of the grace', 'NO_FALSE_LOGOUT']],
  ['gives a young token a child', ['around the end of the grace', 'NO_FALSE_LOGOUT']],
  ['never moves on', ['a thief', 'FEW_ANSWERS']],
  ['repeats within the grace only', ['refresh at expiry', 'NO_FALSE_LOGOUT']],
  ['gives tokens to the superseded', ['a thief', 'NO_RIDING_ALONG']],
  ['switches to a sibling within the grace', ['a thief', 'NO_RIDING_ALONG']],
  ['raises an alarm without a grace', ['given-up requests, refresh at expiry', 'NO_FALSE_LOGOUT']],
  ['forgives siblings only', ['given-up requests, refresh at expiry', 'NO_FALSE_LOGOUT']],
  ['forgives the token before only', ['slow messages', 'NO_HASTY_ALARM']],
  ['forgives the token before for ever', ['an alarm', 'ALARM']],
  ['raises no alarm', ['an alarm', 'ALARM']],
  ['forgives again after every repeat', ['an alarm', 'ALARM']],
  ['raises an alarm after a lost write', ['a lost write, refresh at expiry', 'NO_FALSE_LOGOUT']],
  ['moves on with any token after a lost write', ['a lost write', 'NO_FALSE_LOGOUT']],
  ['believes a stranger', ['a thief and a lost write', 'NO_RIDING_ALONG']],
  ['counts generations', ['refresh at expiry', 'NO_FALSE_LOGOUT']],
  ['takes a session for idle by its row', ['an idle limit and a lost write', 'NO_FALSE_LOGOUT']],
  ['notes no use without moving on', ['an idle limit, mostly kept', 'NO_FALSE_LOGOUT']],
  ['stamps tokens by the clock of a process', ['around the end of the grace', 'NO_FALSE_LOGOUT']],
  ['sends a sibling of a young token', ['around the end of the grace', 'NO_FALSE_LOGOUT']],
  ['sends a young token again', ['around the end of the grace', 'NO_FALSE_LOGOUT']],
])

const variants = new Map([
  ...[...RULE_VARIANTS].map(([name, rule]) => [name, { ...SHIPPED, rule }] as const),
  ...SURROUNDINGS_VARIANTS,
])

// Caught by a long search only.
variants.delete('forgives as long as a clock lags')

test('every variant is expected to be caught', () => {
  expect([...variants.keys()]).toEqual([...CAUGHT_BY.keys()])
})

describe('the search catches a rule that', () => {
  test.each([...CAUGHT_BY])('%s', (name, [scenarioName, property]) => {
    const scenario = PROMISED.find((each) => each.name === scenarioName)
    const design = variants.get(name)
    if (scenario === undefined || design === undefined)
      throw new Error(`There is no ${scenarioName} or ${name}`)
    expect(search(scenario, design).violation?.property).toBe(property)
  })
})
