import type { Place } from '../harness/place.js'

/** What a process of a run is told when it starts. */
export interface ProcessOptions {
  readonly name: string
  readonly life: number
  /** A client uses sessions. */
  readonly role: 'verifier' | 'revoker' | 'client'
  /** By its own proxy. */
  readonly place: Place
  readonly boundMs: number
  readonly whenStale: 'refuse' | 'ask'
  readonly perSecond: number
  readonly seed: number
  /** The file that its lines are appended to. */
  readonly log: string
  readonly revokers: readonly string[]
}

/** A revocation that was acknowledged. */
export interface Acknowledged {
  readonly key: string
  readonly position: string
}

/** What a process is told. */
export type ToProcess =
  | { readonly tell: 'start'; readonly options: ProcessOptions }
  | { readonly tell: 'acknowledged'; readonly revocations: readonly Acknowledged[] }
  /** Revokes many at once. */
  | { readonly tell: 'storm'; readonly name: string; readonly count: number }
  /** Stops its load; `done` follows when nothing is under way. */
  | { readonly tell: 'rest' }
  /** Checks these keys once more; `done` follows. */
  | { readonly tell: 'checkAll'; readonly keys: readonly string[] }

/** What a process says. */
export type FromProcess =
  /** Its first complete read is there. */
  | { readonly say: 'ready' }
  | { readonly say: 'acknowledged'; readonly revocations: readonly Acknowledged[] }
  | { readonly say: 'done' }
