import { assertSpendable } from '../../revocation/spent-ids.js'
import type { Clock } from '../../time.js'
import { createSweeper, pruneMap } from './revocations.js'

/** The ids that were used up in a memory store. */
export interface SpentIds {
  /** `true` for the first call with an id, `false` until `keepMs` have passed. */
  spend(id: string, keepMs: number): boolean
  /** Drops ids that have expired, a bounded step at a time; each step tells how many went. */
  prune(limit: number): Iterable<number>
  readonly clear: () => void
}

// Each new id looks at a few old ones, so that about a quarter of what is kept has expired at most.
const SWEEP_STEPS = 4

/** No id yet. */
export function createSpentIds(clock: Clock): SpentIds {
  const spent = new Map<string, { readonly until: number }>()
  const sweep = createSweeper(spent)

  return {
    spend(id, keepMs) {
      assertSpendable(id, keepMs)
      const now = clock()
      sweep(now, SWEEP_STEPS)
      const known = spent.get(id)
      if (known !== undefined && !(known.until <= now)) return false
      spent.set(id, { until: now + keepMs })
      return true
    },
    prune: (limit) => pruneMap(spent, sweep, clock, limit),
    clear: () => spent.clear(),
  }
}
