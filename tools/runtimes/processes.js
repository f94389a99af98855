import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** How long a whole cell may take, in milliseconds. */
const CELL_LIMIT = 300_000

/** How a runtime runs a file. */
export function toCommand(runtime, binaries) {
  return runtime === 'deno' ? [binaries.deno, 'run', '--allow-all', '--no-prompt'] : [binaries[runtime]]
}

/** Runs a program to its end; returns the JSON of each line it printed, and what it wrote to the error output. */
export async function readLines([program, ...args], { cwd, env = {} }) {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...QUIET, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), CELL_LIMIT)
  const errors = collect(child.stderr)
  const values = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) values.push(JSON.parse(line))
  })
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  return { values, errors: errors(), code, signal }
}

/** Starts a program that prints `{ url }` when it listens. */
export async function startProgram([program, ...args], { cwd, env = {} }) {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...QUIET, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const errors = collect(child.stderr)
  const lines = createInterface({ input: child.stdout })
  const url = await new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      if (line.startsWith('{"url"')) resolve(JSON.parse(line).url)
    })
    child.once('error', reject)
    child.once('close', () => reject(new Error(toReason(errors()) || 'The program ended before it listened')))
  })
  return { url, close: () => stop(child) }
}

/** Ends a program. */
export async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** Collects the text of a stream; call the result to read it. */
export function collect(stream) {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk) => (text += chunk))
  return () => text
}

/** The line of an error output that says most. */
export function toReason(text) {
  const lines = text.split('\n').map((line) => line.trim())
  return (lines.find((line) => /error/i.test(line)) ?? lines.find((line) => line !== '') ?? '').slice(0, 300)
}

// Deno looks for updates, Bun and others for colours.
const QUIET = { DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1', NODE_NO_WARNINGS: '1' }
