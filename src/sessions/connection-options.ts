import type { RandomBytes } from '../claims/ids.js'
import type { TokenEmitter } from '../events.js'
import type { Clock } from '../time.js'

/** What a store is connected with. */
export interface ConnectionOptions {
  readonly now: Clock
  readonly random: RandomBytes
  readonly emit: TokenEmitter['emit']
  /** The deadline of every call, in milliseconds. */
  readonly timeoutMs: number
  /** The longest lifetime of the manager's tokens, leeway included; milliseconds, or `FOREVER`. */
  readonly longestLifetime: number
  /** How long after its expiry a token may still verify somewhere, in milliseconds. */
  readonly retentionMs: number
  /** How long a used refresh token may be sent again, in milliseconds. */
  readonly graceMs: number
  /** How long a session may go unused; milliseconds, or `FOREVER`. */
  readonly idleMs: number
}
