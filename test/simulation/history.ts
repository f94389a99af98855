import type { Isolation } from './cluster.js'

/** A kind of revocation, and what it is about: a `jti`, a `sid`, a user, a `kid`, or nothing. */
export interface Target {
  readonly kind: 'token' | 'session' | 'user' | 'key' | 'all'
  readonly id: string
  /** When a token expires, in epoch seconds. */
  readonly exp?: number
}

/** What a token is, as everybody who holds it can read. */
export interface TokenFacts {
  readonly jti: string
  readonly sid: string
  readonly user: string
  readonly kid: string
  /** Epoch seconds. */
  readonly exp: number
}

/** Where an operation took place: the name of an application, and how often that was started before. */
export interface Place {
  readonly application: string
  readonly life: number
}

interface Operation extends Place {
  /** When it was asked for and when it was answered, in milliseconds of the world. */
  readonly t0: number
  readonly t1: number
  /** `ok`, or the code of the error. */
  readonly result: string
}

/** A request, and its answer at the door of an application: all that the checker sees. */
export type Event =
  /** A user logs in. `limit` is the most sessions that the user may have. */
  | (Operation & {
      readonly op: 'open'
      readonly user: string
      readonly limit: number | null
      readonly session: string | null
    })
  /** A guarded route. `isFinal` is after everything has healed. */
  | (Operation & { readonly op: 'check'; readonly token: TokenFacts; readonly isFinal: boolean })
  /** A refresh, by the party that holds the token. */
  | (Operation & {
      readonly op: 'refresh'
      readonly token: TokenFacts
      readonly party: Party
      /** The token that came back; the one that was sent, if that is still to be used. */
      readonly received: string | null
    })
  | (Operation & { readonly op: 'revoke'; readonly target: Target; readonly isEverywhere: boolean })
  /** A logout of the identity provider arrives, for the first time or again. `id` is the `jti` of its token. */
  | (Operation & {
      readonly op: 'logout'
      readonly id: string
      readonly targets: readonly Target[]
      readonly isEverywhere: boolean
    })
  /** A browser believes that its session is over. */
  | (Operation & { readonly op: 'loggedOut'; readonly session: string })
  /** How many sessions a user has. */
  | (Operation & {
      readonly op: 'list'
      readonly user: string
      readonly count: number
      readonly limit: number
    })
  /** What an application keeps; also the store, and a browser. `isAtRest` is after everything has expired. */
  | (Operation & {
      readonly op: 'health'
      readonly entries: number
      readonly timers: number
      readonly isAtRest: boolean
    })

/** Who uses a session: its owner, or somebody who has a copy of a token. */
export type Party = 'owner' | 'thief'

/** Something that went wrong in the world. The promises have exceptions for some of them, by name. */
export interface Fault {
  /** Its index among the faults that the seed plans, by start time. */
  readonly number: number
  readonly kind: FaultKind
  readonly t0: number
  readonly t1: number
  /** The applications that it concerns; `null` for all. */
  readonly applications: readonly string[] | null
  /** The store has lost what it acknowledged after this moment, up to `t0`. */
  readonly lostAfter?: number
  /** A primary that was cut off from `t0` to `t1`; what it has taken since is lost then. */
  readonly isolation?: Isolation
  /** How far a clock is ahead of the world from then on. */
  readonly byMs?: number
}

/** Everything that can go wrong. */
export type FaultKind =
  | 'cut'
  | 'half-open'
  | 'deaf'
  | 'store down'
  | 'store hangs'
  | 'store slow'
  | 'store full'
  | 'store lost writes'
  | 'store stalls'
  | 'isolated primary'
  | 'crash'
  | 'stall'
  | 'suspension'
  | 'clock step'
  | 'store clock step'

/** Collects what happens. */
export interface Recorder {
  readonly event: (event: Event) => void
  readonly fault: (fault: Fault) => void
}
