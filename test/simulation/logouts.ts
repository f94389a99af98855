import type { Event, Fault, Place, Target } from './history.js'
import type { Exception } from './promises.js'

/** A logout of the identity provider. */
export interface Logout {
  /** When it arrived first, whether or not that had an answer. */
  readonly firstAt: number
  /** When it was first answered with success; `Infinity` before that. */
  acceptedAt: number
}

/** What is known about a world, to tell what may have become of a logout. */
export interface LogoutOptions {
  readonly boundMs: number
  readonly isQuiet: boolean
  readonly faults: readonly Fault[]
  readonly losses: readonly Fault[]
}

/** Where a logout arrived, and when. */
interface Delivery extends Place {
  readonly t0: number
  readonly t1: number
}

/** The logouts of a history. */
export interface Logouts {
  /** The logout of a delivery; `null` if it was accepted before: then it must not revoke anything. */
  note(event: Event & { readonly op: 'logout' }): Logout | null
  /** Whether the process that has accepted a logout may have kept it, because the store did not answer. */
  mayBeKept(delivery: Delivery): boolean
  /** Whether that process may still keep it, or may have lost it. */
  wasKept(delivery: Delivery & { readonly logout: Logout | null }, at: number): Exception | null
  /** Whether a repetition may have revoked one of these: its process, or the store, could not know that it was one. */
  wasRepeated(targets: readonly Target[], event: Event): boolean
}

// Pauses between attempts to write take at most a second, and each attempt has a deadline.
const RETRY_MS = 2000
// Messages are lost and straggle, without a fault that tells: several attempts fail.
const NOISE_MS = 8000

/** No logouts yet. */
export function createLogouts({ boundMs, isQuiet, faults, losses }: LogoutOptions): Logouts {
  const logouts = new Map<string, Logout>()
  // By what they are about.
  const repeats = new Map<string, (Place & { readonly t0: number; readonly logout: Logout })[]>()

  const concerns = ({ applications }: Fault, application: string): boolean =>
    applications?.includes(application) ?? true

  /** When a process could reach the store again that may not have reached it at a moment; `null` if nothing was wrong. */
  const findRecovery = (application: string, from: number, to: number): number | null => {
    let end = isQuiet ? -Infinity : to + NOISE_MS
    for (const fault of faults) {
      const reach = Math.max(end, to)
      if (!concerns(fault, application) || fault.t0 > reach || fault.t1 + RETRY_MS + boundMs < from) continue
      end = Math.max(end, fault.t1 + RETRY_MS + boundMs)
    }
    return end === -Infinity ? null : end
  }

  return {
    note({ id, result, targets, t0, t1, application, life }) {
      const logout = logouts.get(id) ?? { firstAt: t0, acceptedAt: Infinity }
      logouts.set(id, logout)
      if (logout.acceptedAt < t0) {
        if (result === 'asked') {
          for (const { kind, id: of } of targets) {
            const name = `${kind}:${of}`
            repeats.set(name, [...(repeats.get(name) ?? []), { application, life, t0, logout }])
          }
        }
        return null
      }
      if (result === 'ok') logout.acceptedAt = Math.min(logout.acceptedAt, t1)
      return logout
    },
    mayBeKept: ({ application, t0, t1 }) => findRecovery(application, t0, t1) !== null,
    wasKept({ application, t0, t1, logout }, at) {
      if (logout === null) return null
      const recovered = findRecovery(application, t0, t1)
      if (recovered === null) return null
      const hasEnded = faults.some(
        (fault) =>
          fault.kind === 'crash' && concerns(fault, application) && fault.t0 >= t0 && fault.t0 <= recovered,
      )
      if (hasEnded) return 'kept logout lost with its process'
      return at <= recovered + boundMs ? 'kept logout' : null
    },
    wasRepeated: (targets, { application, life, t1 }) =>
      targets.some(({ kind, id }) =>
        repeats.get(`${kind}:${id}`)?.some((repeat) => {
          if (repeat.t0 > t1) return false
          if (losses.some((loss) => loss.t0 <= repeat.t0)) return true
          // The process that received it could not ask whether it was one.
          if (repeat.application === application && repeat.life === life) {
            return findRecovery(application, repeat.t0, repeat.t0) !== null
          }
          // The store did not know it yet.
          const { firstAt, acceptedAt } = repeat.logout
          const known = faults.reduce(
            (latest, fault) =>
              fault.t0 <= latest && fault.t1 + RETRY_MS + boundMs >= firstAt
                ? Math.max(latest, fault.t1 + RETRY_MS + boundMs)
                : latest,
            isQuiet ? acceptedAt : acceptedAt + NOISE_MS,
          )
          return repeat.t0 <= known && known > acceptedAt
        }),
      ),
  }
}
