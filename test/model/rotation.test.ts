import { describe, expect, test } from 'vitest'
import { PROMISED } from './rotation/scenarios.js'
import { search } from './rotation/search.js'
import { SHIPPED } from './rotation/variants.js'

describe('the rule of rotation holds in all histories of', () => {
  test.each(PROMISED.map((scenario) => [scenario.name, scenario] as const))('%s', (_, scenario) => {
    const { isComplete, violation } = search(scenario, SHIPPED)
    expect(violation).toBeNull()
    expect(isComplete).toBe(true)
  })
})
