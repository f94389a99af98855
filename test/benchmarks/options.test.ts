import { expect, test } from 'vitest'
import { parseOptions } from '../../benchmarks/options.js'

test('without options every part runs in full', () => {
  expect(parseOptions([])).toEqual({ quick: false, parts: ['process', 'request', 'http', 'growth'] })
})

test('one part, or some, can be chosen', () => {
  expect(parseOptions(['--quick', '--only', 'http'])).toEqual({ quick: true, parts: ['http'] })
  expect(parseOptions(['--only', 'growth', '--only', 'process']).parts).toEqual(['process', 'growth'])
})

test.each([[['--fast']], [['--only']], [['--only', 'everything']], [['http']]])('%s is an error', (words) => {
  expect(() => parseOptions(words)).toThrow('npm run bench')
})
