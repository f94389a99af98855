import { describe, expect, test } from 'vitest'
import { PROMISED } from './rotation/scenarios.js'
import { search } from './rotation/search.js'
import { SHIPPED } from './rotation/variants.js'

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
