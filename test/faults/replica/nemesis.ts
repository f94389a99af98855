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
  /** Kills it with -9 and starts it anew; resolves when its first read is complete, however long that takes. */
  startAnew(): Promise<void>
  /** Sets its clock so many seconds ahead or back; `null` where that cannot be done. */
  readonly setClock: ((seconds: number) => void) | null
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

type Hurt = () => Promise<Pick<Fault, 'lost'> | void>

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
  restoreMs,
  random,
  storm,
  isOver,
  onFault,
}: NemesisOptions): Promise<void> {
  const everybody = [...verifiers, ...revokers]
  const cutAll = (): void => {
    for (const { proxy } of everybody) proxy.cut()
  }
  const { flush, failOver } = servers
  const choices: Record<string, Hurt> = {
    crash: () => servers.crash(random(1500)),
    freeze: () => servers.freeze(500 + random(2500)),
    storm,
    'cut revokers': async () => {
      for (const { proxy } of revokers) await loseConnections(proxy, random(800))
    },
    ...(flush !== null && { flush: async () => ({ lost: await flush() }) }),
    ...(failOver !== null && { failover: async () => ({ lost: await failOver(random(800), cutAll) }) }),
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

async function loseConnections(proxy: TcpProxy, pauseMs: number): Promise<void> {
  await proxy.refuse()
  await sleep(pauseMs)
  await proxy.listen()
}

function shuffle<Value>(values: readonly Value[], random: (limit: number) => number): Value[] {
  const left = [...values]
  return values.map(() => left.splice(random(left.length), 1)[0] as Value)
}
