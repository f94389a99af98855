import type { Event } from './history.js'

/** A promise of the documentation. */
export type Promised =
  /** Replica: a check that starts more than the bound after an acknowledgement does not accept the token. */
  | 'bounded'
  /** The process that revoked refuses the token before its call resolves. */
  | 'immediate'
  /** With `everywhere`, no process accepts it once the call has resolved. */
  | 'everywhere'
  /** A process that has refused a token as revoked never accepts it later. */
  | 'final'
  /** At the end, every acknowledged revocation is known everywhere, also to processes that are restarted. */
  | 'durable'
  /** A token is refused as revoked only if it was revoked. */
  | 'no wrong rejection'
  /** Checks are refused only while something is wrong, and shortly after. */
  | 'available'
  /** An owner whose session nobody has ended is never logged out. */
  | 'no false logout'
  /** Of two parties with copies of a token, only one goes on. */
  | 'no unnoticed copy'
  /** A user has no more sessions than the limit. */
  | 'limit'
  /** What a process keeps does not grow with time. */
  | 'no growth'

/** A promise that was broken. */
export interface Violation {
  readonly promised: Promised
  readonly at: number
  readonly reason: string
  readonly event: Event
}

/** An exception that the documentation states. */
export type Exception =
  /** Replica: a revocation that the store lost is accepted until a process has written it again. */
  | 'failover'
  /** Replica: if the processes that knew it have ended, it is lost for good. */
  | 'lost while no process knew it'
  /** Replica: a primary that is cut off answers those on its side; what one side has revoked, the other does not know. */
  | 'isolated primary'
  /** Replica: a suspension of less than a second is not detected. */
  | 'short suspension'
  /** Replica: nor is one after which the clock of the system shows the same time, as if it had stopped too. */
  | 'suspension of both clocks'
  /** Lost data revokes everything, where no replica is complete. */
  | 'lost data revokes everything'
  /** Replica: revocations are restored, sessions are not. */
  | 'lost session'
  /** Rotation: a lost write gives a thief one more rotation. */
  | 'lost rotation'
  /** Client: of two logins, or a login and a refresh or logout, in one browser at the same time, the cookies of one stay. */
  | 'two logins at once'
  /** Rotation: two round trips take less than the window; a request that a stalled process held for longer is a reuse. */
  | 'late request'
  /** Production: sessions end by the clock of the process that opened them. */
  | 'wrong clock'
  /** Security events: while the store does not answer, a logout is kept by the process that received it, and written later. */
  | 'kept logout'
  /** Security events: if that process ends before the store is back, the logouts that it holds are lost. */
  | 'kept logout lost with its process'
  /** Security events: where the store does not answer, a logout that is sent again is a new one for the process that received it. */
  | 'repeated logout in an outage'

/** What a checker has to know of a world. */
export interface CheckerOptions {
  readonly boundMs: number
  readonly graceMs: number
  readonly sessionLifetimeMs: number
  /** The longest that anything lives, after its creation. */
  readonly longestLifetimeMs: number
  /** How much faster or slower than the world a clock may run. */
  readonly drift: number
  /** Whether nothing is lost and nothing straggles unless a fault is reported. */
  readonly isQuiet: boolean
}
