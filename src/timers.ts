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

/** Resolves once everything else that is ready has had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
