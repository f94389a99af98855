import { setTimeout as sleep } from 'node:timers/promises'
import type { TcpProxy } from '../harness/tcp-proxy.js'
import { type Fault, machineMs } from './history.js'
import type { StoreServers } from './servers.js'

/** A process that a nemesis can hurt, and its way to the store. */
export interface Victim {
  readonly name: string
  readonly proxy: TcpProxy
  /** Stops the process as a whole. */
  pause(pauseMs: number): Promise<void>
  /** Kills it with -9 and restarts it; resolves when its first read is complete, however long that takes. */
  startAnew(): Promise<void>
  /** Sets its clock so many seconds ahead or back; `null` where that cannot be done. */
  readonly setClock: ((seconds: number) => void) | null
  /** Leads new connections to another port; `null` for where all others are led. */
  leadTo(port: number | null): void
}

/** What a nemesis works with. */
export interface NemesisOptions {
  readonly servers: StoreServers
  readonly verifiers: readonly Victim[]
  readonly revokers: readonly Victim[]
  readonly boundMs: number
  readonly restoreMs: number
  /** Random numbers from 0 to below a limit. */
  readonly random: (limit: number) => number
  /** Has many keys revoked; resolves when all calls are answered. */
  readonly storm: () => Promise<void>
  readonly isOver: () => boolean
  readonly onFault: (fault: Fault) => void
}

type Hurt = () => Promise<Partial<Fault> | void>

/**
 * Does one thing after the other to the store, and at the same time one after the other to the verifiers, as its seed
 * says. Resolves when all of it is over and nothing is left broken.
 */
export async function runNemesis(options: NemesisOptions): Promise<void> {
  await Promise.all([hurtStore(options), hurtVerifiers(options)])
}

async function hurtStore({
  servers,
  verifiers,
  revokers,
  boundMs,
  restoreMs,
  random,
  storm,
  isOver,
  onFault,
}: NemesisOptions): Promise<void> {
  const everybody = [...verifiers, ...revokers]
  const { losses, isolate, setClock } = servers
  const choices: Record<string, Hurt> = {
    crash: () => servers.crash(random(1500)),
    freeze: () => servers.freeze(500 + random(2500)),
    storm,
    'cut revokers': async () => {
      for (const { proxy } of revokers) await loseConnections(proxy, random(800))
    },
    ...Object.fromEntries(
      Object.entries(losses).map(([kind, lose]): [string, Hurt] => [kind, () => lose(random(800))]),
    ),
    ...(isolate !== null && {
      'isolated primary': async () => {
        const victim = shuffle(verifiers, random)[0] as Victim
        victim.leadTo(servers.target.port)
        const { t0, lost, promotedAt, refusesAt, heal } = await isolate(random(800))
        for (const { name, proxy } of everybody) if (name !== victim.name) proxy.cut()
        const t1 = machineMs()
        // Long enough to see that it refuses, whatever it was told just before.
        await sleep(Math.max(0, refusesAt + 2 * boundMs - machineMs()))
        victim.leadTo(null)
        victim.proxy.cut()
        onFault({
          kind: 'led to the isolated primary',
          t0,
          t1: machineMs(),
          processes: [victim.name],
          isolated: { from: promotedAt, until: refusesAt },
        })
        await heal()
        return { t0, t1, lost }
      },
    }),
    ...(setClock !== null && {
      'clock of the store': async () => {
        const seconds = random(2) === 0 ? CLOCK_JUMP_SECONDS : -CLOCK_JUMP_SECONDS
        setClock(seconds)
        await sleep(200 + random(2000))
        setClock(0)
        return { clockLeadMs: seconds * 1000 }
      },
    }),
  }
  // A new order for each time around, so that a run has every one of them if it is long enough.
  for (;;) {
    for (const [kind, hurt] of shuffle(Object.entries(choices), random)) {
      await sleep(200 + random(1200))
      if (isOver()) return
      const t0 = machineMs()
      const changed = await hurt()
      onFault({ kind, t0, t1: machineMs(), processes: null, ...changed })
      // Nothing else goes wrong for those who restore what is lost. The verifiers are not spared.
      if (changed?.lost !== undefined) await sleep(restoreMs)
    }
  }
}

async function hurtVerifiers({ verifiers, boundMs, random, isOver, onFault }: NemesisOptions): Promise<void> {
  const choices: Record<string, (victim: Victim) => Promise<void>> = {
    cut: async ({ proxy }) => proxy.cut(),
    'no connection': ({ proxy }) => loseConnections(proxy, 300 + random(2000)),
    'half-open, then answers': async ({ proxy }) => {
      proxy.setMode({ kind: 'hold' })
      await sleep(300 + random(2500))
      proxy.setMode({ kind: 'pass' })
    },
    'half-open, then cut': async ({ proxy }) => {
      proxy.setMode({ kind: 'hold' })
      await sleep(300 + random(2500))
      proxy.cut()
      proxy.setMode({ kind: 'pass' })
    },
    'slow answers': async ({ proxy }) => {
      proxy.setMode({ kind: 'delay', next: () => random(boundMs * 1.5) })
      await sleep(500 + random(1500))
      proxy.setMode({ kind: 'pass' })
    },
    'paused process': (victim) => victim.pause(300 + random(2700)),
    [CLOCK_SET]: async ({ setClock }) => {
      setClock?.([7200, -7200, 3, -3][random(4)] as number)
      await sleep(200 + random(1500))
      setClock?.(0)
    },
    'cold start': (victim) => victim.startAnew(),
  }
  for (;;) {
    for (const [kind, hurt] of shuffle(Object.entries(choices), random)) {
      await sleep(random(700))
      if (isOver()) return
      const able = kind === CLOCK_SET ? verifiers.filter(({ setClock }) => setClock !== null) : verifiers
      const chosen = shuffle(able, random).slice(0, 1 + random(2))
      const t0 = machineMs()
      await Promise.all(chosen.map(hurt))
      onFault({ kind, t0, t1: machineMs(), processes: chosen.map(({ name }) => name) })
    }
  }
}

const CLOCK_SET = 'clock set'
// Nearly an hour: what was revoked less than two minutes ago must not have ended by it.
const CLOCK_JUMP_SECONDS = 3500

async function loseConnections(proxy: TcpProxy, pauseMs: number): Promise<void> {
  await proxy.refuse()
  await sleep(pauseMs)
  await proxy.listen()
}

function shuffle<Value>(values: readonly Value[], random: (limit: number) => number): Value[] {
  const left = [...values]
  return values.map(() => left.splice(random(left.length), 1)[0] as Value)
}
