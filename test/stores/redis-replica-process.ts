import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'

/** Another process with a replica. */
export interface ReplicaChild {
  /** Resolves when the process has sent a word, now or before. */
  says(word: string): Promise<void>
  send(word: string): void
  /** Its exit code and the signal that ended it. */
  readonly ended: Promise<unknown[]>
  /** What it has written to standard error. */
  errors(): string
}

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Bundles the program of the other processes, from the sources as they are. */
export async function bundleReplicaChild(): Promise<{ readonly path: string; remove(): void }> {
  mkdirSync(file('../../build'), { recursive: true })
  // Inside of the repository, so that the packages it imports are found.
  const folder = mkdtempSync(file('../../build/replica-'))
  const path = join(folder, 'child.mjs')
  await build({
    entryPoints: [file('redis-replica-child.ts')],
    alias: {
      'tokenlib/redis': file('../../packages/tokenlib/src/stores/redis.ts'),
      'tokenlib/replica': file('../../packages/tokenlib/src/stores/replica.ts'),
    },
    packages: 'external',
    outfile: path,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Starts a process with a replica of the store at a URL. */
export function startReplicaChild(program: string, client: string, url: string): ReplicaChild {
  const child = fork(program, [client, url], { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  const said = new Set<unknown>()
  let errors = ''
  const ended = once(child, 'exit')
  let isOver = false
  void ended.then(() => (isOver = true))
  child.on('message', (word) => void said.add(word))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text))
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    async says(word) {
      while (!said.has(word)) {
        if (isOver) throw new Error(`The process ended before it said "${word}": ${errors}`)
        await sleep(5)
      }
    },
    send: (word) => void child.send(word),
    ended,
    errors: () => errors,
  }
}
