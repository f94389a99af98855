import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Runs a program to its end and returns what it printed; a failure carries both outputs in its message. */
export async function run(program, args, cwd) {
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const output = `${error.stdout ?? ''}${error.stderr ?? ''}`.trim()
    throw new Error(`${program} ${args.join(' ')}\n${output || error.message}`, { cause: error })
  }
}

/** Fails a gate with its problems, one per line, if there are any. */
export function assertNone(problems) {
  if (problems.length === 0) return
  throw new Error(
    `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}\n${problems.join('\n')}`,
  )
}
