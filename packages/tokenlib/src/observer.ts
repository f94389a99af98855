import { type AnyTokenError, isOutage, isTokenError } from './errors.js'
import { describeThrown, emitWarning, isPromise } from './runtime.js'
import type { Scheduler } from './time.js'

/**
 * What a token was checked for: a dependency of a `request`, `verify` (`token`), an introspection (`inspection`), another
 * kind of JWT from an issuer (`issued_jwt`), `refresh`, `logout`, the `upgrade` to a WebSocket, a dependency of one of its
 * messages (`message`), or whether the socket may stay open (`recheck`).
 */
export type CheckKind =
  | 'request'
  | 'token'
  | 'inspection'
  | 'issued_jwt'
  | 'refresh'
  | 'logout'
  | 'upgrade'
  | 'message'
  | 'recheck'

/** The result of a check. */
export interface TokenCheck {
  readonly kind: CheckKind
  /** `fast`: the token was accepted synchronously. */
  readonly lane: 'fast' | 'recipe'
  /**
   * `anonymous`: no token was sent, and the dependency is optional. `unavailable`: the store or the keys did not answer.
   * `failed`: the check threw something other than a token error, which is a bug.
   */
  readonly outcome: 'accepted' | 'anonymous' | 'refused' | 'unavailable' | 'failed'
  /** Why it was rejected or unavailable; otherwise `null`. */
  readonly code: AnyTokenError['code'] | null
  /** `null` for the fast lane, which is not timed. */
  readonly durationMs: number | null
  /** The user of an accepted token, if known; otherwise `null`. */
  readonly sub: string | null
}

/** A call of the store that is about to start. */
export interface StoreCall {
  /** `prepare`, `lookup`, `revoke`, `open`, `rotate`, `present`, `list`, `get` or `spend`. */
  readonly operation: string
  /** The `system` of the store, such as `redis`; `null` for a store that does not say. */
  readonly system: string | null
}

/** Follows one call of the store to its end. */
export interface StoreCallObserver {
  /** May start the call in a context of its own. If the observer does not start it, the call starts anyway. */
  run?(start: () => void): void
  /** The call has ended; `error` is `null` if it succeeded. */
  end?(result: { readonly durationMs: number; readonly error: unknown }): void
}

/** Receives what telemetry needs. It runs during requests, so it must be fast; what it throws does not affect them. */
export interface TokenObserver {
  onCheck?(check: TokenCheck): void
  onStoreCall?(call: StoreCall): StoreCallObserver | undefined
}

/** The observers of a manager. */
export interface Observers {
  /** `null` without observers, so that a request only reads one field. */
  readonly current: readonly TokenObserver[] | null
  /** What durations are measured by. */
  readonly monotonicNow: Scheduler['monotonicNow']
  /** Returns a function that removes the observer. */
  add(observer: TokenObserver): () => void
}

/** The observers of a new manager: none. */
export function createObservers({ monotonicNow }: Scheduler): Observers {
  const observers = {
    monotonicNow,
    current: null as readonly TokenObserver[] | null,
    add(observer: TokenObserver) {
      assertObserver(observer)
      // One of its own, so that an observer may be added twice and removed once.
      const own = guard(observer)
      observers.current = [...(observers.current ?? []), own]
      return () => {
        const left = observers.current?.filter((other) => other !== own) ?? []
        observers.current = left.length === 0 ? null : left
      }
    },
  }
  return observers
}

// Unknown names are allowed: an observer may be an instance of a class with other members.
function assertObserver(observer: TokenObserver | null | undefined): void {
  const types = new Set([typeof observer?.onCheck, typeof observer?.onStoreCall])
  const hasFunction = types.delete('function')
  types.delete('undefined')
  if (hasFunction && types.size === 0) return
  throw new TypeError('An observer must have onCheck(), onStoreCall() or both')
}

/** Reports a check to every observer. */
export function reportCheck(observers: readonly TokenObserver[], check: TokenCheck): void {
  for (const observer of observers) observer.onCheck?.(check)
}

/** What a check that threw is reported as. */
export function toRefusal(error: unknown): Pick<TokenCheck, 'outcome' | 'code'> {
  if (!isTokenError(error)) return { outcome: 'failed', code: null }
  return { outcome: isOutage(error) ? 'unavailable' : 'refused', code: error.code }
}

/** Calls the store, with every observer around the call. */
export async function observeStoreCall<Value>(
  observers: readonly TokenObserver[],
  monotonicNow: Scheduler['monotonicNow'],
  call: StoreCall,
  run: () => Promise<Value>,
): Promise<Value> {
  let answer: Promise<Value> | undefined
  const start = (): void => {
    answer ??= run()
  }
  const startedAt = monotonicNow()
  const following = observers.flatMap((observer) => observer.onStoreCall?.(call) ?? [])
  const startAll = following.reduceRight<() => void>((inner, one) => () => one.run?.(inner), start)
  startAll()
  start()
  const end = (error: unknown): void => {
    const durationMs = monotonicNow() - startedAt
    for (const one of following) one.end?.({ durationMs, error })
  }
  try {
    const value = await (answer as unknown as Promise<Value>)
    end(null)
    return value
  } catch (error) {
    end(error)
    throw error
  }
}

// An observer that fails has no effect on the request; one warning reports it, and not one for each request.
function guard(observer: TokenObserver): Required<TokenObserver> {
  let hasWarned = false
  const warn = (error: unknown): void => {
    if (!hasWarned)
      emitWarning(`An observer of tokenlib failed: ${describeThrown(error)}`, 'TokenObserverWarning')
    hasWarned = true
  }
  // An async function fits the types. Without a handler, its rejection would end the process.
  const watch = (value: unknown): void => {
    if (isPromise(value)) Promise.resolve(value).then(undefined, warn)
  }
  const attempt = <Value>(call: () => Value): Value | undefined => {
    try {
      const value = call()
      watch(value)
      return value
    } catch (error) {
      warn(error)
      return undefined
    }
  }
  return {
    // No closure: this runs for every request.
    onCheck(check) {
      try {
        watch(observer.onCheck?.(check))
      } catch (error) {
        warn(error)
      }
    },
    onStoreCall(call) {
      const following = attempt(() => observer.onStoreCall?.(call)) ?? {}
      return {
        run(start) {
          attempt(() => following.run?.(start))
          start()
        },
        end: (result) => attempt(() => following.end?.(result)),
      }
    },
  }
}
