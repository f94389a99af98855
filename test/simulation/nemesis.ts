import type { Fault, FaultKind } from './history.js'
import type { Disturbance } from './network.js'
import type { Host } from './host.js'
import type { World } from './world.js'

/** A fault that is going to happen. */
export interface PlannedFault extends Fault {
  readonly begin: () => void
}

interface Plan {
  (
    world: World,
    durationMs: number,
  ): Pick<PlannedFault, 'begin' | 'applications' | 'byMs' | 'isolation'> & {
    /** How much of its last writes the store loses. */
    readonly lostMs?: number
  }
}

// What only some processes notice, which is worse than what all notice.
const PARTIAL: readonly FaultKind[] = [
  'cut',
  'half-open',
  'deaf',
  'suspension',
  'stall',
  'crash',
  'clock step',
]

const DISTURBANCES: readonly Disturbance[] = ['cut', 'half-open', 'deaf']

/** The faults of a seed. `tell` is called when one begins. */
export function planFaults(
  world: World,
  untilMs: number,
  tell: (fault: Fault) => void,
): readonly PlannedFault[] {
  const random = world.random.fork('faults')
  const { boundMs } = world.settings
  // Some worlds are nearly at peace, in others hardly anything works, and each has another mixture.
  const meanMs = random.pick([1, 3, 10]) * Math.max(1500, boundMs)
  const kinds = Object.keys(PLANS).filter(() => random.chance(0.4)) as FaultKind[]
  const partial = random.pick(PARTIAL)
  kinds.push(partial, partial, partial)
  const planned: PlannedFault[] = []
  for (let at = random.interval(meanMs); at < untilMs; at += random.interval(meanMs)) {
    const kind = random.pick(kinds)
    const durationMs = random.pick([0.3, 1, 2, 5]) * Math.max(1000, boundMs) * random.between(0.5, 1.5)
    const plan = PLANS[kind] as Plan
    const { begin, lostMs, ...rest } = plan({ ...world, random }, durationMs)
    const lost = lostMs === undefined ? {} : { lostAfter: at - lostMs }
    const number = planned.length
    const fault: Fault = { number, kind, t0: at, t1: at + durationMs, ...rest, ...lost }
    planned.push({
      ...fault,
      begin() {
        tell(fault)
        begin()
      },
    })
  }
  return planned
}

const PLANS: Readonly<Record<string, Plan>> = {
  ...Object.fromEntries(DISTURBANCES.map((how) => [how, planDisturbance(how)])),
  'store down': (world, durationMs) => whole(world, durationMs, { isUp: false }, { isUp: true }),
  'store hangs': (world, durationMs) => whole(world, durationMs, { slownessMs: null }, { slownessMs: 0 }),
  'store slow': (world, durationMs) => whole(world, durationMs, { slownessMs: 500 }, { slownessMs: 0 }),
  'store full': (world, durationMs) => whole(world, durationMs, { isFull: true }, { isFull: false }),
  // A crash without the last writes, a failover to a standby that is behind, a backup that is restored, or nothing left.
  'store lost writes': (world, durationMs) => {
    const { cluster, store, timeline, random } = world
    const lostMs = random.pick([50, 1000, 10_000, 600_000, Infinity])
    return {
      applications: null,
      lostMs,
      begin() {
        store.isUp = false
        void cluster.primary().rollBack(timeline.now() - lostMs)
        timeline.at(timeline.now() + durationMs, () => void (store.isUp = true))
      },
    }
  },
  // Requests are accepted, and answered all at once when it is over.
  'store stalls': ({ store, timeline }, durationMs) => ({
    applications: null,
    begin() {
      store.stallsUntil = timeline.now() + durationMs
    },
  }),
  'isolated primary': (world, durationMs) => {
    const { random, cluster, timeline } = world
    const isolation = {
      hosts: names(some(world)),
      lagMs: random.pick([0, 50, 1000, 10_000]),
      failoverMs: Math.min(durationMs, random.between(50, 3000)),
      // With `min-replicas-to-write`, and a `min-replicas-max-lag` of a second.
      fencedAfterMs: random.pick([null, random.between(900, 3000)]),
    }
    return {
      applications: null,
      isolation,
      lostMs: isolation.lagMs,
      begin() {
        if (cluster.isolate(isolation)) timeline.at(timeline.now() + durationMs, () => cluster.heal())
      },
    }
  },
  crash: (world, durationMs) => {
    const hosts = some(world)
    return {
      applications: names(hosts),
      begin() {
        for (const host of hosts) {
          host.kill()
          world.timeline.at(world.timeline.now() + durationMs, () => host.start())
        }
      },
    }
  },
  stall: (world, durationMs) => {
    const hosts = some(world)
    return {
      applications: names(hosts),
      begin: () => hosts.forEach(({ machine }) => machine.stall(durationMs)),
    }
  },
  suspension: (world, durationMs) => {
    const hosts = some(world)
    return {
      applications: names(hosts),
      begin: () => hosts.forEach(({ machine }) => machine.suspend(durationMs)),
    }
  },
  'clock step': (world) => {
    const hosts = some(world)
    // Docs: entries are kept a minute longer, to allow for differences.
    const byMs = world.random.pick([-25_000, -5000, -500, 0, 500, 5000, 25_000])
    return {
      applications: names(hosts),
      byMs,
      begin: () => hosts.forEach(({ machine }) => machine.setClock(byMs)),
    }
  },
  'store clock step': (world) => {
    const byMs = world.random.pick([-25_000, -500, 0, 500, 25_000])
    return { applications: null, byMs, begin: () => world.cluster.primary().machine.setClock(byMs) }
  },
}

function planDisturbance(how: Disturbance): Plan {
  return (world, durationMs) => {
    const hosts = some(world)
    return {
      applications: names(hosts),
      begin() {
        const links = hosts.map(({ storeLink }) => storeLink)
        for (const link of links) link?.disturb(how)
        world.timeline.at(world.timeline.now() + durationMs, () => {
          for (const link of links) link?.disturb(null)
        })
      },
    }
  }
}

function whole(
  { store, timeline }: World,
  durationMs: number,
  change: Partial<World['store']>,
  end: Partial<World['store']>,
): ReturnType<Plan> {
  return {
    applications: null,
    begin() {
      Object.assign(store, change)
      timeline.at(timeline.now() + durationMs, () => void Object.assign(store, end))
    },
  }
}

/** One application, some, or all. */
function some({ hosts, random }: World): readonly Host[] {
  const share = random.pick([0, 0, 0.3, 0.3, 1])
  const chosen = hosts.filter(() => random.chance(share))
  return chosen.length === 0 ? [random.pick(hosts)] : chosen
}

function names(hosts: readonly Host[]): readonly string[] {
  return hosts.map(({ name }) => name)
}
