import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const COMMAND = fileURLToPath(new URL('../../tools/simulate/index.js', import.meta.url))

/** The lines about worlds in which a promise was broken. */
export function findBroken(output: string): readonly string[] {
  return output
    .trim()
    .split('\n')
    .filter((line) => !line.endsWith('; ok'))
}

/** Runs `npm run simulate` with some arguments, in a process of its own: a world replaces globals. */
export function simulate(...args: string[]): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [COMMAND, ...args],
      { maxBuffer: 2 ** 26 },
      (_error, stdout, stderr) => resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    )
  })
}
