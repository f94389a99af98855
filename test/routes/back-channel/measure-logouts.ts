import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { bundleWorker } from '../../faults/harness/bundle-worker.js'
import { createProvider, LOGOUT, type Provider } from '../provider.js'
import { now, type ProcessSetUp, type Question, type Watched } from './protocol.js'

const AUDIENCE = 'https://api.example'
const CLIENT = 'my-app'

/** What was measured, in milliseconds from sending the logout. */
export interface LogoutFigures {
  /** Until each process with a replica refused the token. */
  readonly replicas: readonly number[]
  /** Until the last of them did, by round. */
  readonly slowest: readonly number[]
  /** Until the process without a replica refused it. */
  readonly direct: readonly number[]
  /** Until the provider had its response. */
  readonly responses: readonly number[]
  /** How many processes accepted the token in a check that began after the response and the bound. */
  readonly late: number
  /** How many refused the token before the logout, or accepted it in the end. */
  readonly wrong: number
}

/**
 * Signs out one user after the other by a back-channel logout. Four processes have a replica, and get the logouts in
 * turn; a fifth asks Redis at every check. The access token has no `sid`.
 */
export async function measureLogouts(url: string, rounds: number, boundMs = 1000): Promise<LogoutFigures> {
  const provider = createProvider('https://id.example')
  const program = await bundleWorker('test/routes/back-channel/process.ts')
  const setUp = {
    url,
    namespace: `logouts-${randomBytes(6).toString('hex')}`,
    secret: randomBytes(32).toString('base64url'),
    issuer: provider.issuer,
    audience: AUDIENCE,
    clientId: CLIENT,
    jwk: provider.jwk,
  }
  const bounds = [...Array.from({ length: 4 }, () => `${boundMs}ms`), null]
  const started = bounds.map((bound) => startProcess(program.path, { ...setUp, bound }))
  try {
    const processes = await Promise.all(started.map(({ ready }) => ready))
    const figures: MutableFigures = {
      replicas: [],
      slowest: [],
      direct: [],
      responses: [],
      late: 0,
      wrong: 0,
    }
    for (let round = 0; round < rounds; round++)
      await measureRound(provider, processes, round, boundMs, figures)
    return figures
  } finally {
    for (const { child } of started) child.kill('SIGKILL')
    program.remove()
  }
}

type MutableFigures = {
  -readonly [Name in keyof LogoutFigures]: LogoutFigures[Name] extends number ? number : number[]
}

async function measureRound(
  provider: Provider,
  processes: readonly RunningProcess[],
  round: number,
  boundMs: number,
  figures: MutableFigures,
): Promise<void> {
  const sub = `user-${round}`
  const seconds = Math.floor(Date.now() / 1000)
  const token = provider.sign({ aud: AUDIENCE, sub, iat: seconds, exp: seconds + 3600 }, { typ: 'at+jwt' })
  const claims = {
    aud: CLIENT,
    sub,
    sid: `session-${round}`,
    iat: seconds,
    exp: seconds + 120,
    jti: `logout-${round}`,
  }
  const logout = provider.sign({ ...claims, events: { [LOGOUT]: {} } }, { typ: 'logout+jwt' })
  const before = await Promise.all(processes.map((each) => each.ask({ name: 'check', token })))

  const receiver = processes[round % 4] as RunningProcess
  const watched = processes.map((each) => each.ask({ name: 'watch', token }) as Promise<Watched>)
  const sentAt = now()
  const body = new URLSearchParams({ logout_token: logout })
  const response = await fetch(`${receiver.url}/backchannel-logout`, { method: 'POST', body })
  const respondedAt = now()
  if (response.status !== 200) throw new Error(`The logout was answered with ${response.status}`)
  const found = await Promise.all(watched)
  const after = await Promise.all(processes.map((each) => each.ask({ name: 'check', token })))

  const delays = found.map(({ refusedAt }) => refusedAt - sentAt)
  figures.replicas.push(...delays.slice(0, 4))
  figures.slowest.push(Math.max(...delays.slice(0, 4)))
  figures.direct.push(delays[4] as number)
  figures.responses.push(respondedAt - sentAt)
  for (const [at, { lastAccepted }] of found.entries()) {
    const bound = at < 4 ? boundMs : 0
    if (lastAccepted !== null && lastAccepted > respondedAt + bound) figures.late++
  }
  figures.wrong += [
    ...before.filter((accepted) => accepted !== true),
    ...after.filter((accepted) => accepted !== false),
  ].length
}

interface RunningProcess {
  readonly url: string
  ask(question: Question): Promise<unknown>
}

function startProcess(
  program: string,
  setUp: ProcessSetUp,
): { child: ChildProcess; ready: Promise<RunningProcess> } {
  const child = fork(program, [], { execArgv: [] })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('A process ended')))
  // Killed at the end, when nobody waits for it.
  ended.catch(() => {})
  const ask = async (question: Question | ProcessSetUp): Promise<unknown> => {
    const answered = once(child, 'message') as Promise<[{ value?: unknown; error?: string }]>
    child.send(question)
    const [{ value, error }] = await Promise.race([answered, ended])
    if (error !== undefined) throw new Error(error)
    return value
  }
  return { child, ready: ask(setUp).then((url) => ({ url: String(url), ask })) }
}

/** The value below which a share of all values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return Number((sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN).toFixed(1))
}
