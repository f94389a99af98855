import type { RevocationStore } from './revocation/store.js'
import type { Clock } from './time.js'
import type { TokenConfig } from './config/config.js'
import type { Settings } from './config/settings.js'

/** What `tokenlib doctor` sees of a manager. It has the ids of keys, never a key itself. */
export interface ManagerInspection {
  readonly config: TokenConfig
  /** Every own key. */
  readonly keys: readonly InspectedKey[]
  /** Why no key signs new tokens at this moment, or `null`. */
  readonly missingKey: string | null
  readonly issuers: readonly InspectedIssuer[]
  readonly store: RevocationStore | null
}

/** One of the own keys of a manager. */
export interface InspectedKey {
  readonly kid: string
  readonly algorithm: string
  /** Whether new tokens are signed with it at this moment. */
  readonly signs: boolean
  /** Whether tokens of it are accepted at this moment. */
  readonly isTrusted: boolean
}

/** An issuer whose tokens a manager accepts. */
export interface InspectedIssuer {
  readonly issuer: string
  readonly profile: string
  readonly audience: readonly string[]
  /** Loads its keys, or rejects with the reason. */
  readonly loadKeys: () => Promise<void>
}

// Shared by every copy of this package in a process: the command line may be another one than the application uses.
const INSPECT = Symbol.for('tokenlib.inspect')

/** The key of the inspection property. */
export interface InspectionSource {
  readonly config: TokenConfig
  readonly settings: Settings
  readonly now: Clock
  readonly store: RevocationStore | null
}

/** Lets `readInspection` look into a manager. No member of the class: applications have no use for it. */
export function allowInspection(manager: object, source: InspectionSource): void {
  Object.defineProperty(manager, INSPECT, { value: () => inspect(source), enumerable: false })
}

/** The inspection of a manager, or `null` for any other value. */
export function readInspection(value: unknown): ManagerInspection | null {
  if (typeof value !== 'object' || value === null) return null
  const look = (value as { readonly [INSPECT]?: () => ManagerInspection })[INSPECT]
  return typeof look === 'function' ? look() : null
}

function inspect({ config, settings, now, store }: InspectionSource): ManagerInspection {
  const moment = now()
  const signing = settings.keys.signingKey(moment)
  return {
    config,
    keys: settings.keys.verifying.map((key) => ({
      kid: key.kid,
      algorithm: key.algorithm,
      signs: key.kid === signing?.kid && key.algorithm === signing.algorithm,
      isTrusted: settings.keys.isTrusted(key, moment),
    })),
    missingKey: signing === null ? settings.keys.explainMissingKey(moment) : null,
    issuers: [...settings.sources.issuers.values()].map(({ issuer, profile, rules, keys }) => ({
      issuer,
      profile,
      audience: rules.audience,
      loadKeys: async () => keys.loader?.ready(),
    })),
    store,
  }
}
