import { monotonicNow } from './time.js'

/**
 * Whether a value is still to come, whatever its make.
 *
 * By its method, not by `instanceof`: where somebody has replaced the global `Promise`, what an async function returns is
 * an instance of the one before, and a refusal would pass for a value.
 */
export function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value>
export function isPromise(value: unknown): value is PromiseLike<unknown>
export function isPromise(value: unknown): boolean {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}

/** The same promise; if it rejects and nobody waits for it, that does not count as unhandled. */
export function settleQuietly<Value>(promise: Promise<Value>): Promise<Value> {
  void promise.catch(() => undefined)
  return promise
}

/** Settles like `answer`, or rejects with `createReason()` after `timeoutMs`. A later answer is dropped. */
export function withDeadline<Value>(
  answer: PromiseLike<Value>,
  timeoutMs: number,
  createReason: () => Error,
): Promise<Value> {
  // Whichever comes first is final: a promise settles once.
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(createReason()), timeoutMs)
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      settle()
    }
    Promise.resolve(answer).then(
      (value) => end(() => resolve(value)),
      (error: unknown) => end(() => reject(error)),
    )
  })
}

// A timer that fires later than this was held up: the process was busy or suspended.
const LATE_MS = 50

/**
 * Like `withDeadline`, but time in which the process was blocked does not count.
 *
 * After a pause, timers fire before the network is read: an answer that has already arrived would be given up, and so would
 * a request that was never sent. Not for calls of a store: where timers are often late, it would never end.
 */
export function withFairDeadline<Value>(
  answer: PromiseLike<Value>,
  timeoutMs: number,
  createReason: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout>
    const wait = (milliseconds: number): void => {
      const dueAt = monotonicNow() + milliseconds
      timer = setTimeout(() => {
        const late = monotonicNow() - dueAt
        if (late > LATE_MS) wait(Math.min(late, timeoutMs))
        else reject(createReason())
      }, milliseconds)
    }
    const end = (settle: () => void): void => {
      clearTimeout(timer)
      settle()
    }
    wait(timeoutMs)
    Promise.resolve(answer).then(
      (value) => end(() => resolve(value)),
      (error: unknown) => end(() => reject(error)),
    )
  })
}
