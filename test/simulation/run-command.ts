import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const COMMAND = fileURLToPath(new URL('../../tools/simulate/index.js', import.meta.url))

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
