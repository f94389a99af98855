import type { Scheduler, Timer } from './time.js'

// What differs between Node, Bun, Deno and workerd.

const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } }

/** Whether this is workerd, the runtime of Cloudflare Workers. */
export const IS_WORKERD: boolean = navigator?.userAgent === 'Cloudflare-Workers'

/** Warns the operator, with a process warning if the runtime has these. */
export function emitWarning(message: string, name = 'Warning'): void {
  // workerd has the function in newer versions, and prints nothing.
  if (!IS_WORKERD) process.emitWarning(message, name)
  else console.warn(`${name}: ${message}`)
}

/** A thrown value as text, also if its `toString` throws. */
export function describeThrown(error: unknown): string {
  try {
    return String(error)
  } catch {
    return typeof error
  }
}

/** Calls back after so many milliseconds, unless the process has nothing else to do and ends before that. */
export function startTimer(scheduler: Scheduler, callback: () => void, milliseconds: number): Timer {
  const timer = scheduler.setTimeout(callback, milliseconds)
  // Only the timers of Node, Bun and Deno keep a process alive.
  if (typeof timer === 'object') timer.unref?.()
  return timer
}

/** Resolves after so many milliseconds; rejects as soon as the signal is aborted. */
export function sleep(scheduler: Scheduler, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = (): void => {
      scheduler.clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = scheduler.setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

// Workers have `setImmediate` only with newer compatibility dates.
const { setImmediate: startNextTurn = setTimeout } = globalThis as {
  readonly setImmediate?: (callback: () => void) => unknown
}

/** Resolves once everything else that is ready has had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    startNextTurn(resolve)
  })
}

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

/** The same promise; if it rejects unawaited, that does not count as unhandled. */
export function settleQuietly<Value>(promise: Promise<Value>): Promise<Value> {
  void promise.catch(() => undefined)
  return promise
}

// A timer that fires later than this was held up: the process was busy or suspended.
const LATE_MS = 50

/**
 * Settles like `answer`, or rejects with `createReason()` after `timeoutMs`. A later answer is dropped.
 *
 * With `isFair`, time in which the process was blocked does not count. After a pause, timers fire before the network is
 * read: an answer that has already arrived would be given up, and so would a request that was never sent. Not for calls of
 * a store: where timers are often late, it would never end.
 */
export function withDeadline<Value>(
  { monotonicNow, setTimeout, clearTimeout }: Scheduler,
  answer: PromiseLike<Value>,
  timeoutMs: number,
  createReason: () => Error,
  isFair = false,
): Promise<Value> {
  // Whichever comes first is final: a promise settles once.
  return new Promise((resolve, reject) => {
    let timer: Timer
    const wait = (milliseconds: number): void => {
      const dueAt = monotonicNow() + milliseconds
      timer = setTimeout(() => {
        const late = monotonicNow() - dueAt
        if (isFair && late > LATE_MS) wait(Math.min(late, timeoutMs))
        else reject(createReason())
      }, milliseconds)
    }
    wait(timeoutMs)
    const stop = (): void => clearTimeout(timer)
    Promise.resolve(answer).then(resolve, reject).then(stop, stop)
  })
}
