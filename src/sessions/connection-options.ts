import type { RandomBytes } from '../claims/ids.js'
import type { TokenEmitter } from '../events.js'
import { addTime, FOREVER } from '../revocation/revocation.js'
import type { Clock } from '../time.js'

/** What a store is connected with; durations in seconds, if their names do not say otherwise. */
export interface ConnectionOptions {
  readonly now: Clock
  readonly random: RandomBytes
  readonly emit: TokenEmitter['emit']
  /** The deadline of every call. */
  readonly timeoutMs: number
  /** How long the manager's tokens live, type by type; `false` for ever. */
  readonly lifetimes: readonly (number | false)[]
  /** How long after its expiry the manager lets a token pass. */
  readonly leeway: number
  /** How long a used refresh token may be sent again. */
  readonly grace: number
  /** How long a session may go unused; `false` for as long as it lasts. */
  readonly idle: number | false
}

/** The same, made ready for use. */
export interface ConnectionRules extends Pick<ConnectionOptions, 'now' | 'random' | 'emit' | 'timeoutMs'> {
  /** The longest lifetime of the manager's tokens, leeway included; milliseconds, or `FOREVER`. */
  readonly longestLifetime: number
  /** How long after its expiry a token may still verify somewhere, in milliseconds. */
  readonly retentionMs: number
  /** How long a used refresh token may be sent again, in milliseconds. */
  readonly graceMs: number
  /** How long a session may go unused; milliseconds, or `FOREVER`. */
  readonly idleMs: number
}

// Another process on the same store may forgive more than this one.
const LEAST_RETENTION = 300_000

/** The rules that options stand for. */
export function resolveRules(options: ConnectionOptions): ConnectionRules {
  const { now, random, emit, timeoutMs, lifetimes, leeway, grace, idle } = options
  const retentionMs = Math.max(leeway * 1000, LEAST_RETENTION)
  const longest = Math.max(...lifetimes.map(toMilliseconds))
  return {
    now,
    random,
    emit,
    timeoutMs,
    longestLifetime: addTime(longest, retentionMs),
    retentionMs,
    graceMs: grace * 1000,
    idleMs: toMilliseconds(idle),
  }
}

function toMilliseconds(seconds: number | false): number {
  return seconds === false ? FOREVER : seconds * 1000
}
