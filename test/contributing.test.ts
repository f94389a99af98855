import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readTable } from '../tools/suites/table.js'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

/** Whether a command of the documentation can be run. */
function exists(command: string): boolean {
  const [program, name = '', script = name] = command.split(' ')
  if (program === 'npm') return (name === 'run' ? script : name) in scripts
  return (program === 'node' || program === 'bash') && existsSync(new URL(`../${name}`, import.meta.url))
}

test('every command in the table of durations exists', () => {
  const commands = readTable(read('CONTRIBUTING.md')).rows.map(({ command }) => command)
  expect(commands).toContain('npm test')
  expect(commands.filter((command) => !exists(command))).toEqual([])
})
