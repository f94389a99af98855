import type { Conditions } from './network.js'
import type { Random } from './random.js'

/** What all applications of a world have in common. */
export interface Settings {
  readonly boundMs: number
  readonly whenStale: 'refuse' | 'ask'
  readonly graceMs: number
  readonly accessLifetimeMs: number
  readonly sessionLifetimeMs: number
  readonly maxSessions: number | null
  /** Whether the store wakes its replicas, which is only a hint. */
  readonly wakesReplicas: boolean
  /** Whether a logout of the provider is answered when no process accepts the tokens any more. */
  readonly logsOutEverywhere: boolean
}

/** The settings of a seed. */
export function drawSettings(random: Random): Settings {
  return {
    boundMs: random.pick([100, 500, 1000, 1000, 2000, 5000, 30_000]),
    whenStale: random.pick(['refuse', 'ask'] as const),
    graceMs: random.pick([5000, 10_000, 20_000]),
    accessLifetimeMs: random.pick([10_000, 20_000, 600_000]),
    sessionLifetimeMs: random.pick([120_000, 600_000, 3_600_000]),
    maxSessions: random.pick([null, null, 3]),
    wakesReplicas: random.chance(0.6),
    logsOutEverywhere: random.chance(0.3),
  }
}

/** How messages fare in a world; in a quiet one, nothing happens to them unless there is a fault. */
export function drawConditions(random: Random, isQuiet: boolean, boundMs: number): Conditions {
  // Docs: keep the bound above four times the slowest response of the store.
  const delayMs = Math.min(random.pick([0.5, 2, 10]), boundMs / 100)
  if (isQuiet) return { delayMs, loss: 0, duplication: 0, straggling: 0 }
  return {
    delayMs,
    loss: random.pick([0, 0.001, 0.01]),
    duplication: random.pick([0, 0.01]),
    straggling: random.pick([0, 0.01]),
  }
}
