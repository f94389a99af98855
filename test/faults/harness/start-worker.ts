import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { LogoutStep, WorkerMessage, WorkerRequests } from './worker-protocol.js'

/** A child process. */
export interface Worker {
  /** One request at a time. */
  ask<Name extends keyof WorkerRequests>(
    name: Name,
    ...values: Parameters<WorkerRequests[Name]>
  ): Promise<ReturnType<WorkerRequests[Name]>>
  /** Called at every step of `logOutUntilKilled`, before anything else happens. */
  onLogout(listener: (step: LogoutStep) => void): void
  /** Sends SIGKILL before it returns; resolves when the process is gone. */
  kill(): Promise<void>
}

/** Starts a child process. */
export function startWorker(program: string, nodeOptions: readonly string[] = []): Worker {
  const child = fork(program, [], { execArgv: [...nodeOptions] })
  let isKilled = false
  const ended = once(child, 'exit')
  return {
    async ask(name, ...values) {
      const reply = receive(child, ended, () => isKilled)
      child.send({ name, values })
      return (await reply) as ReturnType<WorkerRequests[typeof name]>
    },
    onLogout(listener) {
      child.on('message', (message: WorkerMessage) => {
        if ('logout' in message) listener(message.logout)
      })
    },
    async kill() {
      isKilled = true
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function receive(
  child: ChildProcess,
  ended: Promise<unknown[]>,
  isKilled: () => boolean,
): Promise<unknown> {
  const listening = new AbortController()
  const answer = new Promise<unknown>((resolve, reject) => {
    const listen = (message: WorkerMessage): void => {
      if ('logout' in message) return
      if ('error' in message) reject(new Error(message.error))
      else resolve(message.value)
    }
    child.on('message', listen)
    listening.signal.addEventListener('abort', () => child.off('message', listen))
  })
  // An unhandled rejection ends a process too, with a code of its own.
  const gone = ended.then(([code, signal]) => {
    if (isKilled()) return null
    throw new Error(`A child process ended by itself: ${String(signal ?? code)}`)
  })
  try {
    return await Promise.race([answer, gone])
  } finally {
    listening.abort()
  }
}
