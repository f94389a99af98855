import { expect, test } from 'vitest'
import { findBroken, simulate } from './run-command.js'

// A longer search is `npm run simulate -- --forever`.
// simulation.integration.test.ts runs the first twenty of these five hundred seeds.
test.each([
  ['in short histories', '--seed 21 --seeds 480 --processes 3 --seconds 15'],
  ['in ten longer histories', '--seed 501 --seeds 10 --processes 8 --seconds 48'],
])('every promise holds %s', { timeout: 600_000 }, async (_, args) => {
  const { code, output } = await simulate(...args.split(' '))
  expect(findBroken(output)).toEqual([])
  expect(code).toBe(0)
})

// Each failed once, because of the library or of the simulation.
test.each([
  ['a key that no longer signs is revoked', '--seed 90028 --processes 4 --seconds 300'],
  ['copies keep entries for longer than the store does', '--seed 90093 --processes 4 --seconds 300'],
  ['one lost message fails every check of a moment', '--seed 200141 --processes 6 --seconds 120'],
  ['the store revokes while its clock is ahead, and loses that', '--seed 210620 --processes 6 --seconds 120'],
  ['a token is revoked twice at one moment', '--seed 320346 --processes 6 --seconds 120'],
  ['a login is carried out twice by a clock that was set back', '--seed 320704 --processes 6 --seconds 120'],
  ['a dead token waits in a process that stands still', '--seed 321611 --processes 6 --seconds 120'],
  ['a logout is delivered to two processes at one moment', '--seed 321839 --processes 6 --seconds 120'],
])('every promise holds where %s', { timeout: 120_000 }, async (_, args) => {
  const { code, output } = await simulate(...args.split(' '))
  expect(findBroken(output)).toEqual([])
  expect(code).toBe(0)
})

test('the same seed has the same history', { timeout: 120_000 }, async () => {
  const run = async (...seeds: string[]): Promise<string[]> => {
    const { output } = await simulate(...seeds, '--processes', '4', '--seconds', '30')
    return Array.from(output.matchAll(/^seed \d+ {2}\w{16}/gm), ([line]) => line)
  }
  const [once, again] = await Promise.all([
    run('--seed', '1', '--seeds', '4'),
    run('--seed', '3', '--seeds', '2'),
  ])
  expect(once).toHaveLength(4)
  // Whatever ran before it in the same process.
  expect(again).toEqual(once.slice(2))
})
