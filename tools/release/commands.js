import { createWriteStream, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runLogged } from '../shared/processes.js'
import { root } from '../shared/root.js'

/** The folder for logs, the tarball and the list of components. */
export const OUTPUT = join(root, 'build/release')

const SHOWN_LINES = 25

/** Runs a script of package.json. */
export function runScript(script, ...args) {
  return runCommand('npm', ['run', script, ...(args.length > 0 ? ['--', ...args] : [])], { name: script })
}

/**
 * Runs a program to its end. Its output goes to a log; a failure has the end of it, and where the rest is.
 *
 * Variables that npm sets for scripts are not passed on: they would change what npm does in another folder.
 */
export async function runCommand(program, args, { name, cwd = root, shell = false }) {
  mkdirSync(OUTPUT, { recursive: true })
  const file = join(OUTPUT, `${name.replaceAll(/[^\w-]+/g, '-')}.log`)
  const log = createWriteStream(file)
  const { output, code, signal } = await runLogged(program, args, { cwd, shell, log, env: readEnvironment() })
  await new Promise((resolve) => log.end(resolve))
  if (code === 0) return output
  const lines = output.trimEnd().split('\n').slice(-SHOWN_LINES)
  throw new Error(
    [`${[program, ...args].join(' ')} ended with ${code ?? signal}`, ...lines, `All output: ${file}`].join(
      '\n',
    ),
  )
}

/** The environment without what npm adds for the script that runs this one. */
export function readEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(?:config|package|lifecycle)_/i.test(name)),
  )
}

/** The last line of an output that matches, without colours, or a text to use instead. */
export function readLine(output, pattern, otherwise) {
  const lines = output.split('\n').filter((line) => pattern.test(line))
  return lines.at(-1)?.trim() ?? otherwise
}
