import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../../helpers/race-logout.js'
import { findFreePort } from '../../helpers/servers/free-port.js'
import { openStore } from '../harness/place.js'
import { createTcpProxy, type TcpProxy } from '../harness/tcp-proxy.js'
import { EARLY } from './check-history.js'
import { createFakeClock } from './fake-clock.js'
import { type Fault, type History, machineMs, type Operation, STARVED, STORE } from './history.js'
import { toKeys } from './keys.js'
import { runNemesis, type Victim } from './nemesis.js'
import type { Acknowledged, ProcessOptions, ToProcess } from './process-protocol.js'
import type { StoreServers } from './servers.js'
import { type RunningProcess, startProcess } from './start-process.js'
import { startServers, type StoreKind } from './start-servers.js'

/** How large a run is. */
export interface SeedSizes {
  readonly store: StoreKind
  readonly seed: number
  readonly seconds: number
  readonly verifiers: number
  readonly revokers: number
  /** By each verifier. */
  readonly checksPerSecond: number
  /** By each revoker. */
  readonly revocationsPerSecond: number
  /** Processes that use sessions. */
  readonly clients: number
  /** By each client. */
  readonly rotationsPerSecond: number
  readonly stormSize: number
  /** Whether the store may be emptied, or fail over to a server that lacks its last writes. */
  readonly losesData: boolean
}

/** A run of the size that the promise is made for. */
export const FULL_SIZES: Omit<SeedSizes, 'seed' | 'seconds' | 'store'> = {
  verifiers: 5,
  revokers: 2,
  checksPerSecond: 600,
  revocationsPerSecond: 60,
  clients: 2,
  rotationsPerSecond: 40,
  stormSize: 5000,
  losesData: true,
}

interface Member extends Victim {
  current: RunningProcess
}

