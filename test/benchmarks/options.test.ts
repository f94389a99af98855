import { expect, test } from 'vitest'
import { parseOptions } from '../../benchmarks/options.js'

test('without options everything is measured', () => {
  const parts = ['process', 'http', 'growth']
  expect(parseOptions([])).toEqual({ quick: false, parts, rows: [], rounds: null, isWhole: true })
})

test('a quick run leaves out the part without targets, unless it is chosen', () => {
  expect(parseOptions(['--quick']).parts).toEqual(['process', 'http'])
  expect(parseOptions(['--quick', '--only', 'growth']).parts).toEqual(['growth'])
})

test('parts, groups and the number of rounds can be chosen', () => {
  expect(parseOptions(['--only', 'growth', '--only', 'process']).parts).toEqual(['process', 'growth'])
  expect(parseOptions(['--rows', 'Fastify', '--rows', 'hono']).rows).toEqual(['fastify', 'hono'])
  expect(parseOptions(['--rounds', '21']).rounds).toBe(21)
})

test.each([[['--quick']], [['--only', 'http']], [['--rows', 'koa']], [['--rounds', '3']]])(
  '%s is not a whole run, whose figures are published',
  (words) => {
    expect(parseOptions(words).isWhole).toBe(false)
  },
)

test.each([
  [['--fast']],
  [['--only']],
  [['--only', 'everything']],
  [['http']],
  [['--rows']],
  [['--rounds']],
  [['--rounds', '0']],
  [['--rounds', 'many']],
])('%s is an error', (words) => {
  expect(() => parseOptions(words)).toThrow('npm run bench')
})
