import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../build/examples/main.js', import.meta.url))

/** What an application has printed so far. */
export interface Heard {
  output: string
  errors: string
}

/** An application that listens. */
export interface BuiltApplication {
  readonly child: ChildProcess
  readonly url: string
  readonly heard: Heard
  close(): Promise<void>
}

/** The example application as `npm start` runs it: the built package in a process of its own, started in `folder`. */
export function runBuilt(folder: string, args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, '--port', '0', ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const heard: Heard = { output: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (heard.output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (heard.errors += text))
  return { child, heard }
}

/** Runs it until it listens. */
export async function startBuilt(folder: string, args: readonly string[]): Promise<BuiltApplication> {
  const { child, heard } = runBuilt(folder, args)
  const ended = once(child, 'close').then(() => Promise.reject(new Error(heard.errors)))
  while (!heard.output.includes('Stop with Ctrl-C')) await Promise.race([once(child.stdout, 'data'), ended])
  ended.catch(() => undefined)
  const url = /http:\/\/[\d.]+:\d+/.exec(heard.output)?.[0] ?? ''
  return { child, url, heard, close: () => stop(child) }
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGINT')
  await once(child, 'exit')
}
