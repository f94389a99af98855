import { onTestFinished, vi } from 'vitest'

/** Makes the monotonic clock of this thread one that can be moved forward, until the test is over. */
export function moveMonotonicClock(): { readonly add: (milliseconds: number) => void } {
  const real = performance.now.bind(performance)
  let lead = 0
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => real() + lead)
  onTestFinished(() => spy.mockRestore())
  return { add: (milliseconds) => void (lead += milliseconds) }
}
