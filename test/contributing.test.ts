import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readTable } from '../tools/suites/table.js'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

test('every command in the table of durations is a step of .ci/run, or the whole of it', () => {
  const commands = readTable(read('CONTRIBUTING.md')).rows.map(({ command }) => command)
  const steps = read('.ci/run')
    .split('\n')
    .filter((line) => line.startsWith('step '))
    .map((line) => line.slice('step '.length))
  expect(commands).toContain('npm test')
  expect([...steps, 'bash .ci/run']).toEqual(expect.arrayContaining(commands))
})
