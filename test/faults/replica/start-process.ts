import { fork } from 'node:child_process'
import { once } from 'node:events'
import { sendSignal } from '../../helpers/servers/process-tree.js'
import type { Acknowledged, FromProcess, ProcessOptions, ToProcess } from './process-protocol.js'

/** A verifier or a revoker that runs. */
export interface RunningProcess {
  /** Settles when its first read is complete, or it is gone. */
  readonly ready: Promise<void>
  tell(message: ToProcess): void
  /** Tells, and resolves when the process has done it. */
  request(message: ToProcess): Promise<void>
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends it with SIGKILL. */
  kill(): Promise<void>
}

/** Starts a process of a run. */
export function startProcess(
  program: string,
  options: ProcessOptions,
  environment: Readonly<Record<string, string>>,
  onAcknowledged: (revocations: readonly Acknowledged[]) => void,
): RunningProcess {
  // The stores warn about every loss of data, and these runs are full of them.
  const child = fork(program, [], {
    execArgv: ['--no-warnings'],
    env: { ...process.env, ...environment },
  })
  const ended = once(child, 'exit')
  let isKilled = false
  let onReady: () => void = () => undefined
  const waiting: (() => void)[] = []
  const ready = new Promise<void>((resolve) => (onReady = resolve))
  const waitForEnd = async (): Promise<void> => {
    const [code, signal] = (await ended) as unknown[]
    onReady()
    if (!isKilled) throw new Error(`${options.name} ended by itself: ${String(signal ?? code)}`)
  }
  const gone = waitForEnd()
  gone.catch(() => undefined)
  child.on('error', () => undefined)
  child.on('message', (message: FromProcess) => {
    if (message.say === 'ready') onReady()
    else if (message.say === 'done') waiting.shift()?.()
    else onAcknowledged(message.revocations)
  })
  const tell = (message: ToProcess): void => {
    if (child.connected) child.send(message, () => undefined)
  }
  tell({ tell: 'start', options })
  return {
    ready,
    tell,
    async request(message) {
      const done = new Promise<void>((resolve) => waiting.push(resolve))
      tell(message)
      await Promise.race([done, gone])
    },
    signal: (signal) => void (child.pid !== undefined && sendSignal(child.pid, signal)),
    async kill() {
      isKilled = true
      child.kill('SIGKILL')
      await ended
    },
  }
}
