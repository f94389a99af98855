// What differs between Node, Bun, Deno and workerd.

const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } }

/** Whether this is workerd, the runtime of Cloudflare Workers. */
export const IS_WORKERD: boolean = navigator?.userAgent === 'Cloudflare-Workers'

/** Tells the operator what is unwise or has failed, as a process warning where the runtime has these. */
export function emitWarning(message: string, name = 'Warning'): void {
  // workerd has the function in newer versions, and prints nothing.
  if (!IS_WORKERD) process.emitWarning(message, name)
  else console.warn(`${name}: ${message}`)
}

/** A timer that was started; a number in browsers and Workers. */
export type Timer = ReturnType<typeof setTimeout>

/** Calls back after so many milliseconds, unless the process has nothing else to do and ends before that. */
export function startTimer(callback: () => void, milliseconds: number): Timer {
  const timer = setTimeout(callback, milliseconds)
  // Only the timers of Node, Bun and Deno keep a process alive.
  if (typeof timer === 'object') timer.unref?.()
  return timer
}

/** Resolves after so many milliseconds; rejects as soon as the signal is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = (): void => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
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
