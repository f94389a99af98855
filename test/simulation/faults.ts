import type { Event, Fault, Place } from './history.js'
import type { Logout } from './logouts.js'
import type { CheckerOptions, Exception } from './promises.js'

/** A revocation that somebody has asked for. */
export interface Revocation extends Place {
  readonly t0: number
  /** `Infinity` until it is acknowledged. */
  t1: number
  readonly isEverywhere: boolean
  /** The logout of the provider that it was made for. */
  readonly logout: Logout | null
}

/** A fault by which the store has lost writes. */
export interface Loss extends Fault {
  readonly lostAfter: number
  /** Whose writes were lost; everybody's unless given. */
  readonly writers?: readonly string[]
}

/** What has gone wrong so far, and what that explains. */
export interface Faults {
  readonly faults: readonly Fault[]
  readonly losses: readonly Loss[]
  readonly add: (fault: Fault) => void
  /** Forgets what has ended before a moment; a clock that was wrong once counts for good. */
  forgetBefore(moment: number): void
  /** Why the store may not have a revocation at a moment, although it has acknowledged it. */
  readonly wasRestored: (revocation: Revocation, at: number) => Exception | null
  /** Between the sides of a primary that was cut off. With `min-replicas-to-write`, it refuses everything after a while. */
  readonly isAcrossSides: (revocation: Revocation, place: Place, at: number) => boolean
  readonly findSuspension: (place: Place, at: number) => Exception | null
  /** Whether a fault, or the time that it takes to recover from it, explains a refusal. */
  readonly isDisturbed: (event: Event) => boolean
  readonly isClockWrong: (at: number) => boolean
  /** Whether the process of an event stood still for so long just before it that requests are late. */
  readonly wasHeld: (event: Event) => boolean
}

// What the last readings of clocks may add.
export const TOLERANCE_MS = 5
// How long processes take to find and repair a loss, in addition to the bound: a random delay of up to 5/8 of it, and messages.
const RESTORE_BOUNDS = 3
const RESTORE_MS = 2000
// Production: synchronise the clocks of all machines to within a second.
export const CLOCKS_AGREE_MS = 1000

/** Nothing has gone wrong yet. */
export function createFaults({ boundMs, graceMs, drift }: CheckerOptions): Faults {
  const faults: Fault[] = []
  const losses: Loss[] = []
  const restoreMs = RESTORE_BOUNDS * boundMs + RESTORE_MS

  const wasRestored = (revocation: Revocation, at: number): Exception | null => {
    for (const loss of losses) {
      if (revocation.t1 < loss.lostAfter || revocation.t0 > loss.t0 || at < loss.t0) continue
      if (loss.writers?.includes(revocation.application) === false) continue
      // Anyone who revoked it knows it, and writes it again once it can.
      const ended = faults.some(
        ({ kind, applications, t0 }) =>
          kind === 'crash' && applications?.includes(revocation.application) && t0 >= revocation.t1,
      )
      if (ended) return 'lost while no process knew it'
      if (at <= findCalm(loss.t1) + restoreMs) return 'failover'
    }
    return null
  }
  // When processes have nothing more to wait for, after a moment.
  const findCalm = (from: number): number =>
    faults.reduce(
      (latest, fault) => (fault.t0 <= latest + restoreMs ? Math.max(latest, fault.t1) : latest),
      from,
    )

  const isAcrossSides = (revocation: Revocation, { application }: Place, at: number): boolean =>
    faults.some(({ isolation, t0, t1, lostAfter = t0 }) => {
      if (isolation === undefined || at < t0 || revocation.t1 < lostAfter || revocation.t0 > t1) return false
      const { hosts, fencedAfterMs } = isolation
      const isOld = hosts.includes(application)
      if (isOld === hosts.includes(revocation.application)) return false
      if (isOld && fencedAfterMs !== null)
        return at <= t0 + fencedAfterMs + boundMs * (1 + drift) + TOLERANCE_MS
      return at <= findCalm(t1) + restoreMs
    })

  const findSuspension = ({ application }: Place, at: number): Exception | null => {
    const own = faults.filter(({ applications }) => applications?.includes(application) === true)
    const suspensions = own.filter(
      ({ kind, t0, t1 }) => kind === 'suspension' && t0 <= at && at <= t1 + boundMs,
    )
    if (suspensions.some(({ t0, t1 }) => t1 - t0 <= 1000 + TOLERANCE_MS)) return 'short suspension'
    const isHidden = suspensions.some(({ t0, t1 }) =>
      own.some((step) => step.kind === 'clock step' && t0 <= step.t0 && step.t0 <= t1),
    )
    return isHidden ? 'suspension of both clocks' : null
  }

  const isDisturbed = (event: Event): boolean =>
    faults.some(
      ({ t0, t1, applications, lostAfter }) =>
        t0 <= event.t1 &&
        event.t0 <= t1 + 2 * boundMs + RESTORE_MS + (lostAfter === undefined ? 0 : restoreMs) &&
        (applications?.includes(event.application) ?? true),
    )

  const isClockWrong = (at: number): boolean =>
    faults.some(({ t0, byMs = 0 }) => t0 <= at && Math.abs(byMs) > CLOCKS_AGREE_MS)

  const wasHeld = ({ application, t0 }: Event): boolean =>
    faults.some(
      (fault) =>
        (fault.kind === 'stall' || fault.kind === 'suspension') &&
        fault.applications?.includes(application) === true &&
        fault.t1 - fault.t0 > graceMs / 2 &&
        Math.abs(t0 - fault.t1) <= TOLERANCE_MS,
    )

  return {
    faults,
    losses,
    add(fault) {
      faults.push(fault)
      const { isolation, t0, t1, lostAfter } = fault
      if (lostAfter === undefined) return
      losses.push({ ...fault, lostAfter, t1: isolation === undefined ? t1 : t0 + isolation.failoverMs })
      // When the old primary is back, what it has taken meanwhile is lost.
      if (isolation !== undefined) losses.push({ ...fault, lostAfter, t0: t1, writers: isolation.hosts })
    },
    forgetBefore(moment) {
      faults.splice(0, faults.length, ...faults.filter(({ t1, byMs }) => t1 >= moment || byMs !== undefined))
    },
    wasRestored,
    isAcrossSides,
    findSuspension,
    isDisturbed,
    isClockWrong,
    wasHeld,
  }
}
