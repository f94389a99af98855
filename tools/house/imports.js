import { execFileSync } from 'node:child_process'
import { root } from '../shared/root.js'

const ROUNDS = 15

/** The CPU time in milliseconds of importing each package in a process of its own: medians of alternating runs. */
export function measureImports(names) {
  const times = new Map(names.map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of names) times.get(name).push(measureImport(name))
  }
  return Object.fromEntries(
    names.map((name) => [name, times.get(name).toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)]]),
  )
}

/** The CPU time, in milliseconds, of importing a package once in a new process. */
export function measureImport(name) {
  const program = `
    const before = process.cpuUsage()
    await import('${name}')
    const { user, system } = process.cpuUsage(before)
    console.log((user + system) / 1000)`
  return Number(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { cwd: root }))
}
