import type { TokenConfigOptions } from '../../../packages/tokenlib/src/index.js'
import type { Place } from './place.js'

/** A login whose tokens are looked at later. */
export interface Login {
  readonly accessToken: string
  readonly refreshToken: string
}

/** What became of refreshes that were sent at the same time; times are those of the machine, in milliseconds. */
export interface RefreshReport {
  /** The refresh tokens of the successors. */
  readonly successors: readonly string[]
  /** The codes of the errors. */
  readonly errors: readonly string[]
  readonly sentAt: number
  readonly answeredAt: number
}

/** How much a store is filled with. */
export interface FillSizes {
  readonly count: number
  readonly batch: number
  /** How many entries one step of pruning drops at most. */
  readonly pruneLimit: number
}

/** What became of a store that was filled and emptied. */
export interface FillReport {
  /** What the entries took. */
  readonly bytes: number
  readonly writeMs: number
  /** 1 if the token that was revoked before all others is still refused. */
  readonly firstRefused: number
  /** How long look-ups took, in milliseconds. */
  readonly times: readonly number[]
  /** Look-ups that did not find their entry. */
  readonly missing: number
  /** Entries that pruning dropped before they had ended. */
  readonly droppedAlive: number
  /** Entries that pruning dropped afterwards. */
  readonly dropped: number
  readonly pruneMs: number
  readonly longestPruneMs: number
  /** How long after their end the server itself had dropped the entries, where it does. */
  readonly expiryMs?: number
  /** Entries that were found after that, of some thousand. */
  readonly left: number
}

/** What a child process can be asked. */
export interface WorkerRequests {
  /** Opens the store; the first request. */
  open(place: Place, config: TokenConfigOptions): void
  /** Refreshes one token many times at once, at a moment of the machine's clock. */
  refresh(token: string, count: number, startAt: number): RefreshReport
  /** Logs in and out until it is killed, and reports every step. */
  logOutUntilKilled(): void
  /** How many of these tokens are accepted. */
  countAccepted(logins: readonly Login[]): number
  /** Fills a memory store, and empties it again. */
  fillMemory(sizes: FillSizes): FillReport
}

/** A request on its way. */
export type WorkerRequest = {
  [Name in keyof WorkerRequests]: {
    readonly name: Name
    readonly values: Parameters<WorkerRequests[Name]>
  }
}[keyof WorkerRequests]

/** A step of `logOutUntilKilled`: a logout begins, or is acknowledged. */
export type LogoutStep =
  | { readonly step: 'begins'; readonly login: Login }
  | { readonly step: 'acknowledged'; readonly accessToken: string }

/** What a child process says. */
export type WorkerMessage =
  | { readonly value: unknown }
  | { readonly error: string }
  | { readonly logout: LogoutStep }

/** Milliseconds by the clock that all processes of a machine share. */
export function machineNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
