import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { OpenApplication } from './open-application.js'
import { type StartOptions, toArguments } from './options.js'

/** Several processes of the application that share a store. */
export interface RunningProcesses {
  readonly urls: readonly string[]
  /** Resolves when all of them have ended, by `stop` or by themselves. */
  readonly ended: Promise<void>
  stop(): void
}

/** What a process reports to its parent. */
type Report =
  | { readonly kind: 'listening'; readonly url: string }
  /** From `at` on, the process rejects these ids. In the revoking process, this is when the call is sent. */
  | { readonly kind: 'refuses'; readonly ids: readonly string[]; readonly at: number }
  /** The store has acknowledged a revocation of this process. */
  | { readonly kind: 'acknowledged'; readonly id: string; readonly at: number }

/** Whether this process was started by `startProcesses`. */
export const isOneOfSeveral = process.send !== undefined

/** Starts the processes; `print` gets a text about every logout. Rejects if one of them does not start. */
export async function startProcesses(
  options: StartOptions,
  print: (text: string) => void,
): Promise<RunningProcesses> {
  // All of them must accept each other's tokens.
  const JWT_SECRET_KEY = process.env['JWT_SECRET_KEY'] || randomBytes(32).toString('base64url')
  const env = { ...process.env, JWT_SECRET_KEY }
  const main = fileURLToPath(new URL('main.js', import.meta.url))
  const children = new Map<number, ChildProcess>()
  const timing = createTiming(() => [...children.keys()], print)
  let isStopping = false

  const start = async (number: number): Promise<string> => {
    const port = options.port === 0 ? 0 : options.port + number - 1
    const child = fork(main, toArguments({ ...options, port }), { env })
    children.set(number, child)
    const url = new Promise<string>((resolve, reject) => {
      child.on('message', (report: Report) => {
        if (report.kind !== 'listening') return timing.add(number, report)
        child.once('exit', () => {
          if (!isStopping) print(`Process ${number} has ended.`)
        })
        resolve(report.url)
      })
      child.once('exit', () => {
        children.delete(number)
        timing.check()
        reject(new Error(`Process ${number} did not start`))
      })
    })
    return url
  }

  // A process that is disconnected stops.
  const stop = (): void => {
    isStopping = true
    for (const child of children.values()) if (child.connected) child.disconnect()
  }

  try {
    // Start the first one alone: it creates tables and files, and an unusable store is reported once.
    const first = await start(1)
    const others = Array.from({ length: options.processes - 1 }, (_, at) => start(at + 2))
    const urls = [first, ...(await Promise.all(others))]
    const ended = Promise.all([...children.values()].map((child) => once(child, 'exit')))
    return { urls, ended: ended.then(() => undefined), stop }
  } catch (error) {
    stop()
    throw error
  }
}

/** In a process that was started: reports where it listens and what it refuses, until it is disconnected. */
export function reportToParent({ managers, store }: OpenApplication, url: string): void {
  store?.replica?.subscribe((entries) => {
    send({ kind: 'refuses', ids: entries.map(({ id }) => id), at: readMilliseconds() })
  })
  for (const tokens of managers) {
    tokens.on('loggedOut', ({ sid, jti }) => {
      send({ kind: 'acknowledged', id: sid ?? jti ?? '', at: readMilliseconds() })
    })
    // The page ends other sessions too.
    tokens.on('revoked', ({ kind, id }) => {
      if (kind === 'session') send({ kind: 'acknowledged', id, at: readMilliseconds() })
    })
  }
  send({ kind: 'listening', url })
}

function send(report: Report): void {
  if (process.connected) process.send?.(report)
}

/** What is known of one revocation: when each process began to refuse, and who revoked. */
interface Arrivals {
  readonly refusesAt: Map<number, number>
  acknowledged: { readonly by: number; readonly at: number } | null
}

// Milliseconds. A process that has not reported by then is paused, or cannot read the store.
const REPORT_LIMIT = 5000

/** Collects reports, and prints a text about a logout once all running processes have reported it. */
function createTiming(running: () => readonly number[], print: (text: string) => void) {
  const arrivals = new Map<string, Arrivals>()

  const finish = (id: string): void => {
    const { refusesAt, acknowledged } = arrivals.get(id) ?? {}
    arrivals.delete(id)
    if (refusesAt && acknowledged) print(describeArrivals(refusesAt, acknowledged, running()))
  }

  const find = (id: string): Arrivals => {
    const found = arrivals.get(id)
    if (found !== undefined) return found
    const added: Arrivals = { refusesAt: new Map(), acknowledged: null }
    arrivals.set(id, added)
    setTimeout(() => finish(id), REPORT_LIMIT).unref()
    return added
  }

  const check = (): void => {
    for (const [id, { refusesAt, acknowledged }] of arrivals) {
      if (acknowledged !== null && running().every((number) => refusesAt.has(number))) finish(id)
    }
  }

  return {
    check,
    add(number: number, report: Exclude<Report, { kind: 'listening' }>): void {
      if (report.kind === 'acknowledged') find(report.id).acknowledged = { by: number, at: report.at }
      else {
        for (const id of report.ids) {
          const { refusesAt } = find(id)
          // The revoking process later reads its own revocation again.
          if (!refusesAt.has(number)) refusesAt.set(number, report.at)
        }
      }
      check()
    },
  }
}

function describeArrivals(
  refusesAt: ReadonlyMap<number, number>,
  { by, at }: { readonly by: number; readonly at: number },
  running: readonly number[],
): string {
  const sentAt = refusesAt.get(by) ?? at
  const after = (moment: number): string => `${(moment - sentAt).toFixed(1)} ms`
  const others = running
    .filter((number) => number !== by)
    .map((number) => {
      const moment = refusesAt.get(number)
      return moment === undefined
        ? `  process ${number} has not reported within ${REPORT_LIMIT} ms`
        : `  process ${number} refuses after ${after(moment)}`
    })
  return [`Logout at process ${by}, acknowledged by the store after ${after(at)}:`, ...others].join('\n')
}

// The same clock in all processes of a machine.
function readMilliseconds(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
