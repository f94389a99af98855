import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compareRules, PUBLISHED } from './compare.js'

test('the recorded figures of the comparison are those of its seeds', () => {
  const recorded: unknown = JSON.parse(readFileSync(new URL('results.json', import.meta.url), 'utf8'))
  expect(compareRules(PUBLISHED, () => {})).toEqual(recorded)
})
