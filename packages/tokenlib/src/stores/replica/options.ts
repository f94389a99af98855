import { assertOptions, type OptionNames } from '../../options.js'
import type { RevocationStore } from '../../revocation/store.js'
import { type Duration, parseDuration } from '../../time.js'

/** How a replica behaves. */
export interface ReplicaOptions {
  /**
   * How long after a revocation was acknowledged this process may still accept what it revokes: `'20ms'` to a minute,
   * one second by default; a number counts seconds. A replica that cannot prove that it is younger refuses, or asks the
   * store. 0 is for a store that has `readVersion`, such as the one of SQLite: every check asks whether the store has
   * changed, and reads that first.
   */
  readonly bound?: Duration
  /** What a check does while the replica is older than that; `refuse` by default. */
  readonly whenStale?: 'refuse' | 'ask'
}

const OPTIONS: OptionNames<ReplicaOptions> = { bound: true, whenStale: true }

/** How a replica behaves, or an error for what is no option; a replica of a replica is one too. */
export function parseOptions(
  store: RevocationStore,
  options: ReplicaOptions,
): { readonly boundMs: number; readonly whenStale: 'refuse' | 'ask' } {
  assertOptions('replicate()', options, OPTIONS)
  if (store.replica !== undefined) throw new TypeError('The store has a replica already: replicate() it once')
  const { bound = '1s', whenStale = 'refuse' } = options
  return { boundMs: parseBound(bound, store), whenStale: parseWhenStale(whenStale) }
}

const [MIN_BOUND_MS, MAX_BOUND_MS] = [20, 60_000]

function parseBound(bound: Duration, store: RevocationStore): number {
  const milliseconds = parseDuration(bound) * 1000
  if (milliseconds === 0) {
    if (typeof store.readVersion === 'function') return 0
    throw new RangeError(
      'bound: 0 needs a store that can tell at once whether it has changed (readVersion), such as createSqliteStore ' +
        'makes; for this one, bound must be between 20 ms and a minute',
    )
  }
  if (milliseconds >= MIN_BOUND_MS && milliseconds <= MAX_BOUND_MS) return milliseconds
  throw new RangeError("bound must be between 20 ms and a minute, for example '1s'; a number counts seconds")
}

/** The version of a store that can tell at once whether it has changed. */
export function readStoreVersion(store: RevocationStore): string {
  const version = store.readVersion?.()
  if (typeof version === 'string') return version
  throw new TypeError('readVersion() must return a string')
}

function parseWhenStale(whenStale: 'refuse' | 'ask'): 'refuse' | 'ask' {
  if (whenStale === 'refuse' || whenStale === 'ask') return whenStale
  throw new TypeError("whenStale must be 'refuse' or 'ask'")
}
