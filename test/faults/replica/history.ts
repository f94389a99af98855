/** What an operation came to. `failed` is a revocation that may have been taken all the same. */
export type OperationResult =
  | 'revoked'
  | 'valid'
  | 'unavailable'
  | 'ok'
  | 'failed'
  | 'superseded'
  | 'reused'
  | 'ended'

/** One operation of a process, as one line of its log. Times are milliseconds of the machine's monotonic clock. */
export interface Operation {
  readonly process: string
  /** Counts the starts of that process. */
  readonly life: number
  /** `read` is an answer of the store's feed: `ok` for the last page of a read, `failed` for all others. */
  readonly op: 'revoke' | 'check' | 'state' | 'read' | 'rotate' | 'present' | 'end'
  /** `kind:name`; empty for `state` and `read`. The last three are about a session, by its id. */
  readonly key: string
  readonly t0: number
  readonly t1: number
  readonly result: OperationResult
  /** When the token of a check started; epoch milliseconds. Only watermarks depend on it. */
  readonly start?: number
  readonly position?: string
  readonly error?: string
  /** Of a `state`: the age that the replica claims. Of a `read`: the age that the store reports. */
  readonly ageMs?: number
  /** The id of the refresh token that was presented. */
  readonly presented?: string
  /** Of a `rotate` that moved the session on: the token that the presented one was exchanged for. */
  readonly movedFrom?: string
  /** The check demanded the position of the revocation. */
  readonly atLeast?: true
  /** The check was made after everything had healed. */
  readonly isFinal?: true
  /** The check may have been answered by the store, because the replica was stale. */
  readonly mayAsk?: true
}

/** The name that a check of the store itself has, at the end. */
export const STORE = 'store'

/** The kind of a fault that is the machine's: it ran others instead of a process, a proxy or a server. */
export const STARVED = 'starved'

/** Something that was done to a store, a connection or a process, or that the machine did to it. */
export interface Fault {
  readonly kind: string
  readonly t0: number
  readonly t1: number
  /** `null` for all of them. */
  readonly processes: readonly string[] | null
  /** The store may have lost what it acknowledged between these two moments. */
  readonly lost?: { readonly from: number; readonly to: number }
  /** The processes were led to a primary that knows nothing new from one moment on, and refuses to answer from the other. */
  readonly isolated?: { readonly from: number; readonly until: number }
  /** The clock of the store was ahead by so much. */
  readonly clockLeadMs?: number
}

/** Everything that happened in a run. */
export interface History {
  readonly boundMs: number
  /**
   * How long the processes that know what was lost may take to restore it, once they have read everything again; time of
   * starvation does not count.
   */
  readonly restoreMs: number
  /** By how much the clock of the day is ahead of the monotonic one. */
  readonly wallLeadMs: number
  readonly operations: readonly Operation[]
  readonly faults: readonly Fault[]
}

/** Milliseconds of the monotonic clock that all processes of a machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
