import type { Jwk } from '../../../packages/tokenlib/src/kit.js'

/** What a process is started with. */
export interface ProcessSetUp {
  readonly url: string
  readonly namespace: string
  readonly secret: string
  readonly issuer: string
  readonly audience: string
  readonly clientId: string
  readonly jwk: Jwk
  /** The bound of its replica; `null` for a process that asks the store at every check. */
  readonly bound: string | null
}

/** `check`: whether it accepts a token. `watch`: checks the token again and again, until it is refused. */
export interface Question {
  readonly name: 'check' | 'watch'
  readonly token: string
}

/** What became of a token, in milliseconds of the clock that all processes share. */
export interface Watched {
  readonly refusedAt: number
  /** When the last check began that accepted it; `null` for none. */
  readonly lastAccepted: number | null
}

/** Milliseconds of the monotonic clock that all processes of a machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
