import { ConfigurationError } from '../errors.js'
import type { BoundKey } from '../tokens/algorithms.js'
import { createEmptyRing, createKeyRing, type KeyRing } from '../tokens/key-ring.js'
import { createScheduledRing } from '../tokens/key-schedule.js'
import type { OwnKey } from '../tokens/own-key.js'
import { type Clock, type Duration, parseDuration } from '../time.js'
import type { TokenConfig } from './config.js'

/** The options of a manager that concern its own keys. */
export interface KeyOptions {
  readonly keys?: readonly OwnKey[] | undefined
  readonly signTimeout?: Duration | undefined
  /** Which keys of a list are in use is checked at this moment. */
  readonly now?: Clock | undefined
}

/** The own keys of a manager. */
export interface ResolvedKeys {
  readonly keys: KeyRing
  /**
   * Replaces the keys at `now`, in epoch milliseconds, unless `assertKeys` throws; `null` where the configuration has them.
   */
  readonly setKeys:
    | ((list: readonly OwnKey[], now: number, assertKeys?: (keys: readonly BoundKey[]) => void) => void)
    | null
}

/** The keys of the configuration or of the option `keys`; none, where there are issuers and nothing is configured. */
export function resolveKeys(config: TokenConfig, options: KeyOptions, hasIssuers: boolean): ResolvedKeys {
  const { keys: list, signTimeout, now } = options
  const configured = KEY_FIELDS.find((name) => config[name] !== null)
  if (list === undefined) {
    if (signTimeout !== undefined) throw new ConfigurationError('signTimeout needs the option keys')
    const isEmpty = hasIssuers && configured === undefined
    return { keys: isEmpty ? createEmptyRing() : createKeyRing(config), setKeys: null }
  }
  const conflict = configured ?? (config.JWT_DECODE_ALGORITHMS === null ? undefined : 'JWT_DECODE_ALGORITHMS')
  if (conflict !== undefined) throw new ConfigurationError(`Set ${conflict} or the option keys, not both`)
  const rules = {
    allowWeakSecret: config.JWT_ALLOW_WEAK_SECRET,
    signTimeoutMs: parseSignTimeout(signTimeout),
    longestLifetimeMs: readLongestLifetime(config),
  }
  const ring = createScheduledRing(list, rules, now?.() ?? 0)
  return { keys: ring, setKeys: (next, at, assertKeys) => ring.replace(next, at, assertKeys) }
}

/** The fields of a configuration that have a key. */
export const KEY_FIELDS: readonly (keyof TokenConfig & `JWT_${string}`)[] = [
  'JWT_SECRET_KEY',
  'JWT_PREVIOUS_SECRET_KEY',
  'JWT_PRIVATE_KEY',
  'JWT_PRIVATE_KEY_PASSPHRASE',
  'JWT_PUBLIC_KEY',
  'JWT_PREVIOUS_PUBLIC_KEY',
]

// In milliseconds, with the leeway that an expired token is still accepted for.
function readLongestLifetime(config: TokenConfig): number {
  const lifetimes = [config.JWT_ACCESS_TOKEN_EXPIRES, config.JWT_REFRESH_TOKEN_EXPIRES].map((lifetime) =>
    lifetime === false ? Number.POSITIVE_INFINITY : parseDuration(lifetime),
  )
  return (Math.max(...lifetimes) + parseDuration(config.JWT_DECODE_LEEWAY)) * 1000
}

// The longest delay that a timer takes is 24 days; nobody waits an hour for a token.
const MAX_SIGN_TIMEOUT_SECONDS = 3600

function parseSignTimeout(timeout: Duration = '5s'): number {
  let seconds = 0
  try {
    seconds = parseDuration(timeout)
  } catch {
    // Reported below, like every other bad value.
  }
  if (seconds > 0 && seconds <= MAX_SIGN_TIMEOUT_SECONDS) return seconds * 1000
  throw new ConfigurationError('signTimeout must be a duration above zero, at most one hour')
}
