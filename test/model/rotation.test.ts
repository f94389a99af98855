import { expect, test } from 'vitest'
import { PROMISED } from './rotation/scenarios.js'
import { search } from './rotation/search.js'
import { SHIPPED } from './rotation/variants.js'

// The smallest of each kind; rotation.long.test.ts searches all.
const SMALL = [
  'refresh at expiry',
  'no grace',
  'a crash of the browser, refresh at expiry',
  'an idle limit',
  'a thief',
  'a thief who reads an answer',
  'an alarm',
]

test.each(SMALL)('the rule of rotation holds in all histories of %s', (name) => {
  const scenario = PROMISED.find((promised) => promised.name === name)
  const { isComplete, violation } = search(scenario!, SHIPPED)
  expect(violation).toBeNull()
  expect(isComplete).toBe(true)
})
