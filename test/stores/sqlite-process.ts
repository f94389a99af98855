import { build } from 'esbuild'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Requests } from './sqlite-child.js'

/** Another process on a database. */
export interface OtherProcess {
  /** One request at a time. */
  ask<Name extends keyof Requests>(name: Name, ...values: Parameters<Requests[Name]>): Promise<unknown>
  /** Resolves with the signal that ended it. */
  readonly ended: Promise<NodeJS.Signals | null>
  kill(): Promise<void>
}

/** Bundles the program of the other processes into a folder, from the sources as they are; returns its path. */
export async function bundleChild(folder: string): Promise<string> {
  const outfile = join(folder, 'child.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('sqlite-child.ts', import.meta.url))],
    alias: {
      'tokenlib/sqlite': fileURLToPath(
        new URL('../../packages/tokenlib/src/stores/sqlite.ts', import.meta.url),
      ),
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return outfile
}

/** Starts a process on a database; its clock is ahead by `lead` milliseconds. */
export function startProcess(program: string, path: string, lead = 0): OtherProcess {
  const client = createRequire(import.meta.url).resolve('@photostructure/sqlite')
  const child = fork(program, [client, path, String(lead)], { execArgv: [] })
  const ended = once(child, 'exit').then(([, signal]) => signal as NodeJS.Signals | null)
  return {
    async ask(name, ...values) {
      const reply = receive(child, ended)
      child.send({ name, values })
      return reply
    },
    ended,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function receive(child: ChildProcess, ended: Promise<unknown>): Promise<unknown> {
  const gone = ended.then(() => Promise.reject(new Error('The other process ended')))
  const [reply] = (await Promise.race([once(child, 'message'), gone])) as [
    { value?: unknown; error?: string },
  ]
  if (reply.error !== undefined) throw new Error(reply.error)
  return reply.value
}
