import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort } from './free-port.js'
import type { GuardedFolder, Owner } from './guarded-folder.js'
import { childrenOf, isRunning, sendSignal } from './process-tree.js'

/** A server that runs for a test, and can be hurt. */
export interface RunningServer {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly pid: number
  readonly folder: string
  /**
   * Sends a signal before it returns, SIGKILL by default; SIGKILL, SIGSTOP and SIGCONT reach the server's
   * children too. The promise settles when the process is gone, or at once for SIGSTOP and SIGCONT.
   */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Starts it again, same port and folder; one that still runs is ended first. Settles when it takes commands. */
  restart(): Promise<void>
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

/** How to run a server. */
export interface ServerProgram {
  readonly command: string
  readonly args: (port: number) => readonly string[]
  readonly url: (port: number) => string
  readonly folder: GuardedFolder
  readonly owner?: Owner | undefined
  /** Variables of its environment, besides those of this process. */
  readonly environment?: Readonly<Record<string, string>> | undefined
  /** Ends it and leaves nothing in the machine's memory. */
  readonly endSignal: NodeJS.Signals
  /** What it prints once it is ready, if that is not what Redis and PostgreSQL print. */
  readonly isReady?: RegExp
  /** Runs after every start, for a server that says too early that it is ready. */
  readonly afterStart?: (port: number) => Promise<void>
  /** Runs when the server has ended for good. */
  readonly afterEnd?: () => void
}

/** Starts a server on a free port; another process may take the port first, so a few are tried. */
export async function startServerProcess(program: ServerProgram): Promise<RunningServer> {
  let port = 0
  let child = await retry(5, async () => launch(program, (port = await findFreePort()))).catch(
    async (error: unknown) => {
      await program.folder.remove()
      throw error
    },
  )
  await program.afterStart?.(port)

  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const signalled = signalTree(child, signal)
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') return
    while (!hasEnded(child) || signalled.some(isRunning)) await sleep(10)
  }

  async function end(): Promise<void> {
    signalTree(child, 'SIGCONT')
    await kill(program.endSignal)
  }

  return {
    url: program.url(port),
    host: '127.0.0.1',
    port,
    folder: program.folder.path,
    get pid() {
      return child.pid as number
    },
    kill,
    async restart() {
      await end()
      // After a kill -9 the port, the lock file or the shared memory can stay taken for a moment.
      child = await retry(100, () => launch(program, port))
      await program.afterStart?.(port)
    },
    async stop() {
      await end()
      program.afterEnd?.()
      await program.folder.remove()
    },
  }
}

/** Runs the program once, until it says that it is ready. */
async function launch(program: ServerProgram, port: number): Promise<ChildProcess> {
  const { command, args, folder, owner, environment, isReady = IS_READY } = program
  const path = join(folder.path, 'server.log')
  const log = openSync(path, 'w')
  const child = spawn(command, args(port), {
    ...owner,
    cwd: folder.path,
    detached: true,
    env: { ...process.env, ...environment, LC_ALL: 'C' },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  child.unref()
  let failure: Error | undefined
  child.on('error', (error) => (failure = error))
  child.on('exit', () => folder.watch(null))
  folder.watch(child.pid ?? null)
  for (let waited = 0; waited < START_LIMIT; waited += POLL) {
    if (failure !== undefined) throw failure
    if (hasEnded(child)) throw new Error(`${command} ended immediately:\n${readFileSync(path, 'utf8')}`)
    // Not a connection: after a collision, somebody else's server would answer on the port.
    if (isReady.test(readFileSync(path, 'utf8'))) return child
    await sleep(POLL)
  }
  signalTree(child, 'SIGKILL')
  throw new Error(`${command} was not ready in time:\n${readFileSync(path, 'utf8')}`)
}

const IS_READY = /ready to accept (?:read-only )?connections/i
const START_LIMIT = 60_000
const POLL = 10

async function retry<Value>(attempts: number, run: () => Promise<Value>): Promise<Value> {
  try {
    return await run()
  } catch (error) {
    const isTaken = /in use|already exists|failed listening/i.test((error as Error).message)
    if (!isTaken || attempts <= 1) throw error
  }
  await sleep(100)
  return retry(attempts - 1, run)
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

/** Signals a server, and its children where it cannot pass the signal on; returns the children. */
function signalTree(child: ChildProcess, signal: NodeJS.Signals): number[] {
  if (child.pid === undefined || hasEnded(child)) return []
  if (!['SIGKILL', 'SIGSTOP', 'SIGCONT'].includes(signal)) {
    const children = childrenOf(child.pid)
    sendSignal(child.pid, signal)
    return children
  }
  // A frozen parent starts no child behind our back.
  if (signal !== 'SIGCONT') sendSignal(child.pid, 'SIGSTOP')
  const children = childrenOf(child.pid)
  for (const pid of children) sendSignal(pid, signal)
  sendSignal(child.pid, signal)
  return children
}
