import { createHash } from 'node:crypto'
import { systemRandom } from '../../packages/tokenlib/src/tokens/ids.js'
import { createChecker } from './checker.js'
import { type Cluster, createCluster } from './cluster.js'
import { enterWorld } from './globals.js'
import type { Fault, Recorder } from './history.js'
import { createHost, type Host } from './host.js'
import { createIdentityProvider } from './identity-provider.js'
import { judge } from './judge.js'
import { createKeyRing } from './key-ring.js'
import { startLife } from './life.js'
import { createMachine, type Machine } from './machine.js'
import { planFaults } from './nemesis.js'
import type { Exception, Violation } from './promises.js'
import { createRandom, type Random } from './random.js'
import { rest } from './rest.js'
import { drawConditions, drawSettings, type Settings } from './settings.js'
import { createStoreServer } from './store-server.js'
import { createTimeline, type Timeline } from './timeline.js'

/** How large a world is. */
export interface WorldOptions {
  readonly seed: string
  readonly processes: number
  readonly seconds: number
  /** Receives every line of the history. */
  readonly print?: (line: string) => void
  /** Of the faults that the seed plans, only these, by number; all of them unless given. */
  readonly faults?: readonly number[]
}

/** What came of a world. */
export interface Outcome {
  readonly violations: readonly Violation[]
  readonly exceptions: ReadonlyMap<Exception, number>
  /** The SHA-256 of the history. */
  readonly digest: string
  readonly faults: readonly (Fault & { readonly number: number })[]
  readonly counts: Readonly<Record<string, number>>
  readonly happened: number
  /** The time of the world at its end, in milliseconds. */
  readonly endedAt: number
}

/** Everything that faults can be done to. */
export interface World {
  readonly timeline: Timeline
  readonly random: Random
  readonly settings: Settings
  readonly hosts: readonly Host[]
  readonly cluster: Cluster
  readonly store: {
    isUp: boolean
    isFull: boolean
    /** `null` if it hangs. */
    slownessMs: number | null
    /** It accepts everything, and answers nothing before that. */
    stallsUntil: number
  }
}

const MAX_DRIFT = 0.0002
// As many bytes as the library draws at once.
const RANDOM_STOCK = 4096

/** Lets a world run from its beginning to its end. */
export async function runWorld(options: WorldOptions): Promise<Outcome> {
  const { seed, processes, seconds, print } = options
  const random = createRandom(seed)
  const timeline = createTimeline()
  enterWorld(timeline, random.fork('chance'))
  // The library keeps random bytes in stock: these are of this world from now on.
  systemRandom(RANDOM_STOCK)
  const settings = drawSettings(random.fork('settings'))
  const isQuiet = random.chance(0.4)
  const conditions = drawConditions(random.fork('conditions'), isQuiet, settings.boundMs)
  const longestLifetimeMs = settings.sessionLifetimeMs + 600_000
  const digest = createHash('sha256')
  const counts: Record<string, number> = {}
  const checker = createChecker({
    boundMs: settings.boundMs,
    graceMs: settings.graceMs,
    sessionLifetimeMs: settings.sessionLifetimeMs,
    longestLifetimeMs,
    drift: 2 * MAX_DRIFT,
    isQuiet,
  })
  const write = (line: string): void => {
    digest.update(`${line}\n`)
    print?.(line)
  }
  write(JSON.stringify({ seed, processes, seconds, settings, conditions, isQuiet }))
  const recorder: Recorder = {
    event(event) {
      const name = `${event.op} ${event.result}`
      counts[name] = (counts[name] ?? 0) + 1
      write(JSON.stringify(event))
      checker.event(event)
    },
    fault(fault) {
      write(JSON.stringify(fault))
      checker.fault(fault)
    },
  }

  const drawMachine = (name: string): Machine =>
    createMachine(timeline, name, {
      drift: random.between(-MAX_DRIFT, MAX_DRIFT),
      leadMs: random.between(-2000, 2000),
    })
  const server = createStoreServer(drawMachine('store'), random.fork('server'), timeline.now)
  const cluster = createCluster(timeline, server)
  const store: World['store'] = { isUp: true, isFull: false, slownessMs: 0, stallsUntil: 0 }
  // What arrives while it stalls is answered at once when that is over.
  const readSlownessMs = (): number | null =>
    store.slownessMs === null ? null : Math.max(store.slownessMs, store.stallsUntil - timeline.now())
  const keys = createKeyRing(random.fork('keys'), longestLifetimeMs)
  const provider = createIdentityProvider(
    createMachine(timeline, 'provider', { drift: 0, leadMs: random.between(-2000, 2000) }),
    random.fork('provider'),
    settings.sessionLifetimeMs,
  )
  const hosts = Array.from({ length: processes }, (_, at) =>
    createHost(drawMachine(`app-${at}`), random.fork(`host ${at}`), {
      timeline,
      server: cluster.serverOf(`app-${at}`),
      peer: { isUp: () => store.isUp && cluster.isReachable(`app-${at}`), readSlownessMs },
      isFull: () => store.isFull,
      conditions,
      keys,
      provider,
      settings,
      recorder,
    }),
  )

  const world: World = { timeline, random, settings, hosts, cluster, store }
  const faults = planFaults(world, seconds * 1000, (fault) => recorder.fault(fault)).filter(
    ({ number }) => options.faults?.includes(number) ?? true,
  )
  for (const { t0, begin } of faults) timeline.at(t0, begin)
  for (const host of hosts) timeline.at(random.between(0, 2000), () => host.start())

  const life = startLife(world, { keys, provider, conditions, recorder })
  await timeline.runUntil(seconds * 1000)
  life.end()
  await judge(world, [...life.revoked()])
  await rest(world, life.browsers, recorder)
  return {
    violations: checker.violations,
    exceptions: checker.exceptions,
    digest: digest.digest('hex'),
    faults: faults.map(({ begin: _begin, ...fault }) => fault),
    counts,
    happened: timeline.count().happened,
    endedAt: timeline.now(),
  }
}