/** Runs verifiers, revokers and a nemesis against real servers, and returns what happened. */
export async function runSeed(program: string, sizes: SeedSizes): Promise<History> {
  const random = createRandom(sizes.seed)
  const boundMs = 1000 + 100 * random(6)
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-replica-'))
  const started = await startServers(sizes.store)
  const servers = sizes.losesData ? started : { ...started, losses: {}, isolate: null }
  const members: Member[] = []
  const ended = new AbortController()
  try {
    const run = createRun(program, sizes, { servers, boundMs, folder, members })
    watchServers(servers, { limitMs: boundMs / 4, signal: ended.signal, onFault: run.onFault })
    await run.start()
    const endsAt = machineMs() + sizes.seconds * 1000
    let storms = 0
    await runNemesis({
      servers,
      verifiers: run.verifiers,
      revokers: run.revokers,
      boundMs,
      restoreMs: toRestoreMs(boundMs),
      random,
      storm: () => run.storm(`storm-${storms++}`),
      isOver: () => machineMs() >= endsAt,
      onFault: run.onFault,
    })
    return await run.end()
  } finally {
    ended.abort()
    await Promise.all(members.map(({ current }) => current.kill()))
    await Promise.all(members.map(({ proxy }) => proxy.refuse()))
    await servers.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

// A quarter of the bound until the loss is found, a half before it is restored, and the rest for the work itself: what
// was lost is read from the start and written again, on two cores that have other things to do.
function toRestoreMs(boundMs: number): number {
  return 2 * boundMs
}

interface Equipment {
  readonly servers: StoreServers
  readonly boundMs: number
  readonly folder: string
  readonly members: Member[]
}

function createRun(program: string, sizes: SeedSizes, { servers, boundMs, folder, members }: Equipment) {
  const faults: Fault[] = []
  const verifiers: Member[] = []
  const revokers: Member[] = []
  const onFault = (fault: Fault): void => void faults.push(fault)
  const perSecond: Record<ProcessOptions['role'], number> = {
    verifier: sizes.checksPerSecond,
    revoker: sizes.revocationsPerSecond,
    client: sizes.rotationsPerSecond,
  }
  const revokerNames = Array.from({ length: sizes.revokers }, (_, at) => `revoker-${at + 1}`)

  const onAcknowledged = (from: string) => (revocations: readonly Acknowledged[]) => {
    const message: ToProcess = { tell: 'acknowledged', revocations }
    for (const { name, current } of members) if (name !== from) current.tell(message)
  }

  const addMember = async (role: ProcessOptions['role'], at: number): Promise<Member> => {
    const name = `${role}-${at + 1}`
    const { target } = servers
    let ownPort: number | null = null
    const proxy: TcpProxy = createTcpProxy(await findFreePort(), {
      host: target.host,
      get port() {
        return ownPort ?? target.port
      },
    })
    await proxy.listen()
    // Reading such a clock takes long, so only some have one.
    const clock = role === 'verifier' && at % 2 === 1 ? createFakeClock(join(folder, `${name}.clock`)) : null
    let life = 0
    const start = (): RunningProcess => {
      const t0 = machineMs()
      const started = startProcess(
        program,
        {
          name,
          life: ++life,
          role,
          place: { client: servers.client, url: servers.url(proxy.port) },
          boundMs,
          whenStale: role === 'verifier' && at === 0 ? 'ask' : 'refuse',
          perSecond: perSecond[role],
          seed: sizes.seed * 1000 + 100 * life + 10 * at + role.length,
          log: join(folder, `${name}-${life}.jsonl`),
          revokers: revokerNames,
        },
        clock?.environment ?? {},
        onAcknowledged(name),
      )
      // Nothing is answered before the first read, so a start is a fault too.
      void started.ready.then(() => onFault({ kind: 'start', t0, t1: machineMs(), processes: [name] }))
      return started
    }
    const member: Member = {
      name,
      proxy,
      current: start(),
      setClock: clock === null ? null : (seconds) => clock.set(seconds),
      leadTo: (port) => void (ownPort = port),
      async pause(pauseMs) {
        member.current.signal('SIGSTOP')
        await sleep(pauseMs)
        member.current.signal('SIGCONT')
      },
      async startAnew() {
        await member.current.kill()
        member.current = start()
        await member.current.ready
      },
    }
    members.push(member)
    return member
  }

  return {
    verifiers,
    revokers,
    onFault,
    async start() {
      for (let at = 0; at < sizes.verifiers; at++) verifiers.push(await addMember('verifier', at))
      for (let at = 0; at < sizes.revokers; at++) revokers.push(await addMember('revoker', at))
      for (let at = 0; at < sizes.clients; at++) revokers.push(await addMember('client', at))
      await Promise.all(members.map(({ current }) => current.ready))
    },
    async storm(name: string) {
      await revokers[0]?.current.request({ tell: 'storm', name, count: sizes.stormSize })
    },
    async end(): Promise<History> {
      const all = (message: ToProcess): Promise<unknown> =>
        Promise.all(members.map(({ current }) => current.request(message)))
      await all({ tell: 'rest' })
      await sleep(2 * boundMs + toRestoreMs(boundMs))
      const before = readLogs(folder)
      const keys = before.operations.flatMap(({ op, key, result }) =>
        op === 'revoke' && result === 'ok' ? [key] : [],
      )
      await all({ tell: 'checkAll', keys })
      const inStore = await checkStore(servers, keys)
      // Their logs are complete: each says that it is done after it has written everything.
      const { operations, faults: starved } = readLogs(folder)
      return {
        boundMs,
        restoreMs: toRestoreMs(boundMs),
        wallLeadMs: Date.now() - machineMs(),
        operations: [...operations, ...inStore],
        faults: [...faults, ...starved],
      }
    },
  }
}

function readLogs(folder: string): { operations: Operation[]; faults: Fault[] } {
  const operations: Operation[] = []
  const faults: Fault[] = []
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.jsonl'))) {
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) {
      // A process that was killed may have written half a line.
      if (!line.endsWith('}')) continue
      const entry = JSON.parse(line) as Operation | { readonly fault: Fault }
      if ('fault' in entry) faults.push(entry.fault)
      else operations.push(entry)
    }
  }
  return { operations, faults }
}

async function checkStore(servers: StoreServers, keys: readonly string[]): Promise<Operation[]> {
  const { store, close } = await openStore({ client: servers.client, url: servers.url(servers.target.port) })
  try {
    await store.prepare({ longestLifetime: 1 })
    const checks: Operation[] = []
    for (let from = 0; from < keys.length; from += 100) {
      const part = keys.slice(from, from + 100)
      const t0 = machineMs()
      const answer = await store.lookup(part.flatMap(toKeys))
      const t1 = machineMs()
      for (const [at, key] of part.entries()) {
        const isRevoked = EARLY <= Math.max(answer[2 * at] ?? -1, answer[2 * at + 1] ?? -1)
        const result = isRevoked ? 'revoked' : 'valid'
        checks.push({
          process: STORE,
          life: 1,
          op: 'check',
          key,
          start: EARLY,
          t0,
          t1,
          result,
          isFinal: true,
        })
      }
    }
    return checks
  } finally {
    await close()
  }
}

// The proxies are in this process, and the servers are processes as well: when the machine keeps them from running,
// nobody can be fresh.
function watchServers(
  servers: StoreServers,
  options: {
    readonly limitMs: number
    readonly signal: AbortSignal
    readonly onFault: (fault: Fault) => void
  },
): void {
  const watch = async (): Promise<void> => {
    while (!options.signal.aborted) {
      const t0 = machineMs()
      await Promise.all([sleep(PING_INTERVAL_MS), servers.ping().catch(() => undefined)])
      const t1 = machineMs()
      if (t1 - t0 - PING_INTERVAL_MS > options.limitMs) {
        options.onFault({ kind: STARVED, t0, t1, processes: null })
      }
    }
  }
  void watch()
}

const PING_INTERVAL_MS = 20
