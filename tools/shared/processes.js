import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
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

/**
 * Runs a program to its end, and writes what it prints to a stream as it comes. Returns all of it, and how it ended.
 *
 * With a timeout, the program gets its own process group, so that a timeout or Ctrl-C also ends its children.
 */
export async function runLogged(program, args, { cwd, env, log, shell = false, timeoutMs }) {
  const isLimited = timeoutMs !== undefined
  const child = spawn(program, args, {
    cwd,
    env,
    shell,
    detached: isLimited,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text
      log.write(text)
    })
  }
  const end = () => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }
  const timer = isLimited ? setTimeout(end, timeoutMs) : undefined
  if (isLimited) process.once('SIGINT', end)
  try {
    const [code, signal] = await once(child, 'close')
    return { output, code, signal }
  } finally {
    clearTimeout(timer)
    process.off('SIGINT', end)
  }
}

/** Runs a program to its end; returns the JSON of each line it printed, and what it wrote to the error output. */
export async function readLines(command, { cwd, env, timeoutMs }) {
  const { child, errors } = start(command, { cwd, env })
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  const values = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) values.push(JSON.parse(line))
  })
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  return { values, errors: errors(), code, signal }
}

/** Starts a program that prints `{ url }` when it listens. */
export async function startProgram(command, { cwd, env }) {
  const { child, errors } = start(command, { cwd, env })
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

function start([program, ...args], { cwd, env = {} }) {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...QUIET, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { child, errors: collect(child.stderr) }
}
